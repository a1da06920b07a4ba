//! Numbers of frames.

/// The number of a frame: from 1 on; frame 0 stands for one that has not been used. A page's word
/// has it, as long as the page is in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FrameNumber(u32);

/// The bit of a page's word at which it is.
const SHIFT: u32 = 8;
const MASK: u64 = 0xff_ffff;

impl FrameNumber {
    /// The highest number that a word has room for.
    pub(super) const MOST: u32 = MASK as u32 - 1;

    /// All bits that a word has for a number.
    pub(super) const ALL: Self = Self(MASK as u32);

    #[inline(always)]
    pub(super) const fn new(number: u32) -> Self {
        Self(number)
    }

    #[inline(always)]
    pub(super) const fn get(self) -> u32 {
        self.0
    }

    /// Returns the number in a page's word.
    #[inline(always)]
    pub(super) const fn of_word(word: u64) -> Self {
        Self((word >> SHIFT & MASK) as u32)
    }

    /// Returns the number as a page's word has it.
    #[inline(always)]
    pub(super) const fn word(self) -> u64 {
        (self.0 as u64) << SHIFT
    }

    /// Returns the number as an index.
    #[inline(always)]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}
