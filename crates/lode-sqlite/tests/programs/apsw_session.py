"""Tables of Lode through apsw, which brings a SQLite of its own.

Arguments: the extension, and a directory for the database.
"""

import sys

import apsw


def connect(extension, directory, *how):
    """A connection on which the tables of the directory are."""
    connection = apsw.Connection(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(extension)
    places = ", ".join("?" for _ in (directory, *how))
    connection.execute(f"SELECT lode_attach({places})", (directory, *how)).fetchall()
    return connection


def rows(connection, query, bindings=()):
    return connection.execute(query, bindings).fetchall()


def refusal(connection, statement, bindings=()):
    """The class of the exception that a statement raises, and its text."""
    try:
        connection.execute(statement, bindings).fetchall()
    except apsw.Error as error:
        return type(error).__name__, str(error)
    raise AssertionError(f"{statement} was to be refused")


def main():
    extension, directory = sys.argv[1:]
    one = connect(extension, directory, "create")
    rows(one, "SELECT lode_create('CREATE TABLE city (name VARTEXT(40) PRIMARY KEY, "
              "people U64 NOT NULL, area F64, flag VARBYTES(99))')")
    cities = [("Bern", 134591, 51.62, b"\x00\xff"), ("Thun", 43743, 21.57, None), ("Évian", 9029, None, b"")]
    with one:
        one.executemany("INSERT INTO city VALUES (?, ?, ?, ?)", cities)
    other = connect(extension, directory)
    assert rows(other, "SELECT * FROM city ORDER BY name") == cities
    assert rows(other, "SELECT people FROM city WHERE name = ?", ("Thun",)) == [(43743,)]
    assert rows(other, "SELECT sum(people) FROM city WHERE name < 'C'") == [(134591,)]

    # Savepoints of apsw's context managers, one inside the other.
    try:
        with one:
            one.execute("UPDATE city SET people = people + 1 WHERE name = 'Thun'")
            with one:
                one.execute("DELETE FROM city WHERE name = 'Bern'")
            raise RuntimeError("the outer one fails")
    except RuntimeError:
        pass
    assert rows(other, "SELECT * FROM city ORDER BY name") == cities

    # Two writers of one record.
    one.execute("BEGIN")
    one.execute("UPDATE city SET people = 1 WHERE name = 'Bern'")
    other.execute("UPDATE city SET people = 2 WHERE name = 'Bern'")
    name, text = refusal(one, "COMMIT")
    assert name == "BusyError" and "another writer changed a record of table city" in text, text
    assert one.in_transaction is False
    assert rows(one, "SELECT people FROM city WHERE name = 'Bern'") == [(2,)]

    name, text = refusal(one, "INSERT INTO city (name, people) VALUES ('Bern', 1)")
    assert (name, text) == ("ConstraintError", "UNIQUE constraint failed: city.name"), text
    name, text = refusal(one, "INSERT INTO city (name, people) VALUES ('Biel', -1)")
    assert name == "ConstraintError" and "it takes 0 to 9223372036854775807" in text, text
    name, text = refusal(one, "SELECT lode_attach('/nowhere/at/all')")
    assert name in ("SQLError", "CantOpenError") and "No such file" in text, text
    one.close()
    other.close()
    connect(extension, directory, "read_only").close()
    print(f"apsw {apsw.apsw_version()}, SQLite {apsw.sqlite_lib_version()}: as it should be")


main()
