//! Segments that are made ahead of need.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::io::simulated::{Mapping, Simulated};

const FIRST_BYTES: u64 = 1 << 16;

fn log(disk: &Simulated) -> Log {
    let settings = LogSettings {
        first_bytes: FIRST_BYTES,
        most_bytes: 1 << 24,
        most_lanes: 1,
        writing: FrameWriting::Called,
        kept_mib: None,
    };
    let none = Replayed { next_number: SegmentNumber::FIRST, ..Replayed::default() };
    Log::begin(Arc::new(disk.clone()), 1, 2, settings, none, Arc::default(), Observer::in_memory())
        .unwrap()
}

/// Returns the disk operations for the next segment, when `percent` of the last one have frames.
fn operations_to_make_next(
    mapping: Mapping,
    percent: u64,
    make: impl FnOnce(&Log) -> Result<()>,
) -> u64 {
    let disk = Simulated::new(1);
    disk.set_mapping(mapping);
    let log = log(&disk);
    while log.end().at < FIRST_BYTES * percent / 100 {
        let body: [&[u8]; 1] = [&[7; 100]];
        let appended = log.append_alone(RecordKind::Put, &body[..]).unwrap();
        assert!(appended.is_some());
    }
    let before = disk.operations();
    make(&log).unwrap();
    assert_eq!(disk.file_names().len(), if percent < 50 { 1 } else { 2 });
    disk.operations() - before
}

#[test]
fn zeros_are_written_to_the_next_segment_unless_it_is_about_to_be_needed() {
    let of = |mapping, percent| operations_to_make_next(mapping, percent, Log::make_next);
    assert_eq!(of(Mapping::OnDisk, 40), 0);
    let without = of(Mapping::None, 60);
    // A write and a sync: the segment has fewer bytes than are written at a time.
    assert_eq!(of(Mapping::OnDisk, 60), without + 2);
    assert_eq!(of(Mapping::OnDisk, 80), without);
    let waited_for = |log: &Log| log.ahead.hurry(|| log.make_next());
    assert_eq!(operations_to_make_next(Mapping::OnDisk, 60, waited_for), without);
    let closed = |log: &Log| {
        log.end_ahead();
        log.make_next()
    };
    assert_eq!(operations_to_make_next(Mapping::OnDisk, 60, closed), without);
}

/// Appends a record with that many bytes, and syncs it. Returns the operations of the disk for
/// that.
fn operations_to_commit(log: &Log, disk: &Simulated, bytes: usize) -> u64 {
    let before = disk.operations();
    let body: [&[u8]; 1] = [&vec![7; bytes]];
    let end = loop {
        match log.append_alone(RecordKind::Put, &body[..]).unwrap() {
            Some(appended) => break appended,
            None => log.make_room(log.first_lane(), bytes).unwrap(),
        }
    };
    log.sync(end).unwrap();
    disk.operations() - before
}

#[test]
fn proofs_cost_two_writes_for_each_block_of_frames_and_a_sync_for_each_segment() {
    let disk = Simulated::new(1);
    disk.set_mapping(Mapping::None);
    let log = log(&disk);
    // A write, a sync, and a check that the files are there.
    let least = {
        let _first_two = [0; 2].map(|_| operations_to_commit(&log, &disk, 100));
        operations_to_commit(&log, &disk, 100)
    };
    let mut more = 0;
    let mut commits = 3;
    while log.end().segment == SegmentNumber::FIRST {
        let operations = operations_to_commit(&log, &disk, 100);
        if log.end().segment == SegmentNumber::FIRST {
            more += operations - least;
            commits += 1;
        }
    }
    let frames_bytes = commits * 136;
    // A frame that is in two pages is written in two parts.
    let borders = frames_bytes / PAGE_BYTES + 1;
    let most = 2 * (frames_bytes / front::BLOCK_BYTES + 1) + borders;
    assert!((1..=most).contains(&more), "{more} writes, {borders} of them at borders of pages");
    // The next segment is made by then, and nothing but its first sync differs.
    let before = operations_to_commit(&log, &disk, 100);
    assert!(before <= least + 1, "{before} operations");
}

/// Looks again at a log that another process appends to.
#[test]
fn a_log_that_got_longer_after_it_was_replayed_has_not_rested() {
    let disk = Simulated::new(1);
    let log = log(&disk);
    let (places, ()) = log.barrier(|| ());
    let append = || {
        let body: [&[u8]; 1] = [&[7; 100]];
        assert!(log.append_alone(RecordKind::Put, &body[..]).unwrap().is_some());
    };
    append();
    let start = Start { places, ending: Ending::Live, synced: LogPosition::default() };
    let stock = || Stock::take(&disk, 1, &places.positions()).unwrap();
    let read = || replay(&disk, &stock(), &start, &mut |_, _| Ok(())).unwrap();
    let replayed = read();
    assert_eq!(replayed.ends.positions(), log.ends());
    assert_eq!(have_rested(&disk, &stock(), &replayed), Ok(true));
    append();
    assert_eq!(have_rested(&disk, &stock(), &replayed), Ok(false), "a frame has come");
    let replayed = read();
    assert_eq!(have_rested(&disk, &stock(), &replayed), Ok(true));
    let is_cut = true;
    assert_eq!(have_rested(&disk, &stock(), &Replayed { is_cut, ..replayed.clone() }), Ok(false));
    while log.end().segment == SegmentNumber::FIRST {
        operations_to_commit(&log, &disk, 1000);
    }
    assert_eq!(have_rested(&disk, &stock(), &replayed), Ok(false), "frames have come");
    let replayed = read();
    assert_eq!(replayed.ends.positions(), log.ends());
    assert_eq!(have_rested(&disk, &stock(), &replayed), Ok(true), "a later segment is the last");
}
