//! What can go wrong, and what the caller can do about it.

use std::io;

/// The result of what can go wrong.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation did not happen. Nothing was changed by it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The memory that the database may use is used up. Delete records, or open it with more.
    #[error(
        "the memory budget of {budget_bytes} bytes is used up; delete records, or give the database \
         more memory"
    )]
    Full {
        /// The budget.
        budget_bytes: u64,
    },
    /// A table of hashed keys has as many buckets as there can be. Use several tables.
    #[error("a table of hashed keys has no room for more buckets; spread the records over several")]
    TableFull,
    /// Somebody else changed what the transaction had read or was to write. Run it again.
    #[error(
        "another writer changed a record of table {table} meanwhile; run the transaction again"
    )]
    Conflict {
        /// The table.
        table: String,
    },
    /// A transaction holds more than it may. Commit more often.
    #[error("a transaction can hold {most_bytes} bytes of records; commit more often")]
    TxnTooLarge {
        /// The limit.
        most_bytes: usize,
    },
    /// There is a table of that name already.
    #[error("there is a table {table} already; open it, or choose another name")]
    TableExists {
        /// The name.
        table: String,
    },
    /// There is no table of that name.
    #[error("there is no table {table}; create it")]
    NoTable {
        /// The name.
        table: String,
    },
    /// A schema says something impossible, or what was passed does not fit it.
    #[error("table {table}: {why}")]
    Schema {
        /// The table.
        table: String,
        /// What does not fit.
        why: String,
    },
    /// The tables of a hash have no order of keys.
    #[error("table {table} has hashed keys, which have no order; create it with keys in a tree")]
    NoOrder {
        /// The table.
        table: String,
    },
    /// The operating system said no.
    #[error("{what}: {why}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// What it said.
        why: String,
    },
}

impl Error {
    pub(crate) fn io(what: &'static str, error: &dyn std::error::Error) -> Self {
        Self::Io { what, why: error.to_string() }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        Self::other(error)
    }
}
