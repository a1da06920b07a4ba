"""A cache in a database: values that expire, have tags, and are evicted when it is full."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Iterator
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from . import _lode
from ._errors import Error, make
from ._pack import pack_key, pack_value, stored_key, unpack_key, unpack_value

if TYPE_CHECKING:
    from typing_extensions import Self

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])

# The value of a key that is not there.
_MISSING: Any = object()

# The longest part of a value in one record.
_PIECE_BYTES = 512 << 10

# About the bytes that an entry takes up besides its key and value.
_ENTRY_BYTES = 150

# The most entries that one transaction removes.
_MOST_REMOVED = 1_000

# The most entries that one write evicts.
_MOST_EVICTED = 10

_KEY = "varbytes(501)"
_PIECE = f"varbytes({_PIECE_BYTES})"

# The columns of each table, its key, and whether it is ordered.
_TABLES: dict[str, tuple[dict[str, str], list[str], bool]] = {
    "cache_entries": (
        {
            "key": _KEY,
            # If that is a hash.
            "full_key": "varbytes(100000)?",
            # The entry's own number, which no other entry ever has.
            "id": "u64",
            # The entry's place in the order in which entries are evicted.
            "place": "u64",
            "expires": "f64?",
            "tag": "vartext(400)?",
            "bytes": "u64",
            # None if it is in pieces.
            "value": f"{_PIECE}?",
        },
        ["key"],
        False,
    ),
    "cache_pieces": ({"id": "u64", "at": "u32", "piece": _PIECE}, ["id", "at"], True),
    "cache_by_id": ({"id": "u64", "key": _KEY}, ["id"], True),
    "cache_by_place": ({"place": "u64", "key": _KEY}, ["place"], True),
    "cache_by_expiry": (
        {"expires": "f64", "id": "u64", "key": _KEY},
        ["expires", "id"],
        True,
    ),
    "cache_by_tag": ({"tag": "vartext(400)", "id": "u64", "key": _KEY}, ["tag", "id"], True),
    "cache_totals": ({"name": "text(8)", "number": "i64"}, ["name"], False),
}

Entry = dict[str, Any]


class Stats(NamedTuple):
    """How often a cache had what was asked for, since it was opened or `Cache.stats` reset it."""

    hits: int
    misses: int


class _Tables:
    """The tables of a cache, as a transaction or a database sees them."""

    def __init__(self, of: _lode.Transaction | _lode.Database) -> None:
        self.entries = of["cache_entries"]
        self.pieces = of["cache_pieces"]
        self.by_id = of["cache_by_id"]
        self.by_place = of["cache_by_place"]
        self.by_expiry = of["cache_by_expiry"]
        self.by_tag = of["cache_by_tag"]

    def add(self, entry: Entry, packed: bytes) -> int:
        """Adds an entry with its value; returns the bytes that it takes up."""
        value: bytes | None = packed
        if len(packed) > _PIECE_BYTES:
            value = None
            pieces = range(0, len(packed), _PIECE_BYTES)
            self.pieces.upsert_many(
                {"id": entry["id"], "at": at, "piece": packed[start : start + _PIECE_BYTES]}
                for at, start in enumerate(pieces)
            )
        key_bytes = len(entry["key"]) + len(entry["full_key"] or b"")
        bytes_ = len(packed) + 4 * key_bytes + _ENTRY_BYTES
        self.entries.insert({**entry, "value": value, "bytes": bytes_})
        self.by_id.insert({"id": entry["id"], "key": entry["key"]})
        self.by_place.insert({"place": entry["place"], "key": entry["key"]})
        self._link(entry)
        return bytes_

    def remove(self, entry: Entry) -> int:
        """Removes an entry; returns the bytes that it took up, below 0."""
        self.entries.delete(entry["key"])
        self.by_id.delete(entry["id"])
        self.by_place.delete(entry["place"])
        self._unlink(entry)
        if entry["value"] is None:
            for piece in list(self.pieces.rows(prefix=entry["id"], columns=["at"])):
                self.pieces.delete((entry["id"], piece["at"]))
        return -int(entry["bytes"])

    def _link(self, entry: Entry) -> None:
        if entry["expires"] is not None:
            self.by_expiry.insert({name: entry[name] for name in ("expires", "id", "key")})
        if entry["tag"] is not None:
            self.by_tag.insert({name: entry[name] for name in ("tag", "id", "key")})

    def _unlink(self, entry: Entry) -> None:
        if entry["expires"] is not None:
            self.by_expiry.delete((entry["expires"], entry["id"]))
        if entry["tag"] is not None:
            self.by_tag.delete((entry["tag"], entry["id"]))

    def expire_at(self, entry: Entry, expires: float | None) -> None:
        self._unlink(entry)
        self._link({**entry, "expires": expires})
        self.entries.update(entry["key"], expires=expires)

    def move(self, entry: Entry, place: int) -> None:
        """Gives an entry another place in the order in which entries are evicted."""
        self.by_place.delete(entry["place"])
        self.by_place.insert({"place": place, "key": entry["key"]})
        self.entries.update(entry["key"], place=place)

    def value(self, entry: Entry) -> bytes:
        if entry["value"] is not None:
            return bytes(entry["value"])
        return b"".join(piece["piece"] for piece in self.pieces.rows(prefix=entry["id"]))


@dataclasses.dataclass
class _Block:
    """A transaction of several calls."""

    transaction: _lode.Transaction
    tables: _Tables
    grown: int = 0


class Cache:
    """A cache in a directory, or in memory, for the threads of one process.

    Keys are bytes, str, numbers, ``None``, and tuples of them. Values are these too, and lists and
    dicts as JSON has them. With ``pickle`` both are any objects: then open only files that you
    trust. If all takes up more than about ``size_limit`` bytes, entries are evicted: by ``policy``
    those that were stored first ("least-recently-stored"), those that were used last
    ("least-recently-used", which makes each ``get`` a write), or none ("none").

    >>> import lode
    >>> with lode.Cache() as cache:
    ...     cache.set("page", {"title": "Home"}, expire=60, tag="pages")
    ...     cache["page"], cache.get("other", default=0), cache.incr("views")
    ...     cache.evict("pages"), "page" in cache
    True
    ({'title': 'Home'}, 0, 1)
    (1, False)
    """

    def __init__(
        self,
        directory: str | PathLike[str] | None = None,
        *,
        size_limit: int = 1 << 30,
        policy: Literal[
            "least-recently-stored", "least-recently-used", "none"
        ] = "least-recently-stored",
        durability: Literal["none", "process", "periodic", "commit"] | None = None,
        pickle: bool = False,
    ) -> None:
        policies = ("least-recently-stored", "least-recently-used", "none")
        if policy not in policies:
            message = f"there is no policy {policy}; use one of {', '.join(policies)}"
            raise make("bad_argument", "none", message)
        if size_limit <= 0:
            raise make("bad_argument", "none", "size_limit is a number of bytes above 0")
        self._size_limit = size_limit
        self._policy = policy
        self._pickle = pickle
        # The open transaction of a thread: itself, its tables, the bytes by which the cache grows.
        self._local = threading.local()
        if directory is None:
            self._db = _lode.memory()
        else:
            self._db = _lode.open(directory, durability=durability)
        for name, (columns, key, ordered) in _TABLES.items():
            self._db.create(name, columns, key=key, ordered=ordered, exist_ok=True)
        self._now = _Tables(self._db)
        self._totals = self._db["cache_totals"]
        self._totals.insert({"name": "bytes", "number": 0})
        # A handler of a signal may use the cache within a call of it.
        self._lock = threading.RLock()
        self._hits = self._misses = 0
        last = [
            (self._now.by_id, "id"),
            (self._now.by_place, "place"),
            (self._now.pieces, "id"),
        ]
        numbers = [row[of] for table, of in last for row in table.rows(reverse=True, limit=1)]
        self._next = max(numbers, default=-1) + 1

    # Transactions

    def _run(self, work: Callable[[_Tables], tuple[_T, int]], *, evicts: bool = True) -> _T:
        """Calls `work` in the transaction of this thread, or in one of its own: all of it happens
        or nothing. It returns its result, and the bytes by which the cache grows."""
        current = getattr(self._local, "current", None)
        if current is not None:
            with current.transaction.savepoint():
                result, grown = work(current.tables)
            current.grown += grown
            return result
        result, grown = self._db.transact(lambda transaction: work(_Tables(transaction)))
        self._grow(grown, evicts)
        return result

    def _grow(self, grown: int, evicts: bool) -> None:
        """Counts the bytes of a write that has happened, and evicts if there are too many."""
        try:
            if grown:
                self._totals.increment("bytes", "number", grown)
            if evicts and self._policy != "none" and self.volume() > self._size_limit:
                self._evict_first(_MOST_EVICTED)
        except Error as error:
            error.effect = "applied"
            raise

    @contextlib.contextmanager
    def transact(self) -> Iterator[None]:
        """Makes what this thread does within the block happen together, or not at all if it
        raises. Raises `ConflictError` at its end, or before, if another thread wrote what it has
        read. It belongs to the thread, so do not await within it.

        >>> import lode
        >>> cache = lode.Cache()
        >>> with cache.transact():
        ...     cache.incr("a"), cache.incr("b")
        (1, 1)
        """
        outer = getattr(self._local, "current", None)
        if outer is not None:
            grown = outer.grown
            try:
                with outer.transaction.savepoint():
                    yield
            except BaseException:
                outer.grown = grown
                raise
            return
        with self._db.begin() as transaction:
            self._local.current = current = _Block(transaction, _Tables(transaction))
            try:
                yield
            finally:
                self._local.current = None
        self._grow(current.grown, evicts=True)

    def _numbers(self) -> int:
        with self._lock:
            self._next += 1
            return self._next - 1

    # Reading

    def _tables(self) -> _Tables:
        current = getattr(self._local, "current", None)
        return self._now if current is None else current.tables

    def _stored(self, tables: _Tables, packed: bytes) -> Entry | None:
        """Returns the entry of a key, also if it has expired."""
        entry: Entry | None = tables.entries.get(stored_key(packed))
        if entry is None or (entry["full_key"] or entry["key"]) != packed:
            return None
        return entry

    def _live(self, tables: _Tables, packed: bytes) -> Entry | None:
        """Returns the entry of a key that has not expired."""
        entry = self._stored(tables, packed)
        return None if entry is None or _has_expired(entry, time.time()) else entry

    def _look_up(self, key: Any) -> tuple[Entry | None, Any]:
        packed = pack_key(key, self._pickle)

        def look(tables: _Tables) -> tuple[tuple[Entry | None, Any], int]:
            entry = self._live(tables, packed)
            if entry is None:
                return (None, _MISSING), 0
            if self._policy == "least-recently-used":
                tables.move(entry, self._numbers())
            return (entry, tables.value(entry)), 0

        entry = self._live(self._tables(), packed)
        if entry is None or (entry["value"] is not None and self._policy != "least-recently-used"):
            value: Any = _MISSING if entry is None else entry["value"]
        else:
            # Pieces are read at one moment with their entry.
            entry, value = self._run(look)
        with self._lock:
            self._hits += entry is not None
            self._misses += entry is None
        return entry, value if entry is None else unpack_value(value, self._pickle)

    def get(
        self, key: Any, default: Any = None, *, expire_time: bool = False, tag: bool = False
    ) -> Any:
        """Returns the value of a key, or `default`. With `expire_time` or `tag`, returns a tuple of
        it with the time at which it expires, in seconds since 1970, or with its tag."""
        entry, value = self._look_up(key)
        return _with(default if entry is None else value, entry, expire_time, tag)

    def __getitem__(self, key: Any) -> Any:
        entry, value = self._look_up(key)
        if entry is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: Any) -> bool:
        return self._live(self._tables(), pack_key(key, self._pickle)) is not None

    def __len__(self) -> int:
        """Returns the number of entries, with those that have expired and were not removed yet."""
        return len(self._tables().entries)

    def __iter__(self) -> Iterator[Any]:
        """Iterates over keys in the order in which they were stored."""
        return self._keys(reverse=False)

    def __reversed__(self) -> Iterator[Any]:
        return self._keys(reverse=True)

    def _keys(self, reverse: bool) -> Iterator[Any]:
        for row in self._tables().by_id.rows(reverse=reverse):
            entry = self._tables().entries.get(row["key"])
            if entry is not None and not _has_expired(entry, time.time()):
                yield unpack_key(entry["full_key"] or entry["key"], self._pickle)

    def peekitem(self, last: bool = True) -> tuple[Any, Any]:
        """Returns the key and the value that were stored last, or first."""
        for key in self._keys(reverse=last):
            value = self.get(key, _MISSING)
            if value is not _MISSING:
                return key, value
        raise KeyError("the cache is empty")

    # Writing

    def set(
        self, key: Any, value: Any, expire: float | None = None, *, tag: str | None = None
    ) -> bool:
        """Stores a value, which expires after `expire` seconds. Returns true."""
        packed, packed_value = pack_key(key, self._pickle), pack_value(value, self._pickle)
        expires = _moment(expire)

        def store(tables: _Tables) -> tuple[bool, int]:
            before = self._stored_to_replace(tables, packed)
            grown = tables.remove(before) if before else 0
            return True, grown + self._add(tables, packed, packed_value, expires, tag)

        return self._run(store)

    __setitem__ = set

    def _stored_to_replace(self, tables: _Tables, packed: bytes) -> Entry | None:
        # Also one whose key has that hash: a cache may forget it.
        entry: Entry | None = tables.entries.get(stored_key(packed))
        return entry

    def _add(
        self,
        tables: _Tables,
        packed: bytes,
        value: bytes,
        expires: float | None,
        tag: str | None,
    ) -> int:
        key, number = stored_key(packed), self._numbers()
        full_key = packed if key is not packed else None
        entry = {"key": key, "full_key": full_key, "id": number, "place": number}
        return tables.add({**entry, "expires": expires, "tag": tag}, value)

    def add(
        self, key: Any, value: Any, expire: float | None = None, *, tag: str | None = None
    ) -> bool:
        """Stores a value unless there is one. Returns true if it was stored."""
        packed, packed_value = pack_key(key, self._pickle), pack_value(value, self._pickle)
        expires = _moment(expire)

        def store(tables: _Tables) -> tuple[bool, int]:
            if self._live(tables, packed) is not None:
                return False, 0
            before = self._stored_to_replace(tables, packed)
            grown = tables.remove(before) if before else 0
            return True, grown + self._add(tables, packed, packed_value, expires, tag)

        return self._run(store)

    def incr(self, key: Any, delta: int = 1, default: int | None = 0) -> int:
        """Adds `delta` to a number and returns the sum. A key that is not there counts as
        `default`, or raises `KeyError` if that is ``None``."""
        packed = pack_key(key, self._pickle)
        if type(delta) is not int or type(default) not in (int, type(None)):
            raise make("value_misfit", "none", "delta and default are of class int")

        def count(tables: _Tables) -> tuple[int, int]:
            entry = self._live(tables, packed)
            if entry is None and default is None:
                raise KeyError(key)
            before = self._stored_to_replace(tables, packed)
            number, expires, tag = default, None, None
            if entry is not None:
                number = unpack_value(tables.value(entry), self._pickle)
                expires, tag = entry["expires"], entry["tag"]
            if type(number) is not int:
                raise make("value_misfit", "none", f"the value of {key!r} is not an int")
            grown = tables.remove(before) if before else 0
            value = pack_value(number + delta, self._pickle)
            return number + delta, grown + self._add(tables, packed, value, expires, tag)

        return self._run(count)

    def decr(self, key: Any, delta: int = 1, default: int | None = 0) -> int:
        """Subtracts `delta` from a number and returns the difference, as `incr`."""
        return self.incr(key, -delta, default)

    def touch(self, key: Any, expire: float | None = None) -> bool:
        """Has a value expire after `expire` seconds from now on. Returns false if there is none."""
        packed, expires = pack_key(key, self._pickle), _moment(expire)

        def renew(tables: _Tables) -> tuple[bool, int]:
            entry = self._live(tables, packed)
            if entry is not None:
                tables.expire_at(entry, expires)
            return entry is not None, 0

        return self._run(renew)

    def pop(
        self, key: Any, default: Any = None, *, expire_time: bool = False, tag: bool = False
    ) -> Any:
        """Removes a value and returns it as `get` does."""
        packed = pack_key(key, self._pickle)

        def take(tables: _Tables) -> tuple[tuple[Entry | None, Any], int]:
            entry = self._live(tables, packed)
            if entry is None:
                return (None, default), 0
            value = unpack_value(tables.value(entry), self._pickle)
            return (entry, value), tables.remove(entry)

        entry, value = self._run(take)
        return _with(value, entry, expire_time, tag)

    def delete(self, key: Any) -> bool:
        """Removes a value. Returns false if there is none."""
        packed = pack_key(key, self._pickle)

        def remove(tables: _Tables) -> tuple[bool, int]:
            entry = self._live(tables, packed)
            return entry is not None, tables.remove(entry) if entry else 0

        return self._run(remove)

    def __delitem__(self, key: Any) -> None:
        if not self.delete(key):
            raise KeyError(key)

    # Removing many

    def _remove_all(self, find: Callable[[_Tables, int], list[bytes]], most: int | None) -> int:
        """Removes the entries of the keys that `find` returns, some in each transaction, until
        there are none or `most` were removed. Returns their number."""
        removed = 0
        while most is None or removed < most:
            wanted = _MOST_REMOVED if most is None else min(_MOST_REMOVED, most - removed)

            def remove(tables: _Tables, wanted: int = wanted) -> tuple[int, int]:
                found = [tables.entries.get(key) for key in find(tables, wanted)]
                entries = [entry for entry in found if entry is not None]
                return len(entries), sum(map(tables.remove, entries))

            count = self._run(remove, evicts=False)
            if count == 0:
                break
            removed += count
        return removed

    def _evict_first(self, most: int) -> int:
        def find(tables: _Tables, wanted: int) -> list[bytes]:
            if self.volume() <= self._size_limit:
                return []
            now = time.time()
            expired = [row["key"] for row in tables.by_expiry.rows(None, (now,), limit=1)]
            return expired or [row["key"] for row in tables.by_place.rows(limit=1)]

        return self._remove_all(find, most)

    def expire(self) -> int:
        """Removes what has expired; returns its number."""
        now = time.time()

        def find(tables: _Tables, wanted: int) -> list[bytes]:
            return [row["key"] for row in tables.by_expiry.rows(None, (now,), limit=wanted)]

        return self._remove_all(find, None)

    def evict(self, tag: str) -> int:
        """Removes the entries with a tag; returns their number."""

        def find(tables: _Tables, wanted: int) -> list[bytes]:
            return [row["key"] for row in tables.by_tag.rows(prefix=(tag,), limit=wanted)]

        return self._remove_all(find, None)

    def cull(self) -> int:
        """Removes what has expired, and evicts until the cache is within its limit; returns the
        number of removed entries."""
        removed = self.expire()
        return removed if self._policy == "none" else removed + self._evict_first(1 << 62)

    def clear(self) -> int:
        """Removes all entries; returns their number."""

        def find(tables: _Tables, wanted: int) -> list[bytes]:
            return [row["key"] for row in tables.by_id.rows(limit=wanted)]

        return self._remove_all(find, None)

    # The whole

    def volume(self) -> int:
        """Returns the bytes that entries take up, about."""
        current = getattr(self._local, "current", None)
        return int(self._totals["bytes"]["number"]) + (current.grown if current else 0)

    def stats(self, *, reset: bool = False) -> Stats:
        """Returns how often a value was there and was not, since the cache was opened or the last
        `reset`."""
        with self._lock:
            found = (self._hits, self._misses)
            if reset:
                self._hits = self._misses = 0
        return Stats(*found)

    def check(self) -> int:
        """Checks the database, and counts the bytes of all entries anew: a killed process leaves a
        count that is a little off, and so does a check beside threads that write. Returns the
        correction in bytes."""
        self._db.check()

        def count(transaction: _lode.Transaction) -> int:
            rows = transaction["cache_entries"].rows(columns=["bytes"])
            total = sum(row["bytes"] for row in rows)
            before = transaction["cache_totals"]["bytes"]["number"]
            transaction["cache_totals"].update("bytes", number=total)
            return int(total - before)

        return self._db.transact(count)

    def memoize(
        self, *, expire: float | None = None, tag: str | None = None, name: str | None = None
    ) -> Callable[[_F], _F]:
        """Keeps what a function returns, by its arguments.

        >>> import lode
        >>> cache = lode.Cache()
        >>> @cache.memoize(expire=60)
        ... def double(number):
        ...     print("doubling", number)
        ...     return 2 * number
        >>> double(4), double(4)
        doubling 4
        (8, 8)
        """

        def decorate(function: _F) -> _F:
            base = name or f"{function.__module__}.{function.__qualname__}"

            @functools.wraps(function)
            def call(*arguments: Any, **named: Any) -> Any:
                key = (base, arguments, tuple(sorted(named.items())))
                value = self.get(key, _MISSING)
                if value is _MISSING:
                    value = function(*arguments, **named)
                    self.set(key, value, expire, tag=tag)
                return value

            return call  # type: ignore[return-value]

        return decorate

    def close(self) -> None:
        """Closes the cache."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def _moment(expire: float | None) -> float | None:
    return None if expire is None else time.time() + expire


def _has_expired(entry: Entry, now: float) -> bool:
    return entry["expires"] is not None and entry["expires"] <= now


def _with(value: Any, entry: Entry | None, expire_time: bool, tag: bool) -> Any:
    if not (expire_time or tag):
        return value
    names = ["expires"] * expire_time + ["tag"] * tag
    return (value, *(entry and entry[name] for name in names))
