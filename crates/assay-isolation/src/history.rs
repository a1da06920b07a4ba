//! A history: what transactions asked of a store, and what it answered.

use std::fmt;

/// A transaction of a history.
///
/// `start` and `end` are positions in the order of real time: a transaction whose `end` is smaller
/// than another's `start` had ended before the other started. A counter that all threads share
/// gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The position at which it started.
    pub start: u64,
    /// The position at which its end was known. Not looked at if the outcome is unknown.
    pub end: u64,
    /// The outcome.
    pub outcome: Outcome,
    /// Its operations that were answered, in their order.
    pub operations: Vec<Operation>,
}

/// The end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Committed, and the store said so.
    Committed,
    /// Rolled back or refused.
    Aborted,
    /// Possibly committed: the store's answer was lost.
    Unknown,
}

/// An operation and its answer.
///
/// A key holds a list, if its values are appended, or a register, if they are written or deleted;
/// never both. Each value is used once for a key, so that a read shows which transaction wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Adds a value at the end of a list.
    Append {
        /// The key of the list.
        key: u64,
        /// The value.
        value: u64,
    },
    /// Writes a register.
    Write {
        /// The key of the register.
        key: u64,
        /// The value.
        value: u64,
    },
    /// Deletes a register.
    Delete {
        /// The key of the register.
        key: u64,
    },
    /// Reads a list or a register.
    Read {
        /// The key.
        key: u64,
        /// The values of the list, or the value of the register. Empty if it does not exist.
        seen: Box<[u64]>,
    },
    /// Reads all lists and registers in a range of keys.
    Range {
        /// The lowest key.
        low: u64,
        /// The highest key, which is in the range.
        high: u64,
        /// The keys that exist there, in any order, each key once.
        rows: Box<[Row]>,
    },
}

/// A list or a register that a range shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: u64,
    /// The values of the list, or the value of the register.
    pub seen: Box<[u64]>,
}

impl Operation {
    /// Returns a read of a key.
    pub fn read(key: u64, seen: &[u64]) -> Self {
        Self::Read { key, seen: seen.into() }
    }

    /// Returns a range with a row for each pair of a key and its values.
    pub fn range(low: u64, high: u64, rows: &[(u64, &[u64])]) -> Self {
        let row = |row: &(u64, &[u64])| Row { key: row.0, seen: row.1.into() };
        Self::Range { low, high, rows: rows.iter().map(row).collect() }
    }

    /// Returns the key that the operation changes.
    pub fn changed_key(&self) -> Option<u64> {
        match self {
            Self::Append { key, .. } | Self::Write { key, .. } | Self::Delete { key } => Some(*key),
            Self::Read { .. } | Self::Range { .. } => None,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append { key, value } => write!(f, "append {value} to {key}"),
            Self::Write { key, value } => write!(f, "write {key} = {value}"),
            Self::Delete { key } => write!(f, "delete {key}"),
            Self::Read { key, seen } => write!(f, "read {key} = {}", Seen(seen)),
            Self::Range { low, high, rows } => {
                write!(f, "range {low} to {high} =")?;
                if rows.is_empty() {
                    return write!(f, " nothing");
                }
                rows.iter().try_for_each(|row| match &row.seen[..] {
                    // An example has left its values out.
                    [] => write!(f, " {}: …", row.key),
                    seen => write!(f, " {}: {seen:?}", row.key),
                })
            }
        }
    }
}

/// The values that were read of a key, for people.
struct Seen<'s>(&'s [u64]);

impl fmt::Display for Seen<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { write!(f, "nothing") } else { write!(f, "{:?}", self.0) }
    }
}
