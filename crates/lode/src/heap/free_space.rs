//! The pages of a heap that have room for more records. All of it is in memory only: of an opened
//! database, it is found out piece by piece, from what the page map says about each page.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::{HashMap, HashSet};

use crate::pager::{PAGE_WORDS, PageNumber};

/// Lanes: threads of different lanes insert into different pages.
pub(super) const LANES: usize = 32;

/// Stripes: pages of different stripes are noted under different locks.
const STRIPES: usize = 8;

/// The fewest free words of a page that is not full.
const LEAST_ROOM: usize = PAGE_WORDS / 4;

/// Returns about the number of words of a page's room that records of all lengths fill.
fn usable(room: usize) -> usize {
    room / 16 * 15
}

/// Returns true if a page whose room grows so is noted. Most removals note nothing: a noted page
/// may have up to [`LEAST_ROOM`] words more.
pub(super) fn is_worth_noting(before: usize, after: usize) -> bool {
    after / LEAST_ROOM > before / LEAST_ROOM
}

#[derive(Default)]
pub(super) struct FreeSpaceMap {
    lanes: [Lane; LANES],
    /// The pages with room. The number of a page says which stripe has it.
    stripes: [Stripe; STRIPES],
    /// Pages that have lost their last record in a step of a commit, which frees none.
    emptied: Mutex<Vec<PageNumber>>,
    /// True once the room of all pages of an opened database was noted.
    is_surveyed: AtomicBool,
}

/// A lane, in a cache line of its own.
#[derive(Default)]
#[repr(align(64))]
struct Lane {
    /// The page that the lane's threads are filling; 0 for none.
    page: AtomicU32,
}

/// Some of the pages, in cache lines of their own.
#[derive(Default)]
#[repr(align(128))]
struct Stripe {
    /// The least and the most words of room of open pages; 0 without one. Without the lock, both
    /// are only hints.
    least_room: AtomicUsize,
    most_room: AtomicUsize,
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    /// The open pages, by their words of room.
    by_room: BTreeSet<(usize, PageNumber)>,
    /// The words of room of each open page.
    rooms: HashMap<PageNumber, usize>,
    /// Pages that are being emptied, which take no records, and their words of room.
    closed: HashMap<PageNumber, usize>,
}

impl Stripe {
    /// Calls `work` with the pages, and renews the hints.
    fn with<T>(&self, work: impl FnOnce(&mut Pages) -> T) -> T {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let done = work(&mut pages);
        debug_assert_eq!(pages.by_room.len(), pages.rooms.len(), "each open page is there once");
        let room = |page: Option<&(usize, PageNumber)>| page.map_or(0, |(room, _)| *room);
        self.least_room.store(room(pages.by_room.first()), Ordering::Relaxed);
        self.most_room.store(room(pages.by_room.last()), Ordering::Relaxed);
        done
    }
}

impl Pages {
    fn insert(&mut self, page: PageNumber, room: usize) {
        debug_assert!(!self.closed.contains_key(&page), "a closed page takes no records");
        debug_assert!(room >= LEAST_ROOM, "pages with little room are left alone");
        let before = self.rooms.insert(page, room);
        debug_assert!(before.is_none(), "page {page} is noted once");
        self.by_room.insert((room, page));
    }

    /// Removes an open page; returns true if it was there.
    fn remove(&mut self, page: PageNumber) -> bool {
        let Some(room) = self.rooms.remove(&page) else { return false };
        let was_there = self.by_room.remove(&(room, page));
        debug_assert!(was_there, "page {page} is found by its room");
        true
    }

    /// Takes the fullest open page with at least `room` words of room; returns it with its words
    /// of room.
    fn take(&mut self, room: usize) -> Option<(usize, PageNumber)> {
        let fullest = *self.by_room.range((room, PageNumber::new(0))..).next()?;
        self.remove(fullest.1);
        Some(fullest)
    }

    /// Notes the words of room of a page.
    fn note(&mut self, page: PageNumber, room: usize) {
        self.remove(page);
        if room == 0 {
            // The page may be gone, and its number may be that of a new page.
            self.closed.remove(&page);
        }
        match self.closed.get_mut(&page) {
            Some(noted) => *noted = room,
            None if room >= LEAST_ROOM => self.insert(page, room),
            None => {}
        }
    }
}

/// The threads of each lane. Each thread takes one with the fewest, the first of those: so threads
/// that come and go fill the pages of those before them.
static THREADS: [AtomicUsize; LANES] = [const { AtomicUsize::new(0) }; LANES];

/// The number of a thread's lane, until the thread ends.
struct LaneNumber(usize);

impl LaneNumber {
    fn take() -> Self {
        let threads = |lane: &usize| THREADS[*lane].load(Ordering::Relaxed);
        let number = (0..LANES).min_by_key(threads).unwrap_or(0);
        THREADS[number].fetch_add(1, Ordering::Relaxed);
        Self(number)
    }
}

impl Drop for LaneNumber {
    fn drop(&mut self) {
        THREADS[self.0].fetch_sub(1, Ordering::Relaxed);
    }
}

thread_local! {
    static LANE: LaneNumber = LaneNumber::take();
}

/// The value of a lane whose threads fill no page.
const NO_PAGE: u32 = 0;

impl FreeSpaceMap {
    fn lane(&self) -> &Lane {
        // A thread that is ending may have given its lane up.
        &self.lanes[LANE.try_with(|lane| lane.0).unwrap_or(0)]
    }

    fn stripe(&self, page: PageNumber) -> &Stripe {
        &self.stripes[page.get() as usize % STRIPES]
    }

    /// Returns the page that this thread is filling.
    pub(super) fn current(&self) -> Option<PageNumber> {
        let page = self.lane().page.load(Ordering::Relaxed);
        (page != NO_PAGE).then(|| PageNumber::new(page))
    }

    /// Lets this thread fill another page from here on.
    pub(super) fn fill(&self, page: PageNumber) {
        debug_assert!(page.get() != NO_PAGE, "a lane fills a page of a table");
        let lane = &self.lane().page;
        if lane.load(Ordering::Relaxed) == page.get() {
            return;
        }
        let before = PageNumber::new(lane.swap(page.get(), Ordering::Relaxed));
        if before.get() != NO_PAGE && before != page {
            // Another thread of the same lane was quicker. The thread that takes the page sees how
            // much room it has.
            self.note(before, LEAST_ROOM);
        }
    }

    /// Stops filling a page, if the lane of this thread is filling it.
    pub(super) fn leave(&self, page: PageNumber) {
        let lane = &self.lane().page;
        let _ = lane.compare_exchange(page.get(), NO_PAGE, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns true if a thread is filling a page.
    pub(super) fn is_being_filled(&self, page: PageNumber) -> bool {
        // As a rule this thread is, so the lines of the others stay with them.
        self.current() == Some(page)
            || self.lanes.iter().any(|lane| lane.page.load(Ordering::Relaxed) == page.get())
    }

    /// Takes a page with at least `room` words of room, one of the fullest. `room_of` returns the
    /// words of room that a page has now, if known.
    pub(super) fn take(
        &self,
        room: usize,
        room_of: impl Fn(PageNumber) -> Option<usize>,
    ) -> Option<PageNumber> {
        /// Pages that may turn out to be emptier than noted.
        const MOST_LOOKED_AT: usize = 16;
        for look in 1..=MOST_LOOKED_AT {
            let with_room = self
                .stripes
                .iter()
                .filter(|stripe| stripe.most_room.load(Ordering::Relaxed) >= room.max(LEAST_ROOM));
            let stripe =
                with_room.min_by_key(|stripe| stripe.least_room.load(Ordering::Relaxed))?;
            let taken = stripe.with(|pages| {
                let (noted, page) = pages.take(room)?;
                let now = room_of(page).filter(|now| *now > noted && look < MOST_LOOKED_AT);
                if let Some(now) = now {
                    pages.insert(page, now);
                }
                now.is_none().then_some(page)
            });
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// Closes the emptiest pages, as long as the others with room can take their records. Returns
    /// all closed pages. `room_of` returns the words of room that a page has now, if known.
    pub(super) fn close_emptiest(
        &self,
        room_of: impl Fn(PageNumber) -> Option<usize>,
    ) -> HashSet<PageNumber> {
        let noted = self
            .stripes
            .iter()
            .flat_map(|stripe| stripe.with(|pages| Vec::from_iter(pages.by_room.iter().copied())));
        let now = noted.map(|(room, page)| (room_of(page).unwrap_or(room), page));
        let mut open: Vec<_> = now.filter(|(room, _)| *room >= LEAST_ROOM).collect();
        open.sort_unstable_by(|one, other| other.cmp(one));
        let mut left: usize = open.iter().map(|(room, _)| usable(*room)).sum();
        let mut moved = 0;
        let chosen = open.into_iter().take_while(|(room, _)| {
            left -= usable(*room);
            moved += PAGE_WORDS.saturating_sub(*room);
            moved <= left
        });
        for (room, page) in chosen {
            self.stripe(page).with(|pages| {
                // Another thread may have taken it.
                if pages.remove(page) {
                    pages.closed.insert(page, room);
                }
            });
        }
        let closed =
            |stripe: &Stripe| stripe.with(|pages| Vec::from_iter(pages.closed.keys().copied()));
        self.stripes.iter().flat_map(closed).collect()
    }

    /// Lets closed pages take records again.
    pub(super) fn open_closed(&self) {
        for stripe in &self.stripes {
            stripe.with(|pages| {
                let closed = std::mem::take(&mut pages.closed);
                let with_room = closed.into_iter().filter(|(_, room)| *room >= LEAST_ROOM);
                with_room.for_each(|(page, room)| pages.insert(page, room));
            });
        }
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
        self.stripe(page).with(|pages| pages.note(page, room));
    }

    /// Returns true if the room of all pages is known since [`Self::end_survey`].
    pub(super) fn is_surveyed(&self) -> bool {
        self.is_surveyed.load(Ordering::Relaxed)
    }

    /// Notes that the room of all pages is known.
    pub(super) fn end_survey(&self) {
        self.is_surveyed.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a page of the first stripe.
    fn page(number: u32) -> PageNumber {
        PageNumber::new(number * STRIPES as u32)
    }

    /// Takes a page as it is noted.
    fn take(free: &FreeSpaceMap, room: usize) -> Option<PageNumber> {
        free.take(room, |_| None)
    }

    #[test]
    fn as_many_pages_are_closed_as_the_others_have_room_for_and_take_nothing() {
        let free = FreeSpaceMap::default();
        PageNumber::new(1).run(100).for_each(|page| free.note(page, PAGE_WORDS / 2));
        let closed = free.close_emptiest(|_| None);
        assert!((45..=50).contains(&closed.len()), "{}", closed.len());
        closed.iter().for_each(|page| free.note(*page, PAGE_WORDS / 2 + 9));
        let taken: Vec<_> = std::iter::from_fn(|| take(&free, PAGE_WORDS / 2)).collect();
        assert_eq!(taken.len() + closed.len(), 100);
        assert!(taken.iter().all(|page| !closed.contains(page)));
        free.open_closed();
        let taken: Vec<_> = std::iter::from_fn(|| take(&free, PAGE_WORDS / 2)).collect();
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
        free.note(page(9), room(2) + 32);
        free.note(page(8), room(1));
        free.note(page(5), 0);
        let taken: Vec<_> = std::iter::from_fn(|| take(&free, room(2))).collect();
        assert_eq!(taken, [6, 9, 4].map(page));
        assert_eq!((take(&free, 0), take(&free, 0)), (Some(page(8)), None));
    }

    #[test]
    fn the_fullest_page_of_all_stripes_comes_first_by_the_room_that_it_has_now() {
        let free = FreeSpaceMap::default();
        // The numbers of pages are in the order of their room.
        let pages: Vec<_> = PageNumber::new(1).run(3 * STRIPES as u32).collect();
        for page in &pages {
            free.note(*page, LEAST_ROOM + 9 * page.get() as usize);
        }
        let emptier = pages[1];
        let room_of = |page: PageNumber| (page == emptier).then_some(PAGE_WORDS - 1);
        let taken: Vec<_> = std::iter::from_fn(|| free.take(LEAST_ROOM, room_of)).collect();
        let expected: Vec<_> =
            pages.iter().filter(|page| **page != emptier).chain([&emptier]).copied().collect();
        assert_eq!(taken, expected);
    }

    #[test]
    fn a_page_that_a_lane_fills_is_being_filled_and_no_other() {
        let free = FreeSpaceMap::default();
        free.fill(page(1));
        std::thread::scope(|scope| {
            scope.spawn(|| free.fill(page(2))).join().expect("no panic");
        });
        assert_eq!(free.current(), Some(page(1)));
        assert_eq!([1, 2, 3].map(|number| free.is_being_filled(page(number))), [true, true, false]);
        free.leave(page(2));
        free.leave(page(1));
        assert_eq!([1, 2].map(|number| free.is_being_filled(page(number))), [false, true]);
    }

    /// Rooms that are larger now than noted: those of a compaction count as they are.
    #[test]
    fn pages_are_closed_by_the_room_that_they_have_now() {
        let free = FreeSpaceMap::default();
        PageNumber::new(1).run(10).for_each(|page| free.note(page, LEAST_ROOM));
        assert!(free.close_emptiest(|_| None).len() < 4);
        free.open_closed();
        let emptier = PageNumber::new(7);
        let closed = free.close_emptiest(|page| (page == emptier).then_some(PAGE_WORDS - 1));
        assert!(closed.contains(&emptier), "{closed:?}");
    }

    /// A page that is as empty as pages are, for a record that needs all of it.
    #[test]
    fn a_new_page_is_found_whatever_room_is_wanted() {
        let free = FreeSpaceMap::default();
        for room in LEAST_ROOM..=PAGE_WORDS {
            (1..20).for_each(|number| free.note(page(number), room - 1));
            free.note(page(20), room);
            assert_eq!(take(&free, room), Some(page(20)));
        }
    }

    /// Pages that come, change and go, against a plain list of them.
    #[test]
    fn a_page_that_is_taken_has_room_and_the_least_of_all_that_have() {
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
            let least = model.values().copied().filter(|has| *has >= room).min();
            let taken = take(&free, room).map(|taken| model.remove(&taken).expect("it is open"));
            assert_eq!(taken, least);
        }
        let left = std::iter::from_fn(|| take(&free, 0)).count();
        assert_eq!(left, model.len());
    }
}
