//! Moments: all pages as they are when an epoch ends can be read as long as a reader needs them. A
//! page that changes leaves an image to the moments before. Images take up memory that pages have,
//! and no more than their share of it.

use std::sync::atomic::Ordering;

use super::epochs::{Epoch, ReadEpoch, Which};
use super::images::PageImage;
use super::page::{PAGE_BYTES, PageRef};
use super::{PageNumber, Pager};
use crate::error::{Error, Result};

impl Pager {
    /// Ends the current epoch. The pages as they are now are kept until the epoch that this returns
    /// is [released](Self::release). No operation of several steps may be in progress.
    pub(crate) fn moment(&self) -> ReadEpoch {
        self.epochs.end()
    }

    /// Removes one reader from this moment.
    pub(crate) fn release(&self, moment: ReadEpoch) {
        self.saved.release(&self.epochs, moment);
        self.saved.drop_all(&self.epochs);
    }

    /// Returns true if a page that was looked at since has changed after a moment.
    pub(crate) fn has_changed_since(&self, moment: ReadEpoch, page: PageNumber) -> bool {
        let [_, stamp] = self.entry(page);
        !moment.sees(Epoch::load(stamp, Ordering::Acquire))
    }

    /// Reads a page as it was at a moment. `read` may be called several times, at times on a page
    /// that is being changed; the result of its last call is right.
    pub(crate) fn at<T>(
        &self,
        moment: ReadEpoch,
        page: PageNumber,
        mut read: impl FnMut(PageRef<'_>) -> T,
    ) -> Result<T> {
        let [_, cell] = self.entry(page);
        debug_assert!(!moment.sees(self.epoch()), "a moment is over when it is read at");
        loop {
            let stamp = Epoch::load(cell, Ordering::Acquire);
            if !moment.sees(stamp) {
                // The thread that set the stamp had saved the page before.
                let image = self.saved.find(page, moment);
                let image = image.ok_or_else(|| self.no_image(moment, page))?;
                return Ok(read(image.words()));
            }
            let looked = self.read_optimistic(page);
            if Epoch::load(cell, Ordering::Acquire) != stamp {
                continue;
            }
            let (seen, words) = looked?;
            let answer = read(words);
            if seen.validate() {
                return Ok(answer);
            }
        }
    }

    /// Returns the error of a page that has changed since a moment, and has no image.
    #[cold]
    fn no_image(&self, moment: ReadEpoch, page: PageNumber) -> Error {
        if self.epochs.is_expired(moment) {
            Error::SnapshotTooOld { most_bytes: self.most_images() * PAGE_BYTES as u64 }
        } else {
            Error::corrupt(format!("page {page}"), "a page names it that should not")
        }
    }

    /// Keeps an image of a page that is about to change, if a snapshot or the checkpoint needs it.
    #[inline(never)]
    pub(super) fn keep_if_needed(&self, which: Which, dirty: bool, words: PageRef<'_>) {
        if self.epochs.needs(which.from, dirty) {
            self.save(which, dirty, PageImage::of(&self.images, words));
        }
    }

    /// Keeps an image of a page for the snapshots and the checkpoint that need it.
    pub(super) fn save(&self, which: Which, dirty: bool, image: PageImage) {
        debug_assert!(which.page >= super::FIRST_TABLE_PAGE, "images are of tables' pages");
        debug_assert!(which.from <= which.before, "an image is of before a change");
        self.saved.keep(&self.epochs, which, dirty, image);
        self.bound_images();
        // Images have the memory of pages that can come back.
        self.leave_room_beside_pages();
    }

    /// Returns the bytes of page images that snapshots need.
    pub(crate) fn saved_bytes(&self) -> u64 {
        self.saved.count() * PAGE_BYTES as u64
    }
}
