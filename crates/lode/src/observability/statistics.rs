//! The space that a database takes up.

/// The space that a database takes up.
///
/// ```
/// use lode::{Database, KeyKind, Schema, Type};
///
/// let db = Database::in_memory()?;
/// let empty = db.statistics();
/// db.create_table(&Schema::build("byte").key("id", Type::U8).finish()?, KeyKind::Hash)?;
/// assert!(db.statistics().page_bytes > empty.page_bytes);
/// assert_eq!(db.statistics().log_bytes, 0, "a database in memory has no log");
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Bytes of pages in memory.
    pub page_bytes: u64,
    /// Bytes of pages that have changed since they were written to the data file.
    pub changed_bytes: u64,
    /// Bytes of old page images, for snapshots and the checkpoint.
    pub snapshot_bytes: u64,
    /// Bytes that transactions hold: what they have read and written, and what their commit needs
    /// besides pages.
    pub transaction_bytes: u64,
    /// Bytes of the data file, without holes in it.
    pub data_bytes: u64,
    /// Bytes of the data file that are in use.
    pub data_used_bytes: u64,
    /// Bytes of pages that were read from the data file since it was opened.
    pub data_read_bytes: u64,
    /// Bytes of pages that were written to the data file since then.
    pub data_written_bytes: u64,
    /// Bytes of the log that would have to be replayed after a crash.
    pub log_bytes: u64,
}
