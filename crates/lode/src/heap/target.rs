//! The choice of pages for records that come into the heap.

use super::Heap;
use super::page::{self, HeapPage, HeapPageMut};
use crate::error::{Error, Result};
use crate::pager::{PAGE_BYTES, PageNumber, Pager, Seen};

/// The longest record that is put next to others in the page that a thread is filling.
const MOST_BESIDE: usize = PAGE_BYTES / 4;

/// Returns the words of room of a page, if it is in memory and no thread is changing it.
pub(super) fn room_of(pager: &Pager, page: PageNumber) -> Option<usize> {
    let (seen, words) = pager.try_read(page)?;
    let room = HeapPage::new(words).room();
    seen.validate().then_some(room)
}

impl Heap {
    /// Returns a page with room for a record that takes up `size` bytes there, and its room.
    pub(super) fn target<'p>(&self, pager: &'p Pager, size: usize) -> Result<(Seen<'p>, usize)> {
        let beside = size <= MOST_BESIDE;
        loop {
            let current = if beside { self.free_space.current() } else { None };
            let open = || self.take_room(pager, page::room_for(size));
            let Some(number) = current.or_else(open) else {
                self.find_room(pager, beside)?;
                continue;
            };
            let (seen, words) = match pager.read_optimistic(number) {
                Ok(looked) => looked,
                // The page was given back, or cannot be read: no room there.
                Err(Error::Corrupt { .. }) => {
                    self.free_space.leave(number);
                    continue;
                }
                Err(error) => {
                    self.forget_not(number, page::room_for(size));
                    return Err(error);
                }
            };
            let page = HeapPage::new(words);
            let fits = page.fits(size);
            let room = page.room();
            match seen.validate() {
                true if fits => {
                    if beside {
                        self.free_space.fill(number);
                    }
                    return Ok((seen, room));
                }
                true => {
                    self.free_space.leave(number);
                    self.free_space.note(number, room);
                }
                false => self.forget_not(number, room),
            }
        }
    }

    /// Takes a page with at least `room` words of room.
    pub(super) fn take_room(&self, pager: &Pager, room: usize) -> Option<PageNumber> {
        self.free_space.take(room, |page| room_of(pager, page))
    }

    /// Notes the room of a page that was not filled, and may have been taken from those with room.
    pub(super) fn forget_not(&self, number: PageNumber, room: usize) {
        if !self.free_space.is_being_filled(number) {
            self.free_space.note(number, room);
        }
    }

    /// Finds out which of some more pages of an opened database have room; or, if all are known,
    /// takes a new page.
    fn find_room(&self, pager: &Pager, beside: bool) -> Result<()> {
        if self.survey(pager)? {
            return Ok(());
        }
        let mut new = pager.allocate(&self.space)?;
        let number = new.page();
        let mut page = HeapPageMut::new(new.first_content());
        page.clear();
        let room = page.room();
        debug_assert!(page.is_empty(), "a new page has all of its room");
        drop(new);
        if beside {
            self.free_space.fill(number)
        } else {
            self.free_space.note(number, room)
        }
        Ok(())
    }
}
