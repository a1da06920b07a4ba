//! Places for the tests: memory, and directories, where another thread pushes pages out and
//! makes checkpoints.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::effort::effort;
use crate::reading::{check, payload_of};
use crate::watched::watched;
use lode::{Database, Durability, KeyKind, Options, Schema, Table, Type};

/// The rounds of a test; `LODE_ROUNDS=n` asks for `n`.
pub fn rounds() -> u64 {
    effort("LODE_ROUNDS", 10_000, 30_000)
}

pub fn in_memory(test: impl Fn(&Database, u64)) {
    let db = Options::new().memory_bytes(256 << 20).in_memory().expect("memory");
    watched(|| test(&db, rounds()));
}

/// Runs a test in directories, at several levels, with little memory and a short log. Another
/// thread reads and writes a table that does not fit into memory.
pub fn in_directories(test: impl Fn(&Database, u64)) {
    let levels = [(Durability::None, 10), (Durability::Process, 10), (Durability::Commit, 300)];
    for (level, less) in levels {
        let directory = tempfile::tempdir().expect("a directory");
        let options = Options::new()
            .memory_bytes(3 << 19)
            .log_bytes(1 << 20)
            .segment_bytes(1 << 18)
            .durability(level);
        let db = options.open(directory.path()).expect("an empty directory");
        let other = ballast(&db);
        let done = AtomicBool::new(false);
        watched(|| {
            std::thread::scope(|scope| {
                scope.spawn(|| sweep(&db, &other, &done));
                // The other thread ends too when the test fails.
                let _stop = Stop(&done);
                test(&db, rounds() / less);
            });
        });
        drop(other);
        check(&db).unwrap_or_else(|why| panic!("{level:?}: {why}"));
        db.close().expect("nothing is wrong with the directory");
        let db = options.open(directory.path()).expect("it was closed");
        check(&db).unwrap_or_else(|why| panic!("{level:?}, opened again: {why}"));
    }
}

/// Sets what it names when it is dropped.
pub struct Stop<'s>(pub &'s AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

pub const BALLAST: u64 = 600;

pub fn ballast(db: &Database) -> Table {
    let schema = Schema::build("ballast").key("at", Type::U64).column("rest", Type::Bytes(4000));
    let schema = schema.finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    let mut load = db.begin();
    for at in 0..BALLAST {
        if at % 20 == 19 {
            std::mem::replace(&mut load, db.begin()).commit().expect("no other transaction runs");
        }
        load.insert(&table, &ballast_record(at, 0)).expect("it is noted");
    }
    load.commit().expect("no other transaction runs");
    table
}

pub fn ballast_record(at: u64, round: u64) -> Vec<u8> {
    let rest = (0..500).flat_map(|word| (at ^ round ^ word).to_le_bytes());
    at.to_le_bytes().into_iter().chain(rest).collect()
}

/// Reads all records of the other table and writes some, until `done` is set.
pub fn sweep(db: &Database, table: &Table, done: &AtomicBool) {
    let mut last = vec![0; BALLAST as usize];
    for round in 1.. {
        for at in 0..BALLAST {
            if done.load(Ordering::SeqCst) {
                return;
            }
            let found = payload_of(&table, at.to_le_bytes()).expect("it can be read");
            let wanted = ballast_record(at, last[at as usize]);
            assert!(found.as_deref() == Some(&wanted[8..]), "record {at} of the other table");
        }
        let at = round * 7 % BALLAST;
        table.upsert(&ballast_record(at, round)).expect("it can be written");
        last[at as usize] = round;
        match round % 3 {
            0 => drop(db.compact().expect("nothing is wrong with the directory")),
            1 => db.checkpoint().expect("nothing is wrong with the directory"),
            _ => db.flush().expect("nothing is wrong with the directory"),
        }
    }
}

pub fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("eight bytes"))
}
