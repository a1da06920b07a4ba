//! Syncs that fail.

use crate::reading::{check, nth};
use lode::simulation::{self, Fault, FaultKind, Mapping};
use lode::{Durability, Error};

use crate::common::content::{difference, options, read};
use crate::common::known::Known;
use crate::common::on_all::on_all;
use crate::common::tables::{TABLES, record};

#[test]
fn a_failed_sync_ends_writing_but_not_reading() {
    for mapping in Mapping::ALL {
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
            poisoned(table.update(0u32.to_le_bytes(), nth(1), &[0; 4]).map(drop));
            poisoned(table.delete(0u32.to_le_bytes()).map(drop));
            let transaction = known.db().begin();
            transaction.upsert(&table, &record(3, 2, 2)).expect("it is not written yet");
            poisoned(transaction.commit());
            poisoned(known.db().drop_table("late"));
            poisoned(known.db().flush());
            poisoned(known.db().checkpoint());
            poisoned(known.db().compact().map(drop));
            poisoned(simulation::look_after(known.db()));
        }
        let found = read(known.db()).expect("reading goes on");
        assert!(found == known.content || found == also, "{}", difference(&found, &also));
        check(known.db()).expect("nothing is wrong with it");
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

/// A database that tries to make a checkpoint while a sync fails, from this operation of it on, and
/// whose process ends then; nothing if none failed.
fn after_a_failed_sync(at: u64) -> Option<(Known, u64)> {
    let mut known = Known::small(17);
    let start = known.disk.operations();
    known.disk.fail(Fault::Error { at: start + at, kind: FaultKind::SyncFails });
    known.db().checkpoint().err()?;
    let now = known.disk.operations();
    known.disk.fail(Fault::Crash { at: now });
    known.db = None;
    known.disk.heal();
    Some((known, now - start))
}

/// Bytes that a failed sync has lost are still in the operating system's memory. The next one to
/// open the database finds them. (`DESIGN.md`, Opening: it writes the superblock again before it
/// uses a place that the one on the disk needs.)
#[test]
fn a_failed_sync_and_a_crash_in_the_next_life_lose_nothing() {
    let next = |at: &u64| after_a_failed_sync(*at).map(|(_, end)| end);
    let syncs: Vec<u64> = std::iter::successors(Some(0), next).collect();
    let (_, syncs) = syncs.split_last().expect("there is one");
    assert!(syncs.len() >= 2, "the pages, and the superblock: {syncs:?}");
    // The next life, until the power goes off; whether it was all over before.
    let live = |known: &Known, crash: u64| -> bool {
        let end = known.disk.operations() + crash;
        known.disk.fail(Fault::Crash { at: end });
        let opened = simulation::open(&options(Durability::Commit), &known.disk, 6);
        if let Ok(db) = &opened {
            for (at, (name, ..)) in TABLES[..4].iter().enumerate() {
                // The same content once more, so that the page changes.
                let (key, value) = known.content[&at].first_key_value().expect("a record");
                let table = db.table(name);
                let _ = table.and_then(|table| table.upsert(&record(at, *key, *value)));
            }
            let _ = db.checkpoint();
        }
        known.disk.operations() < end
    };
    let cases = |sync: &u64| {
        let at = *sync;
        let is_over = |crash: &u64| live(&after_a_failed_sync(at).expect("it fails").0, *crash);
        let all = (1..).find(|tens| is_over(&(tens * 10))).expect("it ends") * 10;
        (0..all).flat_map(move |crash| (0..16).map(move |seed| (at, crash, seed)))
    };
    let cases: Vec<_> = syncs.iter().flat_map(cases).collect();
    on_all(&cases, |(at, crash, seed)| {
        let (known, _) = after_a_failed_sync(*at).expect("it fails");
        live(&known, *crash);
        known.disk.crash(*seed);
        let opened = simulation::open(&options(Durability::Commit), &known.disk, 7);
        match opened.and_then(|db| read(&db)) {
            Ok(found) if found == known.content => Ok(()),
            Ok(found) => Err(difference(&found, &known.content)),
            Err(error) => Err(error.to_string()),
        }
        .map_err(|why| format!("sync {at}, crash {crash}, seed {seed}: {why}"))
    });
}
