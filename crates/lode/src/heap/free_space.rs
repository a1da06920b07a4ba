//! Which pages of a heap have room for more records. All of it is in memory only: of a database
//! that was opened, it is found out piece by piece, from what the page map says about each page.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::pager::{PAGE_WORDS, PageNumber};

/// Threads that insert at the same time do so into different pages, if there are not too many.
const LANES: usize = 8;

/// A page with fewer free words is full.
const LEAST_ROOM: usize = PAGE_WORDS / 4;

/// The words of a page's room that records of all lengths fill, about.
fn usable(room: usize) -> usize {
    room / 16 * 15
}

#[derive(Default)]
pub(super) struct FreeSpaceMap {
    /// The pages that threads are filling; 0 for none.
    lanes: [AtomicU32; LANES],
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// Pages with the words of room that they have, and so ordered.
    by_room: BTreeSet<(usize, PageNumber)>,
    free: BTreeMap<PageNumber, usize>,
    /// Pages that are being emptied, which take no records.
    closed: HashSet<PageNumber>,
}

thread_local! {
    static LANE: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % LANES
    };
}

/// What a lane has whose threads fill no page.
const NO_PAGE: u32 = 0;

impl FreeSpaceMap {
    fn lane(&self) -> &AtomicU32 {
        &self.lanes[LANE.with(|lane| *lane)]
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page that this thread is filling.
    pub(super) fn current(&self) -> Option<PageNumber> {
        let page = self.lane().load(Ordering::Relaxed);
        (page != NO_PAGE).then(|| PageNumber::new(page))
    }

    /// This thread fills another page from here on.
    pub(super) fn fill(&self, page: PageNumber) {
        let before = PageNumber::new(self.lane().swap(page.get(), Ordering::Relaxed));
        if before.get() != NO_PAGE && before != page {
            // Another thread of the same lane was quicker. The thread that takes the page sees how
            // much room it has.
            self.note(before, LEAST_ROOM);
        }
    }

    /// No thread of this thread's lane fills a page any more, if it was this one.
    pub(super) fn leave(&self, page: PageNumber) {
        let _ =
            self.lane().compare_exchange(page.get(), NO_PAGE, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether a thread is filling a page.
    pub(super) fn is_being_filled(&self, page: PageNumber) -> bool {
        self.lanes.iter().any(|lane| lane.load(Ordering::Relaxed) == page.get())
    }

    /// Takes the fullest of the pages with at least `room` words of room.
    pub(super) fn take(&self, room: usize) -> Option<PageNumber> {
        let mut open = self.open();
        let found = *open.by_room.range((room, PageNumber::default())..).next()?;
        open.by_room.remove(&found);
        open.free.remove(&found.1);
        Some(found.1)
    }

    /// Closes the emptiest pages, as many as the others with room can take the records of. Returns
    /// them.
    pub(super) fn close_emptiest(&self) -> HashSet<PageNumber> {
        let mut open = self.open();
        let mut left: usize = open.by_room.iter().map(|(room, _)| usable(*room)).sum();
        let mut moved = 0;
        let emptiest = open.by_room.iter().rev().copied();
        let chosen: Vec<_> = emptiest
            .take_while(|(room, _)| {
                left -= usable(*room);
                moved += PAGE_WORDS.saturating_sub(*room);
                moved <= left
            })
            .collect();
        for (room, page) in chosen {
            open.by_room.remove(&(room, page));
            open.free.remove(&page);
            open.closed.insert(page);
        }
        open.closed.clone()
    }

    /// Lets closed pages take records again.
    pub(super) fn open_closed(&self) {
        self.open().closed.clear();
    }

    /// Notes how many words of room a page has. If they are few, or it is gone, it is of no use.
    pub(super) fn note(&self, page: PageNumber, room: usize) {
        let mut open = self.open();
        if let Some(before) = open.free.remove(&page) {
            open.by_room.remove(&(before, page));
        }
        if room == 0 {
            // It may be gone, and its number come back as that of a new page.
            open.closed.remove(&page);
        }
        if room >= LEAST_ROOM && !open.closed.contains(&page) {
            open.by_room.insert((room, page));
            open.free.insert(page, room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(number: u32) -> PageNumber {
        PageNumber::new(number)
    }

    #[test]
    fn as_many_pages_are_closed_as_the_others_have_room_for_and_take_nothing() {
        let free = FreeSpaceMap::default();
        page(1).run(100).for_each(|page| free.note(page, PAGE_WORDS / 2));
        let closed = free.close_emptiest();
        assert!((45..=50).contains(&closed.len()), "{}", closed.len());
        closed.iter().for_each(|page| free.note(*page, PAGE_WORDS / 2 + 9));
        let taken: Vec<_> = std::iter::from_fn(|| free.take(PAGE_WORDS / 2)).collect();
        assert_eq!(taken.len() + closed.len(), 100);
        assert!(taken.iter().all(|page| !closed.contains(page)));
        free.open_closed();
        closed.iter().for_each(|page| free.note(*page, PAGE_WORDS / 2));
        assert!(free.take(PAGE_WORDS / 2).is_some_and(|page| closed.contains(&page)));
    }

    #[test]
    fn the_fullest_page_with_room_comes_first_and_none_twice() {
        let free = FreeSpaceMap::default();
        let room = |quarters: usize| LEAST_ROOM * quarters;
        for (number, quarters) in [(9, 1), (8, 3), (7, 0), (6, 2), (5, 2), (4, 4)] {
            free.note(page(number), room(quarters));
        }
        free.note(page(9), room(2) + 1);
        free.note(page(8), room(1));
        free.note(page(5), 0);
        let taken: Vec<_> = std::iter::from_fn(|| free.take(room(2))).collect();
        assert_eq!(taken, [6, 9, 4].map(page));
        assert_eq!((free.take(0), free.take(0)), (Some(page(8)), None));
    }
}
