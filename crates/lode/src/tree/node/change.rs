//! Changes of a node.

use std::ops::Range;

use super::fences::{LOWER, LOWER_SHIFT, UPPER, UPPER_SHIFT};
use super::{CHILD_BYTES, ENTRIES, ENTRY_BYTES, Fences, HIGHEST_HEAD, Node, NodeMut};
use super::{SIZE_SHIFT, SearchKey, head_of};
use crate::pager::{Image, PageNumber};

impl NodeMut<'_> {
    fn set_header(&mut self, level: usize, count: usize, records_at: usize, garbage: usize) {
        debug_assert!(count < 1 << 16, "the header has room for the count");
        let word = level | count << 8 | records_at << 24 | garbage << 40;
        self.words.set(0, word as u64);
    }

    pub(in crate::tree) fn write_payload(&mut self, at: usize, to: usize, bytes: &[u8]) {
        debug_assert!(at < self.count(), "entry {at} is in the node");
        debug_assert!(to + bytes.len() <= self.layout.shape.payload_size, "bytes of a payload");
        self.words.write(self.payload_at(at) + to, bytes);
    }

    /// Turns it into an empty node.
    pub(in crate::tree) fn clear(&mut self, level: usize, fences: &Fences) {
        self.set_header(level, 0, self.end(), 0);
        self.set_fences(fences);
        debug_assert_eq!(self.used(), 0, "an empty node has all of its room");
    }

    /// Gives it other fences, between which all of its keys are.
    pub(in crate::tree) fn set_fences(&mut self, fences: &Fences) {
        let mut first = 0;
        let mut common = 0;
        let before = self.common();
        for (fence, which, shift) in
            [(&fences.lower, LOWER, LOWER_SHIFT), (&fences.upper, UPPER, UPPER_SHIFT)]
        {
            let Some(key) = fence else { continue };
            first |= which;
            if self.layout.shape.is_variable {
                first |= (key.len() as u64) << shift;
            }
            self.words.write(self.fence_at(which) * 8, key);
        }
        if let (Some(lower), Some(upper)) = (&fences.lower, &fences.upper) {
            common = lower.iter().zip(upper).take_while(|(a, b)| a == b).count();
        }
        self.words.set(1, first | (common as u64) << 8);
        let head = |fence: &Option<Vec<u8>>| {
            fence.as_ref().map(|key| head_of(SearchKey::new(key), common))
        };
        self.words.set(2, head(&fences.lower).unwrap_or(0));
        self.words.set(3, head(&fences.upper).unwrap_or(HIGHEST_HEAD));
        if common != before {
            for at in 0..self.count() {
                let entry = self.entry(self.head_after(at, common), self.record_at(at));
                self.words.set(ENTRIES + at, entry);
            }
        }
    }

    /// Inserts an entry at its place. There must be room.
    pub(in crate::tree) fn insert(&mut self, at: usize, key: &[u8], payload: &[u8]) {
        debug_assert!(self.is_leaf(), "records are in leaves");
        debug_assert_eq!(payload.len(), self.layout.shape.payload_size, "payloads have one size");
        let to = self.make_entry(at, key);
        let key_at = to + self.layout.front;
        if self.layout.shape.is_variable {
            let size = key.len() as u64;
            self.words.write(to, &size.to_le_bytes()[..self.layout.front]);
        }
        self.words.write(key_at, key);
        self.words.write(key_at + key.len(), payload);
    }

    /// Inserts an entry for a child at its place. There must be room.
    pub(in crate::tree) fn insert_child(&mut self, at: usize, key: &[u8], child: PageNumber) {
        debug_assert!(!self.is_leaf(), "children are above the leaves");
        let to = self.make_entry(at, key);
        let size = if self.layout.shape.is_variable { key.len() as u64 } else { 0 };
        self.words.set_at(to, child.word() | size << SIZE_SHIFT);
        self.words.write(to + CHILD_BYTES, key);
    }

    /// Makes an entry; returns the offset of its record, in bytes.
    fn make_entry(&mut self, at: usize, key: &[u8]) -> usize {
        debug_assert!(at <= self.count(), "an entry has its place among the others");
        debug_assert!(key.len() <= self.layout.shape.key_size, "no key is longer than the longest");
        let size = self.layout.record_size(self.level(), key.len());
        if self.free() < ENTRY_BYTES + size {
            self.compact();
        }
        // In a forged node there may be less room than it says.
        let count = self.count();
        let to = self.records_at().saturating_sub(size);
        self.words.shift(ENTRIES + at, count - at, ENTRIES + at + 1);
        let entry = self.entry(head_of(SearchKey::new(key), self.common()), to);
        self.words.set(ENTRIES + at, entry);
        self.set_header(self.level(), count + 1, to, self.garbage());
        to
    }

    /// Removes an entry.
    pub(in crate::tree) fn remove(&mut self, at: usize) {
        let garbage = self.garbage() + self.record_size(at);
        let count = self.count();
        debug_assert!(at < count, "an entry is removed once");
        self.words.shift(ENTRIES + at + 1, count - at - 1, ENTRIES + at);
        self.set_header(self.level(), count - 1, self.records_at(), garbage);
    }

    /// Appends entries of another node of the same level.
    pub(in crate::tree) fn append(&mut self, other: Node<'_>, entries: Range<usize>) {
        self.insert_from(self.count(), other, entries);
    }

    /// Inserts entries of another node of the same level at a place. There must be room.
    pub(in crate::tree) fn insert_from(
        &mut self,
        at: usize,
        other: Node<'_>,
        entries: Range<usize>,
    ) {
        debug_assert!(entries.end <= other.count(), "the other node has these entries");
        if self.free() < other.size_of(entries.clone()) {
            self.compact();
        }
        let common = self.common();
        let before = self.count();
        let has_heads = common == other.common();
        let after = before.saturating_sub(at);
        self.words.shift(ENTRIES + at, after, ENTRIES + at + entries.len());
        let count = before + entries.len();
        let mut to = self.records_at();
        for (at, from) in (at..).zip(entries) {
            let size = other.record_size(from);
            to = to.saturating_sub(size);
            self.words.copy_bytes(other.words, other.record_at(from), to, size);
            let head = if has_heads { other.head(from) } else { other.head_after(from, common) };
            self.words.set(ENTRIES + at, self.entry(head, to));
        }
        self.set_header(self.level(), count, to, self.garbage());
    }

    /// Removes entries, and moves the records together.
    pub(in crate::tree) fn take_out(&mut self, entries: Range<usize>) {
        debug_assert!(entries.end <= self.count(), "the node has these entries");
        if self.layout.shape.is_variable || self.garbage() > 0 {
            let old = Image::of(self.node.words);
            let old = self.layout.node(old.words());
            self.clear(old.level(), &old.fences());
            self.append(old, 0..entries.start);
            self.append(old, entries.end..old.count());
            return;
        }
        let size = self.record_size(0);
        let count = self.count();
        let records_at = self.records_at() + entries.len() * size;
        let is_low = |node: &Self, at: usize| node.record_at(at) < records_at;
        // The low part has as many records that stay in the node as the high part has that go.
        let holes: Vec<usize> =
            entries.clone().filter(|at| !is_low(self, *at)).map(|at| self.record_at(at)).collect();
        self.words.shift(ENTRIES + entries.end, count - entries.end, ENTRIES + entries.start);
        self.set_header(self.level(), count - entries.len(), records_at, 0);
        let mut low = vec![0; self.count()];
        let mut found = 0;
        for at in 0..self.count() {
            // The records that these are cannot be guessed: so there is no branch.
            low[found] = at;
            found += usize::from(is_low(self, at));
        }
        for (at, hole) in low[..found].iter().zip(holes) {
            let entry = self.entry(self.head(*at), hole);
            self.words.copy_bytes(self.node.words, self.record_at(*at), hole, size);
            self.words.set(ENTRIES + at, entry);
        }
    }

    /// Moves the records together, so that the room of deleted ones can be used.
    fn compact(&mut self) {
        let old = Image::of(self.node.words);
        let old = self.layout.node(old.words());
        self.clear(old.level(), &old.fences());
        self.append(old, 0..old.count());
        debug_assert_eq!(self.count(), old.count(), "compaction loses no entry");
        debug_assert_eq!(self.garbage(), 0, "compaction leaves no garbage");
    }
}
