//! Measures what four processes that read cost the one that writes, by turns with none: `cargo
//! bench -p lodedb --bench readers`. Each reader shows the newest moment, looks up a record, and
//! waits. Run by the tests, the sizes are tiny.
//!
//! The processor time is that of the process that writes: what it pays itself. Writes a second also
//! show how readers and writer share processors.
//!
//! `LODE_ROUNDS` is the number of rounds, `LODE_ROUND_MILLISECONDS` the length of one,
//! `LODE_PAUSE_MILLISECONDS` that of a reader's pause; `LODE_DIRECTORY` is where the database is.

mod common;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lode::{Durability, Error, KeyKind, Options, ReadTable, Table, Type};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};

const READERS: usize = 4;
const REST: usize = 92;

/// The variable that makes this process a reader; its value is the directory.
const READER: &str = "LODE_BENCH_READER";

fn options() -> Options {
    Options::new().memory_bytes(256 << 20).log_bytes(64 << 20)
}

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

fn record(number: u64, content: u8) -> Vec<u8> {
    key(number).into_iter().chain([content; REST]).collect()
}

/// Reads until the process is killed.
fn read(directory: &Path, pause: Duration) -> ! {
    let mut db = options().open_read_only(directory).expect("it is there");
    for number in 0.. {
        match db.table("records").and_then(|table| table.get(&key(number % 1000)[..])) {
            Ok(found) => assert!(found.is_some(), "record {number} was there from the start"),
            Err(error) => assert_eq!(error, Error::MomentExpired),
        }
        std::thread::sleep(pause);
        db.refresh().expect("it is there");
    }
    unreachable!("there is always a next record");
}

fn start(directory: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this one"));
    command.args(std::env::args().skip(1)).env(READER, directory).stdin(Stdio::null());
    command.spawn().expect("it starts")
}

/// Returns the seconds of processors that this process has taken.
fn processor_seconds() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("it is known");
    let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// Returns the writes a second of one round with `readers`, and those a second of processor time.
fn measure(
    table: &Table,
    records: u64,
    directory: &Path,
    readers: usize,
    time: Duration,
) -> [f64; 2] {
    let readers: Vec<_> = (0..readers).map(|_| start(directory)).collect();
    let (start, processor) = (Instant::now(), processor_seconds());
    let mut count = 0;
    while start.elapsed() < time {
        for _ in 0..64 {
            let number = (count as u64).wrapping_mul(7919) % records;
            table.upsert(&record(number, count as u8)).expect("room");
            count += 1;
        }
    }
    let seconds = [start.elapsed().as_secs_f64(), processor_seconds() - processor];
    let writes = seconds.map(|seconds| f64::from(count) / seconds);
    for mut reader in readers {
        assert!(reader.try_wait().is_ok_and(|ended| ended.is_none()), "a reader has failed");
        reader.kill().and_then(|()| reader.wait()).expect("it was running");
    }
    writes
}

fn main() {
    let rounds = common::number("LODE_ROUNDS", 21, 1);
    let time = Duration::from_millis(common::number("LODE_ROUND_MILLISECONDS", 1000, 5));
    let pause = Duration::from_millis(common::number("LODE_PAUSE_MILLISECONDS", 250, 1));
    let records = common::number("LODE_RECORDS", 200_000, 1_000);
    if let Some(directory) = std::env::var_os(READER) {
        read(directory.as_ref(), pause);
    }
    println!("level, writes alone, with {READERS} readers, the ratio and its quartiles");
    for level in [Durability::Process, Durability::Periodic] {
        let directory = common::directory();
        let db = options().durability(level).open(directory.path()).expect("an empty directory");
        let schema = common::schema(Type::U64, Type::Bytes(REST as u32));
        let table = db.create_table(&schema, KeyKind::Hash).expect("a new table");
        table.insert_all((0..records).map(|number| record(number, 0))).expect("room");
        let mut seen = [0; 2].map(|_| [Vec::new(), Vec::new(), Vec::new()]);
        for _ in 0..rounds {
            let [alone, with] =
                [0, READERS].map(|count| measure(&table, records, directory.path(), count, time));
            for (of, seen) in seen.iter_mut().enumerate() {
                seen[0].push(alone[of]);
                seen[1].push(with[of]);
                seen[2].push(with[of] / alone[of]);
            }
        }
        for (unit, mut seen) in ["a second", "a processor second"].into_iter().zip(seen) {
            seen.iter_mut().for_each(|seen| seen.sort_by(f64::total_cmp));
            let at = |seen: &[f64], quarter: usize| seen[(seen.len() - 1) * quarter / 4];
            let [alone, with, ratios] = &seen;
            println!(
                "{:<8} {unit:<18} {:>10.0} {:>10.0} {:>6.3} ({:.3} to {:.3})",
                format!("{level:?}"),
                at(alone, 2),
                at(with, 2),
                at(ratios, 2),
                at(ratios, 1),
                at(ratios, 3)
            );
        }
    }
}
