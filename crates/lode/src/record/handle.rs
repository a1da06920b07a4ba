//! Tables of typed records.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use super::Record;
use super::same::expect_same;
use crate::db::{Database, Snapshot};
use crate::error::Result;
use crate::schema::Schema;
use crate::table::{KeyKind, Scan, Table};

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
/// In transactions and snapshots, [`table`](Self::table), [`pack`](Self::pack),
/// [`pack_key`](Self::pack_key) and [`unpack`](Self::unpack) lead from structs to bytes and back:
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
/// let mut transaction = db.begin();
/// for id in 0..2 {
///     transaction.insert(accounts.table(), &accounts.pack(&Account { id, cents: 100 })?)?;
/// }
/// transaction.commit()?;
///
/// let mut sum = 0;
/// db.snapshot().each(accounts.table(), &mut |record| {
///     sum += accounts.unpack(record)?.cents;
///     Ok(true)
/// })?;
/// assert_eq!(sum, 200);
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

    /// The struct of a packed record.
    pub fn unpack(&self, record: &[u8]) -> Result<R> {
        R::unpack(self.schema().row(record)?)
    }

    /// The record with a key, if there is one.
    pub fn get(&self, key: R::Key<'_>) -> Result<Option<R>> {
        self.table.with(&self.pack_key(key)?, R::unpack)?.transpose()
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
        self.table.delete(&self.pack_key(key)?)
    }

    /// Lets `change` change the record with a key, and writes what it has made of it. Nobody else
    /// changes the record between. Answers whether there is such a record.
    ///
    /// `change` may be called more than once, each time with the record as it is then, and must not
    /// use the database.
    ///
    /// # Errors
    /// `Schema` when `change` has changed the key, or the record does not fit its columns any more.
    /// The record stays as it was then.
    pub fn change(&self, key: R::Key<'_>, mut change: impl FnMut(&mut R)) -> Result<bool> {
        let key = self.pack_key(key)?;
        let mut record = Vec::new();
        let mut changed = |payload: &mut Vec<u8>| {
            record.clear();
            record.extend(&key);
            record.extend(&*payload);
            let mut unpacked = self.unpack(&record)?;
            change(&mut unpacked);
            let packed = self.pack(&unpacked)?;
            let (its_key, its_payload) = packed.split_at(key.len());
            if its_key != key {
                let why = "a change cannot change the key; delete the record and insert another";
                return Err(self.schema().mismatch(why));
            }
            payload.clear();
            payload.extend(its_payload);
            Ok(())
        };
        let mut outcome = Ok(());
        let there = self.table.change(&key, &mut |payload| {
            outcome = changed(payload);
            outcome.is_ok()
        })?;
        outcome.map(|()| there)
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
        mut visit: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        let (lower, upper) =
            (self.pack_bound(keys.start_bound())?, self.pack_bound(keys.end_bound())?);
        let (lower, upper) = (deref(&lower), deref(&upper));
        // Whole records, as they are unpacked.
        let scan = Scan { lower, upper, backward, columns: &[], limit };
        let core = self.table.core();
        let range = core.range(&scan)?;
        let (key_size, mut record) = (self.schema().key_size(), Vec::new());
        let mut left = limit;
        if left == 0 {
            return Ok(());
        }
        self.snapshot()?.each_in(core, (&range, scan.direction()), &mut |key, payload| {
            record.clear();
            record.resize(key_size, 0);
            core.packed(key, &mut record);
            record.extend_from_slice(payload);
            left -= 1;
            Ok(visit(self.unpack(&record)?)? && left > 0)
        })
    }

    /// The table as it is now.
    fn snapshot(&self) -> Result<Snapshot> {
        let snapshot = Snapshot::new(Arc::clone(self.table.database()));
        self.table.core().is_there()?;
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

fn deref(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}
