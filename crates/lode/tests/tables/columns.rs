//! Changes of a single column that depend on what it is.

use crate::reading::{nth, payload_of};
use lode::{Database, KeyKind, ReadTable, Schema, Table, Type, Value};

fn create(db: &Database) -> Table {
    let schema = Schema::build("t")
        .key("id", Type::U8)
        .column("small", Type::I8)
        .column("large", Type::U64)
        .column("time", Type::Timestamp)
        .column("name", Type::VarText(10))
        .nullable("maybe", Type::I32)
        .column("share", Type::F64);
    let table = db.create_table(&schema.finish().expect("a schema"), KeyKind::Hash).expect("room");
    let record = table.schema().pack(&[
        Value::Unsigned(1),
        Value::Signed(-100),
        Value::Unsigned(u64::MAX - 2),
        Value::Timestamp(0),
        Value::Text("Ada"),
        Value::Null,
        Value::Float(0.5),
    ]);
    assert!(table.insert(&record.expect("it fits")).expect("room"));
    table
}

#[test]
fn sums_that_fit_are_written_and_others_change_nothing() {
    let db = Database::in_memory().expect("memory");
    let table = create(&db);
    assert_eq!(table.increment([1], nth(1), -28), Ok(Some(Value::Signed(-128))));
    assert_eq!(table.increment([1], nth(2), 2), Ok(Some(Value::Unsigned(u64::MAX))));
    assert_eq!(table.increment([1], nth(3), i64::MIN), Ok(Some(Value::Timestamp(i64::MIN))));
    assert_eq!(table.increment([2], nth(1), 1), Ok(None));
    for (column, by) in [(0, 1), (1, -1), (2, 1), (3, -1), (4, 1), (5, 1), (6, 1), (7, 1)] {
        let refused = table.increment([1], nth(column), by);
        assert!(matches!(&refused, Err(error) if error.is_bad_input()), "{column}: {refused:?}");
    }
    let found = table.get([1]).map(|row| {
        row.map(|row| {
            let expected =
                [Value::Signed(-128), Value::Unsigned(u64::MAX), Value::Timestamp(i64::MIN)];
            (1..4).map(|at| row.at(nth(at))).eq(expected)
        })
    });
    assert_eq!(found, Ok(Some(true)));
}

#[test]
fn a_record_is_swapped_if_it_is_what_was_expected() {
    let db = Database::in_memory().expect("memory");
    let table = create(&db);
    let payload = || payload_of(&table, [1]).expect("a table").expect("a record");
    let old = payload();
    let mut new = old.clone();
    new[0] ^= 1;
    assert_eq!(table.compare_and_swap([1], &new, &new), Ok(false));
    assert_eq!(payload(), old);
    assert_eq!(table.compare_and_swap([2], &old, &new), Ok(false), "there is none");
    assert_eq!(table.compare_and_swap([1], &old, &new), Ok(true));
    assert_eq!(payload(), new);
    let refused = table.compare_and_swap([1], &new, &new[1..]);
    assert!(matches!(&refused, Err(error) if error.is_bad_input()), "{refused:?}");
    // What is shorter or longer is another payload.
    assert_eq!(table.compare_and_swap([1], &new[1..], &old), Ok(false));
    assert_eq!(payload(), new);
}

#[test]
fn a_column_is_set_if_it_is_what_was_expected() {
    let db = Database::in_memory().expect("memory");
    let table = create(&db);
    let name = |table: &Table| {
        table
            .get([1])
            .map(|row| row.map(|row| matches!(row.at(nth(4)), Value::Text("Grace"))))
            .expect("a table")
    };
    assert_eq!(table.compare_and_update([1], nth(4), b"Eve", b"Grace"), Ok(false));
    assert_eq!(name(&table), Some(false));
    assert_eq!(table.compare_and_update([1], nth(4), b"Ada", b"Grace"), Ok(true));
    assert_eq!(name(&table), Some(true));
    assert_eq!(table.compare_and_update([2], nth(4), b"Ada", b"Grace"), Ok(false));
    assert_eq!(table.compare_and_update([1], nth(1), &[156], &[7]), Ok(true));
    for (column, bytes) in [(0, &[1][..]), (1, &[1, 2]), (4, b"eleven byte"), (5, &[0; 4])] {
        let expected: &[u8] = if column == 4 { b"Grace" } else { &[7] };
        let refused = table.compare_and_update([1], nth(column), expected, bytes);
        assert!(matches!(&refused, Err(error) if error.is_bad_input()), "{column}: {refused:?}");
    }
    assert_eq!(name(&table), Some(true));
}

#[test]
fn no_increment_of_several_threads_is_lost() {
    const EACH: u64 = 5_000;
    let db = Database::in_memory().expect("memory");
    let table = create(&db);
    table.increment([1], nth(2), -(1 << 40)).expect("there is room");
    let before = u64::MAX - 2 - (1 << 40);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    table.increment([1], nth(2), 1).expect("there is room");
                }
            });
        }
    });
    assert_eq!(table.increment([1], nth(2), 0), Ok(Some(Value::Unsigned(before + 4 * EACH))));
}

/// A sum that was returned is that of a record that was there, so no two are the same.
#[test]
fn no_sum_is_returned_twice_when_the_record_goes_and_comes_again() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("memory");
        let schema = Schema::build("t")
            .key("id", Type::U8)
            .column("sum", Type::U64)
            .column("name", Type::VarText(10));
        let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("room");
        let is_done = std::sync::atomic::AtomicBool::new(false);
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        let mut sums: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        let mut sums = Vec::new();
                        while !is_done.load(relaxed) {
                            match table.increment([1], nth(1), 1).expect("there is room") {
                                Some(Value::Unsigned(sum)) => sums.push(sum),
                                _ => std::hint::spin_loop(),
                            }
                        }
                        sums
                    })
                })
                .collect();
            for life in 0..200_000 {
                let values = [Value::Unsigned(1), Value::Unsigned(life << 40), Value::Text("x")];
                let record = table.schema().pack(&values).expect("it fits");
                assert_eq!(table.insert(&record), Ok(true));
                assert_eq!(table.delete([1]), Ok(true));
            }
            is_done.store(true, relaxed);
            threads.into_iter().flat_map(|thread| thread.join().expect("it adds")).collect()
        });
        let count = sums.len();
        sums.sort_unstable();
        sums.dedup();
        assert_eq!(sums.len(), count, "{kind:?}");
    }
}
