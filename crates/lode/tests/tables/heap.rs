//! Checks earlier faults of the heap, and its promises about pages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::reading::{check, nth};
use crate::watched::watched;
use lode::simulation;
use lode::{
    Cursor, Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Table, Type, Value,
};

const PAGE_BYTES: u64 = 16 << 10;

fn create(db: &Database, kind: KeyKind) -> Table {
    let schema = Schema::build("t").key("id", Type::U32).column("data", Type::VarBytes(1 << 20));
    db.create_table(&schema.finish().expect("a schema"), kind).expect("room")
}

/// All bytes are those of its number.
fn record(table: &Table, id: u32, size: usize) -> Vec<u8> {
    let data = vec![id as u8; size];
    table.schema().pack(&[Value::Unsigned(id.into()), Value::Bytes(&data)]).expect("it fits")
}

fn size_of(table: &Table, id: u32) -> Option<usize> {
    let found = table.get(id.to_le_bytes()).map(|row| {
        row.map(|row| {
            let Value::Bytes(data) = row.at(nth(1)) else { panic!("bytes") };
            assert!(data.iter().all(|byte| *byte == id as u8));
            data.len()
        })
    });
    found.expect("a table")
}

fn pages(db: &Database) -> u64 {
    db.statistics().page_bytes / PAGE_BYTES
}

/// Records are put back where they were, so it does not matter in which order they fit into pages.
#[test]
fn a_commit_without_room_leaves_all_records_in_full_memory() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Options::new().memory_bytes(64 * PAGE_BYTES).in_memory().expect("memory");
        let table = create(&db, kind);
        let sizes = [4_070, 4_070, 4_070, 3_190, 4_070, 3_190, 3_190, 3_190, 3_190];
        for wanted in [4_070, 3_190] {
            for (id, size) in (0..).zip(sizes).filter(|(_, size)| *size == wanted) {
                assert_eq!(table.insert(&record(&table, id, size)), Ok(true));
            }
        }
        for id in 100.. {
            if table.insert(&record(&table, id, 16_000)).is_err() {
                break;
            }
        }
        let transaction = db.begin();
        for id in 0..sizes.len() as u32 {
            assert_eq!(transaction.delete(&table, id.to_le_bytes()), Ok(true));
        }
        for id in 1_000..1_010 {
            assert_eq!(transaction.insert(&table, &record(&table, id, 16_000)), Ok(true));
        }
        assert!(matches!(transaction.commit(), Err(Error::Full { .. })));
        for (id, size) in (0..).zip(sizes) {
            assert_eq!(size_of(&table, id), Some(size));
        }
        assert_eq!(size_of(&table, 1_000), None);
        check(&db).expect("nothing is wrong");
    }
}

/// Refuses a record without room at the statement; nothing of it happens.
#[test]
fn a_commit_without_room_leaves_all_records_in_a_directory() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let directory = tempfile::tempdir().expect("a directory");
        let options = Options::new().memory_bytes(512 * PAGE_BYTES);
        let db = options.open(directory.path()).expect("a new database");
        let table = create(&db, kind);
        for id in 0..12 {
            assert_eq!(table.insert(&record(&table, id, 1_000_000)), Ok(true));
        }
        db.checkpoint().expect("the disk has space");
        let transaction = db.begin();
        assert_eq!(transaction.delete(&table, 0u32.to_le_bytes()), Ok(true));
        assert_eq!(transaction.insert(&table, &record(&table, 100, 1_000_000)), Ok(true));
        // A third of the pages, but for those that are always left to others.
        let most_bytes = (512 - 24) / 3 * PAGE_BYTES as usize;
        let refused = transaction.insert(&table, &record(&table, 101, 1_000_000));
        assert_eq!(refused, Err(Error::TxnTooLarge { most_bytes }));
        drop(transaction);
        (0..12).for_each(|id| assert_eq!(size_of(&table, id), Some(1_000_000)));
        assert_eq!(size_of(&table, 100), None);
        check(&db).expect("nothing is wrong");
        // It is not read-only.
        assert_eq!(table.insert(&record(&table, 100, 10)), Ok(true));
    }
}

/// Their pieces cannot all be in memory at the same time.
#[test]
fn long_records_in_little_memory_are_read_and_deleted() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let directory = tempfile::tempdir().expect("a directory");
        let size = (1 << 20) - 100;
        {
            let db = Options::new().open(directory.path()).expect("a new database");
            let table = create(&db, kind);
            (0..4).for_each(|id| assert_eq!(table.insert(&record(&table, id, size)), Ok(true)));
            db.close().expect("the disk has space");
        }
        let options = Options::new().memory_bytes(64 * PAGE_BYTES);
        let db = options.open(directory.path()).expect("it is whole");
        let table = db.table("t").expect("it is there");
        watched(|| {
            assert_eq!(size_of(&table, 1), Some(size));
            let snapshot = db.snapshot();
            assert_eq!(table.delete(1u32.to_le_bytes()), Ok(true));
            assert_eq!(table.upsert(&record(&table, 2, 70)), Ok(true));
            assert_eq!(table.update(3u32.to_le_bytes(), nth(1), &[3; 9_000]), Ok(true));
            // A transaction would hold what it deletes: a third of the memory is less.
            let transaction = db.begin();
            let refused = transaction.delete(&table, 0u32.to_le_bytes());
            assert!(matches!(refused, Err(Error::TxnTooLarge { .. })), "{refused:?}");
            drop(transaction);
            assert_eq!(table.delete(0u32.to_le_bytes()), Ok(true));
            // More has changed than there is memory for what it was.
            let mut payload = Vec::new();
            for id in 0..4u32 {
                match table.at(&snapshot).get_into(&id.to_le_bytes(), &mut payload) {
                    Err(Error::SnapshotTooOld { .. }) => continue,
                    there => assert_eq!(there, Ok(true)),
                }
                assert_eq!(payload.len(), 4 + size);
                assert!(payload[4..].iter().all(|byte| *byte == id as u8));
            }
        });
        let found: Vec<_> = (0..4).map(|id| size_of(&table, id)).collect();
        assert_eq!(found, [None, None, Some(70), Some(9_000)]);
        check(&db).expect("nothing is wrong");
    }
}

#[test]
fn a_check_finds_nothing_wrong_while_long_records_are_written() {
    let db = Options::new().memory_bytes(256 << 20).in_memory().expect("memory");
    let table = create(&db, KeyKind::Hash);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for id in (0..4).cycle() {
                table.upsert(&record(&table, id, 1_000_000)).expect("room");
                if is_done.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let wrong = (0..200).find_map(|_| check(&db).err());
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(wrong, None);
    });
}

/// A record that comes in no order is not written again with each of those that come after it.
#[test]
fn records_in_no_order_beyond_memory_are_written_a_few_times() {
    const COUNT: u64 = 60_000;
    let directory = tempfile::tempdir().expect("a directory");
    let options = Options::new().memory_bytes(8 << 20).durability(Durability::Process);
    let db = options.open(directory.path()).expect("a new database");
    let schema = Schema::build("t").key("id", Type::U64).column("data", Type::Bytes(108));
    let schema = schema.finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Hash).expect("room");
    for at in 0..COUNT {
        let id = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let record = [&id.to_le_bytes()[..], &[7; 108]].concat();
        assert_eq!(table.insert(&record), Ok(true));
    }
    db.checkpoint().expect("the disk has space");
    let (held, written) = (COUNT * 116, db.statistics().data_written_bytes);
    assert!(written < 5 * held, "{written} bytes for {held}");
}

/// Records are in the heap in the order in which they came, and keys are hashed: a scan in the
/// order of the index would read a page for almost each of them.
#[test]
fn a_scan_of_hashed_records_beyond_memory_reads_each_page_a_few_times() {
    const COUNT: u64 = 60_000;
    let directory = tempfile::tempdir().expect("a directory");
    let options = Options::new().memory_bytes(2 << 20).durability(Durability::Process);
    let keys = [("short", Type::Bytes(8)), ("long", Type::Bytes(24))];
    let key_of = |of: Type, id: u64| -> Vec<u8> {
        let size = if of == Type::Bytes(8) { 8 } else { 24 };
        id.to_le_bytes().into_iter().cycle().take(size).collect()
    };
    let db = options.open(directory.path()).expect("a new database");
    for (name, of) in keys {
        let schema = Schema::build(name).key("id", of).column("data", Type::Bytes(108));
        let table = db.create_table(&schema.finish().expect("a schema"), KeyKind::Hash);
        let table = table.expect("room");
        for id in 0..COUNT {
            assert_eq!(table.insert(&[&key_of(of, id)[..], &[7; 108]].concat()), Ok(true));
        }
    }
    db.close().expect("it is whole");

    let db = options.open(directory.path()).expect("it is whole");
    let mut before_bytes = db.statistics().data_read_bytes;
    let mut pages_read = || {
        let bytes = db.statistics().data_read_bytes;
        (bytes - std::mem::replace(&mut before_bytes, bytes)) / PAGE_BYTES
    };
    for (name, of) in keys {
        let table = db.table(name).expect("it is there");
        let held_pages = COUNT * (108 + key_of(of, 0).len() as u64) / PAGE_BYTES;
        pages_read();
        assert!(table.iter().next().expect("a record").is_ok());
        let first = pages_read();
        assert!(first <= 64, "{first} pages for the first record of {name}");

        let expect_all = |rows: Cursor| {
            let mut ids: Vec<u64> = rows
                .map(|row| {
                    let row = row.expect("it is whole");
                    u64::from_le_bytes(*row.bytes().first_chunk().expect("eight bytes"))
                })
                .collect();
            ids.sort_unstable();
            assert!(ids.into_iter().eq(0..COUNT));
        };
        for rows in [table.iter(), table.iter().skip_damaged()] {
            expect_all(rows);
            let scanned = pages_read();
            assert!(scanned <= 16 * held_pages, "{scanned} pages of {held_pages} for {name}");
        }
        // A cursor sees what was there when it was made.
        let before = table.iter();
        // Of as many pages as a budget of this size has images for.
        for id in 0..20 {
            assert_eq!(table.delete(&key_of(of, id * 100)[..]), Ok(true));
        }
        expect_all(before);
        assert_eq!(table.iter().count() as u64, COUNT - 20);
        pages_read();
    }
    check(&db).unwrap_or_else(|why| panic!("{why}"));
    let (checked, held_pages) = (pages_read(), 2 * COUNT * 124 / PAGE_BYTES);
    assert!(checked <= 20 * held_pages, "{checked} pages to check {held_pages}");
}

/// A page that an operation before the moment of a checkpoint frees is not in it, however late that
/// is.
#[test]
fn no_page_stays_after_a_crash_that_a_checkpoint_missed() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("database");
    let options = Options::new().memory_bytes(256 << 20).log_bytes(2 << 30);
    let options = options.durability(Durability::Process);
    let db = options.open(&path).expect("a new database");
    let table = create(&db, KeyKind::Hash);
    (0..20).for_each(|id| assert_eq!(table.insert(&record(&table, id, 1_000_000)), Ok(true)));
    db.checkpoint().expect("the disk has space");
    for round in 0..20 {
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // These are too few for the database to make a checkpoint of its own.
                for id in (0..20).take_while(|_| !is_done.load(Ordering::Relaxed)) {
                    table.upsert(&record(&table, id % 4, 1_000_000)).expect("room");
                }
            });
            std::thread::sleep(Duration::from_micros(500 + round * 37));
            // One alone: to give space back takes another one.
            simulation::checkpoint(&db).expect("the disk has space");
            is_done.store(true, Ordering::Relaxed);
        });
        let copy = directory.path().join(round.to_string());
        std::fs::create_dir(&copy).expect("space");
        for file in std::fs::read_dir(&path).expect("it is there") {
            let file = file.expect("a file");
            std::fs::copy(file.path(), copy.join(file.file_name())).expect("space");
        }
        let other = options.open(&copy).expect("as after a crash");
        check(&other).expect("nothing is wrong");
        drop(other);
        std::fs::remove_dir_all(&copy).expect("it is there");
    }
}

#[test]
fn no_page_is_forgotten_that_threads_wanted_at_the_same_time() {
    let db = Options::new().memory_bytes(1 << 30).in_memory().expect("memory");
    let table = create(&db, KeyKind::Hash);
    let empty = pages(&db);
    let begin = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for id in 0..3_000 {
                    if id % 10 == 0 {
                        begin.wait();
                    }
                    table.insert(&record(&table, id, 15_000)).expect("room");
                }
            });
        }
    });
    let full = pages(&db) - empty;
    assert!(full < 3_000 * 11 / 10, "{full} pages of one record each");
    (0..3_000u32).for_each(|id| assert_eq!(table.delete(id.to_le_bytes()), Ok(true)));
    let left = pages(&db) - empty;
    assert!(left < 100, "{left} pages");
    check(&db).expect("nothing is wrong");
}

#[test]
fn room_that_shorter_records_leave_is_used() {
    let db = Options::new().memory_bytes(1 << 30).in_memory().expect("memory");
    let table = create(&db, KeyKind::Hash);
    (0..1_000).for_each(|id| assert_eq!(table.insert(&record(&table, id, 8_000)), Ok(true)));
    let before = pages(&db);
    (0..1_000).for_each(|id| assert_eq!(table.upsert(&record(&table, id, 100)), Ok(true)));
    (1_000..1_900).for_each(|id| assert_eq!(table.insert(&record(&table, id, 8_000)), Ok(true)));
    let after = pages(&db);
    assert!(after < before * 12 / 10, "{before} pages, and then {after}");
    check(&db).expect("nothing is wrong");
}

/// The leaves of a tree have keys and addresses, so columns of the key need nothing of the heap.
#[test]
fn columns_of_the_key_are_read_without_the_heap() {
    const COUNT: u64 = 3_000;
    let directory = tempfile::tempdir().expect("a directory");
    let db = Options::new().open(directory.path()).expect("a new database");
    for key in [Type::I32, Type::VarText(20)] {
        let schema = Schema::build(if key.is_variable() { "text" } else { "number" });
        let schema = schema.key("id", key).key("part", Type::I16);
        let schema = schema.column("data", Type::VarBytes(9_000)).finish().expect("a schema");
        let table = db.create_table(&schema, KeyKind::Tree).expect("room");
        for id in 0..COUNT as i64 {
            let text = format!("number {id:05}");
            let id = if key.is_variable() { Value::Text(&text) } else { Value::Signed(id) };
            let values = [id, Value::Signed(-7), Value::Bytes(&[1; 1_500])];
            assert_eq!(table.insert(&schema.pack(&values).expect("it fits")), Ok(true));
        }
        let first = if key.is_variable() { Value::Text("number 00000") } else { Value::Signed(0) };
        assert_eq!(table.delete([first, Value::Signed(-7)]), Ok(true));
    }
    db.close().expect("it is whole");
    let db = Options::new().open(directory.path()).expect("it was closed");
    for (name, least, most) in [
        ("number", Value::Signed(1), Value::Signed(COUNT as i64 - 1)),
        ("text", Value::Text("number 00001"), Value::Text("number 02999")),
    ] {
        let table = db.table(name).expect("it is there");
        let columns = ["part", "id"].map(|name| table.schema().column(name).expect("it has it"));
        let [part, id] = columns;
        let before_bytes = db.statistics().data_read_bytes;
        for backward in [false, true] {
            let rows = table.iter().columns(columns);
            let rows = if backward { rows.rev() } else { rows };
            let rows: Vec<_> = rows.map(|row| row.expect("it is whole")).collect();
            assert_eq!(rows.len() as u64, COUNT - 1);
            assert!(rows.iter().all(|row| row.at(part) == Value::Signed(-7)));
            let ends = [rows[0].at(id), rows[rows.len() - 1].at(id)];
            assert_eq!(ends, if backward { [most, least] } else { [least, most] });
        }
        // All of the heap has 300 pages.
        let pages = (db.statistics().data_read_bytes - before_bytes) / PAGE_BYTES;
        assert!(pages < 40, "{pages} pages of {name}");
    }
}
