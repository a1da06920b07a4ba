"""The change feed."""

import concurrent.futures
import os
import random
import subprocess
import threading

import pytest
from test_processes import run

import lode

MIB = 1 << 20
BOOK = {"id": "u32", "title": "vartext(200)", "pages": "u16?"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "db"


@pytest.fixture
def db(path):
    with lode.open(path, keep_changes_bytes=MIB, durability="process") as db:
        yield db


def parts(changes):
    return [change[:5] for change in changes]


def test_each_write_of_a_record_is_a_change(db):
    books = db.create("books", BOOK)
    start = db.position()
    dune = {"id": 7, "title": "Dune", "pages": 412}
    books[7] = dune
    books.update(7, pages=None)
    assert not books.insert(dune) and not books.delete(8)
    books.delete(7)
    changes = list(db.changes(start))
    without = {**dune, "pages": None}
    assert parts(changes) == [
        ("row", "books", 7, None, dune),
        ("row", "books", 7, dune, without),
        ("row", "books", 7, without, None),
    ]
    assert all(change.last for change in changes)
    assert changes[-1].position == db.position() != start
    assert list(db.changes(changes[1].position)) == changes[2:]
    assert changes[0] == changes[0] and "Dune" in repr(changes[0])


def test_a_key_of_several_columns_is_a_tuple(db):
    columns = {"street": "vartext(20)", "city": "vartext(20)", "house": "u8"}
    table = db.create("homes", columns, key=["city", "house"], ordered=False)
    start = db.position()
    table["Bern", 5] = {"street": "Aare"}
    [change] = db.changes(start)
    assert change.key == ("Bern", 5)
    assert change.after == table["Bern", 5] == {"city": "Bern", "house": 5, "street": "Aare"}


def test_the_changes_of_a_commit_have_one_position(db):
    books, start = db.create("books", BOOK), db.position()
    with db.begin() as transaction:
        for id in range(5):
            transaction["books"][id] = {"title": "a"}
    books.insert_many({"id": id, "title": "b"} for id in range(5, 8))
    with pytest.raises(ZeroDivisionError):
        with db.begin() as transaction:
            transaction["books"][9] = {"title": "c"}
            1 / 0
    changes = list(db.changes(start))
    assert sorted(change.key for change in changes) == list(range(8))
    assert [change.last for change in changes] == [False] * 4 + [True] + [False] * 2 + [True]
    first, second = [change.position for change in changes if change.last]
    assert [change.position for change in changes] == [first] * 5 + [second] * 3
    assert list(db.changes(first)) == changes[5:]


def test_tables_and_indexes_are_described_as_they_are_created(db):
    columns = {"id": "u32", "due": "timestamp? expires", "by": "decimal(12,2)", "at": "u8"}
    table = db.create("t", columns, key=["at", "id"], ordered=False)
    table.create_index("by_by", ["by", "id"], unique=True)
    table.drop_index("by_by")
    db.clear("t")
    db.drop("t")
    changes = list(db.changes())
    of_table = {
        "name": "t",
        "columns": {key: columns[key] for key in ["at", "id", "due", "by"]},
        "key": ("at", "id"),
        "ordered": False,
    }
    of_index = {"name": "by_by", "columns": ("by", "id"), "unique": True}
    assert parts(changes) == [
        ("create table", "t", None, None, of_table),
        ("create index", "t", None, None, of_index),
        ("drop index", "t", None, of_index, None),
        ("drop table", "t", None, of_table, None),
        ("create table", "t", None, None, of_table),
        ("drop table", "t", None, of_table, None),
    ]
    copy = lode.memory().create(**changes[0].after)
    copy.create_index(**changes[1].after)
    assert (copy.columns, copy.key, copy.ordered) == (of_table["columns"], ("at", "id"), False)
    assert copy.indexes == {"by_by": ("by", "id")}


@pytest.mark.skipif("LODE" not in os.environ, reason="LODE does not name the command lode")
def test_an_altered_table_is_described_before_and_after(path):
    with lode.open(path, keep_changes_bytes=MIB) as db:
        db.create("books", BOOK)[7] = {"title": "Dune"}
        start = db.position()
    alter = "ALTER TABLE books RENAME COLUMN pages TO leaves; ALTER TABLE books RENAME TO volumes"
    subprocess.run([os.environ["LODE"], "sql", path, alter], check=True)
    with lode.open(path) as db:
        db["volumes"].update(7, leaves=206)
        *altered, row = db.changes(start)
    assert {change.kind for change in altered} == {"alter table"} and row.table == "volumes"
    assert (altered[0].table, altered[0].before["columns"]) == ("books", BOOK)
    assert (altered[-1].after["name"], altered[-1].key) == ("volumes", None)
    assert list(altered[-1].after["columns"]) == ["id", "title", "leaves"]
    assert row.before == {"id": 7, "title": "Dune", "leaves": None}


def test_an_iterator_ends_with_what_has_happened_and_continues_later(db):
    books = db.create("books", BOOK)
    changes = db.changes(db.position())
    assert next(changes, None) is None
    books.insert_many({"id": id, "title": "a"} for id in range(3))
    assert changes.reached != db.position()
    start = changes.reached
    first = next(changes)
    assert (changes.reached, first.last) == (start, False), "the commit was not given as a whole"
    assert list(db.changes(changes.reached))[0] == first
    assert len(list(changes)) == 2 and changes.reached == db.position()
    books.delete(1)
    db.checkpoint()
    assert [change.key for change in changes] == [1]
    changes.sync()
    assert next(changes, None) is None and list(db.changes(changes.reached)) == []


def test_a_loop_ends_though_each_change_makes_another(db):
    counts = db.create("counts", {"id": "u32", "n": "u32"})
    counts[0] = {"n": 0}
    changes = db.changes()
    for seen, change in enumerate(changes, 1):
        counts[change.key or 0] = {"n": seen}
    assert (seen, changes.reached < db.position()) == (2, True)
    assert [change.after["n"] for change in changes] == [1, 2]
    assert list(changes) == []
    counts[9] = {"n": 9}
    assert next(changes).key == 9
    with pytest.raises(StopIteration):
        next(changes)


def test_positions_outlive_the_database_and_are_of_it_only(tmp_path, path):
    with lode.open(path, keep_changes_bytes=MIB) as db:
        books = db.create("books", BOOK)
        position = db.position()
        books[1] = {"title": "a"}
    with lode.open(path) as db:
        assert [change.key for change in db.changes(position)] == [1]
        for text in ["", "yesterday", position.upper() + " ", position + "0"]:
            with pytest.raises(lode.DataError, match="looks like 12-8192-00c0ffee") as raised:
                db.changes(text)
            assert raised.value.code == "bad_argument"
        for other in [7, position.encode()]:
            with pytest.raises(TypeError):
                db.changes(other)
        end = db.position()
    with lode.open(tmp_path / "other", keep_changes_bytes=MIB) as other:
        other.create("books", BOOK)
        for of_another in [position, end]:
            with pytest.raises(lode.ChangesGoneError, match="take a new copy") as raised:
                list(other.changes(of_another))
            assert (raised.value.code, raised.value.effect) == ("other_position", "none")


def test_the_oldest_changes_go_and_the_error_says_so(db):
    blocks = db.create("blocks", {"id": "u32", "bytes": "varbytes(60000)"})
    start, slow = db.position(), db.changes()
    next(slow)
    for turn in range(40):
        blocks.insert_many({"id": turn * 20 + id, "bytes": bytes(60_000)} for id in range(20))
        db.checkpoint()
    for late in [lambda: db.changes(start), lambda: list(slow)]:
        with pytest.raises(lode.ChangesGoneError, match="not kept any more.*new copy") as raised:
            late()
        assert raised.value.code == "changes_gone"
    kept = [change.key for change in db.changes()]
    assert 17 < len(kept) < 800 and kept[-1] == 799


def test_changes_are_kept_until_that_is_ended(path):
    for refused in [{"mode": "read"}, {"durability": "none"}]:
        with pytest.raises(lode.DataError, match="durability none|mode read"):
            lode.open(path, keep_changes_bytes=MIB, **refused)
        assert not path.exists()
    for bad in [-1, 1.5, "1M"]:
        with pytest.raises((TypeError, OverflowError)):
            lode.open(path, keep_changes_bytes=bad)
    with lode.open(path, keep_changes_bytes=MIB) as db:
        db.create("books", BOOK)
    with lode.open(path, mode="read") as db:
        assert [change.kind for change in db.changes()] == ["create table"]
    lode.open(path, keep_changes_bytes=0).close()
    with lode.open(path) as db, lode.memory() as memory:
        for without in [db.position, db.changes, memory.position, memory.changes]:
            with pytest.raises(lode.DataError, match="with keep_changes_bytes=") as raised:
                without()
            assert raised.value.code == "changes_not_kept"


def test_a_backup_and_the_changes_since_are_the_whole(db, tmp_path):
    books = db.create("books", BOOK)
    books.insert_many({"id": id, "title": "a"} for id in range(50))
    db.backup(tmp_path / "copy")
    books.delete(3)
    books[99] = {"title": "z"}
    with lode.open(tmp_path / "copy", mode="read") as copy:
        rows = {row["id"]: row for row in copy["books"].values()}
        since = copy.position()
    assert len(rows) == 50
    apply(rows, db.changes(since))
    assert list(rows.values()) == list(books.values())


def apply(rows, changes):
    """Does to a dict what was done to the table, and looks that each row was as it says."""
    for change in changes:
        assert rows.get(change.key) == change.before
        if change.after is None:
            del rows[change.key]
        else:
            rows[change.key] = change.after


class Copy:
    """A database that follows another one, and the position that it has reached."""

    def __init__(self):
        self.db, self.position = lode.memory(), None

    def follow(self, db):
        changes = db.changes(self.position)
        for change in changes:
            self.take(change)
        assert changes.reached == db.position()
        self.position = changes.reached

    def take(self, change):
        db = self.db
        match change:
            case lode.Change(kind="row", after=None):
                row = db[change.table][change.key]
                assert row == change.before
                del db[change.table][change.key]
            case lode.Change(kind="row"):
                assert db[change.table].get(change.key) == change.before
                db[change.table].upsert(change.after)
            case lode.Change(kind="create table"):
                db.create(**change.after)
            case lode.Change(kind="drop table"):
                db.drop(change.table)
            case lode.Change(kind="create index"):
                db[change.table].create_index(**change.after)
            case lode.Change(kind="drop index"):
                db[change.table].drop_index(change.before["name"])

    def expect(self, model):
        assert self.db.tables() == sorted(model)
        for name, rows in model.items():
            assert {row["id"]: row for row in self.db[name].values()} == rows


@pytest.mark.parametrize("seed", range(6))
def test_a_copy_that_takes_all_changes_is_equal(path, seed):
    tape = random.Random(seed)
    copy, model, indexed = Copy(), {}, set()
    for _ in range(4):
        with lode.open(path, keep_changes_bytes=64 * MIB, durability="process") as db:
            for _ in range(60):
                act(db, tape, model, indexed)
                if tape.random() < 0.1:
                    copy.follow(db)
                    copy.expect(model)
    with lode.open(path) as db:
        copy.follow(db)
        everything = Copy()
        everything.follow(db)
        for found in [copy, everything]:
            found.expect(model)
            for name in model:
                assert (found.db[name].columns, found.db[name].indexes) == (
                    db[name].columns,
                    db[name].indexes,
                )


def act(db, tape, model, indexed):
    """Does something to a database and to a model of it: rows by their keys, of each table."""
    rare = ["create", "drop", "clear", "index", "checkpoint"]
    action = tape.choice(rare + 15 * ["write", "commit"])
    name = tape.choice("abc")
    if action == "create" and name not in model:
        db.create(name, BOOK, ordered=tape.random() < 0.5)
        model[name] = {}
    elif action == "checkpoint":
        db.checkpoint()
    elif name not in model:
        return
    elif action == "drop":
        db.drop(name)
        del model[name]
        indexed.discard(name)
    elif action == "clear":
        db.clear(name)
        model[name] = {}
    elif action == "index":
        if name in indexed:
            db[name].drop_index("by_title")
        else:
            db[name].create_index("by_title", ["title", "pages"])
        indexed ^= {name}
    elif action == "write":
        write(db[name], model[name], tape)
    elif action == "commit":
        rows = {key: dict(of) for key, of in model.items()}
        transaction = db.begin()
        for _ in range(tape.randrange(8)):
            other = tape.choice(sorted(rows))
            write(transaction[other], rows[other], tape)
        if tape.random() < 0.7:
            transaction.commit()
            model.update(rows)
        else:
            transaction.rollback()


def write(table, rows, tape):
    id = tape.randrange(12)
    if tape.random() < 0.3:
        assert table.delete(id) == (rows.pop(id, None) is not None)
    else:
        pages = tape.choice([None, tape.randrange(1 << 16)])
        rows[id] = {"id": id, "title": "ä" * tape.randrange(100), "pages": pages}
        table.upsert(rows[id])


def test_changes_of_many_threads_come_in_the_order_in_which_they_happened(db):
    accounts = db.create("accounts", {"id": "u8", "cents": "i64"})
    accounts.insert_many({"id": id, "cents": 100} for id in range(4))
    start, changes = {row["id"]: row for row in accounts.values()}, db.changes(db.position())

    def move(transaction):
        table = transaction["accounts"]
        for id, cents in [(threading.get_native_id() % 4, -1), (3, 1)]:
            table.update(id, cents=table[id]["cents"] + cents)

    def work(_):
        for _ in range(50):
            db.transact(move)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        works = [pool.submit(work, at) for at in range(4)]
        while not all(done.done() for done in works):
            follow(start, changes)
    for done in works:
        done.result()
    follow(start, changes)
    assert list(start.values()) == list(accounts.values())


def follow(rows, changes):
    for change in changes:
        apply(rows, [change])
        assert not change.last or sum(row["cents"] for row in rows.values()) == 400


def test_an_iterator_is_of_one_thread_at_a_time(db):
    books = db.create("books", BOOK)
    books.insert_many({"id": id, "title": "a"} for id in range(30_000))
    changes, found, outcomes = db.changes(), [], set()

    def use():
        while True:
            try:
                found.append(next(changes).key)
                outcomes.add("given")
            except lode.BusyError:
                outcomes.add("busy")
            except StopIteration:
                return

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found[1:]) == list(range(30_000)) and outcomes <= {"given", "busy"}


def test_a_change_that_could_not_be_given_is_given_again(path):
    done = run(
        """
        import lode, lode._changes, sys
        class Failing(lode.Change):
            def __new__(cls, *values):
                if not calls:
                    calls.append(values)
                    raise MemoryError
                return lode.Change(*values)
        calls = []
        lode._changes.Change = Failing
        db = lode.open(sys.argv[1], keep_changes_bytes=1)
        start = db.position()
        db.create("t", {"id": "u8"})
        changes = db.changes(start)
        try:
            next(changes)
        except MemoryError:
            assert changes.reached == start
        assert [change.table for change in changes] == ["t"] and changes.reached == db.position()
        """,
        path,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_database_gives_no_changes(path):
    db = lode.open(path, keep_changes_bytes=MIB)
    db.create("books", BOOK)
    changes = db.changes()
    db.close()
    for use in [db.position, db.changes, lambda: next(changes), changes.sync]:
        with pytest.raises(lode.ClosedError):
            use()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_is_given_no_changes(path):
    done = run(
        """
        import lode, os, sys
        db = lode.open(sys.argv[1], keep_changes_bytes=1)
        db.create("t", {"id": "u8"})[1] = {}
        changes = db.changes()
        if os.fork() == 0:
            for use in [db.position, db.changes, lambda: next(changes), changes.sync]:
                try:
                    print(use())
                except lode.ClosedError as error:
                    print(error.code, flush=True)
            sys.exit(0)
        assert os.wait()[1] == 0
        print(len(list(changes)))
        """,
        path,
    )
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["forked"] * 4 + ["2"], "")
