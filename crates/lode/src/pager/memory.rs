//! Memory for frames and for the table of pages: zeroed, aligned, taken in one piece, given by the
//! operating system as it is touched. Of the `unsafe` code of pages, all but their loads and stores
//! ([`unaligned`](super::unaligned)).

#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::FrameNumber;
use super::page::{PAGE_WORDS, PageRef};
#[cfg(not(miri))]
use crate::error::Error;
use crate::error::Result;

/// Words from the start of a frame to that of the next: a line of the processor's cache more than a
/// page has. Every thread reads the first lines of pages. Without the extra line they would share
/// few sets of the cache, and push each other out of it.
const STRIDE: usize = PAGE_WORDS + 8;

/// Frames for pages, in pages of memory as large as the system has.
pub(super) struct Frames {
    cells: Cells,
    count: u32,
}

impl Frames {
    /// Creates frames with the numbers from 1 to `count`; they take up memory as they are used.
    /// Frame 0 stands for one that has not been used: all zeros.
    pub(super) fn new(count: u32) -> Result<Self> {
        Ok(Self { cells: Cells::new((count as usize + 1) * STRIDE, true)?, count })
    }

    /// Returns the number of frames, without frame 0.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Returns the memory of the frames.
    pub(super) fn memory(&self) -> Memory {
        Memory(Arc::clone(&self.cells.home))
    }

    /// Gives back the memory of a frame that holds no page, except memory shared with others.
    pub(super) fn give_back(&self, frame: FrameNumber) {
        debug_assert!((1..=self.count).contains(&frame.get()), "{frame:?} has memory of its own");
        let at = |index: usize| index * STRIDE * size_of::<AtomicU64>();
        self.cells.give_back(at(frame.index())..at(frame.index() + 1));
    }

    /// Returns a frame's words. A number that is too large is taken for 0.
    #[inline(always)]
    pub(super) fn words(&self, frame: FrameNumber) -> PageRef<'_> {
        let frame = if frame.get() <= self.count { frame.index() } else { 0 };
        // SAFETY: the frame is 0 or one of `count`. Each has `STRIDE` cells in `cells`, one after
        // another from its start, and a page has fewer; so the array is inside of it, and lives as
        // long.
        let words = unsafe { &*self.cells.start.as_ptr().add(frame * STRIDE).cast() };
        PageRef(words)
    }
}

/// Frames for page images, which are given back to the operating system one by one.
pub(super) struct ImageFrames {
    cells: Cells,
    count: u32,
}

impl ImageFrames {
    /// Creates frames with the numbers below `count`; they take up memory as they are used.
    pub(super) fn new(count: u32) -> Result<Self> {
        let cells = Cells::new(count as usize * PAGE_WORDS, false)?;
        // A huge page could not be given back in part. Advice only.
        #[cfg(all(target_os = "linux", not(miri)))]
        let _ = cells.home.advise(memmap2::Advice::NoHugePage);
        Ok(Self { cells, count })
    }

    /// Returns a frame's words. A number that is too large is taken for 0.
    pub(super) fn words(&self, frame: u32) -> PageRef<'_> {
        let frame = if frame < self.count { frame as usize } else { 0 };
        // SAFETY: the frame is one of `count`, each of which has `PAGE_WORDS` cells in `cells`, one
        // after another from its start; so the array is inside of it, and lives as long.
        let words = unsafe { &*self.cells.start.as_ptr().add(frame * PAGE_WORDS).cast() };
        PageRef(words)
    }

    /// Gives the memory of a frame back; it is all zeros then.
    pub(super) fn give_back(&self, frame: u32) {
        debug_assert!(frame < self.count, "image frame {frame} has memory of its own");
        let size = PAGE_WORDS * size_of::<AtomicU64>();
        self.cells.give_back(frame as usize * size..(frame as usize + 1) * size);
    }
}

/// Has the processor fetch the line of its cache that has a cell, without waiting for it.
#[inline(always)]
pub(super) fn fetch(cell: &AtomicU64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch touches nothing, whatever the address; and this one is of a cell.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(cell).cast());
    }
    // Elsewhere a load is the nearest equivalent.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::hint::black_box(cell.load(std::sync::atomic::Ordering::Relaxed));
}

/// The memory of cells.
#[cfg(not(miri))]
type Home = memmap2::MmapMut;
#[cfg(miri)]
type Home = Vec<u64>;

/// The memory of cells, for the thread that asks the operating system for it ahead.
#[derive(Clone)]
pub(super) struct Memory(Arc<Home>);

impl Memory {
    /// Has the operating system give memory for some frames, as if they were written to, but leaves
    /// them as they are; returns false if it does not.
    #[cfg(all(target_os = "linux", not(miri)))]
    pub(super) fn populate(&self, frames: Range<u32>) -> bool {
        let at = |frame: u32| frame as usize * STRIDE * size_of::<AtomicU64>();
        let from = at(frames.start);
        let to = at(frames.end);
        debug_assert!(from <= to && to <= self.0.len(), "frames {frames:?} have memory");
        self.0.advise_range(memmap2::Advice::PopulateWrite, from, to - from).is_ok()
    }

    /// Returns false: elsewhere there is no way to ask.
    #[cfg(not(all(target_os = "linux", not(miri))))]
    pub(super) fn populate(&self, _: Range<u32>) -> bool {
        let Self(_memory) = self;
        false
    }
}

#[cfg(not(miri))]
#[cold]
fn no_addresses(bytes: usize, error: &std::io::Error) -> Error {
    let what = format!(
        "reserve {bytes} bytes of addresses for the memory budget (give the database less memory, \
         or raise the process's limit of addresses)"
    );
    Error::io(what, error)
}

/// Atomic words, all zero at first.
pub(crate) struct Cells {
    start: NonNull<AtomicU64>,
    count: usize,
    /// The memory, which lives as long as any owner of it.
    home: Arc<Home>,
}

// SAFETY: cells are atomic words that several threads may read and write at once; where they are
// and how many never changes, and the memory is given back only with the struct itself.
unsafe impl Send for Cells {}
// SAFETY: as above.
unsafe impl Sync for Cells {}

impl Cells {
    /// Makes `count` cells, at least one. `large` asks for huge pages, where the system has some.
    #[cfg(not(miri))]
    pub(crate) fn new(count: usize, large: bool) -> Result<Self> {
        /// The size on most machines that have huge pages.
        const HUGE_PAGE_BYTES: usize = 2 << 20;
        assert!(count > 0, "a number that is too large is taken for cell 0");
        let bytes = count * size_of::<AtomicU64>();
        // Linux starts only mappings of whole huge pages at one.
        let bytes = if large { bytes.next_multiple_of(HUGE_PAGE_BYTES) } else { bytes };
        let mut home = memmap2::MmapOptions::new()
            .len(bytes)
            .no_reserve_swap()
            .map_anon()
            .map_err(|error| no_addresses(bytes, &error))?;
        // Advice only: without huge pages everything works as well, with more cache misses.
        #[cfg(target_os = "linux")]
        if large {
            let _ = home.advise(memmap2::Advice::HugePage);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = large;
        // A mapping starts at a page boundary, so it is aligned; it is zeroed, and any bits are an
        // `AtomicU64`. No reference to its bytes of another kind exists from here on.
        let start = NonNull::new(home.as_mut_ptr().cast()).expect("a mapping has an address");
        Ok(Self { start, count, home: Arc::new(home) })
    }

    /// Makes `count` cells in plain memory.
    #[cfg(miri)]
    pub fn new(count: usize, _: bool) -> Result<Self> {
        let mut home = vec![0; count];
        let start = NonNull::new(home.as_mut_ptr().cast()).expect("a vector has an address");
        Ok(Self { start, count, home: Arc::new(home) })
    }

    /// Gives the whole pages of memory in a range of bytes back to the operating system, where it
    /// takes them; the cells in them are zero then.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn give_back(&self, bytes: Range<usize>) {
        /// On systems with larger ones the call fails, and nothing is given back.
        const SYSTEM_PAGE_BYTES: usize = 4096;
        let from = bytes.start.next_multiple_of(SYSTEM_PAGE_BYTES);
        let to = bytes.end.min(self.count * size_of::<AtomicU64>()) / SYSTEM_PAGE_BYTES;
        let Some(size) = (to * SYSTEM_PAGE_BYTES).checked_sub(from).filter(|size| *size > 0) else {
            return;
        };
        // SAFETY: the bytes are in the mapping, which is private and of no file: to give them back
        // is to store zeros in them, which are valid cells. Cells are atomic, so no thread has a
        // reference that says that they stay as they are.
        let advised = unsafe {
            self.home.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, size)
        };
        // Memory that is not given back is used again.
        drop(advised);
    }

    /// Does nothing: elsewhere there is no way to give it back.
    #[cfg(not(all(target_os = "linux", not(miri))))]
    fn give_back(&self, _: Range<usize>) {}

    /// Returns the number of cells.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns a cell. A number that is too large is taken for 0.
    #[inline(always)]
    pub(crate) fn cell(&self, number: usize) -> &AtomicU64 {
        let number = if number < self.count { number } else { 0 };
        // SAFETY: there are `count` cells from `start` on, this one among them; they live as long
        // as `self`.
        unsafe { &*self.start.as_ptr().add(number) }
    }

    /// Returns two cells, the first at twice this number. A number that is too large, which a
    /// reader can come by while the page that it reads is being changed, is taken for 0.
    #[inline(always)]
    pub(crate) fn pair(&self, number: usize) -> &[AtomicU64; 2] {
        let number = if number < self.count / 2 { number } else { 0 };
        // SAFETY: there are `count` cells from `start` on, so those at `2 * number` and after it
        // are among them; they live as long as `self`.
        unsafe { &*self.start.as_ptr().add(number * 2).cast() }
    }
}
