//! Nodes of the tree: pages of entries in the order of their keys.
//!
//! | words | content |
//! |---|---|
//! | 0 | level (0 for a leaf), number of entries, where the records begin, garbage |
//! | 1 | which fences there are, how many bytes they share, and the length of variable ones |
//! | 2, 3 | the fences as they would be in entries; 0 and the highest for none |
//! | 4… | entries: 48 bits of the key after the common bytes, and where the record is |
//! | …  | free |
//! | …  | records: in a leaf key and payload; above it a word with the child, and the key |
//! | last | the upper and the lower fence, if there are any |
//!
//! Garbage is the bytes that deleted records left. If keys are variable, the number of their bytes
//! stands before the key in a leaf, and in the word with the child above it. The parts of a record
//! lie as its table's [`RecordLayout`] says. Where that is aligned, places and garbage are counted
//! in words, and otherwise in bytes.
//!
//! All keys of a node are at least its lower fence and less than its upper one. So all have the
//! bytes that the two fences share. (Prefix truncation and key heads: Graefe, Modern B-Tree
//! Techniques, Foundations and Trends in Databases 3(4), 2010, sections 3.3 and 3.5.) The keys
//! themselves are kept whole.

mod change;
mod fences;
mod search_key;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::ops::{Deref, Range};

pub(super) use fences::Fences;
use fences::{LOWER, UPPER};
pub(super) use search_key::SearchKey;

use crate::index::{RecordLayout, Shape};
use crate::pager::{PAGE_BYTES, PAGE_WORDS, PageMut, PageNumber, PageRef, first_bytes};

/// The word at which the entries begin.
const ENTRIES: usize = 4;

/// Bytes of an entry.
const ENTRY_BYTES: usize = 8;

/// Entries on a line of the processor's cache.
const LINE: usize = 8;

const LINE_BYTES: usize = LINE * ENTRY_BYTES;

/// Bytes of a key in its entry.
const HEAD_BYTES: usize = 6;

const HIGHEST_HEAD: u64 = (1 << (HEAD_BYTES * 8)) - 1;

/// Bytes of a key that are compared at a time.
const PIECE: usize = 64;

/// Bytes that say how many a variable key has.
const SIZE_BYTES: usize = 2;

/// Bytes before the key of a record above the leaves: the child and, if keys are variable, the size
/// of the key.
const CHILD_BYTES: usize = 8;

/// Where in them, or in an aligned record of a leaf, the size of the key is.
const SIZE_SHIFT: u32 = 32;

/// How nodes of a table lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub shape: Shape,
    /// Where the parts of records begin: at multiples of 2^`unit_bits` bytes.
    unit_bits: u32,
    /// Bytes before the key of a leaf's record.
    front: usize,
    /// Where the size of a variable key is in the first word of a leaf's record.
    size_shift: u32,
    /// Bytes before the payload of a leaf's record, if keys are not variable.
    payload_at: usize,
}

/// A node to read.
#[derive(Clone, Copy)]
pub(super) struct Node<'p> {
    layout: Layout,
    words: PageRef<'p>,
}

/// A node to change.
pub(super) struct NodeMut<'p> {
    node: Node<'p>,
    words: PageMut<'p>,
}

impl<'p> Deref for NodeMut<'p> {
    type Target = Node<'p>;

    #[inline(always)]
    fn deref(&self) -> &Node<'p> {
        &self.node
    }
}

impl Layout {
    pub(super) fn new(shape: Shape, records: RecordLayout) -> Self {
        let (unit_bits, size_shift) = match records {
            RecordLayout::Aligned => (3, SIZE_SHIFT),
            RecordLayout::Packed => (0, 0),
        };
        let layout = Self { shape, unit_bits, front: 0, size_shift, payload_at: 0 };
        let front = if shape.is_variable { layout.room_of(SIZE_BYTES) } else { 0 };
        let payload_at = front + layout.room_of(shape.key_size);
        Self { front, payload_at, ..layout }
    }

    /// Bytes that this many take up in a record.
    #[inline(always)]
    fn room_of(self, size: usize) -> usize {
        let gap = (1 << self.unit_bits) - 1;
        (size + gap) & !gap
    }

    /// Words of a fence.
    fn fence_words(self) -> usize {
        self.shape.key_size.div_ceil(8)
    }

    /// Bytes of a record whose key has this size.
    #[inline(always)]
    fn record_size(self, level: usize, key_size: usize) -> usize {
        let key = self.room_of(key_size);
        match level {
            0 => self.front + key + self.room_of(self.shape.payload_size),
            _ => CHILD_BYTES + key,
        }
    }

    #[inline(always)]
    pub(super) fn node(self, words: PageRef<'_>) -> Node<'_> {
        Node { layout: self, words }
    }

    pub(super) fn node_mut(self, words: PageMut<'_>) -> NodeMut<'_> {
        NodeMut { node: self.node(words.page_ref()), words }
    }
}

/// The first bytes of a key after those that all keys of a node have in common.
#[inline(always)]
fn head_of(key: SearchKey<'_>, common: usize) -> u64 {
    key.eight_from(common) >> 16
}

impl<'p> Node<'p> {
    #[inline(always)]
    pub(super) fn level(self) -> usize {
        (self.words.get(0) & 0xff) as usize
    }

    #[inline(always)]
    pub(super) fn is_leaf(self) -> bool {
        self.level() == 0
    }

    /// Entries. A reader may see any number, but none that is too large for the page.
    #[inline(always)]
    pub(super) fn count(self) -> usize {
        ((self.words.get(0) >> 8 & 0xffff) as usize).min(PAGE_WORDS - ENTRIES)
    }

    /// A number of bytes that a word has from a bit on.
    #[inline(always)]
    fn bytes_in(self, word: u64, shift: u32) -> usize {
        ((word >> shift & 0xffff) as usize) << self.layout.unit_bits
    }

    /// Where the records begin, in bytes.
    fn records_at(self) -> usize {
        self.bytes_in(self.words.get(0), 24).min(self.end())
    }

    /// Where the records end, and the fences begin, in bytes.
    fn end(self) -> usize {
        self.fence_at(UPPER) * 8
    }

    /// Bytes that deleted records left.
    fn garbage(self) -> usize {
        self.bytes_in(self.words.get(0), 40)
    }

    #[inline(always)]
    fn common(self) -> usize {
        ((self.words.get(1) >> 8 & 0xffff) as usize).min(self.layout.shape.key_size)
    }

    /// Where the record of an entry is, in bytes.
    #[inline(always)]
    fn record_at(self, at: usize) -> usize {
        self.bytes_in(self.words.get(ENTRIES + at), 0)
    }

    /// An entry with a head, and the place of its record.
    #[inline(always)]
    fn entry(self, head: u64, record_at: usize) -> u64 {
        head << 16 | (record_at >> self.layout.unit_bits) as u64
    }

    /// Bytes of the key of an entry.
    #[inline(always)]
    pub(super) fn key_size(self, at: usize) -> usize {
        let most = self.layout.shape.key_size;
        match self.layout.shape.is_variable {
            false => most,
            true => {
                let shift = if self.is_leaf() { self.layout.size_shift } else { SIZE_SHIFT };
                ((self.words.get_at(self.record_at(at)) >> shift & 0xffff) as usize).min(most)
            }
        }
    }

    /// Bytes of the record of an entry.
    fn record_size(self, at: usize) -> usize {
        self.layout.record_size(self.level(), self.key_size(at))
    }

    /// Where the key of an entry is, in bytes.
    fn key_at(self, at: usize) -> usize {
        self.record_at(at) + if self.is_leaf() { self.layout.front } else { CHILD_BYTES }
    }

    /// Has the processor fetch the entries that a search for a key begins with.
    pub(super) fn fetch_guess(self, key: SearchKey<'_>) {
        let guess = self.guess(self.count(), head_of(key, self.common()));
        for at in [guess.saturating_sub(LINE), guess, guess + LINE] {
            self.words.fetch(ENTRIES + at);
        }
    }

    /// Has the processor fetch the number of an entry's child.
    pub(super) fn fetch_child(self, at: usize) {
        self.words.fetch(self.record_at(at) / 8);
    }

    /// Has the processor fetch an entry's record.
    pub(super) fn fetch_record(self, at: usize) {
        let from = self.record_at(at);
        let lines = from / LINE_BYTES..(from + self.record_size(at)).div_ceil(LINE_BYTES);
        lines.for_each(|line| self.words.fetch(line * LINE));
    }

    /// Reads as many bytes of an entry's key as it has.
    pub(super) fn read_key(self, at: usize, key: &mut [u8]) {
        self.words.read(self.key_at(at), key);
    }

    pub(super) fn key(self, at: usize) -> Vec<u8> {
        let mut key = vec![0; self.key_size(at)];
        self.read_key(at, &mut key);
        key
    }

    /// Where the payload of a leaf's record begins, in bytes.
    #[inline(always)]
    fn payload_at(self, at: usize) -> usize {
        let before = match self.layout.shape.is_variable {
            false => self.layout.payload_at,
            true => self.layout.front + self.layout.room_of(self.key_size(at)),
        };
        self.record_at(at) + before
    }

    #[inline(always)]
    pub(super) fn read_payload(self, at: usize, from: usize, bytes: &mut [u8]) {
        self.words.read(self.payload_at(at) + from, bytes);
    }

    #[inline(always)]
    pub(super) fn child(self, at: usize) -> PageNumber {
        PageNumber::of_word(self.words.get_at(self.record_at(at)))
    }

    /// Compares the key of an entry with another from a byte on, before which they are the same.
    /// `next` has the eight bytes of the other from there on, or fewer and zeros after them.
    #[inline]
    fn compare_rest(self, at: usize, key: &[u8], from: usize, next: u64) -> Ordering {
        let (start, size) = (self.key_at(at), self.key_size(at));
        let count = key.len().min(size).saturating_sub(from).min(8);
        let own = self.words.get_bytes(start + from, count);
        match own.cmp(&first_bytes(next, count)) {
            Ordering::Equal if count == 8 => self.compare_far(at, key, from + 8),
            Ordering::Equal => size.cmp(&key.len()),
            decided => decided,
        }
    }

    /// The same for keys that share many bytes.
    #[cold]
    fn compare_far(self, at: usize, key: &[u8], from: usize) -> Ordering {
        let (mut piece, mut from) = ([0; PIECE], from);
        let (start, size) = (self.key_at(at), self.key_size(at));
        while from < key.len().min(size) {
            let count = PIECE.min(key.len().min(size) - from);
            self.words.read(start + from, &mut piece[..count]);
            match piece[..count].cmp(&key[from..from + count]) {
                Ordering::Equal => from += count,
                other => return other,
            }
        }
        size.cmp(&key.len())
    }

    /// What the head of an entry is if all keys have this number of bytes in common.
    fn head_after(self, at: usize, common: usize) -> u64 {
        let rest = self.key_size(at).saturating_sub(common);
        self.words.get_bytes(self.key_at(at) + common, rest.min(8)) >> 16
    }

    #[inline(always)]
    fn head(self, at: usize) -> u64 {
        self.words.get(ENTRIES + at) >> 16
    }

    /// Whether an entry is before those of a head, which stands where it would in an entry.
    #[inline(always)]
    fn is_before(self, at: usize, entry: u64) -> bool {
        self.words.get(ENTRIES + at) < entry
    }

    /// About where an entry with this head is, if they are spread evenly (Perl, Itai, Avni:
    /// Interpolation Search, CACM 21(7), 1978).
    #[inline(always)]
    fn guess(self, count: usize, head: u64) -> usize {
        let (lowest, mut highest) = (self.words.get(2), self.words.get(3));
        if highest == HIGHEST_HEAD {
            // The last node of a level says nothing about how far its keys go.
            highest = self.head(count.saturating_sub(1));
        }
        let (from, to) = (head.saturating_sub(lowest), highest.saturating_sub(lowest));
        let guess = from.wrapping_mul(count as u64) / to.max(1);
        (guess as usize).min(count)
    }

    /// Entries among which is the first one that has this head or a higher one, or after the last
    /// of which it is: few if the keys are spread evenly.
    #[inline(always)]
    fn bracket(self, count: usize, head: u64) -> (usize, usize) {
        let (guess, entry) = (self.guess(count, head), head << 16);
        // What is between these two is on its way while they are looked at.
        self.words.fetch(ENTRIES + guess);
        let (mut low, mut high) = (guess.saturating_sub(LINE), (guess + LINE).min(count));
        let mut step = LINE;
        while low > 0 && !self.is_before(low - 1, entry) {
            // A wrong guess costs a few steps more.
            high = low;
            low = low.saturating_sub(step);
            step *= 2;
        }
        while high < count && self.is_before(high, entry) {
            low = high;
            high = (high + step).min(count);
            step *= 2;
        }
        (low, high)
    }

    /// The first entry that has this head or a higher one.
    #[inline(always)]
    fn first_from(self, count: usize, head: u64) -> usize {
        let (mut low, high) = self.bracket(count, head);
        let (mut rest, entry) = (high - low, head << 16);
        // Which half it is in cannot be guessed: so there is no branch.
        while rest > 1 {
            let half = rest / 2;
            low += half * usize::from(self.is_before(low + half - 1, entry));
            rest -= half;
        }
        low + usize::from(rest == 1 && self.is_before(low, entry))
    }

    /// The place of a key, or where it would be.
    #[inline(always)]
    pub(super) fn search(self, key: SearchKey<'_>) -> Result<usize, usize> {
        let (count, common) = (self.count(), self.common());
        let head = head_of(key, common);
        let first = self.first_from(count, head);
        match first < count && self.head(first) == head {
            false => Err(first),
            true if common + HEAD_BYTES >= key.bytes().len() => Ok(first),
            true => self.search_among(first..count, key, common),
        }
    }

    /// The same among the entries from one on that has the key's head.
    #[inline(never)]
    fn search_among(
        self,
        entries: Range<usize>,
        key: SearchKey<'_>,
        common: usize,
    ) -> Result<usize, usize> {
        let (head, Range { start: mut low, end: count }) = (head_of(key, common), entries);
        // Few have the same head, so they are looked for from the first one on, in steps that
        // double.
        let (mut end, mut step) = (low, 1);
        while end < count && self.head(end) == head {
            end += step;
            step *= 2;
        }
        end = end.min(count);
        let from = common + HEAD_BYTES;
        let next = key.eight_from(from);
        while low < end {
            let middle = low + (end - low) / 2;
            let order = match self.head(middle) == head {
                true => self.compare_rest(middle, key.bytes(), from, next),
                false => Ordering::Greater,
            };
            match order {
                Ordering::Equal => return Ok(middle),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => end = middle,
            }
        }
        Err(low)
    }

    /// The same for a key that need not be between the fences.
    pub(super) fn place(self, key: &[u8]) -> Result<usize, usize> {
        let mut common = vec![0; self.common()];
        self.words.read(self.fence_at(LOWER) * 8, &mut common);
        match key[..common.len().min(key.len())].cmp(&common) {
            Ordering::Less => Err(0),
            Ordering::Equal => self.search(SearchKey::new(key)),
            Ordering::Greater => Err(self.count()),
        }
    }

    /// The entry of the child that is responsible for a key.
    #[inline]
    pub(super) fn responsible(self, key: SearchKey<'_>) -> usize {
        match self.search(key) {
            Ok(at) => at,
            Err(at) => at.saturating_sub(1),
        }
    }

    /// Bytes between entries and records.
    fn free(self) -> usize {
        self.records_at().saturating_sub((ENTRIES + self.count()) * 8)
    }

    /// Whether one more entry with a key of this size fits, if need be after
    /// [`compact`](NodeMut::compact).
    #[inline(always)]
    pub(super) fn has_room(self, key_size: usize) -> bool {
        self.room() >= ENTRY_BYTES + self.layout.record_size(self.level(), key_size)
    }

    /// Whether any one more entry fits.
    pub(super) fn has_room_for_any(self) -> bool {
        self.has_room(self.layout.shape.key_size)
    }

    /// How many of these keys fit one after another.
    pub(super) fn room_for<'k>(self, keys: impl Iterator<Item = &'k [u8]>) -> usize {
        let (level, mut room) = (self.level(), self.room());
        keys.take_while(|key| {
            let taken = ENTRY_BYTES + self.layout.record_size(level, key.len());
            let left = room.checked_sub(taken);
            room = left.unwrap_or(room);
            left.is_some()
        })
        .count()
    }

    /// Bytes that entries and records can have yet.
    fn room(self) -> usize {
        self.free() + self.garbage()
    }

    /// Bytes that entries and records take up.
    pub(super) fn used(self) -> usize {
        let records = self.end() - self.records_at();
        (self.count() * ENTRY_BYTES + records).saturating_sub(self.garbage())
    }

    /// Bytes that a node has for entries and records.
    pub(super) fn capacity(self) -> usize {
        PAGE_BYTES - (ENTRIES + 2 * self.layout.fence_words()) * 8
    }

    /// Bytes that an entry and its record take up.
    fn size(self, at: usize) -> usize {
        ENTRY_BYTES + self.record_size(at)
    }

    /// The entry in the middle: before and after it lies about as much.
    pub(super) fn middle(self) -> usize {
        let count = self.count();
        if !self.layout.shape.is_variable {
            return count / 2;
        }
        let (half, mut size) = (self.used() / 2, 0);
        let before = (0..count).take_while(|at| {
            size += self.size(*at);
            size <= half
        });
        before.count().max(1).min(count.saturating_sub(1))
    }

    /// The number of entries, from the first one on, that take up at most `room` bytes.
    pub(super) fn entries_within(self, room: usize) -> usize {
        if !self.layout.shape.is_variable {
            return self.count().min(room / self.size(0));
        }
        let mut size = 0;
        let fits = |at: &usize| {
            size += self.size(*at);
            size <= room
        };
        (0..self.count()).take_while(fits).count()
    }

    /// Bytes that entries and their records take up.
    pub(super) fn size_of(self, entries: Range<usize>) -> usize {
        match self.layout.shape.is_variable {
            false => entries.len() * self.size(0),
            true => entries.map(|at| self.size(at)).sum(),
        }
    }

    /// What is wrong with the node, if anything.
    pub(super) fn check(self) -> Result<(), String> {
        let (count, fences) = (self.count(), self.fences());
        let records = self.end() - self.records_at();
        let size: usize = (0..count).map(|at| self.record_size(at)).sum();
        if records != size + self.garbage() {
            return Err(format!("{count} records of {size} bytes in {records}"));
        }
        if count == 0 && !self.is_leaf() {
            return Err("it has no children".into());
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
            if self.search(SearchKey::new(&key)) != Ok(at) {
                return Err(format!("entry {at} cannot be found"));
            }
            last = Some(key);
        }
        Ok(())
    }
}
