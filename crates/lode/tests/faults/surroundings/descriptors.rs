//! The process has few descriptors for a time: what could not be done is said, and is not done;
//! then everything continues.

use std::fs;

use crate::reading::check;
use lode::{Database, Durability, Error, Options};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::support::{keys, put, role, run};

/// Limits that are tried, from the number of descriptors that are open on.
const LIMITS: u64 = 14;

/// Segments so short that a few records fill one.
fn options() -> Options {
    Options::new()
        .memory_bytes(1 << 20)
        .segment_bytes(1 << 12)
        .log_bytes(1 << 16)
        .durability(Durability::Commit)
}

fn limit(descriptors: u64) {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, descriptors, hard).expect("it is no higher");
}

/// Puts records there, with checkpoints between; notes those that were acknowledged.
fn work(db: &Database, from: u64, done: &mut Vec<u64>) {
    for key in from..from + 120 {
        match put(db, key..key + 1) {
            Ok(()) => done.push(key),
            Err(Error::Io { source, .. }) => {
                assert!(source.to_string().contains("Too many open files"), "{source}")
            }
            Err(error) => panic!("record {key}: {error}"),
        }
        if key % 40 == 0 {
            let _ = db.checkpoint();
            let _ = db.compact();
        }
    }
}

#[test]
fn too_few_descriptors_are_a_passing_trouble() {
    const TEST: &str = "surroundings::descriptors::too_few_descriptors_are_a_passing_trouble";
    let Some((_, path)) = role() else {
        let path = tempfile::tempdir().expect("a directory");
        let output = run(TEST, "work", path.path());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    };
    let (usual, _) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    let db = options().open(&path).expect("a new database");
    put(&db, 0..1).expect("room");
    db.close().expect("nothing is wrong");
    let (mut done, mut next) = (vec![0], 1);
    let (mut opened, mut refused) = (0, 0);
    // The first one that is free, less the descriptor that the listing itself has.
    let first = fs::read_dir("/proc/self/fd").expect("Linux").count() as u64 - 1;
    for descriptors in first..first + LIMITS {
        limit(descriptors);
        let under_limit = options().open(&path);
        let db = match under_limit {
            Ok(db) => {
                opened += 1;
                work(&db, next, &mut done);
                limit(usual);
                db
            }
            Err(error) => {
                limit(usual);
                refused += 1;
                assert!(matches!(error, Error::Io { .. }), "{error:?}");
                options().open(&path).expect("there are enough again")
            }
        };
        next += 120;
        check(&db).unwrap_or_else(|why| panic!("{descriptors} descriptors: {why}"));
        work(&db, next, &mut done);
        next += 120;
        assert_eq!(keys(&db), done, "{descriptors} descriptors");
        db.checkpoint().expect("nothing is wrong any more");
        // Without closing, what was made durable counts.
        put(&db, next..next + 1).expect("nothing is wrong any more");
        done.push(next);
        next += 1;
        db.close().expect("nothing is wrong any more");
        let db = options().open(&path).expect("it was closed");
        assert_eq!(keys(&db), done, "{descriptors} descriptors");
        db.close().expect("nothing is wrong");
    }
    assert!(opened > 2 && refused > 1, "{opened} opened, {refused} refused");
}
