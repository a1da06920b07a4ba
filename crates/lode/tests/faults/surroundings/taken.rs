//! Somebody takes files of an open database away: nothing is promised any more that a crash would
//! break.

use std::fs;
use std::path::Path;

use lode::{Durability, Error};

use super::support::{names, options, put};

/// A loss of a file, of which a copy is at another place.
type Loss = fn(&Path, &Path) -> std::io::Result<()>;

const LOSSES: [(&str, Loss); 3] = [
    ("removed", |file, _| fs::remove_file(file)),
    ("renamed", |file, _| fs::rename(file, file.with_extension("away"))),
    ("replaced", |file, copy| fs::rename(copy, file)),
];

fn is_noticed(result: Result<(), Error>) -> bool {
    let Err(Error::Poisoned { why, .. }) = result else { return false };
    why.contains("removed, renamed or replaced")
}

/// Opens a database with several segments, takes a file of some name away, and has `promise`
/// called.
fn taken(name: &str, level: Durability, promise: &dyn Fn(lode::Database) -> Result<(), Error>) {
    for (what, lose) in LOSSES {
        let path = tempfile::tempdir().expect("a directory");
        let db = options(level).log_bytes(1 << 22).open(path.path()).expect("a new database");
        put(&db, 0..200).expect("room");
        // The first segment that recovery needs, or the only file of this name.
        let names = names(path.path());
        let found = names.iter().find(|other| other.starts_with(name)).expect("a file of the name");
        let (file, copy) = (path.path().join(found), path.path().join("copy"));
        fs::copy(&file, &copy).expect("a copy");
        lose(&file, &copy).expect("it can be done");
        assert!(is_noticed(promise(db)), "{found} {what}, level {level:?}");
    }
}

#[test]
fn a_commit_notices_that_a_file_was_taken_away() {
    for name in ["data", "log-"] {
        taken(name, Durability::Commit, &|db| put(&db, 200..201));
        taken(name, Durability::Process, &|db| {
            put(&db, 200..201).expect("it goes to the log, and nothing more is promised");
            db.flush()
        });
    }
}

#[test]
fn a_checkpoint_and_closing_notice_that_a_file_was_taken_away() {
    for level in [Durability::None, Durability::Process, Durability::Commit] {
        taken("data", level, &|db| db.checkpoint());
        taken("data", level, &|db| db.close());
    }
    taken("log-", Durability::Process, &|db| db.checkpoint());
    taken("log-", Durability::Process, &|db| db.close());
}

#[test]
fn a_directory_that_was_deleted_is_noticed() {
    let promises: [&dyn Fn(lode::Database) -> Result<(), Error>; 3] =
        [&|db| put(&db, 200..201), &|db| db.checkpoint(), &|db| db.close()];
    for promise in promises {
        let path = tempfile::tempdir().expect("a directory");
        let db = options(Durability::Commit).open(path.path()).expect("a new database");
        put(&db, 0..200).expect("room");
        fs::remove_dir_all(path.path()).expect("it can be removed");
        assert!(is_noticed(promise(db)));
    }
}
