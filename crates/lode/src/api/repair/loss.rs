//! The losses of a repair: tables and keys that it could not read.

use std::fmt;

use crate::error::Error;
use crate::schema::Schema;

/// A part of a damaged database that [`Options::repair`](crate::Options::repair) could not read.
///
/// Its text says what is lost, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The newest checkpoint, or a superblock that may have named it: an older one was used.
    Checkpoint {
        /// The fault.
        why: String,
    },
    /// The log from a place on: all that was written after it since the last checkpoint.
    Log {
        /// The fault.
        why: String,
    },
    /// Changes in the log of a table that is in no list of tables.
    Changes {
        /// The fault.
        why: String,
    },
    /// A page of a table, with all that was on it. Of a tree, [`Keys`](Self::Keys) says which
    /// records these can be.
    Page {
        /// The table.
        table: String,
        /// The fault, with the number of the page.
        why: String,
    },
    /// The records of a tree between two keys, if there were any.
    Keys {
        /// The table.
        table: String,
        /// The first key that may be lost, packed; `None` for the lowest.
        from: Option<Vec<u8>>,
        /// The first key after it that is not lost, packed; `None` if every later key may be lost.
        before: Option<Vec<u8>>,
        /// Both keys as text.
        shown: String,
    },
    /// A record, or its last changes.
    Record {
        /// The table.
        table: String,
        /// Its key, packed; `None` if that is not known.
        key: Option<Vec<u8>>,
        /// The key as text, if it is known.
        shown: String,
        /// The fault.
        why: String,
    },
    /// A part of a blob, or its key. It has zeros in the place of bytes that are lost, unless those
    /// are its last ones, and a key that starts with `lost+found/` in place of one that is lost.
    Blob {
        /// The blob store.
        store: String,
        /// The key in the new database.
        key: Vec<u8>,
        /// The key as text.
        shown: String,
        /// The fault.
        why: String,
    },
    /// An index that could not be created again.
    Index {
        /// The table.
        table: String,
        /// The index.
        index: String,
        /// The fault.
        why: String,
    },
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checkpoint { why } => write!(f, "the last checkpoint: {why}"),
            Self::Log { why } => write!(f, "the log: {why}; what was written after it is lost"),
            Self::Changes { why } => write!(f, "the log: {why}"),
            Self::Page { table, why } => write!(f, "table {table}: {why}"),
            Self::Keys { table, shown, .. } => write!(f, "table {table}: the records {shown}"),
            Self::Record { table, key: None, why, .. } => {
                write!(f, "table {table}: a record: {why}")
            }
            Self::Record { table, shown, why, .. } => {
                write!(f, "table {table}: the record ({shown}): {why}")
            }
            Self::Blob { store, shown, why, .. } => {
                write!(f, "blob store {store}: blob {shown}: {why}")
            }
            Self::Index { table, index, why } => {
                write!(f, "table {table}: index {index} is left out: {why}")
            }
        }
    }
}

/// Returns the fault of what was read, without advice.
pub(super) fn fault(error: &Error) -> String {
    match error {
        Error::Corrupt { what, why } => format!("{what}: {why}"),
        error => error.to_string(),
    }
}

/// Returns the keys from one on and before another as text.
pub(super) fn range_shown(schema: &Schema, from: Option<&[u8]>, before: Option<&[u8]>) -> String {
    match (from, before) {
        (None, None) => "of all keys".into(),
        (Some(from), None) => format!("from ({}) on", schema.shown_key(from)),
        (None, Some(before)) => format!("before ({})", schema.shown_key(before)),
        (Some(from), Some(before)) => {
            format!("from ({}) to before ({})", schema.shown_key(from), schema.shown_key(before))
        }
    }
}
