//! Loading many records at once: as if they were inserted one after another.

use std::collections::BTreeMap;

use crate::reading::{check, each_row};
use lode::simulation::{self, Simulated};
use lode::{Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Table, Type};
use proptest::prelude::*;

fn create(db: &Database, kind: KeyKind, rest: Type) -> Table {
    let schema = Schema::build("t").key("id", Type::I32).column("n", Type::U64).column("r", rest);
    db.create_table(&schema.finish().expect("a schema"), kind).expect("room")
}

fn record(table: &Table, id: i32, number: u64) -> Vec<u8> {
    let mut record = [&id.to_le_bytes()[..], &number.to_le_bytes()].concat();
    record.resize(table.schema().record_size(), 0);
    record
}

fn content(table: &impl ReadTable) -> BTreeMap<i32, u64> {
    let mut content = BTreeMap::new();
    let each = &mut |record: &[u8]| {
        let (id, rest) = record.split_first_chunk().expect("an id");
        let number = u64::from_le_bytes(*rest.first_chunk().expect("a number"));
        assert!(content.insert(i32::from_le_bytes(*id), number).is_none());
        Ok(true)
    };
    each_row(table.iter(), each).expect("a table");
    content
}

/// Runs of ascending keys, a few records or many, dense or not; and keys in no order.
fn runs() -> impl Strategy<Value = Vec<Vec<i32>>> {
    let ascending = (-3_000..3_000i32, 1..40i32, 0..900usize)
        .prop_map(|(first, step, count)| (0..count as i32).map(|at| first + at * step).collect());
    let any = proptest::collection::vec(-3_000..3_000i32, 0..100);
    proptest::collection::vec(prop_oneof![3 => ascending, 1 => any], 1..6)
}

/// A way to write many records.
#[derive(Clone, Copy, Debug)]
enum How {
    InsertAll,
    InsertAllNew,
    UpsertAll,
}

/// The number of the first of these whose key is not new.
fn first_there(model: &BTreeMap<i32, u64>, ids: &[i32]) -> Option<usize> {
    (0..ids.len()).find(|at| model.contains_key(&ids[*at]) || ids[..*at].contains(&ids[*at]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn loading_is_inserting(
        runs in runs(),
        in_tree in any::<bool>(),
        how in prop_oneof![
            Just(How::InsertAll),
            Just(How::InsertAllNew),
            Just(How::UpsertAll),
        ],
        rest in prop_oneof![Just(Type::Bytes(1)), Just(Type::Bytes(90)), Just(Type::Bytes(2_000))],
    ) {
        let kind = if in_tree { KeyKind::Tree } else { KeyKind::Hash };
        // Nothing happens there by itself: a thread would keep writing while files are copied.
        let disk = Simulated::new(0);
        // What is written together has to fit in there.
        let options = Options::new().memory_bytes(16 << 20).durability(Durability::Process);
        let db = simulation::open(&options, &disk, 1).expect("a new database");
        let table = create(&db, kind, rest);
        let mut model = BTreeMap::new();
        for (number, run) in runs.iter().enumerate() {
            let mut new = 0;
            let records = run.iter().map(|id| record(&table, *id, number as u64));
            if let (How::InsertAllNew, Some(first)) = (how, first_there(&model, run)) {
                prop_assert_eq!(table.insert_all_new(records), Ok(Some(first)));
                prop_assert_eq!(&content(&table), &model);
                continue;
            }
            for id in run {
                let value = model.entry(*id).or_insert_with(|| {
                    new += 1;
                    number as u64
                });
                if let How::UpsertAll = how {
                    *value = number as u64;
                }
            }
            let written = match how {
                How::InsertAll => table.insert_all(records),
                How::InsertAllNew => table.insert_all_new(records).map(|_| new),
                How::UpsertAll => table.upsert_all(records),
            };
            prop_assert_eq!(written.expect("room"), new);
        }
        prop_assert_eq!(&content(&table), &model);
        check(&db).expect("nothing is wrong");
        // What the log has of it is the same.
        let copy = disk.fork();
        let db = simulation::open(&options, &copy, 2).expect("as after a crash");
        let table = db.table("t").expect("it is there");
        prop_assert_eq!(&content(&table), &model);
        check(&db).expect("nothing is wrong");
    }
}

#[test]
fn of_what_is_written_together_nothing_is_there_if_one_is_no_record_or_there_is_no_room() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let options = Options::new().memory_bytes(64 * 16_384);
        let db = options.in_memory().expect("memory");
        let table = create(&db, kind, Type::Bytes(1_000));
        for id in 0..100 {
            assert_eq!(table.insert(&record(&table, id, 7)), Ok(true));
        }
        let before = content(&table);
        let records_of =
            |ids: std::ops::Range<i32>| ids.map(|id| record(&table, id, 9)).collect::<Vec<_>>();
        let records = |count| records_of(0..count);
        let mut wrong = records(200);
        wrong[150].pop();
        let no_room = records_of(100..800);
        // More than all pages could have.
        let too_many = records(2_500);
        type Write = fn(&Table, &[Vec<u8>]) -> lode::Result<()>;
        let writes: [Write; 3] = [
            |table, records| table.insert_all(records).map(drop),
            |table, records| table.insert_all_new(records).map(drop),
            |table, records| table.upsert_all(records).map(drop),
        ];
        for write in writes {
            let result = write(&table, &wrong);
            let why = result.expect_err("one is too short").to_string();
            assert!(why.contains("a packed record has 1012 bytes, not 1011"), "{why}");
            let result = write(&table, &no_room);
            assert!(matches!(result, Err(Error::Full { .. })), "{result:?}");
            let result = write(&table, &too_many);
            assert!(matches!(result, Err(Error::TxnTooLarge { .. })), "{result:?}");
            assert_eq!(content(&table), before);
            check(&db).expect("nothing is wrong");
        }
        assert_eq!(table.upsert_all(records(110)), Ok(10));
        assert_eq!(content(&table), (0..110).map(|id| (id, 9)).collect());
        assert_eq!(table.insert_all(Vec::<Vec<u8>>::new()), Ok(0));
    }
}

/// Counts keys in the bytes written together, however little comes after them.
#[test]
fn no_more_is_written_together_than_by_a_transaction() {
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("t").key("id", Type::Bytes(1_000)).column("n", Type::U8);
    let schema = schema.finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Hash).expect("room");
    let count = lode::MOST_TRANSACTION_BYTES / 1_000;
    let result = table.upsert_all(std::iter::repeat_n(&[7; 1_001], count));
    assert!(matches!(result, Err(Error::TxnTooLarge { .. })), "{result:?}");
    assert_eq!(table.len(), Ok(0));
}

/// A load that does not fit into memory is not tried again and again: the pages that it changed and
/// put back were its own.
#[test]
fn what_has_no_room_is_soon_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = Options::new().memory_bytes(4 << 20);
    let db = options.open(directory.path()).expect("a new database");
    let schema = Schema::build("t").key("id", Type::Bytes(1_000)).column("n", Type::U64);
    let schema = schema.finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("room");
    let record = |id: u64| {
        let mut record = vec![0; 1_008];
        record[..8].copy_from_slice(&id.to_be_bytes());
        record
    };
    let before = db.statistics().data_written_bytes;
    let result = table.insert_all((0..4_000).map(record));
    assert!(matches!(result, Err(Error::TxnTooLarge { .. })), "{result:?}");
    let transaction = db.begin();
    let refused = (0..4_000).find_map(|id| transaction.insert(&table, &record(id)).err());
    assert!(matches!(refused, Some(Error::TxnTooLarge { .. })), "{refused:?}");
    drop(transaction);
    let written_bytes = db.statistics().data_written_bytes - before;
    assert!(written_bytes < 200 << 20, "{written_bytes} bytes");
    assert_eq!(table.insert_all((0..100).map(record)), Ok(100));
}

/// A snapshot has all records of a batch or none.
#[test]
fn what_is_written_together_is_seen_together() {
    const COUNT: i32 = 300;
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("memory");
        let table = create(&db, kind, Type::Bytes(40));
        let records = |number| (0..COUNT).map(|id| record(&table, id, number)).collect::<Vec<_>>();
        assert_eq!(table.insert_all(records(0)), Ok(COUNT as u64));
        let is_done = std::sync::atomic::AtomicBool::new(false);
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1..200 {
                    assert_eq!(table.upsert_all(records(number)), Ok(0));
                }
                is_done.store(true, relaxed);
            });
            while !is_done.load(relaxed) {
                let snapshot = db.snapshot();
                let mut seen: Vec<_> = content(&table.at(&snapshot)).into_values().collect();
                assert_eq!(seen.len(), COUNT as usize);
                seen.dedup();
                assert_eq!(seen.len(), 1, "{seen:?}");
            }
        });
    }
}

#[test]
fn several_threads_may_write_together_at_the_same_time() {
    let db = Database::in_memory().expect("memory");
    let table = create(&db, KeyKind::Tree, Type::Bytes(8));
    let new: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4i32)
            .map(|thread| {
                let table = &table;
                let batch = move |at: i32| {
                    let ids = (at * 100..(at + 1) * 100).map(move |id| id * 2 + thread % 2);
                    table.insert_all(ids.map(|id| record(table, id, 0))).expect("room")
                };
                scope.spawn(move || (0..200).map(batch).sum::<u64>())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("it loads")).sum()
    });
    assert_eq!(new, 40_000);
    assert_eq!(content(&table).len(), 40_000);
    check(&db).expect("nothing is wrong");
}
