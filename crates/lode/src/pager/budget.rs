//! The memory budget. Pages have all of it except for page images of snapshots and of the
//! checkpoint in progress, and the bytes lent to transactions.

use std::sync::atomic::{AtomicU64, Ordering};

use super::frame::FrameNumber;
use super::memory::Cells;
use super::page::PAGE_BYTES;
use super::{MOST_CHANGED, MOST_NUMBERS, Pager, SPARE_FRAMES};
use crate::error::{Error, Result};

/// Images that snapshots may hold of a small budget, if half of it has as many: 16 MiB.
const SMALL_BUDGET_IMAGES: u64 = 1024;

/// Images that snapshots may hold with any budget: 1 MiB, or the longest record.
const LEAST_IMAGES: u64 = 64;

/// The fewest page numbers of a database in a directory: 4 GiB of tables' pages.
const LEAST_NUMBERS: usize = 5 << 16;

/// The divisor for the part of a process's addresses that the table of pages takes up.
const PART_FOR_TABLE: u64 = 16;

/// The limits of memory and addresses for pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryLimits {
    /// Memory for pages, images and transactions.
    pub budget_bytes: u64,
    /// Addresses that the process may have, if they are limited.
    pub address_bytes: Option<u64>,
}

impl MemoryLimits {
    /// Returns the limits of a process without a limit of addresses.
    #[cfg(test)]
    pub(crate) fn of_budget(budget_bytes: u64) -> Self {
        Self { budget_bytes, address_bytes: None }
    }

    /// Returns the most page numbers: two cells for each have to have addresses.
    pub(super) fn most_numbers(self) -> usize {
        let of_table = |bytes: u64| bytes / PART_FOR_TABLE / size_of::<[AtomicU64; 2]>() as u64;
        let numbers = self.address_bytes.map_or(u64::MAX, of_table);
        const { assert!(LEAST_NUMBERS <= MOST_NUMBERS, "the bounds are in order") };
        numbers.clamp(LEAST_NUMBERS as u64, MOST_NUMBERS as u64) as usize
    }

    /// Checks that the process may have addresses for all memory besides `frames` pages: as many
    /// for page images, half as many for transactions, and some for parts outside the budget. If
    /// memory is asked for later and missing, the process ends.
    pub(super) fn expect_addresses(self, frames: u32) -> Result<()> {
        /// For threads, segments of the log, and tables.
        const OTHERS_BYTES: u64 = 64 << 20;
        let Some(address_bytes) = self.address_bytes else { return Ok(()) };
        let budget = u64::from(frames) * PAGE_BYTES as u64;
        let bytes = budget + budget / 2 + OTHERS_BYTES.min(address_bytes / 8);
        Cells::new(bytes as usize / size_of::<AtomicU64>(), false).map(drop)
    }
}

/// Pages that can be lent of a database in memory that is full: 1 MiB, to delete records.
const LEAST_LENT: u64 = 64;

impl Pager {
    /// Returns the budget in frames.
    fn count(&self) -> u64 {
        self.frames.count().into()
    }

    /// Returns the bytes of memory for pages, images and transactions.
    pub(crate) fn budget_bytes(&self) -> u64 {
        self.count() * PAGE_BYTES as u64
    }

    /// Returns the bytes that are lent.
    pub(crate) fn lent_bytes(&self) -> u64 {
        self.lent.load(Ordering::Relaxed)
    }

    fn lent_pages(&self) -> u64 {
        self.lent_bytes().div_ceil(PAGE_BYTES as u64)
    }

    /// Returns the most bytes that can be lent: a third of the budget; in memory, where no page can
    /// go, three eighths of the bytes that pages leave, but always some. So new records that a
    /// transaction holds have room in pages as well, in hashed tables too, whose pages are filled
    /// to six tenths.
    pub(crate) fn most_lent_bytes(&self) -> u64 {
        let pages = match self.data {
            Some(_) => self.count().saturating_sub(SPARE_FRAMES) / 3,
            None => {
                let left = self.count().saturating_sub(self.pool.used());
                (self.count() / 3).min(left / 8 * 3).max(LEAST_LENT)
            }
        };
        debug_assert!(pages <= self.count().max(LEAST_LENT), "a part of the budget is lent");
        pages * PAGE_BYTES as u64
    }

    /// Takes bytes from the budget, not for pages; returns false if it has not that many.
    pub(crate) fn lend(&self, bytes: u64) -> bool {
        let most_bytes = self.most_lent_bytes();
        let add = |lent: u64| Some(lent + bytes).filter(|lent| *lent <= most_bytes);
        if self.lent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            return false;
        }
        if self.epochs.held() > 0 {
            self.bound_images();
        }
        for _ in 0..bytes.div_ceil(PAGE_BYTES as u64) {
            self.leave_room_beside_pages();
        }
        true
    }

    /// Takes bytes back that were [lent](Self::lend).
    pub(crate) fn take_back(&self, bytes: u64) {
        let lent = self.lent.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(lent >= bytes, "no more is taken back than was lent");
    }

    /// Returns the most bytes that records written at once can have, while the memory that they
    /// need besides pages is held: they are stored in pages, which change all before one can leave.
    /// A step of a commit needs some pages on the way. Images of a checkpoint do not count: a
    /// commit that finds no room waits for its end.
    pub(crate) fn most_written_bytes(&self) -> u64 {
        let beside = SPARE_FRAMES + self.lent_pages();
        let most = self.count().saturating_sub(beside).max(self.count() / 8) / 8 * 7;
        most.saturating_sub(2 * MOST_CHANGED).max(1) * PAGE_BYTES as u64
    }

    /// Returns the most pages that may have changed, so that others can still come into memory.
    pub(crate) fn most_dirty(&self) -> u64 {
        let beside = SPARE_FRAMES + self.lent_pages() + self.checkpoint_images();
        // So that work continues, however many pages change while a checkpoint is written.
        self.count().saturating_sub(beside).max(self.count() / 8)
    }

    /// Returns the most pages that one commit may change. The replay of the log may change some
    /// more than it did.
    fn most_changed_at_once(&self) -> u64 {
        self.most_dirty() / 8 * 7
    }

    /// Returns true if memory has room for the changes of one more operation, and `extra_pages`
    /// more, while none are written out.
    pub(crate) fn has_room_for_change(&self, extra_pages: u64) -> bool {
        let changed = self.dirty() + MOST_CHANGED + extra_pages;
        self.data.is_none() || changed <= self.most_changed_at_once()
    }

    /// Returns true if memory has room for an operation that gives pages back, and is in no log.
    pub(crate) fn has_room_to_tidy(&self) -> bool {
        self.data.is_none() || self.dirty() + MOST_CHANGED <= self.most_dirty()
    }

    /// Returns the most images that snapshots may hold: their share, but always some.
    pub(super) fn most_images(&self) -> u64 {
        self.share_of_images().max(LEAST_IMAGES)
    }

    /// Returns the share of the budget that images have: a quarter, or half of a small one, as far
    /// as changed pages and lent bytes leave it.
    fn share_of_images(&self) -> u64 {
        let most = (self.count() / 4).max(SMALL_BUDGET_IMAGES.min(self.count() / 2));
        let taken = match self.data {
            Some(_) => self.dirty() + SPARE_FRAMES + self.checkpoint_images(),
            None => self.pool.used(),
        };
        let left = self.count().saturating_sub(taken + self.lent_pages());
        debug_assert!(most <= self.count() / 2, "images have half of the budget at most");
        most.min(left)
    }

    /// Has readers wait, and then the oldest snapshots expire, while there are more images than
    /// allowed.
    pub(super) fn bound_images(&self) {
        self.saved.drop_some(&self.epochs);
        if self.epochs.held() > self.share_of_images() {
            self.stop_passing();
        }
        while self.epochs.held() > self.most_images() && self.epochs.expire_oldest() {}
    }

    /// Returns true if other uses than pages leave no frame of the budget to one more page. Images
    /// are not counted beyond half of it, so that a small one is not taken from pages altogether.
    /// Nor are the frames that changed pages leave to others: with the frame of one page only, each
    /// page on the way to a record would take it from the one above.
    pub(super) fn is_over_budget(&self) -> bool {
        let images = (self.epochs.held() + self.checkpoint_images()).min(self.count() / 2);
        let beside = images + self.lent_pages();
        if beside == 0 {
            return false;
        }
        let used = self.pool.used();
        let leaves_some = self.data.is_none() || used >= self.dirty() + SPARE_FRAMES;
        leaves_some && used + beside >= self.count()
    }

    /// Makes room for a page where other uses have taken up memory: returns the frame of a page
    /// that can come back, or has snapshots expire.
    ///
    /// # Errors
    /// `Full` if pages that cannot come back have all memory that is not lent.
    #[cold]
    pub(super) fn make_room_for_page(&self) -> Result<Option<FrameNumber>> {
        if self.data.is_some() {
            return Ok(self.evict(self.count() * 3));
        }
        self.bound_images();
        if self.pool.used() + self.lent_pages() < self.count() {
            Ok(None)
        } else {
            Err(Error::Full { budget_bytes: self.budget_bytes() })
        }
    }

    /// Gives the memory of a page back that can come back, where another use has taken it up.
    pub(super) fn leave_room_beside_pages(&self) {
        /// Frames that are looked at for one that can be given back.
        const MOST_STEPS: u64 = 64;
        if self.is_over_budget()
            && self.data.is_some()
            && let Some(frame) = self.evict(MOST_STEPS)
        {
            self.frames.give_back(frame);
            self.pool.give(frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::DataFile;
    use crate::io::Disk;
    use crate::io::simulated::Simulated;
    use crate::pager::Space;

    fn pager(limits: MemoryLimits) -> Pager {
        let file = Simulated::new(0).create("data").expect("an empty disk");
        let data = Arc::new(DataFile::create(file).expect("space"));
        Pager::new(limits, Some(data)).expect("addresses")
    }

    #[test]
    fn the_table_of_pages_takes_up_a_part_of_the_addresses() {
        let numbers = |address_bytes| {
            let limits = MemoryLimits { budget_bytes: 1 << 20, address_bytes };
            limits.most_numbers() as u64
        };
        assert_eq!(numbers(None), 1 << 26, "1 TiB");
        assert_eq!(numbers(Some(1 << 40)), 1 << 26);
        assert_eq!(numbers(Some(1 << 30)) * 16, (1 << 30) / 16);
        assert_eq!(numbers(Some(1 << 20)), (1 << 16) + (1 << 18), "4 GiB");
    }

    /// A table takes extents until no page number is left.
    #[test]
    fn a_database_that_has_all_its_pages_is_full() {
        let limits = MemoryLimits { budget_bytes: 1 << 20, address_bytes: Some(1 << 20) };
        let pager = pager(limits);
        let space = Space::default();
        let full = Error::DatabaseFull { most_bytes: 4 << 30 };
        for _ in 0..(1 << 18) {
            space.take(&pager).expect("a number");
        }
        assert_eq!(space.take(&pager), Err(full.clone()));
        let extents = space.extents();
        assert_eq!(extents.len(), 1 << 12);
        assert_eq!(pager.restore_extents(&extents), Ok(()), "it can be opened again");
        let beyond = crate::pager::PageNumber::new(((1 << 16) + (1 << 18)) as u32);
        assert_eq!(pager.restore_extents(&[beyond]), Err(full), "it was made with more");
    }

    /// Lent bytes are missing to pages, and bytes that pages need cannot be lent.
    #[test]
    fn what_is_lent_and_what_pages_take_up_is_one_budget() {
        let pager = pager(MemoryLimits::of_budget(4 << 20));
        let page_bytes = PAGE_BYTES as u64;
        assert_eq!(pager.most_dirty(), 256 - SPARE_FRAMES);
        let most_bytes = (256 - SPARE_FRAMES) / 3 * page_bytes;
        assert_eq!(pager.most_lent_bytes(), most_bytes);
        assert!(!pager.lend(most_bytes + 1));
        assert!(pager.lend(most_bytes - page_bytes) && pager.lend(page_bytes));
        assert!(!pager.lend(1));
        assert_eq!(pager.most_dirty(), 256 - SPARE_FRAMES - most_bytes / page_bytes);
        assert!(pager.most_written_bytes() >= page_bytes, "a small write has room beside it");
        pager.take_back(most_bytes);
        assert_eq!((pager.lent_bytes(), pager.most_dirty()), (0, 256 - SPARE_FRAMES));

        let in_memory = Pager::new(MemoryLimits::of_budget(4 << 20), None).expect("addresses");
        let space = Space::default();
        for _ in 0..200 {
            in_memory.allocate(&space).expect("room");
        }
        assert_eq!(in_memory.most_lent_bytes(), LEAST_LENT * page_bytes, "little is left");
        assert!(in_memory.lend(50 * page_bytes));
        for _ in 0..6 {
            in_memory.allocate(&space).expect("room");
        }
        let full = in_memory.allocate(&space).map(|latched| latched.page());
        assert_eq!(full, Err(Error::Full { budget_bytes: 4 << 20 }));
        in_memory.take_back(50 * page_bytes);
        in_memory.allocate(&space).expect("room again");
    }
}
