//! Nodes of the tree: pages of entries in the order of their keys.
//!
//! | words | content |
//! |---|---|
//! | 0 | level (0 for a leaf), number of entries, where the records begin, words that deleted records left |
//! | 1 | which fences there are, how many bytes they have in common |
//! | 2… | entries: 48 bits of the key after the common bytes, and where the record is, in words |
//! | …  | free |
//! | …  | records: in a leaf key and payload, above it the child in a word and the key |
//! | last | the upper and the lower fence, if there are any |
//!
//! All keys of a node are at least its lower fence and less than its upper one, so what those have
//! in common all keys have (prefix truncation and key heads: Graefe, Modern B-Tree Techniques,
//! Foundations and Trends in Databases 3(4), 2010, sections 3.3 and 3.5). The keys themselves are
//! kept whole.

use std::cmp::Ordering;

use crate::index::Shape;
use crate::pager::{Image, PAGE_WORDS, PageNumber, Words};

/// Where the entries begin.
const ENTRIES: usize = 2;

/// Bytes of a key in its entry.
const HEAD_BYTES: usize = 6;

/// Bytes of a key that are compared at a time.
const PIECE: usize = 64;

const LOWER: u64 = 1;
const UPPER: u64 = 2;

/// How nodes of a table lie.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub shape: Shape,
}

/// A node to look at.
#[derive(Clone, Copy)]
pub struct Node<'p> {
    layout: Layout,
    words: Words<'p>,
}

/// The keys that bound a node; none for no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fences {
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
}

impl Layout {
    fn key_words(self) -> usize {
        self.shape.key_size.div_ceil(8)
    }

    fn record_words(self, level: usize) -> usize {
        match level {
            0 => (self.shape.key_size + self.shape.payload_size).div_ceil(8),
            _ => 1 + self.key_words(),
        }
    }

    pub fn node(self, words: Words<'_>) -> Node<'_> {
        Node { layout: self, words }
    }
}

/// The first bytes of a key after those that all keys of a node have in common.
fn head_of(key: &[u8], common: usize) -> u64 {
    let rest = key.get(common..).unwrap_or_default();
    if let Some(eight) = rest.first_chunk::<8>() {
        return u64::from_be_bytes(*eight) >> 16;
    }
    let mut bytes = [0; 8];
    bytes[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(bytes) >> 16
}

impl<'p> Node<'p> {
    pub fn level(self) -> usize {
        (self.words.get(0) & 0xff) as usize
    }

    pub fn is_leaf(self) -> bool {
        self.level() == 0
    }

    /// Entries. A reader may see any number, but none that is too large for the page.
    pub fn count(self) -> usize {
        ((self.words.get(0) >> 8 & 0xffff) as usize).min(PAGE_WORDS - ENTRIES)
    }

    fn records_at(self) -> usize {
        (self.words.get(0) >> 24 & 0xffff) as usize
    }

    fn garbage(self) -> usize {
        (self.words.get(0) >> 40 & 0xffff) as usize
    }

    fn set_header(self, level: usize, count: usize, records_at: usize, garbage: usize) {
        let word = level | count << 8 | records_at << 24 | garbage << 40;
        self.words.set(0, word as u64);
    }

    fn common(self) -> usize {
        ((self.words.get(1) >> 8 & 0xffff) as usize).min(self.layout.shape.key_size)
    }

    fn record_words(self) -> usize {
        self.layout.record_words(self.level())
    }

    fn record_at(self, at: usize) -> usize {
        (self.words.get(ENTRIES + at) & 0xffff) as usize
    }

    /// Where the key of an entry is, in bytes.
    fn key_at(self, at: usize) -> usize {
        (self.record_at(at) + usize::from(!self.is_leaf())) * 8
    }

    pub fn read_key(self, at: usize, key: &mut [u8]) {
        self.words.read(self.key_at(at), key);
    }

    pub fn key(self, at: usize) -> Vec<u8> {
        let mut key = vec![0; self.layout.shape.key_size];
        self.read_key(at, &mut key);
        key
    }

    /// Reads bytes of a leaf's record, key and payload, from a place on.
    pub fn read_record(self, at: usize, from: usize, bytes: &mut [u8]) {
        self.words.read(self.record_at(at) * 8 + from, bytes);
    }

    pub fn read_payload(self, at: usize, from: usize, bytes: &mut [u8]) {
        self.read_record(at, self.layout.shape.key_size + from, bytes);
    }

    pub fn write_payload(self, at: usize, to: usize, bytes: &[u8]) {
        let place = self.record_at(at) * 8 + self.layout.shape.key_size + to;
        self.words.write(place, bytes);
    }

    pub fn child(self, at: usize) -> PageNumber {
        self.words.get(self.record_at(at)) as PageNumber
    }

    fn fence_at(self, which: u64) -> usize {
        let words = self.layout.key_words();
        PAGE_WORDS - words * if which == LOWER { 1 } else { 2 }
    }

    fn fence(self, which: u64) -> Option<Vec<u8>> {
        if self.words.get(1) & which == 0 {
            return None;
        }
        let mut key = vec![0; self.layout.shape.key_size];
        self.words.read(self.fence_at(which) * 8, &mut key);
        Some(key)
    }

    pub fn fences(self) -> Fences {
        Fences { lower: self.fence(LOWER), upper: self.fence(UPPER) }
    }

    pub fn is_last(self) -> bool {
        self.words.get(1) & UPPER == 0
    }

    /// Compares the key of an entry, whose head is the same, with another.
    #[cold]
    fn compare_rest(self, at: usize, key: &[u8], from: usize) -> Ordering {
        let (mut piece, mut from) = ([0; PIECE], from);
        let start = self.key_at(at);
        while from < key.len() {
            let count = PIECE.min(key.len() - from);
            self.words.read(start + from, &mut piece[..count]);
            match piece[..count].cmp(&key[from..from + count]) {
                Ordering::Equal => from += count,
                other => return other,
            }
        }
        Ordering::Equal
    }

    /// The place of a key, or where it would be.
    #[inline]
    pub fn search(self, key: &[u8]) -> Result<usize, usize> {
        let common = self.common();
        let head = head_of(key, common);
        let whole = common + HEAD_BYTES >= key.len();
        let (mut low, mut size) = (0, self.count());
        if whole {
            // No branch depends on what is read.
            while size > 1 {
                let half = size / 2;
                let less = self.words.get(ENTRIES + low + half) >> 16 <= head;
                low += if less { half } else { 0 };
                size -= half;
            }
            if size == 0 {
                return Err(0);
            }
            return match (self.words.get(ENTRIES + low) >> 16).cmp(&head) {
                Ordering::Equal => Ok(low),
                Ordering::Less => Err(low + 1),
                Ordering::Greater => Err(low),
            };
        }
        while size > 0 {
            let half = size / 2;
            let at = low + half;
            let order = (self.words.get(ENTRIES + at) >> 16)
                .cmp(&head)
                .then_with(|| self.compare_rest(at, key, common + HEAD_BYTES));
            match order {
                Ordering::Equal => return Ok(at),
                Ordering::Less => (low, size) = (at + 1, size - half - 1),
                Ordering::Greater => size = half,
            }
        }
        Err(low)
    }

    /// The same for a key that need not be between the fences.
    pub fn place(self, key: &[u8]) -> Result<usize, usize> {
        let mut common = vec![0; self.common()];
        self.words.read(self.fence_at(LOWER) * 8, &mut common);
        match key[..common.len()].cmp(&common) {
            Ordering::Less => Err(0),
            Ordering::Equal => self.search(key),
            Ordering::Greater => Err(self.count()),
        }
    }

    /// The entry of the child that is responsible for a key.
    #[inline]
    pub fn responsible(self, key: &[u8]) -> usize {
        match self.search(key) {
            Ok(at) => at,
            Err(at) => at.saturating_sub(1),
        }
    }

    fn free_words(self) -> usize {
        self.records_at().saturating_sub(ENTRIES + self.count())
    }

    /// Whether one more entry fits, if need be after [`compact`](Self::compact).
    pub fn has_room(self) -> bool {
        self.free_words() + self.garbage() > self.record_words()
    }

    /// Words that entries and records take up.
    pub fn used_words(self) -> usize {
        self.count() * (1 + self.record_words())
    }

    /// Words that a node has for entries and records.
    pub fn capacity(self) -> usize {
        PAGE_WORDS - ENTRIES - 2 * self.layout.key_words()
    }

    /// Makes an empty node of it. What follows changes nodes: only for the holder of the latch.
    pub fn clear(self, level: usize, fences: &Fences) {
        let records_at = PAGE_WORDS - 2 * self.layout.key_words();
        self.set_header(level, 0, records_at, 0);
        let (mut flags, mut common) = (0, 0);
        for (fence, which) in [(&fences.lower, LOWER), (&fences.upper, UPPER)] {
            if let Some(key) = fence {
                flags |= which;
                self.words.write(self.fence_at(which) * 8, key);
            }
        }
        if let (Some(lower), Some(upper)) = (&fences.lower, &fences.upper) {
            common = lower.iter().zip(upper).take_while(|(a, b)| a == b).count();
        }
        self.words.set(1, flags | (common as u64) << 8);
    }

    /// Puts an entry at its place. There must be room.
    pub fn insert(self, at: usize, key: &[u8], payload: &[u8]) {
        let to = self.make_entry(at, key);
        self.words.write(to * 8, key);
        self.words.write(to * 8 + key.len(), payload);
    }

    /// Puts an entry for a child at its place. There must be room.
    pub fn insert_child(self, at: usize, key: &[u8], child: PageNumber) {
        let to = self.make_entry(at, key);
        self.words.set(to, child.into());
        self.words.write(to * 8 + 8, key);
    }

    fn make_entry(self, at: usize, key: &[u8]) -> usize {
        let words = self.record_words();
        if self.free_words() <= words {
            self.compact();
        }
        let (count, to) = (self.count(), self.records_at() - words);
        self.words.shift(ENTRIES + at, count - at, ENTRIES + at + 1);
        self.words.set(ENTRIES + at, head_of(key, self.common()) << 16 | to as u64);
        self.set_header(self.level(), count + 1, to, self.garbage());
        to
    }

    /// Takes an entry out.
    pub fn remove(self, at: usize) {
        let count = self.count();
        self.words.shift(ENTRIES + at + 1, count - at - 1, ENTRIES + at);
        let garbage = self.garbage() + self.record_words();
        self.set_header(self.level(), count - 1, self.records_at(), garbage);
    }

    /// Appends entries of another node of the same level.
    pub fn append(self, other: Node<'_>, entries: std::ops::Range<usize>) {
        let (words, common) = (self.record_words(), self.common());
        let mut key = vec![0; self.layout.shape.key_size];
        let (mut count, mut to) = (self.count(), self.records_at());
        for at in entries {
            other.read_key(at, &mut key);
            to -= words;
            let from = other.record_at(at);
            (0..words).for_each(|word| self.words.set(to + word, other.words.get(from + word)));
            self.words.set(ENTRIES + count, head_of(&key, common) << 16 | to as u64);
            count += 1;
        }
        self.set_header(self.level(), count, to, self.garbage());
    }

    /// Moves the records together, so that what deleted ones left can be used.
    fn compact(self) {
        let old = Image::of(self.words);
        let old = self.layout.node(old.words());
        self.clear(old.level(), &old.fences());
        self.append(old, 0..old.count());
    }

    /// What is wrong with the node, if anything.
    pub fn check(self) -> Result<(), String> {
        let (count, fences) = (self.count(), self.fences());
        let records: usize = PAGE_WORDS - 2 * self.layout.key_words() - self.records_at();
        if records != count * self.record_words() + self.garbage() {
            return Err(format!("{count} records of {} words in {records}", self.record_words()));
        }
        let mut last: Option<Vec<u8>> = None;
        for at in 0..count {
            let key = self.key(at);
            if last.as_ref().is_some_and(|last| *last >= key) {
                return Err(format!("entry {at} is out of order"));
            }
            let low = fences.lower.as_ref().is_some_and(|lower| key < *lower);
            let high = fences.upper.as_ref().is_some_and(|upper| key >= *upper);
            if low || high {
                return Err(format!("entry {at} is outside of its node"));
            }
            if self.search(&key) != Ok(at) {
                return Err(format!("entry {at} cannot be found"));
            }
            last = Some(key);
        }
        Ok(())
    }
}
