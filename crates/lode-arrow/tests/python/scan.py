"""How fast DuckDB reads a Parquet file into Arrow by one thread: seconds, and MB/s of the rows' bytes.

    python scan.py FILE.parquet BYTES_A_ROW
"""

import sys
import time

import duckdb

file, row_bytes = sys.argv[1], int(sys.argv[2])
db = duckdb.connect()
db.execute("SET threads = 1")
best = float("inf")
for _ in range(5):
    begun = time.monotonic()
    rows = 0
    for batch in db.sql(f"SELECT * FROM read_parquet('{file}')").to_arrow_reader(8192):
        rows += batch.num_rows
    best = min(best, time.monotonic() - begun)
print(f"DuckDB {duckdb.__version__}: {rows} rows in {best:.3f} s, {rows * row_bytes / 1e6 / best:.0f} MB/s")
