//! Buckets: pages of slots of equal size.
//!
//! The first word counts the records. A slot is a byte that says that it is taken and the key,
//! filled up to whole words, and the payload, filled up likewise. A record lies in the first free
//! slot from its home on, around the end of the page (linear probing); a deletion moves later
//! records back, so that no search passes a free slot (Knuth: The Art of Computer Programming,
//! volume 3, section 6.4, algorithm R).

use super::Page;
use crate::index::Shape;
use crate::pager::{PAGE_WORDS, PageMut};

/// Words before the slots.
const HEADER: usize = 1;

/// The byte of a slot that is taken.
const TAKEN: u8 = 1;

/// The most bytes of a record. With fewer slots, buckets would split unevenly.
pub(crate) const MOST_RECORD_BYTES: usize = 1200;

/// Slots that a search looks at together.
const GLANCE: usize = 2;

/// Words of a probe that need no allocation.
const SHORT: usize = 4;

/// Which buckets are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joins {
    /// Those with so few records that the next inserts do not split them again.
    Sparse,
    /// Those whose records fit in one bucket, with a little room for more.
    Fitting,
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
    /// Words of which the taken byte and the key have a part, and their bits of the first one and
    /// of the last one.
    key_words: usize,
    first_mask: u64,
    last_mask: u64,
}

/// A key as it lies in a slot.
pub(super) struct Probe {
    short: [u64; SHORT],
    long: Vec<u64>,
    count: usize,
}

impl Probe {
    #[inline(always)]
    pub(super) fn words(&self) -> &[u64] {
        match self.count <= SHORT {
            true => &self.short[..self.count],
            false => &self.long,
        }
    }
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
            most: (count * 3 / 4).max(1),
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

    /// A key that lies in one word or two together with the taken byte.
    #[inline(always)]
    pub(super) fn short_probe(key: &[u8]) -> Option<(u64, Option<u64>)> {
        if key.len() < 8 {
            return Some((u64::from(TAKEN) | few(key) << 8, None));
        }
        let (first, rest) = key.split_first_chunk()?;
        let first = u64::from_le_bytes(*first);
        let second = (rest.len() < 8).then(|| first >> 56 | few(rest) << 8)?;
        Some((u64::from(TAKEN) | first << 8, Some(second)))
    }

    #[inline]
    pub(super) fn probe(&self, key: &[u8]) -> Probe {
        let mut probe = Probe { short: [0; SHORT], long: Vec::new(), count: self.key_words };
        let words = match probe.count <= SHORT {
            true => &mut probe.short[..self.key_words],
            false => {
                probe.long = vec![0; self.key_words];
                &mut probe.long[..]
            }
        };
        // The taken byte is the lowest of the first word, the key follows.
        let mut shifted = u64::from(TAKEN);
        let mut parts = key.chunks_exact(8);
        let mut at = 0;
        for part in &mut parts {
            let part = u64::from_le_bytes(*part.first_chunk().expect("eight bytes"));
            words[at] = shifted | part << 8;
            shifted = part >> 56;
            at += 1;
        }
        let rest = few(parts.remainder());
        words[at] = shifted | rest << 8;
        probe
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

    /// The first word of a slot.
    #[inline(always)]
    fn first_word(&self, words: Page<'_>, slot: usize) -> u64 {
        words.get(self.word_of(slot))
    }

    /// The slot of a key, or the free one where the search for it ends.
    #[inline(always)]
    pub(super) fn find_or_free(
        &self,
        words: Page<'_>,
        home: usize,
        probe: &[u64],
    ) -> Result<usize, usize> {
        let mut slot = home;
        // A reader may see anything, so the search ends after as many slots as there are.
        for _ in 0..self.count {
            let at = self.word_of(slot);
            let first = words.get(at);
            if first as u8 != TAKEN {
                return Err(slot);
            }
            if first & self.first_mask == probe[0] && self.is_rest(words, at, probe) {
                return Ok(slot);
            }
            slot += 1;
            if slot == self.count {
                slot = 0;
            }
        }
        Err(slot)
    }

    /// Whether the words after the first one are those of a key.
    #[inline(always)]
    fn is_rest(&self, words: Page<'_>, at: usize, probe: &[u64]) -> bool {
        let last = probe.len() - 1;
        last == 0
            || (1..last).all(|word| words.get(at + word) == probe[word])
                && words.get(at + last) & self.last_mask == probe[last]
    }

    /// The slot of a key.
    #[inline(always)]
    pub(super) fn find(&self, words: Page<'_>, home: usize, probe: &[u64]) -> Option<usize> {
        // Nearly every key is in the first slot or the one after it. Which one cannot be guessed. A
        // wrong guess would keep the processor from what comes after this lookup until the slot has
        // come from memory: so both are looked at, without a branch.
        if home + GLANCE <= self.count {
            let at = self.word_of(home);
            let (first, second) = (words.get(at), words.get(at + self.stride));
            let is_first = first & self.first_mask == probe[0];
            let is_second = (first as u8 == TAKEN) & (second & self.first_mask == probe[0]);
            let found = u32::from(is_first) | u32::from(is_second) << 1;
            if found != 0 {
                let slot = home + found.trailing_zeros() as usize;
                if self.is_rest(words, self.word_of(slot), probe) {
                    return Some(slot);
                }
            }
        }
        self.find_or_free(words, home, probe).ok()
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
        words.write(self.payload_at(slot) + at, bytes);
    }

    /// Records of a bucket.
    pub(super) fn records(&self, words: Page<'_>) -> usize {
        words.get(0) as usize
    }

    /// Whether one more record may come.
    pub(super) fn has_room(&self, words: Page<'_>) -> bool {
        self.records(words) < self.most
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

    /// Puts a record into a free slot.
    #[inline]
    pub(super) fn fill(&self, words: &mut PageMut<'_>, slot: usize, probe: &[u64], payload: &[u8]) {
        let at = self.word_of(slot);
        probe.iter().enumerate().for_each(|(word, bits)| words.set(at + word, *bits));
        words.write(self.payload_at(slot), payload);
        let records = words.get(0);
        words.set(0, records.wrapping_add(1));
    }

    /// Takes a record out of its slot, and moves those back that it kept from their home.
    pub(super) fn empty(
        &self,
        words: &mut PageMut<'_>,
        slot: usize,
        home: &dyn Fn(&[u8]) -> usize,
    ) {
        let (mut free, mut next) = (slot, slot);
        let mut key = vec![0; self.shape.key_size];
        loop {
            next = (next + 1) % self.count;
            if next == slot || self.first_word(words.page_ref(), next) as u8 != TAKEN {
                break;
            }
            words.read(self.word_of(next) * 8 + 1, &mut key);
            // How far it is from its home, and how far from the free slot.
            let distance = |from: usize| (next + self.count - from) % self.count;
            if distance(home(&key)) >= distance(free) {
                words.shift(self.word_of(next), self.stride, self.word_of(free));
                free = next;
            }
        }
        words.clear(self.word_of(free), self.word_of(free) + self.stride);
        let records = words.get(0);
        words.set(0, records.wrapping_sub(1));
    }

    /// The slots that are taken.
    pub(super) fn taken<'w>(&'w self, words: Page<'w>) -> impl Iterator<Item = usize> + 'w {
        (0..self.count).filter(move |slot| self.first_word(words, *slot) as u8 == TAKEN)
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
            if self.find(words, home, self.probe(&key).words()) != Some(slot) {
                return Err(format!("the record in slot {slot} cannot be found"));
            }
        }
        match self.records(words) {
            records if records == count => Ok(()),
            records => Err(format!("{count} records, but it says {records}")),
        }
    }
}
