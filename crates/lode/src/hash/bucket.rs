//! Buckets: pages of slots of equal size.
//!
//! The first word counts the records. A slot is a byte, its *tag*, and the key, filled up to whole
//! words, and the payload, filled up likewise. The tag is 0 in a free slot; otherwise it is one
//! more than the distance of the record from its home, the slot that its hash names.
//!
//! Records lie in the order of their homes, around the end of the page (linear probing, with a
//! record that is further from home before one that is nearer: Celis, Larson, Munro: Robin Hood
//! Hashing, FOCS 1985). So a search for a key that is not there ends at the first record that is
//! nearer to its home, and pages can be filled well. An insertion moves the records behind it up to
//! the next free slot, a deletion moves them back.

use super::Page;
use crate::index::Shape;
use crate::pager::{PAGE_WORDS, PageMut};

/// Words before the slots.
const HEADER: usize = 1;

/// The tag of a record in its home.
const HOME_TAG: u64 = 1;

/// The greatest tag.
const MOST_TAG: usize = u8::MAX as usize;

/// The most bytes of a record. With fewer slots, buckets would split unevenly.
pub(crate) const MOST_RECORD_BYTES: usize = 1200;

/// Eighths of the slots that records may take up before the bucket is split.
const FILL_EIGHTHS: usize = 7;

/// Slots that a search looks at together.
const GLANCE: usize = 2;

/// Where a slot's record goes when a bucket is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goes {
    Nowhere,
    Low,
    High,
}

/// Which buckets are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joins {
    /// Those with so few records that the next inserts do not split them again.
    Sparse,
    /// Those whose records fit in one bucket, with a little room for more.
    Fitting,
}

/// Where a record would go that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    slot: usize,
    /// From the record's home.
    distance: usize,
}

/// Why records cannot be moved to another bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmovable {
    /// One would be too far from its home.
    NoRoom,
    /// What is wrong with a bucket.
    Corrupt(&'static str),
}

/// How the slots of a table lie.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    shape: Shape,
    /// Words of a slot.
    stride: usize,
    count: usize,
    /// The most records of a bucket.
    most: usize,
    /// Words of which the tag and the key have a part, and their bits of the first one and of the
    /// last one.
    key_words: usize,
    first_mask: u64,
    last_mask: u64,
}

/// A key as it lies in its home: word by word, after the tag.
#[derive(Clone, Copy)]
pub(super) struct Probe<'k> {
    first: u64,
    /// Most keys have no more words.
    second: u64,
    key: &'k [u8],
}

impl<'k> Probe<'k> {
    #[inline(always)]
    pub(super) fn new(key: &'k [u8]) -> Self {
        let (first, second) = match key.first_chunk() {
            None => (few(key), 0),
            Some(first) => (u64::from_le_bytes(*first), word_of(key, 1)),
        };
        Self { first: HOME_TAG | first << 8, second, key }
    }

    /// A word after the first one.
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        if at == 1 { self.second } else { word_of(self.key, at) }
    }
}

/// A word of a key after a tag, but for the first one.
#[inline(always)]
fn word_of(key: &[u8], at: usize) -> u64 {
    let rest = key.get(at * 8 - 1..).unwrap_or_default();
    rest.first_chunk().map_or_else(|| few(rest), |word| u64::from_le_bytes(*word))
}

/// Fewer than eight bytes as a word.
#[inline(always)]
fn few(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        // Two words that overlap.
        let skipped = (bytes.len() - 4) * 8;
        return u64::from(u32::from_le_bytes(*first))
            | u64::from(u32::from_le_bytes(*last)) << skipped;
    }
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

impl Slots {
    pub(super) fn new(shape: Shape) -> Self {
        let front = 1 + shape.key_size;
        let stride = front.div_ceil(8) + shape.payload_size.div_ceil(8);
        let count = (PAGE_WORDS - HEADER) / stride;
        let bits = (front % 8 * 8) as u32;
        let last_mask = if bits == 0 { u64::MAX } else { (1 << bits) - 1 };
        Self {
            shape,
            stride,
            count,
            most: (count * FILL_EIGHTHS / 8).max(1),
            key_words: front.div_ceil(8),
            first_mask: if front < 8 { last_mask } else { u64::MAX },
            last_mask,
        }
    }

    #[inline(always)]
    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    /// Slots of a bucket.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn word_of(&self, slot: usize) -> usize {
        HEADER + slot * self.stride
    }

    /// Has the processor fetch the slots that a search from this one on looks at.
    #[inline(always)]
    pub(super) fn fetch(&self, words: Page<'_>, slot: usize) {
        let at = self.word_of(slot);
        words.fetch(at);
        words.fetch(at + GLANCE * self.stride - 1);
    }

    /// The tag of a slot.
    #[inline(always)]
    fn tag(&self, words: Page<'_>, slot: usize) -> usize {
        usize::from(words.get(self.word_of(slot)) as u8)
    }

    /// The slot after this one, around the end of the page.
    #[inline(always)]
    fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.count { 0 } else { slot + 1 }
    }

    /// The slot of a key, or the gap where it would be.
    #[inline(always)]
    pub(super) fn find_or_gap(
        &self,
        words: Page<'_>,
        home: usize,
        probe: &Probe<'_>,
    ) -> Result<usize, Gap> {
        let mut slot = home;
        // A reader may see anything, so the search ends after as many slots as there are.
        let most = MOST_TAG.min(self.count);
        for distance in 0..most {
            let at = self.word_of(slot);
            let first = words.get(at);
            if usize::from(first as u8) <= distance {
                return Err(Gap { slot, distance });
            }
            // Only the tag is greater than it would be at home.
            let wanted = probe.first + distance as u64;
            if first & self.first_mask == wanted && self.is_rest(words, at, probe) {
                return Ok(slot);
            }
            slot = self.after(slot);
        }
        Err(Gap { slot, distance: MOST_TAG })
    }

    /// Whether the words after the first one are those of a key.
    #[inline(always)]
    fn is_rest(&self, words: Page<'_>, at: usize, probe: &Probe<'_>) -> bool {
        let last = self.key_words - 1;
        last == 0
            || (1..last).all(|word| words.get(at + word) == probe.word(word))
                && words.get(at + last) & self.last_mask == probe.word(last)
    }

    /// The slot of a key.
    #[inline(always)]
    pub(super) fn find(&self, words: Page<'_>, home: usize, probe: &Probe<'_>) -> Option<usize> {
        // Most keys are in the first slot or the one after it. Which one cannot be guessed. A
        // wrong guess would keep the processor from what comes after this lookup until the slot has
        // come from memory: so both are looked at, without a branch.
        if home + GLANCE <= self.count {
            let at = self.word_of(home);
            let (first, second) = (words.get(at), words.get(at + self.stride));
            let is_first = first & self.first_mask == probe.first;
            let is_second = second & self.first_mask == probe.first + 1;
            let found = u32::from(is_first) | u32::from(is_second) << 1;
            if found != 0 {
                let slot = home + found.trailing_zeros() as usize;
                if self.is_rest(words, self.word_of(slot), probe) {
                    return Some(slot);
                }
            }
        }
        self.find_or_gap(words, home, probe).ok()
    }

    #[inline(always)]
    fn payload_at(&self, slot: usize) -> usize {
        (self.word_of(slot) + self.key_words) * 8
    }

    #[inline(always)]
    pub(super) fn read_payload(&self, words: Page<'_>, slot: usize, payload: &mut [u8]) {
        words.read(self.payload_at(slot), payload);
    }

    pub(super) fn write_payload(
        &self,
        mut words: PageMut<'_>,
        slot: usize,
        at: usize,
        bytes: &[u8],
    ) {
        words.patch(self.payload_at(slot) + at, bytes);
    }

    /// Records of a bucket.
    pub(super) fn records(&self, words: Page<'_>) -> usize {
        words.get(0) as usize
    }

    /// Whether one more record may come into a gap.
    #[inline]
    pub(super) fn has_room(&self, words: Page<'_>, gap: Gap) -> bool {
        if self.is_full(words) || gap.distance >= MOST_TAG {
            return false;
        }
        // Those that move must not come too far from home. Where no slot is free, as a forged page
        // may have it, there is no room either.
        let mut slot = gap.slot;
        for _ in 0..self.count {
            match self.tag(words, slot) {
                0 => return true,
                MOST_TAG => return false,
                _ => slot = self.after(slot),
            }
        }
        false
    }

    /// Whether there are as many records as there may be.
    fn is_full(&self, words: Page<'_>) -> bool {
        self.records(words) >= self.most
    }

    /// Whether so little is left in a bucket that it should be joined with another.
    pub(super) fn is_sparse(&self, words: Page<'_>) -> bool {
        self.records(words) <= self.most / 6
    }

    /// Whether what is in two buckets fits in one.
    pub(super) fn fit_together(&self, (one, other): (Page<'_>, Page<'_>), joins: Joins) -> bool {
        let most = match joins {
            Joins::Sparse => self.most / 2,
            Joins::Fitting => self.most - self.most / 16,
        };
        self.records(one).saturating_add(self.records(other)) <= most
    }

    /// Puts a record into a gap that [has room](Self::has_room).
    #[inline]
    pub(super) fn insert(
        &self,
        words: &mut PageMut<'_>,
        gap: Gap,
        probe: &Probe<'_>,
        payload: &[u8],
    ) {
        self.move_up(words, gap.slot);
        let at = self.word_of(gap.slot);
        words.set(at, probe.first + gap.distance as u64);
        (1..self.key_words).for_each(|word| words.set(at + word, probe.word(word)));
        words.write(self.payload_at(gap.slot), payload);
        self.count_records(words, |records| records.wrapping_add(1));
    }

    fn count_records(&self, words: &mut PageMut<'_>, count: impl FnOnce(u64) -> u64) {
        let records = count(words.get(0));
        words.set(0, records);
    }

    /// Moves the records from a slot on up to the next free one, so that the slot is free.
    #[inline]
    fn move_up(&self, words: &mut PageMut<'_>, from: usize) {
        let mut free = from;
        while self.tag(words.page_ref(), free) != 0 {
            free = self.after(free);
        }
        while free != from {
            let before = if free == 0 { self.count - 1 } else { free - 1 };
            self.move_record(words, before, free, 1);
            free = before;
        }
    }

    /// Copies what is in a slot to another, with a tag that is `more` greater.
    #[inline(always)]
    fn move_record(&self, words: &mut PageMut<'_>, from: usize, to: usize, more: u64) {
        let (from, to) = (self.word_of(from), self.word_of(to));
        words.set(to, words.get(from).wrapping_add(more));
        (1..self.stride).for_each(|word| words.set(to + word, words.get(from + word)));
    }

    /// Takes a record out of its slot, and moves those back that it kept from their home.
    #[inline]
    pub(super) fn remove(&self, words: &mut PageMut<'_>, slot: usize) {
        let mut free = slot;
        for _ in 0..self.count {
            let next = self.after(free);
            if self.tag(words.page_ref(), next) <= 1 {
                break;
            }
            self.move_record(words, next, free, 1u64.wrapping_neg());
            free = next;
        }
        self.clear(words, free);
        self.count_records(words, |records| records.wrapping_sub(1));
    }

    fn clear(&self, words: &mut PageMut<'_>, slot: usize) {
        let at = self.word_of(slot);
        (at..at + self.stride).for_each(|word| words.set(word, 0));
    }

    /// Moves the records for which `is_high` returns true to a page of zeros, `high`. With that, it
    /// returns the home of a record.
    ///
    /// # Errors
    /// What is wrong with the bucket. Nothing has been moved then.
    pub(super) fn split(
        &self,
        low: &mut PageMut<'_>,
        high: &mut PageMut<'_>,
        is_high: &dyn Fn(&[u8]) -> (bool, usize),
    ) -> Result<(), &'static str> {
        let moves = self.plan_split(low.page_ref(), is_high)?;
        // In the order of homes, but for those that lie around the end of the page. The next slot
        // of each page that can be free.
        let (mut next_low, mut next_high) = (0, 0);
        let mut wrapped = Vec::new();
        for (slot, goes) in (0..self.count).zip(&moves) {
            let tag = self.tag(low.page_ref(), slot);
            let Some(distance) = tag.checked_sub(1) else { continue };
            let Some(home) = slot.checked_sub(distance) else {
                let mut record = vec![0; self.shape.key_size + self.shape.payload_size];
                self.read_record(low.page_ref(), slot, &mut record);
                wrapped.push((record, *goes, self.count + slot - distance));
                self.clear(low, slot);
                continue;
            };
            // No record comes further from its home than it is.
            let next = if *goes == Goes::High { &mut next_high } else { &mut next_low };
            let to = home.max(*next);
            *next = to + 1;
            let less = ((slot - to) as u64).wrapping_neg();
            if *goes == Goes::High {
                let (from, at) = (self.word_of(slot), self.word_of(to));
                high.set(at, low.get(from).wrapping_add(less));
                (1..self.stride).for_each(|word| high.set(at + word, low.get(from + word)));
                self.count_records(high, |records| records + 1);
                self.clear(low, slot);
            } else if to != slot {
                self.move_record(low, slot, to, less);
                self.clear(low, slot);
            }
        }
        let left = self.taken(low.page_ref()).count() as u64;
        self.count_records(low, |_| left);
        for (record, goes, home) in wrapped {
            match goes {
                Goes::High => self.insert_again(high, &record, home),
                Goes::Low | Goes::Nowhere => self.insert_again(low, &record, home),
            }
        }
        Ok(())
    }

    /// Inserts a record that was in a bucket with more records, and so has room.
    fn insert_again(&self, words: &mut PageMut<'_>, record: &[u8], home: usize) {
        let (key, payload) = record.split_at(self.shape.key_size);
        let probe = Probe::new(key);
        if let Err(gap) = self.find_or_gap(words.page_ref(), home, &probe) {
            self.insert(words, gap, &probe, payload);
        }
    }

    /// Where each slot's record goes in a split, and whether each lies where it belongs.
    fn plan_split(
        &self,
        words: Page<'_>,
        is_high: &dyn Fn(&[u8]) -> (bool, usize),
    ) -> Result<Vec<Goes>, &'static str> {
        let mut key = vec![0; self.shape.key_size];
        let mut moves = vec![Goes::Nowhere; self.count];
        let mut records = 0;
        for slot in self.taken(words) {
            words.read(self.word_of(slot) * 8 + 1, &mut key);
            let (is_high, home) = is_high(&key);
            if (home + self.tag(words, slot) - 1) % self.count != slot {
                return Err("a record is not as far from its home as its slot says");
            }
            moves[slot] = if is_high { Goes::High } else { Goes::Low };
            records += 1;
        }
        if records > self.most.max(1) || records != self.records(words) {
            return Err("it does not have as many records as it says");
        }
        Ok(moves)
    }

    /// Inserts the records of another bucket; `home` returns that of a key.
    ///
    /// # Errors
    /// Why they do not fit; some may have been inserted then.
    pub(super) fn join(
        &self,
        target: &mut PageMut<'_>,
        other: Page<'_>,
        home: &dyn Fn(&[u8]) -> usize,
    ) -> Result<(), Unmovable> {
        let mut record = vec![0; self.shape.key_size + self.shape.payload_size];
        for slot in self.taken(other) {
            self.read_record(other, slot, &mut record);
            let (key, payload) = record.split_at(self.shape.key_size);
            let probe = Probe::new(key);
            match self.find_or_gap(target.page_ref(), home(key), &probe) {
                Ok(_) => {
                    return Err(Unmovable::Corrupt("it has two records with the same key"));
                }
                Err(gap) if !self.has_room(target.page_ref(), gap) => {
                    return Err(Unmovable::NoRoom);
                }
                Err(gap) => self.insert(target, gap, &probe, payload),
            }
        }
        Ok(())
    }

    /// The slots that are taken.
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

    /// Key and payload of a record.
    pub(super) fn read_record(&self, words: Page<'_>, slot: usize, record: &mut [u8]) {
        let (key, payload) = record.split_at_mut(self.shape.key_size);
        words.read(self.word_of(slot) * 8 + 1, key);
        self.read_payload(words, slot, payload);
    }

    /// Whether each record can be found from its home, which `home` returns for keys that belong
    /// here, and all are counted.
    pub(super) fn check(
        &self,
        words: Page<'_>,
        home: &dyn Fn(&[u8]) -> Option<usize>,
    ) -> Result<(), String> {
        let mut key = vec![0; self.shape.key_size];
        let mut count = 0;
        for slot in self.taken(words) {
            count += 1;
            words.read(self.word_of(slot) * 8 + 1, &mut key);
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
