//! Tests of level `periodic`: the log is synced, whatever else is held up.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::io::Disk;
use crate::io::held::{Held, Kind};
use crate::io::simulated::{Mapping, Simulated};
use crate::store::{Expected, Need, Store};
use crate::wal::Log;
use crate::watched::watched;
use crate::{
    Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type, Value, simulation,
};

/// A disk may have a database, or nothing.
fn anything() -> Expected<'static> {
    Expected::Any { directory: Path::new("a simulated disk") }
}

/// A database whose log is synced all the time, on a disk that can be held up.
struct Run {
    db: Database,
    table: Table,
    disk: Held,
    next: AtomicU64,
}

fn options() -> Options {
    Options::new()
        .memory_bytes(8 << 20)
        .durability(Durability::Periodic)
        .sync_interval(Duration::from_millis(1))
        .log_bytes(4 << 20)
        .segment_bytes(1 << 18)
}

impl Run {
    fn new(mapping: Mapping) -> Self {
        let disk = Held::new(mapping);
        let db = options().open_on(Arc::new(disk.clone()), 5, anything()).expect("an empty disk");
        let schema = Schema::build("t").key("id", Type::U64).column("text", Type::VarText(1 << 17));
        let schema = schema.finish().expect("a schema");
        let table = db.create_table(&schema, KeyKind::Tree).expect("room");
        Self { db, table, disk, next: AtomicU64::new(0) }
    }

    fn log(&self) -> &Log {
        self.db.engine().store().and_then(Store::log).expect("it is on a disk")
    }

    /// Writes a record; no more than 1,000 keys, so that the data stays small.
    fn write(&self, bytes: usize) {
        let id = self.next.fetch_add(1, Ordering::Relaxed) % 1_000;
        let text = "x".repeat(bytes);
        let values = [Value::Unsigned(id), Value::Text(&text)];
        let record = self.table.schema().pack(&values).expect("it fits");
        self.table.upsert(&record).expect("room");
    }

    /// Writes a record, unless a checkpoint is needed: that is left to the thread for it, so that
    /// there is room for more while it is held up.
    fn write_ahead(&self, bytes: usize) {
        let engine = self.db.engine();
        let store = engine.store().expect("it is on a disk");
        match store.need(engine.pager(), 0) {
            Need::Nothing => self.write(bytes),
            Need::Soon | Need::Now(_) => {
                engine.worker.wake();
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    /// Waits until what has been written is synced.
    fn expect_synced(&self) {
        let end = self.log().end();
        while self.log().synced() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Holds an operation up, writes until a thread has come to it, and calls `work` then.
    fn while_held(&self, name: &'static str, kind: Kind, bytes: usize, work: impl FnOnce()) {
        self.disk.control.hold(name, kind);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !self.disk.control.is_waiting(name, kind)
                    && self.disk.control.is_held(name, kind)
                {
                    self.write_ahead(bytes);
                }
            });
            self.disk.control.expect_waiting(name, kind);
            work();
            self.disk.control.release(name, kind);
        });
    }
}

/// Holds the thread that makes checkpoints up at its operations on the data file. Each record that
/// is written in that time is synced all the same.
#[test]
fn no_record_waits_for_a_checkpoint() {
    watched(|| {
        for kind in [Kind::Write, Kind::Sync] {
            for mapping in Mapping::ALL {
                let run = Run::new(mapping);
                run.while_held("data", kind, 1_000, || {
                    for _ in 0..100 {
                        run.write(10);
                        run.expect_synced();
                    }
                });
                run.db.close().expect("nothing is wrong with the disk");
            }
        }
    });
}

/// Holds the writer up at extending the data file, or in the middle of a long frame. At a new
/// segment of the log it is the writer, or the thread that makes it. Earlier records are synced all
/// the same.
#[test]
fn no_record_waits_for_a_writer_that_waits() {
    watched(|| {
        let long = 100_000;
        let places = [
            ("data", Kind::Preallocate, 1_000),
            ("log-", Kind::Create, 1_000),
            ("log-", Kind::Preallocate, 1_000),
            ("log-", Kind::Rename, 1_000),
            ("log-", Kind::Remove, 1_000),
            ("log-", Kind::WriteLong, long),
        ];
        for (name, kind, bytes) in places {
            for mapping in Mapping::ALL {
                let run = Run::new(mapping);
                (0..10).for_each(|_| run.write(10));
                run.while_held(name, kind, bytes, || run.expect_synced());
                run.db.close().expect("nothing is wrong with the disk");
            }
        }
    });
}

/// Checks that the file of the next segment exists when half of the last one is full: the writer
/// that comes to its end makes none. None is left at the end.
#[test]
fn the_next_segment_is_made_ahead() {
    watched(|| {
        for mapping in Mapping::ALL {
            let run = Run::new(mapping);
            let log = run.log();
            let first = run.log().end().segment;
            while log.end().segment == first && log.end().at < 40_000 {
                run.write(100);
            }
            // If the thread is making it, this waits.
            log.make_next().expect("there is room");
            assert_eq!(log.end().segment, first);
            assert!(log.unused_bytes() > 128 << 10, "{} bytes", log.unused_bytes());
            run.disk.control.hold("log-", Kind::Create);
            while log.end().segment == first {
                run.write(100);
            }
            run.disk.control.release("log-", Kind::Create);
            let Run { db, disk, .. } = run;
            db.close().expect("nothing is wrong with the disk");
            let names = disk.list().expect("the names of the files");
            let count = names.iter().filter(|name| name.starts_with("log-")).count();
            assert_eq!(count, 1, "{names:?}");
        }
    });
}

/// Checks that closing waits for the threads, and that the directory can be locked again at once.
#[test]
fn nothing_runs_after_the_last_handle_has_gone() {
    watched(|| {
        for _ in 0..20 {
            let disk = Held::new(Mapping::InMemory);
            let options = Options::new()
                .memory_bytes(4 << 20)
                .durability(Durability::Periodic)
                .sync_interval(Duration::ZERO);
            let open = || options.open_on(Arc::new(disk.clone()), 5, anything());
            let db = open().expect("an empty disk");
            let engine = Arc::downgrade(db.engine().shared());
            let snapshot = db.snapshot();
            drop(db);
            assert!(engine.upgrade().is_some(), "the snapshot keeps it open");
            drop(snapshot);
            assert!(engine.upgrade().is_none(), "a thread still has it");
            open().expect("it was closed");
        }
    });
}

/// Checks that closing waits for the thread of checkpoints in the middle of one.
#[test]
fn the_last_handle_waits_for_a_checkpoint_that_is_being_made() {
    watched(|| {
        let Run { db, table, disk, .. } = {
            let run = Run::new(Mapping::InMemory);
            run.disk.control.hold("data", Kind::Write);
            while !run.disk.control.is_waiting("data", Kind::Write) {
                run.write_ahead(1_000);
            }
            run
        };
        let control = Arc::clone(&disk.control);
        std::thread::scope(|scope| {
            let of_thread = Arc::clone(&control);
            let dropped = scope.spawn(move || {
                drop((db, table));
                assert!(!of_thread.is_waiting("data", Kind::Write), "it is still being written");
                options().open_on(Arc::new(disk), 5, anything()).map(drop)
            });
            // Time for a handle that does not wait to be caught; one that waits takes all of it.
            for _ in (0..50).take_while(|_| !dropped.is_finished()) {
                std::thread::sleep(Duration::from_millis(2));
            }
            control.release("data", Kind::Write);
            assert_eq!(dropped.join().expect("no panic"), Ok(()));
        });
    });
}

/// Checks that the commit syncs the log, since no thread of such a database does.
#[test]
fn a_periodic_commit_survives_a_power_cut_at_level_process() {
    for seed in 0..16 {
        let disk = Simulated::new(seed);
        let options = options().durability(Durability::Process);
        let db = simulation::open(&options, &disk, 1).expect("an empty disk");
        let schema = Schema::build("t").key("id", Type::U64).column("n", Type::U64).finish();
        let table = db.create_table(&schema.expect("a schema"), KeyKind::Tree).expect("room");
        let transaction = db.begin();
        transaction.insert(&table, &[7; 16]).expect("room");
        transaction.commit_with(Durability::Periodic).expect("it is synced");
        disk.crash(seed);
        drop((table, db));
        let db = simulation::open(&options, &disk, 2).expect("its log is replayed");
        let table = db.table("t").expect("it is durable");
        assert_eq!(table.len(), Ok(1), "seed {seed}");
    }
}
