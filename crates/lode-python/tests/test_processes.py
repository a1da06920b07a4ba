"""Opening and closing; other processes, forks, signals and the end of the program."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import lode

USER = {"id": "u64", "name": "vartext(80)"}


def run(code, *arguments, **options):
    # Newer versions of Python warn of forks of a process with threads, which Lode has.
    quiet = ["-W", "ignore::DeprecationWarning"]
    command = [sys.executable, *quiet, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def test_a_database_comes_back_and_is_open_once(tmp_path):
    with lode.open(tmp_path / "db", durability="commit", memory_bytes=64 << 20) as db:
        db.create("users", USER)[1] = {"name": "Ada"}
        with pytest.raises(lode.LockedError):
            lode.open(tmp_path / "db")
    table = db.tables
    with pytest.raises(lode.ClosedError):
        db["users"]
    db.close()
    with lode.open(str(tmp_path / "db"), mode="existing") as db:
        assert db["users"][1]["name"] == "Ada"
        db.check()
        db.checkpoint()
        db.flush()
        db.compact()
        assert db.statistics()["data_bytes"] > 0
        assert db.backup(tmp_path / "copy") > 0
        assert db.backup(tmp_path / "copy") == 0
    with lode.open(tmp_path / "copy", mode="read") as copy:
        assert copy["users"][1]["name"] == "Ada"
        with pytest.raises(lode.ReadOnlyError):
            copy["users"][2] = {"name": "b"}
    assert table is not None


def test_opening_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(lode.StorageError, match="no database") as raised:
        lode.open(tmp_path / "none", mode="existing")
    assert isinstance(raised.value, OSError)
    lode.open(tmp_path / "db", mode="new").close()
    with pytest.raises(lode.StorageError):
        lode.open(tmp_path / "db", mode="new")
    for options in [{"mode": "r+"}, {"durability": "all"}]:
        with pytest.raises(lode.DataError):
            lode.open(tmp_path / "db", **options)
    for options in [{"memory_bytes": -1}, {"memory_bytes": 1.5}, {"path": 5}]:
        with pytest.raises((TypeError, OverflowError)):
            lode.open(**{"path": tmp_path / "db", **options})
    data = tmp_path / "db" / "data"
    data.write_bytes(b"x" * data.stat().st_size)
    with pytest.raises(lode.CorruptError):
        lode.open(tmp_path / "db")


def test_checking_finds_damage(tmp_path):
    with lode.open(tmp_path / "db") as db:
        table = db.create("t", {"id": "u32", "value": "varbytes(100)"})
        table.insert_many({"id": id, "value": b"x" * 100} for id in range(20_000))
        db.check()
    data = tmp_path / "db" / "data"
    content = bytearray(data.read_bytes())
    content[content.index(b"x" * 100, len(content) // 2)] ^= 1
    data.write_bytes(content)
    with lode.open(tmp_path / "db", mode="read") as db:
        with pytest.raises(lode.CorruptError):
            db.check()


def test_the_end_of_a_program_closes_its_databases(tmp_path):
    done = run(
        """
        import ctypes, lode, sys
        db = lode.open(sys.argv[1], durability="none")
        db.create("t", {"id": "u8"})[1] = {}
        # Python never frees what has a reference too many.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))
        """,
        tmp_path / "db",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with lode.open(tmp_path / "db") as db:
        assert 1 in db["t"]


def test_a_program_may_end_with_all_kinds_of_handles_open(tmp_path):
    done = run(
        """
        import lode, sys, threading, time
        db = lode.open(sys.argv[1])
        t = db.create("t", {"id": "u32"})
        t.insert_many({"id": id} for id in range(1000))
        rows = iter(t.rows()); next(rows)
        snapshot = db.snapshot(); old = snapshot["t"]
        transaction = db.begin(); transaction["t"].delete(1)
        def read():
            while True:
                try: old.get(5)
                except lode.ClosedError: return
        threading.Thread(target=read, daemon=True).start()
        time.sleep(0.05)
        """,
        tmp_path / "db",
    )
    assert (done.returncode, done.stderr) == (0, "")
    with lode.open(tmp_path / "db") as db:
        assert len(db["t"]) == 1000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_closes_its_own_databases(tmp_path):
    done = run(
        """
        import ctypes, lode, os, sys
        if os.fork() == 0:
            db = lode.open(sys.argv[1], durability="none")
            db.create("t", {"id": "u8"})[1] = {}
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))
            sys.exit(0)
        os.wait()
        """,
        tmp_path / "db",
    )
    assert (done.returncode, done.stderr) == (0, "")
    with lode.open(tmp_path / "db") as db:
        assert 1 in db["t"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_is_refused_and_the_parent_goes_on(tmp_path):
    done = run(
        """
        import lode, os, sys
        db = lode.open(sys.argv[1])
        t = db.create("t", {"id": "u8"})
        t[1] = {}
        child = os.fork()
        if child == 0:
            try:
                t[2] = {}
                print("written")
            except lode.ClosedError as error:
                print(error.code, flush=True)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        t[3] = {}
        print(list(t))
        """,
        tmp_path / "db",
    )
    assert (done.returncode, done.stdout.split("\n"), done.stderr) == (0, ["forked", "[1, 3]", ""], "")


def test_a_reader_is_open_beside_a_writer_that_was_killed(tmp_path):
    done = run(
        """
        import lode, os, signal, sys
        db = lode.open(sys.argv[1])
        db.create("t", {"id": "u8"})[1] = {}
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path / "db",
    )
    assert done.returncode == -signal.SIGKILL
    with lode.open(tmp_path / "db", mode="read") as first:
        with lode.open(tmp_path / "db", mode="read") as second:
            assert 1 in first["t"] and 1 in second["t"]


def test_an_interrupt_ends_a_long_scan(tmp_path):
    code = """
        import lode
        db = lode.memory()
        t = db.create("t", {"id": "u32"})
        t.insert_many({"id": id} for id in range(10_000))
        print("ready", flush=True)
        while True:
            for row in t.rows():
                pass
        """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "ready\n"
    time.sleep(0.1)
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    assert program.returncode in (-signal.SIGINT, 1) and "KeyboardInterrupt" in errors


def test_threads_write_side_by_side(tmp_path):
    import concurrent.futures

    with lode.open(tmp_path / "db") as db:
        table = db.create("t", {"id": "u32", "by": "u8"})

        def write(by):
            for at in range(500):
                assert table.insert({"id": at * 4 + by, "by": by})

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(4)))
        assert len(table) == 2000
        assert all(row["id"] % 4 == row["by"] for row in table.values())
