//! Writes of single records. In a database in memory, most have nothing in their way: the record
//! lies in a bucket that no other thread changes, and there is room for it. Those are *attempted*,
//! as lookups are; everything else is left to the functions that wait, make room, write the log,
//! and say what is wrong.

use std::convert::Infallible;

use super::{Table, change, expect_not_changing};
use crate::api::Key;
use crate::api::read::with_key;
use crate::engine::Inside;
use crate::error::{PackedPart, Result};
use crate::hash::{Hash, SlotMut};
use crate::heap;
use crate::index::{Put, Record, Shape, Step, WriteContext, delete_at, patch_at, put_at};
use crate::pager::Epoch;
use crate::schema::ColumnId;

/// A thread that may write to buckets in memory at once.
struct Attempt<'t> {
    table: &'t Table,
    hash: &'t Hash,
    _inside: Inside<'t>,
}

impl<'t> Attempt<'t> {
    /// The entry of a key, if nothing is in the way to it.
    #[inline(always)]
    fn entry(&self, key: &'t [u8]) -> Option<SlotMut<'t>> {
        self.hash.try_entry(self.table.db.pager(), key)
    }

    /// The epoch of the write, once the entry is latched.
    #[inline(always)]
    fn epoch(&self) -> Epoch {
        self.table.db.pager().epoch()
    }

    /// Whether there was a record, if the step is done.
    #[inline(always)]
    fn finish(self, slot_mut: SlotMut<'_>, step: Result<Step<bool>, Infallible>) -> Option<bool> {
        slot_mut.finish(self.table.db.pager(), &self.table.core.space);
        match step {
            Ok(Step::Done(there)) => Some(there),
            Ok(Step::Full | Step::Wait) => None,
        }
    }
}

impl Table {
    /// A write to a bucket by this thread, unless it may have to wait, or to be refused.
    #[inline(always)]
    fn attempt(&self) -> Option<Attempt<'_>> {
        let hash = self.buckets()?;
        if self.db.store().is_some() || change::is_any_changing() {
            return None;
        }
        let attempt = Attempt { table: self, hash, _inside: self.db.gate().enter() };
        (!self.core.is_gone()).then_some(attempt)
    }

    /// Whether there was a record, if it can be written at once.
    #[inline(never)]
    fn try_put(&self, record: &[u8], put: Put) -> Option<bool> {
        let Shape { key_size, payload_size, .. } = self.buckets()?.shape();
        if record.len() != key_size + payload_size {
            return None;
        }
        let (key, payload) = record.split_at_checked(key_size)?;
        let attempt = self.attempt()?;
        let mut slot_mut = attempt.entry(key)?;
        let step =
            put_at(&mut slot_mut, Record { key, payload }, put, || Ok(Some(attempt.epoch())));
        attempt.finish(slot_mut, step)
    }

    /// Whether there is a record, if bytes of its payload can be overwritten at once.
    #[inline(never)]
    fn try_patch(&self, key: &[u8], at: usize, bytes: &[u8]) -> Option<bool> {
        if key.len() != self.buckets()?.shape().key_size {
            return None;
        }
        let attempt = self.attempt()?;
        let mut slot_mut = attempt.entry(key)?;
        let step = patch_at(&mut slot_mut, (at, bytes), || Ok(Some(attempt.epoch())));
        attempt.finish(slot_mut, step)
    }

    /// Whether there was a record, if it can be deleted at once.
    #[inline(never)]
    fn try_delete(&self, key: &[u8]) -> Option<bool> {
        if key.len() != self.buckets()?.shape().key_size {
            return None;
        }
        let attempt = self.attempt()?;
        let mut slot_mut = attempt.entry(key)?;
        let step = delete_at(&mut slot_mut, || Ok(Some(attempt.epoch())));
        attempt.finish(slot_mut, step)
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
        match self.try_put(record, put) {
            Some(there) => Ok(there),
            None => self.put_patiently(record, put),
        }
    }

    #[inline(never)]
    fn put_patiently(&self, record: &[u8], put: Put) -> Result<bool> {
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
        match self.try_patch(key, at, bytes) {
            Some(there) => Ok(there),
            None => self.patch_patiently(key, at, bytes),
        }
    }

    #[inline(never)]
    fn patch_patiently(&self, key: &[u8], at: usize, bytes: &[u8]) -> Result<bool> {
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
        match self.try_delete(key) {
            Some(there) => Ok(there),
            None => self.delete_patiently(key),
        }
    }

    #[inline(never)]
    fn delete_patiently(&self, key: &[u8]) -> Result<bool> {
        if !self.core.can_have(key)? {
            return Ok(false);
        }
        self.core.in_order(key, |key| self.write(key, 0, |context| self.core.remove(context, key)))
    }
}
