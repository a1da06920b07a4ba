"""Drives `lode serve` with programs that nobody here wrote: psql, pgbench, psycopg, asyncpg, SQLAlchemy, JDBC, pgx.

    python clients.py path/of/lode [path/of/jars]

JDBC is driven if there are a compiler for Java and the jars of jdbc/pom.xml; pgx, if there is Go. Prints a line for
each, and ends with status 1 at the first that does not see what it should.
"""

import asyncio
import contextlib
import datetime
import decimal
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path

import asyncpg
import psycopg
import sqlalchemy as sa
from psycopg.rows import dict_row

CLIENTS = Path(__file__).parent.absolute()
UTC = datetime.timezone.utc
MOMENT = datetime.datetime(2026, 1, 2, 3, 4, 5, 600000, UTC)
TABLE = """CREATE TABLE reading (id U32 PRIMARY KEY, at TIMESTAMP, celsius F64, note VARTEXT(40) NOT NULL,
           raw VARBYTES(20), ok BOOLEAN, price DECIMAL(20, 2))"""
ROW = (1, MOMENT, 1.5, "é'\"\\", b"\x00\xff", True, decimal.Decimal("12345678901234567.25"))


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"{found!r}, where {expected!r} was expected")


def psql(host, *args, text=None):
    command = ["psql", "-X", "-h", str(host), "-U", "ada", "-d", "any", "-v", "ON_ERROR_STOP=1", "-At", *args]
    done = subprocess.run(command, input=text, text=True, capture_output=True, timeout=120)
    if done.returncode:
        raise AssertionError(f"{args}: {done.stderr}")
    return done.stdout


def with_psql(host):
    equal(psql(host, "-c", TABLE), "CREATE TABLE\n")
    equal(psql(host, "-c", r"\dt"), "public|reading|table|ada\n")
    described = psql(host, "-c", r"\d reading")
    assert "at|timestamp with time zone|||" in described, described
    for command in (r"\d+ reading", r"\di", r"\dn", r"\l", r"\du", r"\df", r"\dv", r"\dp", r"\dx", r"\dT"):
        psql(host, "-c", command)
    lines = "7\t\\N\t\\N\ta\\tb\t\\N\t\\N\t\\N\n"
    psql(host, "-c", "COPY reading FROM STDIN", text=lines)
    equal(psql(host, "-c", "COPY reading TO STDOUT"), lines)
    equal(psql(host, "-c", r"\copy (SELECT id, note FROM reading) TO STDOUT CSV HEADER"), "id,note\n7,a\tb\n")
    equal(psql(host, "-c", "DELETE FROM reading"), "DELETE 1\n")
    script = "BEGIN;\nINSERT INTO reading (id, note) VALUES (8, 'x');\nROLLBACK;\nSELECT count(*) FROM reading;\n"
    equal(psql(host, "-q", text=script), "0\n")


def with_psycopg(host):
    with psycopg.connect(host=str(host), user="ada", dbname="any", row_factory=dict_row) as db:
        values = ", ".join(["%s"] * len(ROW))
        db.execute(f"INSERT INTO reading VALUES ({values})", ROW)
        db.commit()
        for binary in (False, True):
            row = db.cursor(binary=binary).execute("SELECT * FROM reading WHERE id = %s", (1,)).fetchone()
            equal(tuple(row.values()), ROW)
        counted = db.execute("SELECT count(*) AS n, max(celsius) AS most FROM reading").fetchone()
        equal(counted, {"n": 1, "most": 1.5})
        try:
            db.execute("INSERT INTO reading (id, note) VALUES (1, 'again')")
            raise AssertionError("a key twice")
        except psycopg.errors.UniqueViolation:
            db.rollback()
        try:
            db.execute("SELECT * FROM nowhere")
            raise AssertionError("no table")
        except psycopg.errors.UndefinedTable:
            db.rollback()
        with db.cursor() as cursor:
            cursor.executemany("INSERT INTO reading (id, note) VALUES (%s, %s)", [(i, str(i)) for i in range(10, 110)])
            with cursor.copy("COPY reading (id, note) FROM STDIN") as copy:
                for i in range(200, 300):
                    copy.write_row((i, "copied"))
        db.commit()
        with db.cursor("named") as cursor:
            try:
                cursor.execute("SELECT id FROM reading")
                raise AssertionError("cursors of the server are not there")
            except psycopg.errors.FeatureNotSupported:
                db.rollback()
        equal(db.execute("SELECT count(*) AS n FROM reading").fetchone(), {"n": 201})
        for query, array in [("id = ANY(%s)", [1, 10, 7]), ("id = ANY(%b)", [1, 10]),
                             ("note = ANY(%s)", [ROW[3], "10"]), ("price = ANY(%s) OR id = 10", [ROW[6]]),
                             ("at = ANY(%s) OR id = 10", [MOMENT])]:
            rows = db.execute(f"SELECT id FROM reading WHERE {query} ORDER BY id", (array,)).fetchall()
            equal([row["id"] for row in rows], [1, 10])
        for _ in range(20):
            # Often enough for psycopg to prepare the statement.
            equal(db.execute("SELECT note FROM reading WHERE id = %s", (10,)).fetchone(), {"note": "10"})


async def with_asyncpg(host):
    db = await asyncpg.connect(host=str(host), user="ada", database="any", timeout=60, command_timeout=60)
    try:
        row = await db.fetchrow("SELECT * FROM reading WHERE id = $1", 1)
        equal(tuple(row.values()), ROW)
        await db.execute(
            "UPDATE reading SET at = $1, celsius = celsius + $2, price = $3 WHERE id = $4",
            MOMENT + datetime.timedelta(seconds=1), 0.25, decimal.Decimal("-0.50"), 1,
        )
        row = await db.fetchrow("SELECT at, celsius, price FROM reading WHERE id = 1")
        equal(tuple(row.values()), (MOMENT + datetime.timedelta(seconds=1), 1.75, decimal.Decimal("-0.50")))
        try:
            async with db.transaction():
                await db.execute("INSERT INTO reading (id, note) VALUES ($1, $2)", 2, "x")
                raise KeyError
        except KeyError:
            pass
        equal(await db.fetchval("SELECT count(*) FROM reading WHERE id = 2"), 0)
        # In binary.
        records = [(500 + i, MOMENT, "copied") for i in range(3)]
        copied = await db.copy_records_to_table("reading", records=records, columns=["id", "at", "note"])
        equal(copied, "COPY 3")
        equal(await db.execute("DELETE FROM reading WHERE at = $1 AND id >= 500", MOMENT), "DELETE 3")
        async with db.transaction():
            ids = [row["id"] async for row in db.cursor("SELECT id FROM reading ORDER BY id", prefetch=7)]
        equal(len(ids), 201)
        try:
            await db.execute("INSERT INTO reading (id, note) VALUES ($1, $2)", 1, "x")
            raise AssertionError("a key twice")
        except asyncpg.UniqueViolationError:
            pass
        try:
            await db.fetch("SELECT * FROM nowhere WHERE id = $1", 1)
            raise AssertionError("no table")
        except asyncpg.UndefinedTableError:
            pass
        for query, array in [("id = ANY($1)", [1, 10, 7]), ("id = ANY($1::int[])", [1, 10]),
                             ("note = ANY($1)", [ROW[3], "10"]),
                             ("price = ANY($1) OR id = 10", [decimal.Decimal("-0.50")]),
                             ("at = ANY($1) OR id = 10", [MOMENT + datetime.timedelta(seconds=1)])]:
            rows = await db.fetch(f"SELECT id FROM reading WHERE {query} ORDER BY id", array)
            equal([row["id"] for row in rows], [1, 10])
    finally:
        await db.close()
    async with asyncpg.create_pool(host=str(host), user="ada", database="any", min_size=1, max_size=1) as pool:
        async with pool.acquire() as db:
            await db.execute("SET application_name = 'changed'")
        # It is reset between its users.
        async with pool.acquire() as db:
            equal(await db.fetchval("SHOW application_name"), "")
            equal(await db.fetchval("SELECT count(*) FROM reading"), 201)


def with_sqlalchemy(host, driver):
    url = sa.URL.create(f"postgresql+{driver}", username="ada", database="any", query={"host": str(host)})
    engine = sa.create_engine(url)
    metadata = sa.MetaData()
    table = sa.Table("reading", metadata, sa.Column("id", sa.BigInteger, primary_key=True),
                     sa.Column("note", sa.Text), sa.Column("celsius", sa.Double))
    with engine.begin() as db:
        db.execute(sa.insert(table), [{"id": i, "note": f"n{i}", "celsius": i / 2} for i in range(1000, 1010)])
    with engine.connect() as db:
        query = sa.select(table.c.note, table.c.celsius).where(table.c.id >= 1008).order_by(table.c.id)
        equal([tuple(row) for row in db.execute(query)], [("n1008", 504.0), ("n1009", 504.5)])
        equal(db.execute(sa.select(sa.func.count()).select_from(table)).scalar(), 211)
    with engine.begin() as db:
        db.execute(sa.update(table).where(table.c.id == 1000).values(note="changed"))
        db.execute(sa.delete(table).where(table.c.id.in_([1001, 1002])))
    with engine.connect() as db:
        equal(db.execute(sa.select(table.c.note).where(table.c.id == 1000)).scalar(), "changed")
    with engine.begin() as db:
        db.execute(sa.delete(table).where(table.c.id >= 1000))
    engine.dispose()


def with_pgbench(host):
    psql(host, "-c", "CREATE TABLE account (id I64 PRIMARY KEY, money I64 NOT NULL)")
    fill = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
    psql(host, "-c", fill + "INSERT INTO account SELECT i, 0 FROM n")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script"
        script.write_text("\\set id random(1, 1000)\nUPDATE account SET money = money + 1 WHERE id = :id;\n"
                          "SELECT money FROM account WHERE id = :id;\n")
        for mode in ("simple", "extended", "prepared"):
            command = ["pgbench", "-n", "-f", str(script), "-M", mode, "-c", "4", "-t", "50", "-h", str(host),
                       "-U", "ada", "any"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            assert done.returncode == 0 and "200/200" in done.stdout, done.stdout + done.stderr
    equal(psql(host, "-c", "SELECT sum(money) FROM account"), "600\n")


def certificate(folder):
    """Makes a certificate for localhost, signed by an authority: files of the root, of both, and of the key."""
    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True, timeout=120)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "root.key", "-out", "root.pem", "-days", "2",
            "-subj", "/CN=root")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "request", "-subj", "/CN=localhost")
    (folder / "names").write_text("subjectAltName = DNS:localhost\n")
    openssl("x509", "-req", "-in", "request", "-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial", "-out",
            "own.pem", "-days", "2", "-extfile", "names")
    (folder / "chain.pem").write_text((folder / "own.pem").read_text() + (folder / "root.pem").read_text())
    return folder / "root.pem", folder / "chain.pem", folder / "key.pem"


async def with_tls(address, port, root):
    def connected(**settings):
        return f"host=localhost hostaddr={address} port={port} user=ada password=secret dbname=any " + " ".join(
            f"{name}={value}" for name, value in settings.items())

    def ask(text, statement="SELECT 7"):
        command = ["psql", "-X", "-At", "-c", statement, text]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    info = ask(connected(sslmode="verify-full", sslrootcert=root), r"\conninfo")
    assert info.returncode == 0 and "TLSv1.3" in info.stdout, info
    for settings in ({"sslmode": "require"}, {"sslmode": "prefer"}, {"sslmode": "allow"},
                     {"sslmode": "require", "channel_binding": "require"},
                     {"sslmode": "require", "ssl_max_protocol_version": "TLSv1.2"}):
        done = ask(connected(**settings))
        equal((done.stdout, done.stderr), ("7\n", ""))
    refused = ask(connected(sslmode="disable"))
    assert refused.returncode == 2 and "must be encrypted" in refused.stderr, refused
    full = connected(sslmode="verify-full", sslrootcert=root)
    with psycopg.connect(full) as db:
        equal(db.execute("SELECT %s", ("x" * 1_000_000,)).fetchone(), ("x" * 1_000_000,))
        assert db.pgconn.ssl_in_use
    try:
        psycopg.connect(full.replace("localhost", "elsewhere"))
        raise AssertionError("a name that the certificate does not have")
    except psycopg.OperationalError as error:
        assert "does not match" in str(error), error
    trust = ssl.create_default_context(cafile=root)
    db = await asyncpg.connect(host="localhost", port=port, user="ada", password="secret", database="any", ssl=trust)
    equal(await db.fetchval("SELECT 7"), 7)
    await db.close()


@contextlib.contextmanager
def at_tcp(lode, folder, *options):
    """Serves a database at TCP, for the password `secret`. Gives the address."""
    passwords = folder / "passwords"
    passwords.write_text("ada:secret\n")
    passwords.chmod(0o600)
    server = subprocess.Popen([lode, "serve", str(folder / "db"), "--create", "--listen", "127.0.0.1:0",
                               "--password-file", str(passwords), *map(str, options)],
                              stdout=subprocess.PIPE, text=True)
    try:
        address, port = server.stdout.readline().removeprefix("listening at ").strip().split(":")
        yield address, int(port)
        server.terminate()
        equal(server.wait(60), 0)
    finally:
        server.kill()
        server.wait()


def built(name, command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise AssertionError(f"{name} is not compiled: {done.stderr}")


def programs(folder, jars):
    """Compiles the programs for JDBC and pgx: returns, by name, what makes a command of a port and a certificate."""
    found = {}
    if jars and shutil.which("javac"):
        sources = CLIENTS / "jdbc"
        classes = folder / "classes"
        classes.mkdir()
        path = os.pathsep.join([str(classes), os.path.join(os.path.abspath(jars), "*")])
        built("jdbc", ["javac", "-Xlint:all", "-Werror", "-cp", path, "-d", str(classes),
                       *sorted(map(str, sources.glob("*.java")))], sources)
        found["JDBC"] = lambda port, *root: ["java", "-cp", path, "Clients", "localhost", str(port), "secret",
                                             *map(str, root)]
    version = [0]
    if shutil.which("go"):
        told = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, timeout=60, check=True).stdout
        version = [int(digits) for digits in re.findall(r"\d+", told)]
    # From this version on, Go gets the one that go.mod names.
    if version >= [1, 21]:
        program = str(folder / "pgx")
        built("pgx", ["go", "build", "-o", program, "."], CLIENTS / "pgx")
        found["pgx"] = lambda port, *root: [program, f"postgres://ada:secret@localhost:{port}/any?" + (
            f"sslmode=verify-full&channel_binding=require&sslrootcert={root[0]}" if root else "sslmode=disable")]
    for name in sorted({"JDBC", "pgx"} - set(found)):
        print(f"{name} is left out: its compiler or its jars are missing, or too old")
    return found


def drive(name, command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise AssertionError(f"{name}:\n{done.stderr}")


def over_tcp(lode, jars):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiled = programs(folder, jars)
        with at_tcp(lode, folder) as (_, port):
            for name, command in compiled.items():
                drive(name, command(port))
                print(f"{name} agrees", flush=True)
        (folder / "tls").mkdir()
        root, chain, key = certificate(folder / "tls")
        with at_tcp(lode, folder / "tls", "--tls-certificate", chain, "--tls-key", key) as (address, port):
            asyncio.run(with_tls(address, port, root))
            for name, command in compiled.items():
                drive(name, command(port, root))
        print(", ".join(["psql", "psycopg", "asyncpg", *compiled]) + " agree over TLS", flush=True)


def main(lode, jars=None):
    with tempfile.TemporaryDirectory() as folder:
        host = Path(folder) / "db"
        server = subprocess.Popen([lode, "serve", str(host), "--create"], stdout=subprocess.PIPE, text=True)
        try:
            equal(server.stdout.readline(), f"listening at unix:{host.resolve()}/.s.PGSQL.5432\n")
            os.environ["PGCONNECT_TIMEOUT"] = "60"
            with_psql(host)
            print("psql agrees", flush=True)
            with_psycopg(host)
            print("psycopg agrees", flush=True)
            asyncio.run(with_asyncpg(host))
            print("asyncpg agrees", flush=True)
            with_sqlalchemy(host, "psycopg")
            print("SQLAlchemy agrees", flush=True)
            if shutil.which("pgbench"):
                with_pgbench(host)
                print("pgbench agrees", flush=True)
            server.terminate()
            equal(server.wait(60), 0)
        finally:
            server.kill()
            server.wait()
    over_tcp(lode, jars)


if __name__ == "__main__":
    main(*sys.argv[1:])
