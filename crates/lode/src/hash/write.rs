//! Writes of single records to a bucket.

use std::sync::atomic::AtomicU64;

use super::bucket::{Found, Probe};
use super::shortcut::Entry;
use super::{Attempt, Hash, Page};
use crate::error::Result;
use crate::index::{AtEntry, EntryMut, Record, Step, WriteContext};
use crate::pager::{Epoch, Latched, PageMut, Pager, Space};

impl Hash {
    /// Latches the bucket of a key, if it is in memory, and no other thread changes it.
    #[inline(always)]
    pub(super) fn try_latch<'h>(&'h self, pager: &'h Pager, key: &[u8]) -> Option<Held<'h>> {
        let Attempt { way, words, home } = self.try_read(pager, key)?;
        self.slots.fetch_to_change(words, home);
        let bucket = pager.latch(way.bucket)?;
        way.entry.validate().then_some(Held { entry: way.entry, bucket, home })
    }

    /// Has `work` done at the slot of a key, if the key's bucket can be latched at once. If few
    /// records are left, joins the bucket with another, and gives a page back to `space`.
    #[inline(always)]
    pub(crate) fn try_at<A: AtEntry>(
        &self,
        pager: &Pager,
        space: &Space,
        key: &[u8],
        mut work: A,
    ) -> Option<Result<Step<A::Done>, A::Error>> {
        let held = self.try_latch(pager, key)?;
        Some(self.at_slot(held, pager, Some(space), key, &mut work))
    }

    /// Does work at the slot of a key in its latched bucket, and unlatches that. Joins it with
    /// another, if few records are left, and there is a space that its page may go back to.
    #[inline(always)]
    pub(super) fn at_slot<A: AtEntry>(
        &self,
        Held { entry, bucket, home }: Held<'_>,
        pager: &Pager,
        space: Option<&Space>,
        key: &[u8],
        work: &mut A,
    ) -> Result<Step<A::Done>, A::Error> {
        let probe = Probe::new(key);
        let found = if A::EXPECTS_RECORD {
            self.slots.find_or_gap_of_record(bucket.words(), home, &probe)
        } else {
            self.slots.find_or_gap(bucket.words(), home, &probe)
        };
        let mut slot_mut = SlotMut { hash: self, bucket, probe, found, is_sparse: false };
        let step = work.work(&mut slot_mut);
        let SlotMut { bucket, is_sparse, .. } = slot_mut;
        drop(bucket);
        if let Some(space) = space.filter(|_| is_sparse) {
            self.merge_after_removal(pager, space, entry, key);
        }
        step
    }

    /// Latches the bucket of a key as `try_latch` does, but waits if it must.
    #[inline(never)]
    pub(super) fn latch_patiently<'h>(&'h self, pager: &'h Pager, key: &[u8]) -> Result<Held<'h>> {
        let place = self.place(key);
        loop {
            let (way, _) = self.read_optimistic(pager, place)?;
            let latched = pager.latch(way.bucket);
            if let Some(bucket) = latched.filter(|_| way.entry.validate()) {
                return Ok(Held { entry: way.entry, bucket, home: place.home });
            }
        }
    }

    /// Returns true if a bucket has room, once all records are in order, for a key that would be
    /// too far from its home. (This and the next one are apart, since few records need them.)
    #[cold]
    #[inline(never)]
    fn has_room_in_order(&self, words: Page<'_>, key: &[u8]) -> bool {
        let home_of = |key: &[u8]| self.place(key).home;
        self.slots.has_room_in_order(words, home_of(key), &home_of)
    }

    /// Inserts a record where there is room in that order.
    #[cold]
    #[inline(never)]
    fn insert_in_order(&self, mut words: PageMut<'_>, key: &[u8], payload: &[u8]) {
        let home_of = |key: &[u8]| self.place(key).home;
        self.slots.insert_in_order(&mut words, home_of(key), Probe::new(key), payload, &home_of);
    }

    /// Splits the bucket of a key, unless it has room for the record by now.
    #[inline(never)]
    pub(super) fn make_room(&self, context: &WriteContext<'_>, key: &[u8]) -> Result<()> {
        let place = self.place(key);
        let probe = Probe::new(key);
        let has_room = |words: Page<'_>| {
            let found = self.slots.find_or_gap(words, place.home, &probe);
            found.is_there() || self.slots.has_room(words, found)
        };
        let place_of = |key: &[u8]| self.place(key);
        let WriteContext { pager, space, .. } = *context;
        self.directory.split(pager, space, self.parts(), place.directory, &has_room, place_of)
    }

    /// Joins the bucket of a key, in which few records are left, with another.
    #[inline(never)]
    fn merge_after_removal(&self, pager: &Pager, space: &Space, entry: Entry<'_>, key: &[u8]) {
        if !entry.is_of_few() {
            // The record is deleted; a join that fails now is done later.
            let _ = self.merge(pager, space, key);
        }
    }
}

/// The latched bucket of a key, and the way to it.
pub(super) struct Held<'h> {
    entry: Entry<'h>,
    bucket: Latched<'h>,
    /// The slot that is the first choice of the key.
    home: usize,
}

/// The slot of a key in its bucket, or the one where it would be.
struct SlotMut<'h> {
    hash: &'h Hash,
    bucket: Latched<'h>,
    probe: Probe<'h>,
    found: Found,
    /// True if the bucket is left so sparse that it should be joined with another.
    is_sparse: bool,
}

impl SlotMut<'_> {
    /// Returns the slot of the record, which exists.
    #[inline(always)]
    fn slot(&self) -> usize {
        debug_assert!(self.found.is_there(), "there is no record");
        self.found.slot()
    }
}

impl EntryMut for SlotMut<'_> {
    #[inline(always)]
    fn is_there(&self) -> bool {
        self.found.is_there()
    }

    #[inline(always)]
    fn has_room(&self) -> bool {
        let slots = &self.hash.slots;
        let words = self.bucket.words();
        slots.has_room(words, self.found)
            || slots.is_too_far(self.found) && self.hash.has_room_in_order(words, self.probe.key())
    }

    #[inline(always)]
    fn last_frame(&self) -> Option<&AtomicU64> {
        self.bucket.last_frame()
    }

    #[inline(always)]
    fn payload_size(&self) -> usize {
        self.hash.slots.shape().payload_size
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
        debug_assert!(!self.is_there(), "there is a record");
        let hash = self.hash;
        let mut words = self.bucket.change(epoch);
        if hash.slots.is_too_far(self.found) {
            hash.insert_in_order(words, self.probe.key(), payload)
        } else {
            hash.slots.insert(&mut words, self.found, self.probe, payload)
        }
    }

    #[inline(always)]
    fn remove(&mut self, epoch: Epoch) {
        let hash = self.hash;
        let slot = self.slot();
        let mut words = self.bucket.change(epoch);
        hash.slots.remove(&mut words, slot);
        let words = words.page_ref();
        // Checked after every few: the other one may have too many records.
        let is_time = hash.slots.records(words).is_multiple_of(4);
        self.is_sparse = is_time && hash.slots.is_sparse(words);
    }
}
