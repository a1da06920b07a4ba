//! Checks the moment at which rows are read.

use std::sync::Arc;

use datafusion::prelude::SessionContext;
use lode::{Database, Value};
use lode_datafusion::{LodeSchema, LodeTable};

use crate::support::{CALLS, database, over_lode, rows, runtime};

fn insert(db: &Database, caller: i64) {
    let calls = db.table("call").expect("a table");
    let values = [Value::Signed(caller), Value::Signed(0), Value::Null];
    let record = calls.schema().pack(&values).expect("it fits");
    assert!(calls.insert(&record).expect("there is room"));
}

#[test]
fn a_query_finds_what_was_there_when_it_was_planned() {
    let db = database();
    let runtime = runtime();
    let context = over_lode(&db);
    let planned = runtime.block_on(async {
        context.sql("SELECT caller FROM call").await?.create_physical_plan().await
    });
    let planned = planned.expect("a plan");
    insert(&db, 1_000);
    let batches = runtime.block_on(datafusion::physical_plan::collect(planned, context.task_ctx()));
    let found: usize = batches.expect("rows").iter().map(|batch| batch.num_rows()).sum();
    assert_eq!(found, CALLS as usize);
    let now = rows(&runtime, &context, "SELECT count(*) FROM call");
    assert_eq!(now, [format!("| {} |", CALLS + 1)]);
}

#[test]
fn a_schema_has_the_tables_that_are_there_and_one_of_a_snapshot_their_rows() {
    let db = database();
    let runtime = runtime();
    let context = over_lode(&db);
    let catalog = context.catalog("datafusion").expect("a catalog");
    let add = |name: &str, schema| catalog.register_schema(name, Arc::new(schema)).expect("room");
    add("now", LodeSchema::new(db.clone()));
    add("kept", LodeSchema::new(db.clone()).at(db.snapshot()));
    insert(&db, 1_000);
    for (schema, count) in [("now", CALLS + 1), ("kept", CALLS)] {
        let found = rows(&runtime, &context, &format!("SELECT count(*) FROM {schema}.call"));
        assert_eq!(found, [format!("| {count} |")], "{schema}");
    }

    let schema = db.table("item").expect("a table").schema().clone();
    db.drop_table("item").expect("it is there");
    let gone = crate::support::answer(&runtime, &context, "SELECT * FROM now.item");
    let gone = gone.expect_err("it was dropped").to_string();
    assert!(gone.contains("table 'datafusion.now.item' not found"), "{gone}");
    db.create_table(&schema, lode::KeyKind::Tree).expect("a table");
    assert_eq!(rows(&runtime, &context, "SELECT count(*) FROM now.item"), ["| 0 |"]);
}

#[test]
fn a_table_at_a_snapshot_is_read_after_it_was_dropped() {
    let db = database();
    let runtime = runtime();
    let kept = LodeTable::new(&db, "call").expect("a table").at(db.snapshot());
    db.drop_table("call").expect("it is there");
    let context = SessionContext::new();
    context.register_table("kept", Arc::new(kept)).expect("room");
    let found = rows(&runtime, &context, "SELECT count(*) FROM kept");
    assert_eq!(found, [format!("| {CALLS} |")]);
}
