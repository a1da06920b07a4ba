//! Each error says what is wrong, where, and whether trying again helps.

use std::error::Error as _;

use lode::{
    Database, Error, KeyKind, Options, ReadTable, Result, Schema, SchemaFault, Table, Type, Value,
};

fn table(db: &Database, kind: KeyKind) -> Table {
    let schema = Schema::build("t").key("id", Type::U8).column("n", Type::I8);
    let schema = schema.nullable("maybe", Type::U8).column("text", Type::VarText(3));
    db.create_table(&schema.finish().expect("a schema"), kind).expect("room")
}

fn is<T: std::fmt::Debug>(result: Result<T>, code: &str, words: &str) {
    let error = result.expect_err("it is refused");
    assert_eq!((error.code(), error.is_bad_input()), (code, true), "{error}");
    assert!(!error.is_retryable(), "{error}");
    assert_eq!(error.to_string(), words);
}

#[test]
fn what_does_not_fit_a_schema_has_an_error_of_its_own() {
    let db = Database::in_memory().expect("memory");
    let table = table(&db, KeyKind::Tree);
    let schema = table.schema();
    let column = |name| schema.column(name).expect("it is there");
    let values = [Value::Unsigned(7), Value::Signed(1), Value::Null, Value::Text("abc")];
    table.insert(&schema.pack(&values).expect("it fits")).expect("room");

    is(schema.column("no"), "no_column", "table t: there is no column no");
    let few = "table t: there are 4 columns and 3 values";
    is(schema.pack(&values[..3]), "value_count", few);
    let mut wrong = values;
    wrong[1] = Value::Signed(-129);
    is(schema.pack(&wrong), "value_misfit", "table t: -129 does not fit column n: I8");
    wrong = values;
    wrong[3] = Value::Text("four");
    let long = "table t: column text can have at most 3 bytes, not 4";
    is(schema.pack(&wrong), "value_too_long", long);
    is(table.insert(&[7]), "not_packed", "table t: a packed record has at least 8 bytes, not 1");
    let of_key = "table t: column id is of the key; it stays";
    is(table.update(7, column("id"), &[1]), "key_column", of_key);
    let null = "table t: column maybe can be null; change it with its null bit by `change`";
    is(table.update(7, column("maybe"), &[1]), "nullable_column", null);
    let no_room = "table t: column n: I8 has no room for 127 more";
    is(table.increment(7, column("n"), 127), "no_room_in_column", no_room);
    let any = "table t: payloads have any length; use `get_into`";
    is(table.get_exact(&[7], &mut [0; 4]), "variable_payload", any);
    let foreign = "table t: it is of another database than the ";
    let other = Database::in_memory().expect("memory");
    let snapshot = other.snapshot();
    is(table.at(&snapshot).len(), "other_database", &format!("{foreign}snapshot"));
    let transaction = other.begin();
    is(transaction.delete(&table, 7), "other_database", &format!("{foreign}transaction"));

    let builder = || Schema::build("t");
    let no_key = "table t: it has no key; begin with a key column";
    is(builder().finish(), "invalid_schema", no_key);
    let late = builder().column("n", Type::U8).key("id", Type::U8).finish();
    let fault = SchemaFault::KeyComesLate { column: "id".into() };
    assert_eq!(late, Err(Error::InvalidSchema { table: "t".into(), fault }));
}

#[test]
fn what_may_go_well_the_next_time_is_known() {
    let db = Database::in_memory().expect("memory");
    let table = table(&db, KeyKind::Hash);
    let conflict = || {
        let transaction = db.begin();
        transaction.delete(&table, 7)?;
        let other = [Value::Unsigned(8), Value::Signed(1), Value::Null, Value::Text("")];
        transaction.upsert(&table, &table.schema().pack(&other)?)?;
        let record = [Value::Unsigned(7), Value::Signed(1), Value::Null, Value::Text("")];
        table.upsert(&table.schema().pack(&record)?)?;
        transaction.commit()
    };
    let error = conflict().expect_err("the record was written meanwhile");
    assert_eq!((error.code(), error.is_retryable()), ("conflict", true));
    let directory = tempfile::tempdir().expect("a directory");
    let first = Options::new().create_new(directory.path()).expect("it is empty");
    let error = Options::new().open(directory.path()).map(drop).expect_err("it is open");
    assert_eq!((error.code(), error.is_retryable()), ("locked", true));
    drop(first);
    let gone = db.table("gone").expect_err("it was not created");
    assert_eq!((gone.code(), gone.is_retryable(), gone.is_bad_input()), ("no_table", false, false));
}

#[test]
fn what_the_system_said_is_the_source() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    std::fs::write(&file, "").expect("space");
    let error = Options::new().open_existing(&file).map(drop).expect_err("it is a file");
    assert_eq!(error.code(), "io");
    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    let kind = source.map(std::io::Error::kind);
    assert_eq!(kind, Some(std::io::ErrorKind::NotADirectory), "{error}");
    assert!(error.to_string().contains(&file.display().to_string()), "{error}");
}
