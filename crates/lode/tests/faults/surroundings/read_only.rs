//! A database that is opened for reading only: its files stay as they are.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::reading::payload_of;
use lode::{Database, Durability, Error};

use super::support::{end, expect_killed, keys, names, options, put, record, role, run, table};

/// Names, contents and times of all files.
fn files(path: &Path) -> Vec<(String, Vec<u8>, SystemTime)> {
    let file = |name: String| {
        let path = path.join(&name);
        let changed = fs::metadata(&path).and_then(|found| found.modified()).expect("it is there");
        (name, fs::read(&path).expect("it can be read"), changed)
    };
    names(path).into_iter().map(file).collect()
}

fn all(count: u64) -> Vec<u64> {
    (0..count).collect()
}

fn read(path: &Path) -> Result<Database, Error> {
    options(Durability::Commit).open_read_only(path)
}

fn write(path: &Path) -> Result<Database, Error> {
    options(Durability::Commit).open(path)
}

fn closed(count: u64) -> tempfile::TempDir {
    let path = tempfile::tempdir().expect("a directory");
    let db = write(path.path()).expect("a new database");
    put(&db, 0..count).expect("room");
    db.close().expect("nothing is wrong");
    path
}

#[test]
fn readers_leave_the_files_of_a_closed_database_as_they_are() {
    let path = closed(100);
    fs::remove_file(path.path().join("lock")).expect("it is there");
    let before = files(path.path());
    let first = read(path.path()).expect("it was closed");
    let second = read(path.path()).expect("readers share it");
    for db in [&first, &second] {
        assert_eq!(keys(db), all(100));
        db.flush().expect("there is nothing to do");
    }
    first.close().expect("there is nothing to do");
    drop(second);
    assert_eq!(files(path.path()), before);
    let db = write(path.path()).expect("readers have gone");
    put(&db, 100..150).expect("room");
    drop(db);
    assert_eq!(keys(&read(path.path()).expect("it was closed")), all(150));
}

#[test]
fn nothing_can_be_written_by_a_reader() {
    let path = closed(100);
    let before = files(path.path());
    let db = read(path.path()).expect("it was closed");
    let table = table(&db);
    let key = 7u64.to_le_bytes();
    let reading = db.begin();
    assert!(payload_of(&table.within(&reading), key).expect("it can be read").is_some());
    reading.commit().expect("it has only read");
    let writing = db.begin();
    writing.upsert(&table, &record(7)).expect("it is noted");
    let refused = [
        table.upsert(&record(7)).map(drop),
        table.insert(&record(700)).map(drop),
        table.delete(key).map(drop),
        table.change(key, &mut |_| true).map(drop),
        writing.commit(),
        db.create_table(table.schema(), table.key_kind()).map(drop),
        db.drop_table("table"),
        db.checkpoint(),
        db.compact().map(drop),
    ];
    for refused in refused {
        assert_eq!(refused, Err(Error::ReadOnly));
    }
    assert_eq!(keys(&db), all(100));
    drop(db);
    assert_eq!(files(path.path()), before);
}

#[test]
fn what_a_killed_process_had_done_is_replayed_in_memory() {
    const TEST: &str =
        "surroundings::read_only::what_a_killed_process_had_done_is_replayed_in_memory";
    if let Some((_, path)) = role() {
        let db = write(&path).expect("it can be opened");
        put(&db, 100..300).expect("room");
        end();
    }
    let path = closed(100);
    expect_killed(&run(TEST, "write", path.path()));
    let before = files(path.path());
    let (first, second) = (read(path.path()), read(path.path()));
    for db in [first, second].map(|db| db.expect("readers share it")) {
        assert_eq!(keys(&db), all(300));
        assert!(db.statistics().log_bytes > 200 * 100);
    }
    assert_eq!(files(path.path()), before);
    assert_eq!(keys(&write(path.path()).expect("it can be replayed")), all(300));
}

#[test]
fn what_is_no_database_is_refused_and_not_made_one() {
    let path = tempfile::tempdir().expect("a directory");
    for dir in [path.path().join("none"), path.path().into()] {
        assert!(matches!(read(&dir), Err(Error::NoDatabase { .. })), "{}", dir.display());
    }
    assert_eq!(names(path.path()), [""; 0]);
    fs::write(path.path().join("creating"), "").expect("space");
    let Err(Error::Io { source, .. }) = read(path.path()) else { panic!("it is none") };
    assert!(source.to_string().contains("open it for writing once"), "{source}");
}
