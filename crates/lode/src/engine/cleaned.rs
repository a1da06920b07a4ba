//! Tests of page cleaning.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::io::simulated::{Fault, Simulated};
use crate::{Database, Durability, Error, KeyKind, Options, Schema, Table, Type, simulation};

const RECORD_BYTES: usize = 2_000;

/// Records of almost twice as much as memory has room for.
const RECORDS: u32 = 1_500;

fn record(id: u32, value: u8) -> [u8; RECORD_BYTES] {
    let mut record = [value; RECORD_BYTES];
    record[..4].copy_from_slice(&id.to_le_bytes());
    record
}

/// Returns options with two mebibytes of memory, and a log for much more.
fn options() -> Options {
    Options::new().memory_bytes(2 << 20).log_bytes(64 << 20).durability(Durability::Process)
}

fn create(db: &Database, kind: KeyKind) -> Table {
    let schema = Schema::build("t").key("id", Type::U32);
    let schema = schema.column("rest", Type::Bytes(RECORD_BYTES as u32 - 4)).finish();
    db.create_table(&schema.expect("a schema"), kind).expect("space")
}

fn upsert_all(table: &Table, count: u32, value: u8) {
    for id in 0..count {
        table.upsert(&record(id, value)).expect("room");
    }
}

/// Checks that all records have a value, and that the database has no fault.
fn expect_all(db: &Database, count: u32, value: u8) {
    let table = db.table("t").expect("it is there");
    let mut payload = [0; RECORD_BYTES - 4];
    for id in 0..count {
        let there = table.get_exact(&id.to_le_bytes(), &mut payload).expect("it can be read");
        assert!(there && payload == record(id, value)[4..], "record {id}");
    }
    let report = db.check().expect("it can be read");
    assert!(report.is_sound(), "{report:?}");
}

fn data_bytes(disk: &Simulated) -> usize {
    disk.file_bytes("data").expect("it is there").len()
}

/// Writes four times what fits in memory without a checkpoint, and finds all of it after the end of
/// the process.
#[test]
fn what_is_larger_than_memory_needs_no_checkpoint() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let disk = Simulated::new(1);
        let db = simulation::open(&options(), &disk, 1).expect("an empty disk");
        let table = create(&db, kind);
        let generation = || db.engine().store().expect("a store").current().generation;
        let before = generation();
        upsert_all(&table, 4_000, 1);
        assert_eq!(generation(), before, "there was a checkpoint");
        assert!(data_bytes(&disk) > 6 << 20);
        expect_all(&db, 4_000, 1);
        disk.fail(Fault::Crash { at: disk.operations() });
        drop((table, db));
        disk.heal();
        let db = simulation::open(&options(), &disk, 2).expect("its log is replayed");
        expect_all(&db, 4_000, 1);
        db.close().expect("nothing is wrong with the disk");
    }
}

/// Cleans pages again and again, which leaves slots that the last checkpoint needs. The next one
/// comes in time to give them back.
#[test]
fn cleaning_takes_a_bounded_part_of_the_file() {
    let disk = Simulated::new(2);
    let db = simulation::open(&options().log_bytes(1 << 30), &disk, 2).expect("an empty disk");
    let table = create(&db, KeyKind::Tree);
    upsert_all(&table, 3 * RECORDS, 0);
    db.checkpoint().expect("space");
    let used_bytes = db.statistics().data_used_bytes as usize;
    (1..9).for_each(|value| upsert_all(&table, 3 * RECORDS, value));
    let size_bytes = data_bytes(&disk);
    // A quarter left by cleaned pages, the space ahead of need, and the space for a checkpoint.
    let most_bytes = used_bytes / 4 * 5 + (4 << 20) + (3 << 20);
    assert!(size_bytes < most_bytes, "{size_bytes} bytes, {used_bytes} used");
    expect_all(&db, 3 * RECORDS, 8);
}

/// Checks that a page that was freed, and taken again by another table, is not lost with its old
/// content.
#[test]
fn a_page_that_was_freed_and_taken_again_stays() {
    for is_cleaned_before in [false, true] {
        let disk = Simulated::new(3);
        let db = simulation::open(&options(), &disk, 3).expect("an empty disk");
        upsert_all(&create(&db, KeyKind::Tree), 300, 1);
        if is_cleaned_before {
            simulation::clean_pages(&db, 1_000).expect("space");
        }
        db.drop_table("t").expect("it is there");
        upsert_all(&create(&db, KeyKind::Tree), 300, 2);
        simulation::clean_pages(&db, 1_000).expect("space");
        assert_eq!(db.statistics().changed_bytes, 0);
        db.checkpoint().expect("space");
        disk.fail(Fault::Crash { at: disk.operations() });
        drop(db);
        disk.crash(0);
        let db = simulation::open(&options(), &disk, 4).expect("it is whole");
        expect_all(&db, 300, 2);
    }
}

/// Checks that on a full disk a checkpoint gives back the slots that cleaned pages have left.
#[test]
fn a_full_disk_has_room_for_changes_of_what_is_there() {
    let disk = Simulated::new(4);
    let options = options().durability(Durability::None);
    let db = simulation::open(&options, &disk, 4).expect("an empty disk");
    let table = create(&db, KeyKind::Tree);
    (0..3).for_each(|value| upsert_all(&table, RECORDS, value));
    db.checkpoint().expect("space");
    disk.set_capacity(Some(disk.used_bytes()));
    (3..9).for_each(|value| upsert_all(&table, RECORDS, value));
    expect_all(&db, RECORDS, 8);
}

/// Checks that an operation or a commit that finds no space finds none after a checkpoint either.
#[test]
fn no_space_is_refused_that_a_checkpoint_gives() {
    let upsert_some = |db: &Database, table: &Table, (from, count): (u32, u32), value| {
        let transaction = db.begin();
        for id in from..from + count {
            transaction.upsert(table, &record(id % RECORDS, value)).expect("few enough");
        }
        transaction.commit()
    };
    // Two thirds as many slots besides those of the records as memory has pages, and more.
    for slots in (60..260).step_by(20) {
        let disk = Simulated::new(6);
        let options = options().durability(Durability::None);
        let db = simulation::open(&options, &disk, 6).expect("an empty disk");
        let table = create(&db, KeyKind::Tree);
        upsert_all(&table, RECORDS, 0);
        db.compact().expect("space");
        disk.set_capacity(Some(disk.used_bytes() + (slots << 14)));
        for round in 0..60 {
            let from = round * 331;
            let value = round as u8;
            for id in (0..80).map(|at| (from + at * 17) % RECORDS) {
                if let Err(Error::DiskFull { .. }) = table.upsert(&record(id, value)) {
                    db.checkpoint().expect("there is space for that");
                    let again = table.upsert(&record(id, value));
                    assert!(matches!(again, Err(Error::DiskFull { .. })), "{slots} slots");
                }
            }
            if let Err(Error::DiskFull { .. }) = upsert_some(&db, &table, (from, 40), value) {
                db.checkpoint().expect("there is space for that");
                let again = upsert_some(&db, &table, (from, 40), value);
                assert!(matches!(again, Err(Error::DiskFull { .. })), "{slots} slots");
            }
        }
    }
}

/// Checks that pages that a commit changes are not cleaned before its end: it would have room here,
/// and none when the log is replayed.
#[test]
fn a_commit_has_no_more_room_than_when_it_is_replayed() {
    for (kind, count) in [(KeyKind::Tree, 150), (KeyKind::Tree, 1_000), (KeyKind::Hash, 1_000)] {
        let disk = Simulated::new(5);
        let db = simulation::open(&options(), &disk, 5).expect("an empty disk");
        let table = create(&db, kind);
        let transaction = db.begin();
        // Inserts until the transaction is full.
        let insert = |id: &u32| transaction.insert(&table, &record(*id, 1)).is_ok();
        let count = (0..count).take_while(insert).count() as u32;
        assert!(count > 100);
        let is_done = AtomicBool::new(false);
        let committed = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    simulation::clean_pages(&db, 30).expect("space");
                }
            });
            let committed = transaction.commit();
            is_done.store(true, Ordering::Relaxed);
            committed
        });
        assert!(matches!(committed, Ok(()) | Err(Error::Full { .. })), "{committed:?}");
        disk.fail(Fault::Crash { at: disk.operations() });
        drop((table, db));
        disk.heal();
        let db = simulation::open(&options(), &disk, 6).expect("the log is replayed");
        expect_all(&db, if committed.is_ok() { count } else { 0 }, 1);
    }
}
