//! Readers of changes next to threads that write, on the real file system.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use lode::{Database, Durability, Options, Position};

use super::copy::Copy;
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

/// Follows the changes through a handle of its own until `is_over` and all are read; then its
/// position is returned, too.
fn follow(path: &Path, level: Durability, is_over: &AtomicBool) -> (Copy, Position) {
    let reader = options(level).open_read_only(path).expect("it is there");
    let mut copy = Copy::default();
    let mut changes = reader.changes(None).expect("they are kept");
    drop(reader);
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
            let reader = scope.spawn(|| follow(path.path(), level, &is_over));
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let db = &db;
                    scope.spawn(move || write(db, writer, steps))
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().expect("it ends"));
            is_over.store(true, Ordering::Release);
            reader.join().expect("it ends")
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
