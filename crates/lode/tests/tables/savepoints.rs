//! Points that transactions go back to, and moments that they read at.

use std::collections::BTreeMap;

use crate::random::mix;
use lode::{
    Database, Error, KeyKind, MOST_TRANSACTION_BYTES, ReadTable, Savepoint, Schema, Table,
    Transaction, Type,
};

type Contents = BTreeMap<u8, u8>;

fn bytes(db: &Database, kind: KeyKind) -> Table {
    let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8);
    db.create_table(&schema.finish().expect("a schema"), kind).expect("a table")
}

/// Returns the records of a table or a view.
fn contents(bytes: &impl ReadTable) -> Contents {
    let rows = bytes.iter().map(|row| row.expect("it can be read").into_bytes());
    rows.map(|row| (row[0], row[1])).collect()
}

/// Writes something, or goes to or from a point; the model does the same.
fn step(
    random: u64,
    table: &Table,
    transaction: &Transaction,
    points: &mut Vec<(Savepoint, Contents)>,
    model: &mut Contents,
) {
    let [choice, id, bits, ..] = random.to_le_bytes();
    let id = id % 16;
    match choice % 16 {
        0..6 => {
            transaction.upsert(table, &[id, bits]).expect("room");
            model.insert(id, bits);
        }
        6..10 => {
            transaction.delete(table, id).expect("a key");
            model.remove(&id);
        }
        10..12 => points.push((transaction.savepoint(), model.clone())),
        12..14 if !points.is_empty() => {
            points.truncate(usize::from(bits) % points.len() + 1);
            let (point, before) = points.last().expect("one at least");
            transaction.roll_back_to(point);
            model.clone_from(before);
        }
        _ if !points.is_empty() => {
            points.truncate(usize::from(bits) % points.len() + 1);
            let (point, _) = points.pop().expect("one at least");
            transaction.release(point);
        }
        _ => {}
    }
}

#[test]
fn a_transaction_goes_back_to_its_points() {
    for seed in 0..200 {
        let kind = if seed % 2 == 0 { KeyKind::Hash } else { KeyKind::Tree };
        let db = Database::in_memory().expect("memory");
        let table = bytes(&db, kind);
        let mut model = Contents::new();
        for id in (0..16).step_by(2) {
            table.insert(&[id, 0]).expect("room");
            model.insert(id, 0);
        }
        let (transaction, mut points) = (db.begin(), Vec::new());
        for number in 0..120 {
            step(mix(seed << 32 | number), &table, &transaction, &mut points, &mut model);
            assert_eq!(contents(&table.within(&transaction)), model, "seed {seed}, {number}");
        }
        transaction.commit().expect("no other writer");
        assert_eq!(contents(&table), model, "seed {seed}");
    }
}

#[test]
fn a_transaction_at_a_snapshot_reads_at_its_moment_and_sees_what_it_wrote() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("memory");
        let table = bytes(&db, kind);
        table.insert(&[1, 1]).expect("room");
        let transaction = db.begin_at(&db.snapshot());
        table.insert(&[2, 2]).expect("room");
        table.delete(1).expect("a key");

        let within = table.within(&transaction);
        assert_eq!(contents(&within), [(1, 1)].into());
        assert_eq!((within.len(), within.contains(2)), (Ok(1), Ok(false)));
        transaction.insert(&table, &[3, 3]).expect("room");
        assert_eq!(contents(&within), [(1, 1), (3, 3)].into());
        assert_eq!((within.len(), within.contains(3)), (Ok(2), Ok(true)));
        assert!(
            matches!(transaction.commit(), Err(Error::Conflict { .. })),
            "what it read changed"
        );
        assert_eq!(contents(&table), [(2, 2)].into());
    }
}

#[test]
fn what_has_changed_since_the_moment_of_a_transaction_is_a_conflict() {
    let writes: [fn(&Transaction, &Table) -> bool; 3] = [
        |transaction, table| transaction.upsert(table, &[1, 9]).expect("room"),
        |transaction, table| transaction.delete(table, 1).expect("a key"),
        |transaction, table| !transaction.insert(table, &[1, 9]).expect("room"),
    ];
    for write in writes {
        let db = Database::in_memory().expect("memory");
        let table = bytes(&db, KeyKind::Tree);
        table.insert(&[1, 1]).expect("room");
        let transaction = db.begin_at(&db.snapshot());
        table.upsert(&[1, 2]).expect("room");
        assert!(write(&transaction, &table), "record 1 is there at its moment");
        transaction.insert(&table, &[2, 9]).expect("room");
        assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })));
        assert_eq!(contents(&table), [(1, 2)].into());
    }
}

#[test]
fn all_writes_are_undone_at_once_with_all_points() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("memory");
        let table = bytes(&db, kind);
        table.insert(&[1, 1]).expect("room");
        let transaction = db.begin();
        transaction.upsert(&table, &[1, 2]).expect("room");
        let point = transaction.savepoint();
        transaction.insert(&table, &[2, 2]).expect("room");
        transaction.roll_back_all();
        assert_eq!(contents(&table.within(&transaction)), [(1, 1)].into());
        transaction.insert(&table, &[3, 3]).expect("room");
        transaction.roll_back_to(&point);
        assert_eq!(contents(&table.within(&transaction)), [(1, 1), (3, 3)].into());
        transaction.commit().expect("no other writer");
        assert_eq!(contents(&table), [(1, 1), (3, 3)].into());
    }
}

#[test]
fn a_point_that_is_gone_or_of_another_transaction_does_nothing() {
    let db = Database::in_memory().expect("memory");
    let table = bytes(&db, KeyKind::Tree);
    let (transaction, other) = (db.begin(), db.begin());
    let first = transaction.savepoint();
    let gone = transaction.savepoint();
    transaction.roll_back_to(&first);
    let kept = transaction.savepoint();
    transaction.insert(&table, &[1, 1]).expect("room");
    let others = other.savepoint();
    transaction.roll_back_to(&gone);
    transaction.release(gone);
    transaction.roll_back_to(&others);
    transaction.release(others);
    assert!(table.within(&transaction).contains(1).expect("it can be read"));
    transaction.roll_back_to(&kept);
    assert!(!table.within(&transaction).contains(1).expect("it can be read"));
    transaction.roll_back_to(&first);
}

/// A transaction holds what it has written, not what it wrote and undid.
#[test]
fn what_was_undone_or_written_over_takes_no_room() {
    const SIZE: usize = 1 << 20;
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("t").key("id", Type::U8).column("rest", Type::VarBytes(SIZE as u32));
    let table = db.create_table(&schema.finish().expect("a schema"), KeyKind::Tree).expect("room");
    let record = |byte: u8| {
        let mut record = vec![byte; 1 + 4 + SIZE];
        record[0] = 7;
        record[1..5].copy_from_slice(&(SIZE as u32).to_le_bytes());
        record
    };
    let rounds = 2 * MOST_TRANSACTION_BYTES / SIZE;
    let transaction = db.begin();
    transaction.insert(&table, &record(0)).expect("room");
    for round in 0..rounds {
        let point = transaction.savepoint();
        transaction.upsert(&table, &record(1)).unwrap_or_else(|why| panic!("{round}: {why}"));
        transaction.delete(&table, 7).expect("it can be deleted");
        transaction.roll_back_to(&point);
        transaction.upsert(&table, &record(round as u8)).expect("room");
        transaction.release(point);
    }
    let row = table.within(&transaction).get(7).expect("it can be read").expect("it is there");
    assert_eq!(row.bytes(), record((rounds - 1) as u8));
    transaction.commit().expect("it fits");
    assert_eq!(table.get(7).expect("it can be read"), Some(row));
}
