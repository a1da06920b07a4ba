//! Pages without records.

use super::Heap;
use super::page::HeapPage;
use crate::pager::{PageNumber, Pager};

impl Heap {
    /// Frees a page that has no record, if it is in memory or can be read, and no thread is filling
    /// it. Returns its words of room otherwise, if it is a page with room.
    pub(super) fn free_if_empty(&self, pager: &Pager, number: PageNumber) -> Option<usize> {
        if !self.space.has(number) {
            return None;
        }
        // A page that cannot be looked at stays; it is found empty some other time.
        let (seen, words) = pager.read_optimistic(number).ok()?;
        let page = HeapPage::new(words);
        if !page.is_empty() || self.free_space.is_being_filled(number) {
            let room = page.room();
            return seen.validate().then_some(room);
        }
        let page = pager.latch(seen)?;
        debug_assert!(HeapPage::new(page.words()).is_empty(), "page {number} has no record");
        self.free_space.note(number, 0);
        page.free(&self.space, pager.epoch());
        None
    }

    /// Frees the pages that steps of a commit have left without records, once all are taken or
    /// undone.
    pub(crate) fn free_emptied(&self, pager: &Pager) {
        for number in self.free_space.take_emptied() {
            self.free_if_empty(pager, number);
        }
    }
}
