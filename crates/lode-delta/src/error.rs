//! The errors of this crate.

/// The result of an operation that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a Delta table cannot be written or read. Nothing was changed then, but for
/// [`Unknown`](Error::Unknown).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A failure to read the table of Lode, or a Parquet file of the Delta table.
    #[error(transparent)]
    Arrow(#[from] lode_arrow::Error),
    /// An invalid place for a table.
    #[error("{place}: {why}")]
    Place {
        /// The place as it was written.
        place: Box<str>,
        /// The fault of the place, and what to do.
        why: Box<str>,
    },
    /// The object store or the disk does not allow it.
    #[error("{place}: {why}")]
    Store {
        /// The table, or the object.
        place: Box<str>,
        /// The reason of the store or the disk.
        why: Box<str>,
    },
    /// A place without a Delta table.
    #[error("{place}: there is no Delta table")]
    NoTable {
        /// The place.
        place: Box<str>,
    },
    /// The log of a table, or what it names, is not as the protocol has it.
    #[error("{place}: the Delta table is damaged: {why}")]
    Damaged {
        /// The table.
        place: Box<str>,
        /// The damage.
        why: Box<str>,
    },
    /// A table with something that this crate does not read or write.
    #[error("{place}: the Delta table has {what}, which Lode does not {verb}")]
    Unsupported {
        /// The table.
        place: Box<str>,
        /// The unsupported part of the table.
        what: Box<str>,
        /// `read` or `replace`.
        verb: &'static str,
    },
    /// A wanted column that the table lacks.
    #[error("{place}: there is no column {column}; columns are {columns}")]
    NoColumn {
        /// The table.
        place: Box<str>,
        /// The column.
        column: Box<str>,
        /// The table's columns.
        columns: Box<str>,
    },
    /// A column with a name that readers of a change data feed use.
    #[error(
        "{place}: column {column} has a name of change data feeds; rename it, or export all records"
    )]
    ReservedName {
        /// The table's place.
        place: Box<str>,
        /// The column.
        column: Box<str>,
    },
    /// A table of another schema.
    #[error("{place}: there is a Delta table with other columns: {found}, and not {wanted}")]
    OtherSchema {
        /// The table's place.
        place: Box<str>,
        /// The table's columns.
        found: Box<str>,
        /// The columns that were to be written.
        wanted: Box<str>,
    },
    /// A version that another writer committed first.
    #[error(
        "{place}: another writer committed version {version} first; nothing was written, run \
         the export again"
    )]
    Conflict {
        /// The table's place.
        place: Box<str>,
        /// The version that both wanted to be.
        version: u64,
    },
    /// A version of which it is not known if it was committed: the store did not say it, and does
    /// not say it now. The files of the version are left, in case that it was.
    #[error(
        "{place}: whether version {version} was written is not known: {why}; look at the table \
         before the export is run again"
    )]
    Unknown {
        /// The table's place.
        place: Box<str>,
        /// The version.
        version: u64,
        /// The message of the store.
        why: Box<str>,
    },
    /// The caller wanted it to stop.
    #[error("interrupted; nothing was written")]
    Interrupted,
}
