//! Pages in frames of memory, read without latches and changed under one; those of a database in a
//! directory come from its data file when they are needed. They leave once no thread has looked at
//! them for long.
//!
//! Every page has a word with its version, its frame and a latch, and a stamp: the epoch in which
//! it was last changed. A reader notes the word ([`Pager::read_optimistic`]), reads, and looks at
//! the word again ([`Seen::validate`]); it writes nothing that another processor would have to
//! fetch. (A sequence lock for each page. See Boehm, Can Seqlocks Get Along With Programming
//! Language Memory Models?; MSPC 2012, section 4.) A writer latches every page that it will change,
//! and only then asks for its epoch. It changes pages through [`Latched::change`], which keeps
//! their images for the snapshots and the checkpoint that need them.

mod absent;
mod ahead;
mod budget;
mod epochs;
mod frame;
mod images;
mod latched;
mod memory;
mod moments;
mod page;
mod passing;
mod pool;
mod saved;
mod space;
mod unaligned;
mod write_out;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ahead::Ahead;
pub(crate) use budget::MemoryLimits;
pub(crate) use epochs::{Epoch, ReadEpoch};
use epochs::{Epochs, Which};
use frame::FrameNumber;
use images::{Images, PageImage};
pub(crate) use latched::Latched;
pub(crate) use memory::Cells;
use memory::Frames;
pub(crate) use page::{Image, PAGE_BYTES, PAGE_WORDS, PageMut, PageRef, few, first_bytes};
pub(crate) use passing::Passed;
use passing::Shown;
use pool::{FreeFrame, Pool};
use saved::Saved;
pub(crate) use space::Space;
pub(crate) use write_out::Copied;

use crate::data::DataFile;
pub(crate) use crate::data::PageNumber;
use crate::error::{Error, Result};
use crate::io::Home;
use crate::observability::Tally;

/// Returns true if these are different pages, as all are that are latched together: no thread waits
/// for a latch, and a page that is named twice, as a forged one may be, could never be latched.
pub(crate) fn differ(pages: &mut [PageNumber]) -> bool {
    pages.sort_unstable();
    pages.windows(2).all(|pair| pair[0] < pair[1])
}

/// The first page of a table.
const FIRST_TABLE_PAGE: PageNumber = PageNumber::FIRST_OF_TABLES;

/// The latch: a thread is changing the page, or fetching it.
const LATCH: u64 = 1;
/// A mark: unless a thread looks at the page soon, it leaves memory.
const COOL: u64 = 1 << 1;
/// A mark: the page has a frame.
const PRESENT: u64 = 1 << 2;
/// A mark: the page has changed since it was written out.
const DIRTY: u64 = 1 << 3;
/// A mark: the page is not in use.
const FREE: u64 = 1 << 4;
const VERSION: u64 = 1 << 32;

const MARKS: u64 = LATCH | COOL | PRESENT | DIRTY | FREE;

const _: () = assert!(
    MARKS & FrameNumber::new(u32::MAX).word() == 0 && FrameNumber::ALL.word() & !(VERSION - 1) == 0,
    "marks, frame and version of a page have their own bits"
);
const _: () = assert!(PAGE_BYTES == crate::data::SLOT_BYTES, "a page fills a slot");
const _: () = assert!(
    FIRST_TABLE_PAGE.get().is_multiple_of(space::EXTENT) && MOST_NUMBERS <= u32::MAX as usize,
    "page numbers are those of whole extents"
);

/// The fewest frames: an operation needs several pages at once.
const LEAST_FRAMES: u64 = 64;

/// Page numbers for each frame, for pages that are in memory only. A whole extent, so that tables
/// of one page run out of frames first; and more, since a table keeps the numbers that it has had.
/// They take up memory only where they have been used.
const NUMBERS_PER_FRAME: usize = space::EXTENT as usize + 8;

/// The most page numbers: those of a database in a directory, which has at most 1 TiB of pages.
const MOST_NUMBERS: usize = 1 << 26;

/// About the most pages that an operation changes.
const MOST_CHANGED: u64 = 8;

/// Frames that changed pages leave to others, so that a way to them can always be read.
const SPARE_FRAMES: u64 = 24;

/// A page's word as a reader saw it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'p> {
    page: PageNumber,
    /// The page's word and its stamp.
    entry: &'p [AtomicU64; 2],
    word: u64,
}

impl Seen<'_> {
    /// Returns the page.
    pub(crate) fn page(&self) -> PageNumber {
        self.page
    }

    /// Returns true if the same page with the same word was seen.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.page == other.page && self.word == other.word
    }

    /// Returns true if the page is unchanged since it was seen, so that reads in between are right.
    #[inline(always)]
    pub(crate) fn validate(&self) -> bool {
        fence(Ordering::Acquire);
        self.entry[0].load(Ordering::Relaxed) == self.word
    }
}

/// All pages of a database.
pub(crate) struct Pager {
    frames: Frames,
    /// Two cells a page: its word and its stamp.
    entries: Cells,
    /// A cell a page: the frame of the log that changed the page last. Only if the log has several
    /// lanes.
    last_frames: OnceLock<Cells>,
    pool: Pool,
    ahead: Ahead,
    /// The file of pages that have no frame.
    data: Option<Arc<DataFile>>,
    /// The process that may use the pages.
    home: Home,
    free_extents: Mutex<Vec<PageNumber>>,
    next_extent: AtomicU32,
    epochs: Epochs,
    saved: Saved,
    shown: Shown,
    images: Arc<Images>,
    /// Pages that have changed since they were written out.
    dirty: AtomicU64,
    /// Bytes of the budget that are lent for other uses than pages.
    lent: AtomicU64,
    /// Pages that were freed since the last checkpoint, with the epochs.
    freed: Mutex<Vec<(PageNumber, Epoch)>>,
    evicted: Tally,
}

impl Pager {
    /// Creates a pager of pages within a memory budget; those of a data file, if there is one.
    ///
    /// # Errors
    /// `Io` if the process may not have as many addresses as the budget will need.
    pub(crate) fn new(limits: MemoryLimits, data: Option<Arc<DataFile>>) -> Result<Self> {
        let frames = (limits.budget_bytes / PAGE_BYTES as u64)
            .clamp(LEAST_FRAMES, FrameNumber::MOST.into()) as u32;
        let numbers = match data {
            None => {
                let all = FIRST_TABLE_PAGE.index() + frames as usize * NUMBERS_PER_FRAME;
                all.min(MOST_NUMBERS)
            }
            Some(_) => limits.most_numbers(),
        };
        let pool = Pool::new(frames, data.is_some());
        let count = frames;
        let frames = Frames::new(frames)?;
        limits.expect_addresses(count)?;
        Ok(Self {
            ahead: Ahead::new(frames.memory(), frames.count()),
            frames,
            entries: Cells::new(numbers * 2, false)?,
            last_frames: OnceLock::new(),
            pool,
            home: Home::here(),
            data,
            free_extents: Mutex::default(),
            next_extent: AtomicU32::new(FIRST_TABLE_PAGE.get()),
            epochs: Epochs::default(),
            saved: Saved::default(),
            shown: Shown::default(),
            images: Arc::new(Images::new(count)),
            dirty: AtomicU64::new(0),
            lent: AtomicU64::new(0),
            freed: Mutex::default(),
            evicted: Tally::default(),
        })
    }

    /// Returns the process that may use the pages: it has opened the database. Its threads may hold
    /// latches and locks at the moment of a fork, which no thread of the child gives back.
    pub(crate) fn home(&self) -> Home {
        self.home
    }

    /// Has pages have the names of the frames of the log that changed them last. They take memory
    /// where pages are changed.
    ///
    /// # Errors
    /// `Io` if the process may not have the addresses.
    pub(crate) fn name_frames(&self) -> Result<()> {
        if self.last_frames.get().is_none() {
            let cells = Cells::new(self.entries.count() / 2, false)?;
            // Another thread may have been quicker.
            let _ = self.last_frames.set(cells);
        }
        Ok(())
    }

    /// Returns the word and the stamp of a page. A number that is too large is taken for page 0.
    #[inline(always)]
    fn entry(&self, page: PageNumber) -> &[AtomicU64; 2] {
        self.entries.pair(page.index())
    }

    /// Looks at a page, once it is not latched. Its content counts only if [`Seen::validate`]
    /// returns true afterwards.
    ///
    /// # Errors
    /// `Corrupt` if the page does not exist. An outdated page number has the same effect: the
    /// caller has to check first if it is. `Full` if all pages in memory have changed; `Io`.
    #[inline(always)]
    pub(crate) fn read_optimistic(&self, page: PageNumber) -> Result<(Seen<'_>, PageRef<'_>)> {
        if let Some(looked) = self.try_read(page) {
            return Ok(looked);
        }
        let word = self.bring(page)?;
        let entry = self.entry(page);
        Ok((Seen { page, entry, word }, self.frames.words(FrameNumber::of_word(word))))
    }

    /// Looks at a page, if it is in memory, is to stay there, and is not latched.
    #[inline(always)]
    pub(crate) fn try_read(&self, page: PageNumber) -> Option<(Seen<'_>, PageRef<'_>)> {
        let entry = self.entry(page);
        let word = entry[0].load(Ordering::Acquire);
        let at_rest = word & (LATCH | COOL | PRESENT) == PRESENT;
        at_rest.then(|| (Seen { page, entry, word }, self.frames.words(FrameNumber::of_word(word))))
    }

    /// Has the processor fetch the start and the end of a page, if it is in memory.
    pub(crate) fn fetch_ends(&self, page: PageNumber) {
        if let Some((_, words)) = self.try_read(page) {
            [0, 8, PAGE_WORDS - 8].into_iter().for_each(|word| words.fetch(word));
        }
    }

    /// Latches a page if it is still as it was seen.
    #[inline(always)]
    pub(crate) fn latch<'p>(&'p self, seen: Seen<'p>) -> Option<Latched<'p>> {
        let [cell, _] = seen.entry;
        let latched = seen.word | LATCH;
        debug_assert!(seen.word & (LATCH | FREE) == 0, "page {} is at rest", seen.page);
        debug_assert!(seen.word & PRESENT != 0, "page {} is in memory", seen.page);
        cell.compare_exchange(seen.word, latched, Ordering::SeqCst, Ordering::Relaxed).ok()?;
        // A thread that does not see the latch does not see later stores.
        fence(Ordering::Release);
        let words = self.frames.words(FrameNumber::of_word(seen.word));
        let Seen { page, entry, word } = seen;
        Some(Latched { pager: self, page, entry, word, words, changed: false, is_new: false })
    }

    /// Returns the epoch of an operation that has latched all that it will change.
    #[inline(always)]
    pub(crate) fn epoch(&self) -> Epoch {
        self.epochs.current()
    }

    /// Allocates a page for a table, latched, all zeros.
    ///
    /// # Errors
    /// `Full` if the memory budget is used up.
    pub(crate) fn allocate(&self, space: &Space) -> Result<Latched<'_>> {
        let FreeFrame { number: frame, is_zeroed } = self.take_frame()?;
        let page = match space.take(self) {
            Ok(page) => page,
            Err(error) => {
                self.pool.give(frame);
                return Err(error);
            }
        };
        let [cell, stamp] = self.entry(page);
        let word = self.latch_absent(page);
        debug_assert!(word & (PRESENT | DIRTY) == 0, "page {page} is not in use");
        debug_assert!(frame != FrameNumber::default(), "frame 0 holds no page");
        let word = word & !(VERSION - 1) | frame.word() | PRESENT;
        self.pool.own(frame, page);
        // Still latched, but with its frame.
        cell.store(word | LATCH, Ordering::SeqCst);
        // A thread that still reads the page that had the frame before, and sees zeros, sees that
        // the page has gone.
        fence(Ordering::Release);
        let words = self.frames.words(frame);
        if !is_zeroed {
            PageMut::new(words).clear(0, PAGE_WORDS);
        }
        let epoch = self.epoch();
        debug_assert!(
            Epoch::load(stamp, Ordering::Relaxed) <= epoch,
            "page {page} has no later change"
        );
        epoch.store(stamp, Ordering::Release);
        let entry = self.entry(page);
        Ok(Latched { pager: self, page, entry, word, words, changed: true, is_new: true })
    }

    /// Takes a frame: a free one, or that of a page that can leave.
    fn take_frame(&self) -> Result<FreeFrame> {
        if self.is_over_budget()
            && let Some(frame) = self.make_room_for_page()?
        {
            return Ok(FreeFrame::used(frame));
        }
        if let Some(frame) = self.pool.take(self.frames.count()) {
            self.ahead.taken(frame.number);
            return Ok(frame);
        }
        let evicted =
            self.data.as_ref().and_then(|_| self.evict(u64::from(self.frames.count()) * 3));
        let evicted = evicted.map(FreeFrame::used);
        evicted.ok_or(Error::Full { budget_bytes: self.budget_bytes() })
    }

    /// Gives back the page numbers of a table that has no pages any more.
    pub(crate) fn give_extents(&self, extents: Vec<PageNumber>) {
        let mut free = lock(&self.free_extents);
        let end = self.next_extent.load(Ordering::Relaxed);
        debug_assert!(extents.iter().all(|first| first.get() < end), "they were taken once");
        free.extend(extents);
        let count = (end - FIRST_TABLE_PAGE.get()) / space::EXTENT;
        assert!(free.len() <= count as usize, "an extent is given back once");
    }

    /// Marks the extents that tables have, when a database is opened.
    pub(crate) fn restore_extents(&self, extents: &[PageNumber]) -> Result<()> {
        let used: std::collections::BTreeSet<_> = extents.iter().collect();
        let first = FIRST_TABLE_PAGE.get();
        let end = used.last().map_or(first, |last| last.get().saturating_add(space::EXTENT));
        let is_one = |page: &PageNumber| {
            *page >= FIRST_TABLE_PAGE && (page.get() - first).is_multiple_of(space::EXTENT)
        };
        if end as usize > self.entries.count() / 2 && end as usize <= MOST_NUMBERS {
            return Err(self.no_numbers());
        }
        let fits = end as usize <= MOST_NUMBERS && extents.iter().all(is_one);
        if !fits || used.len() < extents.len() {
            return Err(Error::corrupt("the catalogue", "tables have pages that they cannot have"));
        }
        self.next_extent.store(end, Ordering::Relaxed);
        let all = (first..end).step_by(space::EXTENT as usize).map(PageNumber::new);
        lock(&self.free_extents).extend(all.filter(|first| !used.contains(first)));
        Ok(())
    }

    /// Returns true if pages take up nothing but memory, and seven eighths of it are free: with
    /// less, many small tables would miss the surplus that each takes.
    pub(crate) fn has_memory_to_spare(&self) -> bool {
        /// A few pages of a table.
        const FEW: u64 = 16;
        self.data.is_none() && (self.pool.used() + FEW) * 8 <= self.frames.count().into()
    }

    /// Returns true if pages of a table in a data file may be more than memory has room for,
    /// besides half as many others.
    pub(crate) fn may_exceed_memory(&self, space: &Space) -> bool {
        self.data.is_some() && space.count() > u64::from(self.frames.count()) / 2
    }

    /// Returns the error for the lack of page numbers.
    fn no_numbers(&self) -> Error {
        match self.data {
            None => Error::Full { budget_bytes: self.budget_bytes() },
            Some(_) => {
                let numbers = self.entries.count() / 2 - FIRST_TABLE_PAGE.index();
                Error::DatabaseFull { most_bytes: numbers as u64 * PAGE_BYTES as u64 }
            }
        }
    }

    /// Returns the number of pages that have left memory for others, if metrics show it.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted.get()
    }

    /// Returns the bytes of pages in memory.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.pool.used() * PAGE_BYTES as u64
    }

    /// Returns the number of pages that have changed since they were written out.
    #[inline(always)]
    pub(crate) fn dirty(&self) -> u64 {
        self.dirty.load(Ordering::Relaxed)
    }

    /// Returns the number of pages that have changed since they were written out, and of images of
    /// some of them, for the checkpoint in progress.
    #[inline(always)]
    pub(crate) fn changed(&self) -> u64 {
        self.dirty() + self.checkpoint_images()
    }

    /// Returns the pages of the checkpoint in progress that have changed since it started.
    #[inline(always)]
    pub(crate) fn checkpoint_images(&self) -> u64 {
        self.epochs.held_by_checkpoint()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
