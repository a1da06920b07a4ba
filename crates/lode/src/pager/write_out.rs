//! The needs of a checkpoint: the pages that have changed, as they were at its moment.

use std::sync::atomic::Ordering;

use super::absent::wait_for_latch;
use super::{
    DIRTY, Epoch, FREE, FrameNumber, Image, LATCH, PAGE_BYTES, PRESENT, PageImage, PageNumber,
    Pager, ReadEpoch, Space, VERSION, Which, lock,
};
use crate::data::DataFile;
use crate::error::{Error, Result};

/// The outcome of copying a page.
pub(crate) enum Copied {
    /// The page as it was, which is still in its frame with this word.
    Frame(u64),
    /// The page as it was, which has changed since.
    Image,
    /// The page had not changed, or did not exist.
    Nothing,
}

impl Pager {
    /// Ends the current epoch for the checkpoint.
    pub(crate) fn checkpoint_moment(&self) -> ReadEpoch {
        self.epochs.end_for_checkpoint()
    }

    /// Ends the current epoch; the pages as they are at its end are not kept.
    pub(crate) fn end_epoch(&self) -> ReadEpoch {
        self.epochs.end_for_none()
    }

    /// Returns the epoch in which a page last changed.
    pub(crate) fn changed_in(&self, page: PageNumber) -> Epoch {
        let [_, stamp] = self.entry(page);
        Epoch::load(stamp, Ordering::Relaxed)
    }

    /// Ends the checkpoint's needs.
    pub(crate) fn release_checkpoint(&self) {
        self.saved.release_checkpoint(&self.epochs);
        self.saved.drop_all(&self.epochs);
    }

    /// Returns the pages that may have changed before the moment of the checkpoint since they were
    /// written out, in order. When it returns, all operations before the moment are complete.
    pub(crate) fn changed_pages(&self) -> Vec<PageNumber> {
        let mut pages = Vec::new();
        for page in self.pool.owners() {
            let cell = &self.entry(page)[0];
            let word = cell.load(Ordering::SeqCst);
            if word & (LATCH | DIRTY) != 0 {
                pages.push(page);
            }
            if word & LATCH != 0 {
                wait_for_latch(cell);
            }
        }
        // After the frames: pages that have left them in between are here.
        pages.extend(self.epochs.pages_of_checkpoint());
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    /// Takes the pages that were freed before a moment, and forgets them.
    pub(crate) fn take_freed(&self, moment: ReadEpoch) -> Vec<PageNumber> {
        debug_assert!(!moment.sees(self.epoch()), "pages are written as of a moment that is over");
        let mut freed = lock(&self.freed);
        let (taken, kept) = freed.drain(..).partition(|(_, epoch)| moment.sees(*epoch));
        *freed = kept;
        let taken: Vec<(PageNumber, Epoch)> = taken;
        taken.into_iter().map(|(page, _)| page).collect()
    }

    /// Gives back freed pages that were [taken](Self::take_freed).
    pub(crate) fn give_freed(&self, pages: Vec<PageNumber>) {
        debug_assert!(self.data.is_some(), "only a file forgets pages later");
        lock(&self.freed).extend(pages.into_iter().map(|page| (page, Epoch::START)));
    }

    /// Copies a page as it was at the moment of the checkpoint.
    pub(crate) fn copy_at(&self, moment: ReadEpoch, page: PageNumber, bytes: &mut [u8]) -> Copied {
        debug_assert_eq!(bytes.len(), PAGE_BYTES, "a page is copied whole");
        let [cell, stamps] = self.entry(page);
        loop {
            let word = cell.load(Ordering::Acquire);
            if word & LATCH != 0 {
                std::thread::yield_now();
                continue;
            }
            let stamp = Epoch::load(stamps, Ordering::Acquire);
            if !moment.sees(stamp) {
                return match self.saved.find_dirty(page, moment) {
                    Some(image) => {
                        image.words().copy_out(bytes);
                        Copied::Image
                    }
                    None => Copied::Nothing,
                };
            }
            if word & (PRESENT | DIRTY) != PRESENT | DIRTY {
                return Copied::Nothing;
            }
            self.frames.words(FrameNumber::of_word(word)).copy_out(bytes);
            std::sync::atomic::fence(Ordering::Acquire);
            if cell.load(Ordering::Relaxed) == word {
                return Copied::Frame(word);
            }
        }
    }

    /// Notes that a page was written out with this word: if it has not changed, it can leave.
    pub(crate) fn written(&self, page: PageNumber, word: u64) {
        let [cell, _] = self.entry(page);
        debug_assert!(word & (PRESENT | DIRTY) == PRESENT | DIRTY, "page {page} had changed");
        debug_assert!(word & (LATCH | FREE) == 0, "page {page} was at rest");
        let clean = word & !DIRTY;
        if cell.compare_exchange(word, clean, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            let dirty = self.dirty.fetch_sub(1, Ordering::Relaxed);
            debug_assert!(dirty > 0, "changed page {page} was counted");
        }
    }

    /// Has a page written out by the next checkpoint, even if it does not change.
    pub(crate) fn rewrite(&self, page: PageNumber) -> Result<()> {
        /// The most times that another thread may have freed the page and taken it again.
        const MOST_TRIES: usize = 8;
        let mut tries = 0;
        loop {
            let seen = match self.read_optimistic(page) {
                Ok((seen, _)) => seen,
                Err(_) if self.entry(page)[0].load(Ordering::Acquire) & FREE != 0 => return Ok(()),
                Err(Error::Corrupt { .. }) if tries < MOST_TRIES => {
                    tries += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(mut latched) = self.latch(seen) {
                latched.changed = true;
                return Ok(());
            }
        }
    }

    /// Frees all pages of a table that no thread works on any more, readable or not.
    pub(crate) fn free_all(&self, space: &Space, epoch: Epoch) {
        space.used_numbers().into_iter().for_each(|page| self.free(page, space, epoch));
    }

    /// Frees a page that no other page leads to any more, and that no thread changes, readable or
    /// not; one that is not in use stays so.
    pub(crate) fn free(&self, page: PageNumber, space: &Space, epoch: Epoch) {
        loop {
            let [cell, stamp] = self.entry(page);
            let word = cell.load(Ordering::Acquire);
            if word & PRESENT != 0 {
                match self.read_optimistic(page).ok().and_then(|(seen, _)| self.latch(seen)) {
                    Some(latched) => return latched.free(space, epoch),
                    None => continue,
                }
            }
            // If it cannot be known, the next checkpoint finds out.
            let in_file = |data: &DataFile| data.has(page).unwrap_or(true);
            let Some(data) = self.data.as_deref().filter(|data| word & FREE == 0 && in_file(data))
            else {
                return;
            };
            // An image that a snapshot needs is kept, without a frame. If it cannot be read here,
            // it cannot be read there either.
            let before = Epoch::load(stamp, Ordering::Acquire);
            let image = self.epochs.snapshot_needs(before).then(|| {
                let mut bytes = vec![0; PAGE_BYTES];
                let image = data.load(page, &mut bytes).ok().map(|()| Image::of_bytes(&bytes));
                image.map(PageImage::Alone)
            });
            let word = self.latch_absent(page);
            if word & (PRESENT | FREE) == 0 {
                if let Some(image) = image.flatten() {
                    let which = Which { page, from: before, before: epoch };
                    self.save(which, false, image);
                }
                debug_assert!(before <= epoch, "page {page} is freed in its last epoch");
                debug_assert!(space.has(page), "page {page} is of another table");
                epoch.store(stamp, Ordering::Release);
                lock(&self.freed).push((page, epoch));
                space.give(page, || {
                    cell.store(word.wrapping_add(VERSION) | FREE, Ordering::Release);
                });
                return;
            }
            cell.store(word, Ordering::Release);
        }
    }
}
