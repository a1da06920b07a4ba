"""Transactions and snapshots."""

import threading

import pytest

import lode


@pytest.fixture
def accounts(db):
    table = db.create("accounts", {"id": "u32", "cents": "i64"})
    table.insert_many({"id": id, "cents": 100} for id in range(10))
    return table


def test_a_block_commits_and_an_exception_rolls_back(db, accounts):
    with db.begin() as transaction:
        table = transaction["accounts"]
        assert table.update(1, cents=50)
        table[2] = {"cents": 150}
        assert table[1]["cents"] == 50 and accounts[1]["cents"] == 100
        assert sum(row["cents"] for row in table.values()) == 1000
    assert accounts[1]["cents"] == 50
    with pytest.raises(ZeroDivisionError):
        with db.begin() as transaction:
            transaction["accounts"].delete(1)
            1 / 0
    assert accounts[1]["cents"] == 50
    with pytest.raises(lode.EndedError):
        transaction["accounts"][1]


def test_a_transaction_ends_once(db, accounts):
    transaction = db.begin()
    transaction["accounts"][1] = {"cents": 1}
    transaction.commit("commit")
    for end in [transaction.commit, transaction.rollback]:
        with pytest.raises(lode.EndedError):
            end()
    with db.begin() as transaction:
        transaction["accounts"][2] = {"cents": 2}
        transaction.rollback()
    with db.begin() as transaction:
        transaction["accounts"][3] = {"cents": 3}
        transaction.commit()
    assert [accounts[id]["cents"] for id in (1, 2, 3)] == [1, 100, 3]
    with pytest.raises(lode.DataError, match="no durability"):
        db.begin().commit("always")


def test_savepoints_nest(db, accounts):
    with db.begin() as transaction:
        table = transaction["accounts"]
        with transaction.savepoint():
            table.delete(1)
            with pytest.raises(KeyError):
                with transaction.savepoint():
                    table.delete(2)
                    table[99]
        point = transaction.savepoint()
        table.delete(3)
        point.rollback()
        table.delete(4)
        point.rollback()
        point.release()
        with pytest.raises(lode.EndedError):
            point.release()
    assert [id in accounts for id in (1, 2, 3, 4)] == [False, True, True, True]


def test_a_savepoint_that_is_gone_says_so(db, accounts):
    with db.begin() as transaction:
        outer, table = transaction.savepoint(), transaction["accounts"]
        inner = transaction.savepoint()
        outer.release()
        table.delete(1)
        for gone in [inner.rollback, outer.release]:
            with pytest.raises(lode.EndedError):
                gone()
        with transaction.savepoint() as point:
            table.delete(2)
            point.release()
        with transaction.savepoint():
            transaction.commit()
    assert 1 not in accounts and 2 not in accounts


def test_many_records_within_a_transaction_are_all_or_none(db, accounts):
    accounts.create_index("by_cents", "cents", unique=False)
    unique = db.create("unique", {"id": "u32", "name": "text(4)"})
    unique.create_index("by_name", "name", unique=True)
    unique.insert({"id": 0, "name": "a"})
    with db.begin() as transaction:
        table = transaction["unique"]
        for write in [table.insert_many, table.upsert_many]:
            with pytest.raises(lode.UniqueError):
                write([{"id": 1, "name": "b"}, {"id": 2, "name": "a"}])
        table.insert_many([{"id": 3, "name": "c"}])
    assert [row["id"] for row in unique.values()] == [0, 3]


def test_a_conflict_says_so_and_leaves_nothing(db, accounts):
    first, second = db.begin(), db.begin()
    for transaction in [first, second]:
        table = transaction["accounts"]
        total = sum(row["cents"] for row in table.values())
        table[1 if transaction is first else 0] = {"cents": total}
    first.commit()
    with pytest.raises(lode.ConflictError) as raised:
        second.commit()
    assert (raised.value.code, raised.value.effect) == ("conflict", "none")
    assert accounts[1]["cents"] == 1000 and accounts[0]["cents"] == 100


def test_transact_starts_again_and_loses_nothing(db, accounts):
    def move(transaction):
        table = transaction["accounts"]
        table.update(1, cents=table[1]["cents"] - 1)
        table.update(2, cents=table[2]["cents"] + 1)
        return table[2]["cents"]

    def work():
        for _ in range(50):
            db.transact(move)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (accounts[1]["cents"], accounts[2]["cents"]) == (-100, 300)
    assert db.transact(move) == 301


def test_transact_gives_up_and_passes_exceptions_on(db, accounts):
    calls = []

    def meddle(transaction):
        calls.append(transaction["accounts"][1])
        transaction["accounts"][1] = {"cents": 0}
        accounts[1] = {"cents": len(calls)}

    with pytest.raises(lode.ConflictError):
        db.transact(meddle, attempts=3)
    assert len(calls) == 3 and accounts[1]["cents"] == 3

    def fail(transaction):
        transaction["accounts"][1] = {"cents": -1}
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        db.transact(fail)
    assert accounts[1]["cents"] == 3


def test_transact_does_not_repeat_what_has_happened(db, accounts):
    def commit(transaction):
        transaction["accounts"].update(1, cents=accounts[1]["cents"] + 1)
        transaction.commit()
        return "done"

    assert db.transact(commit) == "done" and accounts[1]["cents"] == 101

    def commit_and_fail(transaction):
        commit(transaction)
        raise lode.ConflictError("of something else")

    with pytest.raises(lode.ConflictError):
        db.transact(commit_and_fail)
    assert accounts[1]["cents"] == 102
    attempts = []

    def hide(transaction):
        attempts.append(transaction["accounts"][1])
        if len(attempts) < 3:
            accounts[1] = {"cents": len(attempts)}
        try:
            sum(row["cents"] for row in transaction["accounts"].values())
        except lode.ConflictError as error:
            raise LookupError("hidden") from error
        transaction["accounts"][2] = {"cents": 5}

    db.transact(hide)
    assert len(attempts) == 3 and accounts[2]["cents"] == 5
    with pytest.raises(lode.DataError, match="at least 1"):
        db.transact(commit, attempts=0)


def test_a_snapshot_is_one_moment_for_reading(db, accounts):
    with db.snapshot() as snapshot:
        accounts[1] = {"cents": 7}
        old = snapshot["accounts"]
        assert old[1]["cents"] == 100 and len(old) == 10
        assert len(list(old.rows(3, 5))) == 2
        for write in [
            lambda: old.delete(1),
            lambda: old.insert({"id": 77, "cents": 1}),
            lambda: old.update(1, cents=1),
        ]:
            with pytest.raises(lode.ReadOnlyError, match="snapshot"):
                write()
    with pytest.raises(lode.EndedError):
        snapshot["accounts"]


def test_a_transaction_is_of_one_thread_at_a_time(db, accounts):
    transaction = db.begin()
    table = transaction["accounts"]
    table.insert_many({"id": id, "cents": 1} for id in range(10, 40_000))
    outcomes = set()

    def use():
        for _ in range(200):
            try:
                len(table)
                outcomes.add("done")
            except lode.BusyError:
                outcomes.add("busy")

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "done" in outcomes and outcomes <= {"done", "busy"}
    transaction.rollback()
    assert len(accounts) == 10
