"""Arrow, both ways."""

import datetime
import decimal

import pytest

import lode

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture
def prices(db):
    table = db.create(
        "prices", {"id": "u32", "price": "decimal(12,2)?", "name": "vartext(20)", "at": "timestamp"}
    )
    at = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    table.insert_many(
        {"id": id, "price": decimal.Decimal(id), "name": f"n{id}", "at": at} for id in range(1000)
    )
    return table


def test_a_table_is_a_stream(prices):
    table = pyarrow.table(prices)
    assert table.num_rows == 1000
    assert table.schema.names == ["id", "price", "name", "at"]
    assert table.to_pylist() == list(prices.values())


def test_a_range_is_a_stream_of_its_columns(prices):
    table = pyarrow.table(prices.rows(5, 9, columns=["name"], limit=2))
    assert table.to_pydict() == {"name": ["n5", "n6"]}
    with pytest.raises(lode.DataError, match="order"):
        pyarrow.table(prices.rows(reverse=True))


def test_a_stream_within_a_transaction_has_its_writes(db, prices):
    with db.begin() as transaction:
        transaction["prices"].delete(3)
        assert pyarrow.table(transaction["prices"]).num_rows == 999
    with db.snapshot() as snapshot:
        prices.delete(4)
        assert pyarrow.table(snapshot["prices"]).num_rows == 999


def test_streams_are_loaded(db, prices):
    copy = db.create("copy", prices.columns)
    assert copy.load(pyarrow.table(prices)) == 1000
    assert list(copy.values()) == list(prices.values())
    changed = pyarrow.table(prices).slice(10, 2).set_column(2, "name", pyarrow.array(["a", "b"]))
    assert copy.load(changed) == 0 and copy[10]["name"] == "n10"
    assert copy.load(changed, replace=True) == 0 and copy[10]["name"] == "a"
    # Another database's table is a stream too.
    with lode.memory() as other:
        there = other.create("prices", prices.columns)
        assert there.load(prices) == 1000


def test_a_stream_that_does_not_fit_is_refused(db):
    table = db.create("t", {"id": "u8", "name": "vartext(3)"})
    for data in [
        pyarrow.table({"id": [300], "name": ["a"]}),
        pyarrow.table({"id": pyarrow.array([1], pyarrow.uint8())}),
        pyarrow.table({"id": pyarrow.array([1], pyarrow.uint8()), "name": ["long"]}),
        pyarrow.table({"id": pyarrow.array([1], pyarrow.uint8()), "name": [5]}),
    ]:
        with pytest.raises(lode.DataError):
            table.load(data)
    with pytest.raises(TypeError, match="stream of Arrow"):
        table.load([{"id": 1, "name": "a"}])
    assert len(table) == 0


def test_polars_and_numpy_take_it(prices):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(prices.rows(columns=["id", "name"]))
    assert frame.shape == (1000, 2) and frame["id"].sum() == 499_500
    numpy = pytest.importorskip("numpy")
    assert prices[numpy.uint32(7)]["id"] == 7
    prices[2000] = {
        "price": None,
        "name": "x",
        "at": datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc),
    }
    assert numpy.asarray(pyarrow.table(prices)["id"]).max() == 2000


def test_a_stream_that_lies_is_refused(db):
    table = db.create("t", {"id": "u8", "name": "vartext(9)"})
    ids = pyarrow.array([1], pyarrow.uint8())
    not_utf8 = pyarrow.array([b"\xff\xfe"]).view(pyarrow.string())
    with pytest.raises(lode.DataError):
        table.load(pyarrow.table({"id": ids, "name": not_utf8}))
    schema = pyarrow.schema({"id": pyarrow.uint8(), "name": pyarrow.string()})
    other = pyarrow.record_batch({"id": ids})
    with pytest.raises(lode.DataError):
        table.load(pyarrow.RecordBatchReader.from_batches(schema, [other]))
    assert len(table) == 0


def test_a_stream_that_fails_says_what_was_written(db):
    table = db.create("t", {"id": "u8"})
    schema = pyarrow.schema({"id": pyarrow.uint8()})

    def batches():
        yield pyarrow.record_batch({"id": pyarrow.array([1], pyarrow.uint8())})
        raise RuntimeError("no more")

    with pytest.raises(lode.DataError, match="no more.*the batches before it are in the table"):
        table.load(pyarrow.RecordBatchReader.from_batches(schema, batches()))
    assert list(table) == [1]


def test_an_export_that_fails_with_a_strange_name_is_an_error(db):
    table = db.create("x\0y", {"id": "u8"})
    table[1] = {}
    rows = table.rows()
    db.drop("x\0y")
    with pytest.raises(Exception, match="no table"):
        pyarrow.table(rows)
