//! Which pages of a heap have room for more records. All of it is in memory only: of a database that
//! was opened, it is found out piece by piece, from what the page map says about each page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::page::EMPTY;
use crate::pager::PageNumber;

/// Threads that insert at the same time do so into different pages, if there are not too many.
const LANES: usize = 8;

/// Classes of pages that have room.
const CLASSES: usize = EMPTY as usize + 1;

#[derive(Default)]
pub struct Rooms {
    /// The pages that threads are filling; 0 for none.
    lanes: [AtomicU32; LANES],
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    by_class: [BTreeSet<PageNumber>; CLASSES],
    classes: BTreeMap<PageNumber, u8>,
}

thread_local! {
    static LANE: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % LANES
    };
}

impl Rooms {
    fn lane(&self) -> &AtomicU32 {
        &self.lanes[LANE.with(|lane| *lane)]
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page that this thread is filling.
    pub fn current(&self) -> Option<PageNumber> {
        Some(self.lane().load(Ordering::Relaxed)).filter(|page| *page != 0)
    }

    /// This thread fills another page from here on, or none.
    pub fn fill(&self, page: Option<PageNumber>) {
        self.lane().store(page.unwrap_or(0), Ordering::Relaxed);
    }

    /// Whether a thread is filling a page.
    pub fn is_being_filled(&self, page: PageNumber) -> bool {
        self.lanes.iter().any(|lane| lane.load(Ordering::Relaxed) == page)
    }

    /// Takes a page of a class or of one with more room, of those with the least.
    pub fn take(&self, least: u8) -> Option<PageNumber> {
        let mut open = self.open();
        let from = usize::from(least.max(1));
        let page = open.by_class.get_mut(from..)?.iter_mut().find_map(BTreeSet::pop_first)?;
        open.classes.remove(&page);
        Some(page)
    }

    /// Notes how much room a page has; of class 0, or gone, it is of no use.
    pub fn note(&self, page: PageNumber, class: u8) {
        let mut open = self.open();
        if let Some(before) = open.classes.remove(&page) {
            open.by_class[usize::from(before)].remove(&page);
        }
        if class > 0 && usize::from(class) < CLASSES {
            open.by_class[usize::from(class)].insert(page);
            open.classes.insert(page, class);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_page_with_room_comes_first_and_none_twice() {
        let rooms = Rooms::default();
        for (page, class) in [(9, 1), (8, 3), (7, 0), (6, 2), (5, 2), (4, EMPTY), (3, 200)] {
            rooms.note(page, class);
        }
        rooms.note(9, 2);
        rooms.note(8, 1);
        rooms.note(5, 0);
        let taken: Vec<_> = std::iter::from_fn(|| rooms.take(2)).collect();
        assert_eq!(taken, [6, 9, 4]);
        assert_eq!((rooms.take(0), rooms.take(0)), (Some(8), None));
        assert_eq!(rooms.take(5), None);
    }
}
