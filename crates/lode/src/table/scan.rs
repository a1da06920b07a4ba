//! Reading many records of a table at a moment: a walk over its pages, and the rows in them.

use std::ops::Bound;
use std::sync::Arc;

use super::TableCore;
use super::by_page::ByPage;
use super::kinds::{Kinds, Walk};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::heap::{Entry, Heap};
use crate::pager::{Pager, ReadEpoch};
use crate::tree::{Direction, Leaves, Range, Wanted};

/// The distance, in records of a heap, at which memory is fetched ahead.
const AHEAD: usize = 8;

/// Returns the entry that is the payload of a heap's index.
pub(super) fn entry_in(payload: &[u8]) -> [u8; Entry::BYTES] {
    payload.try_into().expect("an index of a heap has entries")
}

/// Returns true if an entry of a heap's index has a record.
pub(super) fn has_record(entry: &[u8]) -> bool {
    Entry::of(entry_in(entry)).address.is_some()
}

impl TableCore {
    /// Starts a walk over all records, in the order of keys or in none.
    pub(crate) fn walk_all(&self, pager: &Pager, direction: Direction) -> Result<Walk> {
        match direction {
            Direction::Forward => Ok(self.walk_by_page(pager).unwrap_or_else(|| self.index.walk())),
            Direction::Backward => {
                let all = Range { lower: Bound::Unbounded, upper: Bound::Unbounded };
                self.walk_range(Arc::new(all), direction, u64::MAX)
            }
        }
    }

    /// Starts a walk over at most `limit` records of a range, in the order of keys.
    ///
    /// # Errors
    /// `NoOrder`.
    pub(crate) fn walk_range(
        &self,
        range: Arc<Range>,
        direction: Direction,
        limit: u64,
    ) -> Result<Walk> {
        match &self.index {
            Kinds::Tree(_) => Ok(Walk::Leaves(Leaves::new(range, direction, limit))),
            Kinds::Hash(_) => Err(Error::NoOrder { table: self.schema().name().into() }),
        }
    }

    /// Starts a walk over all records that can be read.
    ///
    /// # Errors
    /// `NoOrder` when there has to be an order.
    pub(crate) fn walk_readable(
        &self,
        pager: &Pager,
        needs_order: bool,
        direction: Direction,
    ) -> Result<Walk> {
        match &self.index {
            Kinds::Hash(_) if needs_order || direction == Direction::Backward => {
                Err(Error::NoOrder { table: self.schema().name().into() })
            }
            _ => Ok(self.walk_readable_in(pager, direction)),
        }
    }

    /// Starts a walk over all records that can be read; hashed keys have no direction.
    pub(super) fn walk_readable_in(&self, pager: &Pager, direction: Direction) -> Walk {
        self.walk_by_page(pager).unwrap_or_else(|| self.index.walk_readable(direction))
    }

    /// Starts a walk in the order of the heap, for hashed keys whose heap may not fit in memory.
    fn walk_by_page(&self, pager: &Pager) -> Option<Walk> {
        let heap = self.heap.as_ref()?;
        let is_worth_it =
            matches!(self.index, Kinds::Hash(_)) && pager.may_exceed_memory(heap.space());
        is_worth_it.then(|| Walk::ByPage(Box::new(ByPage::new(pager))))
    }

    /// Copies the `wanted` parts of the records of a walk's next page; returns false at the end.
    pub(crate) fn next_page(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        walk: &mut Walk,
        wanted: &Wanted,
        batch: &mut Batch,
    ) -> Result<bool> {
        self.was_there(moment)?;
        self.index.next_page(pager, moment, walk, wanted, batch)
    }

    /// Converts a range of packed keys to the keys of the index.
    pub(crate) fn range(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Range> {
        Ok(Range { lower: self.bound(lower)?, upper: self.bound(upper)? })
    }

    /// Packs a record of a key in order and a payload, in place of the content of `record`.
    pub(crate) fn pack(&self, ordered: &[u8], payload: &[u8], record: &mut Vec<u8>) -> Result<()> {
        self.unpack_key(ordered, record)?;
        record.extend_from_slice(payload);
        Ok(())
    }

    /// Packs a key that is in order, in place of the content of `packed`.
    pub(crate) fn unpack_key(&self, ordered: &[u8], packed: &mut Vec<u8>) -> Result<()> {
        let decoded = self.order.decode(ordered, packed);
        let is_key = decoded.is_some()
            && (!self.schema().is_key_variable() || self.schema().expect_key(packed).is_ok());
        if is_key { Ok(()) } else { Err(self.corrupt("a key is none of its columns")) }
    }

    /// Returns a key in order as a packed one, which may be put in `unpacked`.
    pub(crate) fn packed_key<'k>(
        &self,
        key: &'k [u8],
        unpacked: &'k mut Vec<u8>,
    ) -> Result<&'k [u8]> {
        if self.order.is_packed() {
            return Ok(key);
        }
        self.unpack_key(key, unpacked)?;
        Ok(unpacked)
    }

    /// Calls `work` with a range of packed keys, as the keys of the index.
    pub(crate) fn bounds_in_order<T>(
        &self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        work: impl FnOnce(Bound<&[u8]>, Bound<&[u8]>) -> T,
    ) -> T {
        self.bound_in_order(lower, |lower| self.bound_in_order(upper, |upper| work(lower, upper)))
    }

    fn bound_in_order<T>(&self, bound: Bound<&[u8]>, work: impl FnOnce(Bound<&[u8]>) -> T) -> T {
        match bound {
            Bound::Included(key) => self.in_order(key, |key| work(Bound::Included(key))),
            Bound::Excluded(key) => self.in_order(key, |key| work(Bound::Excluded(key))),
            Bound::Unbounded => work(Bound::Unbounded),
        }
    }

    fn bound(&self, bound: Bound<&[u8]>) -> Result<Bound<Vec<u8>>> {
        let ordered = |key: &[u8]| {
            self.schema().expect_key(key)?;
            Ok::<_, Error>(self.in_order(key, <[u8]>::to_vec))
        };
        Ok(match bound {
            Bound::Included(key) => Bound::Included(ordered(key)?),
            Bound::Excluded(key) => Bound::Excluded(ordered(key)?),
            Bound::Unbounded => Bound::Unbounded,
        })
    }

    /// Has the processor fetch the memory of records that a walk reads after one of a batch: the
    /// slots of those further on, and the bytes of the nearer ones. Records that follow each other
    /// in a page it finds by itself.
    pub(crate) fn fetch_ahead(&self, pager: &Pager, batch: &Batch, at: usize, way: Direction) {
        if self.heap.is_none() {
            return;
        }
        let entry_at = |at| Entry::of(entry_in(batch.record(at).1));
        let entry_after = |count: usize| {
            let after = match way {
                Direction::Forward => at.checked_add(count).filter(|after| *after < batch.len()),
                Direction::Backward => at.checked_sub(count),
            };
            after.map(entry_at)
        };
        let Some(nearer) = entry_after(AHEAD) else { return };
        if nearer.is_beside(entry_at(at)) {
            return;
        }
        Heap::fetch_record(pager, nearer);
        if let Some(further) = entry_after(2 * AHEAD) {
            Heap::fetch_slot(pager, further);
        }
    }

    /// Reads all bytes that the heap has of a record whose entry the index had at a moment; returns
    /// false if there was none.
    pub(super) fn read_found(
        &self,
        heap: &Heap,
        pager: &Pager,
        moment: ReadEpoch,
        entry: &[u8],
        whole: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some(address) = Entry::of(entry_in(entry)).address else { return Ok(false) };
        heap.read_at(pager, moment, address, whole)?;
        self.expect_whole(heap, whole)?;
        Ok(true)
    }

    /// Returns the number of records at a moment.
    pub(crate) fn count_at(&self, pager: &Pager, moment: ReadEpoch) -> Result<u64> {
        if !self.heap.as_ref().is_some_and(|heap| heap.has_keys()) {
            return self.index.count(pager, moment);
        }
        // Digests stay for a while after their records are deleted.
        let mut walk = self.index.walk();
        let wanted = self.index.whole();
        let mut batch = Batch::default();
        let mut count = 0;
        while self.index.next_page(pager, moment, &mut walk, &wanted, &mut batch)? {
            for at in 0..batch.len() {
                let (_, entry) = batch.record(at);
                count += u64::from(has_record(entry));
            }
        }
        Ok(count)
    }
}
