//! A copy of the directory in one flat array: a lookup of a single record costs one load in it,
//! where the way through the directory's pages costs six that wait for each other.
//!
//! An entry is the bucket of the places that begin with the bits of its number. Whoever splits a
//! bucket brings the entries up to date before it lets go of the bucket. So when a reader finds,
//! *after* it has read a bucket that did not change meanwhile, that the entry still names it, then it
//! was the right one.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::pager::PageNumber;

/// The most bits: as many as the directory can decide by.
pub const MOST_BITS: usize = 22;

/// The array, which doubles as buckets split. Smaller ones stay, since somebody may still read them;
/// all of them together are as large as the last one.
pub struct Shortcut {
    bits: AtomicU32,
    levels: [OnceLock<Box<[AtomicU32]>>; MOST_BITS + 1],
    /// Held by whoever changes entries.
    turn: Mutex<()>,
}

/// An entry as it was seen.
#[derive(Clone, Copy)]
pub struct Entry<'s> {
    shortcut: &'s Shortcut,
    bits: u32,
    cell: &'s AtomicU32,
    bucket: PageNumber,
}

impl Entry<'_> {
    /// The bucket.
    #[inline(always)]
    pub fn bucket(&self) -> PageNumber {
        self.bucket
    }

    /// Whether it is still the bucket.
    #[inline(always)]
    pub fn still(&self) -> bool {
        self.cell.load(Ordering::Relaxed) == self.bucket
            && self.shortcut.bits.load(Ordering::Relaxed) == self.bits
    }
}

impl Shortcut {
    /// With one bucket for all places.
    pub fn new(bucket: PageNumber) -> Self {
        let levels = [const { OnceLock::new() }; MOST_BITS + 1];
        levels[0].get_or_init(|| [AtomicU32::new(bucket)].into());
        Self { bits: AtomicU32::new(0), levels, turn: Mutex::default() }
    }

    #[inline(always)]
    fn level(&self, bits: u32) -> &[AtomicU32] {
        self.levels[bits as usize].get().expect("the array exists before its bits are published")
    }

    /// The entry of a place.
    #[inline(always)]
    pub fn entry(&self, place: u64) -> Entry<'_> {
        let bits = self.bits.load(Ordering::Acquire);
        let level = self.level(bits);
        // A shift by all 64 bits is none.
        let cell = &level[(place >> 1 >> (63 - bits)) as usize];
        Entry { shortcut: self, bits, cell, bucket: cell.load(Ordering::Acquire) }
    }

    /// Names a bucket for all places that begin with the same so many bits as `first`.
    pub fn set(&self, bucket: PageNumber, first: u64, bits: u32) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = self.bits.load(Ordering::Relaxed);
        while own < bits {
            let narrow = self.level(own);
            let twice =
                |cell: &AtomicU32| [0, 1].map(|_| AtomicU32::new(cell.load(Ordering::Relaxed)));
            self.levels[own as usize + 1].get_or_init(|| narrow.iter().flat_map(twice).collect());
            own += 1;
            self.bits.store(own, Ordering::Release);
        }
        let from = (first >> 1 >> (63 - own)) as usize;
        for cell in &self.level(own)[from..from + (1 << (own - bits))] {
            cell.store(bucket, Ordering::Release);
        }
    }
}
