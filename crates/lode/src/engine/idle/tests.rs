//! Space that is given back, with a clock that the tests move on.

use std::cell::Cell;
use std::ops::Range;

use super::*;
use crate::io::simulated::Simulated;
use crate::{Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type, simulation};

const RECORD_BYTES: usize = 200;

fn options() -> Options {
    Options::new().memory_bytes(64 << 20).durability(Durability::Process)
}

fn insert(table: &Table, ids: Range<u32>) {
    for id in ids {
        let mut record = [id as u8; RECORD_BYTES];
        record[..4].copy_from_slice(&id.to_le_bytes());
        assert!(table.insert(&record).expect("room"));
    }
}

struct Run {
    db: Database,
    table: Table,
    now: Instant,
    idleness: Idleness,
}

impl Run {
    fn new(options: &Options) -> Self {
        let db = simulation::open(options, &Simulated::new(1), 1).expect("an empty disk");
        let schema = Schema::build("t").key("id", Type::U32);
        let schema = schema.column("rest", Type::Bytes(RECORD_BYTES as u32 - 4));
        let table =
            db.create_table(&schema.finish().expect("a schema"), KeyKind::Tree).expect("room");
        Self { db, table, now: Instant::now(), idleness: Idleness::default() }
    }

    fn insert(&self, ids: Range<u32>) {
        insert(&self.table, ids);
    }

    /// Looks once a second for `seconds`; returns the data file's bytes.
    fn wait(&mut self, seconds: u64) -> u64 {
        for _ in 0..seconds {
            self.now += Duration::from_secs(1);
            self.idleness.look(self.db.engine(), self.now, &|| true);
        }
        self.db.statistics().data_bytes
    }
}

#[test]
fn a_database_without_work_gives_space_back() {
    let mut run = Run::new(&options());
    run.insert(0..50_000);
    run.db.checkpoint().expect("space");
    for id in (0..50_000u32).filter(|id| id % 4 != 0) {
        assert!(run.table.delete(id).expect("it can be read"));
    }
    run.db.checkpoint().expect("space");
    let before = run.db.statistics().data_bytes;
    assert_eq!(run.wait(10), before, "too early");
    let (after, least) = (run.wait(2), 12_500 * RECORD_BYTES as u64);
    assert!(after < least * 2, "{after} of {before} bytes are left");
    let log = run.db.engine().store().and_then(Store::log).expect("it is on a disk");
    assert!(log.unused_bytes() <= 64 << 10, "{} bytes of the log", log.unused_bytes());
    assert!(run.db.check().expect("it is open").is_sound());
    assert_eq!(run.table.len().expect("it can be read"), 12_500);
}

#[test]
fn work_puts_it_off_and_each_time_makes_it_rarer() {
    let mut run = Run::new(&options());
    run.insert(0..50_000);
    for second in 0..30 {
        let before = run.db.statistics().data_bytes;
        assert_eq!(run.wait(9), before);
        run.insert(50_000 + second..50_001 + second);
    }
    let before = run.db.statistics().data_bytes;
    let after = run.wait(12);
    assert!(after < before, "{after} of {before} bytes");
    // The next time it takes twice as long.
    run.insert(60_000..110_000);
    let before = run.db.statistics().data_bytes;
    assert_eq!(run.wait(20), before);
    assert!(run.wait(3) < before);
}

#[test]
fn it_ends_when_it_is_not_to_go_on() {
    let mut run = Run::new(&options());
    run.insert(0..50_000);
    run.wait(1);
    let (asked, before) = (Cell::new(0), run.db.statistics().data_bytes);
    run.now += LEAST_QUIET;
    let goes_on = || {
        asked.set(asked.get() + 1);
        false
    };
    run.idleness.look(run.db.engine(), run.now, &goes_on);
    assert_eq!(asked.get(), 1);
    assert_eq!(run.db.statistics().data_bytes, before);
}

/// A write in the middle of it only puts it off, wherever it comes.
#[test]
fn it_comes_to_its_end_another_time() {
    for asked_before in [0, 1, 2, 5, 20, 50, 100, 150] {
        let mut run = Run::new(&options());
        run.insert(0..50_000);
        run.wait(1);
        let (asked, before) = (Cell::new(0), run.db.statistics().data_bytes);
        let table = run.table.clone();
        run.now += LEAST_QUIET;
        let writes = || {
            if asked.replace(asked.get() + 1) == asked_before {
                insert(&table, 50_000..50_001);
            }
            true
        };
        run.idleness.look(run.db.engine(), run.now, &writes);
        assert!(asked.get() > asked_before, "it has more steps than {asked_before}");
        assert!(run.db.check().expect("it is open").is_sound());
        let after = run.wait(2 * LEAST_QUIET.as_secs() + 2);
        assert!(after < before, "{asked_before}: {after} of {before} bytes");
        assert_eq!(run.table.len().expect("it can be read"), 50_001);
    }
}

#[test]
fn it_can_be_turned_off() {
    let mut run = Run::new(&options().compact_when_idle(false));
    run.insert(0..50_000);
    let before = run.db.statistics().data_bytes;
    assert_eq!(run.wait(100), before);
}

/// Files of the log are kept for what is written until the next checkpoint. They are given back
/// when that is asked for, or nothing is written.
#[test]
fn the_log_keeps_its_files_until_space_is_wanted() {
    const LOG_BYTES: u64 = 16 << 20;
    let mut run = Run::new(&options().segment_bytes(64 << 10).log_bytes(LOG_BYTES));
    let engine = run.db.engine();
    let log = engine.store().and_then(Store::log).expect("it is on a disk");
    let round = || {
        for id in (0..40_000).map(|at| at % 1_000) {
            let mut record = [7; RECORD_BYTES];
            record[..4].copy_from_slice(&u32::to_le_bytes(id));
            run.table.upsert(&record).expect("room");
        }
        engine.checkpoint().expect("space");
        log.unused_bytes()
    };
    let kept = round();
    assert!((LOG_BYTES / 8..=LOG_BYTES / 4 + (64 << 10)).contains(&kept), "{kept} bytes");
    assert!(round().abs_diff(kept) <= 64 << 10);
    run.db.checkpoint().expect("space");
    assert!(log.unused_bytes() <= 64 << 10, "{} bytes", log.unused_bytes());
    assert!(round() >= LOG_BYTES / 8);
    run.wait(12);
    let log = run.db.engine().store().and_then(Store::log).expect("it is on a disk");
    assert!(log.unused_bytes() <= 64 << 10, "{} bytes", log.unused_bytes());
}
