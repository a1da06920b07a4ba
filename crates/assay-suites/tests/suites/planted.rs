//! Crash tests of an engine with planted bugs: the tests made for a bug find it, and find none in
//! an engine without bugs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_core::durability::Found;
use assay_core::random::{draw, mix};
use assay_driver::{Durability, KeyKind};
use assay_suites::crash::{Job, Log, Said, Then, check, endure, reopen, write};

use crate::teaching::{Bug, Failing, Operation, Teaching};

const COMMITS: u32 = 120;

fn job(seed: u64, threads: u32) -> Job {
    Job {
        engine: "teaching".into(),
        durability: Durability::Commit,
        key_kind: KeyKind::Hash,
        dir: PathBuf::from("nowhere"),
        options: BTreeMap::new(),
        seed,
        commits: COMMITS,
        threads,
        pace_us: 0,
        namespace: None,
    }
}

/// Returns what a round finds: a writer without power after some operations, openings that lose it
/// too, and the check.
fn round(bug: Bug, seed: u64, threads: u32, crashes: u64) -> Found {
    let engine = Teaching::with(bug);
    let job = job(seed, threads);
    let mut log = Log::default();
    // A history has more operations than commits, so the power goes before its end.
    engine.power(Some(1 + draw(seed, 0, u64::from(COMMITS))));
    let ended = write(&job, &engine, &mut |said| {
        if let Said::Committed { commit, .. } = said {
            log.add(commit);
        }
    });
    assert!(ended.is_err(), "it has no power");
    for crash in 1..crashes {
        engine.power(Some(draw(seed, crash, 30)));
        // With the power it loses nothing, without it an error.
        let _ = reopen(&job, &engine, &mut drop);
    }
    engine.power(None);
    check(&job, &engine, &log).found
}

fn broken(bug: Bug, rounds: u64, threads: u32, crashes: u64) -> Vec<Found> {
    let found = (0..rounds).map(|round_number| round(bug, mix(9, round_number), threads, crashes));
    found.filter(|found| *found != Found::Everything).collect()
}

#[test]
fn the_engine_without_a_bug_keeps_everything() {
    for (threads, crashes) in [(1, 1), (4, 1), (1, 3), (4, 3)] {
        assert_eq!(broken(Bug::None, 300, threads, crashes), [], "{threads} threads");
    }
}

#[test]
fn several_threads_find_what_one_does_not() {
    for bug in Bug::OF_THREADS {
        assert_eq!(broken(bug, 100, 1, 1), [], "{bug:?} by one thread");
        let found = broken(bug, 100, 4, 1);
        assert!(found.iter().any(|found| matches!(found, Found::Torn(_))), "{bug:?}: {found:?}");
    }
}

#[test]
fn crashes_within_recovery_find_what_one_crash_does_not() {
    for bug in Bug::OF_RECOVERY {
        assert_eq!(broken(bug, 100, 1, 1), [], "{bug:?} with one crash");
        for threads in [1, 4] {
            assert!(broken(bug, 100, threads, 2).len() > 5, "{bug:?}, {threads} threads");
        }
    }
}

/// Returns what a round on a failing disk finds.
fn failing_round(bug: Bug, seed: u64, failing: Failing) -> Found {
    let engine = Teaching::with(bug);
    let job = job(seed, 1);
    let mut log = Log::default();
    let mut wrong = None;
    engine.fail(Some(failing));
    let endured = endure(&job, &engine, &Log::default(), Then::Waits, &mut |said| match said {
        Said::Committed { commit, .. } => log.add(commit),
        Said::Refused(refused) => log.refuse(refused),
        Said::Wrong(why) => wrong = Some(why),
        _ => {}
    });
    assert!(endured.is_ok(), "the store could be opened: {endured:?}");
    engine.fail(None);
    wrong.map_or_else(|| check(&job, &engine, &log).found, Found::Wrong)
}

/// Returns what rounds find whose disks fail once, some times, or from then on.
fn failures(bug: Bug, rounds: u64, operation: Operation) -> Vec<Found> {
    let found = (0..rounds).map(|number| {
        let seed = mix(5, number);
        let at = 1 + draw(seed, 0, u64::from(COMMITS));
        let operations = [1, 5, u64::MAX][number as usize % 3];
        failing_round(bug, seed, Failing { operation, at, operations })
    });
    found.filter(|found| *found != Found::Everything).collect()
}

#[test]
fn a_failing_disk_finds_what_no_crash_does() {
    for bug in Bug::OF_FAULTS {
        assert_eq!(broken(bug, 100, 1, 1), [], "{bug:?} on a good disk");
        let found: Vec<_> =
            Operation::ALL.iter().flat_map(|&operation| failures(bug, 60, operation)).collect();
        let is_what_it_does = |found: &&Found| match bug {
            Bug::LogsRefused => matches!(found, Found::Returned(_)),
            Bug::KeepsRefused | Bug::KeepsPart | Bug::MissesUnread => {
                matches!(found, Found::Wrong(_))
            }
            _ => matches!(found, Found::Lost { .. } | Found::Torn(_) | Found::Wrong(_)),
        };
        assert!(found.iter().filter(is_what_it_does).count() > 2, "{bug:?}: {found:?}");
    }
}

/// The engine differs from the one with that bug only in that it does not deny what is there.
#[test]
fn a_refused_commit_may_be_there_if_its_error_does_not_deny_it() {
    let returned = failures(Bug::LogsRefused, 60, Operation::Sync);
    assert!(returned.len() > 10, "{returned:?}");
    assert_eq!(failures(Bug::LogsUnsure, 60, Operation::Sync), []);
}

#[test]
fn half_a_refused_transaction_is_found() {
    let found = failures(Bug::Halves, 60, Operation::Write);
    let is_half = |found: &Found| matches!(found, Found::Torn(why) if why.contains("was refused"));
    assert!(found.iter().any(is_half), "{found:?}");
}

#[test]
fn the_engine_without_a_bug_keeps_everything_on_a_failing_disk() {
    for operation in Operation::ALL {
        assert_eq!(failures(Bug::None, 300, operation), [], "{operation:?}");
    }
}

#[test]
fn half_a_transaction_is_found_whoever_wrote_it() {
    for threads in [1, 4] {
        let found = broken(Bug::Halves, 100, threads, 1);
        assert!(found.iter().any(|found| matches!(found, Found::Torn(_))), "{threads}: {found:?}");
    }
}
