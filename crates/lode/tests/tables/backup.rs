//! Checks backups: they are of one moment under load, and no directory of something else is taken.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lode::{Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Table, Type};

use crate::reading::check;

fn numbers(db: &Database, name: &str, kind: KeyKind) -> Table {
    let schema = Schema::build(name).key("id", Type::U64).column("rest", Type::VarBytes(400));
    db.create_table(&schema.finish().expect("a schema"), kind).expect("room")
}

fn put(table: &Table, id: u64) -> Result<(), Error> {
    let rest = vec![id as u8; id as usize % 400];
    let values = [lode::Value::Unsigned(id), lode::Value::Bytes(&rest)];
    table.upsert(&table.schema().pack(&values)?).map(drop)
}

fn ids(db: &Database, name: &str) -> Vec<u64> {
    let table = db.table(name).expect("it is there");
    let id = |row: Result<lode::Row, Error>| match row.expect("it can be read").get("id") {
        Some(lode::Value::Unsigned(id)) => id,
        other => panic!("{other:?}"),
    };
    let mut ids: Vec<_> = table.iter().map(id).collect();
    ids.sort_unstable();
    ids
}

fn files(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).expect("it is there");
    let name = |file: std::io::Result<fs::DirEntry>| file.expect("a file").file_name();
    let mut names: Vec<_> = names.map(|file| name(file).into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

/// Two tables get each number in turn: a backup has all up to one.
#[test]
fn backups_under_load_are_of_one_moment() {
    let place = tempfile::tempdir().expect("a directory");
    let options = Options::new().durability(Durability::Process);
    let db = options.open(place.path().join("db")).expect("a new database");
    let tables = [numbers(&db, "hash", KeyKind::Hash), numbers(&db, "tree", KeyKind::Tree)];
    (0..2_000).for_each(|id| tables.iter().for_each(|table| put(table, id).expect("room")));
    let (done, is_over) = (AtomicU64::new(2_000), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for id in 2_000.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                tables.iter().for_each(|table| put(table, id).expect("room"));
                done.store(id + 1, Ordering::Release);
            }
        });
        let mut copied = Vec::new();
        for round in 0..6 {
            let before = done.load(Ordering::Acquire);
            // Each directory gets a first backup and two later ones.
            let copy = place.path().join(format!("copy-{}", round / 3));
            copied.push(db.backup(&copy, |_| {}).expect("space").copied_bytes);
            let after = done.load(Ordering::Acquire);
            let backup = Database::open_read_only(&copy).expect("whole");
            check(&backup).expect("whole");
            let (hash, tree) = (ids(&backup, "hash"), ids(&backup, "tree"));
            let last = hash.len() as u64;
            assert_eq!(hash, (0..last).collect::<Vec<_>>());
            assert!((before..=after + 1).contains(&last), "{last}: {before} to {after}");
            assert!(tree == hash || tree[..] == hash[..hash.len() - 1], "{}", tree.len());
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(copied.iter().all(|bytes| *bytes > 0), "{copied:?}");
    });
    check(&db).expect("whole");
}

#[test]
fn a_backup_is_a_database_of_its_own() {
    let place = tempfile::tempdir().expect("a directory");
    let (home, copy) = (place.path().join("db"), place.path().join("copy"));
    let db = Database::open(&home).expect("a new database");
    let table = numbers(&db, "tree", KeyKind::Tree);
    (0..1_000).for_each(|id| put(&table, id).expect("room"));
    db.backup(&copy, |_| {}).expect("space");
    assert_eq!(files(&copy), ["data", "lock"]);
    // The backup of a backup.
    let second = place.path().join("second");
    let opened = Database::open(&copy).expect("whole");
    put(&opened.table("tree").expect("it is there"), 5_000).expect("room");
    opened.backup(&second, |_| {}).expect("space");
    opened.close().expect("nothing is wrong");
    let ids_of = |directory: &Path| {
        let db = Database::open_read_only(directory).expect("whole");
        check(&db).expect("whole");
        ids(&db, "tree")
    };
    assert_eq!(ids_of(&second), (0..1_000).chain([5_000]).collect::<Vec<_>>());
    // It was written to.
    let refused = db.backup(&copy, |_| {});
    assert!(matches!(refused, Err(Error::NoBackup { .. })), "{refused:?}");
    // The log of the database does not fit its backup.
    db.flush().expect("space");
    for file in files(&home).into_iter().filter(|name| name.starts_with("log-")) {
        fs::copy(home.join(&file), second.join(&file)).expect("space");
    }
    let refused = Database::open(&second).map(drop);
    assert!(matches!(refused, Err(Error::ForeignFile { .. })), "{refused:?}");
}

#[test]
fn a_directory_of_something_else_takes_no_backup_and_stays() {
    let place = tempfile::tempdir().expect("a directory");
    let (home, other) = (place.path().join("db"), place.path().join("other"));
    let db = Database::open(&home).expect("a new database");
    put(&numbers(&db, "tree", KeyKind::Tree), 1).expect("room");
    let backup = |to: &Path| db.backup(to, |_| {}).expect_err("it is refused");
    assert_eq!(backup(&home).code(), "no_backup");
    // The database's own, in it, or there by another name.
    std::os::unix::fs::symlink(&home, place.path().join("link")).expect("space");
    let before = files(&home);
    for inside in ["db", "db/sub", "db/sub/sub", "other/../db/sub", "link", "link/sub"] {
        let why = backup(&place.path().join(inside)).to_string();
        assert!(why.contains("it is the database's own, or in that"), "{inside}: {why}");
    }
    assert_eq!(files(&home), before);
    assert!(!other.exists());
    // A file that is no database's.
    fs::create_dir(&other).expect("a directory");
    fs::write(other.join("letter"), "dear").expect("space");
    assert_eq!(backup(&other).code(), "no_backup");
    assert_eq!(files(&other), ["letter"]);
    fs::rename(other.join("letter"), other.join("backup-new")).expect("it is there");
    for bytes in [vec![7; 5], vec![7; 200_000]] {
        fs::write(other.join("backup-new"), &bytes).expect("space");
        assert_eq!(backup(&other).code(), "no_backup");
        assert_eq!(fs::read(other.join("backup-new")).expect("it is there"), bytes);
    }
    fs::write(other.join("letter"), "dear").expect("space");
    fs::remove_file(other.join("backup-new")).expect("it is there");
    fs::rename(other.join("letter"), other.join("data")).expect("it is there");
    assert_eq!(backup(&other).code(), "no_backup");
    assert_eq!(files(&other), ["data"]);
    assert_eq!(fs::read(other.join("data")).expect("it is there"), b"dear");
    // A database, open and closed.
    let second = Database::open(place.path().join("second")).expect("a new database");
    assert_eq!(backup(&place.path().join("second")).code(), "no_backup");
    second.close().expect("nothing is wrong");
    assert_eq!(backup(&place.path().join("second")).code(), "no_backup");
    // A backup of another database.
    let third = Database::open(place.path().join("third")).expect("a new database");
    third.backup(place.path().join("copy"), |_| {}).expect("space");
    assert_eq!(backup(&place.path().join("copy")).code(), "no_backup");
    let reader = Database::open_read_only(place.path().join("copy")).expect("whole");
    third.backup(place.path().join("copy"), |_| {}).expect("readers let it in");
    drop(reader);
    // Databases without files of their own to copy.
    let nowhere = place.path().join("nowhere");
    let in_memory = Database::in_memory().expect("memory");
    assert_eq!(in_memory.backup(&nowhere, |_| {}), Err(Error::NoFiles));
    drop(third);
    let read = Database::open_read_only(place.path().join("third")).expect("whole");
    assert_eq!(read.backup(&nowhere, |_| {}), Err(Error::ReadOnly));
    assert!(!nowhere.exists());
}
