//! Runs the driver on an engine with planted weaknesses: each is found, and none where it has none.

mod fixed;
mod model;

use assay_isolation::drive::{Broken, Engine, Kind, Plan, Session, in_threads, in_turns};
use assay_isolation::{Anomaly, Level, Operation, Outcome, check};
use model::{Model, Weakness};

const PLAN: Plan = Plan { seed: 1, threads: 8, transactions: 1_500, keys: 32, ranges: true };

#[test]
fn each_planted_weakness_is_found() {
    let cases = [
        (Weakness::RangesUnchecked, Level::SnapshotIsolation, Anomaly::Phantom),
        (Weakness::ReadsUnchecked, Level::SnapshotIsolation, Anomaly::WriteSkew),
        (Weakness::WritesUnchecked, Level::ReadCommitted, Anomaly::LostUpdate),
        (Weakness::NewestReads, Level::ReadCommitted, Anomaly::ReadSkew),
        (Weakness::DirtyReads, Level::ReadUncommitted, Anomaly::AbortedRead),
        (Weakness::OwnWritesUnseen, Level::None, Anomaly::Internal),
        (Weakness::HalfCommits, Level::ReadCommitted, Anomaly::ReadSkew),
        (Weakness::StaleReads, Level::Serializable, Anomaly::RealTime),
    ];
    for (weakness, level, anomaly) in cases {
        let history = in_turns(&Model::new(weakness), &PLAN).expect("a model works");
        let verdict = check(&history).expect("a history");
        assert!(verdict.shows(anomaly), "{weakness:?}: {verdict}");
        assert_eq!(verdict.level, level, "{weakness:?}: {verdict}");
        let sizes = verdict.anomalies.iter().map(|found| (found.steps.len(), found.operations()));
        for (steps, size) in sizes {
            assert!(size <= 6.max(3 * steps), "{weakness:?}: {verdict}");
        }
    }
}

#[test]
fn an_engine_without_a_weakness_shows_no_anomaly() {
    for seed in 0..4 {
        let plan = Plan { seed, ..PLAN };
        let history = in_turns(&Model::new(Weakness::None), &plan).expect("a model works");
        let verdict = check(&history).expect("a history");
        assert_eq!(verdict.level, Level::StrictlySerializable, "seed {seed}: {verdict}");
        let ends = |outcome| history.iter().filter(|one| one.outcome == outcome).count();
        // Most are committed, some are refused, and each has 2 to 8 operations.
        assert!(ends(Outcome::Committed) > 500, "{}", ends(Outcome::Committed));
        assert!(ends(Outcome::Aborted) > 100, "{}", ends(Outcome::Aborted));
        let whole = |outcome: Outcome| outcome == Outcome::Committed;
        let committed = history.iter().filter(|one| whole(one.outcome));
        assert!(committed.clone().all(|one| (2..=8).contains(&one.operations.len())));
    }
}

#[test]
fn threads_show_no_anomaly_either() {
    let history = in_threads(&Model::new(Weakness::None), &PLAN).expect("a model works");
    assert_eq!(history.len(), 1_500);
    let verdict = check(&history).expect("a history");
    assert_eq!(verdict.level, Level::StrictlySerializable, "{verdict}");
}

#[test]
fn turns_are_repeated_from_the_seed() {
    let run = |seed| in_turns(&Model::new(Weakness::NewestReads), &Plan { seed, ..PLAN });
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn keys_have_uses_and_a_bound() {
    let history = in_turns(&Model::new(Weakness::None), &PLAN).expect("a model works");
    let keys = history.iter().flat_map(|one| &one.operations);
    let keys: Vec<u64> = keys.filter_map(Operation::changed_key).collect();
    assert!(keys.iter().all(|key| *key < PLAN.all_keys()));
    for kind in [Kind::List, Kind::Register, Kind::Deletable] {
        assert!(keys.iter().any(|key| PLAN.kind(*key) == kind), "{kind:?}");
    }
}

/// An engine that cannot be used.
struct Closed;

impl Engine for Closed {
    fn connect(&self, _: &mut dyn FnMut(&mut dyn Session)) -> Result<(), String> {
        Err("it is closed".into())
    }
}

#[test]
fn an_engine_that_fails_ends_the_run() {
    let expected = "the engine gives no session: it is closed";
    for run in [in_turns, in_threads] {
        assert_eq!(run(&Closed, &PLAN).expect_err("no session").to_string(), expected);
    }
    let broken = in_turns(&Model::new(Weakness::ShortValues), &PLAN).expect_err("a broken value");
    assert!(matches!(broken, Broken::Value { bytes: 7, .. }), "{broken}");
    let broken = in_turns(&Model::new(Weakness::FullDisk), &PLAN).expect_err("no room");
    assert!(broken.to_string().starts_with("put of transaction "), "{broken}");
    assert!(broken.to_string().ends_with(" failed: no room"), "{broken}");
}
