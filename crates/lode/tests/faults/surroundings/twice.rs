//! A database that is open is not opened again, however its files are reached.

use std::fs;
use std::path::Path;

use lode::{Durability, Error};

use super::support::{expect, names, options, put};

fn is_locked(path: &Path) -> bool {
    matches!(options(Durability::Commit).open(path), Err(Error::Locked))
}

#[test]
fn a_lock_file_that_is_removed_lets_no_second_user_in() {
    let path = tempfile::tempdir().expect("a directory");
    let db = options(Durability::Commit).open(path.path()).expect("a new database");
    put(&db, 0..100).expect("room");
    fs::remove_file(path.path().join("lock")).expect("it is there");
    assert!(is_locked(path.path()));
    put(&db, 100..200).expect("room");
    db.close().expect("nothing is wrong");
    expect(path.path(), 200);
}

#[test]
fn hard_links_to_the_files_in_another_directory_let_no_second_user_in() {
    let [path, other] = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let db = options(Durability::Commit).open(path.path()).expect("a new database");
    put(&db, 0..100).expect("room");
    for name in names(path.path()).iter().filter(|name| *name != "lock") {
        fs::hard_link(path.path().join(name), other.path().join(name)).expect("a new name");
    }
    assert!(is_locked(other.path()));
    put(&db, 100..200).expect("room");
    db.close().expect("nothing is wrong");
    expect(path.path(), 200);
}

#[test]
fn a_database_that_was_closed_can_be_opened_while_other_handles_are_there() {
    let path = tempfile::tempdir().expect("a directory");
    let db = options(Durability::Commit).open(path.path()).expect("a new database");
    put(&db, 0..100).expect("room");
    let other = db.clone();
    db.close().expect("nothing is wrong");
    expect(path.path(), 100);
    drop(other);
}
