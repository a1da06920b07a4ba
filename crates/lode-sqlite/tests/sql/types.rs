//! Checks values on the way to SQLite and back.

use crate::support::{connect, refusal, rows};
use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};

const ALL: [Type; 16] = [
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::I8,
    Type::I16,
    Type::I32,
    Type::I64,
    Type::F32,
    Type::F64,
    Type::Bool,
    Type::Timestamp,
    Type::Text(5),
    Type::Bytes(2),
    Type::VarText(5),
    Type::VarBytes(3),
];

/// A table with a column of each type after the key, which can be null.
fn all_types() -> (Database, lode::Table) {
    let db = Database::in_memory().expect("memory");
    let builder = Schema::build("t").key("id", Type::U64);
    let builder = ALL
        .iter()
        .enumerate()
        .fold(builder, |builder, (at, kind)| builder.nullable(&format!("c{at}"), *kind));
    let schema = builder.finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    (db, table)
}

#[test]
fn each_type_has_its_own_and_extremes_come_back() {
    let (db, table) = all_types();
    let connection = connect(&db);
    connection
        .execute_batch(
            "INSERT INTO t VALUES
             (0, 0, 0, 0, 0, -128, -32768, -2147483648, -9223372036854775808, -0.5, -9e999, 0,
              -9223372036854775808, '', x'0000', '', x''),
             (1, 255, 65535, 4294967295, 9223372036854775807, 127, 32767, 2147483647,
              9223372036854775807, 9e999, 1.7976931348623157e308, 1, 9223372036854775807, 'abcde',
              x'ffff', 'abcé', x'00ff00'),
             (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
              NULL, NULL)",
        )
        .expect("all fit");
    let found = rows(&connection, "SELECT * FROM t ORDER BY id");
    assert_eq!(
        found[0],
        "0|0|0|0|0|-128|-32768|-2147483648|-9223372036854775808|-0.5|-inf|0|-9223372036854775808|\
         |[00, 00]||[]"
    );
    assert_eq!(
        found[1],
        "1|255|65535|4294967295|9223372036854775807|127|32767|2147483647|9223372036854775807|inf|\
         1.7976931348623157e308|1|9223372036854775807|abcde|[ff, ff]|abcé|[00, ff, 00]"
    );
    assert_eq!(found[2], format!("2{}", "|NULL".repeat(16)));
    let types = (0..16).map(|at| format!("typeof(c{at})")).collect::<Vec<_>>().join(", ");
    let types = rows(&connection, &format!("SELECT {types} FROM t WHERE id = 1"));
    let whole = "integer|".repeat(8);
    assert_eq!(types, [format!("{whole}real|real|integer|integer|text|blob|text|blob")]);

    let row = table.get(1).expect("it can be read").expect("it was inserted");
    let values: Vec<_> = table.schema().columns()[1..].iter().map(|c| row.at(c.id())).collect();
    assert_eq!(values[3], Value::Unsigned(i64::MAX as u64));
    assert_eq!((values[10], values[11]), (Value::Bool(true), Value::Timestamp(i64::MAX)));
    assert_eq!((values[12], values[15]), (Value::Text("abcde"), Value::Bytes(&[0, 255, 0])));
}

#[test]
fn what_looks_like_a_number_or_a_text_becomes_one() {
    let (db, _) = all_types();
    let connection = connect(&db);
    connection
        .execute_batch("INSERT INTO t (id, c0, c9, c12) VALUES ('7', ' 8.0 ', '1e2', -12)")
        .expect("they fit");
    let found = rows(&connection, "SELECT id, c0, c9, c12, typeof(c12) FROM t");
    assert_eq!(found, ["7|8|100.0|-12|text"]);
}

#[test]
fn what_does_not_fit_is_refused_and_named() {
    let (db, table) = all_types();
    let connection = connect(&db);
    for (column, value, why) in [
        ("c0", "256", "cannot store 256 in column t.c0: it takes 0 to 255"),
        ("c0", "-1", "cannot store -1 in column t.c0: it takes 0 to 255"),
        ("c0", "1.5", "cannot store 1.5 in column t.c0: it takes whole numbers"),
        ("c0", "'x'", "cannot store \"x\" in column t.c0: it takes a number"),
        ("c0", "x'01'", "cannot store a BLOB of 1 bytes in column t.c0: it takes a number"),
        ("c3", "9.3e18", "cannot store 9.3e18 in column t.c3: it takes 0 to 9223372036854775807"),
        ("c4", "128", "cannot store 128 in column t.c4: it takes -128 to 127"),
        ("c8", "1e39", "cannot store 1e39 in column t.c8: it is beyond the floats of 32 bits"),
        ("c10", "2", "cannot store 2 in column t.c10: it takes 0 to 1"),
        (
            "c11",
            "'2026-11-23'",
            "cannot store \"2026-11-23\" in column t.c11: it takes microseconds, unixepoch(…) * \
             1000000",
        ),
        ("c12", "'abcdef'", "cannot store \"abcdef\" in column t.c12: it takes at most 5 bytes"),
        ("c12", "1.5", "cannot store 1.5 in column t.c12: it takes text"),
        (
            "c12",
            "'a' || char(0)",
            "cannot store \"a\\0\" in column t.c12: text of fixed length cannot end with a zero \
             byte",
        ),
        (
            "c13",
            "x'00'",
            "cannot store a BLOB of 1 bytes in column t.c13: it takes exactly 2 bytes",
        ),
        ("c13", "'ab'", "cannot store \"ab\" in column t.c13: it takes a BLOB"),
        (
            "c14",
            "CAST(x'ff' AS TEXT)",
            "cannot store \"\u{fffd}\" in column t.c14: it is not UTF-8",
        ),
        (
            "c15",
            "x'00000000'",
            "cannot store a BLOB of 4 bytes in column t.c15: it takes at most 3 bytes",
        ),
    ] {
        let insert = format!("INSERT INTO t (id, {column}) VALUES (1, {value})");
        let datatype = rusqlite::ffi::SQLITE_CONSTRAINT_DATATYPE;
        assert_eq!(refusal(&connection, &insert), (datatype, why.into()), "{insert}");
    }
    assert_eq!(table.len(), Ok(0));
}

#[test]
fn what_sqlite_has_no_value_for_is_an_error_only_when_it_is_asked_for() {
    let (db, table) = all_types();
    let connection = connect(&db);
    let mut values = vec![Value::Null; 17];
    values[0] = Value::Unsigned(1);
    values[4] = Value::Unsigned(1 << 63);
    values[10] = Value::Float(f64::NAN);
    table.insert(&table.schema().pack(&values).expect("they fit")).expect("room");

    let why = "t.c3 is 9223372036854775808, for which SQLite has no value; read it with lode dump";
    let mut statement = connection.prepare("SELECT c3 FROM t").expect("a query");
    match statement.query_row([], |row| row.get::<_, i64>(0)) {
        Err(rusqlite::Error::SqliteFailure(error, Some(said))) => {
            assert_eq!((error.extended_code, &said[..]), (rusqlite::ffi::SQLITE_ERROR, why));
        }
        other => panic!("{other:?}"),
    }
    let others = "SELECT count(*), sum(c0), max(c9) FROM t";
    assert_eq!(rows(&connection, others), ["1|NULL|NULL"]);
    assert_eq!(rows(&connection, "SELECT id FROM t WHERE c9 IS NULL"), ["1"]);

    connection.execute_batch("UPDATE t SET c0 = 7").expect("the others stay as they are");
    let row = table.get(1).expect("it can be read").expect("it is there");
    assert_eq!((row.get("c0"), row.get("c3")), (Some(Value::Unsigned(7)), Some(values[4])));
    assert!(matches!(row.get("c9"), Some(Value::Float(number)) if number.is_nan()));
    connection.execute_batch("DELETE FROM t").expect("their keys are plain");
    assert_eq!(table.len(), Ok(0));
}

#[test]
fn a_nan_is_null_also_in_a_key_and_a_column_that_is_not_null() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("memory");
        let schema = Schema::build("t").key("x", Type::F64).column("y", Type::F32);
        let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("a table");
        for x in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.5] {
            let values = [Value::Float(x), Value::Float(f64::NAN)];
            table.insert(&table.schema().pack(&values).expect("fits")).expect("room");
        }
        let connection = connect(&db);
        for (query, found) in [
            ("SELECT x FROM t ORDER BY x", &["NULL", "NULL", "-inf", "1.5", "inf"][..]),
            ("SELECT x FROM t ORDER BY x DESC LIMIT 1", &["inf"]),
            ("SELECT x FROM t WHERE x > 1 ORDER BY x", &["1.5", "inf"]),
            ("SELECT x FROM t WHERE x < 2 ORDER BY x", &["-inf", "1.5"]),
            ("SELECT x FROM t WHERE x < 'a' AND x > 0 ORDER BY x", &["1.5", "inf"]),
            ("SELECT count(*) FROM t WHERE x IS NULL", &["2"]),
            ("SELECT count(*) FROM t WHERE y IS NULL", &["5"]),
            ("SELECT count(*) FROM t WHERE x IS (SELECT NULL)", &["2"]),
            ("SELECT min(x), max(x), count(x), count(*) FROM t", &["-inf|inf|3|5"]),
        ] {
            assert_eq!(rows(&connection, query), found, "{kind:?}: {query}");
        }
        connection.execute_batch("DELETE FROM t").expect("all rows");
        assert_eq!(table.len(), Ok(0), "{kind:?}");
    }
}

#[test]
fn text_that_is_no_utf8_comes_as_it_is() {
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("t").key("id", Type::U8).column("a", Type::Text(4));
    let schema = schema.nullable("b", Type::VarText(9)).column("c", Type::U8);
    let table = db.create_table(&schema.finish().expect("a schema"), KeyKind::Tree);
    let table = table.expect("a table");
    for (id, text) in [(1, Value::Text("xyz")), (2, Value::Null)] {
        let values = [Value::Unsigned(id), Value::Text("xyz"), text, Value::Unsigned(7)];
        let mut record = table.schema().pack(&values).expect("it fits");
        record.iter_mut().filter(|byte| **byte == b'y').for_each(|byte| *byte = 0xff);
        table.insert(&record).expect("room");
    }
    let connection = connect(&db);
    let columns = "id, hex(a), typeof(a), hex(b), typeof(b)";
    let found = ["1|78FF7A|text|78FF7A|text", "2|78FF7A|text||null"];
    // Whole records by their keys, and some columns of many.
    for (id, row) in ["1", "2"].into_iter().zip(found) {
        assert_eq!(rows(&connection, &format!("SELECT {columns} FROM t WHERE id = {id}")), [row]);
    }
    assert_eq!(rows(&connection, &format!("SELECT {columns} FROM t ORDER BY id")), found);
}

#[test]
fn a_statement_is_run_again_with_other_kinds_of_values() {
    let db = Database::in_memory().expect("memory");
    for (name, kind) in [("hashed", KeyKind::Hash), ("sorted", KeyKind::Tree)] {
        let schema = Schema::build(name).key("id", Type::I64).finish().expect("a schema");
        db.create_table(&schema, kind).expect("a table");
        let connection = connect(&db);
        connection.execute_batch(&format!("INSERT INTO {name} VALUES (7), (-1)")).expect("rows");
        let query = format!("SELECT id FROM {name} WHERE id = ?1");
        let mut query = connection.prepare(&query).expect("a query");
        let text = |text: &str| rusqlite::types::Value::Text(text.into());
        let values = [
            (7.into(), Some(7)),
            (rusqlite::types::Value::Null, None),
            (text("x"), None),
            (text("7"), Some(7)),
            (7.0.into(), Some(7)),
            (7.5.into(), None),
            (8.into(), None),
            (vec![7u8].into(), None),
            ((-1).into(), Some(-1)),
        ];
        for (value, wanted) in values.iter().chain(values.iter().rev()) {
            let found: Vec<i64> = query
                .query_map([value], |row| row.get(0))
                .and_then(Iterator::collect)
                .expect("it can be read");
            assert_eq!(found, wanted.iter().copied().collect::<Vec<i64>>(), "{name} {value:?}");
        }
    }
}
