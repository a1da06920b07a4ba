//! Checks what a transaction sees of its own writes.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::reading::{Scan, check, cursor, each_row};
use lode::{Database, Error, KeyKind, Options, ReadTable, Schema, Table, Type, Value};
use proptest::prelude::*;

type Bounds = (Bound<i32>, Bound<i32>);

fn bound() -> impl Strategy<Value = Bound<i32>> {
    let key = || -30..30i32;
    prop_oneof![
        key().prop_map(Bound::Included),
        key().prop_map(Bound::Excluded),
        Just(Bound::Unbounded),
    ]
}

fn is_inside((lower, upper): &Bounds, key: i32) -> bool {
    let above = match lower {
        Bound::Included(lower) => key >= *lower,
        Bound::Excluded(lower) => key > *lower,
        Bound::Unbounded => true,
    };
    above
        && match upper {
            Bound::Included(upper) => key <= *upper,
            Bound::Excluded(upper) => key < *upper,
            Bound::Unbounded => true,
        }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn a_scan_in_a_transaction_sees_the_table_with_what_it_wrote(
        before in proptest::collection::btree_map(-30..30i32, any::<u32>(), 0..60),
        writes in proptest::collection::vec((-30..30i32, any::<Option<u32>>()), 0..40),
        bounds in (bound(), bound()),
        backward in any::<bool>(),
        limit in 0..70u64,
    ) {
        let db = Database::in_memory().expect("memory");
        let schema = Schema::build("t").key("id", Type::I32).column("a", Type::Bytes(3_000))
            .column("value", Type::U32).finish().expect("a schema");
        // So long that there are several leaves.
        let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
        let record = |key: i32, value: u32| {
            [&key.to_le_bytes()[..], &[7; 3_000], &value.to_le_bytes()].concat()
        };
        for (key, value) in &before {
            table.insert(&record(*key, *value)).expect("room");
        }
        let transaction = db.begin();
        let mut model: BTreeMap<i32, u32> = before.clone();
        for (key, value) in &writes {
            match value {
                Some(value) => {
                    transaction.upsert(&table, &record(*key, *value)).expect("room");
                    model.insert(*key, *value);
                }
                None => {
                    transaction.delete(&table, key.to_le_bytes()).expect("it can be read");
                    model.remove(key);
                }
            }
        }
        let wanted = |model: &BTreeMap<i32, u32>| {
            let inside = model.iter().filter(|(key, _)| is_inside(&bounds, **key));
            let mut rows: Vec<(u32, i32)> = inside.map(|(key, value)| (*value, *key)).collect();
            if backward {
                rows.reverse();
            }
            rows.truncate(limit as usize);
            rows
        };
        let (lower, upper) = (bounds.0.map(i32::to_le_bytes), bounds.1.map(i32::to_le_bytes));
        let scan = Scan {
            lower: lower.as_ref().map(|key| &key[..]),
            upper: upper.as_ref().map(|key| &key[..]),
            backward,
            columns: &[2, 0],
            limit,
        };
        let number = |row: &[u8]| u32::from_le_bytes(*row.first_chunk().expect("four bytes"));
        let mut found = Vec::new();
        let mut keep = |row: &[u8]| {
            found.push((number(row), number(&row[4..]) as i32));
            Ok(true)
        };
        each_row(cursor(&table.within(&transaction), &scan), &mut keep).expect("a scan");
        prop_assert_eq!(&found, &wanted(&model));
        // No other transaction sees it before the commit.
        found.clear();
        let mut keep = |row: &[u8]| {
            found.push((number(row), number(&row[4..]) as i32));
            Ok(true)
        };
        each_row(cursor(&table, &scan), &mut keep).expect("a scan");
        prop_assert_eq!(&found, &wanted(&before));
    }
}

/// Records of a thousand bytes under keys of any length.
fn names(db: &Database) -> Table {
    let schema = Schema::build("names").key("name", Type::VarBytes(1022));
    let schema = schema.column("rest", Type::Bytes(1_000)).finish().expect("a schema");
    db.create_table(&schema, KeyKind::Tree).expect("a table")
}

fn named(table: &Table, name: &[u8]) -> Vec<u8> {
    table.schema().pack(&[Value::Bytes(name), Value::Bytes(&[1; 1_000])]).expect("it fits")
}

fn all_of(table: &Table) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let each = each_row(table.iter(), &mut |record| {
        records.push(record.to_vec());
        Ok(true)
    });
    each.expect("it can be read");
    records
}

/// A commit deletes a record with a long key, and has its leaf split, which gives the leaf a long
/// fence. Then there is no memory any more, and all has to come back into the pages that there are.
#[test]
fn a_commit_that_fails_puts_long_keys_back_where_no_page_is_left() {
    let long = |n: u8| [&[b'b', n][..], &[b'b'; 998]].concat();
    let short = |n: u8| [b'c', n, 0, 7].to_vec();
    for (more, longs, shorts) in
        (0..3).flat_map(|more| (12..24).flat_map(move |l| (0..10).map(move |s| (more, l, s))))
    {
        let db = Options::new().memory_bytes(1 << 20).in_memory().expect("memory");
        let table = names(&db);
        (0..longs).for_each(|n| assert_eq!(table.insert(&named(&table, &long(n))), Ok(true)));
        (0..shorts).for_each(|n| assert_eq!(table.insert(&named(&table, &short(n))), Ok(true)));
        let schema = Schema::build("other").key("id", Type::U64).column("rest", Type::Bytes(900));
        let schema = schema.finish().expect("a schema");
        let other = db.create_table(&schema, KeyKind::Tree).expect("a table");
        let before = all_of(&table);

        let transaction = db.begin();
        let last = table.schema().pack_key(&[Value::Bytes(&long(longs - 1))]).expect("it fits");
        assert_eq!(transaction.delete(&table, &last), Ok(true));
        let new = (0..more).map(|n| short(100 + n)).chain([vec![b'd'; 1_000], vec![b'e'; 1_000]]);
        for name in new {
            assert_eq!(transaction.insert(&table, &named(&table, &name)), Ok(true));
        }
        for id in 0..700u64 {
            let record = [&id.to_le_bytes()[..], &[1; 900]].concat();
            assert_eq!(transaction.insert(&other, &record), Ok(true));
        }
        let full = transaction.commit();
        assert!(matches!(full, Err(Error::Full { .. })), "{full:?}");
        assert!(all_of(&table) == before, "{more} more, {longs} long and {shorts} short ones");
        assert!(all_of(&other).is_empty());
        assert_eq!(check(&db), Ok(()));
    }
}
