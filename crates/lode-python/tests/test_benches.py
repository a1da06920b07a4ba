"""Benchmarks go on working."""

import pathlib
import runpy

import pytest


def test_the_benchmark_of_doors_runs():
    for module in ["diskcache", "lmdb", "rocksdict"]:
        pytest.importorskip(module)
    path = pathlib.Path(__file__).resolve().parents[1] / "benches" / "doors.py"
    doors = runpy.run_path(str(path))
    shown = doors["show"](doors["measure"](50, 2))
    assert len(shown.splitlines()) == 13
