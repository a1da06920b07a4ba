//! Readers of changes that are far behind the database.

use lode::simulation::{self, Simulated};
use lode::{Error, Options};

use super::{put, small};

fn options(kept_bytes: u64) -> Options {
    Options::new().memory_bytes(2 << 20).segment_bytes(1 << 16).keep_changes(kept_bytes)
}

/// The number of segments of the log.
fn segments(disk: &Simulated) -> u64 {
    disk.file_names().iter().filter(|name| name.starts_with("log-")).count() as u64
}

/// The number of operations of a disk that `work` needs.
fn operations<T>(disk: &Simulated, work: impl FnOnce() -> T) -> (T, u64) {
    let before = disk.operations();
    let done = work();
    (done, disk.operations() - before)
}

#[test]
fn a_reader_opens_each_segment_a_few_times_however_many_are_kept() {
    let disk = Simulated::new(1);
    let db = small(&disk, options(64 << 20));
    (0..60_000).for_each(|id| put(&db, id));
    let segments = segments(&disk);
    assert!(segments > 50, "{segments} segments");
    let (count, needed) =
        operations(&disk, || db.changes(None).expect("they are kept").map(Result::unwrap).count());
    assert_eq!(count, 60_001, "the table and its records");
    assert!(needed < 40 * segments, "{needed} operations for {segments} segments");
}

#[test]
fn changes_start_without_a_look_at_what_comes_after_the_moment_that_is_shown() {
    let disk = Simulated::new(1);
    let db = small(&disk, options(64 << 20));
    put(&db, 0);
    let to_read = simulation::open_read_only(&options(0), &disk, 1).expect("it is there");
    let start = to_read.position().expect("it has one");
    let (changes, alone) = operations(&disk, || to_read.changes(start));
    assert_eq!(changes.map(Iterator::count), Ok(0));
    (0..60_000).for_each(|id| put(&db, id));
    let segments = segments(&disk);
    let (changes, needed) = operations(&disk, || to_read.changes(start));
    let most = alone + 8 * segments;
    assert!(needed < most, "{needed} operations, {alone} without {segments} segments");
    assert_eq!(changes.map(Iterator::count), Ok(60_000));
}

#[test]
fn the_position_of_a_reader_is_refused_once_its_changes_are_gone() {
    let disk = Simulated::new(1);
    let db = small(&disk, options(1 << 20));
    put(&db, 0);
    let to_read = simulation::open_read_only(&options(0), &disk, 1).expect("it is there");
    let since = to_read.position().expect("it has one");
    for _ in 0..30 {
        (0..1_000).for_each(|id| put(&db, id));
        simulation::checkpoint(&db).expect("space");
    }
    let oldest = db.changes(None).expect("some are kept").reached();
    let gone = Error::ChangesGone { since, oldest };
    assert_eq!(to_read.position(), Err(gone.clone()));
    assert_eq!(to_read.changes(since).map(drop), Err(gone));
}
