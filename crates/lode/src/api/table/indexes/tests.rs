//! Faults between a table and its indexes, made behind the table's back.

mod walks;

use crate::api::Table;
use crate::index::Upsert;
use crate::table::{Secondary, Walk};
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
    let missing = "table t: a record with (10) has no entry in index by_group";
    assert_eq!(faults(&db)?, [missing]);
    assert!(entries.insert(&record(10, 8))?);
    let extra = "table t: index by_group has an entry (10) of no record";
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
            "table t: a record with (7) has no entry in index by_group",
            "table t: index by_group has an entry (7) of no record",
        ]
    );
    // What is not as it should be is no reason to refuse other records.
    assert!(table.upsert(&record(7, 1_000))?);
    let found = table.by("by_group")?.get(1_000)?.expect("it was written");
    assert_eq!(found.get("id"), Some(Value::Unsigned(7)));
    Ok(())
}

/// Returns a table in the order of its ids, with a number that no two records have in common.
fn numbers(db: &Database, count: u32) -> Result<Table> {
    let schema = Schema::build("n").key("id", Type::U32).column("number", Type::U32).finish()?;
    let table = db.create_table(&schema, KeyKind::Tree)?;
    table.insert_all((0..count).map(|id| number(id, !id)))?;
    Ok(table)
}

fn number(id: u32, number: u32) -> Vec<u8> {
    [id.to_le_bytes(), number.to_le_bytes()].concat()
}

/// Adds the entries of all records of the rest of a walk, and makes the index ready.
fn build_rest(table: &Table, secondary: &Secondary, walk: &mut Walk) -> Result<()> {
    let mut most_entries = usize::MAX;
    while let Some(keys) = table.next_keys(walk)? {
        table.add_entries(secondary, &keys, &mut most_entries, &mut Vec::new())?;
    }
    table.db.end_index(&table.core, secondary)
}

#[test]
fn an_index_that_is_given_up_takes_no_other_of_its_name_along() -> Result<()> {
    let db = Database::in_memory()?;
    let table = numbers(&db, 1_000)?;
    let index = IndexSchema::new("by_number", ["number"]).unique();
    let first = table.db.begin_index(&table.core, &index)?;
    table.drop_index("by_number")?;
    table.create_index(&index)?;
    let mut walk = table.core.index.walk();
    let gone = build_rest(&table, &first, &mut walk).expect_err("it was dropped");
    assert!(matches!(gone, Error::NoIndex { .. }), "{gone}");
    table.db.give_up_index(&table.core, &first);
    assert_eq!(table.indexes()?, [index]);
    let refused = table.insert(&number(1_000, !7));
    assert!(matches!(refused, Err(Error::UniqueViolation { .. })), "{refused:?}");
    assert_eq!(faults(&db)?, [""; 0]);
    Ok(())
}

#[test]
fn an_index_that_was_given_up_and_not_dropped_is_in_the_way_of_nothing() -> Result<()> {
    let db = Database::in_memory()?;
    let table = numbers(&db, 1_000)?;
    let index = IndexSchema::new("by_number", ["number"]).unique();
    let half = table.db.begin_index(&table.core, &index)?;
    let mut walk = table.core.index.walk();
    let mut most_entries = usize::MAX;
    let keys = table.next_keys(&mut walk)?.expect("there are records");
    table.add_entries(&half, &keys, &mut most_entries, &mut Vec::new())?;
    // As if it could not be dropped.
    half.of().give_up();
    table.db.begin_index(&table.core, &IndexSchema::new("other", ["id"]))?;
    assert!(table.insert(&number(1_000, !7))?);
    assert!(table.delete(1_000)?);
    table.create_index(&index)?;
    let seven = table.by("by_number")?.get(!7u32)?.expect("it was inserted");
    assert_eq!(seven.get("id"), Some(Value::Unsigned(7)));
    assert_eq!(faults(&db)?, [""; 0]);
    Ok(())
}

#[test]
fn a_table_that_is_cleared_gets_no_index_that_is_being_built() -> Result<()> {
    let db = Database::in_memory()?;
    let table = numbers(&db, 1_000)?;
    let ready = IndexSchema::new("ready", ["number"]);
    table.create_index(&ready)?;
    let index = IndexSchema::new("by_number", ["number"]);
    let half = table.db.begin_index(&table.core, &index)?;
    let cleared = db.clear_table("n")?;
    assert_eq!(cleared.indexes()?, [ready]);
    let mut walk = table.core.index.walk();
    let gone = build_rest(&table, &half, &mut walk).expect_err("its table is gone");
    assert!(matches!(gone, Error::NoTable { .. }), "{gone}");
    cleared.create_index(&index)?;
    assert_eq!(faults(&db)?, [""; 0]);
    Ok(())
}

/// The walk has noted leaves that are gone when it comes to them.
#[test]
fn leaves_may_go_while_an_index_is_built() -> Result<()> {
    let db = Database::in_memory()?;
    let table = numbers(&db, 20_000)?;
    let secondary =
        table.db.begin_index(&table.core, &IndexSchema::new("by_number", ["number"]))?;
    let mut walk = table.core.index.walk();
    let mut most_entries = usize::MAX;
    let mut last = 0;
    for _ in 0..3 {
        let keys = table.next_keys(&mut walk)?.expect("there are more leaves");
        table.add_entries(&secondary, &keys, &mut most_entries, &mut Vec::new())?;
        last = u32::from_be_bytes(keys[keys.len() - 1][..].try_into().expect("a key"));
    }
    for id in last + 1..10_000 {
        assert!(table.delete(id)?);
    }
    build_rest(&table, &secondary, &mut walk)?;
    assert_eq!(faults(&db)?, [""; 0]);
    assert_eq!(table.by("by_number")?.iter().count() as u64, table.len()?);
    Ok(())
}

#[test]
fn a_malformed_record_is_an_error_wherever_its_entries_are_wanted() -> Result<()> {
    let db = Database::in_memory()?;
    let schema = Schema::build("t").key("id", Type::U16).column("text", Type::VarText(20));
    let table = db.create_table(&schema.finish()?, KeyKind::Tree)?;
    let text = |text| table.schema().pack(&[Value::Unsigned(1), Value::Text(text)]);
    table.create_index(&IndexSchema::new("by_text", ["text"]))?;
    table.insert(&text("ada")?)?;
    let core = &*table.core;
    core.in_order(&[1, 0], |key| {
        // It ends beyond its end.
        core.write(&core.unlogged(table.db.pager()), key, Upsert(&[200, 0, 0, 0]))
    })?;
    let other = IndexSchema::new("other", ["text"]);
    for (what, answer) in [
        ("upsert", table.upsert(&text("bob")?).map(drop)),
        ("delete", table.delete(1).map(drop)),
        ("upsert_all", table.upsert_all([text("bob")?]).map(drop)),
        ("create_index", table.create_index(&other)),
        ("get", table.by("by_text")?.get("ada").map(drop)),
        ("in a transaction", db.transact(|within| within.delete(&table, 1).map(drop))),
    ] {
        assert!(matches!(answer, Err(Error::Corrupt { .. })), "{what}: {answer:?}");
    }
    assert_eq!(faults(&db)?.len(), 1);
    Ok(())
}

#[test]
fn an_error_within_an_index_names_its_table() -> Result<()> {
    let db = Database::in_memory()?;
    let (table, _) = indexed(&db, &IndexSchema::new("by_group", ["group"]).unique())?;
    let transaction = db.begin();
    assert!(transaction.insert(&table, &record(700, 700))?);
    table.insert(&record(701, 700))?;
    let conflict = transaction.commit().expect_err("the group is taken");
    assert_eq!(conflict, Error::Conflict { table: "t".into() });
    Ok(())
}

#[test]
fn records_that_are_refused_violate_nothing() -> Result<()> {
    let db = Database::in_memory()?;
    let (table, _) = indexed(&db, &IndexSchema::new("by_group", ["group"]).unique())?;
    let refused = [record(900, 3), record(5, 900), record(901, 4), record(901, 901)];
    assert_eq!(table.insert_all_new(&refused)?, Some(1));
    assert_eq!(table.len()?, 100);
    Ok(())
}
