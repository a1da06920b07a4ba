//! Faults between a table and its indexes, made behind the table's back.

use crate::api::Table;
use crate::{Database, Error, IndexSchema, KeyKind, ReadTable, Result, Schema, Type, Value};

/// Returns a table with an index over a column, and the entries of the index as a table.
fn indexed(db: &Database, index: &IndexSchema) -> Result<(Table, Table)> {
    let schema = Schema::build("t").key("id", Type::U16).column("group", Type::U16).finish()?;
    let table = db.create_table(&schema, KeyKind::Hash)?;
    for id in 0..100 {
        table.insert(&record(id, id / 2 * u16::from(!index.is_unique()) + id))?;
    }
    table.create_index(index)?;
    let secondaries = table.core().secondaries();
    let secondary = secondaries.find(index.name()).expect("it was created");
    let entries = Table::new(table.database().clone(), secondary.core().clone());
    assert!(db.check()?.is_sound());
    Ok((table, entries))
}

fn record(id: u16, group: u16) -> Vec<u8> {
    [id.to_le_bytes(), group.to_le_bytes()].concat()
}

fn faults(db: &Database) -> Result<Vec<String>> {
    Ok(db.check()?.faults.iter().map(ToString::to_string).collect())
}

#[test]
fn check_finds_a_record_without_entry_and_an_entry_without_record() -> Result<()> {
    let db = Database::in_memory()?;
    let (table, entries) = indexed(&db, &IndexSchema::new("by_group", ["group"]))?;
    let group = table.get(7)?.and_then(|row| row.get("group").map(|value| format!("{value:?}")));
    assert_eq!(group.as_deref(), Some("Unsigned(10)"));
    assert!(entries.delete((10, 7))?);
    let missing = "table t: a record with (Unsigned(10)) has no entry in index by_group";
    assert_eq!(faults(&db)?, [missing]);
    assert!(entries.insert(&record(10, 8))?);
    let extra = "table t: index by_group has an entry (Unsigned(10)) of no record";
    assert_eq!(faults(&db)?, [missing, extra]);
    // A lookup that comes to such an entry finds a record that is none of the index's.
    assert!(entries.delete((10, 8))?);
    assert!(entries.insert(&record(10, 700))?);
    let lost = table.by("by_group")?.get(10).expect_err("there is no record 700");
    assert!(matches!(lost, Error::Corrupt { .. }), "{lost}");
    table.drop_index("by_group")?;
    table.create_index(&IndexSchema::new("by_group", ["group"]))?;
    assert_eq!(faults(&db)?, [""; 0]);
    Ok(())
}

#[test]
fn check_finds_an_entry_of_a_unique_index_that_leads_elsewhere() -> Result<()> {
    let db = Database::in_memory()?;
    let (table, entries) = indexed(&db, &IndexSchema::new("by_group", ["group"]).unique())?;
    assert!(entries.upsert(&record(7, 8))?);
    assert_eq!(
        faults(&db)?,
        [
            "table t: a record with (Unsigned(7)) has no entry in index by_group",
            "table t: index by_group has an entry (Unsigned(7)) of no record",
        ]
    );
    // What is not as it should be is no reason to refuse other records.
    assert!(table.upsert(&record(7, 1_000))?);
    let found = table.by("by_group")?.get(1_000)?.expect("it was written");
    assert_eq!(found.get("id"), Some(Value::Unsigned(7)));
    Ok(())
}
