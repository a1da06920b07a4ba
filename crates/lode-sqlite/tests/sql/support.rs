//! Databases with a connection of SQLite on them.

use lode::{Database, KeyKind, Schema, Type};
use rusqlite::Connection;
use rusqlite::types::Value;

/// A connection on which all tables of a database are.
pub fn connect(db: &Database) -> Connection {
    let connection = Connection::open_in_memory().expect("a connection");
    lode_sqlite::attach(&connection, db).expect("its tables are attached");
    connection
}

/// A database with `account (id, cents)`, `call (caller, time, seconds)` and `word (text, n)`.
pub fn database() -> Database {
    let db = Database::in_memory().expect("memory");
    let account = Schema::build("account").key("id", Type::U64).column("cents", Type::I64);
    let call = Schema::build("call").key("caller", Type::U32).key("time", Type::Timestamp);
    let call = call.column("seconds", Type::U16).nullable("note", Type::VarText(20));
    let word = Schema::build("word").key("text", Type::VarText(9)).nullable("n", Type::U8);
    for (schema, kind) in [(account, KeyKind::Hash), (call, KeyKind::Tree), (word, KeyKind::Tree)] {
        db.create_table(&schema.finish().expect("a schema"), kind).expect("a table");
    }
    db
}

/// The rows of a query, with bars between the values.
pub fn rows(connection: &Connection, query: &str) -> Vec<String> {
    let mut statement = connection.prepare(query).expect("a query");
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let values = (0..columns).map(|at| row.get::<_, Value>(at));
        let texts = values.map(|value| {
            Ok(match value? {
                Value::Null => "NULL".into(),
                Value::Integer(number) => number.to_string(),
                Value::Real(number) => format!("{number:?}"),
                Value::Text(text) => text,
                Value::Blob(bytes) => format!("{bytes:02x?}"),
            })
        });
        texts.collect::<rusqlite::Result<Vec<String>>>().map(|texts| texts.join("|"))
    });
    rows.expect("it starts").map(|row| row.expect("a row")).collect()
}

/// SQLite's extended code and the line that it says when a statement fails.
pub fn refusal(connection: &Connection, statement: &str) -> (i32, String) {
    match connection.execute_batch(statement) {
        Err(rusqlite::Error::SqliteFailure(error, Some(why))) => (error.extended_code, why),
        Err(rusqlite::Error::SqlInputError { error, msg, .. }) => (error.extended_code, msg),
        other => panic!("{statement}: {other:?}"),
    }
}
