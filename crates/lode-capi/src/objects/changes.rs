//! Readers of the changes of a database.

use lode::{Change, Changes};

use super::lock;

/// The changes of a database, commit by commit, in the order in which they happened. One thread at
/// a time may use one; another gets `LODE_BUSY`. Freed by `lode_free_changes`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_changes {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// A reader of changes, with those of the commit that was read last.
pub(crate) struct OpenChanges {
    pub(crate) changes: Changes,
    pub(crate) commit: Vec<Change>,
}

lock!(lode_changes: OpenChanges, CHANGES, "reader of changes");
