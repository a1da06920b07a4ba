//! The pages of a heap that have room for more records. All of it is in memory only: of an opened
//! database, it is found out piece by piece, from what the page map says about each page.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::{HashMap, HashSet};

use crate::pager::{PAGE_WORDS, PageNumber};

/// Lanes: threads of different lanes insert into different pages.
const LANES: usize = 8;

/// The fewest free words of a page that is not full.
const LEAST_ROOM: usize = PAGE_WORDS / 4;

/// The number of categories of pages, by their room.
const CATEGORIES: usize = u64::BITS as usize;

const CATEGORY_WORDS: usize = PAGE_WORDS / CATEGORIES;

const _: () = assert!(CATEGORIES * CATEGORY_WORDS == PAGE_WORDS, "each room has a category");

/// Returns about the number of words of a page's room that records of all lengths fill.
fn usable(room: usize) -> usize {
    room / 16 * 15
}

#[derive(Default)]
pub(super) struct FreeSpaceMap {
    /// The pages that threads are filling; 0 for none.
    lanes: [AtomicU32; LANES],
    open: Mutex<Open>,
    /// Pages that have lost their last record in a step of a commit, which frees none.
    emptied: Mutex<Vec<PageNumber>>,
}

struct Open {
    /// The pages of each category, in no order. (As in PostgreSQL's free-space map, which has 256.
    /// A page that loses or gains a record goes to another one in a few steps.)
    categories: [Vec<PageNumber>; CATEGORIES],
    /// A bit for each category that has pages.
    filled: u64,
    /// The location of each page among the categories.
    places: HashMap<PageNumber, Place>,
    /// Pages that are being emptied, which take no records, and their words of room.
    closed: HashMap<PageNumber, usize>,
}

#[derive(Clone, Copy)]
struct Place {
    /// Words of room.
    room: usize,
    /// The page's index in its category.
    at: usize,
}

/// Returns the category of a page with this room.
fn category(room: usize) -> usize {
    (room / CATEGORY_WORDS).min(CATEGORIES - 1)
}

impl Default for Open {
    fn default() -> Self {
        Self {
            categories: [const { Vec::new() }; CATEGORIES],
            filled: 0,
            places: HashMap::new(),
            closed: HashMap::new(),
        }
    }
}

impl Open {
    fn insert(&mut self, page: PageNumber, room: usize) {
        debug_assert!(!self.closed.contains_key(&page), "a closed page takes no records");
        debug_assert!(room >= LEAST_ROOM, "pages with little room are left alone");
        let pages = &mut self.categories[category(room)];
        let before = self.places.insert(page, Place { room, at: pages.len() });
        debug_assert!(before.is_none(), "page {page} is in one category");
        pages.push(page);
        self.filled |= 1 << category(room);
    }

    fn remove(&mut self, page: PageNumber) {
        let Some(Place { room, at }) = self.places.remove(&page) else { return };
        let pages = &mut self.categories[category(room)];
        let removed = pages.swap_remove(at);
        debug_assert_eq!(removed, page, "a page is at its place in its category");
        if let Some(moved) = pages.get(at).and_then(|moved| self.places.get_mut(moved)) {
            moved.at = at;
        }
        if pages.is_empty() {
            self.filled &= !(1 << category(room));
        }
    }

    /// Returns a page with at least `room` words of room, of the fullest category that has one. (In
    /// the first one some have less: only the newest are looked at, such as a new page.)
    fn fullest(&self, room: usize) -> Option<PageNumber> {
        const MOST_LOOKED_AT: usize = 8;
        let own = category(room);
        let mut last = self.categories[own].iter().rev().take(MOST_LOOKED_AT);
        if let Some(page) = last.find(|page| self.places[*page].room >= room) {
            return Some(*page);
        }
        let is_empty = self.categories[own].is_empty();
        debug_assert!(
            is_empty == (self.filled >> own & 1 == 0),
            "categories with pages are marked"
        );
        let fitting = self.filled & (u64::MAX - 1) << own;
        self.categories.get(fitting.trailing_zeros() as usize)?.last().copied()
    }

    /// Returns all pages with their words of room, those of the emptiest category first.
    fn emptiest(&self) -> impl Iterator<Item = (usize, PageNumber)> {
        let pages = self.categories.iter().rev().flatten();
        pages.map(|page| (self.places[page].room, *page))
    }
}

thread_local! {
    static LANE: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed) % LANES
    };
}

/// The value of a lane whose threads fill no page.
const NO_PAGE: u32 = 0;

impl FreeSpaceMap {
    fn lane(&self) -> &AtomicU32 {
        &self.lanes[LANE.with(|lane| *lane)]
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the page that this thread is filling.
    pub(super) fn current(&self) -> Option<PageNumber> {
        let page = self.lane().load(Ordering::Relaxed);
        (page != NO_PAGE).then(|| PageNumber::new(page))
    }

    /// Lets this thread fill another page from here on.
    pub(super) fn fill(&self, page: PageNumber) {
        debug_assert!(page.get() != NO_PAGE, "a lane fills a page of a table");
        let before = PageNumber::new(self.lane().swap(page.get(), Ordering::Relaxed));
        if before.get() != NO_PAGE && before != page {
            // Another thread of the same lane was quicker. The thread that takes the page sees how
            // much room it has.
            self.note(before, LEAST_ROOM);
        }
    }

    /// Stops filling a page, if the lane of this thread is filling it.
    pub(super) fn leave(&self, page: PageNumber) {
        let _ =
            self.lane().compare_exchange(page.get(), NO_PAGE, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns true if a thread is filling a page.
    pub(super) fn is_being_filled(&self, page: PageNumber) -> bool {
        self.lanes.iter().any(|lane| lane.load(Ordering::Relaxed) == page.get())
    }

    /// Takes a page with at least `room` words of room, one of the fullest.
    pub(super) fn take(&self, room: usize) -> Option<PageNumber> {
        let mut open = self.open();
        let found = open.fullest(room)?;
        open.remove(found);
        Some(found)
    }

    /// Closes the emptiest pages, as long as the others with room can take their records. Returns
    /// all closed pages.
    pub(super) fn close_emptiest(&self) -> HashSet<PageNumber> {
        let mut open = self.open();
        let mut left: usize = open.emptiest().map(|(room, _)| usable(room)).sum();
        let mut moved = 0;
        let chosen: Vec<_> = open
            .emptiest()
            .take_while(|(room, _)| {
                left -= usable(*room);
                moved += PAGE_WORDS.saturating_sub(*room);
                moved <= left
            })
            .collect();
        for (room, page) in chosen {
            open.remove(page);
            open.closed.insert(page, room);
        }
        open.closed.keys().copied().collect()
    }

    /// Lets closed pages take records again.
    pub(super) fn open_closed(&self) {
        let mut open = self.open();
        let closed = std::mem::take(&mut open.closed);
        let with_room = closed.into_iter().filter(|(_, room)| *room >= LEAST_ROOM);
        with_room.for_each(|(page, room)| open.insert(page, room));
    }

    fn emptied(&self) -> MutexGuard<'_, Vec<PageNumber>> {
        self.emptied.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a page has no record any more, and is not freed yet.
    pub(super) fn note_emptied(&self, page: PageNumber) {
        self.emptied().push(page);
    }

    /// Takes the pages that were noted as emptied since the last call.
    pub(super) fn take_emptied(&self) -> Vec<PageNumber> {
        std::mem::take(&mut *self.emptied())
    }

    /// Notes the words of room of a page. If it has few, or is gone, it takes no records.
    pub(super) fn note(&self, page: PageNumber, room: usize) {
        let mut open = self.open();
        open.remove(page);
        if room == 0 {
            // The page may be gone, and its number may be that of a new page.
            open.closed.remove(&page);
        }
        match open.closed.get_mut(&page) {
            Some(noted) => *noted = room,
            None if room >= LEAST_ROOM => open.insert(page, room),
            None => {}
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
        let taken: Vec<_> = std::iter::from_fn(|| free.take(PAGE_WORDS / 2)).collect();
        assert_eq!(taken.len(), closed.len());
        assert!(taken.iter().all(|page| closed.contains(page)));
    }

    #[test]
    fn the_fullest_page_with_room_comes_first_and_none_twice() {
        let free = FreeSpaceMap::default();
        let room = |quarters: usize| LEAST_ROOM * quarters;
        for (number, quarters) in [(9, 1), (8, 3), (7, 0), (6, 2), (5, 2), (4, 4)] {
            free.note(page(number), room(quarters));
        }
        free.note(page(9), room(2) + CATEGORY_WORDS);
        free.note(page(8), room(1));
        free.note(page(5), 0);
        let taken: Vec<_> = std::iter::from_fn(|| free.take(room(2))).collect();
        assert_eq!(taken, [6, 9, 4].map(page));
        assert_eq!((free.take(0), free.take(0)), (Some(page(8)), None));
    }

    /// A page that is as empty as pages are, for a record that needs all of it.
    #[test]
    fn a_new_page_is_found_whatever_room_is_wanted() {
        let free = FreeSpaceMap::default();
        for room in LEAST_ROOM..=PAGE_WORDS {
            (1..20).for_each(|number| free.note(page(number), room - 1));
            free.note(page(20), room);
            assert_eq!(free.take(room), Some(page(20)));
        }
    }

    /// Pages that come, change and go, against a plain list of them.
    #[test]
    fn a_page_that_is_taken_has_room_and_nearly_the_least_of_all_that_have() {
        let free = FreeSpaceMap::default();
        let mut model = HashMap::new();
        let mut random = 1u64;
        let mut below = |most: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % most
        };
        for _ in 0..20_000 {
            let number = page(1 + below(200) as u32);
            let room = below(PAGE_WORDS);
            if below(3) > 0 {
                free.note(number, room);
                model.remove(&number);
                if room >= LEAST_ROOM {
                    model.insert(number, room);
                }
                continue;
            }
            // In the category of the room asked for, some have less.
            let above = model.values().map(|has| category(*has)).filter(|it| *it > category(room));
            let least = above.min();
            match free.take(room) {
                Some(taken) => {
                    let has = model.remove(&taken).expect("it is open");
                    assert!(has >= room);
                    assert!(least.is_none_or(|least| category(has) <= least));
                }
                None => assert_eq!(least, None),
            }
        }
        let left = std::iter::from_fn(|| free.take(0)).count();
        assert_eq!(left, model.len());
    }
}
