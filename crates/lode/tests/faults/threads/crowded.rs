//! More threads than processors: all of them get on.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::reading::check;
use crate::watched::watched;
use lode::{Database, Durability, KeyKind, Options};

use super::wide::{wide, wide_record};

const THREADS: u64 = 64;

/// Operations that each thread does at least. They take longer than the slices in which the system
/// shares processors among threads.
const LEAST: u64 = 5_000;

/// The most times as many operations that all threads do until the slowest has done these.
const MOST_TIMES: u64 = 20;

/// Threads write records of their own until each has done many operations. None is left behind.
fn none_is_starved(db: &Database, kind: KeyKind) {
    let table = wide(db, kind);
    let (start, done) = (Barrier::new(THREADS as usize), AtomicU64::new(0));
    let all = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (table, start, done, all) = (&table, &start, &done, &all);
            scope.spawn(move || {
                start.wait();
                let mut count = 0;
                while done.load(Ordering::Relaxed) < THREADS {
                    let id = thread * 100 + count % 100;
                    if count % 3 == 2 {
                        table.delete(id.to_le_bytes()).expect("a key");
                    } else {
                        table.upsert(&wide_record(id, count)).expect("room");
                    }
                    count += 1;
                    if count == LEAST {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                }
                all.fetch_add(count, Ordering::Relaxed);
            });
        }
    });
    let all = all.into_inner();
    let most = MOST_TIMES * LEAST * THREADS;
    assert!(all <= most, "{kind:?}: {all} operations until each thread had done {LEAST}");
}

#[test]
fn no_thread_of_many_is_starved() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Options::new().memory_bytes(64 << 20).in_memory().expect("memory");
        watched(|| none_is_starved(&db, kind));
        for level in [Durability::None, Durability::Process] {
            let directory = tempfile::tempdir().expect("a directory");
            let options = Options::new().memory_bytes(64 << 20).durability(level);
            let db = options.open(directory.path()).expect("an empty directory");
            watched(|| none_is_starved(&db, kind));
            check(&db).unwrap_or_else(|why| panic!("{level:?}: {why}"));
            db.close().expect("nothing is wrong with the directory");
            let db = options.open(directory.path()).expect("it was closed");
            check(&db).unwrap_or_else(|why| panic!("{level:?}, opened again: {why}"));
        }
    }
}
