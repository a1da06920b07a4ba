//! The results of `assay isolate`: the anomalies that engines' transactions showed, and what the
//! engines' documentation promises.
//!
//! The verdicts are kept in a file next to the run files, for `assay advise` and the site.

use assay_driver::{Durability, Storage};
use assay_isolation::{Anomaly, Level};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::verdict_file::{Kept, VerdictFile};

/// The anomalies that are looked for, with the short names of a table.
pub const ANOMALIES: [(Anomaly, &str); 10] = [
    (Anomaly::DirtyWrite, "G0"),
    (Anomaly::AbortedRead, "G1a"),
    (Anomaly::IntermediateRead, "G1b"),
    (Anomaly::CircularFlow, "G1c"),
    (Anomaly::LostUpdate, "lost update"),
    (Anomaly::ReadSkew, "G-single"),
    (Anomaly::LongFork, "long fork"),
    (Anomaly::WriteSkew, "G2-item"),
    (Anomaly::Phantom, "G2"),
    (Anomaly::RealTime, "real time"),
];

/// The short name of anything that no level allows.
pub const BROKEN: &str = "broken";

/// Returns the short names of a table, in the order of its columns.
pub fn short_names() -> impl Iterator<Item = &'static str> {
    ANOMALIES.into_iter().map(|(_, name)| name).chain([BROKEN])
}

/// Returns the short name of an anomaly.
pub fn short(anomaly: Anomaly) -> &'static str {
    ANOMALIES.iter().find(|(other, _)| *other == anomaly).map_or(BROKEN, |(_, name)| name)
}

/// Returns the strongest level at which the anomaly with this short name is allowed.
fn allowed_at(short: &str) -> Level {
    let found = ANOMALIES.iter().find(|(_, name)| *name == short);
    found.map_or(Level::None, |(anomaly, _)| anomaly.allowed_at())
}

/// An engine's isolation, as far as it was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Isolated {
    /// The version of the engine.
    pub engine_version: String,
    /// True if ranges of keys were read too, without which no phantom shows.
    pub has_ranges: bool,
    /// The drawn transactions that were committed.
    pub committed: u64,
    /// The drawn transactions that were rolled back, or refused by the engine.
    pub aborted: u64,
    /// The number of cases in a fixed order.
    pub cases: u64,
    /// The cases in which a session waited for another one.
    pub cases_waited: u64,
    /// The cases in which the engine refused a transaction.
    pub cases_refused: u64,
    /// The strongest level that all transactions kept.
    pub kept: String,
    /// The anomalies, each kind once.
    pub seen: Vec<Seen>,
}

/// An anomaly that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The short name of the anomaly.
    pub anomaly: String,
    /// The case that showed it; none if drawn transactions did.
    pub case: Option<String>,
    /// The example, a line each: transactions, their operations, why they are in a cycle.
    pub example: Vec<String>,
    /// True if the engine's documentation promises that it does not happen, or the user expects it.
    pub is_against_promise: bool,
}

impl Isolated {
    /// Marks the anomalies that a level excludes, in place of those that documentation does.
    pub fn expect(&mut self, level: Level) {
        for seen in &mut self.seen {
            seen.is_against_promise = allowed_at(&seen.anomaly) < level;
        }
    }

    /// Returns the outcome for an anomaly, by its short name.
    pub fn outcome(&self, anomaly: &str) -> Shown<'_> {
        match self.seen.iter().find(|seen| seen.anomaly == anomaly) {
            Some(seen) if seen.is_against_promise => Shown::Against(seen),
            Some(seen) => Shown::Seen(seen),
            // Without ranges there is no phantom to be seen.
            None if anomaly == "G2" && !self.has_ranges => Shown::NotLookedFor,
            None => Shown::No,
        }
    }
}

/// The outcome for an anomaly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<'i> {
    /// Not seen, which proves nothing.
    No,
    /// Seen, and the engine's documentation allows it.
    Seen(&'i Seen),
    /// Seen, though the engine's documentation excludes it.
    Against(&'i Seen),
    /// The engine has nothing that could show it.
    NotLookedFor,
}

impl Shown<'_> {
    /// Returns the mark of a table.
    pub fn mark(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Seen(_) => "seen",
            Self::Against(_) => "AGAINST",
            Self::NotLookedFor => "–",
        }
    }
}

/// The isolation of an engine in a storage mode at a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The engine's id.
    pub engine: String,
    /// The storage mode.
    pub storage: Storage,
    /// The durability level.
    pub durability: Durability,
    /// The level that the engine's documentation names, or that the user expects; none if no page
    /// names one.
    pub promised: Option<String>,
    /// The page that names it; none if the user expects it.
    pub source: Option<String>,
    /// The threads that ran drawn transactions at once.
    pub threads: u32,
    /// The number of drawn transactions.
    pub transactions: u64,
    /// The seed of the drawn transactions.
    pub seed: u64,
    /// The isolation that was seen.
    pub isolation: Isolated,
    /// The time at which the test ended.
    pub tested: Timestamp,
}

impl Verdict {
    /// Returns true if an anomaly was seen that the engine's documentation excludes.
    pub fn is_refuted(&self) -> bool {
        self.isolation.seen.iter().any(|seen| seen.is_against_promise)
    }

    /// Returns in words what excludes anomalies against the promise.
    pub fn excluded_by(&self) -> &'static str {
        match (&self.promised, &self.source) {
            (Some(_), Some(_)) => "against its documentation",
            (Some(_), None) => "against --expect",
            (None, _) => "which no level allows",
        }
    }

    /// Returns the first anomaly that a level excludes.
    pub fn anomaly_against(&self, level: Level) -> Option<&Seen> {
        self.isolation.seen.iter().find(|seen| allowed_at(&seen.anomaly) < level)
    }

    fn is_of_the_test(&self, other: &Self) -> bool {
        self.engine == other.engine
            && self.isolation.engine_version == other.isolation.engine_version
            && self.storage == other.storage
            && self.durability == other.durability
    }
}

/// A file of verdicts, the newest of each engine, version, storage mode and level.
pub type Verdicts = VerdictFile<Verdict>;

impl Kept for Verdict {
    const FORMAT: &'static str = "assay-isolation";
    const SCHEMA_VERSION: u32 = 2;
    const COMMAND: &'static str = "assay isolate";
}

impl Verdicts {
    /// Adds a verdict, in place of an older one of its test. That of a test with more transactions
    /// or threads stays, unless the new one refutes the promise. Returns true if the verdict was
    /// added.
    pub fn add(&mut self, verdict: Verdict) -> bool {
        let is_stronger = |old: &Verdict| {
            old.transactions > verdict.transactions || old.threads > verdict.threads
        };
        let mut of_the_test = self.verdicts.iter().filter(|old| old.is_of_the_test(&verdict));
        if !verdict.is_refuted() && of_the_test.any(is_stronger) {
            return false;
        }
        self.verdicts.retain(|old| !old.is_of_the_test(&verdict));
        self.verdicts.push(verdict);
        true
    }

    /// Returns the verdicts on an engine of this version.
    pub fn of<'v>(
        &'v self,
        engine: &'v str,
        engine_version: &'v str,
    ) -> impl Iterator<Item = &'v Verdict> {
        self.verdicts.iter().filter(move |verdict| {
            verdict.engine == engine && verdict.isolation.engine_version == engine_version
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(transactions: u64, anomalies: &[(&str, bool)]) -> Verdict {
        let seen = anomalies.iter().map(|(anomaly, is_against_promise)| Seen {
            anomaly: (*anomaly).into(),
            case: None,
            example: Vec::new(),
            is_against_promise: *is_against_promise,
        });
        Verdict {
            engine: "lmdb".into(),
            storage: Storage::Ramdisk,
            durability: Durability::Process,
            promised: Some("serializable".into()),
            source: None,
            threads: 8,
            transactions,
            seed: 1,
            isolation: Isolated {
                engine_version: "1".into(),
                has_ranges: false,
                committed: transactions,
                aborted: 0,
                cases: 12,
                cases_waited: 12,
                cases_refused: 0,
                kept: "serializable".into(),
                seen: seen.collect(),
            },
            tested: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn an_anomaly_stays_until_as_many_transactions_are_without_it() {
        let mut verdicts = Verdicts::default();
        assert!(verdicts.add(verdict(4_000, &[("G2-item", true)])));
        assert!(!verdicts.add(verdict(3_999, &[])));
        assert!(!verdicts.add(Verdict { threads: 2, ..verdict(4_000, &[]) }));
        assert!(verdicts.verdicts[0].is_refuted());
        assert!(verdicts.add(verdict(4_000, &[])));
        assert!(!verdicts.add(verdict(20, &[])), "the longer test says more");
        assert!(verdicts.add(Verdict { storage: Storage::Disk, ..verdict(10, &[]) }));
        assert_eq!(verdicts.of("lmdb", "1").count(), 2);
        assert_eq!(verdicts.of("lmdb", "2").count() + verdicts.of("mdbx", "1").count(), 0);
        assert!(verdicts.of("lmdb", "1").all(|verdict| !verdict.is_refuted()));
    }

    #[test]
    fn a_level_excludes_the_anomalies_that_it_does_not_allow() {
        let skewed = verdict(10, &[("G2-item", false), ("real time", false)]);
        let against =
            |level| skewed.anomaly_against(level).map_or("none", |seen| seen.anomaly.as_str());
        assert_eq!(against(Level::SnapshotIsolation), "none");
        assert_eq!(against(Level::Serializable), "G2-item");
        let late = verdict(10, &[("real time", false)]);
        assert!(late.anomaly_against(Level::Serializable).is_none());
        assert!(late.anomaly_against(Level::StrictlySerializable).is_some());
        let broken = verdict(10, &[(BROKEN, true)]);
        assert!(broken.anomaly_against(Level::ReadUncommitted).is_some());
    }

    #[test]
    fn a_table_marks_what_was_seen_allowed_or_not_looked_for() {
        let found = verdict(10, &[("G0", true), ("lost update", false)]);
        let mark = |anomaly| found.isolation.outcome(anomaly).mark();
        assert_eq!(["G0", "lost update", "G1a", "G2"].map(mark), ["AGAINST", "seen", "no", "–"]);
    }
}
