//! A store four times as large as its memory: how many pages are read for a record that is looked
//! up at random, and how many bytes were written for each that was inserted. `cargo bench -p lodedb
//! --bench beyond_memory`. Run by the tests, the size is tiny. What is read may come from the
//! operating system's memory.
//!
//! `LODE_ROWS` is the number of records; `LODE_DIRECTORY` is where the database is.

mod common;
#[path = "../tests/support/random.rs"]
mod random;

use std::time::Instant;

use lode::{Durability, KeyKind, Options, ReadTable, Type};
use random::mix;

const KEY_BYTES: usize = 64;

/// A record has from 1 byte to this, in the mean half of it.
const MOST_BYTES: u64 = 1_000;

fn key(id: u64) -> Vec<u8> {
    (0..KEY_BYTES as u64 / 8).flat_map(|part| mix(id * 8 + part).to_le_bytes()).collect()
}

fn size(id: u64) -> usize {
    (mix(id ^ 0x5555) % MOST_BYTES + 1) as usize
}

fn main() {
    let rows = common::number("LODE_ROWS", 200_000, 2_000);
    let directory = common::directory();
    let (key_type, rest) = (Type::Bytes(KEY_BYTES as u32), Type::VarBytes(MOST_BYTES as u32));
    let schema = common::schema(key_type, rest);
    let options = Options::new().durability(Durability::Process);
    let bytes: u64 = (0..rows).map(|id| (KEY_BYTES + size(id)) as u64).sum();
    let open = |memory_bytes: u64| {
        options.clone().memory_bytes(memory_bytes).open(directory.path()).expect("a database")
    };
    let db = open(bytes / 4);
    let table = db.create_table(&schema, KeyKind::Hash).expect("a new table");
    let start = Instant::now();
    let mut record = Vec::new();
    for id in 0..rows {
        let size = size(id);
        record.clear();
        record.extend(key(id));
        record.extend((size as u32).to_le_bytes());
        record.resize(record.len() + size, id as u8);
        assert!(table.insert(&record).expect("space"));
    }
    let took = start.elapsed().as_secs_f64();
    drop(table);
    db.checkpoint().expect("space");
    let statistics = db.statistics();
    // Each record is in the log once.
    let written = (statistics.data_written_bytes + bytes) as f64 / bytes as f64;
    println!("{rows} records of {} MiB, memory for {} MiB", bytes >> 20, bytes >> 22);
    println!(
        "insert: {:.0} records a second, {written:.2} bytes written for each",
        rows as f64 / took
    );
    println!("data file: {:.2} bytes for each", statistics.data_used_bytes as f64 / bytes as f64);
    db.close().expect("space");

    let db = open(bytes / 4);
    let table = db.table("records").expect("it is there");
    let mut payload = Vec::new();
    for round in 1..=3 {
        let before = db.statistics().data_read_bytes;
        let (start, count) = (Instant::now(), rows.min(200_000));
        for at in 0..count {
            let id = mix(at + round * count) % rows;
            assert!(table.get_into(&key(id), &mut payload).expect("it can be read"));
            assert_eq!(payload.len(), 4 + size(id));
        }
        let took = start.elapsed().as_secs_f64();
        let pages = (db.statistics().data_read_bytes - before) / (16 << 10);
        println!(
            "fetch, round {round}: {:.0} records a second, {:.3} pages read for each",
            count as f64 / took,
            pages as f64 / count as f64
        );
    }
}
