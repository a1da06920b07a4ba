"""Threads share what they may share, with Python's lock and without; the rest raises an error."""

import random
import threading

import pytest

import lode

numpy = pytest.importorskip("numpy")

THREADS = 8
ROUNDS = 60


def run(work, threads=THREADS):
    """Calls `work` with the number of each of some threads, and raises what one of them raised."""
    raised = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            raised.append(error)

    running = [threading.Thread(target=guarded, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if raised:
        raise raised[0]


class Everything:
    """Operations on things that all threads share, lists and arrays among them."""

    def __init__(self, db):
        columns = {"id": "u32", "n": "i64?", "s": "vartext(40)", "v": "bytes(4)"}
        self.db = db
        self.table = db.create("t", columns)
        self.table.create_index("by_n", "n")
        self.counters = db.create("counters", {"id": "u8", "n": "u64"}, ordered=False)
        self.blobs = db.create_blobs("b")
        self.records = [self.record(random.Random(id), id) for id in range(50)]
        self.keys = list(range(50))
        vectors = numpy.zeros((50, 4), "u1")
        self.arrays = {"id": numpy.arange(50), "s": ["a"] * 50, "v": vectors}
        self.rows = self.table.rows()
        self.transaction = db.begin()
        self.counted = 0
        self.lock = threading.Lock()

    def record(self, draw, id):
        n = draw.choice([None, draw.randrange(100)])
        return {"id": id, "n": n, "s": "x" * draw.randrange(40), "v": draw.randbytes(4)}

    def write(self, draw):
        self.table.upsert(self.record(draw, draw.randrange(1000)))
        self.table.upsert_many(self.records)

    def read(self, draw):
        self.table.get(draw.randrange(1000))
        self.table.get_many(self.keys)
        self.table.find("by_n", draw.randrange(100))
        arrays = self.table.rows(draw.randrange(500)).arrays()
        assert len({len(array) for array in arrays.values()}) == 1

    def change_lists(self, draw):
        self.keys.append(draw.randrange(1000))
        self.keys.pop(0)
        self.records.append(self.record(draw, draw.randrange(1000)))
        self.records.pop(0)
        self.records[draw.randrange(20)]["n"] = draw.randrange(1000)
        self.arrays["n"] = numpy.arange(50)
        self.arrays["id"][draw.randrange(50)] = draw.randrange(1000)

    def load(self, draw):
        self.table.load(self.arrays, replace=True)

    def iterate(self, draw):
        try:
            for _ in range(20):
                next(self.rows)
        except StopIteration:
            self.rows = self.table.rows()

    def use_transaction(self, draw):
        if draw.random() < 0.2:
            self.transaction.commit()
            self.transaction = self.db.begin()
        else:
            self.transaction["t"].upsert(self.record(draw, draw.randrange(1000)))

    def count(self, draw):
        def add(transaction):
            counters, id = transaction["counters"], draw.randrange(5)
            counters[id] = {"n": counters.get(id, {"n": 0})["n"] + 1}

        self.db.transact(add)
        with self.lock:
            self.counted += 1

    def store_blob(self, draw):
        self.blobs[str(draw.randrange(5))] = draw.randbytes(5000)
        self.blobs.get(str(draw.randrange(5)))

    def look_at_a_moment(self, draw):
        with self.db.snapshot() as snapshot:
            assert len(list(snapshot["t"])) == len(snapshot["t"])


def test_threads_share_everything(db):
    shared = Everything(db)
    names = [name for name in vars(Everything) if not name.startswith("_") and name != "record"]

    def work(number):
        draw = random.Random(number)
        for _ in range(ROUNDS):
            try:
                getattr(shared, draw.choice(names))(draw)
            except (lode.ConflictError, lode.BusyError, lode.EndedError):
                pass

    run(work)
    # None of them was lost, and what is there is whole.
    assert sum(row["n"] for row in shared.counters.values()) == shared.counted > 0
    for row in shared.table.values():
        assert len(row["v"]) == 4 and set(row["s"]) <= {"x", "a"}


def test_a_database_is_closed_beside_its_users(db):
    table = db.create("t", {"id": "u32", "n": "u8"})
    started = threading.Barrier(5)

    def work(number):
        started.wait()
        if number == 0:
            db.close()
            return
        with pytest.raises(lode.ClosedError):
            while True:
                table[number] = {"n": number}
                assert table.rows(number, number + 1).arrays()["n"].tolist() == [number]

    run(work, threads=5)
