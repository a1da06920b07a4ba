//! Threads that share syncs.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use super::*;
use crate::wal::SegmentNumber;
use crate::watched::watched;

fn position(at: u64) -> LogPosition {
    LogPosition { segment: SegmentNumber::FIRST, at }
}

/// Waits until `count` threads are here, the one that leads among them.
fn wait_for(group: &Group, count: usize) {
    while lock(&group.state).count() < count {
        std::thread::yield_now();
    }
}

/// Counts the syncs if seven threads come during the first one, which leads to `end`.
fn syncs_if_the_first_leads_to(end: u64) -> u64 {
    let group = Group::new(position(0));
    let (begin, may_begin) = mpsc::channel();
    let syncs = AtomicU64::new(0);
    let sync_to = |end: u64| {
        syncs.fetch_add(1, Ordering::Relaxed);
        Ok(position(end))
    };
    std::thread::scope(|scope| {
        let group = &group;
        let sync_to = &sync_to;
        let first = scope.spawn(move || {
            group.sync(position(1), || {
                may_begin.recv().unwrap();
                sync_to(end)
            })
        });
        wait_for(group, 1);
        let others: Vec<_> = (2..=8)
            .map(|at| scope.spawn(move || group.sync(position(at), || sync_to(8))))
            .collect();
        wait_for(group, 8);
        begin.send(()).unwrap();
        first.join().unwrap().unwrap();
        others.into_iter().for_each(|other| other.join().unwrap().unwrap());
    });
    group.sync(position(8), || panic!("it is synced already")).unwrap();
    syncs.into_inner()
}

#[test]
fn all_who_come_too_late_for_a_sync_share_the_next_one() {
    assert_eq!(syncs_if_the_first_leads_to(4), 2);
}

#[test]
fn a_thread_that_comes_during_a_sync_that_leads_far_enough_needs_no_other() {
    assert_eq!(syncs_if_the_first_leads_to(8), 1);
}

/// Runs threads that each sync `records` times; each sync takes as long as `took`. They come back
/// at once, or after a pause of up to `pause_us` microseconds.
fn all_sync(threads: u64, records: u64, took: Duration, pause_us: u64) {
    let group = Group::new(position(0));
    // The end of the appended log, and of the synced one. Only one sync is in progress at a time.
    let appended = AtomicU64::new(0);
    let synced = AtomicU64::new(0);
    let syncing = Mutex::new(());
    let work = || {
        let _alone = syncing.try_lock().unwrap();
        let end = appended.load(Ordering::SeqCst);
        std::thread::sleep(took);
        synced.store(end, Ordering::SeqCst);
        Ok(position(end))
    };
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let group = &group;
            let appended = &appended;
            let synced = &synced;
            let work = &work;
            scope.spawn(move || {
                for record in 0..records {
                    let own = appended.fetch_add(1, Ordering::SeqCst) + 1;
                    group.sync(position(own), work).unwrap();
                    assert!(synced.load(Ordering::SeqCst) >= own);
                    let pause_us = (record * 7 + thread * 13) % (pause_us + 1);
                    if pause_us > 0 {
                        std::thread::sleep(Duration::from_micros(pause_us));
                    }
                }
            });
        }
    });
    assert_eq!(lock(&group.state).count(), 0);
}

#[test]
fn what_is_acknowledged_is_synced() {
    watched(|| all_sync(6, 300, Duration::from_micros(50), 120));
}

#[test]
fn no_thread_waits_for_ever() {
    watched(|| (0..10).for_each(|_| all_sync(32, 500, Duration::ZERO, 30)));
}

/// Ends the first sync in this way, while another one waits. Returns the results of its leader,
/// unless it panics, of the thread that waits, and of one that comes later.
fn all_say(end: impl FnOnce() -> Result<LogPosition> + Send) -> [Option<Result<()>>; 3] {
    let group = &Group::new(position(0));
    let (begin, may_begin) = mpsc::channel();
    let nothing_more = || panic!("nothing is synced any more");
    std::thread::scope(|scope| {
        let first = scope.spawn(move || {
            group.sync(position(1), || {
                may_begin.recv().unwrap();
                end()
            })
        });
        wait_for(group, 1);
        let second = scope.spawn(move || group.sync(position(2), nothing_more));
        wait_for(group, 2);
        begin.send(()).unwrap();
        let first = first.join().ok();
        let second = second.join().ok();
        [first, second, Some(group.sync(position(0), nothing_more))]
    })
}

fn says(said: &Option<Result<()>>, what: &str) -> bool {
    matches!(said, Some(Err(Error::Poisoned { why, .. })) if why.contains(what))
}

#[test]
fn a_sync_that_fails_fails_for_all_and_for_ever() {
    let burns = Error::Poisoned { why: "the disk burns".into(), effect: Effect::None };
    assert!(all_say(|| Err(burns)).iter().all(|said| says(said, "the disk burns")));
}

#[test]
fn a_sync_that_panics_or_does_not_go_far_enough_leaves_none_waiting() {
    for end in [|| panic!("on purpose"), || Ok(position(0))] {
        let [first, others @ ..] = all_say(end);
        assert!(first.is_none());
        assert!(others.iter().all(|said| says(said, "panic")));
    }
}
