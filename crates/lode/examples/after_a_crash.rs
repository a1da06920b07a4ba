//! A process writes, and ends without closing the database; another one opens it and finds
//! everything. Both are this program: it runs itself again as the one that crashes.

use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};

use lode::{Database, Durability, KeyKind, Options, Record, Result};

const EVENTS: u64 = 10_000;

#[derive(Record)]
struct Event {
    #[record(key)]
    number: u64,
    #[record(text = 32)]
    what: String,
}

fn open(directory: &Path) -> Result<Database> {
    Options::new().durability(Durability::Process).open(directory)
}

/// Writes events, and ends as if it had been killed.
fn write_and_crash(directory: &Path) -> Result<()> {
    let db = open(directory)?;
    let events = db.create_records::<Event>(KeyKind::Tree)?;
    for number in 0..EVENTS {
        events.insert(&Event { number, what: format!("event {number}") })?;
    }
    std::process::abort()
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Some(directory) = std::env::args_os().nth(1) {
        write_and_crash(Path::new(&directory))?;
    }
    let directory = tempfile::tempdir()?;
    let status = Command::new(std::env::current_exe()?).arg(directory.path()).status()?;
    println!("the writer ended: {status}");

    let db = open(directory.path())?;
    let events = db.records::<Event>()?;
    let mut count = 0;
    for event in events.iter() {
        let event = event?;
        count += u64::from(event.what == format!("event {}", event.number));
    }
    println!("{count} of {EVENTS} events are there");
    db.close()?;
    Ok(ExitCode::from(u8::from(count != EVENTS)))
}
