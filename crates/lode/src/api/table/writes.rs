//! Writes of single records.
//!
//! All go one way: a key and a [`Write`] pass admission and the gate. The index latches the page of
//! the key's entry, logs the change and applies it; in a table with a heap, the heap does so. As a
//! rule the page is in memory, no other thread changes it, and it has room: then nothing waits.

use super::{Table, change::is_any_changing, expect_not_changing};
use crate::api::Key;
use crate::api::read::with_key;
use crate::engine::LongTurn;
use crate::error::{Error, PackedPart, Result};
use crate::hash::Hash;
use crate::heap::{self, Heap};
use crate::index::{
    AtEntry, Delete, Index, Insert, Patch, Shape, Step, Unlogged, Upsert, Write, WriteAt,
    WriteContext,
};
use crate::pager::{Pager, Space};
use crate::schema::ColumnId;
use crate::table::{Kinds, TableCore};
use crate::tree::Tree;
use crate::wal::LogPosition;

/// The request of a caller: a write, and the record that it is of.
pub(super) trait Request<'w>: Copy {
    type Write: Write;

    /// True if the write is as durable as the level says when it returns.
    const IS_ACKNOWLEDGED: bool = true;

    /// Returns the packed key and the write, if records of these sizes can be such.
    fn of_sizes(self, shape: Shape) -> Option<(&'w [u8], Self::Write)>;

    /// Returns the packed key and the write; `None` if no record can have the key.
    fn of_any(self, core: &TableCore) -> Result<Option<(&'w [u8], Self::Write)>>;
}

/// A write of the record under a packed key.
#[derive(Clone, Copy)]
pub(super) struct Under<'w, W> {
    pub key: &'w [u8],
    pub write: W,
}

impl<'w, W: Write> Request<'w> for Under<'w, W> {
    type Write = W;

    #[inline(always)]
    fn of_sizes(self, shape: Shape) -> Option<(&'w [u8], W)> {
        let is_whole = !shape.is_variable && self.key.len() == shape.key_size;
        is_whole.then_some((self.key, self.write))
    }

    fn of_any(self, core: &TableCore) -> Result<Option<(&'w [u8], W)>> {
        Ok(core.can_have(self.key)?.then_some((self.key, self.write)))
    }
}

/// A write of a packed record, made of its payload.
#[derive(Clone, Copy)]
struct Whole<'w, F> {
    record: &'w [u8],
    write: F,
}

impl<'w, W: Write, F: Fn(&'w [u8]) -> W + Copy> Request<'w> for Whole<'w, F> {
    type Write = W;

    #[inline(always)]
    fn of_sizes(self, shape: Shape) -> Option<(&'w [u8], W)> {
        let (key, payload) = shape.split(self.record)?;
        Some((key, (self.write)(payload)))
    }

    fn of_any(self, core: &TableCore) -> Result<Option<(&'w [u8], W)>> {
        let (key, payload) = core.split(self.record)?;
        Ok(Some((key, (self.write)(payload))))
    }
}

/// A request that does not wait until it is durable.
#[derive(Clone, Copy)]
struct Early<R>(R);

impl<'w, R: Request<'w>> Request<'w> for Early<R> {
    type Write = R::Write;

    const IS_ACKNOWLEDGED: bool = false;

    #[inline(always)]
    fn of_sizes(self, shape: Shape) -> Option<(&'w [u8], Self::Write)> {
        self.0.of_sizes(shape)
    }

    fn of_any(self, core: &TableCore) -> Result<Option<(&'w [u8], Self::Write)>> {
        self.0.of_any(core)
    }
}

/// The place of a table's records: an index that has them itself, or a heap.
pub(super) trait Records {
    /// True if keys have to be put in order.
    const IS_ORDERED: bool = true;

    /// Returns the sizes of the records, if they are in the index.
    #[inline(always)]
    fn sizes(&self) -> Option<Shape> {
        None
    }

    /// Returns the pages of its own that a payload of this size takes up.
    fn pages_for(_: usize) -> u64 {
        0
    }

    /// Does work at the entry of a key, if records are in the index and nothing is in the way.
    #[inline(always)]
    fn try_at<A: AtEntry>(
        &self,
        _: &Pager,
        _: &Space,
        _: &[u8],
        _: A,
    ) -> Option<Result<Step<A::Done>, A::Error>> {
        None
    }
}

impl Records for Hash {
    const IS_ORDERED: bool = false;

    #[inline(always)]
    fn sizes(&self) -> Option<Shape> {
        Some(self.shape())
    }

    #[inline(always)]
    fn try_at<A: AtEntry>(
        &self,
        pager: &Pager,
        space: &Space,
        key: &[u8],
        work: A,
    ) -> Option<Result<Step<A::Done>, A::Error>> {
        self.try_at(pager, space, key, work)
    }
}

impl Records for Tree {
    #[inline(always)]
    fn sizes(&self) -> Option<Shape> {
        Some(self.shape())
    }

    #[inline(always)]
    fn try_at<A: AtEntry>(
        &self,
        pager: &Pager,
        space: &Space,
        key: &[u8],
        work: A,
    ) -> Option<Result<Step<A::Done>, A::Error>> {
        self.try_at(pager, space, key, work)
    }
}

impl Records for Heap {
    fn pages_for(bytes: usize) -> u64 {
        heap::pages_for(bytes)
    }
}

impl Table {
    /// Writes a record. Returns the answer of the write, when the change is as durable as the level
    /// says; false if no record can have the key.
    #[inline(always)]
    pub(super) fn write<'w>(&self, request: impl Request<'w>) -> Result<bool> {
        match self.write_at_once(&request) {
            Some(answer) => Ok(answer),
            None => self.write_admitted(request),
        }
    }

    /// Writes a record, if the database is in memory and nothing is in the way.
    #[inline(always)]
    fn write_at_once<'w>(&self, request: &impl Request<'w>) -> Option<bool> {
        if self.db.store().is_none() { self.try_write(request) } else { None }
    }

    /// Writes a record in memory, if nothing is in the way and it cannot fail. Returns the answer.
    #[inline(never)]
    fn try_write<'w>(&self, request: &impl Request<'w>) -> Option<bool> {
        match (&self.core.index, &self.core.heap) {
            (Kinds::Hash(hash), None) => self.try_write_in(&**hash, request),
            (Kinds::Tree(tree), None) => self.try_write_in_order(tree, request),
            (_, Some(_)) => None,
        }
    }

    #[inline(never)]
    fn try_write_in_order<'w>(&self, tree: &Tree, request: &impl Request<'w>) -> Option<bool> {
        self.try_write_in(tree, request)
    }

    #[inline(always)]
    fn try_write_in<'w, R: Records>(
        &self,
        records: &R,
        request: &impl Request<'w>,
    ) -> Option<bool> {
        let (key, write) = request.of_sizes(records.sizes()?)?;
        self.in_order_of(records, key, |key| {
            // In a forked process, the gate may never open again.
            if is_any_changing() || !self.core.is_here() {
                return None;
            }
            let _inside = self.db.gate().enter();
            if !self.core.has_records_only() {
                return None;
            }
            let pager = self.db.pager();
            let work = WriteAt { key, write, redo: &Unlogged(pager) };
            match records.try_at(pager, &self.core.space, key, work)? {
                Ok(Step::Done(answer)) => Some(answer),
                Ok(Step::Full | Step::Wait) => None,
            }
        })
    }

    /// Writes a record once there is room for the changed pages. Waits for what is in the way.
    #[inline(never)]
    fn write_admitted<'w>(&self, request: impl Request<'w>) -> Result<bool> {
        match (&self.core.index, &self.core.heap) {
            (Kinds::Hash(hash), None) => self.write_in(&**hash, request),
            (Kinds::Tree(tree), None) => self.write_in(tree, request),
            (_, Some(heap)) => self.write_in(&**heap, request),
        }
    }

    #[inline(never)]
    fn write_in<'w, R: Records, Q: Request<'w>>(&self, records: &R, request: Q) -> Result<bool> {
        let requested = match records.sizes().and_then(|shape| request.of_sizes(shape)) {
            Some(requested) => requested,
            None => match request.of_any(&self.core)? {
                Some(requested) => requested,
                None => return Ok(false),
            },
        };
        let (key, write) = requested;
        self.in_order_of(records, key, |key| {
            expect_not_changing(&self.core, key)?;
            self.core.watch().wait_for_room();
            let extra_pages = R::pages_for(write.most_bytes());
            let turn = self.db.turn_for(extra_pages);
            self.db.admit(extra_pages)?;
            if self.core.has_expiry() {
                return self.write_living::<Q>(records, key, write, turn, extra_pages);
            }
            self.write_next::<Q>(records, key, write, turn, extra_pages)
        })
    }

    /// Writes the record under a key in order, for which there is room. Returns the answer, when
    /// the change is as durable as the request `Q` says.
    #[inline(always)]
    pub(super) fn write_next<'w, Q: Request<'w>>(
        &self,
        records: &impl Records,
        key: &[u8],
        write: impl Write,
        turn: LongTurn<'_>,
        extra_pages: u64,
    ) -> Result<bool> {
        if self.core.is_indexed() {
            return self.write_indexed::<Q>(records, key, write, turn);
        }
        let (answer, end) = match self.write_inside(records, key, write) {
            Ok(written) => written,
            Err(error) => {
                let again = match *error {
                    error @ Error::Conflict { .. } => Err(error),
                    error => self.db.try_again(extra_pages, error, &mut || {
                        self.write_inside(records, key, write).map_err(|error| *error)
                    }),
                };
                match again {
                    // An index was created since this had a look.
                    Err(Error::Conflict { .. }) => {
                        return self.write_indexed::<Q>(records, key, write, turn);
                    }
                    again => again?,
                }
            }
        };
        drop(turn);
        if Q::IS_ACKNOWLEDGED {
            self.db.acknowledge(end).map_err(Error::after_effect)?;
        }
        Ok(answer)
    }

    /// Writes the record under a key in order next to other writers. Returns the answer, and the
    /// end of the write in the log.
    #[inline(always)]
    fn write_inside(
        &self,
        records: &impl Records,
        key: &[u8],
        write: impl Write,
    ) -> Result<(bool, LogPosition), Box<Error>> {
        let _inside = self.db.gate().enter();
        // A commit may have failed half-way while this waited.
        self.db.expect_healthy()?;
        self.core.ensure_open()?;
        if self.core.is_indexed() {
            // Since this waited.
            return Err(Error::Conflict { table: self.schema().name().into() }.into());
        }
        self.write_logged(records, key, write)
    }

    /// Writes and logs the record under a key in order, inside the gate. Returns the answer, and
    /// the end of the write in the log.
    #[inline(always)]
    pub(super) fn write_logged(
        &self,
        records: &impl Records,
        key: &[u8],
        write: impl Write,
    ) -> Result<(bool, LogPosition), Box<Error>> {
        let pager = self.db.pager();
        let context = self.core.write_context(pager, self.db.log());
        let work = WriteAt { key, write, redo: &context };
        let answer = match records.try_at(pager, context.space, key, work) {
            Some(Ok(Step::Done(answer))) => answer,
            Some(Err(error)) => return Err(error.into()),
            Some(Ok(Step::Full | Step::Wait)) | None => {
                self.write_patiently(&context, key, write)?
            }
        };
        Ok((answer, context.end()))
    }

    #[inline(never)]
    fn write_patiently(
        &self,
        context: &WriteContext<'_>,
        key: &[u8],
        write: impl Write,
    ) -> Result<bool, Box<Error>> {
        Ok(self.core.write(context, key, write)?.answer)
    }

    /// Calls `work` with a packed key in the order of keys.
    #[inline(always)]
    fn in_order_of<T, R: Records>(&self, _: &R, key: &[u8], work: impl FnOnce(&[u8]) -> T) -> T {
        if R::IS_ORDERED { self.core.in_order(key, work) } else { work(key) }
    }

    /// Inserts a packed record; returns false if there is one with its key.
    ///
    /// # Errors
    /// `NotPacked`, `ValueTooLong`, `RecordTooLong` and `KeyTooLong` when it is no record of the
    /// table; and those of [writing](Self#errors).
    #[inline]
    pub fn insert(&self, record: &[u8]) -> Result<bool> {
        self.write(Whole { record, write: Insert })
    }

    /// Writes a packed record, and replaces one with its key. Returns true if there was one.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    #[inline]
    pub fn upsert(&self, record: &[u8]) -> Result<bool> {
        self.write(Whole { record, write: Upsert })
    }

    /// Writes a packed record as [`upsert`](Self::upsert) does, as durable as the next operation
    /// that waits for that.
    pub(in crate::api) fn upsert_early(&self, record: &[u8]) -> Result<bool> {
        self.write(Early(Whole { record, write: Upsert }))
    }

    /// Deletes the record with a packed key as [`delete`](Self::delete) does, as durable as the
    /// next operation that waits for that.
    pub(in crate::api) fn delete_early(&self, key: &[u8]) -> Result<bool> {
        self.write(Early(Under { key, write: Delete }))
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
        let schema = self.core.schema();
        let found = self.core.column_to_set(column)?;
        if found.kind.is_variable() {
            return self.update_variable(key, column, bytes);
        }
        schema.expect_size(PackedPart::Column, bytes.len(), found.range().len())?;
        let at = schema.range_in_payload(found).start;
        // Not by `write`, so that the compiler keeps the answer in a register.
        let request = Under { key, write: Patch { at, bytes } };
        if let Some(answer) = self.write_at_once(&request) {
            return Ok(answer);
        }
        self.write_admitted(request)
    }

    fn update_variable(&self, key: &[u8], column: ColumnId, bytes: &[u8]) -> Result<bool> {
        let mut fits = Ok(());
        let there = self.change_in_place(key, |payload| {
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
        with_key(self, key, |key| self.write(Under { key, write: Delete }))
    }
}

#[cfg(test)]
mod tests;
