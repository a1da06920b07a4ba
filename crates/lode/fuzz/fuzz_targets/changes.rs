//! Kept segments of the log with some bytes written over, and their checksums made right again or
//! not: reading the changes returns commits or an error. Without right checksums, no commit is read
//! that was not made.

#![no_main]

use std::sync::OnceLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use lode::simulation::{self, Simulated};
use lode::{Database, Position};
use lode_fuzz::{FRAMES_AT, fix_segment, keeping, kept, options};

#[derive(Arbitrary, Debug)]
struct Input {
    fix: bool,
    patches: Vec<Patch>,
    /// The parts of a position to read from.
    since: Option<(u8, u16, u32)>,
}

#[derive(Arbitrary, Debug)]
struct Patch {
    segment: u8,
    /// In the frames, or in the headers before them.
    at: u16,
    is_header: bool,
    bytes: [u8; 8],
    size: u8,
}

/// The most commits to read: forged frames may be many.
const MOST_COMMITS: usize = 10_000;

/// Reads commits from a position on, to the end or the first that cannot be read.
fn commits(db: &Database, since: Option<Position>) -> Vec<String> {
    let Ok(changes) = db.changes(since) else { return Vec::new() };
    let whole = changes.map_while(Result::ok).take(MOST_COMMITS);
    whole.map(|commit| format!("{:?}", commit.changes)).collect()
}

fn made() -> (Simulated, Vec<String>) {
    let disk = kept();
    let db = simulation::open_read_only(&options(), &disk, 1).expect("it is whole");
    let made = commits(&db, None);
    assert!(made.len() > 100, "{} commits", made.len());
    (disk, made)
}

fuzz_target!(|input: Input| {
    static MADE: OnceLock<(Simulated, Vec<String>)> = OnceLock::new();
    let (whole, made) = MADE.get_or_init(made);
    let disk = whole.fork();
    let names = disk.file_names();
    let logs: Vec<_> = names.iter().filter(|name| name.starts_with("log-")).collect();
    for Patch { segment, at, is_header, bytes, size } in input.patches.iter().take(16) {
        let name = logs[usize::from(*segment) % logs.len()];
        let mut log = disk.file_bytes(name).expect("it is there");
        let room = if *is_header { FRAMES_AT } else { (log.len() - FRAMES_AT).max(8) };
        let from = if *is_header { 0 } else { FRAMES_AT } + usize::from(*at) % (room - 7);
        let size = usize::from(*size) % 8 + 1;
        if let Some(place) = log.get_mut(from..from + size) {
            place.copy_from_slice(&bytes[..size]);
        }
        if input.fix {
            fix_segment(&mut log);
        }
        disk.put_file(name, log);
    }
    let since = input.since.and_then(|(segment, at, chain)| {
        let text = format!("{}-{}-{chain:08x}", segment % 8, FRAMES_AT + usize::from(at));
        text.parse().ok()
    });
    if let Ok(db) = simulation::open_read_only(&options(), &disk, 2) {
        let read = commits(&db, None);
        let is_part = read.is_empty() || made.windows(read.len()).any(|part| part == read);
        assert!(input.fix || is_part, "a commit was read that was not made");
        commits(&db, since);
        let _ = db.check();
    }
    if let Ok(db) = simulation::open(&keeping(), &disk, 3) {
        commits(&db, None);
        commits(&db, since);
        let _ = db.check();
        let _ = db.close();
    }
});
