//! What writes of single records do to a bucket.

use super::bucket::{Gap, Probe};
use super::shortcut::Entry;
use super::{Attempt, Hash, Page};
use crate::error::Result;
use crate::index::{EntryMut, Record, WriteContext};
use crate::pager::{Epoch, Latched, Pager};

impl Hash {
    /// Latches the bucket of a key, if it is in memory, and no other thread changes it. Returns
    /// where it was found, and the slot that is the first choice of the key.
    #[inline(always)]
    pub(super) fn try_latch<'h>(
        &'h self,
        pager: &'h Pager,
        key: &[u8],
    ) -> Option<(Entry<'h>, Latched<'h>, usize)> {
        let Attempt { way, words, home } = self.try_read(pager, key)?;
        self.slots.fetch_to_change(words, home);
        let bucket = pager.latch(way.bucket)?;
        way.entry.validate().then_some((way.entry, bucket, home))
    }

    /// The same, however long it takes.
    #[inline(never)]
    pub(super) fn latch_patiently<'h>(
        &'h self,
        pager: &'h Pager,
        key: &[u8],
    ) -> Result<(Entry<'h>, Latched<'h>, usize)> {
        let place = self.place(key);
        loop {
            let (way, _) = self.read_optimistic(pager, place)?;
            let latched = pager.latch(way.bucket);
            if let Some(bucket) = latched.filter(|_| way.entry.validate()) {
                return Ok((way.entry, bucket, place.home));
            }
        }
    }

    /// Splits the bucket of a key, unless there is room for its record by now.
    #[inline(never)]
    pub(super) fn make_room(&self, context: &WriteContext<'_>, key: &[u8]) -> Result<()> {
        let (place, probe) = (self.place(key), Probe::new(key));
        let has_room = |words: Page<'_>| {
            let found = self.slots.find_or_gap(words, place.home, &probe);
            found.map_or_else(|gap| self.slots.has_room(words, gap), |_| true)
        };
        self.directory.split(
            context.pager,
            context.space,
            (place.directory, &has_room),
            (&self.slots, &self.shortcut),
            |key| self.place(key),
        )
    }

    /// Joins the bucket of a key, in which few records are left, with another, if it need not stay.
    #[inline(never)]
    pub(super) fn merge_after_removal(
        &self,
        context: &WriteContext<'_>,
        entry: Entry<'_>,
        key: &[u8],
    ) {
        if !entry.is_of_few() && !context.keeps_pages() {
            // The record is deleted; what cannot be joined now is joined later.
            let _ = self.merge(context.pager, context.space, key);
        }
    }
}

/// The slot of a key in its bucket, or the one where it would be.
pub(super) struct SlotMut<'h> {
    pub(super) hash: &'h Hash,
    pub(super) bucket: Latched<'h>,
    pub(super) probe: Probe<'h>,
    pub(super) found: Result<usize, Gap>,
    /// Whether so much was taken out that the bucket should be joined with another.
    pub(super) is_sparse: bool,
}

impl SlotMut<'_> {
    /// The slot of the record, which is there.
    fn slot(&self) -> usize {
        debug_assert!(self.found.is_ok(), "there is no record");
        self.found.unwrap_or_default()
    }
}

impl EntryMut for SlotMut<'_> {
    #[inline(always)]
    fn is_there(&self) -> bool {
        self.found.is_ok()
    }

    #[inline(always)]
    fn has_room(&self) -> bool {
        let room = |gap| self.hash.slots.has_room(self.bucket.words(), gap);
        self.found.err().is_some_and(room)
    }

    #[inline(always)]
    fn read(&self, payload: &mut [u8]) {
        self.hash.slots.read_payload(self.bucket.words(), self.slot(), payload);
    }

    #[inline(always)]
    fn write(&mut self, epoch: Epoch, at: usize, bytes: &[u8]) {
        let slot = self.slot();
        self.hash.slots.write_payload(self.bucket.change(epoch), slot, at, bytes);
    }

    #[inline(always)]
    fn insert(&mut self, epoch: Epoch, Record { payload, .. }: Record<'_>) {
        debug_assert!(self.found.is_err(), "there is a record");
        if let Err(gap) = self.found {
            self.hash.slots.insert(&mut self.bucket.change(epoch), gap, &self.probe, payload);
        }
    }

    fn remove(&mut self, epoch: Epoch) {
        let (hash, slot) = (self.hash, self.slot());
        let mut words = self.bucket.change(epoch);
        hash.slots.remove(&mut words, slot);
        let words = words.page_ref();
        // Asked after every few: the other one may have too many records.
        let is_time = hash.slots.records(words).is_multiple_of(4);
        self.is_sparse = is_time && hash.slots.is_sparse(words);
    }
}
