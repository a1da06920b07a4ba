//! Changes of a node.

use super::fences::{LOWER, LOWER_SHIFT, UPPER, UPPER_SHIFT};
use super::{ENTRIES, Fences, HIGHEST_HEAD, Node, NodeMut, SIZE_SHIFT, SearchKey, head_of};
use crate::pager::{Image, PageNumber};

impl NodeMut<'_> {
    fn set_header(&mut self, level: usize, count: usize, records_at: usize, garbage: usize) {
        let word = level | count << 8 | records_at << 24 | garbage << 40;
        self.words.set(0, word as u64);
    }

    pub(in crate::tree) fn write_payload(&mut self, at: usize, to: usize, bytes: &[u8]) {
        self.words.write(self.payload_at(at) * 8 + to, bytes);
    }

    /// Makes an empty node of it.
    pub(in crate::tree) fn clear(&mut self, level: usize, fences: &Fences) {
        self.set_header(level, 0, self.end(), 0);
        let (mut first, mut common) = (0, 0);
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
    }

    /// Puts an entry at its place. There must be room.
    pub(in crate::tree) fn insert(&mut self, at: usize, key: &[u8], payload: &[u8]) {
        let to = self.make_entry(at, key);
        let front = self.layout.front_words();
        if self.layout.shape.is_variable {
            self.words.set(to, (key.len() as u64) << SIZE_SHIFT);
        }
        self.words.write((to + front) * 8, key);
        self.words.write((to + front + key.len().div_ceil(8)) * 8, payload);
    }

    /// Puts an entry for a child at its place. There must be room.
    pub(in crate::tree) fn insert_child(&mut self, at: usize, key: &[u8], child: PageNumber) {
        let to = self.make_entry(at, key);
        let size = if self.layout.shape.is_variable { key.len() as u64 } else { 0 };
        self.words.set(to, child.word() | size << SIZE_SHIFT);
        self.words.write(to * 8 + 8, key);
    }

    fn make_entry(&mut self, at: usize, key: &[u8]) -> usize {
        let words = self.layout.record_words(self.level(), key.len());
        if self.free_words() <= words {
            self.compact();
        }
        // In a forged node there may be less room than it says.
        let (count, to) = (self.count(), self.records_at().saturating_sub(words));
        self.words.shift(ENTRIES + at, count - at, ENTRIES + at + 1);
        self.words.set(ENTRIES + at, head_of(SearchKey::new(key), self.common()) << 16 | to as u64);
        self.set_header(self.level(), count + 1, to, self.garbage());
        to
    }

    /// Takes an entry out.
    pub(in crate::tree) fn remove(&mut self, at: usize) {
        let garbage = self.garbage() + self.record_words(at);
        let count = self.count();
        self.words.shift(ENTRIES + at + 1, count - at - 1, ENTRIES + at);
        self.set_header(self.level(), count - 1, self.records_at(), garbage);
    }

    /// Appends entries of another node of the same level.
    pub(in crate::tree) fn append(&mut self, other: Node<'_>, entries: std::ops::Range<usize>) {
        let common = self.common();
        let mut key = Vec::new();
        let (mut count, mut to) = (self.count(), self.records_at());
        for at in entries {
            key.resize(other.key_size(at), 0);
            other.read_key(at, &mut key);
            let words = other.record_words(at);
            to = to.saturating_sub(words);
            let from = other.record_at(at);
            (0..words).for_each(|word| self.words.set(to + word, other.words.get(from + word)));
            self.words
                .set(ENTRIES + count, head_of(SearchKey::new(&key), common) << 16 | to as u64);
            count += 1;
        }
        self.set_header(self.level(), count, to, self.garbage());
    }

    /// Moves the records together, so that what deleted ones left can be used.
    fn compact(&mut self) {
        let old = Image::of(self.node.words);
        let old = self.layout.node(old.words());
        self.clear(old.level(), &old.fences());
        self.append(old, 0..old.count());
    }
}
