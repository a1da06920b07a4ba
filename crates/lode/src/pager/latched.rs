//! A latched page: its content changes here only, after an image that others need was kept.

use std::sync::atomic::{AtomicU64, Ordering};

use super::epochs::{Epoch, Which};
use super::{
    DIRTY, FREE, FrameNumber, LATCH, PRESENT, PageMut, PageNumber, PageRef, Pager, Space, VERSION,
    lock,
};
use crate::wal;

/// A page that only the holder of this may change; unlatched when dropped.
pub(crate) struct Latched<'p> {
    pub(super) pager: &'p Pager,
    pub(super) page: PageNumber,
    /// The word and the stamp of the page.
    pub(super) entry: &'p [AtomicU64; 2],
    /// The word without the latch.
    pub(super) word: u64,
    pub(super) words: PageRef<'p>,
    pub(super) changed: bool,
    /// True if no page led to it before the epoch that changes it: no image is needed.
    pub(super) is_new: bool,
}

impl<'p> Latched<'p> {
    /// Returns the page's number.
    pub(crate) fn page(&self) -> PageNumber {
        self.page
    }

    /// Returns the page's content, to read.
    pub(crate) fn words(&self) -> PageRef<'p> {
        self.words
    }

    /// Returns the page's content, to change by an operation of this epoch.
    #[inline(always)]
    pub(crate) fn change(&mut self, epoch: Epoch) -> PageMut<'_> {
        let [_, stamp] = self.entry;
        let before = Epoch::load(stamp, Ordering::Relaxed);
        debug_assert!(before <= epoch, "page {} changed in a later epoch", self.page);
        debug_assert!(self.is_latched(), "page {} is changed without a latch", self.page);
        debug_assert!(epoch <= self.pager.epoch(), "no epoch is in the future");
        // A reader between the two epochs would find half of the change.
        let is_first = self.is_new || !self.changed;
        debug_assert!(is_first || before == epoch, "page {} changes in two epochs", self.page);
        if before < epoch {
            if !self.is_new {
                let which = Which { page: self.page, from: before, before: epoch };
                self.pager.keep_if_needed(which, self.word & DIRTY != 0, self.words);
            }
            epoch.store(stamp, Ordering::Release);
        }
        self.changed = true;
        PageMut::new(self.words)
    }

    /// Returns the word that names the frame of the log which changed the page last, if pages [have
    /// such words](Pager::name_frames).
    #[inline(always)]
    pub(crate) fn last_frame(&self) -> Option<&'p AtomicU64> {
        self.pager.last_frames.get().map(|cells| cells.cell(self.page.index()))
    }

    /// Notes that the page gets records of another, besides its own: it comes after the frames of
    /// both.
    pub(crate) fn cover(&self, from: &Latched<'_>) {
        if let (Some(own), Some(other)) = (self.last_frame(), from.last_frame()) {
            wal::cover(own, other);
        }
    }

    /// Notes that the page gets all of its records from another: it comes after the frames of that
    /// one.
    pub(crate) fn inherit(&self, from: &Latched<'_>) {
        if let (Some(own), Some(other)) = (self.last_frame(), from.last_frame()) {
            wal::inherit(own, other);
        }
    }

    /// Returns true if the page's word is as this holder has left it.
    fn is_latched(&self) -> bool {
        self.entry[0].load(Ordering::Relaxed) == self.word | LATCH
    }

    /// Returns the content of a page that was just allocated, to be written for the first time.
    pub(crate) fn first_content(&mut self) -> PageMut<'_> {
        debug_assert!(self.is_new, "page {} is not new", self.page);
        PageMut::new(self.words)
    }

    /// Gives the page back to its table, and its frame to all.
    pub(crate) fn free(mut self, space: &Space, epoch: Epoch) {
        debug_assert!(space.has(self.page), "page {} is of another table", self.page);
        self.change(epoch);
        let pager = self.pager;
        let page = self.page;
        let entry = self.entry;
        let word = self.word;
        debug_assert!(word & (PRESENT | FREE) == PRESENT, "page {page} is freed once");
        if word & DIRTY != 0 {
            let dirty = pager.dirty.fetch_sub(1, Ordering::Relaxed);
            debug_assert!(dirty > 0, "changed page {page} was counted");
        }
        if pager.data.is_some() {
            lock(&pager.freed).push((page, epoch));
        }
        std::mem::forget(self);
        space.give(page, || {
            let word = (word & !(VERSION - 1)).wrapping_add(VERSION) | FREE;
            entry[0].store(word, Ordering::Release);
        });
        // Only now may another thread have it.
        pager.pool.give(FrameNumber::of_word(word));
    }
}

impl Drop for Latched<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let mut word = self.word;
        debug_assert!(self.is_latched(), "page {} is unlatched once", self.page);
        if self.changed {
            if word & DIRTY == 0 {
                let dirty = self.pager.dirty.fetch_add(1, Ordering::Relaxed);
                let frames = u64::from(self.pager.frames.count());
                debug_assert!(dirty < frames, "each changed page has a frame");
            }
            word = word.wrapping_add(VERSION) | DIRTY;
        }
        self.entry[0].store(word, Ordering::Release);
    }
}
