//! Lookups in a table as it is now: between two commits, without a snapshot, and with buffers that
//! a thread uses again.

use std::cell::Cell;
use std::ops::Bound;

use super::{ByIndex, Found, MOST_ATTEMPTS};
use crate::api::Row;
use crate::api::row::Shape;
use crate::batch::Batch;
use crate::error::Result;
use crate::heap::Buffer;
use crate::table::TableCore;
use crate::tree::First;

/// The most rows that a cursor copies when it is made.
const MOST_COPIED: usize = 4;

/// The most bytes of a payload that a cursor copies when it is made.
const MOST_COPIED_BYTES: usize = 4096;

/// Buffers of a lookup.
#[derive(Default)]
struct Buffers {
    /// The packed key that is looked up in the index.
    wanted: Vec<u8>,
    /// The key in order of the entry that was found; in a unique index, its payload.
    found: Vec<u8>,
    /// The entry, packed.
    entry: Vec<u8>,
    /// The packed key of the record.
    key: Vec<u8>,
    /// Entries of a range.
    batch: Batch,
}

/// Calls `work` with the buffers of the thread.
fn with_buffers<T>(work: impl FnOnce(&mut Buffers) -> T) -> T {
    thread_local! {
        static BUFFERS: Cell<Option<Box<Buffers>>> = const { Cell::new(None) };
    }
    // In a thread that is ending they may be gone.
    let mut buffers = BUFFERS.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let done = work(&mut buffers);
    let _ = BUFFERS.try_with(|kept| kept.set(Some(buffers)));
    done
}

/// A payload that is copied to the end of its record.
struct AtEnd<'r> {
    record: &'r mut Vec<u8>,
    /// Bytes of the record before it.
    front: usize,
    most_bytes: usize,
}

impl Buffer for AtEnd<'_> {
    fn of_size(&mut self, size: usize) -> Option<&mut [u8]> {
        if size > self.most_bytes {
            return None;
        }
        self.record.resize(self.front + size, 0);
        self.record.get_mut(self.front..)
    }
}

/// Records that a cursor copied when it was made, in the order of its entries.
#[derive(Debug, Default)]
pub(in crate::api) struct Copied {
    bytes: Vec<u8>,
    /// The end of each record in the bytes.
    ends: [usize; MOST_COPIED],
    count: usize,
    passed: usize,
    is_backward: bool,
}

impl Copied {
    /// Reverses the direction, and starts again.
    pub(in crate::api) fn reverse(&mut self) {
        self.is_backward = !self.is_backward;
        self.passed = 0;
    }

    /// Returns the next record, packed.
    pub(in crate::api) fn next(&mut self) -> Option<&[u8]> {
        debug_assert!(self.passed <= self.count, "each record is passed once");
        let left = self.count - self.passed;
        let at = if self.is_backward { left.checked_sub(1)? } else { self.passed };
        let end = *self.ends[..self.count].get(at)?;
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.passed += 1;
        Some(&self.bytes[from..end])
    }
}

impl ByIndex<'_> {
    /// Finds the record of the first entry with the values of a packed key of a lookup. `None` if
    /// that takes a snapshot; so it does if records expire.
    pub(super) fn find_now(&self, lookup: &[u8]) -> Result<Option<Found>> {
        if self.table.core().has_expiry() {
            return Ok(None);
        }
        let gate = self.table.database().gate();
        let core = self.secondary.core();
        let schema = self.table.schema();
        with_buffers(|buffers| {
            let mut wanted = std::mem::take(&mut buffers.wanted);
            let rest = self.secondary.entries().pack_lowest(schema, lookup, &mut wanted);
            let found = core.in_order(&wanted, |wanted| {
                for _ in 0..MOST_ATTEMPTS {
                    let Some(commits) = gate.try_read() else {
                        std::thread::yield_now();
                        continue;
                    };
                    let found = self.find_once(wanted, wanted.len() - rest, buffers);
                    if gate.validate(commits) {
                        return found;
                    }
                }
                Ok(None)
            });
            buffers.wanted = wanted;
            found
        })
    }

    /// Finds the record of the first entry from the key `wanted` on that has its first bytes. What
    /// is found counts if there was no commit in between. `None` if it is not in the leaf.
    fn find_once(
        &self,
        wanted: &[u8],
        first_bytes: usize,
        buffers: &mut Buffers,
    ) -> Result<Option<Found>> {
        let core = self.secondary.core();
        let schema = self.table.schema();
        core.ensure_open()?;
        let pager = self.table.database().pager();
        let Buffers { found, entry, key, .. } = buffers;
        let key = if self.secondary.entries().is_unique() {
            if !core.read(pager, wanted, found)? {
                return Ok(Some(Found::NoEntry));
            }
            self.secondary.key_in_payload(schema, found)?
        } else {
            let Some(tree) = core.tree_of_records() else { return Ok(None) };
            match tree.first_from(pager, wanted, found)? {
                First::InLeaf if found.starts_with(&wanted[..first_bytes]) => {}
                First::InLeaf | First::Missing => return Ok(Some(Found::NoEntry)),
                First::Later => return Ok(None),
            }
            core.unpack_key(found, entry)?;
            self.secondary.key_of_record(schema, entry, key)?;
            key
        };
        let mut record = Vec::with_capacity(key.len() + schema.payload_size());
        record.extend_from_slice(key);
        if !self.append_payload(key, &mut record, usize::MAX)? {
            return Ok(Some(Found::NoRecord));
        }
        let shape = Shape::new(self.table.core().clone(), None);
        Ok(Some(Found::Row(Row::new(shape, record))))
    }

    /// Appends the payload of the record under a packed key, of at most `most_bytes`. Returns false
    /// if there is no such record.
    fn append_payload(&self, key: &[u8], record: &mut Vec<u8>, most_bytes: usize) -> Result<bool> {
        let core: &TableCore = self.table.core();
        let pager = self.table.database().pager();
        let front = record.len();
        let mut payload = AtEnd { record, front, most_bytes };
        let is_there = core.in_order(key, |key| core.read(pager, key, &mut payload))?;
        if is_there && core.schema().is_variable() {
            core.expect_stored(&record[front..])?;
        }
        Ok(is_there)
    }

    /// Copies the rows of a range of packed keys of entries, if they are few and short, and their
    /// entries in one leaf; `None` otherwise, at an error, if others write, and if records expire.
    pub(super) fn copy_now(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<Copied> {
        if self.table.core().has_expiry() {
            return None;
        }
        let gate = self.table.database().gate();
        with_buffers(|buffers| {
            let commits = gate.try_read()?;
            let quiet = gate.quiet();
            let copied = self.copy_once(lower, upper, buffers)?;
            // Writes that leave entries as they are may come between the reads of two records.
            let is_of_one_moment = if copied.count > 1 {
                quiet.is_some_and(|quiet| gate.is_quiet_since(quiet))
            } else {
                gate.validate(commits)
            };
            is_of_one_moment.then_some(copied)
        })
    }

    fn copy_once(
        &self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        buffers: &mut Buffers,
    ) -> Option<Copied> {
        let core = self.secondary.core();
        core.ensure_open().ok()?;
        let tree = core.tree_of_records()?;
        let schema = self.table.schema();
        let Buffers { entry, key, batch, .. } = buffers;
        let pager = self.table.database().pager();
        let are_copied = core.bounds_in_order(lower, upper, |lower, upper| {
            tree.copy_range(pager, lower, upper, MOST_COPIED, batch)
        });
        if !are_copied.ok()? {
            return None;
        }
        let count = batch.len();
        let mut copied = Copied { count, ..Copied::default() };
        copied.bytes.reserve(count * schema.record_size());
        for (at, end) in copied.ends[..count].iter_mut().enumerate() {
            let (entry_key, payload) = batch.record(at);
            core.pack(entry_key, payload, entry).ok()?;
            self.secondary.key_of_record(schema, entry, key).ok()?;
            copied.bytes.extend_from_slice(key);
            if !self.append_payload(key, &mut copied.bytes, MOST_COPIED_BYTES).ok()? {
                return None;
            }
            *end = copied.bytes.len();
        }
        Some(copied)
    }
}
