//! Scans columns that can be null, and tables that were dropped.

use std::ops::Bound;

use crate::reading::{Scan, cursor, each_row};
use lode::{Database, Error, KeyKind, ReadTable, Schema, Type, Value};

const ALL: Scan<'_> = Scan {
    lower: Bound::Unbounded,
    upper: Bound::Unbounded,
    backward: false,
    columns: &[],
    limit: u64::MAX,
};

#[test]
fn a_row_says_which_columns_are_null() {
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("t")
        .key("id", Type::U8)
        .nullable("a", Type::U16)
        .column("b", Type::U8)
        .nullable("c", Type::U8)
        .finish()
        .expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    let transaction = db.begin();
    for (id, a, c) in
        [(1, Value::Unsigned(0x0201), Value::Null), (2, Value::Null, Value::Unsigned(9))]
    {
        let record =
            schema.pack(&[Value::Unsigned(id), a, Value::Unsigned(7), c]).expect("it fits");
        transaction.insert(&table, &record).expect("room");
    }
    let cases: [(&[usize], [&[u8]; 2]); 5] = [
        (&[1], [&[1, 2, 0], &[0, 0, 1]]),
        (&[2], [&[7], &[7]]),
        (&[3, 0], [&[0, 1, 1], &[9, 0, 2]]),
        (&[0, 1, 2, 3], [&[1, 1, 2, 0, 7, 0, 1], &[2, 0, 0, 1, 7, 9, 0]]),
        (&[3, 1], [&[0, 1, 1, 2, 0], &[9, 0, 0, 0, 1]]),
    ];
    for (columns, wanted) in cases {
        let mut rows = Vec::new();
        let mut keep = |row: &[u8]| {
            rows.push(row.to_vec());
            Ok(true)
        };
        each_row(cursor(&table.within(&transaction), &Scan { columns, ..ALL }), &mut keep)
            .expect("a scan");
        assert_eq!(rows, wanted, "{columns:?} in the transaction");
    }
    transaction.commit().expect("no other transaction runs");
    for (columns, wanted) in cases {
        let mut rows = Vec::new();
        let mut keep = |row: &[u8]| {
            rows.push(row.to_vec());
            Ok(true)
        };
        each_row(cursor(&table, &Scan { columns, ..ALL }), &mut keep).expect("a scan");
        assert_eq!(rows, wanted, "{columns:?}");
    }
}

#[test]
fn a_handle_of_a_dropped_table_sees_no_other_table() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("memory");
        let schema = |name| Schema::build(name).key("id", Type::U32).finish().expect("a schema");
        let fill = |name| {
            let table = db.create_table(&schema(name), kind).expect("a table");
            for id in 0..1_000u32 {
                table.insert(&id.to_le_bytes()).expect("room");
            }
            table
        };
        let old = fill("old");
        let before = db.snapshot();
        let transaction = db.begin();
        db.drop_table("old").expect("it is there");
        fill("new");
        let count = |snapshot: &lode::Snapshot| {
            let mut count = 0;
            each_row(old.at(snapshot).iter(), &mut |_| {
                count += 1;
                Ok(true)
            })
            .map(|()| count)
        };
        let gone = Err(Error::NoTable { table: "old".into() });
        assert_eq!(count(&before), Ok(1_000));
        assert_eq!(count(&db.snapshot()), gone);
        if kind == KeyKind::Tree {
            let all = Scan { columns: &[0], ..ALL };
            assert_eq!(each_row(cursor(&old, &all), &mut |_| Ok(true)).map(|()| 0), gone);
            assert_eq!(
                each_row(cursor(&old.within(&transaction), &all), &mut |_| Ok(true)).map(|()| 0),
                gone
            );
        }
    }
}
