//! Damaged pages of one table among others.

use std::collections::BTreeSet;

use crate::reading::check;
use lode::simulation::{self, Fault, Simulated};
use lode::{Error, IndexSchema, KeyKind, ReadTable, Schema, Type};

use super::judge::{IS_TWICE, Outcome, judge};
use super::open;
use crate::common::content::{read_table, tables_of};
use crate::common::known::Known;
use crate::common::random::Random;
use crate::common::tables::{TABLES, record};

#[test]
fn a_damaged_page_of_a_table_leaves_the_others_readable() {
    let mut known = Known::small(4);
    known.close();
    let bytes = known.disk.file_bytes("data").expect("it is there");
    let mut alone = BTreeSet::new();
    let mut random = Random(4);
    for place in 2..bytes.len() / 16_384 {
        let fork = known.disk.fork();
        let bit = (place as u64 * 16_384) * 8 + random.below(16_384 * 8);
        fork.flip_bit("data", bit);
        let judged = judge(&fork, &[&known.content]);
        match judged.unwrap_or_else(|why| panic!("bit {bit} of data: {why}")) {
            Outcome::Part(tables) if tables.len() == 1 => alone.extend(tables),
            Outcome::Content(_) => {}
            // What is of several tables is there twice.
            other => panic!("bit {bit} of data: {other:?}"),
        }
    }
    // Each of them was the only one once.
    assert_eq!(alone, (0..5).collect());
}

/// Checks that a node of the page map, or a page of the catalogue, is read from its copy; that a
/// check says so; and that the next checkpoint writes both again.
#[test]
fn metadata_is_there_twice() {
    let mut known = Known::small(6);
    known.close();
    let slots = known.disk.file_bytes("data").expect("it is there").len() as u64 / 16_384;
    let mut copies = 0;
    for slot in 2..slots {
        let fork = known.disk.fork();
        fork.flip_bit("data", slot * 16_384 * 8 + 77);
        let judged = judge(&fork.fork(), &[&known.content]).expect("it is whole");
        let db = open(&fork, 1).expect("it is whole");
        let Err(why) = check(&db) else { continue };
        if !why.contains(IS_TWICE) {
            continue;
        }
        copies += 1;
        assert_eq!(judged, Outcome::Content(0), "slot {slot}: {why}");
        assert!(why.contains(&format!("at slot {slot} is damaged")), "{why}");
        for (at, (name, ..)) in TABLES.iter().enumerate() {
            let table = db.table(name).expect("it is whole");
            table.upsert(&record(at, 77_777, 1)).expect("it is whole");
        }
        db.close().expect("it is whole");
        let db = open(&fork, 1).expect("it is whole");
        assert_eq!(check(&db), Ok(()), "slot {slot}");
    }
    // A page of the catalogue; on two branches of the page map, the nodes below the root.
    assert_eq!(copies, 2 * (1 + 1 + 1 + 2), "each is there twice");
}

#[test]
fn a_damaged_table_says_so_and_the_others_can_be_written() {
    let mut known = Known::small(5);
    known.close();
    let bytes = known.disk.file_bytes("data").expect("it is there");
    let damaged = (2..bytes.len() as u64 / 16_384).filter_map(|place| {
        let fork = known.disk.fork();
        fork.flip_bit("data", place * 16_384 * 8 + 77);
        let db = open(&fork, 1).ok()?;
        let wrong: Vec<usize> =
            (0..5).filter(|at| read_table(&db, *at).is_err()).collect::<Vec<_>>();
        let [at] = wrong[..] else { return None };
        drop(db);
        Some((fork, at))
    });
    let mut seen = BTreeSet::new();
    for (disk, damaged) in damaged {
        let db = open(&disk, 1).expect("the others are");
        let why = read_table(&db, damaged).expect_err("it is damaged");
        let Error::Corrupt { what, .. } = &why else { panic!("{why}") };
        assert!(what.contains("page"), "{what}");
        assert!(check(&db).is_err());
        let mut content = known.content.clone();
        content.remove(&damaged);
        for (at, records) in &mut content {
            let table = db.table(TABLES[*at].0).expect("it is not damaged");
            table.upsert(&record(*at, 77_777, 1)).expect("it can be written");
            records.insert(77_777, 1);
        }
        // The others are as they should be, now and after the database was closed and opened again.
        db.close().expect("a damaged table does not keep it from being closed");
        let db = open(&disk, 1).expect("the others are");
        for (at, records) in &content {
            assert_eq!(read_table(&db, *at).as_ref(), Ok(records));
        }
        assert!(read_table(&db, damaged).is_err(), "it is still damaged");
        // It can be dropped, and that comes back after a crash.
        db.drop_table(TABLES[damaged].0).expect("a drop does not read it");
        disk.fail(Fault::Crash { at: disk.operations() });
        drop(db);
        disk.crash(1);
        let db = open(&disk, 1).expect("the others are");
        assert_eq!(tables_of(&db), content.keys().copied().collect::<Vec<_>>());
        for (at, records) in &content {
            assert_eq!(read_table(&db, *at).as_ref(), Ok(records));
        }
        seen.insert(damaged);
    }
    assert_eq!(seen, (0..5).collect());
}

/// A record of a damaged table cannot be done again, so it has to stay in the log.
#[test]
fn a_damaged_table_with_records_in_the_log_leaves_the_log_as_it_is() {
    let mut known = Known::small(6);
    known.kill();
    let bytes = known.disk.file_bytes("data").expect("it is there");
    let log_of = |disk: &Simulated| -> Vec<_> {
        let names = disk.file_names().into_iter().filter(|name| name.starts_with("log-"));
        names.map(|name| (disk.file_bytes(&name), name)).collect()
    };
    let mut poisoned = 0;
    for place in 2..bytes.len() as u64 / 16_384 {
        let fork = known.disk.fork();
        fork.flip_bit("data", place * 16_384 * 8 + 77);
        let before = log_of(&fork);
        let Ok(db) = open(&fork, 1) else { continue };
        let whole: Vec<_> = (0..5).filter(|at| read_table(&db, *at).is_ok()).collect();
        if whole.len() == 5 {
            continue;
        }
        let table = db.table(TABLES[whole[0]].0).expect("it is not damaged");
        let Err(Error::Poisoned { why, .. }) = table.upsert(&record(whole[0], 77_777, 1)) else {
            continue;
        };
        assert!(why.contains("page"), "{why}");
        assert!(matches!(db.flush(), Err(Error::Poisoned { .. })));
        assert!(matches!(db.close(), Err(Error::Poisoned { .. })));
        for random in 2..4 {
            let db = open(&fork, random).expect("as before");
            for at in &whole {
                assert_eq!(read_table(&db, *at).as_ref(), Ok(&known.content[at]));
            }
        }
        assert!(log_of(&fork) == before, "page {place}: the log has changed");
        poisoned += 1;
    }
    assert!(poisoned >= 2, "{poisoned} tables had records in the log");
}

/// The log has all records of the table, so an index that it cannot be replayed into is dropped.
#[test]
fn a_damaged_index_with_records_in_the_log_is_dropped() {
    let disk = Simulated::new(7);
    let db = open(&disk, 1).expect("an empty disk");
    let schema = Schema::build("n").key("id", Type::U32).column("number", Type::U32);
    let schema = schema.finish().expect("a schema");
    let index = IndexSchema::new("by_number", ["number"]).unique();
    let indexes = [index.clone()];
    let table = db.create_indexed_table(&schema, KeyKind::Hash, &indexes).expect("room");
    let record = |id: u32| {
        let number = id.wrapping_mul(0x9e37_79b9);
        [id.to_le_bytes(), number.to_le_bytes()].concat()
    };
    for first in (0..4_000).step_by(100) {
        table.insert_all((first..first + 100).map(record)).expect("room");
    }
    simulation::checkpoint(&db).expect("room");
    for id in 4_000..4_300 {
        table.insert(&record(id)).expect("room");
    }
    disk.fail(Fault::Crash { at: disk.operations() });
    drop((table, db));
    disk.crash(1);
    let bytes = disk.file_bytes("data").expect("it is there");
    let mut dropped = 0;
    for place in 2..bytes.len() as u64 / 16_384 {
        let fork = disk.fork();
        fork.flip_bit("data", place * 16_384 * 8 + 77);
        let Ok(db) = open(&fork, 1) else { continue };
        // The damaged page may also be one of the table.
        let Ok(table) = db.table("n") else { continue };
        if table.indexes().as_deref() == Ok(&indexes) {
            continue;
        }
        assert_eq!((table.indexes(), table.len()), (Ok(vec![]), Ok(4_300)), "page {place}");
        check(&db).expect("nothing of the index is left");
        table.create_index(&index).expect("its name is free");
        assert!(matches!(table.insert(&record(7)), Ok(false)));
        assert!(table.insert(&record(4_300)).expect("room"));
        check(&db).expect("the index is whole");
        db.close().expect("nothing keeps it from being closed");
        dropped += 1;
    }
    assert!(dropped >= 2, "{dropped} damaged pages were of the index");
}
