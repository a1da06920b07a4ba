"""Tables: records by their keys."""

import array
import dataclasses
import datetime
import decimal
import enum
import gc
import typing
import weakref
from typing import Annotated

import pytest

import lode
from conftest import USER

UTC = datetime.timezone.utc


def test_a_table_is_like_a_dict(users):
    users[7] = {"name": "Ada", "age": 36}
    users[9] = {"id": 9, "name": "Grace"}
    assert users[7] == {"id": 7, "name": "Ada", "age": 36}
    assert users[9]["age"] is None
    assert 7 in users and 8 not in users
    assert users.get(8) is None and users.get(8, "none") == "none"
    assert len(users) == 2
    assert sorted(users) == [7, 9] == sorted(users.keys())
    assert {key: row["name"] for key, row in users.items()} == {7: "Ada", 9: "Grace"}
    assert sorted(row["name"] for row in users.values()) == ["Ada", "Grace"]
    del users[7]
    with pytest.raises(KeyError, match="7"):
        users[7]
    with pytest.raises(KeyError, match="7"):
        del users[7]
    assert repr(users) == '<lode.Table "users">'


def test_writes_say_what_they_found(users):
    assert users.insert({"id": 1, "name": "a"})
    assert not users.insert({"id": 1, "name": "b"})
    assert users[1]["name"] == "a"
    assert users.upsert({"id": 1, "name": "c"})
    assert not users.upsert({"id": 2, "name": "d"})
    assert users.update(1, name="e", age=4)
    assert users[1] == {"id": 1, "name": "e", "age": 4}
    assert users.update(1, age=None) and users[1]["age"] is None
    assert not users.update(3, age=5)
    assert users.delete(1) and not users.delete(1)
    assert users.insert_many({"id": id, "name": "m"} for id in [2, 5, 5, 6]) == 2
    assert users.upsert_many([{"id": 2, "name": "n"}, {"id": 7, "name": "n"}]) == 1
    assert [row and row["name"] for row in users.get_many([7, 3, 2, 7])] == ["n", None, "n", "n"]


def test_what_has_bytes_in_memory_is_bytes(db):
    table = db.create("t", {"id": "u8", "value": "varbytes(9)"})
    for value in [bytearray(b"ab"), memoryview(b"ab"), array.array("B", b"ab")]:
        table[1] = {"value": value}
        assert table[1]["value"] == b"ab"


def test_keys_of_floats_are_compared_as_they_are_stored(db):
    table = db.create("t", {"x": "f32", "value": "u8"})
    table[0.1] = {"value": 1}
    table[0.1] = table[0.1]
    table[float("nan")] = {"x": float("nan"), "value": 2}
    assert len(table) == 2 and table[float("nan")]["value"] == 2


def test_increments_are_of_whole_numbers(db):
    counts = db.create("counts", {"id": "u8", "count": "u16", "name": "text(4)"})
    counts[1] = {"count": 65_533, "name": "a"}
    assert counts.increment(1, "count") == 65_534
    assert counts.increment(1, "count", by=-4) == 65_530
    assert counts.increment(2, "count") is None
    with pytest.raises(lode.DataError):
        counts.increment(1, "count", by=6)
    with pytest.raises(lode.DataError):
        counts.increment(1, "name")
    assert counts[1]["count"] == 65_530


def test_values_of_all_types_come_back(db):
    extremes = {
        "u8": [0, 2**8 - 1],
        "u64": [0, 2**64 - 1],
        "i8": [-(2**7), 2**7 - 1],
        "i64": [-(2**63), 2**63 - 1],
        "f64": [1.5, -0.0, float("inf")],
        "f32": [0.5],
        "bool": [True, False],
        "text(4)": ["", "äö"],
        "vartext(4000)": ["", "x" * 4000],
        "bytes(3)": [b"\0\xff\0"],
        "varbytes(4000)": [b"", b"\0" * 4000],
        "decimal(38,10)": [decimal.Decimal("-1234567890123456789012345678.0123456789")],
        "decimal(4,2)": [decimal.Decimal("12.3"), 7],
        "timestamp": [
            datetime.datetime(1, 1, 1, tzinfo=UTC),
            datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
            datetime.datetime(2026, 7, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
        ],
    }
    for at, (kind, values) in enumerate(extremes.items()):
        table = db.create(f"t{at}", {"id": "u8", "value": kind, "none": f"{kind}?"})
        for value in values:
            table[1] = {"value": value}
            assert table[1] == {"id": 1, "value": value, "none": None}
            table[1] = {"value": value, "none": value}
            assert table[1]["none"] == value


class Number(int):
    pass


class Kind(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("kind", "values"),
    {
        "u8": [256, -1, 1.0, "1", True, None, 2**200, b"1"],
        "i8": [128, -129],
        "f64": ["1.5", True, b"", [1]],
        "bool": [1, 0, "true"],
        "text(2)": ["abc", "ä" * 2, 5, b"a", "\ud800"],
        "vartext(2)": ["abc", "\udfff"],
        "bytes(2)": [b"a", b"abc", "ab", 5, [1, 2], range(2)],
        "varbytes(2)": [b"abc", "a", array.array("I", [1])],
        "timestamp": [
            datetime.datetime(2026, 1, 1),
            datetime.date(2026, 1, 1),
            5,
            "2026-01-01",
            datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=14))),
            datetime.datetime(9999, 12, 31, 23, tzinfo=datetime.timezone(-datetime.timedelta(hours=9))),
        ],
        "decimal(4,2)": [
            1.5,
            "1.5",
            decimal.Decimal("NaN"),
            decimal.Decimal("1.234"),
            decimal.Decimal("1E+900000000"),
            decimal.Decimal("1E-900000000"),
            10**40,
            10**100_000,
            True,
        ],
    }.items(),
)
def test_a_value_that_does_not_fit_is_refused(db, kind, values):
    table = db.create("t", {"id": "u8", "value": kind})
    for value in values:
        with pytest.raises(lode.DataError) as raised:
            table[1] = {"value": value}
        assert isinstance(raised.value, ValueError) and raised.value.effect == "none"
        assert "value" in str(raised.value) and "\n" not in str(raised.value)
    assert len(table) == 0
    table = db.create("f", {"id": "u8", "value": "f64"})
    table[1] = {"value": Number(3)}
    assert table[1]["value"] == 3.0


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"name": "a", "surname": "b"},
        {"name": "a", 5: 6},
        {"id": 2, "name": "a"},
        {"name": None},
        5,
        None,
        "name",
        ["name"],
    ],
)
def test_a_record_that_is_none_is_refused(users, record):
    with pytest.raises(lode.DataError):
        users[1] = record
    assert len(users) == 0


def test_keys_of_several_columns_are_tuples(db):
    calls = db.create(
        "calls",
        {"seconds": "u32", "who": "vartext(20)", "at": "timestamp"},
        key=["who", "at"],
    )
    moment = datetime.datetime(2026, 5, 5, tzinfo=UTC)
    day = datetime.timedelta(days=1)
    for who in "ab":
        for days in range(3):
            calls[who, moment + days * day] = {"seconds": days}
    assert calls.key == ("who", "at")
    assert calls.columns == {"who": "vartext(20)", "at": "timestamp", "seconds": "u32"}
    assert calls["b", moment] == {"who": "b", "at": moment, "seconds": 0}
    assert list(calls)[0] == ("a", moment)
    assert [row["seconds"] for row in calls.rows(prefix="a")] == [0, 1, 2]
    assert [row["seconds"] for row in calls.rows(("a", moment + day), "b")] == [1, 2]
    assert [row["seconds"] for row in calls["b":]] == [0, 1, 2]
    for key in ["a", ("a",), ("a", moment, 1), ()]:
        with pytest.raises(lode.DataError):
            calls.get(key)
    with pytest.raises(lode.DataError):
        calls.rows(prefix=("a", moment, 1))


def test_ranges_are_half_open_and_in_the_order_of_keys(db):
    squares = db.create("squares", {"of": "i32", "is": "u64"})
    squares.insert_many({"of": of, "is": of * of} for of in range(-200, 200))
    assert [row["of"] for row in squares[-3:2]] == [-3, -2, -1, 0, 1]
    assert [row["of"] for row in squares[198:]] == [198, 199]
    assert len(list(squares[:])) == 400
    assert [row["of"] for row in squares.rows(5, reverse=True, limit=2)] == [199, 198]
    assert list(squares.rows(3, 5, columns=["is"])) == [{"is": 9}, {"is": 16}]
    assert list(squares.rows(3, 4, columns=["is", "of"])) == [{"is": 9, "of": 3}]
    assert list(squares[7:3]) == []
    with pytest.raises(lode.DataError, match="step"):
        squares[::2]
    with pytest.raises(lode.DataError, match="not both"):
        squares.rows(1, prefix=2)
    with pytest.raises(lode.DataError, match="a list of names"):
        squares.rows(columns="is")
    with pytest.raises(lode.SchemaError, match="no column"):
        squares.rows(columns=["isnt"])


def test_a_hashed_table_has_no_ranges(db):
    table = db.create("t", {"id": "u8"}, ordered=False)
    table[1] = {}
    assert list(table.rows()) == [{"id": 1}]
    with pytest.raises(lode.DataError, match="order"):
        next(table[1:])


def test_an_iterator_sees_one_moment(users):
    users.insert_many({"id": id, "name": "x"} for id in range(300))
    rows = users.rows()
    first = next(rows)
    for id in range(300):
        del users[id]
    assert len([first, *rows]) == 300
    assert list(rows) == []


@dataclasses.dataclass
class Document:
    id: Annotated[int, "u32"]
    title: str
    size: float = 0.0
    seen: "datetime.datetime | None" = None
    note: typing.Optional[str] = None
    grade: Annotated[typing.Optional[int], "u8"] = None


def test_a_dataclass_describes_a_table_and_is_its_rows(db):
    documents = db.create("documents", Document)
    assert documents.columns == {
        "id": "u32",
        "title": "vartext(4096)",
        "size": "f64",
        "seen": "timestamp?",
        "note": "vartext(4096)?",
        "grade": "u8?",
    }
    assert documents.insert(Document(1, "One", 2.5, note="n"))
    assert documents[1] == Document(1, "One", 2.5, None, "n")
    assert list(documents.values()) == [documents[1]]
    assert db.table("documents", Document)[1] == documents[1]
    assert db["documents"][1]["title"] == "One"
    assert next(documents.rows(columns=["title"])) == {"title": "One"}


def test_a_class_that_has_its_table_is_collected(db):
    def leave():
        @dataclasses.dataclass
        class Record:
            id: int

        Record.table = db.create("t", Record)
        Record.rows = Record.table.rows()
        return weakref.ref(Record)

    left = leave()
    gc.collect()
    assert left() is None


def test_a_class_that_describes_no_table_is_refused(db):
    @dataclasses.dataclass
    class Odd:
        id: int
        what: list

    @dataclasses.dataclass
    class Late:
        id: int
        name: str = dataclasses.field(init=False, default="")

    for columns in [Odd, Late, int, 5, None, "id"]:
        with pytest.raises(TypeError):
            db.create("t", columns)
    assert db.tables() == []


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        ({}, None),
        ({"id": "int"}, None),
        ({"id": "u64?"}, None),
        ({"id": "u64"}, "no"),
        ({"id": "u64"}, ["id", "id"]),
        ({"id": "text(0)"}, None),
        ({"id": "decimal(50,2)"}, None),
    ],
)
def test_a_description_that_is_not_possible_is_refused(db, columns, key):
    with pytest.raises(lode.Error) as raised:
        db.create("t", columns, key=key)
    assert raised.value.code in ("bad_argument", "invalid_schema", "schema_too_long")
    assert db.tables() == []


def test_tables_are_found_by_their_names(db):
    db.create("b", USER)
    db.create("a", USER)
    assert db.tables() == ["a", "b"] == sorted(db)
    assert "a" in db and "c" not in db and len(db) == 2
    with pytest.raises(KeyError, match="c"):
        db["c"]
    with pytest.raises(lode.SchemaError) as raised:
        db.table("c")
    assert raised.value.code == "no_table"
    with pytest.raises(lode.SchemaError, match="a"):
        db.create("a", USER)
    assert db.create("a", USER, exist_ok=True).name == "a"
    with pytest.raises(lode.SchemaError, match="other columns"):
        db.create("a", {"id": "u8"}, exist_ok=True)
    with pytest.raises(lode.SchemaError, match="other columns"):
        db.create("a", USER, ordered=False, exist_ok=True)
    table = db["a"]
    table[1] = {"name": "x"}
    db.clear("a")
    assert len(db["a"]) == 0
    with pytest.raises(lode.SchemaError):
        table[1]
    del db["a"]
    db.drop("b")
    assert db.tables() == []
    with pytest.raises(KeyError):
        del db["a"]


def test_records_expire_at_the_time_in_their_column(db):
    sessions = db.create("sessions", {"id": "u32", "until": "timestamp? expires"})
    assert sessions.columns == {"id": "u32", "until": "timestamp? expires"}
    now = datetime.datetime.now(UTC)
    hour = datetime.timedelta(hours=1)
    for number, until in enumerate([now - hour, now + hour, None]):
        sessions[number] = {"until": until}
    assert (list(sessions), len(sessions), 0 in sessions) == ([1, 2], 2, False)
    with pytest.raises(lode.SchemaError, match="cannot expire by count"):
        db.create("others", {"id": "u32", "count": "u32 expires"})
