//! Kills a process that writes, replaces and removes blobs with four threads: each blob that was
//! acknowledged is there and whole, and nothing is left of others.
//!
//! The test runs itself again as a child, as [`kill`](crate::kill) does. `LODE_BLOB_KILLS=n` asks
//! for `n` rounds.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::effort::effort;
use crate::random::mix;
use crate::reading::check;
use lode::{BlobReader, Blobs, Database, Durability, Options, ReadTable};

/// Set for the child only: the first step and the directory.
const CHILD: &str = "LODE_BLOB_KILL_CHILD";

const THREADS: u64 = 4;

/// Bytes of a full chunk.
const CHUNK: usize = 65_500;

/// The steps that wrote the blobs of a thread, by their keys.
type Content = BTreeMap<u8, u64>;

/// The work of a step.
#[derive(Clone, Copy)]
enum Work {
    Put,
    /// Writes it in pieces.
    Pieces,
    /// Writes a part of it, and gives that up.
    GiveUp,
    Remove,
}

/// Returns what a thread does in a step, and to which of its keys.
fn work(thread: u64, step: u64) -> (u8, Work) {
    let random = mix(step * THREADS + thread);
    let work = match (random >> 32) % 8 {
        0 => Work::Remove,
        1 => Work::GiveUp,
        2..5 => Work::Pieces,
        _ => Work::Put,
    };
    ((random % 5) as u8, work)
}

fn apply(content: &mut Content, thread: u64, step: u64) {
    match work(thread, step) {
        (key, Work::Put | Work::Pieces) => drop(content.insert(key, step)),
        (key, Work::Remove) => drop(content.remove(&key)),
        (_, Work::GiveUp) => {}
    }
}

/// Returns the blob that a step writes.
fn bytes(thread: u64, step: u64) -> Vec<u8> {
    let random = mix(mix(step * THREADS + thread));
    let length = match random % 4 {
        0 => (random >> 8) as usize % 300,
        1 => CHUNK,
        _ => (random >> 8) as usize % (3 * CHUNK),
    };
    (0..length).map(|at| random as u8 ^ (at ^ at >> 8) as u8).collect()
}

fn open(path: &Path) -> (Database, Blobs) {
    let options = Options::new().memory_bytes(2 << 20).log_bytes(1 << 20).segment_bytes(1 << 18);
    let db = options.durability(Durability::Process).open(path).expect("it can be opened");
    let files = db.blobs_or_create("files").expect("a store");
    (db, files)
}

/// Does one step after another, and says so, until it is killed.
fn child(path: &Path, first: u64) {
    let (db, files) = open(path);
    lode::simulation::widen_log(&db, THREADS as usize).expect("space");
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let files = &files;
            scope.spawn(move || {
                let mut reader: Option<BlobReader> = None;
                for step in first.. {
                    // A reader of any thread's blob, which may be replaced while it is open.
                    let random = mix(step << 8 | thread);
                    if random.is_multiple_of(3) {
                        let of = [(random >> 8) as u8 % THREADS as u8, (random >> 16) as u8 % 5];
                        reader = files.read(of).expect("it is looked for");
                    }
                    let (key, work) = work(thread, step);
                    let key = [thread as u8, key];
                    let all = bytes(thread, step);
                    match work {
                        Work::Put => drop(files.put(key, &all[..]).expect("it is written")),
                        Work::Remove => drop(files.remove(key).expect("it is removed")),
                        Work::Pieces | Work::GiveUp => {
                            let mut writer = files.write(key).expect("a writer");
                            for piece in all.chunks(30_000) {
                                writer.write_all(piece).expect("it is written");
                            }
                            if matches!(work, Work::Pieces) {
                                writer.finish().expect("it is written");
                            }
                        }
                    }
                    if let Some(reader) = reader.as_mut().filter(|_| random.is_multiple_of(2)) {
                        let mut all = Vec::new();
                        reader.read_to_end(&mut all).expect("it reads on");
                    }
                    // One write for all of it, so that lines of threads do not mix.
                    let line = format!("\ndone {thread} {step}\n");
                    if std::io::stdout().write_all(line.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
}

/// Returns the keys of each thread. Checks that blobs have their lengths, and that a writer leaves
/// nothing of others.
fn keys(db: &Database, files: &Blobs) -> [Vec<u8>; THREADS as usize] {
    assert_eq!(files.remove("no blob"), Ok(false));
    let mut keys = [const { Vec::new() }; THREADS as usize];
    let mut chunks = 0;
    for blob in files.iter() {
        let blob = blob.expect("it is read");
        let all = files.get(&blob.key).expect("it is read").expect("it is there");
        assert_eq!(all.len() as u64, blob.length_bytes);
        chunks += all.len().div_ceil(CHUNK) as u64;
        keys[usize::from(blob.key[0])].push(blob.key[1]);
    }
    let left = ["files.chunks", "files.pending"]
        .map(|name| db.table(name).expect("it is there").len().expect("it is counted"));
    assert_eq!(left, [chunks, 0], "something is left of other blobs");
    keys
}

/// Returns true if a thread has the blobs of these steps under these keys, and no others.
fn has(files: &Blobs, thread: u64, keys: &[u8], content: &Content) -> bool {
    let is_whole = |(key, step): (&u8, &u64)| {
        let found = files.get([thread as u8, *key]).expect("it is read");
        found.is_some_and(|found| found == bytes(thread, *step))
    };
    content.keys().eq(keys) && content.iter().all(is_whole)
}

/// Runs a child on a directory, and kills it after it has reported some steps. Returns the last one
/// that each thread has reported.
fn kill_after(count: u64, first: u64, directory: &Path) -> [Option<u64>; THREADS as usize] {
    let mut process = Command::new(std::env::current_exe().expect("this test"))
        .args([
            "blob_kills::blobs_that_a_killed_process_had_acknowledged_are_whole",
            "--exact",
            "--nocapture",
        ])
        .env(CHILD, format!("{first} {}", directory.display()))
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test runs again");
    let lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
    let mut reported = lines.filter_map(|line| {
        let line = line.expect("text");
        let (thread, step) = line.strip_prefix("done ")?.split_once(' ')?;
        Some((thread.parse::<usize>().ok()?, step.parse::<u64>().ok()?))
    });
    let mut last = [None; THREADS as usize];
    for _ in 0..count {
        let (thread, step) = reported.next().expect("it goes on until it is killed");
        last[thread] = Some(step);
    }
    process.kill().expect("it is there");
    process.wait().expect("it has ended");
    // What it had said before it ended.
    reported.for_each(|(thread, step)| last[thread] = Some(step));
    last
}

#[test]
fn blobs_that_a_killed_process_had_acknowledged_are_whole() {
    if let Ok(text) = std::env::var(CHILD) {
        let (first, path) = text.split_once(' ').expect("two words");
        return child(Path::new(path), first.parse().expect("a step"));
    }
    let directory = tempfile::tempdir().expect("a directory");
    let mut content = [const { Content::new() }; THREADS as usize];
    let mut acknowledged = 0;
    for round in 0..effort("LODE_BLOB_KILLS", 8, 40) {
        let first = round * 1_000_000;
        let last = kill_after(mix(round) % 200, first, directory.path());
        let (db, files) = open(directory.path());
        check(&db).unwrap_or_else(|why| panic!("round {round}: {why}"));
        let keys = keys(&db, &files);
        for (thread, content) in (0..).zip(&mut content) {
            let keys = &keys[thread as usize];
            let next = last[thread as usize].map_or(first, |step| step + 1);
            (first..next).for_each(|step| apply(content, thread, step));
            acknowledged += next - first;
            if has(&files, thread, keys, content) {
                continue;
            }
            // The step that it was at may have happened, too.
            apply(content, thread, next);
            let is_next = has(&files, thread, keys, content);
            assert!(is_next, "round {round}: thread {thread}, step {next}, keys {keys:?}");
        }
    }
    assert!(acknowledged > 0, "nothing was done");
}
