//! Backups on disks that crash or fill up, of databases that change at the same time.

use lode::simulation::{self, Fault, FaultKind, Simulated};
use lode::{BackupProgress, Database, Durability, Error};

use crate::common::content::{Content, difference, options, read};
use crate::common::known::Known;
use crate::effort::effort;
use crate::reading::check;

const KINDS: [FaultKind; 4] =
    [FaultKind::ReadFails, FaultKind::WriteFails, FaultKind::SyncFails, FaultKind::NoSpace];

/// Pages of a first backup that are copied before they are made current.
const STAGE_PAGES: u64 = 4;

fn back_up(db: &Database, to: &Simulated) -> Result<BackupProgress, Error> {
    simulation::back_up(db, to, STAGE_PAGES, &mut |_| {})
}

/// Opens a copy of a backup, and returns its content.
fn content_of(backup: &Simulated) -> Result<Content, Error> {
    let disk = backup.fork();
    disk.set_capacity(None);
    let db = simulation::open(&options(Durability::Process), &disk, 99)?;
    check(&db).expect("whole");
    read(&db)
}

fn expect_content(backup: &Simulated, wanted: &Content, case: &str) {
    let found = content_of(backup).unwrap_or_else(|error| panic!("{case}: {error}"));
    assert!(found == *wanted, "{case}: {}", difference(&found, wanted));
}

/// Tables of all kinds, with more pages than one stage has.
fn filled() -> Known {
    let mut known = Known::small(31);
    for key in 0..effort("LODE_RECORDS", 120, 400) as u32 {
        known.put(1, key * 3, key);
    }
    known
}

/// Counts the operations of a backup on its disk.
fn operations_of(known: &Known, before: Option<&Simulated>) -> u64 {
    let disk = before.map_or_else(|| Simulated::new(5), Simulated::fork);
    let start = disk.operations();
    back_up(known.db(), &disk).expect("space");
    disk.operations() - start
}

#[test]
fn a_first_backup_that_crashes_anywhere_is_continued() {
    let known = filled();
    let total = operations_of(&known, None);
    let mut least_copied = u64::MAX;
    for at in 0..total {
        let disk = Simulated::new(at);
        disk.fail(Fault::Crash { at: disk.operations() + at });
        let crashed = back_up(known.db(), &disk);
        disk.crash(at);
        let case = format!("operation {at} of {total}");
        match content_of(&disk) {
            Ok(found) => assert!(crashed.is_ok() || found == known.content || found.is_empty()),
            Err(Error::UnfinishedBackup) => {}
            Err(error) => panic!("{case}: {error}"),
        }
        let again = back_up(known.db(), &disk).unwrap_or_else(|error| panic!("{case}: {error}"));
        least_copied = least_copied.min(again.copied_bytes);
        expect_content(&disk, &known.content, &case);
        assert_eq!(back_up(known.db(), &disk).map(|again| again.copied_bytes), Ok(0), "{case}");
    }
    assert_eq!(least_copied, 0, "what was copied before the crash is not copied again");
}

#[test]
fn a_later_backup_that_crashes_anywhere_leaves_the_one_before() {
    let mut known = filled();
    let first = Simulated::new(6);
    let whole = back_up(known.db(), &first).expect("space");
    let before = known.content.clone();
    for key in 0..30 {
        known.put(0, key * 7, key + 1_000);
        known.delete(1, key * 3);
    }
    let total = operations_of(&known, Some(&first));
    for at in 0..total {
        let disk = first.fork();
        disk.fail(Fault::Crash { at: disk.operations() + at });
        let crashed = back_up(known.db(), &disk);
        disk.crash(at);
        let case = format!("operation {at} of {total}");
        let found = content_of(&disk).unwrap_or_else(|error| panic!("{case}: {error}"));
        let is_new = found == known.content;
        assert!(is_new || found == before, "{case}: {}", difference(&found, &before));
        assert!(is_new || crashed.is_err(), "{case}: it has ended");
        let again = back_up(known.db(), &disk).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(again.copied_bytes < whole.copied_bytes, "{case}: {again:?}");
        expect_content(&disk, &known.content, &case);
    }
}

/// An operation of the disk fails once; the backup is finished, and then the power goes.
#[test]
fn a_backup_that_continues_after_an_error_survives_a_crash() {
    let known = filled();
    let total = operations_of(&known, None);
    for (at, kind) in (0..total).flat_map(|at| KINDS.map(|kind| (at, kind))) {
        let disk = Simulated::new(at);
        disk.fail(Fault::Error { at: disk.operations() + at, kind });
        let failed = back_up(known.db(), &disk);
        disk.heal();
        let case = format!("operation {at} of {total}, {kind:?}: {failed:?}");
        back_up(known.db(), &disk).unwrap_or_else(|error| panic!("{case}: {error}"));
        disk.crash(at);
        expect_content(&disk, &known.content, &case);
    }
}

/// Changes every page and writes checkpoints between all steps of a backup: it is of its moment.
#[test]
fn a_backup_is_of_its_moment_whatever_is_written_meanwhile() {
    let mut known = filled();
    let (disk, before) = (Simulated::new(7), known.content.clone());
    let mut steps = 0;
    let db = known.db().clone();
    let taken = simulation::back_up(&db, &disk, STAGE_PAGES, &mut |_| {
        steps += 1;
        // Enough changes to use up the free slots, so that the first ones come again.
        for round in 0..8 {
            for key in 0..40 {
                known.put(0, key * 7, key + steps + round);
                known.put(1, key * 3, key + steps + round);
            }
            known.checkpoint();
        }
    });
    taken.expect("space");
    assert!(steps > 0);
    expect_content(&disk, &before, "the first backup");
    check(&db).expect("whole");
    back_up(&db, &disk).expect("space");
    expect_content(&disk, &known.content, "the second backup");
    // Slots that were kept are free again.
    let used = db.statistics().data_used_bytes;
    db.checkpoint().expect("space");
    assert!(db.statistics().data_used_bytes <= used);
    check(&db).expect("whole");
}

#[test]
fn a_database_that_crashes_during_a_backup_has_no_slots_of_it_left() {
    let mut known = filled();
    let db = known.db().clone();
    let taken = simulation::back_up(&db, &Simulated::new(8), STAGE_PAGES, &mut |_| {
        for round in 7..9 {
            (0..40).for_each(|key| known.put(0, key * 7, key + round));
            known.checkpoint();
        }
        known.disk.fail(Fault::Crash { at: known.disk.operations() });
    });
    assert!(taken.is_err(), "{taken:?}");
    drop(db);
    let wanted = known.content.clone();
    known.kill();
    let db = simulation::open(&options(Durability::Commit), &known.disk, 9).expect("whole");
    check(&db).expect("whole");
    assert!(read(&db) == Ok(wanted));
}

#[test]
fn a_backup_without_space_leaves_the_one_before() {
    let mut known = filled();
    let disk = Simulated::new(10);
    back_up(known.db(), &disk).expect("space");
    let before = known.content.clone();
    (0..200).for_each(|key| known.put(0, 2_000 + key, key));
    disk.set_capacity(Some(disk.used_bytes() + 40_000));
    let refused = back_up(known.db(), &disk);
    assert!(matches!(refused, Err(Error::DiskFull { .. })), "{refused:?}");
    expect_content(&disk, &before, "after the refusal");
    disk.set_capacity(None);
    back_up(known.db(), &disk).expect("space");
    expect_content(&disk, &known.content, "with space");
}
