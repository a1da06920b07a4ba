//! Checks what transactions promise, by histories: seeded transactions over a hashed and an ordered
//! table, whose reads must be explained by some order.

#[path = "../support/effort.rs"]
mod effort;
mod engine;
#[path = "../support/watched.rs"]
mod watched;

use assay_isolation::drive::{Plan, in_threads, in_turns};
use assay_isolation::{Anomaly, Level, Transaction, Verdict, check};
use effort::effort;
use engine::{Lode, Use};
use lode::{Database, Durability, Options};
use watched::watched;

/// The level that all transactions promise, whatever they read. DESIGN.md says so.
const PROMISE: Level = Level::StrictlySerializable;

/// The transactions of one database. Hashed tables are scanned whole, so it has few records.
const A_DATABASE: u64 = 4_000;

fn plan(seed: u64, ranges: bool) -> Plan {
    Plan { seed, threads: 8, transactions: A_DATABASE, keys: 32, ranges }
}

/// Returns the verdict on a history that a plan has made.
#[track_caller]
fn verdict(history: &[Transaction]) -> Verdict {
    assert_eq!(history.len() as u64, A_DATABASE);
    check(history).expect("values are written once")
}

/// Runs plans on threads, in databases that `open` makes; `LODE_TRANSACTIONS` is the number of all
/// transactions.
fn expect_in_threads(used: Use, ranges: bool, open: &dyn Fn() -> Database) {
    let all = effort("LODE_TRANSACTIONS", A_DATABASE, 250 * A_DATABASE);
    for seed in 0..all.div_ceil(A_DATABASE) {
        let engine = Lode::new(open(), used);
        let history = watched(|| in_threads(&engine, &plan(seed, ranges)));
        let verdict = verdict(&history.expect("room"));
        assert!(verdict.level >= PROMISE, "seed {seed}: {verdict}");
    }
}

fn in_memory() -> Database {
    Database::in_memory().expect("memory")
}

#[test]
fn transactions_that_look_keys_up_are_serializable() {
    expect_in_threads(Use::Now, false, &in_memory);
}

#[test]
fn transactions_with_scans_are_serializable() {
    expect_in_threads(Use::Now, true, &in_memory);
}

#[test]
fn transactions_at_a_snapshot_are_serializable() {
    expect_in_threads(Use::AtSnapshot, true, &in_memory);
}

#[test]
fn transactions_that_find_records_by_indexes_are_serializable() {
    expect_in_threads(Use::ByIndex, false, &in_memory);
    expect_in_threads(Use::ByIndex, true, &in_memory);
}

#[test]
fn transactions_in_directories_are_isolated_as_in_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = Options::new().memory_bytes(2 << 20).durability(Durability::Process);
    let count = std::cell::Cell::new(0);
    let open = || {
        count.set(count.get() + 1);
        let path = directory.path().join(count.get().to_string());
        options.open(path).expect("an empty directory")
    };
    expect_in_threads(Use::Now, false, &open);
    expect_in_threads(Use::Now, true, &open);
}

#[test]
fn sessions_that_take_turns_are_serializable() {
    let cases =
        [(Use::Now, false), (Use::Now, true), (Use::AtSnapshot, true), (Use::ByIndex, true)];
    for seed in 0..4 {
        for (used, ranges) in cases {
            let engine = Lode::new(in_memory(), used);
            let verdict = verdict(&in_turns(&engine, &plan(seed, ranges)).expect("room"));
            assert!(verdict.level >= PROMISE, "{used:?}, seed {seed}: {verdict}");
        }
    }
}

#[test]
fn reads_outside_of_the_transaction_are_seen_to_be_not_isolated() {
    let engine = Lode::new(in_memory(), Use::ReadOutside);
    let verdict = verdict(&in_turns(&engine, &plan(0, true)).expect("room"));
    assert_eq!(verdict.level, Level::ReadCommitted, "{verdict}");
    for anomaly in [Anomaly::LostUpdate, Anomaly::ReadSkew, Anomaly::WriteSkew, Anomaly::Phantom] {
        assert!(verdict.shows(anomaly), "{anomaly}: {verdict}");
    }
}
