//! Typed records by a secondary index.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use super::Record;
use crate::api::{ByIndex, IndexCursor, Key};
use crate::error::Result;
use crate::schema::Value;

/// Records that are structs, in the order of a secondary index. Made by
/// [`Records::by`](super::Records::by).
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use lode::{Database, Error, KeyKind, Record};
///
/// #[derive(Record)]
/// #[record(index(name = "by_city", columns(city, age)))]
/// struct Person {
///     #[record(key)]
///     id: u64,
///     #[record(unique, most = 200)]
///     mail: Option<String>,
///     #[record(text = 8)]
///     city: String,
///     age: u8,
/// }
///
/// let db = Database::in_memory()?;
/// let people = db.create_records::<Person>(KeyKind::Hash)?;
/// for (id, mail, age) in [(1, Some("ada"), 36), (2, None, 7), (3, Some("bo"), 9)] {
///     people.insert(&Person { id, mail: mail.map(Into::into), city: "Bern".into(), age })?;
/// }
/// let ada = people.by("by_mail")?.get("ada")?.expect("there is one");
/// assert_eq!((ada.id, ada.age), (1, 36));
/// let mut children = Vec::new();
/// for child in people.by("by_city")?.range(("Bern", 0)..("Bern", 18)) {
///     children.push(child?.id);
/// }
/// assert_eq!(children, [2, 3]);
/// let other_ada = people.change(3, |bo| bo.mail = Some("ada".into()));
/// assert!(matches!(other_ada, Err(Error::UniqueViolation { .. })));
/// # }
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Debug)]
pub struct RecordsByIndex<'v, R> {
    by: ByIndex<'v>,
    structs: PhantomData<fn() -> R>,
}

impl<'v, R: Record> RecordsByIndex<'v, R> {
    pub(super) fn new(by: ByIndex<'v>) -> Self {
        Self { by, structs: PhantomData }
    }

    /// Returns the record with these values of all indexed fields, as [`ByIndex::get`] does.
    ///
    /// # Errors
    /// As [`ByIndex::get`] and [`Record::unpack`].
    pub fn get(&self, key: impl Key) -> Result<Option<R>> {
        self.by.get(key)?.map(|row| R::unpack(row.as_ref())).transpose()
    }

    /// Returns a cursor over all records, in the order of the index.
    pub fn iter(&self) -> RecordIndexCursor<'v, R> {
        RecordIndexCursor::new(self.by.iter())
    }

    /// Returns a cursor over a range of the values of all indexed fields, as [`ByIndex::range`]
    /// does.
    pub fn range<K: Key>(&self, keys: impl RangeBounds<K>) -> RecordIndexCursor<'v, R> {
        RecordIndexCursor::new(self.by.range(keys))
    }

    /// Returns a cursor over the records with these values of the first indexed fields, as
    /// [`ByIndex::prefix`] does.
    pub fn prefix(&self, values: &[Value<'_>]) -> RecordIndexCursor<'v, R> {
        RecordIndexCursor::new(self.by.prefix(values))
    }

    /// Returns a cursor over a range of the values of the first indexed fields, as
    /// [`ByIndex::range_of_values`] does.
    pub fn range_of_values(
        &self,
        lower: Bound<&[Value<'_>]>,
        upper: Bound<&[Value<'_>]>,
    ) -> RecordIndexCursor<'v, R> {
        RecordIndexCursor::new(self.by.range_of_values(lower, upper))
    }
}

/// An [`IndexCursor`] over records that are structs. It is an iterator of them; made by
/// [`RecordsByIndex`], where an example is.
///
/// # Errors
/// Those of an [`IndexCursor`](IndexCursor#errors); and as [`Record::unpack`], after which it
/// continues.
#[derive(Debug)]
pub struct RecordIndexCursor<'v, R> {
    cursor: IndexCursor<'v>,
    structs: PhantomData<fn() -> R>,
}

impl<'v, R> RecordIndexCursor<'v, R> {
    fn new(cursor: IndexCursor<'v>) -> Self {
        Self { cursor, structs: PhantomData }
    }

    /// Reverses the direction: from the last entry to the first, or if called twice, back again.
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

impl<R: Record> Iterator for RecordIndexCursor<'_, R> {
    type Item = Result<R>;

    fn next(&mut self) -> Option<Result<R>> {
        match self.cursor.next_row() {
            Ok(row) => row.map(R::unpack),
            Err(error) => Some(Err(error)),
        }
    }
}

impl<R: Record> std::iter::FusedIterator for RecordIndexCursor<'_, R> {}
