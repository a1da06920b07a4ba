//! The fences of a node: the keys that bound it.

use super::Node;
use crate::pager::PAGE_WORDS;

pub(super) const LOWER: u64 = 1;
pub(super) const UPPER: u64 = 2;

/// The bit of word 1 at which the bytes of variable fences are.
pub(super) const LOWER_SHIFT: u32 = 24;
pub(super) const UPPER_SHIFT: u32 = 40;

/// The keys that bound a node; `None` for no bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::tree) struct Fences {
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
}

impl Node<'_> {
    /// Returns the word at which a fence is: they are at the end of the page, the lower one last.
    /// Both have the room of the longest key, even if they are shorter or missing. So former
    /// records of a node have room there again, whatever fences it got since, which a commit that
    /// has to be undone relies on.
    pub(super) fn fence_at(self, which: u64) -> usize {
        let words = self.layout.fence_words();
        PAGE_WORDS - words * if which == LOWER { 1 } else { 2 }
    }

    /// Returns the bytes of a fence that exists.
    pub(super) fn fence_size(self, which: u64) -> usize {
        let most = self.layout.shape.key_size;
        let shift = if which == LOWER { LOWER_SHIFT } else { UPPER_SHIFT };
        if self.layout.shape.is_variable {
            ((self.words.get(1) >> shift & 0xffff) as usize).min(most)
        } else {
            most
        }
    }

    fn fence(self, which: u64) -> Option<Vec<u8>> {
        if self.words.get(1) & which == 0 {
            return None;
        }
        let mut key = vec![0; self.fence_size(which)];
        self.words.read(self.fence_at(which) * 8, &mut key);
        Some(key)
    }

    /// Returns true if this is the lower fence.
    pub(in crate::tree) fn begins_at(self, key: &[u8]) -> bool {
        self.has_fence(LOWER, key)
    }

    /// Returns true if this is the upper fence.
    pub(in crate::tree) fn ends_at(self, key: &[u8]) -> bool {
        self.has_fence(UPPER, key)
    }

    fn has_fence(self, which: u64, key: &[u8]) -> bool {
        let is_there = self.words.get(1) & which != 0 && self.fence_size(which) == key.len();
        let from = self.fence_at(which);
        is_there
            && key.chunks(8).zip(from..).all(|(chunk, at)| {
                let word = self.words.get(at).to_le_bytes();
                word[..chunk.len()] == *chunk
            })
    }

    pub(in crate::tree) fn fences(self) -> Fences {
        Fences { lower: self.lower_fence(), upper: self.upper_fence() }
    }

    /// Returns the key before which no entry is, unless it is the first leaf.
    pub(in crate::tree) fn lower_fence(self) -> Option<Vec<u8>> {
        self.fence(LOWER)
    }

    /// Returns the key from which on no entry is, unless it is the last leaf.
    pub(in crate::tree) fn upper_fence(self) -> Option<Vec<u8>> {
        self.fence(UPPER)
    }

    pub(in crate::tree) fn is_last(self) -> bool {
        self.words.get(1) & UPPER == 0
    }
}
