//! Nodes of the tree: pages of entries in the order of their keys.
//!
//! | words | content |
//! |---|---|
//! | 0 | level (0 for a leaf), number of entries, where the records start, garbage |
//! | 1 | which fences exist, the number of bytes they share, the lengths of variable ones |
//! | 2, 3 | the fences as they would be in entries; 0 and the highest for none |
//! | 4… | entries: 48 bits of the key after the common bytes, and where the record is |
//! | …  | free |
//! | …  | records: in a leaf key and payload; above it a word with the child, and the key |
//! | last | the upper and the lower fence, if there are any |
//!
//! Garbage is the bytes that deleted records left. The number of bytes of a variable key is stored
//! before it in a leaf, and in the word with the child above it. The parts of a record follow each
//! other without gaps. Places and garbage are counted in bytes.
//!
//! All keys of a node are at least its lower fence and less than its upper one. So all have the
//! bytes that the two fences share. (Prefix truncation and key heads: Graefe, Modern B-Tree
//! Techniques, Foundations and Trends in Databases 3(4), 2010, sections 3.3 and 3.5.) The keys
//! themselves are kept whole.

mod change;
mod fences;
mod layout;
mod room;
mod search;
mod search_key;
#[cfg(test)]
mod tests;

use std::ops::Deref;

pub(super) use fences::Fences;
use fences::UPPER;
pub(super) use layout::Layout;
use search::head_of;
pub(super) use search_key::SearchKey;

use crate::pager::{PAGE_WORDS, PageMut, PageNumber, PageRef};

/// The word at which the entries start.
const ENTRIES: usize = 4;

/// Bytes of an entry.
const ENTRY_BYTES: usize = 8;

/// Entries on a line of the processor's cache.
const LINE: usize = 8;

const LINE_BYTES: usize = LINE * ENTRY_BYTES;

/// Bytes of a key in its entry.
const HEAD_BYTES: usize = 6;

const HIGHEST_HEAD: u64 = (1 << (HEAD_BYTES * 8)) - 1;

/// Bytes for the size of a variable key.
const SIZE_BYTES: usize = 2;

/// Bytes before the key of a record above the leaves: the child and, if keys are variable, the size
/// of the key.
const CHILD_BYTES: usize = 8;

/// The bit at which they have the size of the key.
const SIZE_SHIFT: u32 = 32;

const _: () = assert!(PAGE_WORDS * 8 <= 1 << 16, "16 bits have the place of a record");

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

impl<'p> Node<'p> {
    #[inline(always)]
    pub(super) fn level(self) -> usize {
        (self.words.get(0) & 0xff) as usize
    }

    #[inline(always)]
    pub(super) fn is_leaf(self) -> bool {
        self.level() == 0
    }

    /// Returns the number of entries. A reader may see any, but none too large for the page.
    #[inline(always)]
    pub(super) fn count(self) -> usize {
        ((self.words.get(0) >> 8 & 0xffff) as usize).min(PAGE_WORDS - ENTRIES)
    }

    /// Returns a number of bytes that a word has from a bit on.
    #[inline(always)]
    fn bytes_in(self, word: u64, shift: u32) -> usize {
        (word >> shift & 0xffff) as usize
    }

    /// Returns the start of the records, in bytes.
    fn records_at(self) -> usize {
        self.bytes_in(self.words.get(0), 24).min(self.end())
    }

    /// Returns the end of the records and start of the fences, in bytes.
    fn end(self) -> usize {
        self.fence_at(UPPER) * 8
    }

    /// Returns the bytes that deleted records left.
    fn garbage(self) -> usize {
        self.bytes_in(self.words.get(0), 40)
    }

    #[inline(always)]
    fn common(self) -> usize {
        ((self.words.get(1) >> 8 & 0xffff) as usize).min(self.layout.shape.key_size)
    }

    /// Returns the offset of the record of an entry, in bytes.
    #[inline(always)]
    fn record_at(self, at: usize) -> usize {
        self.bytes_in(self.words.get(ENTRIES + at), 0)
    }

    /// Returns an entry with a head, and the offset of its record.
    #[inline(always)]
    fn entry(self, head: u64, record_at: usize) -> u64 {
        head << 16 | record_at as u64
    }

    /// Returns the bytes of the key of an entry.
    #[inline(always)]
    pub(super) fn key_size(self, at: usize) -> usize {
        let most = self.layout.shape.key_size;
        if self.layout.shape.is_variable {
            let shift = if self.is_leaf() { 0 } else { SIZE_SHIFT };
            ((self.words.get_at(self.record_at(at)) >> shift & 0xffff) as usize).min(most)
        } else {
            most
        }
    }

    /// Returns the bytes of the record of an entry.
    fn record_size(self, at: usize) -> usize {
        self.layout.record_size(self.level(), self.key_size(at))
    }

    /// Returns the offset of the key of an entry, in bytes.
    fn key_at(self, at: usize) -> usize {
        self.record_at(at) + if self.is_leaf() { self.layout.front } else { CHILD_BYTES }
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

    /// Returns the offset of the payload of a leaf's record, in bytes.
    #[inline(always)]
    fn payload_at(self, at: usize) -> usize {
        let before = if self.layout.shape.is_variable {
            self.layout.front + self.key_size(at)
        } else {
            self.layout.payload_at
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

    /// Returns the head of an entry if all keys have this number of bytes in common.
    fn head_after(self, at: usize, common: usize) -> u64 {
        let rest = self.key_size(at).saturating_sub(common);
        self.words.get_bytes(self.key_at(at) + common, rest.min(8)) >> 16
    }

    #[inline(always)]
    fn head(self, at: usize) -> u64 {
        self.words.get(ENTRIES + at) >> 16
    }

    /// Returns true if the node has no fault. It looks at all entries.
    pub(super) fn is_sound(self) -> bool {
        self.check().is_ok()
    }

    /// Returns the first fault of the node, if there is one.
    pub(super) fn check(self) -> Result<(), String> {
        let count = self.count();
        let fences = self.fences();
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
