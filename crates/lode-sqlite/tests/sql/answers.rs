//! Answers where values are equal to SQLite and not to Lode, or conditions are of several columns.

use lode::{Database, KeyKind, Schema, Type, Value};
use rusqlite::Connection;

use crate::support::{connect, refusal, rows};

/// A tree with two columns in its key, the first of them of this type.
fn pairs(kind: Type) -> (Database, Connection) {
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("pair").key("a", kind).key("b", Type::U32);
    db.create_table(&schema.finish().expect("a schema"), KeyKind::Tree).expect("a table");
    let connection = connect(&db);
    (db, connection)
}

#[test]
fn conditions_on_rows_of_values_find_all_of_them_whatever_the_limit() {
    let (_db, connection) = pairs(Type::U32);
    let insert = "INSERT INTO pair VALUES (1,0),(1,1),(1,2),(1,3),(1,4),(2,0)";
    connection.execute_batch(insert).expect("they are inserted");
    for (condition, expected) in [
        ("(a, b) > (1, 2) LIMIT 2", &["1|3", "1|4"][..]),
        ("(a, b) > (1, 2) ORDER BY a, b LIMIT 2", &["1|3", "1|4"]),
        ("(a, b) <= (1, 1) ORDER BY a DESC, b DESC LIMIT 1", &["1|1"]),
        ("(a, b) >= (1, 4) LIMIT 1", &["1|4"]),
        ("(a, b) < (2, 0) ORDER BY a DESC, b DESC LIMIT 1 OFFSET 1", &["1|3"]),
        ("(a, b) IN ((1, 1), (2, 0), (2, 1)) ORDER BY a, b LIMIT 2", &["1|1", "2|0"]),
        ("(a, b) = (1, 3) LIMIT 1", &["1|3"]),
    ] {
        let query = format!("SELECT a, b FROM pair WHERE {condition}");
        assert_eq!(rows(&connection, &query), expected, "{query}");
    }
}

#[test]
fn what_comes_after_a_float_orders_rows_with_either_zero() {
    let (db, connection) = pairs(Type::F64);
    let table = db.table("pair").expect("it is there");
    for (a, b) in [(-0.0, 1), (-0.0, 5), (0.0, 1), (0.0, 3)] {
        let record = table.schema().pack(&[Value::Float(a), Value::Unsigned(b)]).expect("a record");
        table.insert(&record).expect("room");
    }
    let query = "SELECT b FROM pair ORDER BY a, b";
    assert_eq!(rows(&connection, query), ["1", "1", "3", "5"]);
    assert_eq!(rows(&connection, &format!("{query} LIMIT 2")), ["1", "1"]);
    let groups = "SELECT b, count(*) FROM pair GROUP BY a, b";
    assert_eq!(rows(&connection, groups), ["1|2", "3|1", "5|1"]);
}

#[test]
fn a_row_whose_key_is_a_zero_is_not_taken_for_the_one_with_the_other_zero() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("memory");
        let schema = Schema::build("float").key("x", Type::F64).column("z", Type::U8);
        let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("a table");
        for (x, z) in [(-0.0, 11), (0.0, 12), (1.5, 13)] {
            let values = [Value::Float(x), Value::Unsigned(z)];
            table.insert(&table.schema().pack(&values).expect("a record")).expect("room");
        }
        let connection = connect(&db);
        let changed = "UPDATE float SET z = 21 WHERE z = 12; DELETE FROM float WHERE z = 11";
        connection.execute_batch(changed).expect("they are there");
        assert_eq!(rows(&connection, "SELECT z FROM float ORDER BY z"), ["13", "21"], "{kind:?}");
        connection.execute_batch("INSERT INTO float VALUES (2.5, 1)").expect("it is new");
        let twice = refusal(&connection, "INSERT INTO float VALUES (2.5, 1)").1;
        assert!(twice.contains("UNIQUE constraint failed: float.x"), "{twice}");
    }
}

#[test]
fn a_list_with_text_that_is_not_utf_8_finds_each_row_once() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("memory");
        let schema = Schema::build("word").key("text", Type::VarText(9));
        db.create_table(&schema.finish().expect("a schema"), kind).expect("a table");
        let connection = connect(&db);
        connection.execute_batch("INSERT INTO word VALUES ('a'), ('b')").expect("they are new");
        let query = "SELECT text FROM word WHERE text IN ('a', CAST(x'ff' AS TEXT), 'b')";
        let mut found = rows(&connection, query);
        found.sort_unstable();
        assert_eq!(found, ["a", "b"], "{kind:?}");
    }
}

#[test]
fn a_connection_whose_text_is_utf_16_is_refused() {
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("word").key("text", Type::VarText(9)).finish().expect("a schema");
    db.create_table(&schema, KeyKind::Tree).expect("a table");
    let connection = Connection::open_in_memory().expect("a connection");
    connection.execute_batch("PRAGMA encoding = 'UTF-16le'; CREATE TABLE own (x)").expect("it is");
    let refused = lode_sqlite::attach(&connection, &db).expect_err("its order is another");
    assert!(refused.to_string().contains("UTF-16le, and Lode's is UTF-8"), "{refused}");
}
