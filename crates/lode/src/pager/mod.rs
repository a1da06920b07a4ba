//! Pages in frames of memory, read without latches and changed under one.
//!
//! For every page there is a word with its version, its frame and a latch, and a stamp: the epoch
//! in which it was last changed. A reader notes the word ([`Pager::look`]), reads, and looks at the
//! word again ([`Seen::still`]); it writes nothing that another processor would have to fetch. (A
//! sequence lock for each page; Boehm: Can Seqlocks Get Along With Programming Language Memory
//! Models?, MSPC 2012, section 4.) A writer latches every page that it will change, only then asks
//! for its epoch, and changes pages through [`Latched::change`], which keeps what they were for the
//! snapshots that still need it.

mod epochs;
mod memory;
mod saved;
mod space;
mod words;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};

use epochs::Epochs;
pub use epochs::Moment;
pub use memory::Cells;
use memory::Frames;
use saved::Saved;
pub use space::Space;
pub use words::{Image, PAGE_BYTES, PAGE_WORDS, Words};

use crate::error::{Error, Result};

/// The number of a page. It never changes while the page is in use.
pub type PageNumber = u32;

const LATCH: u64 = 1;
const FRAME_SHIFT: u32 = 8;
const FRAME_MASK: u64 = 0xff_ffff;
const VERSION: u64 = 1 << 32;

/// The most frames that a word has room for.
const MOST_FRAMES: u64 = FRAME_MASK;

/// Page numbers for each frame: extents that are partly free use up some.
const NUMBERS_PER_FRAME: usize = 2;

/// How often a reader looks at a latched page before it lets other threads run.
const SPINS: u32 = 64;

/// What a reader saw of a page's word.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'p> {
    page: PageNumber,
    cell: &'p AtomicU64,
    word: u64,
}

impl Seen<'_> {
    /// Whether nobody has changed the page since it was seen, so that what was read between is what
    /// was there.
    #[inline(always)]
    pub fn still(&self) -> bool {
        fence(Ordering::Acquire);
        self.cell.load(Ordering::Relaxed) == self.word
    }
}

/// All pages of a database.
pub struct Pager {
    frames: Frames,
    /// Two cells a page: its word and its stamp.
    entries: Cells,
    free_frames: Mutex<Vec<u32>>,
    next_frame: AtomicU32,
    free_extents: Mutex<Vec<PageNumber>>,
    next_extent: AtomicU32,
    epochs: Epochs,
    saved: Saved,
}

impl Pager {
    /// Pages in at most so many bytes of memory.
    pub fn new(budget_bytes: u64) -> Result<Self> {
        let frames = (budget_bytes / PAGE_BYTES as u64).clamp(1, MOST_FRAMES) as u32;
        let numbers = frames.max(space::EXTENT) as usize * NUMBERS_PER_FRAME;
        Ok(Self {
            frames: Frames::new(frames)?,
            entries: Cells::new(numbers * 2, false)?,
            free_frames: Mutex::default(),
            next_frame: AtomicU32::new(0),
            free_extents: Mutex::default(),
            next_extent: AtomicU32::new(0),
            epochs: Epochs::default(),
            saved: Saved::default(),
        })
    }

    /// The word and the stamp of a page. A number that is too large is taken for page 0.
    #[inline(always)]
    fn entry(&self, page: PageNumber) -> &[AtomicU64; 2] {
        self.entries.pair(page as usize)
    }

    /// Looks at a page, once nobody has it latched. What is read of it is worth something only if
    /// the page is [`still`](Seen::still) as it was seen.
    #[inline(always)]
    pub fn look(&self, page: PageNumber) -> (Seen<'_>, Words<'_>) {
        let [cell, _] = self.entry(page);
        let mut word = cell.load(Ordering::Acquire);
        if word & LATCH != 0 {
            word = wait_for_latch(cell);
        }
        (Seen { page, cell, word }, self.frames.words(frame_of(word)))
    }

    /// Latches a page if it is still as it was seen.
    #[inline]
    pub fn latch<'p>(&'p self, seen: Seen<'p>) -> Option<Latched<'p>> {
        let cell = seen.cell;
        let latched = seen.word | LATCH;
        cell.compare_exchange(seen.word, latched, Ordering::Acquire, Ordering::Relaxed).ok()?;
        // What is stored from now on is not seen by anybody who does not see the latch.
        fence(Ordering::Release);
        let words = self.frames.words(frame_of(seen.word));
        Some(Latched { pager: self, page: seen.page, word: seen.word, words, changed: false })
    }

    /// The epoch of an operation that has latched all that it will change.
    #[inline(always)]
    pub fn epoch(&self) -> u64 {
        self.epochs.current()
    }

    /// A page of its own for a table, latched, all zeros.
    ///
    /// # Errors
    /// `Full` when the memory budget is used up.
    pub fn allocate(&self, space: &Space) -> Result<Latched<'_>> {
        let frame = self.take_frame()?;
        let page = match space.take(|| self.take_extent()) {
            Ok(page) => page,
            Err(error) => {
                self.give_frame(frame);
                return Err(error);
            }
        };
        let [cell, _] = self.entry(page);
        let version = cell.load(Ordering::Relaxed) & !(VERSION - 1);
        let word = version | u64::from(frame) << FRAME_SHIFT;
        // Nobody else has the number, so nobody else latches it; readers with an old idea of it
        // see the latch, and then another version.
        cell.store(word | LATCH, Ordering::Relaxed);
        fence(Ordering::Release);
        let words = self.frames.words(frame);
        words.clear(0, PAGE_WORDS);
        self.entry(page)[1].store(self.epoch(), Ordering::Release);
        Ok(Latched { pager: self, page, word, words, changed: true })
    }

    fn take_frame(&self) -> Result<u32> {
        if let Some(frame) = lock(&self.free_frames).pop() {
            return Ok(frame);
        }
        let count = self.frames.count();
        let next = |next: u32| (next < count).then_some(next + 1);
        self.next_frame
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map_err(|_| Error::Full { budget_bytes: u64::from(count) * PAGE_BYTES as u64 })
    }

    fn give_frame(&self, frame: u32) {
        lock(&self.free_frames).push(frame);
    }

    /// The first page number of an extent.
    fn take_extent(&self) -> Result<PageNumber> {
        if let Some(first) = lock(&self.free_extents).pop() {
            return Ok(first);
        }
        let numbers = self.entries.count() / 2;
        let next = |next: u32| {
            let end = next.checked_add(space::EXTENT)?;
            (end as usize <= numbers).then_some(end)
        };
        self.next_extent
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map_err(|_| Error::Full { budget_bytes: self.budget_bytes() })
    }

    /// Gives the page numbers of a table back that has no pages any more.
    pub fn give_extents(&self, space: &Space) {
        lock(&self.free_extents).extend(space.extents());
    }

    fn budget_bytes(&self) -> u64 {
        u64::from(self.frames.count()) * PAGE_BYTES as u64
    }

    /// Bytes of pages in use.
    pub fn used_bytes(&self) -> u64 {
        let taken = u64::from(self.next_frame.load(Ordering::Relaxed));
        (taken - lock(&self.free_frames).len() as u64) * PAGE_BYTES as u64
    }

    /// Bytes of page images that snapshots need.
    pub fn saved_bytes(&self) -> u64 {
        self.saved.count() * PAGE_BYTES as u64
    }

    /// Ends the current epoch and keeps what pages are now for whoever reads at this moment, until
    /// it is [released](Self::release). No operation of several steps may be under way.
    pub fn moment(&self) -> Moment {
        self.epochs.end()
    }

    /// Nobody reads at this moment any more.
    pub fn release(&self, moment: Moment) {
        let live = self.epochs.release(moment);
        self.saved.retain(&live);
    }

    /// Reads a page as it was at a moment. `read` may be called several times, at times on what is
    /// being changed; what its last call answers is right.
    pub fn at<T>(
        &self,
        moment: Moment,
        page: PageNumber,
        mut read: impl FnMut(Words<'_>) -> T,
    ) -> T {
        loop {
            let (seen, words) = self.look(page);
            let stamp = self.entry(page)[1].load(Ordering::Acquire);
            if moment.sees(stamp) {
                let answer = read(words);
                if seen.still() {
                    return answer;
                }
                continue;
            }
            // Whoever set the stamp had saved the page before.
            let image = self.saved.find(page, moment).expect("a page of a snapshot is kept");
            return read(image.words());
        }
    }
}

/// A page that only the holder of this may change; let go when dropped.
pub struct Latched<'p> {
    pager: &'p Pager,
    page: PageNumber,
    word: u64,
    words: Words<'p>,
    changed: bool,
}

impl<'p> Latched<'p> {
    /// Its number.
    pub fn page(&self) -> PageNumber {
        self.page
    }

    /// Its content, to read.
    pub fn words(&self) -> Words<'p> {
        self.words
    }

    /// Its content, to change by an operation of this epoch.
    #[inline]
    pub fn change(&mut self, epoch: u64) -> Words<'p> {
        let [_, stamp] = self.pager.entry(self.page);
        let before = stamp.load(Ordering::Relaxed);
        if before < epoch {
            if self.pager.epochs.needs(before) {
                self.pager.saved.keep(self.page, before, epoch, Image::of(self.words));
            }
            stamp.store(epoch, Ordering::Release);
        }
        self.changed = true;
        self.words
    }

    /// Gives the page back to its table, and its frame to all.
    pub fn free(mut self, space: &Space, epoch: u64) {
        self.change(epoch);
        let (pager, page, frame) = (self.pager, self.page, frame_of(self.word));
        // Only when the latch is gone may somebody else have them.
        drop(self);
        pager.give_frame(frame);
        space.give(page);
    }
}

impl Drop for Latched<'_> {
    #[inline]
    fn drop(&mut self) {
        let word = match self.changed {
            true => self.word.wrapping_add(VERSION),
            false => self.word,
        };
        self.pager.entry(self.page)[0].store(word, Ordering::Release);
    }
}

#[inline(always)]
fn frame_of(word: u64) -> u32 {
    (word >> FRAME_SHIFT & FRAME_MASK) as u32
}

#[cold]
fn wait_for_latch(cell: &AtomicU64) -> u64 {
    let mut spins = 0;
    loop {
        let word = cell.load(Ordering::Acquire);
        if word & LATCH == 0 {
            return word;
        }
        spins += 1;
        match spins < SPINS {
            true => std::hint::spin_loop(),
            false => std::thread::yield_now(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
