//! Readers of changes next to threads that write, on the real file system.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use lode::{
    Alteration, Changes, Database, Durability, IndexSchema, Options, Position, Type, Value,
};

use super::copy::{ADDED, Copy};
use super::work::{kind, schema};
use crate::random::mix;

const WRITERS: u64 = 3;

fn options(level: Durability) -> Options {
    let options = Options::new().memory_bytes(4 << 20).log_bytes(1 << 18).segment_bytes(1 << 16);
    options.durability(level).keep_changes(256 << 20)
}

fn write(db: &Database, writer: u64, steps: u64) {
    let tables = ["hash", "tree"].map(|name| db.table(name).expect("it is there"));
    for step in 0..steps {
        let random = mix(mix(writer) + step);
        let table = &tables[random as usize % 2];
        let id = (random >> 8) as u32 % 200;
        let mut record = vec![0; 16];
        record[..4].copy_from_slice(&id.to_le_bytes());
        record[4..8].copy_from_slice(&(step as u32).to_le_bytes());
        match random >> 32 & 7 {
            0 => table.delete(id.to_le_bytes()).map(drop).expect("it can be deleted"),
            1 => {
                // Another thread may come between.
                let moved = db.transact(|transaction| {
                    transaction.delete(&tables[0], id.to_le_bytes())?;
                    transaction.upsert(&tables[1], &record).map(drop)
                });
                moved.expect("there is room");
            }
            _ => table.upsert(&record).map(drop).expect("there is room"),
        }
    }
}

/// Returns the changes by a handle of their own.
fn read_apart(path: &Path, level: Durability) -> Changes {
    let reader = options(level).open_read_only(path).expect("it is there");
    reader.changes(None).expect("they are kept")
}

/// Follows the changes until `is_over` and all are read; then their position is returned, too.
fn follow(mut changes: Changes, is_over: &AtomicBool) -> (Copy, Position) {
    let mut copy = Copy::default();
    loop {
        let is_last = is_over.load(Ordering::Acquire);
        let position = copy.follow(&mut changes).expect("they are kept");
        if is_last {
            return (copy, position);
        }
        std::thread::yield_now();
    }
}

#[test]
fn readers_of_changes_keep_up_with_threads_that_write() {
    for level in [Durability::Process, Durability::Commit] {
        let path = tempfile::tempdir().expect("a directory");
        let db = options(level).open(path.path()).expect("a new database");
        for name in ["hash", "tree"] {
            db.create_table(&schema(name), kind(name)).expect("a new table");
        }
        let is_over = AtomicBool::new(false);
        let steps = if level == Durability::Commit { 150 } else { 3_000 };
        let (copy, position) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| follow(read_apart(path.path(), level), &is_over));
            // It opens files whose names the writers change.
            let own = db.changes(None).expect("they are kept");
            let own = scope.spawn(|| follow(own, &is_over));
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let db = &db;
                    scope.spawn(move || write(db, writer, steps))
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().expect("it ends"));
            is_over.store(true, Ordering::Release);
            let found = reader.join().expect("it ends");
            assert_eq!(own.join().expect("it ends"), found, "{level:?}");
            found
        });
        assert_eq!(copy, Copy::of(&db), "{level:?}");
        assert_eq!(db.position(), Ok(position));
        let empty = db.changes(position).expect("they are kept").next();
        assert!(empty.is_none(), "{empty:?}");
        db.close().expect("nothing is wrong with the disk");
        let db = Database::open(path.path()).expect("it was closed");
        assert_eq!(copy, Copy::of(&db));
    }
}

#[test]
fn the_changes_since_each_commit_are_those_after_it_also_while_tables_come_and_go() {
    let path = tempfile::tempdir().expect("a directory");
    let db = options(Durability::Process).open(path.path()).expect("a new database");
    for name in ["hash", "tree", "texts"] {
        db.create_table(&schema(name), kind(name)).expect("a new table");
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let table = db.table("hash").expect("it is there");
            for step in 0u32.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let record = [&(step % 9).to_le_bytes()[..], &[0; 12]].concat();
                table.upsert(&record).expect("there is room");
            }
        });
        let tree = db.table("tree").expect("it is there");
        for id in 0..3_000u32 {
            tree.insert(&[&id.to_be_bytes()[..], &[0; 12]].concat()).expect("there is room");
        }
        for round in 0..3 {
            let name = format!("added{round}");
            let column = Alteration::new().add_column(&name, Type::U8, Value::Unsigned(ADDED));
            let tree = db.alter_table("tree", &column).expect("it can be altered");
            tree.create_index(&IndexSchema::new("by_a", ["a"])).expect("it has none");
            db.clear_table("texts").expect("it can be cleared");
            db.checkpoint().expect("space");
            tree.drop_index("by_a").expect("it is there");
        }
        is_over.store(true, Ordering::Relaxed);
        writer.join().expect("it ends");
    });
    let read = |since: Option<Position>| {
        let changes = db.changes(since).expect("they are kept");
        let commits = changes.map(|commit| commit.expect("it is whole"));
        commits.map(|commit| (commit.position, format!("{:?}", commit.changes))).collect::<Vec<_>>()
    };
    let whole = read(None);
    let is_of_tables = |at: &usize| !whole[*at].1.starts_with("[Row");
    assert!((0..whole.len()).filter(is_of_tables).count() >= 12, "tables come and go");
    // Those next to changes of tables, and some others.
    let next_to = |at: &usize| (*at..(*at + 3).min(whole.len())).any(|at| is_of_tables(&at));
    let some = (0..whole.len()).filter(|at| next_to(at) || at.is_multiple_of(whole.len() / 40 + 1));
    for at in some {
        assert!(read(Some(whole[at].0)) == whole[at + 1..], "after commit {at}");
    }
}
