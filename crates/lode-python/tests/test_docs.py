"""What the documents show, and the stubs say, is so."""

import doctest
import importlib
import pathlib
import re
import subprocess
import sys

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
GUIDE = PROJECT / "docs" / "python.md"


@pytest.mark.parametrize("module", ["lode", "lode._blobs", "lode._changes", "lode._dataclass"])
def test_examples_of_docstrings_run(module):
    ran = doctest.testmod(importlib.import_module(module))
    assert ran.attempted > 0 and ran.failed == 0


def test_examples_of_the_guide_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = doctest.testfile(str(GUIDE), module_relative=False)
    assert ran.attempted > 10 and ran.failed == 0


def test_every_class_and_method_has_a_docstring():
    import lode

    for name in lode.__all__:
        thing = getattr(lode, name)
        assert thing.__doc__, name
        for method in vars(thing) if isinstance(thing, type) else []:
            of = getattr(thing, method)
            assert method.startswith("_") or of.__doc__ or not callable(of), f"{name}.{method}"


def test_each_error_of_lode_has_a_class():
    from lode._errors import _CLASSES

    source = (PROJECT / "crates/lode/src/error/code.rs").read_text()
    words = source.split("match self {")[1].split("\n        }\n")[0]
    codes = set(re.findall(r'"(\w+)"', words))
    assert len(codes) > 40 and not codes - set(_CLASSES)
    assert set(_CLASSES) - codes == {"bad_argument", "busy", "ended"}


def test_the_stubs_are_those_of_the_module(tmp_path):
    pytest.importorskip("mypy")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "lode", "--ignore-missing-stub"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    program = tmp_path / "program.py"
    program.write_text(
        "import lode\n"
        "db = lode.memory()\n"
        "rows = [row for row in db['t'].rows(1, 5)]\n"
        "number: int = db.transact(lambda transaction: 5)\n"
        "keys: list[tuple[int, str]] = [(c.key, c.position) for c in db.changes('1-2-00000003')]\n"
        "files = db.create_blobs('files', exist_ok=True)\n"
        "length: int = files.put('a', open('b', 'rb'))\n"
        "files[b'a'] = bytearray(5)\n"
        "with files.open('a') as reader, files.open('b', 'wb') as writer:\n"
        "    read: bytes = reader.read(5)\n"
        "    writer.write(read)\n"
        "both: bytes | int = files.get('c', 5)\n"
        "lengths: dict[bytes, int] = dict(files.entries('a'))\n"
    )
    typed = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert typed.returncode == 0, typed.stdout
