//! The results of crash tests: which engines keep what their levels promise.
//!
//! The verdicts are kept in a file next to the run files. Every later run marks the engines whose
//! level was refuted.

mod fault;
mod file;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use assay_driver::{Durability, Profile};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::share::ShareBounds;

pub use fault::{Fault, Lasts, Tally};
pub use file::{Holding, Level, Verdicts};

/// The kind of a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Crash {
    /// The process is killed.
    Process,
    /// The power is cut.
    Power,
    /// No crash: the files are copied while the store is written.
    Copy,
}

impl Crash {
    /// Returns the plural word for crashes of this kind.
    fn victims(self) -> &'static str {
        match self {
            Self::Process => "killed processes",
            Self::Power => "power cuts",
            Self::Copy => "copies",
        }
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Process => "process",
            Self::Power => "power",
            Self::Copy => "copy",
        })
    }
}

/// The promise of a level about a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Promise {
    /// The level promises nothing.
    Nothing,
    /// Commits may be lost from the end on; the rest is whole.
    Prefix,
    /// No acknowledged commit is lost.
    Everything,
    /// A copy is of any moment, or is refused. No engine here promises that.
    Copy,
}

impl Promise {
    /// Returns the promise of an engine's level.
    pub fn of(profile: &Profile, durability: Durability, crash: Crash) -> Self {
        match (crash, durability) {
            (Crash::Copy, _) => Self::Copy,
            (Crash::Process, Durability::None)
            | (Crash::Power, Durability::None | Durability::Process) => Self::Nothing,
            (Crash::Process, Durability::Periodic) if profile.periodic_survives_kill => {
                Self::Everything
            }
            (_, Durability::Periodic) => Self::Prefix,
            (Crash::Process, Durability::Process | Durability::Commit)
            | (Crash::Power, Durability::Commit) => Self::Everything,
        }
    }

    /// Returns true if a crash that left `found` kept the promise.
    pub fn is_kept(self, found: &Found) -> bool {
        match self {
            Self::Nothing => !matches!(found, Found::Wrong(_) | Found::Hung(_)),
            Self::Prefix => matches!(found, Found::Everything | Found::Lost { .. }),
            Self::Everything => *found == Found::Everything,
            Self::Copy => {
                matches!(found, Found::Everything | Found::Lost { .. } | Found::Refused(_))
            }
        }
    }
}

/// Returns the machine's clock: microseconds since 1970, equal in all processes.
pub fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The age of the oldest lost commit at the crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Age {
    /// Time from the commit's acknowledgement to the crash.
    pub lost_us: u64,
    /// The longest that the writer was kept waiting: for a commit, or after a pause for a
    /// processor. A thread that syncs may have waited as long.
    pub late_us: u64,
}

/// A loss is too old if it is older than this many intervals plus twice the time that the machine
/// kept the writer waiting. A level loses an interval and one sync; the rest is for a slow machine.
const MOST_INTERVALS: u64 = 4;

impl Age {
    /// Returns true if a level with this sync interval cannot have lost a commit of this age.
    pub fn is_too_old(self, interval: Duration) -> bool {
        let interval_us = u64::try_from(interval.as_micros()).unwrap_or(u64::MAX);
        let most = interval_us.saturating_mul(MOST_INTERVALS);
        self.lost_us > most.saturating_add(self.late_us.saturating_mul(2))
    }
}

/// The state of a store after a crash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Found {
    /// Every acknowledged commit, and nothing but those and at most the one in flight.
    Everything,
    /// The last commits are lost; the rest is whole.
    Lost {
        /// The number of acknowledged commits that are lost.
        commits: u32,
    },
    /// No moment of the history: half a commit, one without those before it, or records that
    /// were never written.
    Torn(String),
    /// The store cannot be opened or read; the engine said so.
    Refused(String),
    /// The process that opened the store died of it.
    Died(String),
    /// The store is at a moment of the history, but cannot take new commits.
    Unusable(String),
    /// A commit is there of which the engine said that nothing had happened.
    Returned(String),
    /// The writer got a wrong answer while the disk failed.
    Wrong(String),
    /// The writer hung while the disk failed.
    Hung(String),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("nothing was lost"),
            Self::Lost { commits: 1 } => f.write_str("1 acknowledged commit was lost"),
            Self::Lost { commits } => write!(f, "{commits} acknowledged commits were lost"),
            Self::Torn(why) => write!(f, "torn: {why}"),
            Self::Refused(why) => write!(f, "refused to open: {why}"),
            Self::Died(why) => write!(f, "opening it failed: {why}"),
            Self::Unusable(why) => write!(f, "unusable: {why}"),
            Self::Returned(why) => write!(f, "refused but there: {why}"),
            Self::Wrong(why) => write!(f, "a wrong answer: {why}"),
            Self::Hung(why) => write!(f, "hung: {why}"),
        }
    }
}

/// The results of the rounds of one engine at one level.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The engine's id.
    pub engine: String,
    /// The engine's version.
    pub engine_version: String,
    /// The engine's settings that differ from their defaults.
    pub engine_options: BTreeMap<String, String>,
    /// The settings that the driver applied.
    pub settings: Vec<String>,
    /// The level that was tested.
    pub durability: Durability,
    /// The kind of crash.
    pub crash: Crash,
    /// True if names become durable only with their directory.
    pub strict_directories: bool,
    /// The level's promise about such a crash.
    pub promise: Promise,
    /// The threads that wrote.
    pub threads: u32,
    /// The crashes of a round: of the writer, then of openings.
    pub crashes: u32,
    /// Openings that a crash ended before they were complete, in all rounds together.
    pub cut_openings: u32,
    /// Commits in the history of a round, of all threads together.
    pub commits: u32,
    /// The number of rounds.
    pub rounds: u32,
    /// Commits that were acknowledged, in all rounds together.
    pub acknowledged: u64,
    /// Rounds that lost acknowledged commits.
    pub lost_rounds: u32,
    /// The largest number of commits that a round lost.
    pub lost_commits_most: u32,
    /// The interval between syncs that the engine states, in milliseconds; none if it states none.
    pub interval_ms: Option<u64>,
    /// The greatest age of a lost commit at the crash, in milliseconds; none if it was not
    /// measured.
    pub lost_age_most_ms: Option<u64>,
    /// Rounds that left no moment of the history.
    pub torn_rounds: u32,
    /// Rounds after which the store could not be opened or read.
    pub refused_rounds: u32,
    /// Rounds after which the store could not take new commits.
    pub unusable_rounds: u32,
    /// The objection of the engine's authors to such copies; none if it is no test of copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_rule: Option<String>,
    /// The faults of the disk; none if it had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<Tally>,
    /// The enumeration, if rounds are states instead of crashes by chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enumerated: Option<Enumerated>,
    /// Rounds that broke the promise, with the command that repeats each.
    pub failures: Vec<Failure>,
    /// The time at which the test ended.
    pub tested: Timestamp,
}

/// The size of an enumeration: the states that power cuts before each operation of one history may
/// leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enumerated {
    /// The most states of a cut.
    pub most: u32,
    /// The operations before which the power was cut.
    pub operations: u32,
    /// Cuts that may leave more states than were tried.
    pub bounded: u32,
    /// States that earlier cuts after as many acknowledged commits had left.
    pub equal: u64,
}

/// A crash of a process that opened the store after an earlier crash: the place in the opening,
/// and how long an undisturbed opening of these files was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// The power went before this file operation of the opening.
    Operation {
        /// The operation, counted from 1.
        at: u64,
        /// The operations of an undisturbed opening.
        of: u64,
    },
    /// The process was killed.
    Time {
        /// Microseconds since the opening began.
        at_us: u64,
        /// Microseconds of an undisturbed opening.
        of_us: u64,
    },
}

impl Recovery {
    /// Returns the number by which the crash is repeated.
    pub fn at(self) -> u64 {
        match self {
            Self::Operation { at, .. } => at,
            Self::Time { at_us, .. } => at_us,
        }
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation { at, of } => {
                write!(f, "crashed again before operation {at} of {of} of the opening")
            }
            Self::Time { at_us, of_us } => {
                write!(f, "crashed again after {at_us} of {of_us} µs of the opening")
            }
        }
    }
}

/// A round that broke the promise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The state that the crash left.
    pub found: Found,
    /// The age of the oldest lost commit, if it was measured.
    pub age: Option<Age>,
    /// The time that the fault of the disk lasted, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Lasts>,
    /// The crashes of openings before the last one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recoveries: Vec<Recovery>,
    /// The command line that repeats the round.
    pub command: String,
    /// The folder with the store's files as the crash left them; none if they were not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.found.fmt(f)?;
        if let Some(age) = self.age {
            write!(f, ", the oldest {} ms after it", age.lost_us / 1_000)?;
        }
        if let Some(lasts) = self.lasts {
            write!(f, "; the fault was {lasts}")?;
        }
        self.recoveries.iter().try_for_each(|recovery| write!(f, "; {recovery}"))
    }
}

impl Verdict {
    /// Returns true if a round kept the promise, by what it left and the age of its losses.
    pub fn is_kept(&self, found: &Found, age: Option<Age>) -> bool {
        let interval = self.interval_ms.map(Duration::from_millis);
        let is_too_old = age.zip(interval).is_some_and(|(age, interval)| age.is_too_old(interval));
        self.promise.is_kept(found) && !(self.promise == Promise::Prefix && is_too_old)
    }

    /// Adds a round to the verdict.
    pub fn add(&mut self, acknowledged: u32, found: &Found, age: Option<Age>) {
        let age_ms = age.map(|age| age.lost_us / 1_000);
        self.lost_age_most_ms = self.lost_age_most_ms.max(age_ms);
        self.rounds += 1;
        self.acknowledged += u64::from(acknowledged);
        match found {
            Found::Everything => {}
            // Commits after the moment that was copied are not lost.
            Found::Lost { .. } if self.crash == Crash::Copy => {}
            Found::Lost { commits } => {
                self.lost_rounds += 1;
                self.lost_commits_most = self.lost_commits_most.max(*commits);
            }
            Found::Torn(_) => self.torn_rounds += 1,
            Found::Refused(_) | Found::Died(_) => self.refused_rounds += 1,
            Found::Unusable(_) => self.unusable_rounds += 1,
            Found::Returned(_) | Found::Wrong(_) | Found::Hung(_) => {
                self.faults.iter_mut().for_each(|faults| faults.add(found));
            }
        }
    }

    /// Returns in words what the rounds had beyond one thread and one crash; nothing if they had
    /// these.
    pub fn beyond(&self) -> String {
        if let Some(Tally { fault, lasts, .. }) = self.faults {
            let lasts = lasts.map(|lasts| format!(" {lasts}"));
            return format!(" with {fault}{}", lasts.unwrap_or_default());
        }
        match (self.threads, self.crashes) {
            _ if self.enumerated.is_some() => " with enumerated states".into(),
            (1, 1) => String::new(),
            (threads, 1) => format!(" with {threads} threads"),
            (1, crashes) => format!(" with {crashes} crashes"),
            (threads, crashes) => format!(" with {threads} threads and {crashes} crashes"),
        }
    }

    /// Returns the crashes in words.
    fn victims(&self) -> String {
        if self.enumerated.is_some() {
            return format!("states that {} may leave", self.crash.victims());
        }
        format!("{}{}", self.crash.victims(), self.beyond())
    }

    /// Returns true if the promise was broken. A copy that went wrong is no fault of the engine.
    pub fn is_refuted(&self) -> bool {
        self.crash != Crash::Copy && !self.failures.is_empty()
    }

    /// Returns in words if the store can be copied while it is written.
    fn copied(&self) -> String {
        let rounds = self.rounds;
        let rule = match &self.copy_rule {
            Some(rule) => format!("; its authors say: {rule}"),
            None => String::new(),
        };
        match (self.failures.len(), self.refused_rounds) {
            (0, 0) => format!("each of {rounds} copies was whole{rule}"),
            (0, refused) => {
                let whole = rounds - refused;
                format!("of {rounds} copies {whole} were whole and {refused} refused{rule}")
            }
            (wrong, _) => format!(
                "CANNOT BE COPIED while it is written: {wrong} of {rounds} copies were mixtures, \
                 or made the process that opened them die{rule}"
            ),
        }
    }

    /// Returns the verdict in a few words.
    pub fn summary(&self) -> String {
        match (self.promise, self.failures.len()) {
            (Promise::Copy, _) => self.copied(),
            (Promise::Nothing, 0) => "promises nothing".into(),
            (_, 0) if self.acknowledged == 0 => "nothing was acknowledged".into(),
            (_, failures) if self.enumerated.is_some() => self.enumeration(failures),
            (_, 0) => format!("broken in none of {}: {}", self.judged_rounds(), self.bounds()),
            (_, failures) => {
                let rounds = self.judged_rounds();
                format!("REFUTED in {failures} of {rounds} rounds: {}", self.bounds())
            }
        }
    }

    /// Returns the verdict of an enumeration, some of whose states broke the promise.
    fn enumeration(&self, failures: usize) -> String {
        let Enumerated { most, operations, bounded, .. } = self.enumerated.unwrap_or_default();
        let states = self.rounds;
        let outcome = match failures {
            0 => format!("broken in none of {states} states"),
            failures => format!("REFUTED in {failures} of {states} states"),
        };
        let bound = match bounded {
            0 => String::new(),
            bounded => {
                format!("; {bounded} of these cuts may leave more than the {most} that were tried")
            }
        };
        format!(
            "{outcome} that cuts before {operations} operations, or after all, may leave{bound}"
        )
    }

    /// Returns the bounds of the share of broken rounds, as far as these rounds say.
    pub fn bounds(&self) -> ShareBounds {
        ShareBounds::of(self.failures.len() as u64, u64::from(self.judged_rounds()))
    }

    /// Returns the number of rounds that judge the promise: if the disk had faults, those in which
    /// an operation met one, or which broke the promise all the same.
    pub fn judged_rounds(&self) -> u32 {
        let failures = u32::try_from(self.failures.len()).unwrap_or(u32::MAX);
        self.faults.map_or(self.rounds, |faults| faults.met_rounds.max(failures))
    }

    fn is_of_the_same(&self, other: &Self) -> bool {
        let subject = |verdict: &Self| {
            (
                verdict.engine.clone(),
                verdict.engine_version.clone(),
                verdict.engine_options.clone(),
                verdict.durability,
                verdict.crash,
                verdict.strict_directories,
                verdict.threads,
                verdict.crashes,
                verdict.faults.map(|faults| (faults.fault, faults.lasts)),
                verdict.enumerated.is_some(),
            )
        };
        subject(self) == subject(other)
    }
}

#[cfg(test)]
mod tests;
