"""Secondary indexes."""

import threading

import pytest

import lode


@pytest.fixture(params=[True, False], ids=["ordered", "hashed"])
def people(request, db):
    columns = {"id": "u32", "city": "vartext(40)", "age": "u8?", "mail": "vartext(40)?"}
    table = db.create("people", columns, ordered=request.param)
    table.insert_many(
        {"id": id, "city": "BGZ"[id % 3], "age": id % 50, "mail": f"m{id}"} for id in range(300)
    )
    return table


def ids(rows):
    return [row["id"] for row in rows]


def test_records_are_found_by_their_columns(people):
    people.create_index("by_city", ["city", "age"])
    people.create_index("by_mail", "mail", unique=True)
    assert people.indexes == {"by_city": ("city", "age"), "by_mail": ("mail",)}
    assert people.find("by_mail", "m7") == [people[7]]
    assert people.find("by_mail", "none") == []
    assert len(people.find("by_city", "G")) == 100
    assert ids(people.find("by_city", ("G", 7))) == [7, 157]
    found = people.find("by_city", start=("G", 7), stop=("G", 9), columns=["age"])
    assert found == [{"age": 7}, {"age": 7}, {"age": 8}, {"age": 8}]
    assert ids(people.find("by_city", "Z", limit=1, reverse=True)) == [299]
    assert len(people.find("by_city", stop="G")) == 100 == len(people.find("by_city", start="Z"))
    people.drop_index("by_city")
    with pytest.raises(lode.SchemaError, match="by_city"):
        people.find("by_city", "G")


def test_writes_keep_indexes(db, people):
    people.create_index("by_city", "city")
    people[1] = {"city": "X"}
    people.update(2, city="X")
    del people[4]
    people.insert({"id": 1000, "city": "X"})
    people.upsert_many([{"id": 5, "city": "X"}, {"id": 1001, "city": "X"}])
    assert ids(people.find("by_city", "X")) == [1, 2, 5, 1000, 1001]
    with db.begin() as transaction:
        table = transaction["people"]
        table.update(1, city="Y")
        assert ids(table.find("by_city", "Y")) == [1]
        assert ids(people.find("by_city", "Y")) == []
    with db.snapshot() as snapshot:
        people.delete(1)
        assert ids(snapshot["people"].find("by_city", "Y")) == [1]
    assert people.find("by_city", "Y") == []
    db.check()


def test_a_unique_index_refuses_and_changes_nothing(db, people):
    people.create_index("by_mail", "mail", unique=True)
    before = sorted(people.values(), key=lambda row: row["id"])
    for write in [
        lambda: people.insert({"id": 1000, "city": "B", "mail": "m7"}),
        lambda: people.update(8, mail="m7"),
        lambda: people.insert_many([{"id": 1001, "city": "B"}, {"id": 1002, "city": "B", "mail": "m1"}]),
    ]:
        with pytest.raises(lode.UniqueError, match="by_mail") as raised:
            write()
        assert (raised.value.code, raised.value.effect) == ("unique_violation", "none")
    assert sorted(people.values(), key=lambda row: row["id"]) == before
    # Values that are None are equal to none.
    assert people.insert({"id": 1003, "city": "B"}) and people.insert({"id": 1004, "city": "B"})
    with pytest.raises(lode.UniqueError):
        people.create_index("by_city", "city", unique=True)
    assert list(people.indexes) == ["by_mail"]


def test_a_value_is_taken_by_one_thread(db):
    table = db.create("t", {"id": "u32", "name": "text(8)"})
    table.create_index("by_name", "name", unique=True)
    won = []

    def race(by):
        for at in range(50):
            try:
                table.insert({"id": at * 4 + by, "name": str(at)})
                won.append(at)
            except lode.UniqueError:
                pass

    threads = [threading.Thread(target=race, args=(by,)) for by in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(50)) and len(table) == 50


def test_an_index_that_is_not_possible_is_refused(db, people):
    people.create_index("by_city", "city")
    for name, columns, code in [
        ("by_city", "age", "index_exists"),
        ("x", "none", "no_column"),
        ("x", [], "invalid_schema"),
        ("", "age", "invalid_schema"),
    ]:
        with pytest.raises(lode.SchemaError) as raised:
            people.create_index(name, columns)
        assert raised.value.code == code
    for value in [5, ("B", 1)]:
        with pytest.raises(lode.DataError):
            people.find("by_city", value)
    with pytest.raises(lode.DataError, match="not both"):
        people.find("by_city", "B", start="A")
    with pytest.raises(lode.SchemaError):
        people.drop_index("none")
    with db.begin() as transaction:
        with pytest.raises(lode.DataError, match="by itself"):
            transaction["people"].create_index("x", "age")
