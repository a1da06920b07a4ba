//! A steady load: space is used again, and the files stop growing.
//!
//! `LODE_RECORDS=n` asks for so many records.

use lode::{Database, Durability, KeyKind, Options, Schema, Table, Type};

const ROUNDS: usize = 6;

/// By how much the data file may grow after it has seen the whole load once.
const MOST_GROWTH: f64 = 1.25;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
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

/// A permutation of all numbers, so that keys come in no order.
fn scatter(number: u64) -> u64 {
    (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn record(table: &Table, id: u64, n: u64) -> Vec<u8> {
    let rest = vec![n as u8; table.schema().record_size() - 16];
    [&scatter(id).to_le_bytes()[..], &n.to_le_bytes(), &rest].concat()
}

#[test]
fn files_stop_growing_under_a_steady_load() {
    let records = number("LODE_RECORDS").unwrap_or(20_000);
    let folder = tempfile::tempdir().expect("a directory");
    let options = Options::new()
        .durability(Durability::Process)
        .memory_bytes((records * 50).max(4 << 20))
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
            let id = scatter(step + round) % records;
            let table = &tables[(id % 3) as usize];
            match step % 4 {
                // A tenth goes, and comes back with the next round.
                0 if id % 10 == round % 10 => {
                    table.delete(&scatter(id).to_le_bytes()).expect("it can be read");
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
    db.check().unwrap_or_else(|why| panic!("{why}"));

    db.compact().expect("room");
    let compact = db.statistics();
    println!("compact: {compact:?}");
    assert!(compact.data_bytes <= compact.data_used_bytes + (compact.data_used_bytes / 4));
    let counts = |db: &Database| -> Vec<u64> {
        let count = |name| {
            let (table, mut count) = (db.table(name).expect("it is there"), 0);
            db.snapshot()
                .each(&table, &mut |_| {
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
    db.check().unwrap_or_else(|why| panic!("{why}"));
}

/// Pages that are given back are gone from the data file with the next checkpoint: those of leaves
/// that were joined, and those of tables that were dropped.
#[test]
fn the_places_of_freed_pages_are_free_after_a_checkpoint() {
    /// What the page map and the catalogue may differ by.
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
        assert!(tables[2].delete(&scatter(id).to_le_bytes()).expect("it can be read"));
    }
    let joined = used();
    assert!(joined + FEW_BYTES < full, "{joined} bytes without what was in the tree, not {full}");
    for name in ["short", "long", "tree"] {
        db.drop_table(name).expect("it is there");
    }
    let dropped = used();
    assert!(dropped <= empty + FEW_BYTES, "{dropped} bytes instead of {empty}");
    db.check().unwrap_or_else(|why| panic!("{why}"));
}
