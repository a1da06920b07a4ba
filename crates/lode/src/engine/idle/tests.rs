//! Tests of giving space back, with a clock that the tests move.

use std::cell::Cell;
use std::ops::Range;

use super::*;
use crate::io::simulated::Simulated;
use crate::{Database, Durability, KeyKind, Options, ReadTable, Schema, Table, Type, simulation};

const RECORD_BYTES: usize = 200;

/// More records than [light](Pace::Light) writers write in a second.
const BUSY: u32 = 2_000;

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
        (0..seconds).for_each(|_| self.look());
        self.db.statistics().data_bytes
    }

    fn look(&mut self) {
        self.now += Duration::from_secs(1);
        self.idleness.look(self.db.engine(), self.now, &|| true);
    }

    /// Changes records in no order, and does what the threads of the database do after each few.
    fn change(&self, count: u32, records: u32, turn: u32) {
        for at in 0..count {
            let id = (turn * count + at).wrapping_mul(0x9e37_79b1) % records;
            let mut record = [turn as u8; RECORD_BYTES];
            record[..4].copy_from_slice(&id.to_le_bytes());
            self.table.upsert(&record).expect("room");
            if at % 512 == 0 {
                simulation::look_after(&self.db).expect("nothing is wrong");
            }
        }
    }

    /// Returns the bytes that all files take up.
    fn file_bytes(&self) -> u64 {
        let store = self.db.engine().store().expect("it is on a disk");
        let log = store.log().expect("it has a log");
        self.db.statistics().data_bytes + log.unused_bytes() + store.log_bytes()
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
    let after = run.wait(2);
    let least = 12_500 * RECORD_BYTES as u64;
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
        let first = 50_000 + second * BUSY;
        run.insert(first..first + BUSY);
    }
    let before = run.db.statistics().data_bytes;
    let after = run.wait(12);
    assert!(after < before, "{after} of {before} bytes");
    // The next time it takes twice as long.
    run.insert(200_000..250_000);
    let before = run.db.statistics().data_bytes;
    assert_eq!(run.wait(20), before);
    assert!(run.wait(3) < before);
}

#[test]
fn it_ends_when_it_is_not_to_go_on() {
    let mut run = Run::new(&options());
    run.insert(0..50_000);
    run.wait(1);
    let asked = Cell::new(0);
    let before = run.db.statistics().data_bytes;
    run.now += LEAST_PAUSE;
    let goes_on = || {
        asked.set(asked.get() + 1);
        false
    };
    run.idleness.look(run.db.engine(), run.now, &goes_on);
    assert_eq!(asked.get(), 1);
    assert_eq!(run.db.statistics().data_bytes, before);
}

/// Checks that writers in the middle of giving back only delay it.
#[test]
fn it_comes_to_its_end_another_time() {
    for asked_before in [0, 1, 2, 5, 20, 50, 100, 150] {
        let mut run = Run::new(&options());
        run.insert(0..50_000);
        run.wait(1);
        let asked = Cell::new(0);
        let before = run.db.statistics().data_bytes;
        let table = run.table.clone();
        run.now += LEAST_PAUSE;
        let writes = || {
            if asked.replace(asked.get() + 1) == asked_before {
                insert(&table, 50_000..50_000 + BUSY);
            }
            true
        };
        run.idleness.look(run.db.engine(), run.now, &writes);
        assert!(asked.get() > asked_before, "it has more steps than {asked_before}");
        assert!(run.db.check().expect("it is open").is_sound());
        let after = run.wait(2 * LEAST_PAUSE.as_secs() + 2);
        assert!(after < before, "{asked_before}: {after} of {before} bytes");
        assert_eq!(run.table.len().expect("it can be read"), 50_000 + u64::from(BUSY));
    }
}

#[test]
fn it_can_be_turned_off() {
    let mut run = Run::new(&options().compact_when_idle(false));
    run.insert(0..50_000);
    let before = run.db.statistics().data_bytes;
    assert_eq!(run.wait(100), before);
}

/// Checks that files of the log are kept for records until the next checkpoint. They are given back
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

/// Checks that writers who need no checkpoint for long keep no space that the data does not need.
#[test]
fn light_writes_do_not_keep_space() {
    const RECORDS: u32 = 50_000;
    let mut run = Run::new(&options());
    run.insert(0..RECORDS);
    run.change(3 * RECORDS, RECORDS, 0);
    let used_bytes = u64::from(RECORDS) * RECORD_BYTES as u64 / 4 * 5;
    let before = run.file_bytes();
    assert!(before > 3 * used_bytes, "{before} bytes, {used_bytes} in use");
    let sizes: Vec<u64> = (1..100)
        .map(|second| {
            run.change(100, RECORDS, second);
            run.look();
            run.file_bytes()
        })
        .collect();
    let least = sizes.iter().min().expect("some looks");
    assert!(*least <= used_bytes / 4 * 5 + SPARE_BYTES, "{least} bytes, {used_bytes} in use");
    // In a pause, writers may change all pages, and there is space ahead of need.
    let most = sizes[12..].iter().max().expect("some looks");
    assert!(*most <= 2 * used_bytes + 2 * SPARE_BYTES, "{most} bytes, {used_bytes} in use");
    // Once they stop, pages move, too: there are no holes left.
    run.wait(2 * MOST_PAUSE.as_secs());
    let length_bytes = run.db.engine().store().expect("it is on a disk").data.length_bytes();
    assert!(length_bytes <= used_bytes / 4 * 5 + SPARE_BYTES, "{length_bytes} bytes long");
    assert!(run.db.check().expect("it is open").is_sound());
}

/// Checks that pages that deletions have left sparse are filled next to light writes, and not again
/// before much has changed.
#[test]
fn light_writes_do_not_keep_sparse_pages() {
    let mut run = Run::new(&options());
    run.insert(0..50_000);
    for id in (0..50_000u32).filter(|id| id % 2 != 0) {
        assert!(run.table.delete(id).expect("it can be read"));
    }
    let before = run.db.statistics().page_bytes;
    for second in 0..30 {
        run.insert(100_000 + second..100_001 + second);
        run.look();
    }
    let after = run.db.statistics().page_bytes;
    assert!(after < before / 3 * 2, "{after} of {before} bytes");
    let store = run.db.engine().store().expect("it is on a disk");
    assert_eq!(run.idleness.sparse_pages(run.db.engine(), store), Sparse::Left);
    assert!(run.db.check().expect("it is open").is_sound());
}

/// Checks that looks soon after one another do not take many writes for few.
#[test]
fn many_looks_do_not_make_writes_light() {
    let mut run = Run::new(&options());
    run.insert(0..50_000);
    let before = run.db.statistics().data_bytes;
    let start = run.now;
    for look in 0..400 {
        let first = 50_000 + look * BUSY / 10;
        run.insert(first..first + BUSY / 10);
        run.now += Duration::from_millis(100);
        run.idleness.look(run.db.engine(), run.now, &|| true);
    }
    assert!(run.now - start > 3 * LEAST_PAUSE);
    assert!(run.db.statistics().data_bytes >= before);
    assert_eq!(run.idleness.pause, LEAST_PAUSE);
}
