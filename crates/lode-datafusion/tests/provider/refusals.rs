//! Checks refusals and faults: one line each, which says what to do.

use lode::ReadTable;

use crate::support::{answer, database, over_lode, rows, runtime};

#[test]
fn writing_is_refused() {
    let db = database();
    let runtime = runtime();
    let context = over_lode(&db);
    let before = rows(&runtime, &context, "SELECT * FROM item ORDER BY id");
    for (statement, wanted) in [
        ("INSERT INTO item VALUES (999, 'a', 1)", "INSERT into table item: DataFusion only reads"),
        ("UPDATE item SET seconds = 1 WHERE id = 1", "UPDATE of table item: DataFusion only reads"),
        ("DELETE FROM item WHERE id = 1", "DELETE from table item: DataFusion only reads"),
        ("TRUNCATE TABLE item", "TRUNCATE of table item: DataFusion only reads"),
    ] {
        let refused = answer(&runtime, &context, statement).expect_err(statement);
        // DataFusion names the operation in lines of its own.
        let refused = refused.find_root().to_string();
        assert!(refused.contains(wanted), "{refused}");
        assert!(refused.contains("write with `lode sql`"), "{refused}");
        assert_eq!(refused.lines().count(), 1, "{refused}");
    }
    assert_eq!(rows(&runtime, &context, "SELECT * FROM item ORDER BY id"), before);
}

#[test]
fn tables_of_a_schema_are_neither_created_nor_dropped() {
    let db = database();
    let runtime = runtime();
    let context = over_lode(&db);
    let schema = std::sync::Arc::new(lode_datafusion::LodeSchema::new(db.clone()));
    let catalog = context.catalog("datafusion").expect("a catalog");
    catalog.register_schema("stored", schema).expect("there is room");
    let create = answer(&runtime, &context, "CREATE TABLE stored.copy AS SELECT 1 AS one");
    let drop = context.deregister_table("stored.item");
    for (refused, wanted) in [
        (create.err(), "CREATE of copy: DataFusion only reads"),
        (drop.err(), "DROP of item: DataFusion only reads"),
    ] {
        let refused = refused.expect("it is refused").to_string();
        assert!(refused.contains(wanted), "{refused}");
        assert_eq!(refused.lines().count(), 1, "{refused}");
    }
    // DataFusion says so, whatever the reason.
    let drop = answer(&runtime, &context, "DROP TABLE stored.item").expect_err("it is refused");
    assert_eq!(drop.to_string(), "Execution error: Table 'stored.item' doesn't exist.");
    assert!(db.table("item").is_ok_and(|items| items.len().is_ok()));
}

#[test]
fn a_table_that_was_dropped_is_an_error() {
    let db = database();
    let runtime = runtime();
    let context = over_lode(&db);
    db.drop_table("item").expect("it is there");
    let refused = answer(&runtime, &context, "SELECT * FROM item").expect_err("it was dropped");
    let shown = refused.to_string();
    assert!(shown.contains("item") && shown.lines().count() == 1, "{shown}");
}
