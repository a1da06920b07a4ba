//! Loading many records at once: as if they were inserted one after another.

use std::collections::BTreeMap;

use crate::reading::{check, each_row};
use lode::simulation::{self, Simulated};
use lode::{Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type};
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

fn content(table: &Table) -> BTreeMap<i32, u64> {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn loading_is_inserting(
        runs in runs(),
        in_tree in any::<bool>(),
        rest in prop_oneof![Just(Type::Bytes(1)), Just(Type::Bytes(90)), Just(Type::Bytes(2_000))],
    ) {
        let kind = if in_tree { KeyKind::Tree } else { KeyKind::Hash };
        // Nothing happens there by itself: a thread would go on writing while files are copied.
        let disk = Simulated::new(0);
        let options = Options::new().memory_bytes(1 << 20).durability(Durability::Process);
        let db = simulation::open(&options, &disk, 1).expect("a new database");
        let table = create(&db, kind, rest);
        let mut model = BTreeMap::new();
        for (number, run) in runs.iter().enumerate() {
            let mut new = 0;
            for id in run {
                model.entry(*id).or_insert_with(|| {
                    new += 1;
                    number as u64
                });
            }
            let records = run.iter().map(|id| record(&table, *id, number as u64));
            prop_assert_eq!(table.load(records).expect("room"), new);
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
fn what_is_no_record_ends_it_and_what_came_before_is_there() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("memory");
        let table = create(&db, kind, Type::Bytes(8));
        let mut records: Vec<_> = (0..1_000).map(|id| record(&table, id, 7)).collect();
        records[600].pop();
        let why = table.load(&records).expect_err("one is too short").to_string();
        assert!(why.contains("a packed record has 20 bytes, not 19"), "{why}");
        assert_eq!(content(&table), (0..600).map(|id| (id, 7)).collect());
    }
}

#[test]
fn several_may_load_at_the_same_time() {
    let db = Database::in_memory().expect("memory");
    let table = create(&db, KeyKind::Tree, Type::Bytes(8));
    let new: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4u64)
            .map(|thread| {
                let table = &table;
                let records =
                    (0..20_000).map(move |id| record(table, id * 2 + thread as i32 % 2, 0));
                scope.spawn(move || table.load(records).expect("room"))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("it loads")).sum()
    });
    assert_eq!(new, 40_000);
    assert_eq!(content(&table).len(), 40_000);
    check(&db).expect("nothing is wrong");
}
