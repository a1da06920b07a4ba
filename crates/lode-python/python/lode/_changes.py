"""Changes of a database."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple


class Change(NamedTuple):
    """A committed change of a record, a table or an index.

    ``before`` and ``after`` are what was there and what is there since; ``None`` for nothing. They
    are rows if ``kind`` is ``"row"``. Of tables they are descriptions that `Database.create` takes,
    and of indexes those that `Table.create_index` takes.

    >>> import lode, tempfile
    >>> db = lode.open(tempfile.mkdtemp() + "/shop", keep_changes_bytes=1 << 20)
    >>> books = db.create("books", {"id": "u32", "pages": "u16"})
    >>> books[7] = {"pages": 412}
    >>> books[7] = {"pages": 420}
    >>> created, *rows = db.changes()
    >>> [(row.key, row.before, row.after) for row in rows]
    [(7, None, {'id': 7, 'pages': 412}), (7, {'id': 7, 'pages': 412}, {'id': 7, 'pages': 420})]
    >>> created.kind, created.table, created.before
    ('create table', 'books', None)
    >>> lode.memory().create(**created.after)
    <lode.Table "books">
    >>> db.close()

    An alteration has the description of the table before and after. The records of the table, each
    of which has changed, are not listed: read the table for them. A cleared table is dropped and
    created.

    A copy applies a commit in one transaction: it deletes all rows ``before``, then inserts those
    ``after``. In another order, a unique index may refuse what the commit had exchanged.
    """

    #: What has changed, and how.
    kind: Literal[
        "row", "create table", "drop table", "alter table", "create index", "drop index"
    ]
    #: The name of the table; of an altered one before.
    table: str
    #: The key of the record; a tuple if it has several columns. `None` if no record has changed.
    key: Any
    #: What was there before.
    before: dict[str, Any] | None
    #: What is there since.
    after: dict[str, Any] | None
    #: True if it is the last change of its commit.
    last: bool
    #: The position after its commit: `Database.changes` continues there.
    position: str
