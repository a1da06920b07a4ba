"""Blobs, as values and as files."""

import concurrent.futures
import errno
import gc
import io
import json
import mmap
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import zipfile

import pytest
from test_changes import MIB, Copy
from test_processes import run

import lode

CHUNK = 65_500
LENGTHS = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 2 * MIB + 17]


@pytest.fixture
def files(db):
    return db.create_blobs("files")


def some(length, seed=1):
    return random.Random(seed).randbytes(length)


class Source:
    """A stream that gives fewer bytes than it is asked for, as `kind`, and fails in the end."""

    def __init__(self, content, kind=bytes, failure=None):
        self.content, self.kind, self.failure = io.BytesIO(content), kind, failure
        self.most = 0

    def read(self, size):
        self.most = max(self.most, size)
        part = self.content.read(size - size // 3)
        if not part and self.failure:
            raise self.failure
        return self.kind(part)


def test_blobs_come_back_as_they_were(files):
    for at, length in enumerate(LENGTHS):
        key, content = b"k\0%d" % at, some(length)
        assert key not in files and files.get(key) is None and files.get(key, 5) == 5
        files[key] = content
        assert (files[key], files.get(key), key in files) == (content, content, True)
        assert files.length_bytes(key) == length
    assert files.put("ä/b", b"text") == 4 and files["ä/b".encode()] == b"text"
    keys = [b"k\0%d" % at for at in range(len(LENGTHS))]
    assert len(files) == len(keys) + 1
    assert list(files) == list(files.keys()) == [*keys, "ä/b".encode()]
    assert list(files.keys("k")) == keys and list(files.keys(b"k\x001")) == [keys[1]]
    assert list(files.entries("k")) == list(zip(keys, LENGTHS))
    assert list(files.keys("l")) == list(files.entries(b"\xff")) == []
    files[keys[3]] = b"shorter"
    assert files[keys[3]] == b"shorter" and files.length_bytes(keys[3]) == 7
    assert files.delete(keys[3]) and not files.delete(keys[3])
    del files[keys[2]]
    for gone in [files.length_bytes, files.open, files.read_range, files.__getitem__]:
        with pytest.raises(KeyError):
            gone(keys[3])
    with pytest.raises(KeyError):
        del files[keys[2]]
    assert keys[2] not in files and repr(files) == '<lode.Blobs "files">' and files.name == "files"


def test_bytes_of_all_kinds_and_streams_are_written(files, tmp_path):
    numpy = pytest.importorskip("numpy")
    content = some(2 * MIB + 24)
    path = tmp_path / "content"
    path.write_bytes(content)
    array = numpy.frombuffer(content, dtype="f8")
    with open(path, "rb") as file, open(path, "rb", buffering=0) as raw:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        for at, source in enumerate([
            bytearray(content), memoryview(content), array, file, raw, mapped, io.BytesIO(content),
            Source(content), Source(content, bytearray), Source(content, memoryview),
        ]):  # fmt: skip
            assert files.put(str(at), source) == len(content)
            assert files[str(at)] == content
            if isinstance(source, Source):
                assert source.most <= MIB
        mapped.close()
    files["every second"] = memoryview(content)[::2]
    assert files["every second"] == content[::2]
    files["of none"] = numpy.empty((0, 3))
    files["copy"] = files.open("0")
    assert files["of none"] == b"" and files["copy"] == content


def test_what_cannot_be_written_leaves_the_blob_before(db, files):
    files["a"] = b"before"
    for misfit, why in [
        ("text", "not str; encode"),
        (5, "not int"),
        (None, "not NoneType"),
        (["a"], "not list"),
        (io.StringIO("text"), "not str; .*binary mode"),
        (Source(b"a" * MIB, lambda part: None), "not NoneType"),
        (Source(some(MIB), failure=lode.DataError("of a source")), "of a source"),
    ]:
        with pytest.raises(lode.DataError, match=why):
            files.put("a", misfit)
        with pytest.raises(lode.DataError):
            files["b"] = misfit
    with pytest.raises(ZeroDivisionError):
        files.put("a", Source(some(3 * MIB), failure=ZeroDivisionError()))
    for key in [5, None, bytearray(b"a"), "\ud800"]:
        for use in [files.get, files.open, files.delete, files.keys, files.length_bytes]:
            with pytest.raises(lode.DataError, match="key of a blob") as raised:
                use(key) if key is not None else files.put(key, b"")
            assert (raised.value.code, raised.value.effect) == ("value_misfit", "none")
    too_long = "k" * 1_001
    for write in [lambda: files.put(too_long, b""), lambda: files.open(too_long, "wb")]:
        with pytest.raises(lode.DataError, match="at most 1000 bytes"):
            write()
    assert too_long not in files and files.get(too_long) is None and not files.delete(too_long)
    for mode in ["r", "w", "r+b", "ab", ""]:
        with pytest.raises(lode.DataError, match="use rb or wb"):
            files.open("a", mode)
    with pytest.raises((TypeError, OverflowError)):
        files.read_range("a", -1)
    assert list(files.entries()) == [(b"a", 6)] and files["a"] == b"before"
    assert chunks(db) == 1


def chunks(db):
    return len(db["files.chunks"]) + len(db["files.pending"])


def test_ranges_are_those_of_slices(files):
    content = some(3 * CHUNK + 5)
    files["a"] = content
    edges = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, len(content), len(content) + 1, 2**63]
    for start in edges:
        assert files.read_range("a", start) == content[start:]
        for stop in edges:
            assert files.read_range("a", start, stop) == content[start:stop]
    assert files.read_range("a", stop=7) == content[:7]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_reader_reads_as_a_file_does(files, length):
    tape = random.Random(length)
    content = some(length)
    files["a"] = content
    reader, model = files.open("a"), io.BytesIO(content)
    assert reader.length_bytes == length and isinstance(reader, io.RawIOBase)
    assert (reader.readable(), reader.seekable(), reader.writable()) == (True, True, False)
    near = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, length - 1, length, length + 1]
    for _ in range(300):
        action = tape.choice(["read", "readinto", "all", "seek", "seek", "seek"])
        if action == "seek":
            whence = tape.choice([io.SEEK_SET, io.SEEK_CUR, io.SEEK_END])
            start = [0, model.tell(), length][whence]
            to = max(0, tape.choice([*near, tape.randrange(length + 1)]))
            assert reader.seek(to - start, whence) == to
            model.seek(to)
        elif action == "read":
            size = tape.choice([0, 1, CHUNK, tape.randrange(length + 2)])
            assert reader.read(size) == model.read(size)
        elif action == "readinto":
            found, expected = bytearray(b"-" * 5000), bytearray(b"-" * 5000)
            assert reader.readinto(found) == model.readinto(expected) and found == expected
        else:
            whole = tape.choice([reader.read, reader.readall, lambda: reader.read(None)])
            assert whole() == model.read()
        assert reader.tell() == model.tell()
    before = reader.tell()
    for whence, offset in [(0, -1), (1, -before - 1), (2, -length - 1)]:
        with pytest.raises(OSError, match="no such place") as caught:
            reader.seek(offset, whence)
        assert caught.value.errno == errno.EINVAL
    with pytest.raises(lode.DataError, match="no whence"):
        reader.seek(0, 3)
    for view in [memoryview(b"abc"), "abc", 5]:
        with pytest.raises((TypeError, ValueError)):
            reader.readinto(view)
    with pytest.raises(io.UnsupportedOperation, match="with wb"):
        reader.write(b"a")
    assert reader.tell() == before


def test_what_is_no_archive_is_known_for_that(files):
    """zipfile seeks before the start, and catches the OSError."""
    files["short"] = b"hello"
    assert not zipfile.is_zipfile(files.open("short"))
    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile(files.open("short"))


def test_no_key_starts_with_more_than_keys_have(files):
    files["a"] = b""
    assert list(files.keys(b"a" * 1_001)) == [] == list(files.entries(b"a" * 1_001))


def test_readers_and_writers_work_with_what_files_do(files, tmp_path):
    lines = [f"line {at} ä\n" for at in range(20_000)]
    with files.open("text", "wb") as writer:
        with io.TextIOWrapper(writer, "utf-8") as text:
            text.writelines(lines)
            json.dump({"at": "the end"}, text)
    with io.TextIOWrapper(io.BufferedReader(files.open("text")), "utf-8") as text:
        *found, last = text
    assert (found, json.loads(last)) == (lines, {"at": "the end"})
    with io.BufferedReader(files.open("text"), 1 << 16) as buffered:
        assert buffered.peek(4)[:4] == b"line" and buffered.seek(-1, io.SEEK_END)
        assert buffered.read() == b"}"
    with files.open("zip", "wb") as writer, zipfile.ZipFile(writer, "w") as archive:
        archive.writestr("a", some(200_000))
    with files.open("zip") as reader, zipfile.ZipFile(reader) as archive:
        assert archive.testzip() is None and archive.read("a") == some(200_000)
    with files.open("zip") as reader, files.open("copy", "wb") as writer:
        shutil.copyfileobj(reader, writer)
        assert writer.tell() == reader.length_bytes
    assert files["copy"] == files["zip"]


def test_a_blob_is_there_when_its_block_has_ended(db, files):
    files["a"] = b"before"
    content = some(3 * CHUNK)
    with files.open("a", "wb") as writer:
        assert (writer.write(content), writer.write(memoryview(b"!")), writer.tell()) == (
            len(content), 1, len(content) + 1,
        )  # fmt: skip
        assert (writer.writable(), writer.readable(), writer.seekable()) == (True, False, False)
        for misfit in ["text", 5, None, io.BytesIO(b"a")]:
            with pytest.raises(lode.DataError, match="write takes bytes"):
                writer.write(misfit)
        for read in [writer.read, writer.readall, writer.readline]:
            with pytest.raises(io.UnsupportedOperation, match="with rb|read"):
                read()
        writer.flush()
        assert files["a"] == b"before"
    assert writer.closed and files["a"] == content + b"!"
    writer = files.open("a", "wb")
    writer.write(b"closed")
    writer.close()
    writer.close()
    assert files["a"] == b"closed" and chunks(db) == 1
    with files.open("empty", "wb"):
        pass
    assert files["empty"] == b""
    for use in [lambda: writer.write(b"a"), writer.tell]:
        with pytest.raises(lode.EndedError, match="open another one"):
            use()


def test_what_is_not_finished_leaves_nothing(db, files):
    files["a"] = b"before"
    for length in [1, 3 * CHUNK]:
        with pytest.raises(ZeroDivisionError):
            with files.open("a", "wb") as writer:
                writer.write(some(length))
                1 / 0
        with pytest.raises(ZeroDivisionError):
            with files.open("a", "wb") as writer, io.BufferedWriter(writer) as buffered:
                buffered.write(some(length))
                1 / 0
        with files.open("a", "wb") as writer:
            writer.write(some(length))
            writer.discard()
        assert writer.closed
        with pytest.raises(lode.EndedError, match="open another one"):
            with files.open("a", "wb") as writer:
                writer.close()
                assert writer.closed and files["a"] == b"before"
                writer.write(some(length))
        deleted = files.open("a", "wb")
        deleted.write(some(length))
        del deleted
        gc.collect()
    assert (files["a"], list(files), chunks(db)) == (b"before", [b"a"], 1)


def test_a_write_that_fails_gives_the_blob_up(tmp_path):
    db = lode.open(tmp_path / "db")
    files = db.create_blobs("files")
    files["a"] = b"before"
    with pytest.raises(lode.EndedError, match="a write has failed"):
        with files.open("a", "wb") as writer:
            writer.write(some(3 * CHUNK))
            db.drop_blobs("files")
            with pytest.raises(lode.SchemaError):
                writer.write(some(3 * CHUNK))
            db.create_blobs("files")
    assert list(db.blobs("files")) == [] and chunks(db) == 0
    db.close()


def test_a_reader_reads_on_in_what_it_has_found(db, files):
    content = some(3 * CHUNK)
    for change in [lambda: files.put("a", b"new"), lambda: files.delete("a")]:
        files["a"] = content
        reader = files.open("a")
        assert reader.read(10) == content[:10]
        change()
        assert reader.read() == content[10:] and chunks(db) > 3
        reader.close()
        reader.close()
        assert chunks(db) <= 1
        for use in [reader.read, reader.readall, reader.tell, lambda: reader.seek(0)]:
            with pytest.raises(lode.EndedError, match="open the blob again"):
                use()
        with pytest.raises(ValueError, match="closed file"):
            with reader:
                pass
    files["a"] = content
    left = files.open("a")
    files.delete("a")
    del left
    gc.collect()
    assert chunks(db) == 0


def test_a_read_that_fails_reads_nothing(db, files):
    content = some(4 * CHUNK)
    files["a"] = content
    reader, found = files.open("a"), bytearray(3 * CHUNK)
    assert reader.read(CHUNK) == content[:CHUNK]
    [*_, third, last] = list(db["files.chunks"])
    db["files.chunks"].delete(third)
    for read in [reader.read, reader.readall, lambda: reader.readinto(found)]:
        with pytest.raises(lode.CorruptError, match="chunk 2 of blob"):
            read()
        assert reader.tell() == CHUNK and not any(found)
    with pytest.raises(lode.CorruptError):
        files["a"]
    assert reader.read(CHUNK) == content[CHUNK : 2 * CHUNK]
    assert files.read_range("a", 3 * CHUNK) == content[3 * CHUNK :]


def test_stores_have_names(db):
    assert db.blob_names() == []
    files = db.create_blobs("files")
    files["a"] = b"1"
    assert db.create_blobs("files", exist_ok=True)["a"] == db.blobs("files")["a"] == b"1"
    with pytest.raises(lode.SchemaError, match="already"):
        db.create_blobs("files")
    db.create("taken.blobs", {"id": "u8"})
    with pytest.raises(lode.SchemaError):
        db.create_blobs("taken", exist_ok=True)
    db.create_blobs("b", exist_ok=True)
    assert db.blob_names() == ["b", "files"] and "files.chunks" in db
    for use in [db.blobs, db.drop_blobs]:
        with pytest.raises(lode.SchemaError, match="no blob store none; create it") as raised:
            use("none")
        assert raised.value.code == "no_table"
    reader = files.open("a")
    db.drop_blobs("files")
    for use in [lambda: files["a"], reader.read, lambda: files.put("a", b""), lambda: len(files)]:
        with pytest.raises(lode.SchemaError, match="no table files"):
            use()
    assert db.blob_names() == ["b"]
    assert db.tables() == ["b.blobs", "b.chunks", "b.pending", "taken.blobs"]


@pytest.mark.parametrize("seed", range(4))
def test_a_store_is_equal_to_a_dict(tmp_path, seed):
    tape, model = random.Random(seed), {}
    lengths = [0, 1, 100, CHUNK, CHUNK + 1, 200_000]
    for _ in range(3):
        with lode.open(tmp_path / "db", durability="process") as db:
            files = db.create_blobs("files", exist_ok=True)
            readers = []
            for _ in range(60):
                key = b"%d" % tape.randrange(8)
                content = some(tape.choice(lengths), tape.random())
                action = tape.choice(["put", "stream", "write", "raise", "delete", "open", "read"])
                if action == "delete":
                    assert files.delete(key) == (model.pop(key, None) is not None)
                elif action == "open" and key in model:
                    readers.append((files.open(key), model[key]))
                elif action == "read" and readers:
                    reader, expected = readers.pop(tape.randrange(len(readers)))
                    start = tape.randrange(len(expected) + 1)
                    reader.seek(start)
                    assert reader.read() == expected[start:]
                elif action in ("put", "stream", "write"):
                    write(files, key, content, action, tape)
                    model[key] = content
                elif action == "raise":
                    with pytest.raises(ZeroDivisionError), files.open(key, "wb") as writer:
                        writer.write(content)
                        1 / 0
                assert files.get(key) == model.get(key)
                assert (key in files, len(files)) == (key in model, len(model))
            for reader, _ in readers:
                reader.close()
            expect(db, files, model)
    with lode.open(tmp_path / "db", mode="read") as db:
        expect(db, db.blobs("files"), model)
        with pytest.raises(lode.ReadOnlyError):
            db.blobs("files")["a"] = b"1"
        with pytest.raises(lode.ReadOnlyError):
            db.create_blobs("others")


def write(files, key, content, action, tape):
    if action == "put":
        files[key] = content
    elif action == "stream":
        assert files.put(key, Source(content)) == len(content)
    else:
        with files.open(key, "wb") as writer:
            while content:
                size = tape.randrange(1, 100_000)
                assert writer.write(content[:size]) == len(content[:size])
                content = content[size:]


def expect(db, files, model):
    assert {key: files[key] for key in files} == model
    assert list(files.entries()) == sorted((key, len(content)) for key, content in model.items())
    assert chunks(db) == sum(-(-len(content) // CHUNK) for content in model.values())
    db.check()


def test_threads_share_a_store(files):
    def work(by):
        for at in range(20):
            mine, shared = some(100_000, (by, at).__hash__()), bytes([by]) * (CHUNK + at)
            files[f"{by}"] = io.BytesIO(mine)
            files["shared"] = shared
            assert files[f"{by}"] == mine
            found = files["shared"]
            assert found == found[:1] * len(found) and len(found) >= CHUNK

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(files) == 5


def test_a_reader_or_writer_is_of_one_thread_at_a_time(db, files):
    content = some(4 * MIB)
    files["a"] = content
    reader, writer, outcomes, written = files.open("a"), files.open("b", "wb"), set(), []

    def use():
        for _ in range(30):
            try:
                written.append(writer.write(content[:200_000]))
                reader.seek(5)
                reader.read()
                outcomes.add("done")
            except lode.BusyError:
                outcomes.add("busy")

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "done" in outcomes and outcomes <= {"done", "busy"}
    reader.seek(0)
    assert reader.read() == content
    writer.close()
    assert files["b"] == content[:200_000] * len(written)

    class Meddling:
        def read(self, size):
            files["c"] = b"of a source"
            return b""

    assert files.put("c", Meddling()) == 0 and files["c"] == b""


def test_a_closed_database_has_no_blobs(tmp_path):
    db = lode.open(tmp_path / "db")
    files = db.create_blobs("files")
    files["a"] = some(3 * CHUNK)
    reader, writer, keys = files.open("a"), files.open("b", "wb"), files.keys()
    reader.read(1)
    writer.write(some(3 * CHUNK))
    unfinished = files.open("c", "wb")
    unfinished.write(b"c")
    db.close()
    for use in [
        lambda: files["a"],
        lambda: files.put("a", b""),
        lambda: files.open("a", "wb"),
        lambda: files.delete("a"),
        lambda: len(files),
        lambda: list(keys),
        lambda: db.blobs("files"),
        lambda: db.create_blobs("others"),
        lambda: db.drop_blobs("files"),
        lambda: reader.read(1),
        reader.tell,
        lambda: writer.write(b"1"),
        unfinished.close,
    ]:
        with pytest.raises(lode.ClosedError):
            use()
    reader.close()
    assert unfinished.closed
    with lode.open(tmp_path / "db") as db:
        files = db.blobs("files")
        assert list(files) == [b"a"] and chunks(db) > 3
        assert not files.delete("no blob"), "it removes what the writer has left"
        assert list(files) == [b"a"] and chunks(db) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_is_refused_and_the_parent_goes_on(tmp_path):
    done = run(
        """
        import lode, os, sys
        db = lode.open(sys.argv[1])
        files = db.create_blobs("files")
        content = bytes(range(200)) * 1000
        files["a"] = content
        reader, writer, keys = files.open("a"), files.open("b", "wb"), files.keys()
        assert reader.read(5) == content[:5]
        writer.write(content)
        if os.fork() == 0:
            uses = [
                lambda: files["a"], lambda: files.put("a", b""), lambda: next(keys),
                lambda: files.open("c", "wb"), lambda: reader.read(5), lambda: writer.write(b"1"),
                lambda: db.blobs("files"), lambda: db.create_blobs("others"),
                lambda: files.delete("a"),
            ]
            for use in uses:
                try:
                    print(use())
                except lode.ClosedError as error:
                    print(error.code, end=" ")
            reader.close()
            del reader, writer
            sys.exit(0)
        assert os.wait()[1] == 0
        assert reader.read() == content[5:]
        writer.write(content)
        writer.close()
        print(files["b"] == content * 2, list(keys))
        """,
        tmp_path / "db",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["forked"] * 9 + ["True", "[b'a']"]


def test_what_a_killed_process_was_writing_is_removed(tmp_path):
    done = run(
        """
        import lode, os, signal, sys
        db = lode.open(sys.argv[1])
        files = db.create_blobs("files")
        files["a"] = b"before"
        writer = files.open("a", "wb")
        writer.write(bytes(1_000_000))
        assert len(db["files.chunks"]) > 10
        db.flush()
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        tmp_path / "db",
    )
    assert done.returncode == -signal.SIGKILL
    with lode.open(tmp_path / "db") as db:
        files = db.blobs("files")
        assert files["a"] == b"before" and chunks(db) > 10
        files["b"] = b"after"
        assert files["a"] == b"before" and chunks(db) == 2


def test_a_program_may_end_with_readers_and_writers_open(tmp_path):
    done = run(
        """
        import lode, sys
        db = lode.open(sys.argv[1])
        files = db.create_blobs("files")
        files["a"] = bytes(1_000_000)
        reader, writer, keys = files.open("a"), files.open("b", "wb"), files.keys()
        reader.read(5), writer.write(bytes(1_000_000)), next(keys)
        """,
        tmp_path / "db",
    )
    assert (done.returncode, done.stderr) == (0, "")
    with lode.open(tmp_path / "db") as db:
        assert list(db.blobs("files")) == [b"a"]


def test_an_interrupt_ends_a_long_write(tmp_path):
    code = """
        import lode, sys
        db = lode.open(sys.argv[1], durability="process")
        files = db.create_blobs("files")
        files["a"] = b"before"
        try:
            print("ready", flush=True)
            files["a"] = bytes(1 << 30)
        except KeyboardInterrupt:
            print(files.length_bytes("a"), len(db["files.chunks"]))
        """
    command = [sys.executable, "-c", textwrap.dedent(code), tmp_path / "db"]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert program.stdout.readline() == "ready\n"
    time.sleep(0.1)
    program.send_signal(signal.SIGINT)
    assert program.communicate(timeout=120)[0] == "6 1\n"


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no look at memory")
def test_streams_need_little_memory(tmp_path):
    done = run(
        """
        import lode, shutil, sys
        def most_memory():
            with open("/proc/self/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        class Source:
            left = 96
            def read(self, size):
                self.left -= 1
                return bytes(1 << 20) if self.left >= 0 else b""
        db = lode.open(sys.argv[1], durability="process", memory_bytes=16 << 20, log_bytes=16 << 20)
        files = db.create_blobs("files")
        files["a"] = bytes(20 << 20)
        before = most_memory()
        assert files.put("a", Source()) == 96 << 20
        with files.open("a") as reader, files.open("b", "wb") as writer:
            shutil.copyfileobj(reader, writer)
        print(most_memory() - before)
        """,
        tmp_path / "db",
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 64 << 10


def test_a_copy_that_follows_the_changes_has_the_blobs(tmp_path):
    copy, contents = Copy(), {f"{at}": some(length) for at, length in enumerate(LENGTHS)}
    with lode.open(tmp_path / "db", keep_changes_bytes=64 * MIB) as db:
        files = db.create_blobs("files")
        for key, content in contents.items():
            files[key] = content
        copy.follow(db)
        files["0"] = contents["0"] = b"replaced"
        files.delete("1")
        copy.follow(db)
    found = copy.db.blobs("files")
    assert list(found.entries()) == [
        (key.encode(), len(content)) for key, content in contents.items() if key != "1"
    ]
    assert all(found[key] == contents[key.decode()] for key in found)
    copy.db.check()
