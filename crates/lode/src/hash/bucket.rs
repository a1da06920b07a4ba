//! Buckets: pages of slots of equal size.
//!
//! The first word counts the records. A slot is a byte, its *tag*, and the key, and the payload,
//! without gaps. The tag is 0 in a free slot; otherwise it is one more than the distance
//! of the record from its home, the slot that its hash names.
//!
//! A record is stored in the first slot from its home on that was free, around the end of the page
//! (linear probing: Knuth, The Art of Computer Programming 3, 1998, section 6.4, algorithm L; a
//! deletion closes the gap, algorithm R). No slot between a record and its home is free, so a
//! search for a missing key ends at a free slot. The tags say where homes are, so no key is hashed
//! for a deletion.

mod rearrange;

pub(in crate::hash) use rearrange::{Joins, Unmovable};

use super::Page;
use crate::index::Shape;
use crate::pager::{PAGE_BYTES, PageMut, few};

/// Bytes before the slots.
const HEADER: usize = 8;

/// Bytes after the slots: a read of the last slot may go beyond it.
const BEYOND: usize = 7;

/// The tag of a record in its home.
const HOME_TAG: u64 = 1;

/// The bits of the tag in the first word of a slot.
const TAG: u64 = 0xff;

/// The greatest tag.
const MOST_TAG: usize = u8::MAX as usize;

/// The most bytes of a record. With fewer slots, buckets would split unevenly.
pub(crate) const MOST_RECORD_BYTES: usize = 1200;

/// Eighths of the slots that records may take up before the bucket is split.
const FILL_EIGHTHS: usize = 7;

/// Slots that a search looks at together.
const GLANCE: usize = 2;

/// The slot where a search for a key has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The slot of the record, or the free one where it would be.
    slot: u32,
    /// The distance from the home of the key, in slots.
    distance: u32,
    is_there: bool,
}

impl Found {
    #[inline(always)]
    fn new(slot: usize, distance: usize, is_there: bool) -> Self {
        Self { slot: slot as u32, distance: distance as u32, is_there }
    }

    /// Returns true if the record exists.
    #[inline(always)]
    pub(super) fn is_there(self) -> bool {
        self.is_there
    }

    /// Returns the slot of the record, or the one where it would be.
    #[inline(always)]
    pub(super) fn slot(self) -> usize {
        self.slot as usize
    }
}

/// The layout of a table's slots.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    shape: Shape,
    /// Bytes of a slot: eight or more.
    stride: usize,
    count: usize,
    /// The most records of a bucket.
    most: usize,
    /// The end of the key and start of the payload, in bytes from the start of a slot.
    key_end: usize,
    /// Words of which the tag and the key have a part, and their bits of the first one and of the
    /// last one.
    key_words: usize,
    first_mask: u64,
    last_mask: u64,
}

/// A key as it is stored in its home: word by word, after the tag.
#[derive(Clone, Copy)]
pub(super) struct Probe<'k> {
    first: u64,
    key: &'k [u8],
}

impl<'k> Probe<'k> {
    #[inline(always)]
    pub(super) fn new(key: &'k [u8]) -> Self {
        let first = match key.first_chunk() {
            None => few(key),
            Some(first) => u64::from_le_bytes(*first),
        };
        Self { first: HOME_TAG | first << 8, key }
    }

    /// Returns the key.
    #[inline(always)]
    pub(super) fn key(&self) -> &'k [u8] {
        self.key
    }
}

/// Returns a word of a key after a tag, except the first one.
#[inline(always)]
fn word_of(key: &[u8], at: usize) -> u64 {
    let rest = key.get(at * 8 - 1..).unwrap_or_default();
    rest.first_chunk().map_or_else(|| few(rest), |word| u64::from_le_bytes(*word))
}

impl Slots {
    pub(super) fn new(shape: Shape) -> Self {
        let key_end = 1 + shape.key_size;
        // The first word of a slot can be read whole.
        let stride = (key_end + shape.payload_size).max(8);
        let count = (PAGE_BYTES - HEADER - BEYOND) / stride;
        debug_assert!(count > 1, "a bucket has slots for records of {stride} bytes");
        debug_assert!(HEADER + count * stride + BEYOND <= PAGE_BYTES, "slots are in their page");
        let bits = (key_end % 8 * 8) as u32;
        let last_mask = if bits == 0 { u64::MAX } else { (1 << bits) - 1 };
        Self {
            shape,
            stride,
            count,
            most: (count * FILL_EIGHTHS / 8).max(1),
            key_end,
            key_words: key_end.div_ceil(8),
            first_mask: if key_end < 8 { last_mask } else { u64::MAX },
            last_mask,
        }
    }

    #[inline(always)]
    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the number of slots of a bucket.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the most records of a bucket.
    #[cfg(test)]
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Returns the offset of a slot, in bytes.
    #[inline(always)]
    fn start_of(&self, slot: usize) -> usize {
        HEADER + slot * self.stride
    }

    /// Has the processor fetch the slots that a search from `slot` on looks at.
    #[inline(always)]
    pub(super) fn fetch(&self, words: Page<'_>, slot: usize) {
        let at = self.start_of(slot);
        words.fetch(at / 8);
        words.fetch((at + GLANCE * self.stride - 1) / 8);
    }

    /// Has the processor fetch what an insertion that starts its search at `slot` looks at: the
    /// count of records, and slots up to a free one, as a rule.
    pub(super) fn fetch_to_insert(&self, words: Page<'_>, slot: usize) {
        const LINES: usize = 6;
        const LINE_WORDS: usize = 8;
        let at = self.start_of(slot) / 8;
        words.fetch(0);
        (0..LINES).for_each(|line| words.fetch(at + line * LINE_WORDS));
    }

    /// Has the processor fetch what a change of the record in `slot` looks at: the slot, and the
    /// count of records.
    #[inline(always)]
    pub(super) fn fetch_to_change(&self, words: Page<'_>, slot: usize) {
        self.fetch(words, slot);
        words.fetch(0);
    }

    /// Returns the tag of a slot.
    #[inline(always)]
    fn tag(&self, words: Page<'_>, slot: usize) -> usize {
        usize::from(words.get_at(self.start_of(slot)) as u8)
    }

    /// Finds the slot of a key's record, or the free one where it would be.
    #[inline(always)]
    pub(super) fn find_or_gap(&self, words: Page<'_>, home: usize, probe: &Probe<'_>) -> Found {
        let at = self.start_of(home);
        let first = words.get_at(at);
        if first & TAG == 0 {
            return Found::new(home, 0, false);
        }
        if first & self.first_mask == probe.first && self.is_rest(words, at, probe.key) {
            return Found::new(home, 0, true);
        }
        self.search(words, home, probe.key)
    }

    /// Finds the slot as [`find_or_gap`](Self::find_or_gap), for a key that usually has a record:
    /// as in lookups, both of the first two slots are looked at, without a branch.
    #[inline(always)]
    pub(super) fn find_or_gap_of_record(
        &self,
        words: Page<'_>,
        home: usize,
        probe: &Probe<'_>,
    ) -> Found {
        match self.find_near(words, home, probe) {
            Some(slot) => Found::new(slot, slot - home, true),
            None => self.search(words, home, probe.key),
        }
    }

    /// Searches all slots from the home on for a key. (Apart, so that the few instructions of most
    /// lookups have all registers. It takes the key, since a probe would have to be in memory.)
    #[inline(never)]
    fn search(&self, words: Page<'_>, home: usize, key: &[u8]) -> Found {
        let probe = Probe::new(key);
        let mut slot = home;
        let mut at = self.start_of(home);
        // A reader may see anything, so the search ends after the count of slots.
        for distance in 0..MOST_TAG.min(self.count) {
            let first = words.get_at(at);
            if first & TAG == 0 {
                return Found::new(slot, distance, false);
            }
            // Only the tag is greater than it would be at home.
            let wanted = probe.first + distance as u64;
            if first & self.first_mask == wanted && self.is_rest(words, at, key) {
                return Found::new(slot, distance, true);
            }
            (slot, at) = (slot + 1, at + self.stride);
            if slot == self.count {
                (slot, at) = (0, HEADER);
            }
        }
        Found::new(slot, MOST_TAG, false)
    }

    /// Returns true if the words after the first one are those of a key.
    #[inline(always)]
    fn is_rest(&self, words: Page<'_>, at: usize, key: &[u8]) -> bool {
        self.key_words == 1 || self.are_rest(words, at, key)
    }

    /// Returns true if the further words are those of a key. (Apart, since most have none.)
    #[inline(never)]
    fn are_rest(&self, words: Page<'_>, at: usize, key: &[u8]) -> bool {
        let last = self.key_words - 1;
        (1..last).all(|word| words.get_at(at + word * 8) == word_of(key, word))
            && words.get_at(at + last * 8) & self.last_mask == word_of(key, last)
    }

    /// Writes the words of a key after the first one; the last one may overlap with the one before.
    #[inline(never)]
    fn write_rest(&self, words: &mut PageMut<'_>, at: usize, key: &[u8]) {
        (1..self.key_words - 1).for_each(|word| words.set_at(at + word * 8, word_of(key, word)));
        if let Some(last) = key.last_chunk() {
            words.set_at(at + self.key_end - 8, u64::from_le_bytes(*last));
        }
    }

    /// Returns the slot of a key.
    #[inline(always)]
    pub(super) fn find(&self, words: Page<'_>, home: usize, probe: &Probe<'_>) -> Option<usize> {
        let near = self.find_near(words, home, probe);
        near.or_else(|| {
            let found = self.search(words, home, probe.key);
            found.is_there.then_some(found.slot())
        })
    }

    /// Returns the slot of a key if it is the home or the one after that, as for most keys. Which
    /// one cannot be guessed. A wrong guess would keep the processor from what comes after this
    /// lookup until the slot has come from memory: so both are looked at, without a branch.
    #[inline(always)]
    fn find_near(&self, words: Page<'_>, home: usize, probe: &Probe<'_>) -> Option<usize> {
        if home + GLANCE > self.count {
            return None;
        }
        let at = self.start_of(home);
        let first = words.get_at(at);
        let second = words.get_at(at + self.stride);
        let is_first = first & self.first_mask == probe.first;
        let is_second = second & self.first_mask == probe.first + 1;
        let found = u32::from(is_first) | u32::from(is_second) << 1;
        if found == 0 {
            return None;
        }
        let slot = home + found.trailing_zeros() as usize;
        self.is_rest(words, self.start_of(slot), probe.key).then_some(slot)
    }

    #[inline(always)]
    fn payload_at(&self, slot: usize) -> usize {
        self.start_of(slot) + self.key_end
    }

    #[inline(always)]
    pub(super) fn read_payload(&self, words: Page<'_>, slot: usize, payload: &mut [u8]) {
        words.read(self.payload_at(slot), payload);
    }

    #[inline(always)]
    pub(super) fn write_payload(
        &self,
        mut words: PageMut<'_>,
        slot: usize,
        at: usize,
        bytes: &[u8],
    ) {
        debug_assert!(slot < self.count, "a record is in a slot");
        debug_assert!(
            at + bytes.len() <= self.shape.payload_size,
            "bytes of a payload are written"
        );
        words.write(self.payload_at(slot) + at, bytes);
    }

    /// Returns the number of records of a bucket.
    pub(super) fn records(&self, words: Page<'_>) -> usize {
        words.get(0) as usize
    }

    /// Returns true if one more record may be put where a search has ended.
    #[inline(always)]
    pub(super) fn has_room(&self, words: Page<'_>, found: Found) -> bool {
        self.records(words) < self.most && found.distance < MOST_TAG as u32
    }

    /// Returns true if a search for room ended too far from the home of its key.
    #[inline(always)]
    pub(super) fn is_too_far(&self, found: Found) -> bool {
        found.distance >= MOST_TAG as u32
    }

    /// Returns true if a bucket has so few records that it should be joined with another.
    pub(super) fn is_sparse(&self, words: Page<'_>) -> bool {
        self.records(words) <= self.most / 6
    }

    /// Puts a record where a search has ended, if there [is room](Self::has_room).
    #[inline(always)]
    pub(super) fn insert(
        &self,
        words: &mut PageMut<'_>,
        found: Found,
        probe: Probe<'_>,
        payload: &[u8],
    ) {
        debug_assert!(!found.is_there, "a record is not inserted over another");
        debug_assert!(found.slot() < self.count, "a record is put in a slot");
        debug_assert!(found.distance < MOST_TAG as u32, "a tag has room for the distance");
        debug_assert_eq!(self.tag(words.page_ref(), found.slot()), 0, "the slot is free");
        debug_assert_eq!(payload.len(), self.shape.payload_size, "payloads have one size");
        let at = self.start_of(found.slot());
        words.set_at(at, probe.first + u64::from(found.distance));
        if self.key_words > 1 {
            self.write_rest(words, at, probe.key);
        }
        words.write(at + self.key_end, payload);
        self.count_records(words, |records| records.wrapping_add(1));
    }

    fn count_records(&self, words: &mut PageMut<'_>, count: impl FnOnce(u64) -> u64) {
        let records = count(words.get(0));
        words.set(0, records);
    }

    /// Removes a record from its slot. Records behind it that could not have the free slot move
    /// there.
    #[inline(never)]
    pub(super) fn remove(&self, words: &mut PageMut<'_>, slot: usize) {
        debug_assert!(slot < self.count, "a record is removed from a slot");
        debug_assert!(self.tag(words.page_ref(), slot) != 0, "a record is removed once");
        let end = self.start_of(self.count);
        let mut free = self.start_of(slot);
        let mut next = self.start_of(slot);
        // The distance of the next slot from the free one.
        let mut behind = 0;
        for _ in 0..self.count {
            next = if next + self.stride == end { HEADER } else { next + self.stride };
            behind += 1;
            let first = words.get_at(next);
            match first & TAG {
                0 => break,
                // The record's home is behind the free slot.
                tag if tag <= behind => {}
                _ => {
                    self.copy(words, words.page_ref(), next, free, first - behind);
                    (free, behind) = (next, 0);
                }
            }
        }
        words.set_at(free, 0);
        self.count_records(words, |records| records.wrapping_sub(1));
    }

    /// Copies a slot of a page to a slot of the same page or of another, with another tag, which
    /// its `first` word has.
    #[inline(always)]
    fn copy(&self, words: &mut PageMut<'_>, page: Page<'_>, from: usize, to: usize, first: u64) {
        debug_assert!(from.max(to) + self.stride <= PAGE_BYTES - BEYOND, "slots are in their page");
        debug_assert!(first & TAG != 0, "the copy of a record has a tag");
        let last = page.get_at(from + self.stride - 8);
        words.set_at(to, first);
        let mut at = 8;
        while at + 8 < self.stride {
            words.set_at(to + at, page.get_at(from + at));
            at += 8;
        }
        if self.stride > 8 {
            words.set_at(to + self.stride - 8, last);
        }
    }

    /// Returns the slots that are taken.
    pub(super) fn taken<'w>(&'w self, words: Page<'w>) -> impl Iterator<Item = usize> + 'w {
        (0..self.count).filter(move |slot| self.tag(words, *slot) != 0)
    }

    /// Appends key and payload of every record.
    pub(super) fn copy_all(&self, words: Page<'_>, records: &mut Vec<u8>) {
        let size = self.shape.key_size + self.shape.payload_size;
        for slot in self.taken(words) {
            let from = records.len();
            records.resize(from + size, 0);
            self.read_record(words, slot, &mut records[from..]);
        }
    }

    /// Copies key and payload of a record.
    pub(super) fn read_record(&self, words: Page<'_>, slot: usize, record: &mut [u8]) {
        let (key, payload) = record.split_at_mut(self.shape.key_size);
        words.read(self.start_of(slot) + 1, key);
        self.read_payload(words, slot, payload);
    }

    /// Checks that each record can be found from its home, which `home` returns for keys that
    /// belong here, and that all are counted.
    pub(super) fn check(
        &self,
        words: Page<'_>,
        home: &dyn Fn(&[u8]) -> Option<usize>,
    ) -> Result<(), String> {
        let mut key = vec![0; self.shape.key_size];
        let mut count = 0;
        for slot in self.taken(words) {
            count += 1;
            words.read(self.start_of(slot) + 1, &mut key);
            let home = home(&key).ok_or(format!("the record in slot {slot} belongs elsewhere"))?;
            if (home + self.tag(words, slot) - 1) % self.count != slot {
                return Err(format!("the record in slot {slot} has a wrong distance"));
            }
            if self.find(words, home, &Probe::new(&key)) != Some(slot) {
                return Err(format!("the record in slot {slot} cannot be found"));
            }
        }
        match self.records(words) {
            records if records == count => Ok(()),
            records => Err(format!("{count} records, but it says {records}")),
        }
    }
}
