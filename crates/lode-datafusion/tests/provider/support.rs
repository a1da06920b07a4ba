//! A database with tables of several kinds of keys, and queries of it.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::datasource::MemTable;
use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use lode::{Database, KeyKind, Options, Schema, Table, Type, Value};
use lode_arrow::{Scan, arrow_schema};
use lode_datafusion::register_tables;
use tokio::runtime::{Builder, Runtime};

/// The rows of `call`, enough for several partitions.
pub const CALLS: i64 = 60_000;

/// The names of all tables, each with its columns.
pub const TABLES: [(&str, &[(&str, Type)]); 6] = [
    ("call", &[("caller", Type::I32), ("time", Type::I64), ("seconds", Type::I64)]),
    ("word", &[("text", Type::Text(4)), ("id", Type::U8), ("seconds", Type::I64)]),
    ("flag", &[("is_set", Type::Bool), ("name", Type::VarText(9)), ("seconds", Type::I64)]),
    ("pair", &[("left", Type::U64), ("right", Type::VarText(9)), ("seconds", Type::I64)]),
    ("sample", &[("at", Type::Timestamp), ("level", Type::F64), ("seconds", Type::I64)]),
    ("item", &[("id", Type::I64), ("name", Type::VarText(9)), ("seconds", Type::I64)]),
];

/// Values of text columns: some are prefixes of others, and one is not in any row.
pub const WORDS: [&str; 6] = ["", "a", "aa", "ab", "b", "zz"];

/// A database with all tables. The key of `item` is its first column, that of the others the first
/// two; `pair` and `item` are hashed.
pub fn database() -> Database {
    let db = Options::new().memory_bytes(64 << 20).in_memory().expect("a database");
    for (name, columns) in TABLES {
        let mut schema = Schema::build(name);
        let keys = if name == "item" { 1 } else { 2 };
        for (at, (column, kind)) in columns.iter().enumerate() {
            schema =
                if at < keys { schema.key(column, *kind) } else { schema.nullable(column, *kind) };
        }
        let kind = if matches!(name, "pair" | "item") { KeyKind::Hash } else { KeyKind::Tree };
        let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("a table");
        let rows = if name == "call" { CALLS } else { 200 };
        for row in 0..rows {
            insert(&table, row);
        }
    }
    db
}

/// Inserts a record by its number; the same one again for some.
fn insert(table: &Table, row: i64) {
    let columns = table.schema().columns().iter().enumerate();
    let values = columns.map(|(at, column)| value(column.kind, row, at));
    let record = table.schema().pack(&values.collect::<Vec<_>>()).expect("it fits");
    table.upsert(&record).expect("there is room");
}

/// The value of a column in a record.
fn value(kind: Type, row: i64, column: usize) -> Value<'static> {
    match (kind, column) {
        (_, 2) if row % 7 == 0 => Value::Null,
        (Type::I32, _) => Value::Signed(row / 3_000 - 10),
        (Type::I64, 1) => Value::Signed(row % 3_000 - 5),
        (Type::I64, _) => Value::Signed(row % 11),
        (Type::U8 | Type::U64, _) => Value::Unsigned((row / 5 % 12) as u64),
        (Type::Bool, _) => Value::Bool(row % 2 == 0),
        (Type::F64, _) => {
            Value::Float([0.0, -0.0, 1.5, -2.0, f64::NAN, f64::INFINITY][row as usize % 6])
        }
        (Type::Timestamp, _) => Value::Timestamp((row / 6 - 5) * 1_000_000),
        _ => Value::Text(WORDS[row as usize % 5]),
    }
}

/// A context with tables, in several partitions on whatever machine.
pub fn over_lode(db: &Database) -> SessionContext {
    let context = context();
    register_tables(&context, db).expect("tables");
    context
}

/// A context with the same rows, and nothing of Lode.
pub fn over_memory(db: &Database) -> SessionContext {
    let context = context();
    for name in db.table_names() {
        let table = db.table(&name).expect("a table");
        let schema = arrow_schema(table.schema());
        let batches = Scan::of(&table).read().collect::<lode_arrow::Result<Vec<_>>>();
        let rows = MemTable::try_new(schema, vec![batches.expect("batches")]).expect("rows");
        context.register_table(name.as_str(), Arc::new(rows)).expect("a table");
    }
    context
}

fn context() -> SessionContext {
    SessionContext::new_with_config(SessionConfig::new().with_target_partitions(3))
}

/// A runtime with one thread for queries, and one for work that blocks.
pub fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).max_blocking_threads(1).build().expect("a runtime")
}

/// Returns the rows of a query.
pub fn answer(
    runtime: &Runtime,
    context: &SessionContext,
    query: &str,
) -> Result<Vec<RecordBatch>> {
    runtime.block_on(async { context.sql(query).await?.collect().await })
}

/// The rows that a query returns, as lines of words, in the order in which they come.
pub fn rows(runtime: &Runtime, context: &SessionContext, query: &str) -> Vec<String> {
    let batches = answer(runtime, context, query);
    let batches = batches.unwrap_or_else(|error| panic!("{query}: {error}"));
    let shown = pretty_format_batches(&batches).expect("values that can be shown").to_string();
    let lines = shown.lines().filter(|line| !line.starts_with('+')).skip(1);
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Returns the plan of a query, as `EXPLAIN` says it.
pub fn plan(runtime: &Runtime, context: &SessionContext, query: &str) -> String {
    let answer = answer(runtime, context, &format!("EXPLAIN {query}")).expect("a plan");
    pretty_format_batches(&answer).expect("words").to_string()
}
