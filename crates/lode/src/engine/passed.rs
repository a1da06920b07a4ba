//! Tests of long commits that readers pass.

use std::cell::RefCell;

use crate::engine::CommitSize;
use crate::index::{Keeps, Swap};
use crate::{Database, Durability, KeyKind, Options, ReadTable, Schema, Snapshot, Table, Type};

const LONG: CommitSize = CommitSize { records: usize::MAX, bytes: 0 };

/// Bytes of a record, most of which makes it long enough for a heap, or not.
const SIZES: [usize; 3] = [16, 500, 3_000];

fn table(db: &Database, kind: KeyKind, size: usize) -> Table {
    let schema =
        Schema::build("t").key("id", Type::U64).column("rest", Type::Bytes(size as u32 - 8));
    db.create_table(&schema.finish().expect("a schema"), kind).expect("room")
}

fn record(id: u64, value: u8, size: usize) -> Vec<u8> {
    let mut record = vec![value; size];
    record[..8].copy_from_slice(&id.to_le_bytes());
    record
}

/// Does a step of a commit: gives a record another value, or deletes it.
fn change(table: &Table, id: u64, wanted: Option<&[u8]>) {
    let core = table.core();
    let pager = table.database().pager();
    let packed = id.to_le_bytes();
    core.in_order(&packed, |key| {
        let seen = core.payload_of(pager, key).expect("it can be read");
        let swap = Swap { seen: seen.as_deref(), wanted: wanted.map(|record| &record[8..]) };
        let context = core.unlogged(pager).of_step(Keeps::PagesAndRoom);
        let outcome = core.write(&context, key, swap).expect("room");
        assert!(outcome.answer, "{id} is as it was seen");
        outcome.undo.iter().for_each(|undo| core.give_up(pager, undo));
    });
}

/// Checks by all ways of reading that records from 0 to before `count` have this value, and that
/// record `count` does not exist.
fn expect_all(
    db: &Database,
    table: &Table,
    count: u64,
    value: u8,
    some: impl Iterator<Item = u64>,
) {
    let size = table.schema().record_size();
    let snapshot = db.snapshot();
    let transaction = db.begin();
    let mut exact = vec![0; size - 8];
    for id in some {
        let expected = (id < count).then(|| record(id, value, size));
        let bytes = |row: Option<crate::Row>| row.map(crate::Row::into_bytes);
        assert_eq!(bytes(table.get(id).expect("it is read")), expected, "{id}");
        assert_eq!(bytes(table.at(&snapshot).get(id).expect("it is read")), expected);
        assert_eq!(bytes(table.within(&transaction).get(id).expect("it is read")), expected);
        let is_there = table.get_exact(&id.to_le_bytes(), &mut exact).expect("it is read");
        assert_eq!(is_there.then_some(&exact[..]), expected.as_ref().map(|record| &record[8..]));
    }
    let found = table.get_many([0, count - 1, count]).expect("they are read");
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(table.len().expect("a length"), count);
    for row in table.iter() {
        assert_eq!(row.expect("a row").bytes()[8..], vec![value; size - 8]);
    }
}

fn databases() -> [(Database, Option<tempfile::TempDir>); 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let options = Options::new().memory_bytes(64 << 20).durability(Durability::Process);
    let in_directory = options.open(folder.path()).expect("a new database");
    [(in_directory, Some(folder)), (options.in_memory().expect("memory"), None)]
}

#[test]
fn readers_see_what_was_there_before_a_long_commit_while_it_writes() {
    const COUNT: u64 = 2_000;
    for (kind, size) in
        [KeyKind::Hash, KeyKind::Tree].into_iter().flat_map(|kind| SIZES.map(|size| (kind, size)))
    {
        for (db, _folder) in databases() {
            let table = table(&db, kind, size);
            for id in 0..COUNT {
                assert_eq!(table.insert(&record(id, 1, size)), Ok(true));
            }
            let kept = RefCell::new(Vec::<Snapshot>::new());
            let look = |at: u64| {
                assert!(db.engine().pager().shown().is_some());
                expect_all(&db, &table, COUNT, 1, (at % 97..2 * COUNT).step_by(97));
                kept.borrow_mut().push(db.snapshot());
            };
            db.engine()
                .admitted_alone(LONG, &mut || {
                    look(0);
                    for id in 0..2 * COUNT {
                        change(&table, id, Some(&record(id, 2, size)));
                        if id % 500 == 7 {
                            look(id);
                        }
                    }
                    (COUNT..2 * COUNT).for_each(|id| change(&table, id, None));
                    look(3);
                    Ok(())
                })
                .expect("room");
            assert!(db.engine().pager().shown().is_none());
            expect_all(&db, &table, COUNT, 2, (0..2 * COUNT).step_by(97));
            for snapshot in kept.take() {
                let view = table.at(&snapshot);
                assert_eq!(view.len().expect("a length"), COUNT);
                assert!(view.iter().all(|row| row.expect("a row").bytes()[8] == 1));
            }
            assert_eq!(db.statistics().snapshot_bytes, 0, "nothing is kept for no one");
        }
    }
}

/// Checks that with too many images those for readers of the commit go first.
#[test]
fn readers_wait_before_a_snapshot_expires() {
    const SIZE: usize = 4_000;
    const PAGES: u64 = 700;
    let db = Options::new().memory_bytes(64 << 20).in_memory().expect("memory");
    let table = table(&db, KeyKind::Tree, SIZE);
    let all = 0..PAGES * 4;
    for id in all.clone() {
        assert_eq!(table.insert(&record(id, 1, SIZE)), Ok(true));
    }
    let before = db.snapshot();
    for id in all.clone() {
        assert_eq!(table.upsert(&record(id, 2, SIZE)), Ok(true));
    }
    let mut were_passing = 0;
    db.engine()
        .admitted_alone(LONG, &mut || {
            for id in all.clone() {
                change(&table, id, Some(&record(id, 3, SIZE)));
                were_passing += u64::from(db.engine().pager().shown().is_some());
            }
            Ok(())
        })
        .expect("room");
    assert!((1..PAGES * 4).contains(&were_passing), "readers passed {were_passing} steps");
    let values = table.at(&before).iter().map(|row| row.expect("it is kept").bytes()[8]);
    assert!(values.eq(all.map(|_| 1)));
}

#[test]
fn readers_wait_for_a_short_commit() {
    for (db, _folder) in databases() {
        for (records, bytes) in [(8_000, 0), (0, 4_000_000)] {
            let is_passed = || Ok(db.engine().pager().shown().is_some());
            let passed =
                db.engine().admitted_alone(CommitSize { records, bytes }, &mut { is_passed });
            assert_eq!(passed, Ok(false));
        }
    }
}
