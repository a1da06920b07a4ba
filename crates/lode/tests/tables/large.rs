//! Tables large enough for every part of their indexes: directories of several levels, trees of
//! three, and budgets that run out.

use crate::reading::{Scan, check, cursor, each_row, nth, payload_of};
use lode::{Error, KeyKind, Options, ReadTable, Schema, Table, Type};
use std::ops::Bound;

fn schema(payload: u32) -> Schema {
    let build = Schema::build("t").key("id", Type::U64).column("value", Type::U64);
    build.column("rest", Type::Bytes(payload)).finish().expect("a schema")
}

/// Returns a number of a key and a version; others have other numbers.
fn value(id: u64, version: u64) -> u64 {
    (id ^ version << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn record(table: &Table, id: u64, version: u64) -> Vec<u8> {
    let mut record = vec![0; table.schema().record_size()];
    record[..8].copy_from_slice(&id.to_le_bytes());
    record[8..16].copy_from_slice(&value(id, version).to_le_bytes());
    record
}

/// Keys in no order, each below `count` once.
fn shuffled(count: u64) -> impl Iterator<Item = u64> {
    // Multiplying by an odd number permutes what is below a power of two.
    let size = count.next_power_of_two();
    (0..size)
        .map(move |at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) & (size - 1))
        .filter(move |id| *id < count)
}

fn fill_and_empty(kind: KeyKind, payload: u32, count: u64) {
    let db = Options::new().memory_bytes(2 << 30).in_memory().expect("memory");
    let table = db.create_table(&schema(payload), kind).expect("a table");
    for id in shuffled(count) {
        assert!(table.insert(&record(&table, id, 0)).expect("room"), "{id}");
    }
    let full_bytes = db.statistics().page_bytes;
    let held = count * table.schema().record_size() as u64;
    assert!(full_bytes < held * 5 / 2, "{full_bytes} bytes for {held}");
    check(&db).expect("it is right");
    let before = db.snapshot();
    let mut payload = vec![0; table.schema().payload_size()];
    for id in shuffled(count) {
        let key = id.to_le_bytes();
        assert!(table.get_exact(&key, &mut payload).expect("a key"), "{id}");
        assert_eq!(payload[..8], value(id, 0).to_le_bytes(), "{id}");
        if id % 2 == 0 {
            assert!(table.delete(key).expect("a key"));
        } else {
            assert!(table.update(key, nth(1), &value(id, 1).to_le_bytes()).expect("a key"));
        }
    }
    check(&db).expect("it is right");
    for id in 0..count {
        let there = table.get_exact(&id.to_le_bytes(), &mut payload).expect("a key");
        assert_eq!(there, id % 2 == 1, "{id}");
        assert!(!there || payload[..8] == value(id, 1).to_le_bytes(), "{id}");
    }
    assert!(!table.get_exact(&count.to_le_bytes(), &mut payload).expect("a key"));
    // Also keys that come after all others.
    let ids: Vec<u64> = shuffled(count + 100).collect();
    let keys: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    let mut looked_up = 0;
    let each = &mut |at: usize, payload: Option<&[u8]>| {
        let id = ids[at];
        let wanted = (id % 2 == 1 && id < count).then(|| value(id, 1).to_le_bytes());
        assert_eq!(payload.and_then(|all| all.first_chunk()), wanted.as_ref(), "{id} of several");
        looked_up += 1;
    };
    table.get_many_with(&keys, each).expect("keys");
    assert_eq!(looked_up, ids.len());
    let mut seen = 0;
    each_row(table.at(&before).iter(), &mut |record| {
        let id = u64::from_le_bytes(*record.first_chunk().expect("an id"));
        assert_eq!(record[8..16], value(id, 0).to_le_bytes(), "{id} in the snapshot");
        seen += 1;
        Ok(true)
    })
    .expect("a snapshot");
    assert_eq!(seen, count);
    drop(before);
    for id in (1..count).step_by(2) {
        assert!(table.delete(id.to_le_bytes()).expect("a key"), "{id}");
    }
    check(&db).expect("it is right");
    // What was deleted has room again.
    for id in shuffled(count) {
        assert!(table.insert(&record(&table, id, 2)).expect("room"), "{id}");
    }
    let again_bytes = db.statistics().page_bytes;
    assert!(again_bytes <= full_bytes * 11 / 10, "{again_bytes} after {full_bytes}");
    check(&db).expect("it is right");
}

#[test]
fn a_directory_of_many_segments() {
    fill_and_empty(KeyKind::Hash, 1_100, 120_000);
}

#[test]
fn a_tree_of_three_levels() {
    fill_and_empty(KeyKind::Tree, 40, 600_000);
}

#[test]
fn a_tree_of_long_records() {
    fill_and_empty(KeyKind::Tree, 3_900, 30_000);
}

#[test]
fn ascending_keys_fill_the_leaves() {
    let db = Options::new().memory_bytes(1 << 30).in_memory().expect("memory");
    let schema = Schema::build("t").key("id", Type::I64).column("v", Type::Bytes(32)).finish();
    let table = db.create_table(&schema.expect("a schema"), KeyKind::Tree).expect("a table");
    const COUNT: i64 = 100_000;
    for id in -COUNT / 2..COUNT / 2 {
        let mut record = [7; 40];
        record[..8].copy_from_slice(&id.to_le_bytes());
        assert!(table.insert(&record).expect("room"));
    }
    let bytes = db.statistics().page_bytes;
    assert!(bytes < COUNT as u64 * 40 * 13 / 10, "{bytes}");
    let mut ids = Vec::new();
    let all = Scan {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
        backward: false,
        columns: &[0],
        limit: u64::MAX,
    };
    each_row(cursor(&table, &all), &mut |id| {
        ids.push(i64::from_le_bytes(*id.first_chunk().expect("an id")));
        Ok(true)
    })
    .expect("a scan");
    assert!(ids.iter().copied().eq(-COUNT / 2..COUNT / 2));
}

/// Keys so long that nodes above the leaves are split too, again and again at their end.
#[test]
fn ascending_long_keys_make_a_tree_of_many_levels() {
    let db = Options::new().memory_bytes(1 << 30).in_memory().expect("memory");
    let schema = Schema::build("t").key("id", Type::Bytes(1_000)).finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    let key = |id: u32| {
        let mut key = vec![7; 1_000];
        key[500..504].copy_from_slice(&id.to_be_bytes());
        key
    };
    for id in 0..10_000 {
        assert!(table.insert(&key(id)).expect("room"), "{id}");
    }
    check(&db).unwrap_or_else(|why| panic!("{why}"));
    for id in 0..10_000 {
        assert!(payload_of(&table, key(id)).expect("it can be read").is_some(), "{id}");
    }
}

#[test]
fn what_does_not_fit_the_budget_is_refused_and_loses_nothing() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Options::new().memory_bytes(1 << 20).in_memory().expect("memory");
        let table = db.create_table(&schema(500), kind).expect("a table");
        let mut there = Vec::new();
        let refused = shuffled(1 << 20).find_map(|id| match table.insert(&record(&table, id, 0)) {
            Ok(_) => {
                there.push(id);
                None
            }
            Err(error) => Some(error),
        });
        assert_eq!(refused, Some(Error::Full { budget_bytes: 1 << 20 }));
        // A transaction that does not fit changes nothing.
        let transaction = db.begin();
        for id in 1 << 21..(1 << 21) + 1_000 {
            assert!(transaction.insert(&table, &record(&table, id, 0)).expect("memory"));
        }
        transaction.update(&table, there[0].to_le_bytes(), nth(1), &[9; 8]).expect("a key");
        assert_eq!(transaction.commit(), Err(Error::Full { budget_bytes: 1 << 20 }), "{kind:?}");
        check(&db).expect("it is right");
        let mut payload = vec![0; table.schema().payload_size()];
        for id in &there {
            assert!(table.get_exact(&id.to_le_bytes(), &mut payload).expect("a key"), "{id}");
            assert_eq!(payload[..8], value(*id, 0).to_le_bytes());
        }
        let mut count = 0;
        let each = &mut |_: &[u8]| {
            count += 1;
            Ok(true)
        };
        each_row(table.iter(), each).expect("a snapshot");
        assert_eq!(count, there.len());
        // What is deleted makes room.
        for id in &there {
            assert!(table.delete(id.to_le_bytes()).expect("a key"));
        }
        assert!(table.insert(&record(&table, 1, 1)).expect("room"));
    }
}

#[test]
fn tables_are_created_found_and_dropped() {
    let db = Options::new().memory_bytes(8 << 20).in_memory().expect("memory");
    for round in 0..100 {
        let table = db.create_table(&schema(100), KeyKind::Hash).expect("room");
        for id in 0..1_000 {
            assert!(table.insert(&record(&table, id, round)).expect("room"));
        }
        let again = db.create_table(&schema(100), KeyKind::Tree);
        assert!(matches!(again, Err(Error::TableExists { .. })));
        assert_eq!(db.table_names(), ["t"]);
        assert!(
            payload_of(&db.table("t").expect("it is there"), 7u64.to_le_bytes())
                .expect("a key")
                .is_some()
        );
        let old = db.snapshot();
        db.drop_table("t").expect("it was there");
        assert!(matches!(table.insert(&record(&table, 1, 0)), Err(Error::NoTable { .. })));
        assert!(matches!(db.table("t"), Err(Error::NoTable { .. })));
        let mut payload = vec![0; table.schema().payload_size()];
        assert!(table.at(&old).get_into(&7u64.to_le_bytes(), &mut payload).expect("a snapshot"));
        assert_eq!(payload[..8], value(7, round).to_le_bytes());
    }
    assert_eq!(db.statistics().page_bytes, 0);
}

/// Uses keys with one prefix, so that many entries hold the same bytes of them.
#[test]
fn long_keys_that_begin_alike() {
    for front in ["", "user", "a-front-longer-than-an-entry-holds/"] {
        let db = Options::new().memory_bytes(1 << 30).in_memory().expect("memory");
        let schema = Schema::build("t").key("name", Type::Text(64)).column("id", Type::U64);
        let schema = schema.finish().expect("a schema");
        let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
        const COUNT: u64 = 40_000;
        // Numbers in full and in part, so that keys are as long as each other or not.
        let name = |id: u64| match id % 3 {
            0 => format!("{front}{id:020}"),
            1 => format!("{front}{id}"),
            _ => format!("{front}0000000{}", id % 1_000 * 1_000_000 + id),
        };
        let key = |name: &str| schema.pack_key(&[lode::Value::Text(name)]).expect("it fits");
        let mut model = std::collections::BTreeMap::new();
        for id in shuffled(COUNT) {
            let values = [lode::Value::Text(&name(id)), lode::Value::Unsigned(id)];
            let new = table.insert(&schema.pack(&values).expect("it fits")).expect("room");
            assert_eq!(new, !model.contains_key(&name(id)), "{}", name(id));
            model.entry(name(id)).or_insert(id);
        }
        check(&db).expect("it is right");
        let mut payload = [0; 8];
        for (name, id) in &model {
            assert!(table.get_exact(&key(name), &mut payload).expect("a key"), "{name}");
            assert_eq!(payload, id.to_le_bytes(), "{name}");
            assert!(!table.get_exact(&key(&format!("{name}x")), &mut payload).expect("a key"));
        }
        let mut found = Vec::new();
        let (lower, upper) = (key(&name(0)), key(&format!("{front}7")));
        let scan = Scan {
            lower: Bound::Excluded(&lower),
            upper: Bound::Excluded(&upper),
            backward: true,
            columns: &[1],
            limit: u64::MAX,
        };
        let keep = &mut |id: &[u8]| {
            found.push(u64::from_le_bytes(*id.first_chunk().expect("an id")));
            Ok(true)
        };
        each_row(cursor(&table, &scan), keep).expect("a scan");
        let inside = model.range::<str, _>((
            Bound::Excluded(&name(0)[..]),
            Bound::Excluded(&format!("{front}7")[..]),
        ));
        assert!(inside.rev().map(|(_, id)| *id).eq(found));
        for name in model.keys() {
            assert!(table.delete(key(name)).expect("a key"), "{name}");
        }
        check(&db).expect("it is right");
    }
}
