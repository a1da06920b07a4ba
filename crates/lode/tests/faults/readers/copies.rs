//! Copies of an open database that another program has made, file by file: each shows a moment, or
//! is refused.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use lode::{Durability, Error};

use super::work::{Work, options, state_of};

/// Copies the files of a directory, as far as they are there.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        // A segment of the log may be gone.
        let _ = fs::copy(entry.path(), to.join(entry.file_name()));
    }
}

#[test]
fn a_copy_of_an_open_database_shows_a_moment_or_is_refused() {
    let path = tempfile::tempdir().expect("a directory");
    let mut work = Work::with(options(Durability::Process).open(path.path()).expect("space"));
    work.steps(100);
    let is_over = AtomicBool::new(false);
    let (shown, refused) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                work.steps(10);
            }
        });
        let mut counts = (0, 0);
        for _ in 0..60 {
            let target = tempfile::tempdir().expect("a directory");
            copy(path.path(), target.path());
            let db = options(Durability::Process).open_read_only(target.path());
            match db.and_then(|db| state_of(&db)) {
                Ok(_) => counts.0 += 1,
                Err(Error::Corrupt { .. } | Error::MomentExpired) => counts.1 += 1,
                Err(Error::NoTable { .. }) => panic!("the tables were there from the start"),
                Err(error) => panic!("{error}"),
            }
        }
        is_over.store(true, Ordering::Release);
        counts
    });
    assert_eq!(shown + refused, 60);
    // A checkpoint that was needed may still be going on. After it, a copy shows all.
    let shows_all = (0..1_000).any(|_| {
        let target = tempfile::tempdir().expect("a directory");
        copy(path.path(), target.path());
        let db = options(Durability::Process).open_read_only(target.path());
        match db.and_then(|db| state_of(&db)) {
            Ok(shown) => shown == Some(work.step),
            Err(Error::Corrupt { .. } | Error::MomentExpired) => false,
            Err(error) => panic!("{error}"),
        }
    });
    assert!(shows_all, "a copy of a database that rests shows step {}", work.step);
}
