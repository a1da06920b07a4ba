//! The directory of an open database gets another path, or its path leads elsewhere: the files stay
//! the right ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use lode::Durability;

use super::support::{end, expect, expect_killed, keys, names, options, put, role, run};

/// Enough for several segments of the log.
const COUNT: u64 = 400;

#[test]
fn a_process_that_changes_its_directory_goes_on_with_the_same_files() {
    const TEST: &str =
        "surroundings::moved::a_process_that_changes_its_directory_goes_on_with_the_same_files";
    if let Some((_, path)) = role() {
        std::env::set_current_dir(path.join("here")).expect("a directory");
        let db = options(Durability::Commit).open(".").expect("an empty directory");
        put(&db, 0..100).expect("room");
        std::env::set_current_dir(path.join("there")).expect("a directory");
        put(&db, 100..COUNT).expect("room");
        end();
    }
    let path = tempfile::tempdir().expect("a directory");
    for name in ["here", "there"] {
        fs::create_dir(path.path().join(name)).expect("a new name");
    }
    expect_killed(&run(TEST, "write", path.path()));
    assert_eq!(names(&path.path().join("there")), [""; 0]);
    expect(&path.path().join("here"), COUNT);
}

#[test]
fn a_link_that_is_turned_elsewhere_takes_no_files_along() {
    let path = tempfile::tempdir().expect("a directory");
    let [link, here, there] = ["link", "here", "there"].map(|name| path.path().join(name));
    fs::create_dir(&here).expect("a new name");
    fs::create_dir(&there).expect("a new name");
    symlink(&here, &link).expect("a new name");
    let db = options(Durability::Commit).open(&link).expect("an empty directory");
    put(&db, 0..100).expect("room");
    fs::remove_file(&link).expect("a link");
    symlink(&there, &link).expect("a new name");
    put(&db, 100..COUNT).expect("room");
    db.close().expect("nothing is wrong");
    assert_eq!(names(&there), [""; 0]);
    expect(&here, COUNT);
}

#[test]
fn a_directory_that_is_renamed_and_the_one_that_gets_its_name_are_two_databases() {
    let path = tempfile::tempdir().expect("a directory");
    let [first, moved] = ["db", "moved"].map(|name| path.path().join(name));
    let open = |path: &Path| options(Durability::Commit).open(path).expect("it can be opened");
    let db = open(&first);
    put(&db, 0..100).expect("room");
    fs::rename(&first, &moved).expect("a new name");
    let other = open(&first);
    put(&other, 0..COUNT / 2).expect("room");
    put(&db, 100..COUNT).expect("room");
    assert_eq!(keys(&other).len() as u64, COUNT / 2);
    db.close().expect("nothing is wrong");
    drop(other);
    expect(&moved, COUNT);
    expect(&first, COUNT / 2);
}
