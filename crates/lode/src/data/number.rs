//! Numbers of pages and of slots: both 32 bits, and not to be mixed up.

use std::fmt;

/// The number of a page. It stays the same while the page is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PageNumber(u32);

impl PageNumber {
    /// The first page of tables. The pages with lower numbers hold the catalogue.
    pub(crate) const FIRST_OF_TABLES: Self = Self(1 << 16);

    #[inline(always)]
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    #[inline(always)]
    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    /// Returns the number in the low half of a page's word.
    #[inline(always)]
    pub(crate) const fn of_word(word: u64) -> Self {
        Self(word as u32)
    }

    /// Returns the number as a page's word has it.
    #[inline(always)]
    pub(crate) const fn word(self) -> u64 {
        self.0 as u64
    }

    /// Returns the number as an index.
    #[inline(always)]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns this page and those after it, `count` in all.
    pub(crate) fn run(self, count: u32) -> impl DoubleEndedIterator<Item = Self> {
        debug_assert!(self.0.checked_add(count).is_some(), "page {self} has no {count} after it");
        (self.0..self.0 + count).map(Self)
    }
}

impl fmt::Display for PageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a slot of the data file. Slot 0, which a superblock is in, stands for no slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SlotNumber(pub u32);

impl SlotNumber {
    /// No slot.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn is_some(self) -> bool {
        self != Self::NONE
    }

    /// Returns the offset of the slot in the file, in bytes.
    pub(super) fn byte(self) -> u64 {
        u64::from(self.0) * super::SLOT_BYTES as u64
    }
}

impl fmt::Display for SlotNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
