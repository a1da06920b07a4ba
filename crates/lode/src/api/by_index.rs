//! Lookups and ranges by a secondary index.
//!
//! An entry and its record are read at one moment: at that of a snapshot or of a transaction, or
//! between two commits. Only commits change entries.

mod now;

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

pub(super) use now::Copied;

use super::index_cursor::{Entries, IndexCursor, Source};
use super::{Cursor, Key, ReadTable, Row, Snapshot, Table, Transaction};
use crate::engine::no_index;
use crate::error::{Error, Result, none_if_too_long};
use crate::schema::Value;
use crate::table::Secondary;

/// Lookups between commits that are tried before one at a snapshot, and the most of those.
const MOST_ATTEMPTS: usize = 8;

/// A table in the order of a secondary index. Made by [`ReadTable::by`].
///
/// ```
/// use lode::{Database, IndexSchema, KeyKind, ReadTable, Result, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("person").key("id", Type::U64).column("city", Type::Text(8));
/// let schema = schema.column("age", Type::U8).column("mail", Type::VarText(99)).finish()?;
/// let people = db.create_table(&schema, KeyKind::Hash)?;
/// people.create_index(&IndexSchema::new("by_city", ["city", "age"]))?;
/// people.create_index(&IndexSchema::new("by_mail", ["mail"]).unique())?;
/// for (id, city, age) in [(1, "Bern", 50), (2, "Thun", 7), (3, "Bern", 9)] {
///     let mail = format!("{id}@example.org");
///     let (city, mail) = (Value::Text(city), Value::Text(&mail));
///     people.insert(&schema.pack(&[Value::Unsigned(id), city, Value::Unsigned(age), mail])?)?;
/// }
///
/// let found = people.by("by_mail")?.get("2@example.org")?.expect("there is one");
/// assert_eq!(found.get("id"), Some(Value::Unsigned(2)));
///
/// let by_city = people.by("by_city")?;
/// let adults = by_city.range(("Bern", 18)..=("Bern", 255));
/// assert_eq!(adults.collect::<Result<Vec<_>>>()?.len(), 1);
/// // The index has city, age and key: no record is read.
/// let id = schema.column("id")?;
/// let mut in_bern = by_city.prefix(&[Value::Text("Bern")]).columns([id]);
/// assert_eq!(in_bern.next_row()?.map(|row| row.at(id)), Some(Value::Unsigned(3)));
/// # Ok::<(), lode::Error>(())
/// ```
pub struct ByIndex<'v> {
    table: &'v Table,
    /// The entries, as a table.
    index: Table,
    secondary: Arc<Secondary>,
    view: View<'v>,
}

/// A function that copies the payload under a packed key of a table; false if no record has it.
type ReadInto<'f> = dyn FnMut(&Table, &[u8], &mut Vec<u8>) -> Result<bool> + 'f;

/// The time at which a table is read.
#[derive(Clone, Copy)]
pub(super) enum View<'v> {
    Now,
    At(&'v Snapshot),
    Within(&'v Transaction),
}

impl std::fmt::Debug for ByIndex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.secondary.of().name;
        f.debug_struct("ByIndex").field("table", self.table).field("index", name).finish()
    }
}

impl<'v> ByIndex<'v> {
    pub(super) fn new(table: &'v Table, name: &str, view: View<'v>) -> Result<Self> {
        match view {
            View::At(snapshot) => table.core().was_there(snapshot.moment())?,
            View::Now | View::Within(_) => table.core().ensure_open()?,
        }
        let secondaries = table.core().secondaries();
        let secondary = secondaries.find(name).filter(|secondary| secondary.of().is_ready());
        let secondary = match (secondary, &secondaries.damaged) {
            (Some(secondary), _) => Arc::clone(secondary),
            (None, Some(error)) => return Err(error.clone()),
            (None, None) => return Err(no_index(table.core(), name)),
        };
        match view {
            View::Now => {}
            View::At(snapshot) if secondary.of().was_ready(snapshot.moment()) => {}
            View::At(_) => return Err(no_index(table.core(), name)),
            View::Within(transaction) => transaction.expect_ready(table, &secondary)?,
        }
        let index = Table::new(table.database().clone(), Arc::clone(secondary.core()));
        Ok(Self { table, index, secondary, view })
    }

    /// Returns the record with these values of all indexed columns; if there are several, the first
    /// one in the order of keys. A null is found by [`prefix`](Self::prefix) only.
    ///
    /// # Errors
    /// `ValueCount` and `ValueMisfit` when the values are not those of the columns; `NoIndex` when
    /// it was dropped; those of [reading](ReadTable#errors).
    pub fn get(&self, key: impl Key) -> Result<Option<Row>> {
        let entries = self.secondary.entries();
        let found = key.with_packed(entries.lookup(), |lookup| {
            entries.lookup().expect_key(lookup)?;
            if let View::Now = self.view
                && let Some(found) = self.find_now(lookup)?
            {
                return self.row_of(found);
            }
            if !entries.is_unique() {
                let bound = Bound::Included(lookup);
                let bounds =
                    entries.range(self.table.schema(), bound, bound, |key, pack| pack(key));
                let (lower, upper) = bounds?;
                return self.cursor(lower, upper).limit(1).next().transpose();
            }
            self.get_only(&entries.only_key(self.table.schema(), lookup))
        });
        none_if_too_long(found).map_err(|error| self.of_index(error))
    }

    /// Returns the record of the entry under a packed key of a unique index: at a snapshot, if it
    /// is wanted as of now.
    fn get_only(&self, entry_key: &[u8]) -> Result<Option<Row>> {
        let schema = self.table.schema();
        let mut entry = Vec::new();
        let mut payload = Vec::new();
        let mut follow = |found: &mut ReadInto<'_>| {
            if !found(&self.index, entry_key, &mut entry)? {
                return Ok(Found::NoEntry);
            }
            let key = self.secondary.key_in_payload(schema, &entry)?;
            let is_there = found(self.table, key, &mut payload)?;
            Ok(match is_there {
                true => Found::Row(self.table.row(key, &payload)),
                false if self.table.core().has_expiry() => Found::NoEntry,
                false => Found::NoRecord,
            })
        };
        match self.view {
            View::At(snapshot) => {
                let read = &mut |table: &Table, key: &[u8], payload: &mut Vec<u8>| {
                    snapshot.read_into(table, key, payload)
                };
                self.row_of(follow(read)?)
            }
            View::Within(transaction) => {
                let read = &mut |table: &Table, key: &[u8], payload: &mut Vec<u8>| {
                    transaction.read_into(table, key, payload)
                };
                self.row_of(follow(read)?)
            }
            View::Now => {
                let mut at_snapshot = || {
                    let snapshot = Snapshot::new(self.table.database().clone());
                    follow(&mut |table, key, payload| snapshot.read_into(table, key, payload))
                };
                let mut found = at_snapshot();
                for _ in 1..MOST_ATTEMPTS {
                    match found {
                        // Its images had no room; the next one is of a later moment.
                        Err(Error::SnapshotTooOld { .. }) => found = at_snapshot(),
                        _ => break,
                    }
                }
                self.row_of(found?)
            }
        }
    }

    fn row_of(&self, found: Found) -> Result<Option<Row>> {
        match found {
            Found::NoEntry => Ok(None),
            Found::Row(row) => Ok(Some(row)),
            Found::NoRecord => Err(no_record(&self.secondary)),
        }
    }

    /// Returns a cursor over all records, in the order of the index.
    pub fn iter(&self) -> IndexCursor<'v> {
        self.cursor(Bound::Unbounded, Bound::Unbounded)
    }

    /// Returns a cursor over a range of the values of all indexed columns, in their order; equal
    /// ones are in the order of keys. Records with a null are in a range without a lower bound, or
    /// between such with other values.
    pub fn range<K: Key>(&self, keys: impl RangeBounds<K>) -> IndexCursor<'v> {
        let entries = self.secondary.entries();
        let lower = keys.start_bound();
        let upper = keys.end_bound();
        let bounds = entries.range(self.table.schema(), lower, upper, |key, pack| {
            key.with_packed(entries.lookup(), pack)
        });
        match bounds {
            Err(error) => self.failed(error),
            Ok((lower, upper)) => self.cursor(lower, upper),
        }
    }

    /// Returns a cursor over the records with these values of the first indexed columns. A null is
    /// equal to nulls here.
    pub fn prefix(&self, values: &[Value<'_>]) -> IndexCursor<'v> {
        self.range_of_values(Bound::Included(values), Bound::Included(values))
    }

    /// Returns a cursor over a range of the values of the first indexed columns: of one of them, of
    /// two, and so on. Nulls come before all values.
    ///
    /// ```
    /// use std::ops::Bound;
    ///
    /// use lode::{Database, IndexSchema, KeyKind, ReadTable, Schema, Type, Value};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("byte").key("id", Type::U8).nullable("bits", Type::U8).finish()?;
    /// let bytes = db.create_table(&schema, KeyKind::Tree)?;
    /// bytes.create_index(&IndexSchema::new("by_bits", ["bits"]))?;
    /// for (id, bits) in [(1, Value::Unsigned(4)), (2, Value::Null), (3, Value::Unsigned(1))] {
    ///     bytes.insert(&schema.pack(&[Value::Unsigned(id), bits])?)?;
    /// }
    /// let by_bits = bytes.by("by_bits")?;
    /// let not_null = by_bits.range_of_values(Bound::Excluded(&[Value::Null]), Bound::Unbounded);
    /// let ids: lode::Result<Vec<_>> = not_null.map(|row| Ok(row?.key()[0])).collect();
    /// assert_eq!(ids?, [3, 1]);
    /// # Ok::<(), lode::Error>(())
    /// ```
    pub fn range_of_values(
        &self,
        lower: Bound<&[Value<'_>]>,
        upper: Bound<&[Value<'_>]>,
    ) -> IndexCursor<'v> {
        let schema = self.table.schema();
        match self.secondary.entries().range_of_values(schema, lower, upper) {
            Err(error) => self.failed(error),
            Ok((lower, upper)) => self.cursor(lower, upper),
        }
    }

    /// Returns a cursor from and to packed keys of entries.
    fn cursor(&self, lower: Bound<Vec<u8>>, upper: Bound<Vec<u8>>) -> IndexCursor<'v> {
        let lower = lower.as_ref().map(Vec::as_slice);
        let upper = upper.as_ref().map(Vec::as_slice);
        let (source, entries) = match self.view {
            View::Now => {
                if let Some(copied) = self.copy_now(lower, upper) {
                    (Source::Copied, Entries::Copied(copied))
                } else {
                    let snapshot = Snapshot::new(self.table.database().clone());
                    let entries = self.index.at(&snapshot).range_packed(lower, upper);
                    (Source::At(snapshot), Entries::Read(Box::new(entries)))
                }
            }
            View::At(snapshot) => {
                let entries = self.index.at(snapshot).range_packed(lower, upper);
                (Source::At(snapshot.clone()), Entries::Read(Box::new(entries)))
            }
            View::Within(transaction) => {
                let entries = self.index.within(transaction).range_packed(lower, upper);
                (Source::Within(transaction), Entries::Read(Box::new(entries)))
            }
        };
        IndexCursor::new(self.table.clone(), Arc::clone(&self.secondary), source, entries)
    }

    fn failed(&self, error: Error) -> IndexCursor<'v> {
        let entries = Entries::Read(Box::new(Cursor::failed(error)));
        let secondary = Arc::clone(&self.secondary);
        IndexCursor::new(self.table.clone(), secondary, Source::Copied, entries)
    }

    fn of_index(&self, error: Error) -> Error {
        of_index(self.table, &self.secondary, error)
    }
}

/// The outcome of following an entry of a unique index.
enum Found {
    NoEntry,
    NoRecord,
    Row(Row),
}

/// Returns the error that an entry has no record.
pub(super) fn no_record(secondary: &Secondary) -> Error {
    secondary.core().corrupt("an entry has no record; drop the index and create it again")
}

/// Returns the error of reading entries, as the user of the table has it.
pub(super) fn of_index(table: &Table, secondary: &Secondary, error: Error) -> Error {
    match error {
        Error::NoTable { .. } if table.core().ensure_open().is_ok() => {
            no_index(table.core(), &secondary.of().name)
        }
        error => error,
    }
}
