//! Writes pages as they were at one moment to unused slots. It is a step machine: between steps,
//! its caller and all other threads may do other things.

use crate::data::{DataFile, SLOT_BYTES};
use crate::error::Result;
use crate::pager::{Copied, PageNumber, Pager, ReadEpoch};

/// Pages that are written in a step.
const STEP: usize = 64;

/// Pages that are being written out.
pub(super) struct PageWriter<'w> {
    pager: &'w Pager,
    data: &'w DataFile,
    moment: ReadEpoch,
    /// The pages that may still have to be written, the last first.
    pages: Vec<PageNumber>,
    bytes: Vec<u8>,
}

impl<'w> PageWriter<'w> {
    /// Starts to write the pages that `choose` leaves of all that may have changed before a moment.
    /// Pages that were freed before it have no slots any more.
    pub(super) fn new(
        pager: &'w Pager,
        data: &'w DataFile,
        moment: ReadEpoch,
        choose: impl FnOnce(&mut Vec<PageNumber>),
    ) -> Result<Self> {
        debug_assert!(!moment.sees(pager.epoch()), "pages are written as of a moment that is over");
        let mut pages = pager.changed_pages();
        // Taken after that list: by now, all pages are freed that were freed before the moment.
        let mut freed = pager.take_freed(moment);
        while let Some(page) = freed.pop() {
            if let Err(error) = data.remove(page) {
                freed.push(page);
                pager.give_freed(freed);
                return Err(error);
            }
        }
        choose(&mut pages);
        pages.sort_unstable();
        pages.reverse();
        Ok(Self { pager, data, moment, pages, bytes: Vec::new() })
    }

    /// Returns the pages that may still have to be written.
    pub(super) fn left(&self) -> &[PageNumber] {
        &self.pages
    }

    /// Writes some pages; returns true if there are more.
    pub(super) fn step(&mut self) -> Result<bool> {
        let mut numbers = Vec::new();
        let mut words = Vec::new();
        self.bytes.clear();
        while numbers.len() < STEP
            && let Some(page) = self.pages.pop()
        {
            let from = self.bytes.len();
            self.bytes.resize(from + SLOT_BYTES, 0);
            match self.pager.copy_at(self.moment, page, &mut self.bytes[from..]) {
                Copied::Nothing => {
                    self.bytes.truncate(from);
                    continue;
                }
                Copied::Frame(word) => words.push((page, word)),
                Copied::Image => {}
            }
            numbers.push(page);
        }
        debug_assert_eq!(self.bytes.len(), numbers.len() * SLOT_BYTES, "each page is copied");
        debug_assert!(words.len() <= numbers.len(), "pages in frames are some of those copied");
        if !numbers.is_empty() {
            self.data.write(&numbers, &self.bytes)?;
        }
        words.into_iter().for_each(|(page, word)| self.pager.written(page, word));
        Ok(!self.pages.is_empty())
    }
}
