//! Measures how long it takes to open a database that was closed, and to get one record: `cargo
//! bench -p lodedb --bench opening`. Run by the tests, the size is tiny. The files are in the
//! operating system's memory.
//!
//! `LODE_ROWS` is the number of records; `LODE_DIRECTORY` is where the database is.

mod common;

use std::time::Instant;

use lode::{Durability, KeyKind, Options, ReadTable, Type};

const REST: usize = 26;

/// A permutation of all numbers, so that keys come in no order.
fn key(id: u64) -> [u8; 8] {
    id.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

fn main() {
    let rows = common::number("LODE_ROWS", 200_000, 1_000);
    let options = Options::new().durability(Durability::Process);
    println!("{rows} records: milliseconds to open, to get the first record, and all in all");
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let directory = common::directory();
        let db = options.open(directory.path()).expect("an empty directory");
        let table = db
            .create_table(&common::schema(Type::U64, Type::Bytes(REST as u32)), kind)
            .expect("a new table");
        for id in 0..rows {
            let record: Vec<u8> = key(id).into_iter().chain([id as u8; REST]).collect();
            assert!(table.insert(&record).expect("room"));
        }
        drop(table);
        db.close().expect("nothing is wrong with the disk");
        for round in 1..=5 {
            let start = Instant::now();
            let db = options.open(directory.path()).expect("it was closed");
            let opened = start.elapsed();
            let id = round * rows / 7;
            let table = db.table("records").expect("it is there");
            let found = table.get(key(id)).expect("a key");
            let all = start.elapsed();
            assert_eq!(found.expect("it was inserted").payload(), [id as u8; REST]);
            let [opened, got, all] =
                [opened, all - opened, all].map(|took| took.as_secs_f64() * 1000.0);
            println!("{kind:?}, round {round}: {opened:>9.3} {got:>9.3} {all:>9.3}");
            drop(table);
            db.close().expect("nothing is wrong with the disk");
        }
    }
}
