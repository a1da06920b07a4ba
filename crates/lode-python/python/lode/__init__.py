"""Lode, an embedded database of typed records.

>>> import lode
>>> db = lode.memory()
>>> users = db.create("users", {"id": "u64", "name": "vartext(80)", "age": "u8?"})
>>> users[7] = {"name": "Ada", "age": 36}
>>> users[7]
{'id': 7, 'name': 'Ada', 'age': 36}
>>> users.insert({"id": 9, "name": "Grace"})
True
>>> with db.begin() as transaction:
...     table = transaction["users"]
...     table.update(9, age=table[7]["age"] + 1)
True
>>> [(row["name"], row["age"]) for row in users[7:]]
[('Ada', 36), ('Grace', 37)]
>>> db.close()
"""

from ._blobs import BlobReader, BlobWriter
from ._cache import Cache, Stats
from ._changes import Change
from ._errors import (
    BusyError,
    ChangesGoneError,
    ClosedError,
    ConflictError,
    CorruptError,
    DataError,
    EndedError,
    Error,
    LockedError,
    ReadOnlyError,
    SchemaError,
    SnapshotTooOldError,
    SpaceError,
    StorageError,
    UniqueError,
)
from ._lode import (
    Blobs,
    Changes,
    Database,
    Rows,
    Savepoint,
    Snapshot,
    Table,
    Transaction,
    memory,
    open,
)

__all__ = [
    "BlobReader",
    "BlobWriter",
    "Blobs",
    "BusyError",
    "Cache",
    "Change",
    "Changes",
    "ChangesGoneError",
    "ClosedError",
    "ConflictError",
    "CorruptError",
    "DataError",
    "Database",
    "EndedError",
    "Error",
    "LockedError",
    "ReadOnlyError",
    "Rows",
    "Savepoint",
    "SchemaError",
    "Snapshot",
    "SnapshotTooOldError",
    "SpaceError",
    "Stats",
    "StorageError",
    "Table",
    "Transaction",
    "UniqueError",
    "memory",
    "open",
]
