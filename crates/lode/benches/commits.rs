//! Commits a second at level `commit`, by several threads that share syncs, taking turns with fewer
//! of them: `cargo bench -p lodedb --bench commits`. Run by the tests, the sizes are tiny.
//!
//! `LODE_ROUNDS` is the number of rounds; `LODE_DIRECTORY` is where the database is.

mod common;

use std::time::{Duration, Instant};

use lode::{Durability, KeyKind, Options, Table, Type};

const THREADS: [u64; 4] = [1, 2, 4, 8];
const REST: usize = 92;

/// Commits a second in one round.
fn measure(table: &Table, threads: u64, time: Duration) -> f64 {
    let start = Instant::now();
    let count: u64 = std::thread::scope(|scope| {
        let commit = |thread: u64| {
            let mut count = 0u64;
            while start.elapsed() < time {
                let id = (count % 1000 * 8 + thread).to_le_bytes();
                let record: Vec<u8> = id.into_iter().chain([count as u8; REST]).collect();
                table.upsert(&record).expect("room");
                count += 1;
            }
            count
        };
        let threads: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || commit(thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it commits")).sum()
    });
    count as f64 / start.elapsed().as_secs_f64()
}

/// The one in the middle.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn main() {
    let rounds = common::number("LODE_ROUNDS", 7, 1);
    let time = Duration::from_millis(common::number("LODE_ROUND_MILLISECONDS", 500, 5));
    let directory = common::directory();
    let options = Options::new().durability(Durability::Commit);
    let db = options.open(directory.path()).expect("an empty directory");
    let table = db
        .create_table(&common::schema(Type::U64, Type::Bytes(REST as u32)), KeyKind::Hash)
        .expect("a new table");
    let mut seen = THREADS.map(|_| Vec::new());
    for _ in 0..rounds {
        for (threads, seen) in THREADS.into_iter().zip(&mut seen) {
            seen.push(measure(&table, threads, time));
        }
    }
    println!("threads, commits a second (median of {rounds} rounds), times those of one thread");
    let medians = seen.map(median);
    for (threads, commits) in THREADS.into_iter().zip(medians) {
        println!("{threads:>7} {commits:>9.0} {:>6.2}", commits / medians[0]);
    }
}
