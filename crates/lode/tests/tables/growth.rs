//! A steady load: space is used again, and the files stop growing.
//!
//! `LODE_RECORDS` is the number of records. `LODE_MEMORY_MIB` is the memory; by default it is too
//! little for them.

use std::ops::Range;

use crate::effort::number;
use crate::random::mix;
use crate::reading::{check, each_row};
use lode::{Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type, Value};

const ROUNDS: usize = 6;

/// By how much the data file may grow after it has seen the whole load once.
const MOST_GROWTH: f64 = 1.25;

/// Bytes of memory for pages: these, or what was asked for.
fn memory_bytes(usual: u64) -> u64 {
    number("LODE_MEMORY_MIB").map_or(usual.max(4 << 20), |mebibytes| mebibytes << 20)
}

/// Records of three sizes, in tables of both kinds.
fn tables(db: &Database) -> Vec<Table> {
    let kinds =
        [("short", 20, KeyKind::Hash), ("long", 400, KeyKind::Hash), ("tree", 100, KeyKind::Tree)];
    let make = |(name, rest, kind): (&str, u32, KeyKind)| {
        let schema = Schema::build(name)
            .key("id", Type::U64)
            .column("n", Type::U64)
            .column("rest", Type::Bytes(rest))
            .finish()
            .expect("a schema");
        db.create_table(&schema, kind).expect("a table")
    };
    kinds.into_iter().map(make).collect()
}

fn record(table: &Table, id: u64, n: u64) -> Vec<u8> {
    let rest = vec![n as u8; table.schema().record_size() - 16];
    [&mix(id).to_le_bytes()[..], &n.to_le_bytes(), &rest].concat()
}

#[test]
fn files_stop_growing_under_a_steady_load() {
    let records = number("LODE_RECORDS").unwrap_or(20_000);
    let folder = tempfile::tempdir().expect("a directory");
    let options = Options::new()
        .durability(Durability::Process)
        .memory_bytes(memory_bytes(records * 50))
        .log_bytes(4 << 20);
    let db = options.open(folder.path()).expect("it opens");
    let tables = tables(&db);
    for id in 0..records {
        let table = &tables[(id % 3) as usize];
        assert!(table.insert(&record(table, id, 0)).expect("room"));
    }
    let mut sizes = Vec::new();
    for round in 1..=ROUNDS as u64 {
        for step in 0..records {
            let id = mix(step + round) % records;
            let table = &tables[(id % 3) as usize];
            match step % 4 {
                // A tenth goes, and comes back with the next round.
                0 if id % 10 == round % 10 => {
                    table.delete(mix(id).to_le_bytes()).expect("it can be read");
                }
                _ => {
                    table.upsert(&record(table, id, round)).expect("room");
                }
            }
        }
        db.checkpoint().expect("room");
        let statistics = db.statistics();
        sizes.push(statistics.data_bytes);
        println!("round {round}: {statistics:?}");
    }
    let (first, last) = (sizes[1] as f64, sizes[ROUNDS - 1] as f64);
    assert!(last <= first * MOST_GROWTH, "{sizes:?}");
    check(&db).unwrap_or_else(|why| panic!("{why}"));

    db.compact().expect("room");
    let compact = db.statistics();
    println!("compact: {compact:?}");
    assert!(compact.data_bytes <= compact.data_used_bytes + (compact.data_used_bytes / 4));
    let counts = |db: &Database| -> Vec<u64> {
        let count = |name| {
            let (table, mut count) = (db.table(name).expect("it is there"), 0);
            each_row(table.iter(), &mut |_| {
                count += 1;
                Ok(true)
            })
            .expect("it can be read");
            count
        };
        ["short", "long", "tree"].into_iter().map(count).collect()
    };
    let before = counts(&db);
    db.close().expect("it closes");
    let db = options.open(folder.path()).expect("it opens again");
    assert_eq!(counts(&db), before);
    check(&db).unwrap_or_else(|why| panic!("{why}"));
}

/// Tables of both kinds whose records have any length.
fn tables_of_any_length(db: &Database) -> [Table; 2] {
    [("hash", KeyKind::Hash), ("tree", KeyKind::Tree)].map(|(name, kind)| {
        let schema = Schema::build(name).key("id", Type::U64).column("rest", Type::VarBytes(MOST));
        db.create_table(&schema.finish().expect("a schema"), kind).expect("a table")
    })
}

/// The longest record has several pages of its own.
const MOST: u32 = 40_000;

/// A record of 100 to 3,000 bytes; of 200, one is longer than a page.
fn record_of_any_length(table: &Table, id: u64, n: u64) -> Vec<u8> {
    let random = mix(id * 1_000 + n) >> 20;
    let size = match random.is_multiple_of(200) {
        true => 17_000 + random / 200 % u64::from(MOST - 17_000),
        false => 100 + random / 200 % 2_900,
    };
    filled(table, id, size as usize)
}

fn filled(table: &Table, id: u64, size: usize) -> Vec<u8> {
    let values = [Value::Unsigned(mix(id)), Value::Bytes(&vec![id as u8; size])];
    table.schema().pack(&values).expect("they fit")
}

/// Bytes of the data file that are in use after a checkpoint.
fn used(db: &Database) -> u64 {
    db.checkpoint().expect("room");
    db.statistics().data_used_bytes
}

/// A database in which a part of `records` short ones fits into memory.
fn tight(records: u64) -> Options {
    Options::new()
        .durability(Durability::Process)
        .memory_bytes(memory_bytes(records * 200))
        .log_bytes(4 << 20)
}

#[test]
fn files_stop_growing_under_records_of_any_length_that_come_and_go() {
    let records = number("LODE_RECORDS").unwrap_or(20_000) / 4;
    let folder = tempfile::tempdir().expect("a directory");
    let db = tight(records).open(folder.path()).expect("it opens");
    let tables = tables_of_any_length(&db);
    let table_of = |id: u64| &tables[(id % 2) as usize];
    for id in 0..records {
        let table = table_of(id);
        assert!(table.insert(&record_of_any_length(table, id, 0)).expect("room"));
    }
    let before = used(&db);
    let (mut sizes, mut oldest) = (Vec::new(), vec![0; records as usize]);
    for round in 1..=2 * ROUNDS as u64 {
        for step in 0..records {
            // One goes for good, and one of another length comes.
            let place = mix(step + round * records) % records;
            let id = place + oldest[place as usize] * records;
            assert!(table_of(id).delete(mix(id).to_le_bytes()).expect("it can be read"));
            oldest[place as usize] += 1;
            let id = id + records;
            let table = table_of(id);
            assert!(table.insert(&record_of_any_length(table, id, round)).expect("room"));
        }
        sizes.push((used(&db), db.statistics().data_bytes));
    }
    let [(second, second_file), (last, last_file)] = [sizes[1], sizes[2 * ROUNDS - 1]];
    println!(
        "in use: {:.3} of the load at first after 2 rounds, {:.3} after all; the file: {:.3}",
        second as f64 / before as f64,
        last as f64 / before as f64,
        last_file as f64 / second_file as f64,
    );
    assert!(last as f64 <= second as f64 * MOST_GROWTH_OF_ANY, "{before}, {sizes:?}");
    assert!(last_file as f64 <= second_file as f64 * MOST_GROWTH, "{before}, {sizes:?}");
    check(&db).unwrap_or_else(|why| panic!("{why}"));
}

/// By how much the places in use may grow where as much goes as comes.
const MOST_GROWTH_OF_ANY: f64 = 1.1;

#[test]
fn the_room_of_deleted_records_is_found_again_when_the_database_is_opened() {
    let records = number("LODE_RECORDS").unwrap_or(20_000) / 4;
    let folder = tempfile::tempdir().expect("a directory");
    let options = tight(records);
    let db = options.open(folder.path()).expect("it opens");
    let tables = tables_of_any_length(&db);
    for (id, table) in (0..records).flat_map(|id| tables.iter().map(move |table| (id, table))) {
        assert!(table.insert(&record_of_any_length(table, id, 0)).expect("room"));
    }
    let before = used(&db);
    let goes = |id: &u64| mix(*id) >> 40 & 1 == 0;
    for (id, table) in
        (0..records).filter(goes).flat_map(|id| tables.iter().map(move |table| (id, table)))
    {
        assert!(table.delete(mix(id).to_le_bytes()).expect("it can be read"));
    }
    db.close().expect("it closes");
    drop(tables);
    let db = options.open(folder.path()).expect("it opens again");
    for name in ["hash", "tree"] {
        let table = db.table(name).expect("it is there");
        for id in (0..records).filter(goes) {
            let record = record_of_any_length(&table, id, 0);
            let id = mix(id + records).to_le_bytes();
            assert!(table.insert(&[&id, &record[8..]].concat()).expect("room"));
        }
    }
    let after = used(&db);
    println!("in use: {:.3} of what it was", after as f64 / before as f64);
    assert!(after as f64 <= before as f64 * MOST_GROWTH_OF_ANY, "{before}, {after}");
    check(&db).unwrap_or_else(|why| panic!("{why}"));
}

/// Records that become shorter where they are leave room for others.
#[test]
fn the_room_of_records_that_shrank_is_used() {
    let records = number("LODE_RECORDS").unwrap_or(20_000) / 10;
    let db = Database::in_memory().expect("memory");
    for table in tables_of_any_length(&db) {
        let write = |ids: Range<u64>, size| {
            for id in ids {
                table.upsert(&filled(&table, id, size)).expect("room");
            }
            db.statistics().page_bytes
        };
        let before = write(0..records, 3_000);
        write(0..records, 100);
        let after = write(records..2 * records, 2_800);
        println!("in use: {:.3} of what it was", after as f64 / before as f64);
        assert!(after as f64 <= before as f64 * MOST_GROWTH, "{before}, {after}");
        db.drop_table(table.schema().name()).expect("it is there");
    }
}

/// Pages that are given back are gone from the data file with the next checkpoint: those of leaves
/// that were joined, and those of tables that were dropped.
#[test]
fn the_places_of_freed_pages_are_free_after_a_checkpoint() {
    /// The bytes by which the page map and the catalogue may differ.
    const FEW_BYTES: u64 = 8 << 14;
    let folder = tempfile::tempdir().expect("a directory");
    let options = Options::new().durability(Durability::Process).memory_bytes(16 << 20);
    let db = options.open(folder.path()).expect("it opens");
    let used = || {
        db.checkpoint().expect("room");
        db.statistics().data_used_bytes
    };
    let tables = tables(&db);
    let empty = used();
    for (table, id) in tables.iter().flat_map(|table| (0..2_000).map(move |id| (table, id))) {
        assert!(table.insert(&record(table, id, 0)).expect("room"));
    }
    let full = used();
    assert!(full > empty + 4 * FEW_BYTES, "{full} bytes instead of {empty}");
    for id in 0..2_000 {
        assert!(tables[2].delete(mix(id).to_le_bytes()).expect("it can be read"));
    }
    let joined = used();
    assert!(joined + FEW_BYTES < full, "{joined} bytes without what was in the tree, not {full}");
    for name in ["short", "long", "tree"] {
        db.drop_table(name).expect("it is there");
    }
    let dropped = used();
    assert!(dropped <= empty + FEW_BYTES, "{dropped} bytes instead of {empty}");
    check(&db).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn the_estimate_of_records_is_near_their_number() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory().expect("memory");
        let schema = Schema::build("t").key("id", Type::U64).column("rest", Type::Bytes(100));
        let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("a table");
        let mut count = 0;
        for wanted in [0, 1, 10, 1_000, 30_000] {
            while count < wanted {
                let key = crate::random::mix(count).to_le_bytes();
                assert!(table.insert(&[&key[..], &[7; 100]].concat()).expect("room"));
                count += 1;
            }
            let estimate = table.len_estimate().expect("it can be read");
            assert!(estimate >= count / 2 && estimate <= count * 2, "{kind:?}: {estimate}");
        }
    }
}
