//! Tables of typed records.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use super::same::expect_same;
use super::{Record, RecordCursor, RecordsByIndex};
use crate::api::{Cursor, Database, ReadTable, Snapshot, Table, TableAt, TableWithin, Transaction};
use crate::error::{Effect, Error, Result, none_if_too_long};
use crate::schema::Schema;
use crate::table::KeyKind;

impl Database {
    /// Creates a table for the records of a struct, named as its schema is, with
    /// [its indexes](Record::indexes).
    ///
    /// # Errors
    /// As [`create_indexed_table`](Self::create_indexed_table) and [`Record::schema`].
    pub fn create_records<R: Record>(&self, kind: KeyKind) -> Result<Records<R>> {
        self.create_indexed_table(&R::schema()?, kind, &R::indexes()).map(Records::new)
    }

    /// Returns the table of the records of a struct. Creates [indexes](Record::indexes) of the
    /// struct that it does not have, unless the database cannot be written; others that it has
    /// stay, and so do damaged ones.
    ///
    /// # Errors
    /// As [`table`](Self::table); and `OtherColumns`, which says which column differs, when the
    /// table's columns are not those of the struct; `IndexExists` when an index of that name has
    /// other columns, or only one of them is unique: drop it, or give this one another name; as
    /// [`Table::create_index`].
    pub fn records<R: Record>(&self) -> Result<Records<R>> {
        let schema = R::schema()?;
        let table = self.table(schema.name())?;
        expect_same(table.schema(), &schema)?;
        let wanted = R::indexes();
        for index in wanted.iter().filter(|index| !table.knows_index(index)) {
            match table.create_index(index) {
                // It can be read.
                Err(Error::ReadOnly | Error::Poisoned { effect: Effect::None, .. }) => {}
                // Another thread has been quicker.
                Err(Error::IndexExists { .. }) if table.knows_index(index) => {}
                created => created?,
            }
        }
        Ok(Records::new(table))
    }
}

/// A table of records that are structs; see [`Record`] for an example.
///
/// It is a [`Table`], of which the methods take and return structs instead of bytes, with the same
/// promises and errors. Handles are cheap to clone, and may be used by any number of threads.
///
/// [`within`](Self::within) a transaction and [`at`](Self::at) a snapshot it takes structs too:
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
/// let accounts = db.create_records::<Account>(KeyKind::Hash)?;
/// let before = db.snapshot();
/// let transaction = db.begin();
/// for id in 0..2 {
///     accounts.within(&transaction).insert(&Account { id, cents: 100 })?;
/// }
/// accounts.within(&transaction).change(1, |account| account.cents += 1)?;
/// transaction.commit()?;
///
/// let mut sum = 0;
/// for account in accounts.iter() {
///     sum += account?.cents;
/// }
/// assert_eq!(sum, 201);
/// assert!(accounts.at(&before).get(1)?.is_none());
/// # }
/// # Ok::<(), lode::Error>(())
/// ```
pub struct Records<R, V = Table> {
    view: V,
    /// A function type: the handle takes and returns structs, and owns none.
    structs: PhantomData<fn(R) -> R>,
}

/// Records as they were at the moment of a snapshot. Made by [`Records::at`].
pub type RecordsAt<'r, R> = Records<R, TableAt<'r>>;

/// Records as a transaction sees them: those of the table, replaced by its own writes. Made by
/// [`Records::within`].
pub type RecordsWithin<'r, R> = Records<R, TableWithin<'r>>;

impl<R, V: Clone> Clone for Records<R, V> {
    fn clone(&self) -> Self {
        Self::new(self.view.clone())
    }
}

impl<R, V: fmt::Debug> fmt::Debug for Records<R, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("table", &self.view).finish()
    }
}

impl<R, V> Records<R, V> {
    fn new(view: V) -> Self {
        Self { view, structs: PhantomData }
    }
}

/// Reading: the table as it is now, at a snapshot, or within a transaction.
impl<R: Record, V: ReadTable> Records<R, V> {
    /// Returns the table, for everything else.
    pub fn table(&self) -> &Table {
        self.view.table()
    }

    fn schema(&self) -> &Schema {
        self.table().schema()
    }

    /// Packs a struct as a record.
    ///
    /// # Errors
    /// As [`Record::pack`].
    pub fn pack(&self, record: &R) -> Result<Vec<u8>> {
        record.pack(self.schema())
    }

    /// Packs a key.
    ///
    /// # Errors
    /// As [`Record::pack_key`].
    pub fn pack_key(&self, key: R::Key<'_>) -> Result<Vec<u8>> {
        R::pack_key(key, self.schema())
    }

    /// Packs a key; returns `None` if it is longer than that of any record.
    fn key_of_any(&self, key: R::Key<'_>) -> Result<Option<Vec<u8>>> {
        none_if_too_long(self.pack_key(key).map(Some))
    }

    /// Unpacks a record to its struct.
    ///
    /// # Errors
    /// `NotPacked` when it is no record of the table; and as [`Record::unpack`].
    pub fn unpack(&self, record: &[u8]) -> Result<R> {
        R::unpack(self.schema().row(record)?)
    }

    /// Returns the record with a key, if there is one.
    ///
    /// # Errors
    /// Those of [reading](ReadTable#errors); as [`Record::unpack`].
    pub fn get(&self, key: R::Key<'_>) -> Result<Option<R>> {
        let Some(mut record) = self.key_of_any(key)? else { return Ok(None) };
        let mut payload = Vec::new();
        if !self.view.get_into(&record, &mut payload)? {
            return Ok(None);
        }
        record.append(&mut payload);
        self.unpack(&record).map(Some)
    }

    /// Returns the records with several keys, in the order of the keys; `None` for a missing one.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_many<'k>(
        &self,
        keys: impl IntoIterator<Item = R::Key<'k>>,
    ) -> Result<Vec<Option<R>>> {
        let packed = keys.into_iter().map(|key| self.key_of_any(key));
        let packed = packed.collect::<Result<Vec<_>>>()?;
        let mut rows = self.view.get_many(packed.iter().flatten())?.into_iter();
        let found = packed.iter().map(|key| key.as_ref().and_then(|_| rows.next().flatten()));
        found.map(|row| row.map(|row| R::unpack(row.as_ref())).transpose()).collect()
    }

    /// Returns true if there is a record with a key.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn contains(&self, key: R::Key<'_>) -> Result<bool> {
        self.key_of_any(key)?.map_or(Ok(false), |key| self.view.contains(key))
    }

    /// Returns the number of records. It reads pages of the index, and no record beyond them.
    ///
    /// # Errors
    /// Those of [reading](ReadTable#errors).
    pub fn len(&self) -> Result<u64> {
        self.view.len()
    }

    /// Returns true if the table has no record.
    ///
    /// # Errors
    /// Those of [reading](ReadTable#errors).
    pub fn is_empty(&self) -> Result<bool> {
        self.view.is_empty()
    }

    /// Returns a cursor over all records: in the order of keys, or of their hashes.
    pub fn iter(&self) -> RecordCursor<R> {
        RecordCursor::new(self.view.iter())
    }

    /// Returns a cursor over a range of keys, in the order of keys.
    ///
    /// A tuple of keys is in the order of its first column, then of its second, and so on; floats
    /// are in the order of `total_cmp`.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use lode::{Database, KeyKind, Record, Result};
    ///
    /// #[derive(Record)]
    /// struct Reading {
    ///     #[record(key)]
    ///     sensor: u32,
    ///     #[record(key, timestamp)]
    ///     time: i64,
    ///     celsius: f32,
    /// }
    ///
    /// let db = Database::in_memory()?;
    /// let readings = db.create_records::<Reading>(KeyKind::Tree)?;
    /// for (sensor, time, celsius) in [(1, 10, 15.5), (2, 10, 19.0), (2, 20, 19.5), (3, 0, 8.0)] {
    ///     readings.insert(&Reading { sensor, time, celsius })?;
    /// }
    /// let of_sensor_2 = readings.range((2, i64::MIN)..=(2, i64::MAX));
    /// let celsius = of_sensor_2.map(|reading| Ok(reading?.celsius));
    /// assert_eq!(celsius.collect::<Result<Vec<_>>>()?, [19.0, 19.5]);
    /// # }
    /// # Ok::<(), lode::Error>(())
    /// ```
    pub fn range<'k>(&self, keys: impl RangeBounds<R::Key<'k>>) -> RecordCursor<R> {
        let bounds = self
            .pack_bound(keys.start_bound())
            .and_then(|lower| Ok((lower, self.pack_bound(keys.end_bound())?)));
        RecordCursor::new(match bounds {
            Err(error) => Cursor::failed(error),
            Ok((lower, upper)) => self
                .view
                .range_packed(lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice)),
        })
    }

    /// Returns the records in the order of a secondary index, to find them by other fields than
    /// those of the key.
    ///
    /// # Errors
    /// As [`ReadTable::by`].
    pub fn by(&self, index: &str) -> Result<RecordsByIndex<'_, R>> {
        self.view.by(index).map(RecordsByIndex::new)
    }

    fn pack_bound(&self, bound: Bound<&R::Key<'_>>) -> Result<Bound<Vec<u8>>> {
        Ok(match bound {
            Bound::Included(key) => Bound::Included(self.pack_key(*key)?),
            Bound::Excluded(key) => Bound::Excluded(self.pack_key(*key)?),
            Bound::Unbounded => Bound::Unbounded,
        })
    }

    /// Returns the packed record that `change` makes of one.
    fn changed(&self, key: &[u8], payload: &[u8], change: impl FnOnce(&mut R)) -> Result<Vec<u8>> {
        let mut record = self.unpack(&[key, payload].concat())?;
        change(&mut record);
        let packed = self.pack(&record)?;
        if !packed.starts_with(key) {
            return Err(Error::KeyChanged { table: self.schema().name().into() });
        }
        Ok(packed)
    }
}

/// Methods that write without a transaction.
impl<R: Record> Records<R> {
    /// Returns the records as a transaction sees them; writes become part of the transaction.
    pub fn within<'r>(&'r self, transaction: &'r Transaction) -> RecordsWithin<'r, R> {
        Records::new(self.view.within(transaction))
    }

    /// Returns the records as they were at the moment of a snapshot.
    pub fn at<'r>(&'r self, snapshot: &'r Snapshot) -> RecordsAt<'r, R> {
        Records::new(self.view.at(snapshot))
    }

    /// Inserts a record; returns false if there is one with its key.
    ///
    /// # Errors
    /// As [`Record::pack`] and [`Table::insert`].
    pub fn insert(&self, record: &R) -> Result<bool> {
        self.view.insert(&self.pack(record)?)
    }

    /// Writes a record, and replaces one with its key. Returns true if there was one.
    ///
    /// # Errors
    /// As [`Record::pack`] and [`Table::upsert`].
    pub fn upsert(&self, record: &R) -> Result<bool> {
        self.view.upsert(&self.pack(record)?)
    }

    /// Deletes the record with a key; returns false if it is missing.
    ///
    /// # Errors
    /// As [`Record::pack_key`] and [`Table::delete`].
    pub fn delete(&self, key: R::Key<'_>) -> Result<bool> {
        self.key_of_any(key)?.map_or(Ok(false), |key| self.view.delete(key))
    }

    /// Calls `change` with the record of a key, and writes the result. No other write of the record
    /// comes between. Returns true if there is such a record.
    ///
    /// If another thread writes the record in between, `change` is called again with the new
    /// record. `change` may use the database; but only `change` itself can write this record before
    /// it has returned.
    ///
    /// # Errors
    /// `KeyChanged`; as [`Record::pack`] when the new record does not fit its columns; the old one
    /// stays. And as [`Table::change`].
    pub fn change(&self, key: R::Key<'_>, mut change: impl FnMut(&mut R)) -> Result<bool> {
        let Some(key) = self.key_of_any(key)? else { return Ok(false) };
        let mut outcome = Ok(());
        let there = self.view.change(&key, &mut |payload| {
            let changed = self.changed(&key, payload, &mut change);
            outcome = changed.map(|record| {
                payload.clear();
                payload.extend_from_slice(&record[key.len()..]);
            });
            outcome.is_ok()
        })?;
        outcome.map(|()| there)
    }
}

/// Methods that write in a transaction.
impl<R: Record> RecordsWithin<'_, R> {
    /// Inserts a record; returns false if there is one with its key.
    ///
    /// # Errors
    /// As [`Record::pack`] and [`Transaction::insert`].
    pub fn insert(&self, record: &R) -> Result<bool> {
        self.view.transaction().insert(self.table(), &self.pack(record)?)
    }

    /// Writes a record, and replaces one with its key. Returns true if there was one.
    ///
    /// # Errors
    /// As [`Record::pack`] and [`Transaction::upsert`].
    pub fn upsert(&self, record: &R) -> Result<bool> {
        self.view.transaction().upsert(self.table(), &self.pack(record)?)
    }

    /// Lets `change` change the record with a key. Returns true if there is such a record.
    ///
    /// # Errors
    /// `KeyChanged`; as [`Record::pack`] when the new record does not fit its columns; the old one
    /// stays. And as [`Transaction::upsert`].
    pub fn change(&self, key: R::Key<'_>, change: impl FnOnce(&mut R)) -> Result<bool> {
        let Some(key) = self.key_of_any(key)? else { return Ok(false) };
        let mut payload = Vec::new();
        if !self.view.get_into(&key, &mut payload)? {
            return Ok(false);
        }
        let changed = self.changed(&key, &payload, change)?;
        self.view.transaction().upsert(self.table(), &changed)
    }

    /// Deletes the record with a key; returns false if it is missing.
    ///
    /// # Errors
    /// As [`Record::pack_key`] and [`Transaction::delete`].
    pub fn delete(&self, key: R::Key<'_>) -> Result<bool> {
        let Some(key) = self.key_of_any(key)? else { return Ok(false) };
        self.view.transaction().delete(self.table(), &key)
    }
}
