//! Writes of single records. Most have nothing in their way: the record lies in a bucket that is in
//! memory and that no other thread changes, there is room for it, and nothing has to be waited for
//! afterwards. Those are *attempted*, as lookups are; everything else is left to the functions that
//! wait, make room, and say what is wrong.

use std::convert::Infallible;

use super::{Table, change, expect_not_changing};
use crate::api::Key;
use crate::api::read::with_key;
use crate::engine::Inside;
use crate::error::{Error, PackedPart, Result};
use crate::hash::{Hash, SlotMut};
use crate::heap;
use crate::index::{Put, Record, Shape, Step, WriteContext, delete_at, patch_at, put_at};
use crate::pager::{Epoch, Pager};
use crate::schema::ColumnId;

/// What comes of an attempt: whether there was a record. (An error lies apart: with one in it, this
/// would be copied through memory.)
type Attempted<E = Box<Error>> = Result<bool, E>;

/// What logs the writes that are attempted.
trait Logs {
    type Error;

    /// As [`WriteContext::log_put`] does.
    fn put(&self, record: Record<'_>) -> Result<Option<Epoch>, Self::Error>;

    /// As [`WriteContext::log_patch`] does.
    fn patch(&self, key: &[u8], at: usize, bytes: &[u8]) -> Result<Option<Epoch>, Self::Error>;

    /// As [`WriteContext::log_delete`] does.
    fn delete(&self, key: &[u8]) -> Result<Option<Epoch>, Self::Error>;
}

/// Nothing does, in memory.
struct Unlogged<'t>(&'t Pager);

impl Logs for Unlogged<'_> {
    type Error = Infallible;

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

impl Logs for WriteContext<'_> {
    type Error = Box<Error>;

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

/// What was logged. Where there is no room for it, that is left to those who make some.
#[inline(always)]
fn logged(result: Result<Option<Epoch>>) -> Result<Option<Epoch>, Box<Error>> {
    match result {
        Ok(epoch) => Ok(epoch),
        Err(Error::Full { .. } | Error::DiskFull { .. }) => Ok(None),
        Err(error) => Err(Box::new(error)),
    }
}

/// A thread that writes to a bucket, if nothing is in the way to it.
struct Attempt<'t, L> {
    table: &'t Table,
    hash: &'t Hash,
    log: L,
    _inside: Inside<'t>,
}

impl<'t, L: Logs> Attempt<'t, L> {
    /// The entry of a key, latched.
    #[inline(always)]
    fn entry(&self, key: &'t [u8]) -> Option<SlotMut<'t>> {
        self.hash.try_entry(self.table.db.pager(), key)
    }

    /// Unlatches the entry. What comes of it, if the step is done.
    #[inline(always)]
    fn finish(
        self,
        slot_mut: SlotMut<'_>,
        step: Result<Step<bool>, L::Error>,
    ) -> Option<Attempted<L::Error>> {
        slot_mut.finish(self.table.db.pager(), &self.table.core.space);
        match step {
            Ok(Step::Done(there)) => Some(Ok(there)),
            Ok(Step::Full | Step::Wait) => None,
            Err(error) => Some(Err(error)),
        }
    }

    #[inline(always)]
    fn put(self, record: Record<'t>, put: Put) -> Option<Attempted<L::Error>> {
        let mut slot_mut = self.entry(record.key)?;
        let step = put_at(&mut slot_mut, record, put, || self.log.put(record));
        self.finish(slot_mut, step)
    }

    #[inline(always)]
    fn patch(self, key: &'t [u8], at: usize, bytes: &[u8]) -> Option<Attempted<L::Error>> {
        let mut slot_mut = self.hash.try_entry_of_record(self.table.db.pager(), key)?;
        let step = patch_at(&mut slot_mut, (at, bytes), || self.log.patch(key, at, bytes));
        self.finish(slot_mut, step)
    }

    #[inline(always)]
    fn delete(self, key: &'t [u8]) -> Option<Attempted<L::Error>> {
        let mut slot_mut = self.entry(key)?;
        let step = delete_at(&mut slot_mut, || self.log.delete(key));
        self.finish(slot_mut, step)
    }
}

impl Table {
    /// Whether the database is in memory.
    #[inline(always)]
    fn is_in_memory(&self) -> bool {
        self.db.store().is_none()
    }

    /// A write to a bucket, unless it may be refused, or has to wait.
    #[inline(always)]
    fn attempt<L>(&self, log: L) -> Option<Attempt<'_, L>> {
        let hash = self.buckets()?;
        if change::is_any_changing() {
            return None;
        }
        let attempt = Attempt { table: self, hash, log, _inside: self.db.gate().enter() };
        (!self.core.is_gone()).then_some(attempt)
    }

    /// The same in a database in memory.
    #[inline(always)]
    fn attempt_in_memory(&self) -> Option<Attempt<'_, Unlogged<'_>>> {
        debug_assert!(self.is_in_memory(), "writes to directories are logged");
        self.attempt(Unlogged(self.db.pager()))
    }

    /// The same in a directory.
    #[inline(always)]
    fn attempt_in_directory(&self) -> Option<Attempt<'_, WriteContext<'_>>> {
        // In a forked process, the gate may be closed for ever.
        if self.core.is_gone() || !self.db.is_ready() {
            return None;
        }
        let attempt = self.attempt(self.core.write_context(self.db.pager(), self.db.log()))?;
        // A commit may have failed half-way while this waited.
        self.db.is_healthy().then_some(attempt)
    }

    /// Key and payload of a record, if it lies in a bucket.
    #[inline(always)]
    fn split_for_bucket<'r>(&self, bytes: &'r [u8]) -> Option<Record<'r>> {
        let Shape { key_size, payload_size, .. } = self.buckets()?.shape();
        let has_size = bytes.len() == key_size + payload_size;
        let (key, payload) = has_size.then(|| bytes.split_at_checked(key_size))??;
        Some(Record { key, payload })
    }

    /// Whether a key has the size of those in the buckets.
    #[inline(always)]
    fn has_size(&self, key: &[u8]) -> bool {
        self.buckets().is_some_and(|hash| key.len() == hash.shape().key_size)
    }

    /// Writes a record in memory, as `put` allows, if nothing is in the way. Whether there was one.
    #[inline(never)]
    fn try_put(&self, bytes: &[u8], put: Put) -> Option<bool> {
        let record = self.split_for_bucket(bytes)?;
        let Ok(there) = self.attempt_in_memory()?.put(record, put)?;
        Some(there)
    }

    /// Overwrites bytes of a payload in memory, likewise. Whether there is a record.
    #[inline(never)]
    fn try_patch(&self, key: &[u8], at: usize, bytes: &[u8]) -> Option<bool> {
        if !self.has_size(key) {
            return None;
        }
        let Ok(there) = self.attempt_in_memory()?.patch(key, at, bytes)?;
        Some(there)
    }

    /// Deletes a record in memory, likewise. Whether there was one.
    #[inline(never)]
    fn try_delete(&self, key: &[u8]) -> Option<bool> {
        if !self.has_size(key) {
            return None;
        }
        let Ok(there) = self.attempt_in_memory()?.delete(key)?;
        Some(there)
    }

    /// As [`try_put`](Self::try_put), in a directory.
    #[inline(never)]
    fn try_logged_put(&self, bytes: &[u8], put: Put) -> Option<Attempted> {
        let record = self.split_for_bucket(bytes)?;
        self.attempt_in_directory()?.put(record, put)
    }

    /// As [`try_patch`](Self::try_patch), in a directory.
    #[inline(never)]
    fn try_logged_patch(&self, key: &[u8], at: usize, bytes: &[u8]) -> Option<Attempted> {
        if !self.has_size(key) {
            return None;
        }
        self.attempt_in_directory()?.patch(key, at, bytes)
    }

    /// As [`try_delete`](Self::try_delete), in a directory.
    #[inline(never)]
    fn try_logged_delete(&self, key: &[u8]) -> Option<Attempted> {
        if !self.has_size(key) {
            return None;
        }
        self.attempt_in_directory()?.delete(key)
    }

    /// Calls `work`, which changes the record of a key in order beside other writers, and
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
        self.db.acknowledge(end)?;
        Ok(done)
    }

    /// Inserts a packed record; false if there is one with its key.
    ///
    /// # Errors
    /// `NotPacked`, `ValueTooLong`, `RecordTooLong` and `KeyTooLong` when it is no record of the
    /// table; and those of [writing](Self#errors).
    #[inline]
    pub fn insert(&self, record: &[u8]) -> Result<bool> {
        self.put(record, Put::Insert).map(|there| !there)
    }

    /// Writes a packed record, whether there is one with its key or not. Returns whether there was.
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
            && let Some(there) = self.try_put(record, put)
        {
            return Ok(there);
        }
        self.put_patiently(record, put)
    }

    #[inline(never)]
    fn put_patiently(&self, record: &[u8], put: Put) -> Result<bool> {
        if let Some(attempted) = self.try_logged_put(record, put) {
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
    /// get any number of bytes; false if there is no such record.
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
            && let Some(there) = self.try_patch(key, at, bytes)
        {
            return Ok(there);
        }
        self.patch_patiently(key, at, bytes)
    }

    #[inline(never)]
    fn patch_patiently(&self, key: &[u8], at: usize, bytes: &[u8]) -> Result<bool> {
        if let Some(attempted) = self.try_logged_patch(key, at, bytes) {
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

    /// Deletes a record; false if there is none.
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
            && let Some(there) = self.try_delete(key)
        {
            return Ok(there);
        }
        self.delete_patiently(key)
    }

    #[inline(never)]
    fn delete_patiently(&self, key: &[u8]) -> Result<bool> {
        if let Some(attempted) = self.try_logged_delete(key) {
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
