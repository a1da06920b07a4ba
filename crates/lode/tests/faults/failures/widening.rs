//! Disks that refuse to work while the log gets more lanes.

use std::collections::BTreeMap;

use lode::simulation::{self, Fault, FaultKind, Simulated};
use lode::{Database, Durability, Error};

use crate::common::content::{Content, options, read};
use crate::common::tables::{TABLES, record, schema};
use crate::reading::check;

/// The table of short records in buckets.
const SHORT: usize = 2;

/// Puts a record into a lane, and into the content unless the disk has failed.
fn put(db: &Database, content: &mut Content, key: u32) -> Result<(), Error> {
    simulation::choose_lane(key as usize % 3);
    db.table(TABLES[SHORT].0)?.upsert(&record(SHORT, key, key))?;
    content.get_mut(&SHORT).expect("a table").insert(key, key);
    Ok(())
}

/// Gives the log three lanes while one operation of the disk fails; it gets them later, and loses
/// nothing. Returns whether an operation failed, and whether the log could be written after it.
fn widen(at: u64, kind: FaultKind, checkpoints: bool) -> (bool, bool) {
    let case = format!("{kind:?} at operation {at} of widening, {checkpoints}");
    let disk = Simulated::new(at);
    let options = options(Durability::Process);
    let db = simulation::open(&options, &disk, at).expect("an empty disk");
    db.create_table(&schema(SHORT), TABLES[SHORT].1).expect("a new table");
    let mut content = Content::from([(SHORT, BTreeMap::new())]);
    (0..10).for_each(|key| put(&db, &mut content, key).expect("space"));

    disk.fail(Fault::Error { at: disk.operations() + at, kind });
    let failed = simulation::widen_log(&db, 3);
    disk.heal();
    let is_poisoned = matches!(failed, Err(Error::Poisoned { .. }));
    if !is_poisoned {
        (10..30).for_each(|key| put(&db, &mut content, key).expect("space"));
        if checkpoints {
            db.checkpoint().unwrap_or_else(|why| panic!("{case}: {why}"));
        }
        simulation::widen_log(&db, 3).unwrap_or_else(|why| panic!("{case}: {why}"));
        (30..60).for_each(|key| put(&db, &mut content, key).expect("space"));
        check(&db).unwrap_or_else(|why| panic!("{case}: {why}"));
    }
    assert_eq!(read(&db).as_ref(), Ok(&content), "{case}");
    disk.fail(Fault::Crash { at: disk.operations() });
    drop(db);
    disk.heal();
    let db = simulation::open(&options, &disk, at).expect("nothing is wrong with the disk");
    assert_eq!(read(&db).as_ref(), Ok(&content), "{case}: after a crash");
    check(&db).unwrap_or_else(|why| panic!("{case}: after a crash: {why}"));
    (failed.is_err(), !is_poisoned)
}

#[test]
fn a_log_that_could_not_get_lanes_gets_them_later() {
    let kinds = [FaultKind::WriteFails, FaultKind::NoSpace, FaultKind::SyncFails];
    for (kind, checkpoints) in kinds.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let seen = (0..).map(|at| widen(at, kind, checkpoints));
        let seen: Vec<_> = seen.take_while(|(has_failed, _)| *has_failed).collect();
        assert!(seen.len() > 3, "{kind:?}: {seen:?}");
        let go_on = seen.iter().filter(|(_, goes_on)| *goes_on).count();
        let expected = if kind == FaultKind::SyncFails { 0 } else { seen.len() };
        assert_eq!(go_on, expected, "{kind:?}: a failed sync is final, and nothing else");
    }
}
