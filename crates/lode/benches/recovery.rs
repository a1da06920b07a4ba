//! Measures how fast a log is written by one thread at level `process`, and how fast it is replayed
//! after the process ended: `cargo bench -p lodedb --bench recovery`. Run by the tests, the size is
//! tiny.
//!
//! `LODE_LOG_MIB=n` asks for a log so long (at most 1024); `LODE_DIRECTORY` says where.

mod common;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use lode::simulation::Checkpoint;
use lode::{Database, Durability, KeyKind, Options, ReadTable, Type};

const REST: usize = 92;

/// Different records; beyond them, a longer log has new contents of the same ones.
const KEYS: u64 = 1_000_000;

/// The variable that makes this process the one that writes and ends; its value is the directory.
const WRITER: &str = "LODE_RECOVERY_WRITER";

fn options() -> Options {
    Options::new().durability(Durability::Process).memory_bytes(2 << 30).log_bytes(2 << 30)
}

/// The n-th record, with keys in no order.
fn record(number: u64) -> Vec<u8> {
    let key = (number % KEYS).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    key.to_le_bytes().into_iter().chain([(number / KEYS) as u8; REST]).collect()
}

/// Writes a log so long, says how many records it has and how many seconds it took, and ends the
/// process.
fn write(directory: &Path, log_bytes: u64) -> ! {
    let db = options().open(directory).expect("an empty directory");
    let table = db
        .create_table(&common::schema(Type::U64, Type::Bytes(REST as u32)), KeyKind::Hash)
        .expect("a new table");
    // No thread starts another checkpoint before this one has ended.
    let _checkpoint = Checkpoint::begin(&db).expect("nothing is wrong with the disk");
    let start = Instant::now();
    let mut count = 0;
    while count % 1024 != 0 || db.statistics().log_bytes < log_bytes {
        table.upsert(&record(count)).expect("room");
        count += 1;
    }
    println!("{count} {}", start.elapsed().as_secs_f64());
    // The database is not closed.
    std::process::exit(0);
}

/// The numbers that the writer says.
fn written(directory: &Path) -> (u64, f64) {
    let mut command = Command::new(std::env::current_exe().expect("this one"));
    let output = command.args(std::env::args().skip(1)).env(WRITER, directory).output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("numbers");
    let (count, seconds) = text.trim().split_once(' ').expect("two numbers");
    (count.parse().expect("a number"), seconds.parse().expect("a number"))
}

/// Returns true if it has the first and the last of `count` records.
fn has_all(db: &Database, count: u64) -> bool {
    let table = db.table("records").expect("it is there");
    [count.saturating_sub(KEYS), count - 1].into_iter().all(|number| {
        let record = record(number);
        table.get(&record[..8]).expect("a key").is_some_and(|row| row.bytes() == record)
    })
}

fn main() {
    let log_bytes = common::number("LODE_LOG_MIB", 64, 1).min(1024) << 20;
    if let Some(directory) = std::env::var_os(WRITER) {
        write(directory.as_ref(), log_bytes);
    }
    let directory = common::directory();
    let (count, writing) = written(directory.path());
    let start = Instant::now();
    let db = options().open(directory.path()).expect("the log is whole");
    let opening = start.elapsed().as_secs_f64();
    assert!(has_all(&db, count), "not all of it has come back");
    let line = |what: &str, seconds: f64| {
        let mib = log_bytes as f64 / f64::from(1 << 20);
        let records = count as f64 / seconds;
        println!(
            "{what:<8} {seconds:>8.2} s {:>8.1} MiB/s {records:>12.0} records/s",
            mib / seconds
        );
    };
    println!("{} MiB of log, {count} records", log_bytes >> 20);
    line("writing", writing);
    line("opening", opening);
    println!("opening takes {:.2} of the time that writing took", opening / writing);
}
