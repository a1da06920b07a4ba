//! A copy of the directory in one flat array: a lookup of a single record costs one load in it; the
//! way through the directory's pages costs six that wait for each other.
//!
//! An entry is the bucket of the places that start with the bits of its number. A thread that
//! splits a bucket, or joins it with another, updates the entries before it unlatches the bucket.
//! So a reader checks, *after* it has read a bucket, that the entry still names it, and *after
//! that* that the bucket is unchanged. If both hold, it was the right one.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::HashPlace;
use super::directory::MOST_BITS;
use crate::error::Result;
use crate::pager::{Cells, PageNumber};

/// The bits of the array that every table has; one of more bits is made when it is needed. (Fewer
/// in unit tests.)
const USUAL_BITS: u32 = if cfg!(test) { 3 } else { 22 };

/// The buckets that a table keeps when records are deleted: splitting them again would cost more
/// than they are worth. Surplus is given back when nothing is written. (Fewer in unit tests.)
const KEPT_BUCKETS: u64 = if cfg!(test) { 1 } else { 16 };

/// Added to the bits while the array is being doubled.
const DOUBLING: u64 = 64;

/// The array. It has room for more bits than it starts with, in memory that is taken as it is used,
/// and doubles in place.
pub(super) struct Shortcut {
    bits: AtomicU64,
    cells: Cells,
    /// The array of a table with more buckets.
    large: OnceLock<Cells>,
    /// The number of changes of entries that were started.
    changes: AtomicU64,
    /// Held while entries change.
    turn: Mutex<()>,
}

const _: () = assert!((MOST_BITS as u64) < DOUBLING, "the mark is none of the bits");

/// An entry as it was seen.
#[derive(Clone, Copy)]
pub(super) struct Entry<'s> {
    shortcut: &'s Shortcut,
    bits: u64,
    cell: &'s AtomicU64,
    bucket: u64,
}

impl Entry<'_> {
    /// Returns the bucket.
    #[inline(always)]
    pub(super) fn bucket(&self) -> PageNumber {
        PageNumber::of_word(self.bucket)
    }

    /// Returns true if it is one of so few buckets that they are kept when records are deleted.
    #[inline(always)]
    pub(super) fn is_of_few(&self) -> bool {
        1 << self.bits <= KEPT_BUCKETS
    }

    /// Returns true if the entry still names the bucket.
    #[inline(always)]
    pub(super) fn validate(&self) -> bool {
        self.cell.load(Ordering::Relaxed) == self.bucket
            && self.shortcut.bits.load(Ordering::Relaxed) == self.bits
    }
}

impl Shortcut {
    /// Creates an array without buckets.
    pub(super) fn new() -> Result<Self> {
        let cells = Cells::new(1 << USUAL_BITS, false)?;
        let bits = AtomicU64::new(0);
        let changes = AtomicU64::new(0);
        Ok(Self { bits, cells, large: OnceLock::new(), changes, turn: Mutex::default() })
    }

    /// Returns the number of changes of entries that were started. An entry that was read between
    /// two equal results may have changed once since, but not to its former value.
    pub(super) fn changes(&self) -> u64 {
        fence(Ordering::Acquire);
        self.changes.load(Ordering::Acquire)
    }

    /// Returns the array for `bits` bits.
    #[inline(always)]
    fn cells(&self, bits: u64) -> &Cells {
        if bits <= USUAL_BITS.into() {
            &self.cells
        } else {
            self.large.get().unwrap_or(&self.cells)
        }
    }

    /// Makes sure that an array for `bits` bits exists.
    pub(super) fn make_room(&self, bits: u32) -> Result<()> {
        if bits > USUAL_BITS && self.large.get().is_none() {
            // If another thread was quicker, its array will do.
            let _ = self.large.set(Cells::new(1 << MOST_BITS, false)?);
        }
        Ok(())
    }

    /// Returns the entry of a place, unless the array is being doubled.
    #[inline(always)]
    pub(super) fn try_read(&self, place: HashPlace) -> Option<Entry<'_>> {
        let bits = self.bits.load(Ordering::Acquire);
        (bits < DOUBLING).then(|| {
            let cell = self.cells(bits).cell(place.high_bits(bits as u32));
            Entry { shortcut: self, bits, cell, bucket: cell.load(Ordering::Acquire) }
        })
    }

    /// Returns the entry of a place, once the array is not being doubled.
    #[inline(always)]
    pub(super) fn entry(&self, place: HashPlace) -> Entry<'_> {
        loop {
            match self.try_read(place) {
                Some(entry) => return entry,
                None => std::thread::yield_now(),
            }
        }
    }

    /// Names a bucket for all places that start with the same `bits` bits as `first`; there must be
    /// [room](Self::make_room) for them.
    pub(super) fn set(&self, bucket: PageNumber, first: HashPlace, bits: u32) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // A thread that sees a changed entry from here on sees this too.
        self.changes.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::Release);
        let mut own = self.bits.load(Ordering::Relaxed);
        let bits = u64::from(bits);
        while own < bits {
            // A thread that sees an entry at a new place sees this too, and looks again.
            self.bits.store(own + DOUBLING, Ordering::Relaxed);
            fence(Ordering::Release);
            let before = self.cells(own);
            let after = self.cells(own + 1);
            for at in (0..1 << own).rev() {
                let bucket = before.cell(at).load(Ordering::Relaxed);
                after.cell(2 * at + 1).store(bucket, Ordering::Relaxed);
                after.cell(2 * at).store(bucket, Ordering::Relaxed);
            }
            own += 1;
            self.bits.store(own, Ordering::Release);
        }
        debug_assert!(own <= MOST_BITS.into(), "the array has at most 2^{MOST_BITS} entries");
        debug_assert!(1 << own <= self.cells(own).count(), "there is room for all entries");
        let from = first.high_bits(own as u32);
        for at in from..from + (1 << (own - bits)) {
            self.cells(own).cell(at).store(bucket.word(), Ordering::Release);
        }
    }
}
