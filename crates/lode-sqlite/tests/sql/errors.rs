//! Checks that errors are one line, with SQLite's codes.

use crate::support::{connect, database, refusal, rows};
use lode::{Database, KeyKind, Schema, Type};
use rusqlite::{Connection, ffi};

#[test]
fn constraints_fail_as_sqlite_says_it() {
    let connection = connect(&database());
    connection.execute_batch("INSERT INTO account VALUES (1, 10)").expect("a row");
    connection.execute_batch("INSERT INTO call VALUES (1, 2, 3, NULL)").expect("a row");
    for (statement, why) in [
        ("INSERT INTO account VALUES (1, 11)", "UNIQUE constraint failed: account.id"),
        (
            "INSERT INTO call VALUES (1, 2, 4, '')",
            "UNIQUE constraint failed: call.caller, call.time",
        ),
        ("INSERT INTO account VALUES (2, NULL)", "NOT NULL constraint failed: account.cents"),
        ("INSERT INTO account (id) VALUES (2)", "NOT NULL constraint failed: account.cents"),
        ("UPDATE account SET id = NULL", "NOT NULL constraint failed: account.id"),
    ] {
        let expected = (ffi::SQLITE_CONSTRAINT, why.to_string());
        assert_eq!(refusal(&connection, statement), expected, "{statement}");
    }
    connection
        .execute_batch(
            "INSERT OR IGNORE INTO account VALUES (1, 11), (2, 20);
             INSERT OR REPLACE INTO account VALUES (2, 21), (3, 30)",
        )
        .expect("they are ignored, or replace");
    assert_eq!(rows(&connection, "SELECT * FROM account ORDER BY id"), ["1|10", "2|21", "3|30"]);
}

#[test]
fn what_a_virtual_table_cannot_do_is_refused() {
    let connection = connect(&database());
    for (statement, why) in [
        ("SELECT * FROM missing", "no such table: missing"),
        ("SELECT missing FROM account", "no such column: missing"),
        ("SELEC 1", "near \"SELEC\": syntax error"),
        ("CREATE INDEX i ON account (cents)", "virtual tables may not be indexed"),
        ("ALTER TABLE account ADD COLUMN x", "virtual tables may not be altered"),
        (
            "INSERT INTO account VALUES (1, 1) ON CONFLICT (id) DO NOTHING",
            "UPSERT not implemented for virtual table \"account\"",
        ),
        (
            "INSERT INTO call (rowid, caller) VALUES (1, 1)",
            "the row numbers of call cannot be set; set its key",
        ),
        ("SELECT rowid FROM account", "no such column: rowid"),
        (
            "ALTER TABLE account RENAME TO other",
            "lode_alter('ALTER TABLE … RENAME TO …') renames tables of Lode",
        ),
    ] {
        let (code, said) = refusal(&connection, statement);
        assert_eq!((code, &said[..]), (ffi::SQLITE_ERROR, why), "{statement}");
    }
}

#[test]
fn tables_whose_names_sqlite_cannot_have_are_left_out_and_named() {
    let db = Database::in_memory().expect("memory");
    for name in ["a", "A", "b", "sqlite_a", "own"] {
        let schema = Schema::build(name).key("id", Type::U8).finish().expect("a schema");
        db.create_table(&schema, KeyKind::Tree).expect("a table");
    }
    let connection = Connection::open_in_memory().expect("a connection");
    connection.execute_batch("CREATE TEMP TABLE own (x)").expect("it is new");
    let hidden = lode_sqlite::attach(&connection, &db).expect("the others are there");
    let names: Vec<_> = hidden.iter().map(|hidden| &hidden.name[..]).collect();
    assert_eq!(names, ["A", "a", "own", "sqlite_a"]);
    connection.execute_batch("INSERT INTO b VALUES (1)").expect("a row");
    assert!(connection.is_autocommit());
    let said = rows(&connection, "SELECT lode_hidden()");
    assert_eq!(said[0].lines().count(), 4, "{said:?}");
    assert!(
        said[0].contains("SQL cannot show table \"own\": table \"own\" already exists"),
        "{said:?}"
    );
}

#[test]
fn a_name_with_quotes_and_spaces_is_a_name() {
    let odd = Database::in_memory().expect("memory");
    let schema = Schema::build("a \"b' c").key("x\"'y", Type::U8).finish().expect("a schema");
    odd.create_table(&schema, KeyKind::Tree).expect("a table");
    let connection = connect(&odd);
    connection.execute_batch("INSERT INTO \"a \"\"b' c\" VALUES (7)").expect("a row");
    assert_eq!(rows(&connection, "SELECT \"x\"\"'y\" FROM \"a \"\"b' c\""), ["7"]);
}

#[test]
fn a_table_that_is_dropped_is_no_table_any_more() {
    let db = database();
    let connection = connect(&db);
    db.drop_table("word").expect("it is there");
    let (code, why) = refusal(&connection, "SELECT * FROM word");
    assert_eq!((code, &why[..]), (ffi::SQLITE_ERROR, "there is no table word; create it"));
}
