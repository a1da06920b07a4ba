//! What a transaction sees of what it wrote.

use std::collections::BTreeMap;
use std::ops::Bound;

use lode::{Database, KeyKind, Scan, Schema, Type};
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
        let mut transaction = db.begin();
        let mut model: BTreeMap<i32, u32> = before.clone();
        for (key, value) in &writes {
            match value {
                Some(value) => {
                    transaction.upsert(&table, &record(*key, *value)).expect("room");
                    model.insert(*key, *value);
                }
                None => {
                    transaction.delete(&table, &key.to_le_bytes()).expect("it can be read");
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
        transaction.scan(&table, &scan, &mut keep).expect("a scan");
        prop_assert_eq!(&found, &wanted(&model));
        // Nobody else sees it before the commit.
        found.clear();
        let mut keep = |row: &[u8]| {
            found.push((number(row), number(&row[4..]) as i32));
            Ok(true)
        };
        table.scan(&scan, &mut keep).expect("a scan");
        prop_assert_eq!(&found, &wanted(&before));
    }
}
