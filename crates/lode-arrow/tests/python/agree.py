"""pyarrow, Polars and DuckDB agree with Lode on every value of the files that it exports, and Lode
agrees with them on every value of the files that they write.

    python agree.py PATH/TO/lode
"""

import decimal
import json
import math
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import polars
import pyarrow
import pyarrow.compute
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

LODE = Path(sys.argv[1]).resolve()
ROWS = 5_000

INTEGERS = {f"{sign}{bits}": (bits, sign == "i") for sign in "ui" for bits in (8, 16, 32, 64)}
TYPES = [*INTEGERS, "f32", "f64", "bool", "timestamp", "text(9)", "bytes(3)", "vartext(90000)",
         "varbytes(300)", "decimal(12,2)", "decimal(38,10)"]
decimal.getcontext().prec = 60


def digits(kind):
    """How many digits a decimal has, in all and after the point."""
    return map(int, kind.removeprefix("decimal(").removesuffix(")").split(","))


def edges(kind):
    """Values of a type that are at some edge, as Python has them."""
    if kind in INTEGERS:
        bits, signed = INTEGERS[kind]
        low = -(1 << bits - 1) if signed else 0
        return [low, 0, 1, low + (1 << bits) - 1]
    if kind.startswith("decimal"):
        precision, scale = digits(kind)
        return [decimal.Decimal(number).scaleb(-scale) for number in (1 - 10**precision, -5, 0, 10**precision - 1)]
    match kind:
        case "f32":
            return [0.5, -0.0, math.inf, math.nan, 1.401298464324817e-45, 3.4028234663852886e38]
        case "f64":
            return [0.1, -0.0, -math.inf, math.nan, 5e-324, 1.7976931348623157e308]
        case "bool":
            return [False, True]
        case "timestamp":
            return [-(1 << 63), -1, 0, 1_262_304_000_123_456, (1 << 63) - 1]
        case "text(9)":
            return ["", "ä", " x ", '"', ",\r\n", "123456789", "null"]
        case "vartext(90000)":
            return ["", "\n", "NULL", "ä" * 45_000, "\U0001f600"]
        case "bytes(3)":
            return [b"\0\0\0", b"\xff\0\xc3", b"abc"]
        case _:
            return [b"", b"\0", bytes(range(256))]


def any_value(kind, chance):
    """A value of a type, often at an edge."""
    if chance.random() < 0.3:
        return chance.choice([value for value in edges(kind) if len(str(value)) < 1_000])
    if kind in INTEGERS:
        low, *_, high = edges(kind)
        return chance.randint(low, high)
    if kind.startswith("decimal"):
        precision, scale = digits(kind)
        limit = 10 ** chance.randint(1, precision)
        return decimal.Decimal(chance.randrange(1 - limit, limit)).scaleb(-scale)
    match kind:
        case "f32":
            return struct.unpack("<f", struct.pack("<f", chance.gauss(0, 1e3)))[0]
        case "f64":
            return chance.gauss(0, 1e9)
        case "bool":
            return chance.random() < 0.5
        case "timestamp":
            return chance.randint(-10**15, 10**16)
        case "text(9)":
            return "".join(chance.choices("ab ,\"'", k=chance.randint(1, 8))) + "."
        case "vartext(90000)":
            return "".join(chance.choices("abcäöü\n\t\"", k=chance.randint(0, 40)))
        case "bytes(3)":
            return chance.randbytes(3)
        case _:
            return chance.randbytes(chance.randint(0, 20))


def table():
    """The values of all columns, by their names: each type as it is and with nulls."""
    chance = random.Random(22)
    columns = {"id": list(range(ROWS))}
    for kind in TYPES:
        values = edges(kind)
        values += [any_value(kind, chance) for _ in range(ROWS - len(values))]
        columns[kind] = values
        columns[f"{kind}?"] = [None if chance.random() < 0.2 else value for value in values]
    return columns


def as_json(value):
    """A value as `lode load` takes it."""
    match value:
        case bytes():
            return {"hex": value.hex()}
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
        case decimal.Decimal():
            return str(value)
        case _:
            return value


def bits(value, kind):
    """A value as bits and texts that are the same only if the values are."""
    if value is None:
        return None
    if kind == "f32":
        return "nan" if math.isnan(value) else struct.pack("<f", value)
    if kind == "f64":
        return "nan" if math.isnan(value) else struct.pack("<d", value)
    if kind.startswith("decimal"):
        return decimal.Decimal(value)
    return bytes(value) if kind.startswith(("bytes", "varbytes")) else value


def lode(*args):
    done = subprocess.run([LODE, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"lode {' '.join(map(str, args))}: {done.stderr}")
    return done.stdout


def kind_of(name):
    return "u64" if name == "id" else name.removesuffix("?")


def compare(what, found, wanted):
    """Ends the program at the first value that differs."""
    if list(found) != list(wanted):
        sys.exit(f"{what}: columns {list(found)}, not {list(wanted)}")
    for name, values in wanted.items():
        kind = kind_of(name)
        if len(found[name]) != len(values):
            sys.exit(f"{what}: {len(found[name])} rows, not {len(values)}")
        for row, (one, other) in enumerate(zip(found[name], values)):
            if bits(one, kind) != bits(other, kind):
                sys.exit(f"{what}: row {row}, column {name}: {one!r}, not {other!r}")
    print(f"{what}: {len(wanted)} columns of {ROWS} rows agree")


def lists(arrow):
    """The columns of an Arrow table; moments as the microseconds that they count."""
    def column(array):
        if pyarrow.types.is_timestamp(array.type):
            array = array.cast(pyarrow.timestamp("us", array.type.tz)).cast(pyarrow.int64())
        return array.to_pylist()
    return {name: column(arrow[name]) for name in arrow.column_names}


def of_polars(frame):
    moments = [name for name, kind in frame.schema.items() if kind == polars.Datetime]
    frame = frame.with_columns(polars.col(moments).dt.epoch("us")) if moments else frame
    return {name: frame[name].to_list() for name in frame.columns}


def of_duckdb(query):
    """The rows of a query; moments as microseconds."""
    relation = duckdb.sql(query)
    kinds = dict(zip(relation.columns, map(str, relation.types)))
    part = lambda name: f'epoch_us("{name}") AS "{name}"' if "TIMESTAMP" in kinds[name] else f'"{name}"'
    return lists(relation.project(", ".join(map(part, relation.columns))).to_arrow_table())


def unhexed(columns):
    """What CSV has as hex, as bytes."""
    read = lambda name, value: bytes.fromhex(value) if "bytes" in name and value is not None else value
    return {name: [read(name, value) for value in values] for name, values in columns.items()}


def export_agrees(folder, wanted):
    parquet, arrow, csv = (folder / f"all.{end}" for end in ("parquet", "arrow", "csv"))
    for file in (parquet, arrow, csv):
        lode("export", folder / "db", "all", file)
    compare("Parquet by pyarrow", lists(pyarrow.parquet.read_table(parquet)), wanted)
    compare("Parquet by Polars", of_polars(polars.read_parquet(parquet)), wanted)
    query = f"SELECT * FROM read_parquet('{parquet}') ORDER BY id"
    # To DuckDB the latest moment is infinity, which has no microseconds.
    infinite = lambda name, value: "timestamp" in name and value == (1 << 63) - 1
    finite = {name: [None if infinite(name, value) else value for value in values]
              for name, values in wanted.items()}
    compare("Parquet by DuckDB", of_duckdb(query), finite)
    compare("Arrow IPC by pyarrow", lists(pyarrow.feather.read_table(arrow)), wanted)
    compare("Arrow IPC by Polars", of_polars(polars.read_ipc(arrow)), wanted)
    types = {"u": pyarrow.uint64(), "i": pyarrow.int64(), "f": pyarrow.float64(), "b": pyarrow.string(),
             "t": pyarrow.string(), "v": pyarrow.string()}
    special = {"timestamp": pyarrow.int64(), "bool": pyarrow.bool_(), "f32": pyarrow.float32()}
    special |= {kind: pyarrow.decimal128(*digits(kind)) for kind in TYPES if kind.startswith("decimal")}
    column_types = {name: special.get(kind_of(name)) or types[kind_of(name)[0]] for name in wanted}
    options = pyarrow.csv.ConvertOptions(column_types=column_types, strings_can_be_null=True,
                                         quoted_strings_can_be_null=False, null_values=[""])
    parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
    read = pyarrow.csv.read_csv(csv, convert_options=options, parse_options=parse)
    compare("CSV by pyarrow", unhexed(lists(read)), wanted)
    # Polars keeps fewer digits of decimals in CSV than files have.
    plain = {name: pyarrow.string() if pyarrow.types.is_decimal(kind) else kind
             for name, kind in column_types.items()}
    schema = {name: polars.from_arrow(pyarrow.array([], kind)).dtype for name, kind in plain.items()}
    compare("CSV by Polars", unhexed(of_polars(polars.read_csv(csv, schema_overrides=schema))), wanted)


def import_agrees(folder, wanted, schema):
    """Files that others wrote of what they read."""
    original = pyarrow.parquet.read_table(folder / "all.parquet")
    polars.read_parquet(folder / "all.parquet").write_parquet(folder / "polars.parquet")
    polars.read_parquet(folder / "all.parquet").write_ipc(folder / "polars.arrow", compression="zstd")
    plain = original.replace_schema_metadata(None)
    plain = plain.cast(pyarrow.schema([field.remove_metadata() for field in plain.schema]))
    pyarrow.parquet.write_table(plain, folder / "pyarrow.parquet", compression="gzip")
    pyarrow.feather.write_feather(plain, str(folder / "pyarrow.arrow"), compression="lz4")
    duckdb.sql(f"COPY (SELECT * FROM '{folder}/all.parquet') TO '{folder}/duckdb.parquet'")
    before = lode("dump", folder / "db", "all")
    for file in ("polars.parquet", "polars.arrow", "pyarrow.parquet", "pyarrow.arrow", "duckdb.parquet"):
        copy = folder / f"db-{file}"
        lode("import", copy, "all", folder / file, "--schema", schema)
        if lode("dump", copy, "all") != before:
            sys.exit(f"{file}: what was imported differs")
        print(f"{file}: imported as it was")


def main():
    wanted = table()
    schema = "id:u64 key, " + ", ".join(f'"{name}":{kind_of(name)}' + "?" * name.endswith("?")
                                        for name in wanted if name != "id")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = zip(*wanted.values())
        lines = (json.dumps(dict(zip(wanted, map(as_json, row)))) for row in rows)
        (folder / "all.jsonl").write_text("\n".join(lines))
        lode("load", folder / "db", "all", folder / "all.jsonl", "--schema", schema)
        export_agrees(folder, wanted)
        import_agrees(folder, wanted, schema)
    print("every value agrees")


main()
