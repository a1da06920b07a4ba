//! The check at a commit of what its transaction has scanned: it is looked at again, while the gate
//! is closed. (Silo notes the versions of leaves: Tu, Zheng, Kohler, Liskov, Madden: Speedy
//! Transactions in Multicore In-Memory Databases, SOSP 2013, section 4.6.)
//!
//! A transaction scans at a moment, and every page has a stamp. So a note on a scan says which keys
//! it came past, and of no page. Most pages have not changed since the moment: their numbers are
//! enough to tell. Of the others, the records then and now are compared. So a page that was split,
//! joined or moved, or that has other records, is no conflict by itself.

use std::ops::Bound;
use std::sync::Arc;

use super::TableCore;
use super::kinds::{Kinds, Walk};
use super::scan::entry_in;
use crate::batch::Batch;
use crate::error::Result;
use crate::hash::{HashPlace, Places};
use crate::heap::{Entry, Heap};
use crate::pager::{Pager, ReadEpoch};
use crate::tree::{Direction, Leaves, Range};

/// The part of a table that a transaction has scanned.
#[derive(Clone, Debug)]
pub(crate) enum Extent {
    /// All keys of a tree that are in a range.
    Keys(Range),
    /// The records of a hash in places below this one; of all places if that is `None`.
    Places(Option<HashPlace>),
    /// The number of records, which was this.
    Count(u64),
}

impl Extent {
    /// Returns the extent of all records of a table.
    pub(crate) fn all(core: &TableCore) -> Self {
        match &core.index {
            Kinds::Tree(_) => Self::Keys(Range::all()),
            Kinds::Hash(_) => Self::Places(None),
        }
    }

    /// Returns true if it is all records of its table.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Keys(range) => {
                matches!((&range.lower, &range.upper), (Bound::Unbounded, Bound::Unbounded))
            }
            Self::Places(end) => end.is_none(),
            Self::Count(_) => false,
        }
    }

    /// Returns the bytes that it takes up on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Keys(range) => range.heap_bytes(),
            Self::Places(_) | Self::Count(_) => 0,
        }
    }
}

impl Walk {
    /// Returns the part of the table that the walk has come past; `None` before its first page.
    pub(crate) fn passed(&self) -> Option<Extent> {
        match self {
            Self::Buckets(buckets) => Some(Extent::Places(buckets.place())),
            Self::ByPage(by_page) => Some(Extent::Places(by_page.place())),
            Self::Leaves(leaves) => leaves.passed().map(Extent::Keys),
            Self::Nodes(_) => Some(Extent::Keys(Range::all())),
        }
    }

    /// Returns the part of the table up to a key that the walk has come to; `None` if it has no
    /// order.
    pub(crate) fn passed_to(&self, key: &[u8]) -> Option<Extent> {
        match self {
            Self::Leaves(leaves) => Some(Extent::Keys(leaves.up_to(key))),
            Self::Buckets(_) | Self::ByPage(_) | Self::Nodes(_) => None,
        }
    }
}

/// The moment now, which is kept once it was asked for.
struct Now<'p> {
    pager: &'p Pager,
    moment: Option<ReadEpoch>,
}

impl Now<'_> {
    fn moment(&mut self) -> ReadEpoch {
        *self.moment.get_or_insert_with(|| self.pager.moment())
    }
}

impl Drop for Now<'_> {
    fn drop(&mut self) {
        self.moment.into_iter().for_each(|moment| self.pager.release(moment));
    }
}

/// Content of records, each with its key in the index.
type Contents = Vec<(Vec<u8>, Vec<u8>)>;

impl TableCore {
    /// Returns true if a scan of `extent` now would find other records than at the moment `since`.
    /// The gate is closed, and what is under way has changed nothing.
    ///
    /// # Errors
    /// `SnapshotTooOld`; the fault of a page.
    pub(crate) fn has_changed(
        &self,
        pager: &Pager,
        since: ReadEpoch,
        extent: &Extent,
    ) -> Result<bool> {
        if self.heap.as_ref().is_some_and(|heap| !heap.is_written_since(since)) {
            return Ok(false);
        }
        let mut now = Now { pager, moment: None };
        match (&self.index, extent) {
            (Kinds::Tree(_), Extent::Keys(range)) => self.have_keys_changed(since, range, &mut now),
            (Kinds::Hash(_), Extent::Places(end)) => {
                self.have_places_changed(since, *end, &mut now)
            }
            (_, Extent::Count(count)) => Ok(self.has_index_changed(pager, since)?
                && self.count_at(pager, now.moment())? != *count),
            (Kinds::Tree(_), Extent::Places(_)) | (Kinds::Hash(_), Extent::Keys(_)) => {
                unreachable!("a scan is noted as the index of its table goes")
            }
        }
    }

    /// Returns true if a page of the index has changed that has records or entries.
    fn has_index_changed(&self, pager: &Pager, since: ReadEpoch) -> Result<bool> {
        let mut has_changed = false;
        let mut look = |page| {
            has_changed = pager.has_changed_since(since, page);
            Ok(!has_changed)
        };
        match &self.index {
            Kinds::Tree(tree) => tree.each_leaf(pager, &Range::all(), &mut look)?,
            Kinds::Hash(hash) => hash.each_bucket(pager, None, &mut |page, _| look(page))?,
        }
        Ok(has_changed)
    }

    fn have_keys_changed(
        &self,
        since: ReadEpoch,
        range: &Range,
        now: &mut Now<'_>,
    ) -> Result<bool> {
        let Kinds::Tree(tree) = &self.index else { return Ok(true) };
        let pager = now.pager;
        let mut batch = Batch::default();
        let mut has_changed = false;
        tree.each_leaf(pager, range, &mut |leaf| {
            let is_same_leaf = !pager.has_changed_since(since, leaf);
            if is_same_leaf && self.heap.is_none() {
                return Ok(true);
            }
            let part = tree.copy_leaf_now(pager, leaf, range, &mut batch)?;
            if is_same_leaf && self.are_in_same_pages(pager, since, &batch) {
                return Ok(true);
            }
            has_changed = !self.has_same_records(since, &Arc::new(part), now)?;
            Ok(!has_changed)
        })?;
        Ok(has_changed)
    }

    /// Returns true if no page of the heap has changed that has one of these records.
    fn are_in_same_pages(&self, pager: &Pager, since: ReadEpoch, batch: &Batch) -> bool {
        let is_same = |at| !Heap::has_changed_since(pager, since, entry_of(batch, at));
        self.heap.is_none() || (0..batch.len()).all(is_same)
    }

    /// Returns true if a range of keys has the records now that it had at the moment `since`.
    fn has_same_records(
        &self,
        since: ReadEpoch,
        range: &Arc<Range>,
        now: &mut Now<'_>,
    ) -> Result<bool> {
        let pager = now.pager;
        let mut then = InOrder::new(self, pager, since, range);
        let mut current = InOrder::new(self, pager, now.moment(), range);
        loop {
            match (then.next()?, current.next()?) {
                (None, None) => return Ok(true),
                (then, current) if then != current => return Ok(false),
                _ => {}
            }
        }
    }

    fn have_places_changed(
        &self,
        since: ReadEpoch,
        end: Option<HashPlace>,
        now: &mut Now<'_>,
    ) -> Result<bool> {
        let Kinds::Hash(hash) = &self.index else { return Ok(true) };
        let pager = now.pager;
        let mut has_changed = false;
        hash.each_bucket(pager, end, &mut |bucket, places| {
            let is_same_bucket = !pager.has_changed_since(since, bucket);
            if is_same_bucket && self.heap.is_none() {
                return Ok(true);
            }
            // Records at the moment of a bucket that has not changed are those of now.
            if is_same_bucket && self.are_places_in_same_pages(pager, since, places)? {
                return Ok(true);
            }
            let then = self.contents_at(pager, since, places)?;
            has_changed = then != self.contents_at(pager, now.moment(), places)?;
            Ok(!has_changed)
        })?;
        Ok(has_changed)
    }

    fn are_places_in_same_pages(
        &self,
        pager: &Pager,
        since: ReadEpoch,
        places: Places,
    ) -> Result<bool> {
        let Kinds::Hash(hash) = &self.index else { return Ok(false) };
        let mut are_same = true;
        hash.each_record_at(pager, since, places, &mut |_, entry| {
            let entry = Entry::of(entry_in(entry));
            are_same = are_same && !Heap::has_changed_since(pager, since, entry);
        })?;
        Ok(are_same)
    }

    /// Returns the records of some places at a moment, in an order that depends on them alone.
    fn contents_at(&self, pager: &Pager, moment: ReadEpoch, places: Places) -> Result<Contents> {
        let Kinds::Hash(hash) = &self.index else { return Ok(Vec::new()) };
        let mut contents = Vec::new();
        hash.each_record_at(pager, moment, places, &mut |key, found| {
            contents.push((key.to_vec(), found.to_vec()));
        })?;
        if let Some(heap) = &self.heap {
            let mut whole = Vec::new();
            let mut of_records = Vec::new();
            for (key, entry) in contents {
                if self.read_found(heap, pager, moment, &entry, &mut whole)? {
                    of_records.push((key, whole.clone()));
                }
            }
            contents = of_records;
        }
        contents.sort_unstable();
        Ok(contents)
    }
}

fn entry_of(batch: &Batch, at: usize) -> Entry {
    Entry::of(entry_in(batch.record(at).1))
}

/// The records of a range at a moment, one after another.
struct InOrder<'c> {
    core: &'c TableCore,
    pager: &'c Pager,
    moment: ReadEpoch,
    walk: Walk,
    batch: Batch,
    passed: usize,
}

impl<'c> InOrder<'c> {
    fn new(core: &'c TableCore, pager: &'c Pager, moment: ReadEpoch, range: &Arc<Range>) -> Self {
        let leaves = Leaves::new(Arc::clone(range), Direction::Forward, u64::MAX);
        let walk = Walk::Leaves(leaves);
        Self { core, pager, moment, walk, batch: Batch::default(), passed: 0 }
    }

    /// Returns the next record: its key, and its payload.
    fn next(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let Self { core, pager, moment, walk, batch, passed } = self;
        loop {
            if *passed == batch.len() {
                *passed = 0;
                let wanted = core.index.whole();
                if !core.index.next_page(pager, *moment, walk, &wanted, batch)? {
                    return Ok(None);
                }
                continue;
            }
            let (key, found) = batch.record(*passed);
            *passed += 1;
            let Some(heap) = &core.heap else {
                return Ok(Some((key.to_vec(), found.to_vec())));
            };
            let mut whole = Vec::new();
            if core.read_found(heap, pager, *moment, found, &mut whole)? {
                return Ok(Some((key.to_vec(), whole)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
