//! Writes of single records. Most have nothing in their way. The record is in a bucket or a leaf
//! that is in memory and that no other thread changes. There is room for it, and no wait is needed
//! afterwards. Those writes are *attempted*, as lookups are. Everything else is left to the
//! functions that wait, make room, and report errors.

use std::convert::Infallible;

use super::{Table, change, expect_not_changing};
use crate::api::Key;
use crate::api::read::with_key;
use crate::engine::Inside;
use crate::error::{Error, PackedPart, Result};
use crate::heap;
use crate::index::{
    LatchedEntry, Put, Record, Shape, Step, WriteContext, delete_at, patch_at, put_at,
};
use crate::pager::{Epoch, Pager};
use crate::schema::ColumnId;

/// The result of an attempt: true if there was a record. (An error is boxed: with one in it, this
/// would be copied through memory.)
type Attempted<E = Box<Error>> = Result<bool, E>;

/// A log for the writes that are attempted.
trait Logs<'t>: Sized {
    type Error;

    /// Starts to write; returns `None` if that may be refused, or has to wait.
    fn attempt(table: &'t Table) -> Option<Attempt<'t, Self>>;

    /// Logs a written record, as [`WriteContext::log_put`] does.
    fn put(&self, record: Record<'_>) -> Result<Option<Epoch>, Self::Error>;

    /// Logs changed bytes of a payload, as [`WriteContext::log_patch`] does.
    fn patch(&self, key: &[u8], at: usize, bytes: &[u8]) -> Result<Option<Epoch>, Self::Error>;

    /// Logs a deleted record, as [`WriteContext::log_delete`] does.
    fn delete(&self, key: &[u8]) -> Result<Option<Epoch>, Self::Error>;
}

/// Logs nothing, in memory.
struct Unlogged<'t>(&'t Pager);

impl<'t> Logs<'t> for Unlogged<'t> {
    type Error = Infallible;

    #[inline(always)]
    fn attempt(table: &'t Table) -> Option<Attempt<'t, Self>> {
        debug_assert!(table.is_in_memory(), "writes to directories are logged");
        Attempt::begin(table, Unlogged(table.db.pager()))
    }

    #[inline(always)]
    fn put(&self, _: Record<'_>) -> Result<Option<Epoch>, Infallible> {
        Ok(Some(self.0.epoch()))
    }

    #[inline(always)]
    fn patch(&self, _: &[u8], _: usize, _: &[u8]) -> Result<Option<Epoch>, Infallible> {
        Ok(Some(self.0.epoch()))
    }

    #[inline(always)]
    fn delete(&self, _: &[u8]) -> Result<Option<Epoch>, Infallible> {
        Ok(Some(self.0.epoch()))
    }
}

/// Writes to the log, in a directory.
impl<'t> Logs<'t> for WriteContext<'t> {
    type Error = Box<Error>;

    #[inline(always)]
    fn attempt(table: &'t Table) -> Option<Attempt<'t, Self>> {
        if !table.db.is_ready() {
            return None;
        }
        let log = table.core.write_context(table.db.pager(), table.db.log());
        let attempt = Attempt::begin(table, log)?;
        // A commit may have failed half-way while this waited.
        table.db.is_healthy().then_some(attempt)
    }

    #[inline(always)]
    fn put(&self, record: Record<'_>) -> Result<Option<Epoch>, Box<Error>> {
        logged(self.log_put(record))
    }

    #[inline(always)]
    fn patch(&self, key: &[u8], at: usize, bytes: &[u8]) -> Result<Option<Epoch>, Box<Error>> {
        logged(self.log_patch(key, at, bytes))
    }

    #[inline(always)]
    fn delete(&self, key: &[u8]) -> Result<Option<Epoch>, Box<Error>> {
        logged(self.log_delete(key))
    }
}

/// Returns what was logged; `None` if there was no room, so that the slow path makes some.
#[inline(always)]
fn logged(result: Result<Option<Epoch>>) -> Result<Option<Epoch>, Box<Error>> {
    match result {
        Ok(epoch) => Ok(epoch),
        Err(Error::Full { .. } | Error::DiskFull { .. }) => Ok(None),
        Err(error) => Err(Box::new(error)),
    }
}

/// A thread inside the gate that writes a record, if nothing is in its way.
struct Attempt<'t, L> {
    table: &'t Table,
    log: L,
    _inside: Inside<'t>,
}

impl<'t, L: Logs<'t>> Attempt<'t, L> {
    #[inline(always)]
    fn begin(table: &'t Table, log: L) -> Option<Self> {
        // In a forked process, the gate may never open again.
        if change::is_any_changing() || !table.core.is_here() {
            return None;
        }
        let attempt = Self { table, log, _inside: table.db.gate().enter() };
        (!table.core.is_gone()).then_some(attempt)
    }

    /// Ends the attempt at an entry. Returns the result, if the step is done.
    #[inline(always)]
    fn finish(
        self,
        entry_mut: impl LatchedEntry,
        step: Result<Step<bool>, L::Error>,
    ) -> Option<Attempted<L::Error>> {
        entry_mut.finish(self.table.db.pager(), &self.table.core.space);
        match step {
            Ok(Step::Done(there)) => Some(Ok(there)),
            Ok(Step::Full | Step::Wait) => None,
            Err(error) => Some(Err(error)),
        }
    }

    #[inline(always)]
    fn put(
        self,
        mut entry_mut: impl LatchedEntry,
        record: Record<'_>,
        put: Put,
    ) -> Option<Attempted<L::Error>> {
        let step = put_at(&mut entry_mut, record, put, || self.log.put(record));
        self.finish(entry_mut, step)
    }

    #[inline(always)]
    fn patch(
        self,
        mut entry_mut: impl LatchedEntry,
        key: &[u8],
        (at, bytes): (usize, &[u8]),
    ) -> Option<Attempted<L::Error>> {
        let step = patch_at(&mut entry_mut, (at, bytes), || self.log.patch(key, at, bytes));
        self.finish(entry_mut, step)
    }

    #[inline(always)]
    fn delete(self, mut entry_mut: impl LatchedEntry, key: &[u8]) -> Option<Attempted<L::Error>> {
        let step = delete_at(&mut entry_mut, || self.log.delete(key));
        self.finish(entry_mut, step)
    }
}

/// Splits a record into key and payload, if the sizes are fixed, and it has them.
#[inline(always)]
fn split(shape: Shape, bytes: &[u8]) -> Option<Record<'_>> {
    let Shape { is_variable, key_size, payload_size } = shape;
    let has_size = !is_variable && bytes.len() == key_size + payload_size;
    let (key, payload) = has_size.then(|| bytes.split_at_checked(key_size))??;
    Some(Record { key, payload })
}

/// Returns true if all keys of the index have one size, and this one has it.
#[inline(always)]
fn has_size(shape: Shape, key: &[u8]) -> bool {
    !shape.is_variable && key.len() == shape.key_size
}

impl Table {
    /// Returns true if the database is in memory.
    #[inline(always)]
    fn is_in_memory(&self) -> bool {
        self.db.store().is_none()
    }

    /// Writes a record, as `put` allows, if nothing is in the way. Returns true if there was one.
    #[inline(never)]
    fn try_put<'t, L: Logs<'t>>(&'t self, bytes: &[u8], put: Put) -> Option<Attempted<L::Error>> {
        let Some(hash) = self.buckets() else { return self.try_put_in_order::<L>(bytes, put) };
        let record = split(hash.shape(), bytes)?;
        let attempt = L::attempt(self)?;
        attempt.put(hash.try_entry(self.db.pager(), record.key)?, record, put)
    }

    /// Writes a record as `try_put` does, in a tree whose leaves have the records.
    #[inline(never)]
    fn try_put_in_order<'t, L: Logs<'t>>(
        &'t self,
        bytes: &[u8],
        put: Put,
    ) -> Option<Attempted<L::Error>> {
        let tree = self.core.tree_of_records()?;
        let Record { key, payload } = split(tree.shape(), bytes)?;
        self.core.in_order(key, |key| {
            let attempt = L::attempt(self)?;
            attempt.put(tree.try_entry(self.db.pager(), key)?, Record { key, payload }, put)
        })
    }

    /// Overwrites bytes of a payload, if nothing is in the way. Returns true if there is a record.
    #[inline(never)]
    fn try_patch<'t, L: Logs<'t>>(
        &'t self,
        key: &[u8],
        patch: (usize, &[u8]),
    ) -> Option<Attempted<L::Error>> {
        let Some(hash) = self.buckets() else { return self.try_patch_in_order::<L>(key, patch) };
        if !has_size(hash.shape(), key) {
            return None;
        }
        let attempt = L::attempt(self)?;
        attempt.patch(hash.try_entry_of_record(self.db.pager(), key)?, key, patch)
    }

    #[inline(never)]
    fn try_patch_in_order<'t, L: Logs<'t>>(
        &'t self,
        key: &[u8],
        patch: (usize, &[u8]),
    ) -> Option<Attempted<L::Error>> {
        let tree = self.core.tree_of_records()?;
        if !has_size(tree.shape(), key) {
            return None;
        }
        self.core.in_order(key, |key| {
            let attempt = L::attempt(self)?;
            attempt.patch(tree.try_entry(self.db.pager(), key)?, key, patch)
        })
    }

    /// Deletes a record, if nothing is in the way. Returns true if there was one.
    #[inline(never)]
    fn try_delete<'t, L: Logs<'t>>(&'t self, key: &[u8]) -> Option<Attempted<L::Error>> {
        let Some(hash) = self.buckets() else { return self.try_delete_in_order::<L>(key) };
        if !has_size(hash.shape(), key) {
            return None;
        }
        let attempt = L::attempt(self)?;
        attempt.delete(hash.try_entry(self.db.pager(), key)?, key)
    }

    #[inline(never)]
    fn try_delete_in_order<'t, L: Logs<'t>>(&'t self, key: &[u8]) -> Option<Attempted<L::Error>> {
        let tree = self.core.tree_of_records()?;
        if !has_size(tree.shape(), key) {
            return None;
        }
        self.core.in_order(key, |key| {
            let attempt = L::attempt(self)?;
            attempt.delete(tree.try_entry(self.db.pager(), key)?, key)
        })
    }

    /// Calls `work`, which changes the record of a key in order next to other writers, and
    /// `extra_pages` more pages than most operations. Returns when the change is as durable as the
    /// level says.
    #[inline]
    pub(super) fn write<T>(
        &self,
        key: &[u8],
        extra_pages: u64,
        mut work: impl FnMut(&WriteContext<'_>) -> Result<T>,
    ) -> Result<T> {
        expect_not_changing(&self.core, key)?;
        let turn = self.db.turn_for(extra_pages);
        let (done, end) = self.db.admitted(extra_pages, &mut || {
            let _inside = self.db.gate().enter();
            // A commit may have failed half-way while this waited.
            self.db.expect_healthy()?;
            self.core.ensure_open()?;
            let context = self.core.write_context(self.db.pager(), self.db.log());
            Ok((work(&context)?, context.end()))
        })?;
        drop(turn);
        self.db.acknowledge(end).map_err(Error::after_effect)?;
        Ok(done)
    }

    /// Inserts a packed record; returns false if there is one with its key.
    ///
    /// # Errors
    /// `NotPacked`, `ValueTooLong`, `RecordTooLong` and `KeyTooLong` when it is no record of the
    /// table; and those of [writing](Self#errors).
    #[inline]
    pub fn insert(&self, record: &[u8]) -> Result<bool> {
        self.put(record, Put::Insert).map(|there| !there)
    }

    /// Writes a packed record, and replaces one with its key. Returns true if there was one.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    #[inline]
    pub fn upsert(&self, record: &[u8]) -> Result<bool> {
        self.put(record, Put::Upsert)
    }

    #[inline]
    fn put(&self, record: &[u8], put: Put) -> Result<bool> {
        if self.is_in_memory()
            && let Some(Ok(there)) = self.try_put::<Unlogged<'_>>(record, put)
        {
            return Ok(there);
        }
        self.put_patiently(record, put)
    }

    #[inline(never)]
    fn put_patiently(&self, record: &[u8], put: Put) -> Result<bool> {
        if let Some(attempted) = self.try_put::<WriteContext<'_>>(record, put) {
            return attempted.map_err(|error| *error);
        }
        let (key, payload) = self.core.split(record)?;
        self.core.in_order(key, |key| {
            self.write(key, heap::pages_for(payload.len()), |context| {
                self.core.put(context, Record { key, payload }, put)
            })
        })
    }

    /// Sets a column to the bytes that it has in a packed record; a column of variable length may
    /// get any number of bytes. Returns false if there is no such record.
    ///
    /// # Errors
    /// `NoColumn`; `KeyColumn`; `NullableColumn`; `NotPacked` or `ValueTooLong` when the bytes do
    /// not fit the column; `RecordTooLong`; those of [writing](Self#errors).
    #[inline]
    pub fn update(&self, key: impl Key, column: ColumnId, bytes: &[u8]) -> Result<bool> {
        with_key(self, key, |key| self.update_packed(key, column, bytes))
    }

    #[inline]
    fn update_packed(&self, key: &[u8], column: ColumnId, bytes: &[u8]) -> Result<bool> {
        let (schema, found) = (self.core.schema(), self.core.column_to_set(column)?);
        if found.kind.is_variable() {
            return self.update_variable(key, column, bytes);
        }
        schema.expect_size(PackedPart::Column, bytes.len(), found.range().len())?;
        if !self.core.can_have(key)? {
            return Ok(false);
        }
        let at = schema.range_in_payload(found).start;
        if self.is_in_memory()
            && let Some(Ok(there)) = self.try_patch::<Unlogged<'_>>(key, (at, bytes))
        {
            return Ok(there);
        }
        self.patch_patiently(key, at, bytes)
    }

    #[inline(never)]
    fn patch_patiently(&self, key: &[u8], at: usize, bytes: &[u8]) -> Result<bool> {
        if let Some(attempted) = self.try_patch::<WriteContext<'_>>(key, (at, bytes)) {
            return attempted.map_err(|error| *error);
        }
        self.core.in_order(key, |key| {
            self.write(key, 0, |context| self.core.patch(context, key, at, bytes))
        })
    }

    fn update_variable(&self, key: &[u8], column: ColumnId, bytes: &[u8]) -> Result<bool> {
        let mut fits = Ok(());
        let there = self.change_in_place(key, &mut |payload| {
            fits = self.core.schema().replace(payload, column, bytes);
            fits.is_ok()
        })?;
        fits.map(|()| there)
    }

    /// Deletes a record; returns false if it is missing.
    ///
    /// # Errors
    /// Those of [writing](Self#errors); `NotPacked`, `ValueCount` and `ValueMisfit` when the key is
    /// none of the table.
    #[inline]
    pub fn delete(&self, key: impl Key) -> Result<bool> {
        with_key(self, key, |key| self.delete_packed(key))
    }

    #[inline]
    fn delete_packed(&self, key: &[u8]) -> Result<bool> {
        if self.is_in_memory()
            && let Some(Ok(there)) = self.try_delete::<Unlogged<'_>>(key)
        {
            return Ok(there);
        }
        self.delete_patiently(key)
    }

    #[inline(never)]
    fn delete_patiently(&self, key: &[u8]) -> Result<bool> {
        if let Some(attempted) = self.try_delete::<WriteContext<'_>>(key) {
            return attempted.map_err(|error| *error);
        }
        if !self.core.can_have(key)? {
            return Ok(false);
        }
        self.core.in_order(key, |key| self.write(key, 0, |context| self.core.remove(context, key)))
    }
}

#[cfg(test)]
mod tests;
