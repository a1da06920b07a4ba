//! Cursors over typed records.

use std::marker::PhantomData;

use super::Record;
use crate::api::Cursor;
use crate::error::Result;

/// A [`Cursor`] over records that are structs. It is an iterator of them; made by
/// [`Records`](super::Records).
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use lode::{Database, KeyKind, Record};
///
/// #[derive(Record)]
/// struct Account {
///     #[record(key)]
///     id: u64,
///     cents: i64,
/// }
///
/// let db = Database::in_memory()?;
/// let accounts = db.create_records::<Account>(KeyKind::Tree)?;
/// for id in 0..10 {
///     accounts.insert(&Account { id, cents: 100 })?;
/// }
/// let mut last = Vec::new();
/// for account in accounts.range(..8).rev().limit(2) {
///     last.push(account?.id);
/// }
/// assert_eq!(last, [7, 6]);
/// # }
/// # Ok::<(), lode::Error>(())
/// ```
///
/// # Errors
/// Those of a [`Cursor`](Cursor#errors); and as [`Record::unpack`], after which it continues.
#[derive(Debug)]
pub struct RecordCursor<R> {
    cursor: Cursor,
    structs: PhantomData<fn() -> R>,
}

impl<R> RecordCursor<R> {
    pub(super) fn new(cursor: Cursor) -> Self {
        Self { cursor, structs: PhantomData }
    }

    /// Reverses the direction: from the last key to the first, or if called twice, back again.
    #[must_use]
    pub fn rev(self) -> Self {
        Self::new(self.cursor.rev())
    }

    /// Limits the cursor to at most `records` records.
    #[must_use]
    pub fn limit(self, records: u64) -> Self {
        Self::new(self.cursor.limit(records))
    }
}

impl<R: Record> Iterator for RecordCursor<R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Result<R>> {
        match self.cursor.next_row() {
            Ok(row) => row.map(R::unpack),
            Err(error) => Some(Err(error)),
        }
    }
}

impl<R: Record> std::iter::FusedIterator for RecordCursor<R> {}
