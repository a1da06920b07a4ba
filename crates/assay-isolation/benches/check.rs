//! The time that a check takes: `cargo bench -p assay-db-isolation`. Run by the tests, the history
//! is short.
//!
//! `ISOLATION_TRANSACTIONS` is the number of transactions, of 2 to 8 operations each.

use std::time::Instant;

use assay_isolation::{Level, Operation, Outcome, Row, Transaction, check};

#[path = "../tests/support/random.rs"]
mod random;

use random::Random;

/// Keys that are in use at the same time: lists have even numbers, registers odd ones.
const KEYS: u64 = 64;
/// The transactions after which other keys are used.
const KEYS_FOR: u64 = 400;
/// The transactions that run at the same time.
const THREADS: u64 = 8;

/// Returns the history of a serializable store.
fn history(count: u64) -> Vec<Transaction> {
    let mut random = Random(7);
    let mut state = vec![Vec::new(); KEYS as usize];
    let mut history = Vec::new();
    let mut next_value = 0;
    for number in 0..count {
        if number % KEYS_FOR == 0 {
            state.iter_mut().for_each(Vec::clear);
        }
        let first_key = number / KEYS_FOR * KEYS;
        let mut operations = Vec::new();
        let wanted = 2 + random.below(7) as usize;
        while operations.len() < wanted {
            let slot = random.below(KEYS);
            let (key, seen) = (first_key + slot, &mut state[slot as usize]);
            if random.once_in(8) {
                let last = (slot + 8).min(KEYS - 1);
                let rows = (slot..=last).filter(|slot| !state[*slot as usize].is_empty());
                let row = |slot: u64| Row {
                    key: first_key + slot,
                    seen: state[slot as usize][..].into(),
                };
                let (low, high) = (key, first_key + last);
                operations.push(Operation::Range { low, high, rows: rows.map(row).collect() });
                continue;
            }
            operations.push(Operation::read(key, seen));
            if random.once_in(2) {
                next_value += 1;
                let value = next_value;
                if key % 2 == 0 {
                    seen.push(value);
                    operations.push(Operation::Append { key, value });
                } else {
                    *seen = vec![value];
                    operations.push(Operation::Write { key, value });
                }
            }
        }
        let start = THREADS * number;
        let end = start + THREADS * THREADS - 1;
        history.push(Transaction { start, end, outcome: Outcome::Committed, operations });
    }
    history
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let given = std::env::var("ISOLATION_TRANSACTIONS").ok().and_then(|text| text.parse().ok());
    let count = given.unwrap_or(if is_bench { 1_000_000 } else { 2_000 });
    let mut history = history(count);
    let operations: usize = history.iter().map(|one| one.operations.len()).sum();
    for spoiled in [false, true] {
        if spoiled {
            // Every tenth reads its first list or register as it was before the last write.
            for transaction in history.iter_mut().step_by(10) {
                if let Some(Operation::Read { seen, .. }) = transaction.operations.first_mut() {
                    *seen = seen.split_last().map_or(&[][..], |(_, rest)| rest).into();
                }
            }
        }
        let start = Instant::now();
        let verdict = check(&history).expect("a history");
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(verdict.level == Level::StrictlySerializable, !spoiled, "{verdict}");
        println!(
            "{count} transactions, {operations} operations: {seconds:.2} s, {}",
            verdict.level
        );
    }
    println!("{}", check(&history).expect("a history"));
}
