//! A process forks while it has a database open. Only the parent may use it.

#![allow(unsafe_code)]

use std::io::Read;
use std::ops::Bound;

use crate::reading::{Scan, check, cursor, each_row, payload_of};
use lode::{Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Table, Type};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork, gettid};

use super::support::{expect, keys, options, put, record, role, run, table};

/// Waits until all other threads of this process sleep. A thread that is starting holds a lock of
/// the standard library; a child that is forked then can start no thread at all.
fn wait_for_other_threads() {
    let own = gettid().to_string();
    let sleeps = |thread: &std::fs::DirEntry| {
        // The state comes after the name, which is in brackets.
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('S'))
    };
    let all_sleep = || {
        let mut threads = std::fs::read_dir("/proc/self/task").expect("Linux has it").flatten();
        threads.all(|thread| thread.file_name() == own.as_str() || sleeps(&thread))
    };
    while !all_sleep() {
        std::thread::yield_now();
    }
}

/// Has a child do something; true if it ended as it should.
fn in_a_child(work: impl FnOnce()) -> bool {
    wait_for_other_threads();
    // SAFETY: the parent has other threads, whose locks may be held for ever in the child; that is
    // what is tested. The child runs `work`, and ends without going back to the test.
    match unsafe { fork() }.expect("a child") {
        ForkResult::Child => {
            let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            // SAFETY: it ends the process at once.
            unsafe { nix::libc::_exit(i32::from(worked.is_err())) }
        }
        ForkResult::Parent { child } => {
            matches!(waitpid(child, None).expect("a child"), WaitStatus::Exited(_, 0))
        }
    }
}

fn is_forked<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert_eq!(result.expect_err("the child may not use it"), Error::Forked);
}

/// All that a child might try.
fn try_everything(db: &Database, table: &Table) {
    let key = 7u64.to_le_bytes();
    is_forked(table.upsert(&record(7)));
    is_forked(table.insert(&record(1_000_000)));
    is_forked(table.insert_all([record(7)]));
    is_forked(table.insert_all_new([record(7), record(1_000_000)]));
    is_forked(table.upsert_all([record(7)]));
    is_forked(table.delete(key));
    is_forked(table.change(key, &mut |_| true));
    is_forked(payload_of(&table, key));
    is_forked(table.get_exact(&key, &mut [0; 100]));
    is_forked(table.get_many_with(&key, &mut |_, _| ()));
    let all = Scan {
        lower: Bound::Unbounded,
        upper: Bound::Unbounded,
        backward: false,
        columns: &[0],
        limit: u64::MAX,
    };
    is_forked(each_row(cursor(&table, &all), &mut |_| Ok(true)));
    is_forked(each_row(table.iter(), &mut |_| Ok(true)));
    let transaction = db.begin();
    is_forked(transaction.upsert(table, &record(7)));
    is_forked(transaction.commit());
    is_forked(db.table("table").map(drop));
    is_forked(db.drop_table("table"));
    is_forked(db.flush());
    is_forked(db.checkpoint());
    is_forked(db.compact());
    is_forked(db.clone().close());
    assert!(check(db).is_err());
    assert_eq!(db.table_names(), [""; 0]);
    assert_eq!(db.statistics(), lode::Statistics::default());
}

#[test]
fn a_forked_child_neither_uses_nor_harms_the_database() {
    const TEST: &str = "surroundings::forks::a_forked_child_neither_uses_nor_harms_the_database";
    if role().is_none() {
        // The parent in a process of its own, so that no other test's threads are in it.
        for role in ["commit", "process"] {
            let path = tempfile::tempdir().expect("a directory");
            let output = run(TEST, role, path.path());
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{role}: {said}");
            expect(path.path(), 300);
        }
        return;
    }
    let (role, path) = role().expect("a child");
    let level = if role == "commit" { Durability::Commit } else { Durability::Process };
    let mut db = Some(options(level).open(&path).expect("a new database"));
    let mut others =
        Some((table(db.as_ref().expect("open")), db.as_ref().expect("open").snapshot()));
    put(db.as_ref().expect("open"), 0..100).expect("room");
    assert!(in_a_child(|| {
        let (db, (table, snapshot)) = (db.take().expect("open"), others.take().expect("open"));
        try_everything(&db, &table);
        // What is its own it may use, and then the inherited one is not its own for all that.
        let own = tempfile::tempdir().expect("a directory");
        let other = options(level).open(own.path()).expect("a new database");
        put(&other, 0..100).expect("room");
        try_everything(&db, &table);
        assert_eq!(keys(&other).len(), 100);
        other.close().expect("nothing is wrong");
        // The last handles go: nothing is flushed, unlocked, or waited for.
        drop((snapshot, table, db));
    }));
    let db = db.expect("the parent's is still there");
    assert!(matches!(options(level).open(&path), Err(Error::Locked)), "it is still locked");
    put(&db, 100..200).expect("room");
    assert_eq!(keys(&db).len(), 200);
    drop(others);
    // A child that lives on does not keep what the parent closes.
    let (mut until, end) = std::io::pipe().expect("a pipe");
    let mut end = Some(end);
    // SAFETY: as above; the child only waits, and ends.
    match unsafe { fork() }.expect("a child") {
        ForkResult::Child => {
            drop(end.take());
            let _ = until.read(&mut [0]);
            // SAFETY: it ends the process at once.
            unsafe { nix::libc::_exit(0) }
        }
        ForkResult::Parent { child } => {
            put(&db, 200..300).expect("room");
            db.close().expect("nothing is wrong");
            drop(options(level).open(&path).expect("it is free"));
            drop(end);
            waitpid(child, None).expect("a child");
        }
    }
}

/// A lock that a thread held at the moment of the fork stays locked in the child for ever. So the
/// copy in the child is refused, too.
#[test]
fn a_forked_child_does_not_use_a_database_in_memory() {
    const TEST: &str = "surroundings::forks::a_forked_child_does_not_use_a_database_in_memory";
    if role().is_none() {
        let output = run(TEST, "memory", std::path::Path::new("/"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    // There are enough records for a thread to ask for memory ahead.
    let db = Options::new().memory_bytes(1 << 26).in_memory().expect("memory");
    let schema = Schema::build("table").key("key", Type::U64).column("rest", Type::Bytes(100));
    let schema = schema.finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a new table");
    put(&db, 0..100_000).expect("room");
    let snapshot = db.snapshot();
    let mut inherited = Some((db, table, snapshot));
    assert!(in_a_child(|| {
        let (db, table, snapshot) = inherited.take().expect("open");
        try_everything(&db, &table);
        let own = Options::new().memory_bytes(1 << 24).in_memory().expect("memory");
        own.create_table(&schema, KeyKind::Tree).expect("a new table");
        put(&own, 0..100).expect("room");
        try_everything(&db, &table);
        assert_eq!(keys(&own).len(), 100);
        drop((snapshot, table, db));
    }));
    // Each child is forked while a thread of the parent writes: it may be alone at any moment.
    let is_done = std::sync::atomic::AtomicBool::new(false);
    let (db, table, _) = inherited.as_ref().expect("the parent's");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                let all = (0..100).map(record);
                table.upsert_all(all).expect("room");
            }
        });
        for _ in 0..40 {
            // SAFETY: as above. The child allocates nothing before it ends: another thread may have
            // held the lock of the allocator.
            match unsafe { fork() }.expect("a child") {
                ForkResult::Child => {
                    let key = 7u64.to_le_bytes();
                    let found = table.get_exact(&key, &mut [0; 100]);
                    let deleted = table.delete(key);
                    let flushed = db.flush();
                    let forked = [found.err(), deleted.err(), flushed.err()];
                    let is_refused = forked.iter().all(|error| *error == Some(Error::Forked));
                    // SAFETY: it ends the process at once.
                    unsafe { nix::libc::_exit(i32::from(!is_refused)) }
                }
                ForkResult::Parent { child } => {
                    let ended = waitpid(child, None).expect("a child");
                    assert!(matches!(ended, WaitStatus::Exited(_, 0)), "{ended:?}");
                }
            }
        }
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(keys(db).len(), 100_000);
}
