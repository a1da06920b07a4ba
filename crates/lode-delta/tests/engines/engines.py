"""Spark, Polars, DuckDB and `deltalake` read the Delta tables that Lode writes, from a folder and from
an S3 store on the loopback interface, and return what Lode has. Lode reads what Spark writes.

    python engines.py PATH/TO/lode PATH/TO/s3-server FOLDER/OF/JARS
"""

import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import deltalake
import duckdb
import polars
from pyspark.sql import SparkSession

LODE, SERVER, JARS = (Path(arg).resolve() for arg in sys.argv[1:4])
ROWS = 20_000
SCHEMA = ("id:u64 key, day:i32, kind:u8, cents:i64?, score:f64?, name:vartext(40)?, tag:bytes(2), "
          "paid:bool, stamp:timestamp")
COLUMNS = ["id", "day", "kind", "cents", "score", "name", "tag", "paid", "stamp"]

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIALODE", "AWS_SECRET_ACCESS_KEY": "lode-secret",
               "AWS_REGION": "us-east-1"}

# All engines understand them; sums are of integers, so that the order of rows does not count.
QUERIES = [
    "SELECT count(*), count(cents), sum(cents), min(stamp), max(stamp) FROM sale",
    "SELECT kind, count(*), sum(cents) FROM sale WHERE paid GROUP BY kind ORDER BY kind",
    "SELECT id, name, score FROM sale WHERE id >= 1000 AND id < 1020 ORDER BY id",
    "SELECT name, count(*) AS n FROM sale WHERE name IS NOT NULL GROUP BY name ORDER BY n DESC, name "
    "LIMIT 10",
    "SELECT a.day, count(*) FROM sale a JOIN sale b ON a.id = b.id + 1 AND a.kind = b.kind "
    "GROUP BY a.day ORDER BY a.day",
]


def fail(why):
    sys.exit(f"engines: {why}")


def lode(*args):
    done = subprocess.run([LODE, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"lode {' '.join(map(str, args))}: {done.stderr}")
    return done.stdout


def rows(count, seed):
    """Sales, with nulls and extremes."""
    chance = random.Random(seed)
    maybe = lambda value: None if chance.random() < 0.1 else value
    for id in range(count):
        yield {
            "id": id if id < count - 1 else (1 << 63) - 1,
            "day": chance.randint(0, 30),
            "kind": chance.randint(0, 255) if id % 3 else 255,
            "cents": maybe(chance.choice([-(1 << 40), chance.randint(-10**6, 10**6)])),
            "score": maybe(chance.gauss(0, 1)),
            "name": maybe(chance.choice(["", "Ada", "Bo", "Cé", "a,\"b\"\n"]) + str(id % 7)),
            "tag": {"hex": chance.randbytes(2).hex()},
            "paid": chance.random() < 0.5,
            "stamp": chance.randint(0, 2 * 10**15),
        }


def plain(value):
    """A value as numbers and texts that all engines show alike."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if isinstance(value, float):
        return value.hex()
    return int(value)


def checksum(found):
    """Of all values of all rows, whatever their order."""
    lines = sorted(repr([plain(value) for value in row]) for row in found)
    return len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


class Wanted:
    """What Lode has: its rows as it dumps them, and what `lode sql` returns of them; SQLite returns
    the same of the dumped rows."""

    def __init__(self, db):
        self.db = sqlite3.connect(":memory:")
        self.db.execute("CREATE TABLE sale (" + ", ".join(COLUMNS) + ")")
        dumped = [json.loads(line) for line in lode("dump", db, "sale").splitlines()]
        for row in dumped:
            row["tag"] = bytes.fromhex(row["tag"]["hex"])
        places = ", ".join("?" * len(COLUMNS))
        self.db.executemany(f"INSERT INTO sale VALUES ({places})",
                            ([row[name] for name in COLUMNS] for row in dumped))
        self.checksum = checksum(self.db.execute("SELECT * FROM sale"))
        self.results = [self.by_lode(db, query) for query in QUERIES]
        for query, wanted in zip(QUERIES, self.results):
            if [list(map(plain, row)) for row in self.db.execute(query)] != wanted:
                fail(f"SQLite: {query}\n  did not return {wanted[:3]}")
        print(f"SQLite over the dumped rows: {len(QUERIES)} queries agree with lode sql", flush=True)

    def by_lode(self, db, query):
        lines = lode("sql", db, query, "--read-only", "--format", "json").splitlines()
        return [list(map(plain, json.loads(line).values())) for line in lines]

    def compare(self, engine, all_rows, run):
        """`run` is what runs a query; both return rows of plain Python values."""
        begun = time.monotonic()
        found = checksum(all_rows)
        if found != self.checksum:
            fail(f"{engine}: rows and checksum {found}, not {self.checksum}")
        for query, wanted in zip(QUERIES, self.results):
            results = [list(map(plain, row)) for row in run(query)]
            if results != wanted:
                fail(f"{engine}: {query}\n  returned {results[:3]}\n  and not  {wanted[:3]}")
        print(f"{engine}: {found[0]} rows, checksum {found[1]}, {len(QUERIES)} queries agree "
              f"({time.monotonic() - begun:.1f} s)", flush=True)


MOMENTS = "SELECT id, day, kind, cents, score, name, tag, paid, {} AS stamp FROM {}"


def by_spark(spark, place, wanted, engine):
    moments = spark.read.format("delta").load(place)
    moments.createOrReplaceTempView("stored")
    spark.sql(MOMENTS.format("unix_micros(stamp)", "stored")).createOrReplaceTempView("sale")
    collect = lambda query: [tuple(row) for row in spark.sql(query).collect()]
    wanted.compare(engine, collect("SELECT * FROM sale"), collect)


def by_duckdb(place, wanted, engine, options=None):
    """Its extension for Delta cannot be had here: it reads what `deltalake` says the version has."""
    stored = deltalake.DeltaTable(place, storage_options=options).to_pyarrow_table()
    with duckdb.connect() as db:
        db.register("stored", stored)
        db.execute("CREATE TABLE sale AS " + MOMENTS.format("epoch_us(stamp)", "stored"))
        wanted.compare(engine, db.sql("SELECT * FROM sale").fetchall(),
                       lambda query: db.sql(query).fetchall())


def by_polars(place, wanted, engine, options=None):
    frame = polars.scan_delta(place, storage_options=options)
    # Its joins want keys of the same digits, and sums of decimals have more.
    frame = frame.with_columns(polars.col("stamp").dt.epoch("us"), polars.col("id").cast(polars.Int64))
    tables = polars.SQLContext(sale=frame)
    run = lambda query: tables.execute(query, eager=True).rows()
    wanted.compare(engine, frame.select(COLUMNS).collect().rows(), run)


def spark_session(folder, endpoint):
    jars = ",".join(sorted(str(jar) for jar in JARS.glob("*.jar")))
    settings = {
        "spark.jars": jars,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.local.dir": str(folder / "spark"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": CREDENTIALS["AWS_REGION"],
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.access.key": CREDENTIALS["AWS_ACCESS_KEY_ID"],
        "spark.hadoop.fs.s3a.secret.key": CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    }
    builder = SparkSession.builder.appName("lode").master("local-cluster[2,1,1024]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def written_by_spark(spark, folder):
    """Partitions, columns that came later, deleted rows, and a checkpoint: imported as they are."""
    place = str(folder / "spark-table")
    spark.sql(f"CREATE TABLE delta.`{place}` (id BIGINT NOT NULL, note STRING, at TIMESTAMP, day DATE, "
              "part STRING) USING delta PARTITIONED BY (part) "
              "TBLPROPERTIES ('delta.checkpointInterval' = '3', 'delta.enableDeletionVectors' = 'false')")
    for version in range(5):
        spark.sql(f"INSERT INTO delta.`{place}` SELECT id, concat('n', id), "
                  "timestamp_micros(id * 1000000 + 1), date_add(DATE'2024-02-28', CAST(id % 3 AS INT)), "
                  f"concat('p ', id % 2) FROM range({version * 100}, {version * 100 + 100})")
    spark.sql(f"ALTER TABLE delta.`{place}` ADD COLUMN (late INT)")
    spark.sql(f"DELETE FROM delta.`{place}` WHERE id % 10 = 3")
    spark.sql(f"INSERT INTO delta.`{place}` VALUES (1000, null, null, null, null, 7)")
    if not list((folder / "spark-table/_delta_log").glob("*.checkpoint.parquet")):
        fail("Spark wrote no checkpoint")
    imported_as_spark_reads_it(spark, folder / "back", place, "late")

    # A deletion vector; a column renamed under a mapping by name; a checkpoint of version 2.
    spark.sql(f"ALTER TABLE delta.`{place}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM delta.`{place}` WHERE id = 5")
    if "deletionVector" not in newest_commit(folder):
        fail("Spark wrote no deletion vector")
    imported_as_spark_reads_it(spark, folder / "vectors", place, "late")
    spark.sql(f"ALTER TABLE delta.`{place}` SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', "
              "'delta.minReaderVersion' = '3', 'delta.minWriterVersion' = '7', "
              "'delta.checkpointPolicy' = 'v2')")
    spark.sql(f"ALTER TABLE delta.`{place}` RENAME COLUMN late TO later")
    for version in range(4):
        spark.sql(f"INSERT INTO delta.`{place}` VALUES ({2000 + version}, 'x', null, null, 'p 0', {version})")
    if not list((folder / "spark-table/_delta_log").glob("*.checkpoint.*-*")):
        fail("Spark wrote no checkpoint of version 2")
    query = imported_as_spark_reads_it(spark, folder / "mapped", place, "later")

    parquet = folder / "spark-parquet"
    spark.sql(query.replace("unix_micros(at)", "at").replace("unix_micros(CAST(day AS TIMESTAMP))", "day")
              ).coalesce(1).write.parquet(str(parquet))
    [file] = parquet.glob("*.parquet")
    lode("import", folder / "plain", "notes", file, "--key", "id")
    plain_rows = lode("dump", folder / "plain", "notes")
    if [list(json.loads(line).values()) for line in plain_rows.splitlines()] != [
            list(row) for row in spark.sql(query).collect()]:
        fail("a Parquet file that Spark wrote was imported as something else")
    print("a Parquet file that Spark wrote: imported as it is")

    parts = folder / "spark-parts"
    wanted = ("SELECT id, id * 2 AS twice, concat('a/b ', id % 3) AS part, CAST(id % 4 AS INT) AS four, "
              "CASE WHEN id % 5 > 0 THEN date_add(DATE'2024-02-28', CAST(id % 5 AS INT)) END AS day "
              "FROM range(100)")
    spark.sql(wanted).write.partitionBy("part", "four", "day").parquet(str(parts))
    lode("import", folder / "parts", "notes", parts, "--schema",
         "id:i64 key, twice:i64, part:vartext(9), four:u8, day:timestamp?")
    found = [list(json.loads(line).values()) for line in lode("dump", folder / "parts", "notes").splitlines()]
    days = f"SELECT id, twice, part, four, unix_micros(CAST(day AS TIMESTAMP)) FROM ({wanted}) ORDER BY id"
    if found != [list(row) for row in spark.sql(days).collect()]:
        fail(f"partitions of Parquet that Spark wrote were imported as something else: {found[:3]}")
    print(f"partitions of Parquet that Spark wrote: {len(found)} rows imported as they are")


def by_changes(spark, folder, place, bucket):
    """A version that has only what changed: Spark and Polars read all of it, and Spark the change."""
    db = folder / f"changes{len(place)}"
    (folder / "sale.jsonl").write_text("\n".join(json.dumps(row) for row in rows(ROWS, 2)))
    lode("load", db, "sale", folder / "sale.jsonl", "--schema", SCHEMA)
    lode("changes", db, "--keep", "64M")
    export = lambda: print(lode("export", db, "sale", "--delta", place, "--changes").strip(), f"of {place}")
    export()
    before = set(lode("dump", db, "sale").splitlines())
    lode("sql", db, "UPDATE sale SET day = day + 100 WHERE id % 100 = 3")
    lode("sql", db, "DELETE FROM sale WHERE id % 50 = 1")
    (folder / "sale.jsonl").write_text("\n".join(
        json.dumps({**row, "id": row["id"] + 100_000}) for row in rows(100, 3) if row["id"] < 100))
    lode("load", db, "sale", folder / "sale.jsonl")
    export()
    after = set(lode("dump", db, "sale").splitlines())
    wanted = Wanted(db)
    by_polars(place, wanted, f"Polars, changes of {place}", bucket)
    place = place.replace("s3://", "s3a://")
    by_spark(spark, place, wanted, f"Spark, changes of {place}")
    days = lambda lines: (len(lines), sum(json.loads(line)["day"] for line in lines))
    changed = {"delete": days(before - after), "insert": days(after - before)}
    feed_is(spark, place, 1, changed)
    spark.sql(f"OPTIMIZE delta.`{place}`").collect()
    lode("sql", db, "DELETE FROM sale WHERE id = 7")
    export()
    by_spark(spark, place, Wanted(db), f"Spark, changes after its OPTIMIZE of {place}")
    feed_is(spark, place, 3, {"delete": days(after - set(lode("dump", db, "sale").splitlines()))})


def feed_is(spark, place, version, changed):
    """Compares the change data feed from a version on: for each kind of change, the number of rows and
    the sum of their days."""
    feed = (spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", version)
            .load(place).groupBy("_change_type").agg({"id": "count", "day": "sum"}).collect())
    found = {row["_change_type"]: (row["count(id)"], row["sum(day)"]) for row in feed}
    if found != changed:
        fail(f"Spark's change feed of {place} has {found} and not {changed}")
    print(f"Spark, change feed of {place} from version {version} on: {found}", flush=True)


def newest_commit(folder):
    """The actions of the table's newest version, as their JSON."""
    return max((folder / "spark-table/_delta_log").glob("*.json")).read_text()


def imported_as_spark_reads_it(spark, database, place, late):
    """Compares every row of the table at `place`, whose last column is called `late` now; Spark's query."""
    print(lode("import", database, "notes", "--delta", place, "--key", "id").strip())
    query = (f"SELECT id, note, unix_micros(at), unix_micros(CAST(day AS TIMESTAMP)), part, {late} "
             f"FROM delta.`{place}` ORDER BY id")
    wanted = [list(row) for row in spark.sql(query).collect()]
    found = [json.loads(line) for line in lode("dump", database, "notes").splitlines()]
    found = [[row[name] for name in ("id", "note", "at", "day", "part", late)] for row in found]
    if found != wanted:
        fail(f"imported rows differ: {found[:3]}, not {wanted[:3]}")
    print(f"a table that Spark wrote: {len(found)} rows imported as they are")
    return query


@contextmanager
def store(folder):
    """An S3 store with the bucket `farm`, as long as it is needed; its endpoint."""
    (folder / "buckets/farm").mkdir(parents=True)
    with subprocess.Popen([SERVER, folder / "buckets"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as server:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        server.stdin.close()


def main():
    os.environ.update(CREDENTIALS)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as name, store(Path(name)) as endpoint:
        folder = Path(name)
        os.environ["AWS_ENDPOINT_URL"] = endpoint
        bucket = {**CREDENTIALS, "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}
        places = {"folder": str(folder / "out/sale"), "S3": "s3://farm/sale"}
        for version, count in enumerate([ROWS // 4, ROWS]):
            db = folder / f"db{version}"
            lines = "\n".join(json.dumps(row) for row in rows(count, version))
            (folder / "sale.jsonl").write_text(lines)
            lode("load", db, "sale", folder / "sale.jsonl", "--schema", SCHEMA)
            for place in places.values():
                print(lode("export", db, "sale", "--delta", place).strip(), f"of {place}")
        wanted = Wanted(db)
        for where, place in places.items():
            options = bucket if where == "S3" else None
            by_polars(place, wanted, f"Polars, {where}", options)
            by_duckdb(place, wanted, f"deltalake and DuckDB, {where}", options)
        spark = spark_session(folder, endpoint)
        try:
            spark.sparkContext.setLogLevel("ERROR")
            for where, place in places.items():
                by_spark(spark, place.replace("s3://", "s3a://"), wanted, f"Spark, {where}")
                by_changes(spark, folder, place + "-changes", bucket if where == "S3" else None)
            written_by_spark(spark, folder)
        finally:
            spark.stop()
    print("every engine agrees")


main()
