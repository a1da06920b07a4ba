//! Syncs that fail.

use std::sync::atomic::{AtomicU64, Ordering};

use lode::simulation::{self, Fault, FaultKind};
use lode::{Durability, Error};

use super::common::content::{difference, options, read};
use super::common::known::Known;
use super::common::on_all::on_all;
use super::common::tables::record;

#[test]
fn a_failed_sync_ends_writing_but_not_reading() {
    for mapping in [false, true] {
        let mut known = Known::small(13);
        known.disk.set_mapping(mapping);
        let table = known.db().table("shrub").expect("a table");
        known.disk.fail(Fault::Error { at: known.disk.operations(), kind: FaultKind::SyncFails });
        let poisoned = |result: Result<(), Error>| {
            assert!(matches!(result, Err(Error::Poisoned { .. })), "{result:?}");
        };
        poisoned(table.upsert(&record(3, 1, 1)).map(drop));
        let mut also = known.content.clone();
        also.get_mut(&3).expect("a table").insert(1, 1);
        for _ in 0..2 {
            poisoned(table.insert(&record(3, 2, 2)).map(drop));
            poisoned(table.upsert(&record(3, 2, 2)).map(drop));
            poisoned(table.update(&0u32.to_le_bytes(), 1, &[0; 4]).map(drop));
            poisoned(table.delete(&0u32.to_le_bytes()).map(drop));
            let mut transaction = known.db().begin();
            transaction.upsert(&table, &record(3, 2, 2)).expect("it is not written yet");
            poisoned(transaction.commit());
            poisoned(known.db().drop_table("late"));
            poisoned(known.db().flush());
            poisoned(known.db().checkpoint());
            poisoned(known.db().compact());
            poisoned(simulation::look_after(known.db()));
        }
        let found = read(known.db()).expect("reading goes on");
        assert!(found == known.content || found == also, "{}", difference(&found, &also));
        known.db().check().expect("nothing is wrong with it");
        poisoned(known.db.take().expect("it is open").close());
        for seed in 0..20 {
            let fork = known.disk.clone();
            fork.crash(seed);
            let db = simulation::open(&options(Durability::Commit), &fork, seed);
            let db = db.expect("what is durable is there");
            let found = read(&db).expect("nothing is wrong with the disk");
            assert!(found == known.content || found == also, "{}", difference(&found, &also));
            also.clone_from(&found);
            known.content = found;
            db.table("shrub").and_then(|t| t.upsert(&record(3, 5, 5))).expect("it takes writes");
            also.get_mut(&3).expect("a table").insert(5, 5);
            known.content.get_mut(&3).expect("a table").insert(5, 5);
        }
    }
}

/// What a failed sync has lost is still in the operating system's memory, where the next one to open
/// the database finds it. (Rule 14 of `DESIGN.md`: he writes the superblock again before he uses a
/// place or removes a part of the log that the one on the disk needs.)
#[test]
fn a_failed_sync_and_a_crash_in_the_next_life_lose_nothing() {
    /// More than opening and some writing take.
    const MOST_OPERATIONS: u64 = 60;
    let mut cases = Vec::new();
    for (at, crash) in (0..16).flat_map(|at| (0..MOST_OPERATIONS).map(move |crash| (at, crash))) {
        cases.extend((0..4).map(|seed| (at, crash, seed)));
    }
    let failed = AtomicU64::new(0);
    on_all(&cases, |(at, crash, seed)| {
        let mut known = Known::small(17);
        let sync = known.disk.operations() + at * 3;
        known.disk.fail(Fault::Error { at: sync, kind: FaultKind::SyncFails });
        if known.db().checkpoint().is_ok() {
            return Ok(());
        }
        failed.fetch_add(1, Ordering::Relaxed);
        // Only the process ends.
        known.disk.fail(Fault::Crash { at: known.disk.operations() });
        known.db = None;
        known.disk.heal();
        // The power goes off in its next life.
        known.disk.fail(Fault::Crash { at: known.disk.operations() + crash });
        let options = options(Durability::Commit);
        let opened = simulation::open(&options, &known.disk, 6);
        if let Ok(db) = &opened {
            let _ = db.checkpoint();
        }
        drop(opened);
        known.disk.crash(*seed);
        let read = simulation::open(&options, &known.disk, 7).and_then(|db| read(&db));
        match read {
            Ok(found) if found == known.content => Ok(()),
            Ok(found) => Err(difference(&found, &known.content)),
            Err(error) => Err(error.to_string()),
        }
        .map_err(|why| format!("sync {at}, crash {crash}, seed {seed}: {why}"))
    });
    assert!(failed.into_inner() > 100, "too few syncs failed");
}
