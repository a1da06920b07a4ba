//! Directories with a database, without one, and with something else.

use std::fs;
use std::path::Path;

use lode::{Database, Durability, Error, Result};

use super::support::{expect, names, options, put};

fn existing(path: &Path) -> Result<Database> {
    options(Durability::Process).open_existing(path)
}

fn new(path: &Path) -> Result<Database> {
    options(Durability::Process).create_new(path)
}

fn is_none(opened: Result<Database>, path: &Path) {
    match opened {
        Err(error @ Error::NoDatabase { .. }) => {
            let path = path.display();
            let wanted =
                format!("there is no database in {path}; create one, or open another directory");
            assert_eq!(error.to_string(), wanted);
        }
        other => panic!("{:?} in {}", other.map(drop), path.display()),
    }
}

#[test]
fn a_database_that_has_to_be_there_is_not_created() {
    let path = tempfile::tempdir().expect("a directory");
    let missing = path.path().join("a").join("b");
    for path in [&missing, path.path()] {
        is_none(existing(path), path);
        is_none(options(Durability::Process).open_read_only(path), path);
    }
    assert_eq!(names(path.path()), [""; 0]);

    // Creating one ended before there was anything in it.
    fs::write(path.path().join("creating"), "").expect("space");
    is_none(existing(path.path()), path.path());
    assert_eq!(names(path.path()), ["creating"]);
    fs::remove_file(path.path().join("creating")).expect("it is there");

    fs::write(path.path().join("letter"), "Dear").expect("space");
    is_none(existing(path.path()), path.path());
    assert_eq!(names(path.path()), ["letter"]);

    let db = new(&missing).expect("it is created with its directories");
    put(&db, 0..10).expect("room");
    db.close().expect("nothing is wrong");
    let db = existing(&missing).expect("it is there");
    put(&db, 10..20).expect("room");
    db.close().expect("nothing is wrong");
    expect(&missing, 20);
    let log = missing.join("data");
    fs::remove_file(&log).expect("it is there");
    fs::write(missing.join("log-000000000009"), "").expect("space");
    assert!(matches!(existing(&missing), Err(Error::Corrupt { .. })));
}

#[test]
fn a_new_database_replaces_nothing() {
    let path = tempfile::tempdir().expect("a directory");
    let there = path.path().join("there");
    let db = new(&there).expect("it is created");
    put(&db, 0..10).expect("room");
    for _ in 0..2 {
        let refused = new(&there).map(drop).expect_err("there is one");
        assert_eq!(refused, Error::DatabaseExists { directory: there.clone() });
        let words = format!("there is a database in {} already", there.display());
        assert!(refused.to_string().starts_with(&words), "{refused}");
    }
    drop(db);
    assert!(matches!(new(&there), Err(Error::DatabaseExists { .. })));
    expect(&there, 10);
    fs::remove_file(there.join("data")).expect("it is there");
    fs::write(there.join("log-000000000009"), "").expect("space");
    assert!(matches!(new(&there), Err(Error::DatabaseExists { .. })));

    let taken = path.path().join("taken");
    fs::create_dir(&taken).expect("space");
    fs::write(taken.join("letter"), "Dear").expect("space");
    let any = |path: &Path| options(Durability::Process).open(path);
    for open in [new, any] {
        let Err(Error::Io { source, .. }) = open(&taken) else { panic!("it is not empty") };
        assert!(source.to_string().contains("other files"), "{source}");
        assert_eq!(names(&taken), ["letter"], "it stays as it is");
    }
    // A file that was there stays, whatever its name.
    fs::write(taken.join("lock"), "mine").expect("space");
    assert!(any(&taken).is_err());
    assert_eq!(names(&taken), ["letter", "lock"]);
    assert_eq!(fs::read(taken.join("lock")).expect("it is there"), b"mine");
    let Err(Error::Io { .. }) = new(&taken.join("letter")) else { panic!("it is a file") };

    // Creating one ended before there was anything in it: the next one starts again.
    let unfinished = path.path().join("unfinished");
    fs::create_dir(&unfinished).expect("space");
    fs::write(unfinished.join("creating"), "").expect("space");
    new(&unfinished).expect("it is created").close().expect("nothing is wrong");
    expect(&unfinished, 0);
}
