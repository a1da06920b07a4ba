//! Generated histories: the verdict is compared with a search of all orders.

use std::collections::BTreeMap;

use assay_isolation::{Level, Transaction, check};

use crate::generate::{ALL, HABITS, Habit, Isolation, history};
use crate::orders::{is_serializable, is_snapshot_isolated};

/// The histories of each habit and level.
const SEEDS: u64 = 1_000;

fn each(mut visit: impl FnMut(&str, Habit, Isolation, &[Transaction])) {
    for habit in HABITS {
        for isolation in ALL {
            for seed in 0..SEEDS {
                let name = format!("{habit:?}, {isolation:?}, seed {seed}");
                visit(&name, habit, isolation, &history(seed, isolation, habit, 5));
            }
        }
    }
}

#[test]
fn verdicts_agree_with_a_search_of_all_orders() {
    let mut levels: BTreeMap<Level, u64> = BTreeMap::new();
    each(|name, habit, _, history| {
        let verdict = check(history).expect("a history");
        let level = verdict.level;
        *levels.entry(level).or_default() += 1;
        let cases = [
            (Level::SnapshotIsolation, is_snapshot_isolated(history)),
            (Level::Serializable, is_serializable(history, false)),
            (Level::StrictlySerializable, is_serializable(history, true)),
        ];
        for (wanted, holds) in cases {
            // Nothing is reported that did not happen.
            assert!(!holds || level >= wanted, "{name}: {wanted} holds: {verdict}{history:#?}");
            // Nothing is missed where reads show the order of all versions.
            let is_exact = match habit {
                Habit::ReadFirst => true,
                Habit::AppendAtOnce => wanted != Level::SnapshotIsolation,
                Habit::Blind => false,
            };
            assert!(
                holds || !is_exact || level < wanted,
                "{name}: {wanted} does not hold: {verdict}{history:#?}"
            );
        }
    });
    // The histories are of all levels.
    assert_eq!(levels.len(), 6, "{levels:?}");
    assert!(levels.values().all(|count| *count > 50), "{levels:?}");
}

#[test]
fn examples_show_their_anomaly_again() {
    let mut sizes: BTreeMap<usize, u64> = BTreeMap::new();
    each(|name, _, _, history| {
        for found in check(history).expect("a history").anomalies {
            let part: Vec<_> = found.transactions.iter().map(|(_, one)| one.clone()).collect();
            let again = check(&part).expect("a history");
            assert!(again.shows(found.anomaly), "{name}: {found}{again}{history:#?}");
            // More only if there are more transactions, or parts of what several have seen.
            let limit = if found.steps.len() < 3 { 6 } else { 3 * found.steps.len() };
            assert!(found.operations() <= limit, "{name}: {found}{history:#?}");
            *sizes.entry(found.operations()).or_default() += 1;
        }
    });
    let all: u64 = sizes.values().sum();
    let short: u64 = sizes.range(..=6).map(|(_, count)| count).sum();
    assert!(all > 1_000 && 100 * short > 97 * all, "{sizes:?}");
}
