//! Writes of single records that wait.

#![allow(clippy::unwrap_used)]

use std::thread;
use std::time::Duration;

use crate::io::simulated::Simulated;
use crate::{
    Database, Durability, Error, KeyKind, Options, ReadTable, Result, Schema, Table, Type,
    simulation,
};

fn database(kind: KeyKind) -> (Database, Table) {
    let options = Options::new().durability(Durability::Process);
    let db = simulation::open(&options, &Simulated::new(1), 1).unwrap();
    let schema = Schema::build("t").key("id", Type::U32).column("rest", Type::U32);
    let table = db.create_table(&schema.finish().unwrap(), kind).unwrap();
    table.insert(&[1; 8]).unwrap();
    (db, table)
}

/// Checks that a write which waits for a commit, and found the database healthy, is refused if the
/// commit fails.
#[test]
fn a_write_that_waits_for_a_commit_that_fails_half_way_is_refused() {
    let writes: [fn(&Table) -> Result<bool>; 4] = [
        |table| table.insert(&[2; 8]),
        |table| table.upsert(&[1, 1, 1, 1, 2, 2, 2, 2]),
        |table| table.update([1; 4], table.schema().column("rest")?, &[2; 4]),
        |table| table.delete([1; 4]),
    ];
    let each = writes
        .into_iter()
        .flat_map(|write| [KeyKind::Hash, KeyKind::Tree].map(|kind| (write, kind)));
    for (write, kind) in each {
        let (db, table) = database(kind);
        let gate = db.engine().gate();
        let store = db.engine().store().unwrap();
        thread::scope(|scope| {
            let alone = gate.close();
            let writer = scope.spawn(|| write(&table));
            // As a rule it waits by then. If not, it finds out at once.
            thread::sleep(Duration::from_millis(50));
            store.poison(&Error::corrupt("a commit", "it cannot be put back"));
            drop(alone);
            assert!(matches!(writer.join().unwrap(), Err(Error::Poisoned { .. })));
        });
        assert_eq!(table.get([1; 4]).unwrap().unwrap().into_bytes(), [1; 8]);
        assert!(!table.contains([2; 4]).unwrap());
    }
}
