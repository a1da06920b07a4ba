"""Arrays of NumPy, both ways."""

import datetime
import math

import pytest

import lode

numpy = pytest.importorskip("numpy")

WIDTHS = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"]


def edges(dtype):
    """Returns the lowest, the highest and a middle value of numbers."""
    about = numpy.iinfo(dtype) if dtype.kind in "iu" else numpy.finfo(dtype)
    return numpy.array([about.min, about.max, 1], dtype)


def test_numbers_of_each_type_come_back(db):
    dtypes = {name: numpy.dtype(f"{name[0]}{int(name[1:]) // 8}") for name in WIDTHS}
    table = db.create("t", {"id": "u32"} | {f"c{name}": name for name in WIDTHS})
    data = {"id": numpy.arange(3)} | {f"c{name}": edges(dtypes[name]) for name in WIDTHS}
    assert table.load(data) == 3
    arrays = table.rows().arrays()
    assert list(arrays) == list(table.columns)
    for name, array in arrays.items():
        assert type(array) is numpy.ndarray and array.flags.writeable and array.flags.aligned
        assert array.tolist() == data[name].tolist()
    for name in WIDTHS:
        assert arrays[f"c{name}"].dtype == dtypes[name]
    assert table[1]["cu64"] == 2**64 - 1


def test_other_columns_come_back(db):
    table = db.create(
        "t",
        {
            "id": "u8",
            "yes": "bool",
            "at": "timestamp",
            "vector": "bytes(3)",
            "name": "vartext(20)",
            "mark": "text(4)",
        },
    )
    at = numpy.array(["1969-12-31T23:59:59.999999", "2026-01-02"], "M8[us]")
    vector = numpy.array([[1, 2, 0], [0, 0, 255]], "u1")
    data = {
        "id": numpy.array([1, 2], ">i8"),
        "yes": numpy.array([True, False]),
        "at": at,
        "vector": vector,
        "name": numpy.array(["Zürich", ""]),
        "mark": ["a", "bc"],
    }
    assert table.load(data) == 2
    row = {"yes": True, "vector": b"\1\2\0", "name": "Zürich", "mark": "a"}
    moment = datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.timezone.utc)
    assert table[1] == {"id": 1, "at": moment} | row
    arrays = table.rows().arrays()
    assert arrays["yes"].dtype == bool and arrays["at"].dtype == "M8[us]"
    assert (arrays["at"] == at).all() and (arrays["vector"] == vector).all()
    assert arrays["name"].tolist() == ["Zürich", ""] and arrays["name"].dtype.kind == "T"
    copy = db.create("copy", table.columns)
    assert copy.load(arrays) == 2 and list(copy.values()) == list(table.values())


def test_columns_that_can_be_none_have_masks(db):
    columns = {"id": "u8", "n": "i16?", "b": "bool?", "v": "bytes(2)?", "at": "timestamp?"}
    columns["s"] = "vartext(9)?"
    table = db.create("t", columns)
    at = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    table[1] = {"n": -5, "b": True, "v": b"ab", "at": at, "s": "x"}
    table[2] = {name: None for name in columns if name != "id"}
    arrays = table.rows().arrays()
    for name in ["n", "b", "v", "at"]:
        assert isinstance(arrays[name], numpy.ma.MaskedArray)
        assert arrays[name].mask.shape == arrays[name].shape
    assert arrays["n"].tolist() == [-5, None] and arrays["b"].tolist() == [True, None]
    assert arrays["v"].tolist() == [[97, 98], [None, None]]
    assert arrays["at"].mask.tolist() == [False, True] and arrays["s"].tolist() == ["x", None]
    copy = db.create("copy", columns)
    assert copy.load(arrays) == 2 and list(copy.values()) == list(table.values())
    # A moment that is none is null too; a float that is no number is a number of Lode.
    other = db.create("other", {"id": "u8", "at": "timestamp?", "x": "f64?"})
    nan = numpy.array([math.nan])
    assert other.load({"id": [1], "at": numpy.array(["NaT"], "M8[ns]"), "x": nan}) == 1
    assert other[1]["at"] is None and math.isnan(other[1]["x"])


def test_ranges_and_columns_and_moments_of_their_own(db):
    table = db.create("t", {"id": "u32", "n": "u8"})
    table.load({"id": numpy.arange(100_000), "n": numpy.arange(100_000) % 7})
    part = table.rows(10, 90_000, columns=["n"], limit=50_000).arrays()
    assert list(part) == ["n"]
    assert part["n"].tolist() == [id % 7 for id in range(10, 50_010)]
    with db.begin() as transaction:
        transaction["t"].delete(3)
        assert len(transaction["t"].rows().arrays()["id"]) == 99_999
    with db.snapshot() as snapshot:
        table.delete(4)
        assert 4 in snapshot["t"].rows(0, 9).arrays()["id"]
    assert 4 not in table.rows(0, 9).arrays()["id"]
    # Rows that were given out already come too.
    rows = table.rows(0, 2)
    next(rows)
    assert rows.arrays()["id"].tolist() == [0, 1]
    with pytest.raises(lode.DataError, match="order of keys"):
        table.rows(reverse=True).arrays()
    empty = table.rows(5, 5).arrays()
    assert empty["id"].shape == (0,) and empty["id"].dtype == "u4"


def test_an_empty_table_has_arrays_of_each_form(db):
    columns = {"id": "u8", "b": "bool?", "v": "bytes(2)?", "s": "vartext(9)?", "t": "text(3)"}
    arrays = db.create("t", columns).rows().arrays()
    assert [array.shape for array in arrays.values()] == [(0,), (0,), (0, 2), (0,), (0,)]
    assert db.create("copy", columns).load(arrays) == 0


def test_structured_arrays_are_loaded(db):
    table = db.create("t", {"id": "u64", "x": "f32", "tag": "bytes(2)"})
    dtype = [("tag", "V2"), ("id", ">u4"), ("x", "f2")]
    data = numpy.array([(b"ab", 7, 0.5), (b"cd", 2**32 - 1, -2)], dtype)
    assert table.load(data) == 2
    assert table[7] == {"id": 7, "x": 0.5, "tag": b"ab"} and table[2**32 - 1]["x"] == -2
    # Each second row, by a view with strides; those that are there take the new values.
    data["x"] = 9
    assert table.load(data[::2], replace=True) == 0
    assert [row["x"] for row in table.values()] == [9, -2]
    wide = data.astype([("tag", "V2"), ("id", "u4"), ("x", "f4")])
    masked = numpy.ma.array(wide, mask=[(False, False, True), (False, False, False)])
    with pytest.raises(lode.DataError, match="row 1.*column x.*null"):
        table.load(masked)


def test_objects_are_texts_or_bytes(db):
    table = db.create("t", {"id": "u8", "s": "vartext(9)?", "b": "varbytes(9)?"})
    data = {
        "id": [1, 2, 3],
        "s": numpy.array(["a\0", None, ""], object),
        "b": numpy.array([None, b"\0\0", b""], object),
    }
    assert table.load(data) == 3
    assert [(row["s"], row["b"]) for row in table.values()] == [
        ("a\0", None),
        (None, b"\0\0"),
        ("", b""),
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"id": [1, 256]}, r"row 2: column id \(u8\) cannot hold 256"),
        ({"id": [-1]}, "cannot hold -1"),
        ({"id": [1.0]}, "id"),
        ({"id": ["1"]}, "id"),
        ({"id": [1, 2], "n": [1]}, "column id has 2 rows, and column n has 1"),
        ({"id": 5}, r"column id: an array of shape \(\)"),
        ({"id": [[1, 2], [3, 4]]}, r"column id: an array of shape \(2, 2\)"),
        ({"id": [1j]}, "column id: an array of complex128 fits no column"),
        ({"id": numpy.array([1], "g")}, "fits no column"),
        ({"id": [1], "n": numpy.array([1], "m8[s]")}, "column n: an array of timedelta64"),
        ({"id": [1], "at": numpy.array([1], "M8[D]")}, r"datetime64\[s\]"),
        ({"id": [1], "at": numpy.array([1], "M8[25s]")}, r"datetime64\[s\]"),
        ({"id": [1], "at": numpy.array([1], "M8[ns]")}, "1 ns after"),
        ({"id": [1], "s": numpy.array([5], object)}, "column s: an array of object has"),
        ({"id": [1], "s": ["\ud800"]}, "column s"),
        ({"id": [1], "s": ["too long"]}, "s"),
        ({"id": [1], "v": numpy.zeros((1, 3), "u1")}, "v"),
        ({"id": [1], "v": numpy.zeros((1, 0), "u1")}, "shape"),
        ({"id": [1], "x": [2]}, "x"),
        ({}, "id"),
        (numpy.array([(1,)], [("x", "u1")]), "id"),
        (numpy.array((1,), [("id", "u1")]), r"shape \(\)"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(db, data, why):
    columns = {"id": "u8", "n": "u8?", "at": "timestamp?", "s": "vartext(3)?", "v": "bytes(2)?"}
    table = db.create("t", columns)
    with pytest.raises(lode.DataError, match=why):
        table.load(data)
    assert len(table) == 0


def test_columns_without_arrays_are_named(db):
    table = db.create("t", {"id": "u8", "price": "decimal(9,2)", "data": "varbytes(9)"})
    with pytest.raises(lode.DataError, match="column price of type .*columns="):
        table.rows().arrays()
    with pytest.raises(lode.DataError, match="column data of type"):
        table.rows(columns=["data"]).arrays()
    assert table.rows(columns=["id"]).arrays()["id"].tolist() == []


def test_what_is_no_array_is_refused(db):
    table = db.create("t", {"id": "u8"})
    for data in [[{"id": 1}], numpy.array([1]), 5, None, "id", iter([])]:
        with pytest.raises(TypeError, match="dict of arrays"):
            table.load(data)
    with pytest.raises(TypeError):
        table.load({5: [1]})
    with db.begin() as transaction, pytest.raises(lode.DataError, match="by itself"):
        transaction["t"].load({"id": [1]})
    assert len(table) == 0


def test_what_a_mapping_raises_comes_through(db):
    class Raises:
        def __array__(self, dtype=None, copy=None):
            raise ZeroDivisionError("no array")

    table = db.create("t", {"id": "u8"})
    with pytest.raises(ZeroDivisionError):
        table.load({"id": Raises()})
