//! The file of verdicts, and what it says of a level.

use std::collections::BTreeMap;
use std::fmt;

use assay_driver::Durability;
use serde::{Deserialize, Serialize};

use super::{Crash, Promise, Verdict};
use crate::verdict_file::{Kept, VerdictFile};

/// A file of verdicts, the newest of each engine, version, setting, level and crash.
pub type Verdicts = VerdictFile<Verdict>;

impl Kept for Verdict {
    const FORMAT: &'static str = "assay-durability";
    const SCHEMA_VERSION: u32 = 3;
    const COMMAND: &'static str = "assay crash";
}

impl Verdicts {
    /// Adds a verdict, in place of an older one of the same test. A refutation stays until a test
    /// with at least as many rounds and commits clears it. Returns true if the verdict was added.
    pub fn add(&mut self, verdict: Verdict) -> bool {
        let stronger = |old: &Verdict| {
            old.is_refuted()
                && (old.judged_rounds() > verdict.judged_rounds() || old.commits > verdict.commits)
        };
        let same = |old: &Verdict| old.is_of_the_same(&verdict);
        if !verdict.is_refuted() && self.verdicts.iter().any(|old| same(old) && stronger(old)) {
            return false;
        }
        self.verdicts.retain(|old| !same(old));
        self.verdicts.push(verdict);
        true
    }

    /// Returns true if a verdict of `test` has at least `rounds` rounds and as many commits.
    pub fn has_as_much(&self, test: &Verdict, rounds: u32) -> bool {
        self.verdicts.iter().any(|verdict| {
            verdict.is_of_the_same(test)
                && verdict.judged_rounds() >= rounds
                && verdict.commits >= test.commits
        })
    }

    /// Returns the refutation of a level in one line, if it was refuted.
    pub fn refutation(&self, level: &Level<'_>) -> Option<String> {
        let verdict = self.of(level).find(|verdict| verdict.is_refuted())?;
        let failures = verdict.failures.len();
        let rounds = verdict.rounds;
        Some(format!(
            "{level}: `assay crash` refuted this level in {failures} of {rounds} {}: {}",
            verdict.victims(),
            verdict.failures[0]
        ))
    }

    /// Returns the support for a level; none if a round refuted it, or none could have.
    pub fn holding(&self, level: &Level<'_>) -> Option<Holding> {
        let could_refute =
            |verdict: &&Verdict| verdict.promise != Promise::Nothing && verdict.acknowledged > 0;
        // A share of the crashes by chance is what states of one history do not have.
        let drawn = |verdict: &&Verdict| verdict.enumerated.is_none();
        let verdicts: Vec<_> = self.of(level).filter(could_refute).filter(drawn).collect();
        if verdicts.is_empty() || self.refutation(level).is_some() {
            return None;
        }
        let of_kind = |verdict: &&Verdict| {
            let rounds = verdict.rounds;
            let victims = verdict.victims();
            format!("{rounds} {victims} ({} do)", verdict.bounds())
        };
        let rounds: Vec<_> = verdicts.iter().map(of_kind).collect();
        Some(Holding {
            words: format!(
                "{level}: `assay crash` broke it in none of {}",
                rounds.join(" and of ")
            ),
            most: verdicts.iter().map(|verdict| verdict.bounds().high).fold(0.0, f64::max),
        })
    }

    /// Returns the verdicts on a level, with names of files as most file systems keep them and a
    /// disk without faults.
    fn of(&self, level: &Level<'_>) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(|verdict| {
            !verdict.strict_directories
                && verdict.faults.is_none()
                && verdict.crash != Crash::Copy
                && verdict.engine == level.engine
                && verdict.engine_version == level.engine_version
                && verdict.engine_options == *level.engine_options
                && verdict.durability == level.durability
        })
    }
}

/// An engine's level: the key of its verdicts.
#[derive(Clone, Copy, Debug)]
pub struct Level<'l> {
    /// The engine's id.
    pub engine: &'l str,
    /// The engine's version.
    pub engine_version: &'l str,
    /// The engine's settings that differ from their defaults.
    pub engine_options: &'l BTreeMap<String, String>,
    /// The level.
    pub durability: Durability,
}

impl fmt::Display for Level<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.engine, self.durability)
    }
}

/// The support that crash tests give a level which they did not refute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holding {
    /// The number and kinds of rounds, in words.
    pub words: String,
    /// The largest share of crashes that breaks the level, with a confidence of 95 %.
    pub most: f64,
}
