//! Reading, in common for a table, a table at the moment of a snapshot, and a table within a
//! transaction.

use std::ops::{Bound, RangeBounds};

use super::by_index::View;
use super::cursor::Within;
use super::key::pack_bounds;
use super::{ByIndex, Cursor, Key, Row, Snapshot, Table, Transaction};
use crate::error::{Result, none_if_too_long};
use crate::schema::Value;
use crate::tree::Range;

/// Reading a table: as it is now ([`Table`]), as it was at the moment of a snapshot
/// ([`Table::at`]), and as a transaction sees it ([`Table::within`]).
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Result, Schema, Type, Value};
///
/// /// The sum of all accounts, wherever they are read.
/// fn sum(accounts: &impl ReadTable) -> Result<i64> {
///     let mut sum = 0;
///     for row in accounts.iter() {
///         if let Some(Value::Signed(cents)) = row?.get("cents") {
///             sum += cents;
///         }
///     }
///     Ok(sum)
/// }
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("account").key("id", Type::U64).column("cents", Type::I64).finish()?;
/// let accounts = db.create_table(&schema, KeyKind::Hash)?;
/// let record = |id, cents| schema.pack(&[Value::Unsigned(id), Value::Signed(cents)]);
/// accounts.insert(&record(1, 100)?)?;
///
/// let before = db.snapshot();
/// let transaction = db.begin();
/// transaction.insert(&accounts, &record(2, 50)?)?;
/// assert_eq!(sum(&accounts)?, 100);
/// assert_eq!(sum(&accounts.within(&transaction))?, 150);
/// transaction.commit()?;
/// assert_eq!((sum(&accounts)?, sum(&accounts.at(&before))?), (150, 100));
///
/// let found = accounts.get_many([2, 3])?;
/// let cents = found[0].as_ref().and_then(|row| row.get("cents"));
/// assert_eq!((cents, found[1].is_none()), (Some(Value::Signed(50)), true));
/// # Ok::<(), lode::Error>(())
/// ```
///
/// # Errors
/// All of it can return `NoTable` when the table was dropped, or at a snapshot before it was
/// created; `Closed`, `Forked`, `Corrupt` and `Io`; at a snapshot `SnapshotTooOld`; within a
/// transaction `Conflict` when what it has read has changed; `TxnTooLarge` when it has written
/// something and there is no memory to note what it reads; `NotPacked`, `ValueCount` and
/// `ValueMisfit` when a key does not fit the table; `OtherDatabase`.
pub trait ReadTable {
    /// Returns the table that is read.
    fn table(&self) -> &Table;

    /// Copies the payload of the record with a packed key into `payload`, in place of its content.
    /// Returns false if there is no such record.
    ///
    /// With a buffer that is used again this allocates nothing. [`Table::get_exact`] is even faster
    /// if all payloads have the same size.
    ///
    /// # Errors
    /// Those of [reading](Self#errors).
    fn get_into(&self, key: &[u8], payload: &mut Vec<u8>) -> Result<bool>;

    /// Looks up packed keys, which come one after another in `keys`. Calls `found` with the place
    /// of each, counted from 0, and the payload of its record, if there is one.
    ///
    /// # Errors
    /// Those of [reading](Self#errors). All keys are looked at before the first one is looked up.
    fn get_many_with(
        &self,
        keys: &[u8],
        found: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let schema = self.table().schema();
        schema.expect_keys(keys)?;
        let mut payload = Vec::new();
        let mut rest = keys;
        let mut at = 0;
        while !rest.is_empty() {
            let (key, after) = rest.split_at(schema.key_length(rest)?);
            let is_there = self.get_into(key, &mut payload)?;
            found(at, is_there.then_some(&payload));
            (rest, at) = (after, at + 1);
        }
        Ok(())
    }

    /// Returns a cursor over all records: in the order of keys, or of their hashes.
    fn iter(&self) -> Cursor;

    /// Returns the table in the order of a secondary index, to find records by other columns than
    /// those of the key.
    ///
    /// # Errors
    /// `NoIndex` when there is no such index, or none at the snapshot; `Conflict` when it was
    /// created since the transaction has read; `NoTable`, `Closed`, `Forked`; `Corrupt` when an
    /// index cannot be read.
    fn by(&self, index: &str) -> Result<ByIndex<'_>>;

    /// Returns a cursor over a range of packed keys, in the order of keys.
    fn range_packed(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Cursor;

    /// Returns the number of records. It reads pages of the index, and no record beyond them; all
    /// records if they [expire](crate::Builder::expires).
    ///
    /// # Errors
    /// Those of [reading](Self#errors).
    fn len(&self) -> Result<u64>;

    /// Returns true if the table has no record.
    ///
    /// # Errors
    /// Those of [reading](Self#errors).
    fn is_empty(&self) -> Result<bool> {
        let mut first = self.iter().columns([]).limit(1);
        first.next_row().map(|row| row.is_none())
    }

    /// Returns the record with a key; `None` if it is missing.
    ///
    /// # Errors
    /// Those of [reading](Self#errors).
    fn get(&self, key: impl Key) -> Result<Option<Row>>
    where
        Self: Sized,
    {
        with_key(self.table(), key, |key| {
            let mut payload = Vec::new();
            let is_there = self.get_into(key, &mut payload)?;
            Ok(is_there.then(|| self.table().row(key, &payload)))
        })
    }

    /// Returns true if there is a record with a key.
    ///
    /// # Errors
    /// Those of [reading](Self#errors).
    fn contains(&self, key: impl Key) -> Result<bool>
    where
        Self: Sized,
    {
        with_key(self.table(), key, |key| self.get_into(key, &mut Vec::new()))
    }

    /// Returns the records with several keys, in the order of the keys; `None` for each without a
    /// record. The cache misses of the lookups overlap if keys are hashed, or if records have a
    /// fixed size and are in order.
    ///
    /// Each lookup is by itself: in a table as it is now, commits may happen between them.
    ///
    /// # Errors
    /// Those of [reading](Self#errors).
    fn get_many<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<Option<Row>>>
    where
        Self: Sized,
    {
        let table = self.table();
        let mut packed = Vec::new();
        let mut rows = Vec::new();
        let mut asked = Vec::new();
        for key in keys {
            let can_be = with_key(table, key, |key| {
                let can_be = table.core().can_have(key)?;
                packed.extend_from_slice(if can_be { key } else { &[] });
                Ok(can_be)
            });
            if can_be? {
                asked.push((rows.len(), packed.len()));
            }
            rows.push(None);
        }
        self.get_many_with(&packed, &mut |at, payload| {
            let from = at.checked_sub(1).map_or(0, |before| asked[before].1);
            let (place, end) = asked[at];
            rows[place] = payload.map(|payload| table.row(&packed[from..end], payload));
        })?;
        Ok(rows)
    }

    /// Returns a cursor over a range of keys, in the order of keys. A key of several columns is in
    /// the order of its first column, then of its second, and so on; floats are in the order of
    /// `total_cmp`.
    ///
    /// For all records use [`iter`](Self::iter), and [`prefix`](Self::prefix) for those whose keys
    /// start with some values.
    fn range<K: Key>(&self, keys: impl RangeBounds<K>) -> Cursor
    where
        Self: Sized,
    {
        match pack_bounds(&keys, self.table().schema()) {
            Err(error) => Cursor::failed(error),
            Ok([lower, upper]) => self
                .range_packed(lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice)),
        }
    }

    /// Returns a cursor over the records whose keys start with the values of the first columns of
    /// the key, in the order of keys.
    fn prefix(&self, values: &[Value<'_>]) -> Cursor {
        match self.table().schema().pack_prefix(values) {
            Err(error) => Cursor::failed(error),
            Ok((lower, upper)) => {
                self.range_packed(Bound::Included(&lower), Bound::Included(&upper))
            }
        }
    }
}

/// Calls `work` with a packed key; returns the default if no record can have the key.
#[inline(always)]
pub(super) fn with_key<T: Default>(
    table: &Table,
    key: impl Key,
    work: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    none_if_too_long(key.with_packed(table.schema(), work))
}

/// A table as it was at the moment of a snapshot. Made by [`Table::at`].
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Schema, Type};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
/// let bytes = db.create_table(&schema, KeyKind::Hash)?;
/// bytes.insert(&[7, 3])?;
///
/// let snapshot = db.snapshot();
/// bytes.delete(7)?;
/// assert_eq!((bytes.len()?, bytes.at(&snapshot).len()?), (0, 1));
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TableAt<'t> {
    table: &'t Table,
    snapshot: &'t Snapshot,
}

/// A table as a transaction sees it: with its own writes so far. Made by [`Table::within`].
///
/// A [commit](Transaction::commit) checks all that was read here. A read may return `Conflict`, if
/// what the transaction has read has changed.
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Schema, Type};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
/// let bytes = db.create_table(&schema, KeyKind::Hash)?;
///
/// let transaction = db.begin();
/// transaction.insert(&bytes, &[7, 3])?;
/// assert_eq!((bytes.len()?, bytes.within(&transaction).len()?), (0, 1));
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TableWithin<'t> {
    table: &'t Table,
    transaction: &'t Transaction,
}

impl Table {
    /// Returns the table as it was at the moment of a snapshot.
    pub fn at<'t>(&'t self, snapshot: &'t Snapshot) -> TableAt<'t> {
        TableAt { table: self, snapshot }
    }

    /// Returns the table as a transaction sees it.
    pub fn within<'t>(&'t self, transaction: &'t Transaction) -> TableWithin<'t> {
        TableWithin { table: self, transaction }
    }

    /// Estimates the number of records from a few pages of the index: for planning, where
    /// [`len`](ReadTable::len) reads too much. Mostly it is less than twice too high or too low.
    /// Expired records count until they are removed.
    ///
    /// # Errors
    /// Those of [reading](ReadTable#errors).
    pub fn len_estimate(&self) -> Result<u64> {
        self.at(&Snapshot::new(self.database().clone())).len_estimate()
    }
}

impl TableAt<'_> {
    /// Estimates the number of records at the snapshot, as [`Table::len_estimate`] does.
    ///
    /// # Errors
    /// Those of [reading](ReadTable#errors).
    pub fn len_estimate(&self) -> Result<u64> {
        let core = self.snapshot.core(self.table)?;
        core.index.estimate(self.snapshot.pager(), self.snapshot.moment())
    }
}

impl ReadTable for Table {
    fn table(&self) -> &Table {
        self
    }

    #[inline]
    fn get_into(&self, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        self.read_into(key, payload)
    }

    fn get_many_with(
        &self,
        keys: &[u8],
        found: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        self.read_many(keys, found)
    }

    fn by(&self, index: &str) -> Result<ByIndex<'_>> {
        ByIndex::new(self, index, View::Now)
    }

    fn iter(&self) -> Cursor {
        Cursor::new(Snapshot::new(self.database().clone()), self, None, None)
    }

    fn range_packed(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Cursor {
        match self.core().range(lower, upper) {
            Err(error) => Cursor::failed(error),
            Ok(range) => {
                Cursor::new(Snapshot::new(self.database().clone()), self, Some(range), None)
            }
        }
    }

    fn len(&self) -> Result<u64> {
        self.at(&Snapshot::new(self.database().clone())).len()
    }
}

impl<V: ReadTable + ?Sized> ReadTable for &V {
    fn table(&self) -> &Table {
        (**self).table()
    }

    fn get_into(&self, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        (**self).get_into(key, payload)
    }

    fn get_many_with(
        &self,
        keys: &[u8],
        found: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        (**self).get_many_with(keys, found)
    }

    fn by(&self, index: &str) -> Result<ByIndex<'_>> {
        (**self).by(index)
    }

    fn iter(&self) -> Cursor {
        (**self).iter()
    }

    fn range_packed(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Cursor {
        (**self).range_packed(lower, upper)
    }

    fn len(&self) -> Result<u64> {
        (**self).len()
    }
}

impl ReadTable for TableAt<'_> {
    fn table(&self) -> &Table {
        self.table
    }

    fn get_into(&self, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        self.snapshot.read_into(self.table, key, payload)
    }

    fn by(&self, index: &str) -> Result<ByIndex<'_>> {
        self.snapshot.expect_own(self.table)?;
        ByIndex::new(self.table, index, View::At(self.snapshot))
    }

    fn iter(&self) -> Cursor {
        Cursor::new(self.snapshot.clone(), self.table, None, None)
    }

    fn range_packed(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Cursor {
        match self.table.core().range(lower, upper) {
            Err(error) => Cursor::failed(error),
            Ok(range) => Cursor::new(self.snapshot.clone(), self.table, Some(range), None),
        }
    }

    fn len(&self) -> Result<u64> {
        let core = self.snapshot.core(self.table)?;
        if core.has_expiry() {
            return self.iter().count_rows();
        }
        core.count_at(self.snapshot.pager(), self.snapshot.moment())
    }
}

impl TableWithin<'_> {
    pub(super) fn transaction(&self) -> &Transaction {
        self.transaction
    }

    fn cursor(&self, range: Result<Option<Range>>) -> Cursor {
        let cursor = range.and_then(|range| {
            let transaction = self.transaction;
            let core = self.table.core();
            let snapshot = transaction.moment_in(self.table)?;
            let written = transaction.written(core, range.as_ref())?;
            let scan = transaction.note_scan(core)?;
            let lifetime = transaction.lifetime(core);
            let is_at_snapshot = transaction.has_chosen_moment();
            let within = Within::new(written, scan, is_at_snapshot, lifetime);
            Ok(Cursor::new(snapshot, self.table, range, Some(within)))
        });
        cursor.unwrap_or_else(Cursor::failed)
    }
}

impl ReadTable for TableWithin<'_> {
    fn table(&self) -> &Table {
        self.table
    }

    fn get_into(&self, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        self.transaction.read_into(self.table, key, payload)
    }

    fn by(&self, index: &str) -> Result<ByIndex<'_>> {
        ByIndex::new(self.table, index, View::Within(self.transaction))
    }

    fn iter(&self) -> Cursor {
        self.cursor(Ok(None))
    }

    fn range_packed(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Cursor {
        self.cursor(self.table.core().range(lower, upper).map(Some))
    }

    fn len(&self) -> Result<u64> {
        self.transaction.len(self.table)
    }
}
