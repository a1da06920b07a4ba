"""Compares Lode's door to Python with those of other stores: `python doors.py [ROWS [ROUNDS]]`.

Each store keeps ROWS records of an integer key and 100 bytes, in files. None waits for the disk: all
survive a killed program only. Rounds are by turns, and the rates' medians are printed with the lowest
and the highest, in thousand operations a second. Lode's ratio to a store is that of their medians.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import diskcache
import lmdb
import rocksdict

import lode

VALUE = random.Random(1).randbytes(100)
BATCH = 100

Work = Callable[[Sequence[int]], None]


class Lode:
    name = "lode"

    def __init__(self, directory: Path) -> None:
        self.db = lode.open(directory / "lode", durability="process")
        self.table = self.db.create(
            "t", {"id": "u64", "value": "varbytes(100)"}, ordered=False
        )

    def set(self, keys: Sequence[int]) -> None:
        table, record = self.table, {"value": VALUE}
        for key in keys:
            table[key] = record

    def get(self, keys: Sequence[int]) -> None:
        table = self.table
        for key in keys:
            assert table[key]["value"] == VALUE

    def get_many(self, keys: Sequence[int]) -> None:
        for at in range(0, len(keys), BATCH):
            rows = self.table.get_many(keys[at : at + BATCH])
            assert rows[0]["value"] == VALUE and len(rows) <= BATCH


class LodeCache:
    name = "lode.Cache"

    def __init__(self, directory: Path) -> None:
        self.cache = lode.Cache(directory / "cache", durability="process")

    def set(self, keys: Sequence[int]) -> None:
        for key in keys:
            self.cache[key] = VALUE

    def get(self, keys: Sequence[int]) -> None:
        for key in keys:
            assert self.cache[key] == VALUE


class DiskCache(LodeCache):
    name = "diskcache"

    def __init__(self, directory: Path) -> None:
        path = str(directory / "diskcache")
        self.cache = diskcache.Cache(path, sqlite_synchronous=0, eviction_policy="none")


class Lmdb:
    name = "lmdb"

    def __init__(self, directory: Path) -> None:
        self.env = lmdb.open(str(directory / "lmdb"), map_size=1 << 32, sync=False)

    def set(self, keys: Sequence[int]) -> None:
        for key in keys:
            with self.env.begin(write=True) as transaction:
                transaction.put(key.to_bytes(8, "big"), VALUE)

    def get(self, keys: Sequence[int]) -> None:
        for key in keys:
            with self.env.begin() as transaction:
                assert transaction.get(key.to_bytes(8, "big")) == VALUE


class Sqlite:
    name = "sqlite3"

    def __init__(self, directory: Path) -> None:
        self.db = sqlite3.connect(directory / "sqlite", isolation_level=None)
        self.db.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
            "CREATE TABLE t(id INTEGER PRIMARY KEY, value BLOB)"
        )

    def set(self, keys: Sequence[int]) -> None:
        for key in keys:
            self.db.execute("INSERT OR REPLACE INTO t VALUES(?, ?)", (key, VALUE))

    def get(self, keys: Sequence[int]) -> None:
        for key in keys:
            found = self.db.execute("SELECT value FROM t WHERE id = ?", (key,))
            assert found.fetchone()[0] == VALUE


class Rocks:
    name = "rocksdict"

    def __init__(self, directory: Path) -> None:
        options = rocksdict.Options(raw_mode=True)
        self.db = rocksdict.Rdict(str(directory / "rocksdict"), options)

    def set(self, keys: Sequence[int]) -> None:
        for key in keys:
            self.db[key.to_bytes(8, "big")] = VALUE

    def get(self, keys: Sequence[int]) -> None:
        for key in keys:
            assert self.db[key.to_bytes(8, "big")] == VALUE


STORES: list[type] = [Lode, LodeCache, DiskCache, Lmdb, Sqlite, Rocks]


def measure(rows: int, rounds: int) -> dict[tuple[str, str], list[float]]:
    """Returns the rates of each store and operation, one of each round."""
    rates: dict[tuple[str, str], list[float]] = {}
    directory = Path(tempfile.mkdtemp(prefix="doors-"))
    try:
        stores: list[Any] = [store(directory) for store in STORES]
        keys = random.Random(2).sample(range(10 * rows), rows)
        for turn in range(rounds):
            for operation in ["set", "get", "get_many"]:
                for store in stores:
                    work: Work | None = getattr(store, operation, None)
                    if work is None:
                        continue
                    start = time.perf_counter()
                    work(keys)
                    seconds = time.perf_counter() - start
                    rates.setdefault((operation, store.name), []).append(rows / seconds)
    finally:
        shutil.rmtree(directory)
    return rates


def show(rates: dict[tuple[str, str], list[float]]) -> str:
    lines = []
    for (operation, name), of in rates.items():
        median, lowest, highest = statistics.median(of), min(of), max(of)
        rival = "lode.Cache" if name == "diskcache" else "lode"
        ratio = statistics.median(rates[operation, rival]) / median
        figures = f"{median / 1e3:8.1f} k ({lowest / 1e3:.1f} to {highest / 1e3:.1f})"
        ours = "" if name.startswith("lode") else f"   {rival} is {ratio:.2f} x"
        lines.append(f"{operation:9} {name:11} {figures:32}{ours}".rstrip())
    return "\n".join(lines)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    print(show(measure(*numbers, *[20_000, 5][len(numbers) :])))
