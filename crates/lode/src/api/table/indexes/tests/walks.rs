//! Walks over the records of a table that is indexed, while reading its pages fails.

use std::collections::BTreeSet;

use crate::io::simulated::{Fault, FaultKind, Simulated};
use crate::{
    Database, Durability, Error, KeyKind, Options, Result, Schema, Type, Value, simulation,
};

/// Records: enough for several pages of an index and of a heap.
const RECORDS: usize = 2_000;

/// Creates a table with a heap on a disk, and closes it: then none of its pages is in memory.
fn fill(options: &Options, disk: &Simulated, kind: KeyKind, key: Type) -> Result<()> {
    let db = simulation::open(options, disk, 1)?;
    let schema = Schema::build("t").key("id", key).column("text", Type::VarText(300)).finish()?;
    let table = db.create_table(&schema, kind)?;
    let text = "heap ".repeat(50);
    for id in 0..RECORDS {
        let name = format!("name {id}");
        let id = if key == Type::U64 { Value::Unsigned(id as u64) } else { Value::Text(&name) };
        table.insert(&schema.pack(&[id, Value::Text(&text)])?)?;
    }
    drop(table);
    db.close()
}

/// Walks over all records, while the disk does not read each piece at first. Returns their keys,
/// and the number of failures.
fn walk(db: &Database, disk: &Simulated) -> Result<(BTreeSet<Vec<u8>>, usize)> {
    let table = db.table("t")?;
    let mut walk = table.core.index.walk();
    let mut found = BTreeSet::new();
    let mut failures = 0;
    let mut since = 0;
    loop {
        // What was read before a failure is in memory, so the next attempt comes further.
        disk.fail(Fault::Error { at: disk.operations() + since, kind: FaultKind::ReadFails });
        let keys = table.next_keys(&mut walk);
        disk.heal();
        match keys {
            Ok(None) => return Ok((found, failures)),
            Ok(Some(keys)) => {
                found.extend(keys);
                since = 0;
            }
            Err(Error::Io { .. }) => {
                failures += 1;
                since += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// A page of the index is read, and then one of the heap is not.
#[test]
fn a_walk_that_fails_comes_to_all_records_of_its_page_again() -> Result<()> {
    let layouts = [KeyKind::Hash, KeyKind::Tree].map(|kind| (kind, Type::U64));
    for (kind, key) in layouts.into_iter().chain([(KeyKind::Hash, Type::VarText(40))]) {
        let disk = Simulated::new(1);
        let options = Options::new().durability(Durability::Process);
        fill(&options, &disk, kind, key)?;
        let db = simulation::open(&options, &disk, 2)?;
        let (found, failures) = walk(&db, &disk)?;
        assert_eq!(found.len(), RECORDS, "{kind:?}, {key:?}");
        assert!(failures > 5, "{kind:?}, {key:?}: {failures} failures");
    }
    Ok(())
}
