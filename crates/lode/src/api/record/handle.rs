//! Tables of typed records.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use super::Record;
use super::same::expect_same;
use crate::api::{Database, Snapshot, Table};
use crate::error::{Result, none_if_too_long};
use crate::schema::Schema;
use crate::table::{KeyKind, Scan};
use crate::tree::{Direction, Range};

impl Database {
    /// Creates a table for the records of a struct, named as its schema is.
    ///
    /// # Errors
    /// As [`create_table`](Self::create_table) and [`Record::schema`].
    pub fn create_records<R: Record>(&self, kind: KeyKind) -> Result<Records<R>> {
        self.create_table(&R::schema()?, kind).map(Records::new)
    }

    /// The table of the records of a struct.
    ///
    /// # Errors
    /// As [`table`](Self::table); and `Schema`, which says which column differs, when the table's
    /// columns are not those of the struct.
    pub fn records<R: Record>(&self) -> Result<Records<R>> {
        let schema = R::schema()?;
        let table = self.table(schema.name())?;
        expect_same(table.schema(), &schema)?;
        Ok(Records::new(table))
    }
}

/// A table of records that are structs; see [`Record`] for an example.
///
/// It is a [`Table`], of which the methods take and answer structs instead of bytes, with the same
/// promises and errors. Text that does not fit its column is a `Schema` error, also in a key that
/// is looked up. Handles are cheap to clone, and may be used by any number of threads.
///
/// [`within`](Self::within) a transaction and [`at`](Self::at) a snapshot it is the same:
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
/// let mut transaction = db.begin();
/// for id in 0..2 {
///     accounts.within(&mut transaction).insert(&Account { id, cents: 100 })?;
/// }
/// accounts.within(&mut transaction).change(1, |account| account.cents += 1)?;
/// transaction.commit()?;
///
/// let mut sum = 0;
/// accounts.at(&db.snapshot()).each(|account| {
///     sum += account.cents;
///     Ok(true)
/// })?;
/// assert_eq!(sum, 201);
/// assert!(accounts.at(&before).get(1)?.is_none());
/// # }
/// # Ok::<(), lode::Error>(())
/// ```
pub struct Records<R> {
    table: Table,
    /// It makes and takes such structs, and keeps none.
    structs: PhantomData<fn(R) -> R>,
}

impl<R> Clone for Records<R> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), structs: PhantomData }
    }
}

impl<R> fmt::Debug for Records<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("table", &self.table).finish()
    }
}

impl<R: Record> Records<R> {
    fn new(table: Table) -> Self {
        Self { table, structs: PhantomData }
    }

    /// The table, for everything else.
    pub fn table(&self) -> &Table {
        &self.table
    }

    fn schema(&self) -> &Schema {
        self.table.schema()
    }

    /// The packed record of a struct.
    pub fn pack(&self, record: &R) -> Result<Vec<u8>> {
        record.pack(self.schema())
    }

    /// The packed key of a key.
    pub fn pack_key(&self, key: R::Key<'_>) -> Result<Vec<u8>> {
        R::pack_key(key, self.schema())
    }

    /// The packed key of a key; `None` if it is longer than that of any record.
    pub(super) fn key_of_any(&self, key: R::Key<'_>) -> Result<Option<Vec<u8>>> {
        none_if_too_long(self.pack_key(key).map(Some))
    }

    /// The struct of a packed record.
    pub fn unpack(&self, record: &[u8]) -> Result<R> {
        R::unpack(self.schema().row(record)?)
    }

    /// The record with a key, if there is one.
    pub fn get(&self, key: R::Key<'_>) -> Result<Option<R>> {
        let Some(key) = self.key_of_any(key)? else { return Ok(None) };
        self.table.with(&key, R::unpack)?.transpose()
    }

    /// Inserts a record; false if there is one with its key.
    pub fn insert(&self, record: &R) -> Result<bool> {
        self.table.insert(&self.pack(record)?)
    }

    /// Writes a record, whether there is one with its key or not; answers whether there was.
    pub fn upsert(&self, record: &R) -> Result<bool> {
        self.table.upsert(&self.pack(record)?)
    }

    /// Deletes the record with a key; false if there is none.
    pub fn delete(&self, key: R::Key<'_>) -> Result<bool> {
        let Some(key) = self.key_of_any(key)? else { return Ok(false) };
        self.table.delete(&key)
    }

    /// Calls `change` with the record of a key, and writes what it has made of it. No other write
    /// of the record comes between. Returns whether there is such a record.
    ///
    /// If another thread writes the record meanwhile, `change` is called again with what the record
    /// is then. `change` may use the database; but only `change` itself can write this record
    /// before it has returned.
    ///
    /// # Errors
    /// `Schema` when `change` has changed the key, or the record does not fit its columns any more;
    /// the record stays as it was. And as [`Table::change`].
    pub fn change(&self, key: R::Key<'_>, mut change: impl FnMut(&mut R)) -> Result<bool> {
        let Some(key) = self.key_of_any(key)? else { return Ok(false) };
        let mut outcome = Ok(());
        let there = self.table.change(&key, &mut |payload| {
            let changed = self.changed(&key, payload, &mut change);
            outcome = changed.map(|record| {
                payload.clear();
                payload.extend_from_slice(&record[key.len()..]);
            });
            outcome.is_ok()
        })?;
        outcome.map(|()| there)
    }

    /// The packed record that `change` makes of one.
    pub(super) fn changed(
        &self,
        key: &[u8],
        payload: &[u8],
        change: impl FnOnce(&mut R),
    ) -> Result<Vec<u8>> {
        let mut record = self.unpack(&[key, payload].concat())?;
        change(&mut record);
        let packed = self.pack(&record)?;
        if !packed.starts_with(key) {
            let why = "a change cannot change the key; delete the record and insert another";
            return Err(self.schema().mismatch(why));
        }
        Ok(packed)
    }

    /// Calls `visit` with the records in a range of keys, in the order of keys, until it answers
    /// false or there were `limit` of them. It sees the table as it is at the start.
    ///
    /// A tuple of keys is in the order of its first column, then of its second, and so on; floats
    /// are in the order of `total_cmp`.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use lode::{Database, KeyKind, Record};
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
    /// let mut found = Vec::new();
    /// readings.scan((2, i64::MIN)..=(2, i64::MAX), 10, |reading| {
    ///     found.push(reading.celsius);
    ///     Ok(true)
    /// })?;
    /// assert_eq!(found, [19.0, 19.5]);
    /// # }
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NoOrder` for hashed keys; and what `visit` answers.
    pub fn scan<'k>(
        &self,
        keys: impl RangeBounds<R::Key<'k>>,
        limit: u64,
        visit: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        self.scan_in(false, keys, limit, visit)
    }

    /// As [`scan`](Self::scan), from the highest key down.
    pub fn scan_backward<'k>(
        &self,
        keys: impl RangeBounds<R::Key<'k>>,
        limit: u64,
        visit: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        self.scan_in(true, keys, limit, visit)
    }

    fn scan_in<'k>(
        &self,
        backward: bool,
        keys: impl RangeBounds<R::Key<'k>>,
        limit: u64,
        visit: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        let range = self.range(&keys)?;
        self.scan_at(&self.snapshot()?, (&range, backward), limit, visit)
    }

    /// Scans a range at the moment of a snapshot.
    pub(super) fn scan_at(
        &self,
        snapshot: &Snapshot,
        (range, backward): (&Range, bool),
        limit: u64,
        visit: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        let (core, mut show) = (snapshot.core(&self.table)?, self.show(limit, visit));
        if limit == 0 {
            return Ok(());
        }
        snapshot.each_in(core, (range, direction_of(backward)), &mut show)
    }

    /// Calls `visit` with records by their keys in order and payloads, at most so many.
    pub(super) fn show(
        &self,
        limit: u64,
        mut visit: impl FnMut(R) -> Result<bool>,
    ) -> impl FnMut(&[u8], &[u8]) -> Result<bool> {
        let (mut record, mut left) = (Vec::new(), limit);
        move |key, payload| {
            self.table.core().pack(key, payload, &mut record)?;
            left -= 1;
            Ok(visit(self.unpack(&record)?)? && left > 0)
        }
    }

    /// A range of keys as the index has it.
    pub(super) fn range<'k>(&self, keys: &impl RangeBounds<R::Key<'k>>) -> Result<Range> {
        let (lower, upper) =
            (self.pack_bound(keys.start_bound())?, self.pack_bound(keys.end_bound())?);
        let (lower, upper) = (deref(&lower), deref(&upper));
        self.table.core().range(&Scan { lower, upper, backward: false, columns: &[], limit: 0 })
    }

    /// The table as it is now.
    fn snapshot(&self) -> Result<Snapshot> {
        let snapshot = Snapshot::new(self.table.database().clone());
        self.table.core().ensure_open()?;
        Ok(snapshot)
    }

    fn pack_bound(&self, bound: Bound<&R::Key<'_>>) -> Result<Bound<Vec<u8>>> {
        Ok(match bound {
            Bound::Included(key) => Bound::Included(self.pack_key(*key)?),
            Bound::Excluded(key) => Bound::Excluded(self.pack_key(*key)?),
            Bound::Unbounded => Bound::Unbounded,
        })
    }

    /// Calls `visit` with every record, until it answers false: in the order of keys, or of their
    /// hashes. It sees the table as it is at the start.
    ///
    /// # Errors
    /// What `visit` answers.
    pub fn each(&self, mut visit: impl FnMut(R) -> Result<bool>) -> Result<()> {
        self.snapshot()?.each(&self.table, &mut |record| visit(self.unpack(record)?))
    }
}

pub(super) fn direction_of(backward: bool) -> Direction {
    if backward { Direction::Backward } else { Direction::Forward }
}

fn deref(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}
