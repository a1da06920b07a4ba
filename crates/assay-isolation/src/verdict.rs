//! The result of a check: anomalies, each with an example, and the level that is left.

use std::fmt;

use crate::history::{Outcome, Transaction};

/// A level of isolation, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Less than any level: writes are mixed or lost, or reads show what was never written.
    None,
    /// Adya's PL-1: no dirty writes.
    ReadUncommitted,
    /// PL-2: reads show committed data only.
    ReadCommitted,
    /// PL-SI: a transaction reads at one moment, and none overwrites what it has not seen.
    SnapshotIsolation,
    /// PL-3: the transactions could have run one after another.
    Serializable,
    /// PL-SS: and the order agrees with real time.
    StrictlySerializable,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "no isolation",
            Self::ReadUncommitted => "read uncommitted",
            Self::ReadCommitted => "read committed",
            Self::SnapshotIsolation => "snapshot isolation",
            Self::Serializable => "serializable",
            Self::StrictlySerializable => "strictly serializable",
        })
    }
}

/// An anomaly, by the names of Adya (Weak Consistency, PhD thesis, MIT 1999) and Elle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Anomaly {
    /// A read shows a value that no transaction wrote.
    Garbage,
    /// A read shows a value twice.
    Duplicate,
    /// A transaction does not see its own writes, or sees them before it writes them.
    Internal,
    /// Reads of a list agree on no order of its values, or not on the order of a transaction.
    IncompatibleOrder,
    /// G0: a cycle of writes over writes.
    DirtyWrite,
    /// G1a: a read of what an aborted transaction wrote.
    AbortedRead,
    /// G1b: a read of what its transaction wrote over later.
    IntermediateRead,
    /// G1c: a cycle of writes over writes and reads of writes.
    CircularFlow,
    /// Two transactions read the same version and both replaced it.
    LostUpdate,
    /// G-single: a cycle with one write over what was read.
    ReadSkew,
    /// G-nonadjacent: a cycle with several writes over what was read, no two in succession.
    LongFork,
    /// G2-item: a cycle with several writes over what was read.
    WriteSkew,
    /// G2: such a cycle with a write into a range that was read.
    Phantom,
    /// A serial order exists, but none that agrees with real time.
    RealTime,
}

impl Anomaly {
    /// Returns the strongest level at which the anomaly is allowed.
    pub fn allowed_at(self) -> Level {
        match self {
            Self::Garbage | Self::Duplicate | Self::Internal => Level::None,
            Self::IncompatibleOrder | Self::DirtyWrite => Level::None,
            Self::AbortedRead | Self::IntermediateRead | Self::CircularFlow => {
                Level::ReadUncommitted
            }
            Self::LostUpdate | Self::ReadSkew | Self::LongFork => Level::ReadCommitted,
            Self::WriteSkew | Self::Phantom => Level::SnapshotIsolation,
            Self::RealTime => Level::Serializable,
        }
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Garbage => "garbage (a value that no transaction wrote)",
            Self::Duplicate => "duplicate (a value that is there twice)",
            Self::Internal => "internal inconsistency (own writes are not seen, or too early)",
            Self::IncompatibleOrder => "incompatible orders (of a list's values)",
            Self::DirtyWrite => "G0 (dirty write)",
            Self::AbortedRead => "G1a (aborted read)",
            Self::IntermediateRead => "G1b (intermediate read)",
            Self::CircularFlow => "G1c (circular information flow)",
            Self::LostUpdate => "lost update",
            Self::ReadSkew => "G-single (read skew)",
            Self::LongFork => "G-nonadjacent (long fork)",
            Self::WriteSkew => "G2-item (write skew)",
            Self::Phantom => "G2 (phantom)",
            Self::RealTime => "real time (a stale read or a late write)",
        })
    }
}

/// The reason why one transaction comes before another in each order that explains the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependency {
    /// The second wrote over what the first wrote.
    WriteWrite,
    /// The second read what the first wrote.
    WriteRead,
    /// The second wrote over what the first read.
    ReadWrite,
    /// The second wrote a key into a range, where the first had not seen it.
    RangeWrite,
    /// The first had ended when the second started.
    RealTime,
}

/// A step of a cycle, between numbers of transactions in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The transaction that comes first.
    pub from: usize,
    /// The transaction that comes after it.
    pub to: usize,
    /// The reason.
    pub dependency: Dependency,
    /// The key by which they depend; 0 for real time.
    pub key: u64,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, key, .. } = self;
        match self.dependency {
            Dependency::WriteWrite => write!(f, "T{from} before T{to}, which wrote {key} later"),
            Dependency::WriteRead => write!(f, "T{from} before T{to}, which read its {key}"),
            Dependency::ReadWrite => {
                write!(f, "T{from} before T{to}, whose write of {key} it did not see")
            }
            Dependency::RangeWrite => {
                write!(f, "T{from} before T{to}, whose {key} its range did not show")
            }
            Dependency::RealTime => write!(f, "T{from} before T{to}, which started after its end"),
        }
    }
}

/// An anomaly with an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The anomaly.
    pub anomaly: Anomaly,
    /// Parts of transactions that show it, with their numbers in the history. Reads leave out
    /// values that other operations of the history wrote.
    pub transactions: Vec<(usize, Transaction)>,
    /// The cycle; empty if the anomaly is none.
    pub steps: Vec<Step>,
}

impl Found {
    /// Returns the number of operations in the example.
    pub fn operations(&self) -> usize {
        self.transactions.iter().map(|(_, transaction)| transaction.operations.len()).sum()
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, allowed at: {}", self.anomaly, self.anomaly.allowed_at())?;
        for (number, transaction) in &self.transactions {
            let outcome = match transaction.outcome {
                Outcome::Committed => "",
                Outcome::Aborted => " (aborted)",
                Outcome::Unknown => " (outcome unknown)",
            };
            for operation in &transaction.operations {
                writeln!(f, "  T{number}{outcome}: {operation}")?;
            }
        }
        self.steps.iter().try_for_each(|step| writeln!(f, "  {step}"))
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The strongest level that the history keeps.
    pub level: Level,
    /// The anomalies, each kind once, those of the weakest levels first.
    pub anomalies: Vec<Found>,
}

impl Verdict {
    /// Returns true if an anomaly of this kind was found.
    pub fn shows(&self, anomaly: Anomaly) -> bool {
        self.anomalies.iter().any(|found| found.anomaly == anomaly)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "keeps: {}", self.level)?;
        self.anomalies.iter().try_for_each(|found| found.fmt(f))
    }
}
