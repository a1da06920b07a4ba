//! The page numbers of one table: whole extents, so that changes of one table do not concern
//! another.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::{FIRST_TABLE_PAGE, FREE, FrameNumber, PRESENT, PageNumber, Pager, lock};
use crate::error::Result;

/// Page numbers in an extent.
pub(super) const EXTENT: u32 = 64;

/// A table's page numbers.
#[derive(Default)]
pub(crate) struct Space {
    numbers: Mutex<Numbers>,
    /// The extents of these numbers, to be found without a lock.
    owned: ExtentBits,
}

/// A bit for each extent that a table has, in parts of which each has twice as many words as the
/// one before: so none ever moves. The table gives up no extent before it is dropped.
#[derive(Default)]
struct ExtentBits {
    parts: [OnceLock<Box<[AtomicU64]>>; PARTS],
}

/// The parts for all page numbers.
const PARTS: usize = (u32::MAX / EXTENT / u64::BITS).ilog2() as usize + 1;

impl ExtentBits {
    /// Returns the part of an extent's bit, its word there, and the bit.
    fn at(extent: PageNumber) -> (usize, usize, u64) {
        let number = extent.get() / EXTENT;
        let word = (number / u64::BITS) as usize + 1;
        let part = word.ilog2() as usize;
        (part, word - (1 << part), 1 << (number % u64::BITS))
    }

    #[inline]
    fn has(&self, extent: PageNumber) -> bool {
        let (part, word, bit) = Self::at(extent);
        // Whoever has a page number of the table has it from a page that was changed later.
        let words = self.parts.get(part).and_then(OnceLock::get);
        words.is_some_and(|words| words[word].load(Ordering::Relaxed) & bit != 0)
    }

    fn add(&self, extent: PageNumber) {
        let (part, word, bit) = Self::at(extent);
        let zeros = || (0..1 << part).map(|_| AtomicU64::new(0)).collect();
        self.parts[part].get_or_init(zeros)[word].fetch_or(bit, Ordering::Relaxed);
    }

    fn clear(&self) {
        let words = self.parts.iter().filter_map(OnceLock::get).flatten();
        words.for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

#[derive(Default)]
struct Numbers {
    /// The first number of each extent.
    extents: BTreeSet<PageNumber>,
    /// The numbers that are not in use.
    free: Vec<PageNumber>,
    /// Extents of which it is not known yet which numbers are in use.
    unknown: BTreeSet<PageNumber>,
    /// A by-product of the survey: the highest bytes of the first words of pages, where they are
    /// not 0.
    notes: Vec<(PageNumber, u8)>,
}

impl Space {
    /// Creates the space of a table that is opened.
    pub(crate) fn restore(extents: Vec<PageNumber>) -> Self {
        let extents = BTreeSet::from_iter(extents);
        let unknown = extents.clone();
        let owned = ExtentBits::default();
        extents.iter().for_each(|extent| owned.add(*extent));
        let numbers = Numbers { extents, unknown, ..Numbers::default() };
        Self { numbers: Mutex::new(numbers), owned }
    }

    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the first number of each extent.
    pub(crate) fn extents(&self) -> Vec<PageNumber> {
        self.lock().extents.iter().copied().collect()
    }

    /// Returns true if a number is one of the table's.
    #[inline]
    pub(crate) fn has(&self, page: PageNumber) -> bool {
        page >= FIRST_TABLE_PAGE && self.owned.has(extent_of(page))
    }

    /// Returns the number of page numbers, in use or not.
    pub(super) fn count(&self) -> u64 {
        self.lock().extents.len() as u64 * u64::from(EXTENT)
    }

    /// Returns all numbers, in use or not.
    pub(crate) fn numbers(&self) -> Vec<PageNumber> {
        self.lock().extents.iter().flat_map(|first| first.run(EXTENT)).collect()
    }

    /// Returns the numbers that are not known to be free.
    pub(super) fn used_numbers(&self) -> Vec<PageNumber> {
        let numbers = self.lock();
        let free: HashSet<_> = numbers.free.iter().collect();
        let all = numbers.extents.iter().flat_map(|first| first.run(EXTENT));
        all.filter(|page| !free.contains(page)).collect()
    }

    /// Takes a number that is not in use, of a new extent if need be.
    pub(super) fn take(&self, pager: &Pager) -> Result<PageNumber> {
        let mut numbers = self.lock();
        if numbers.free.is_empty() {
            // One extent at a time: no operation waits for all of a large table's page map.
            numbers.survey(pager)?;
        }
        if let Some(page) = numbers.free.pop() {
            debug_assert!(numbers.has(page), "a table takes its own page numbers");
            return Ok(page);
        }
        let first = pager.take_extent()?;
        let is_new = numbers.extents.insert(first);
        assert!(is_new, "extent {first} belongs to one table");
        self.owned.add(first);
        numbers.free.extend(first.run(EXTENT).rev());
        numbers.free.pop();
        Ok(first)
    }

    /// Surveys one more extent of a table that was opened; returns false if none is left.
    pub(crate) fn survey(&self, pager: &Pager) -> Result<bool> {
        self.lock().survey(pager)
    }

    /// Takes the pages whose highest byte of the first word was found not to be 0, and that byte.
    pub(crate) fn take_notes(&self) -> Vec<(PageNumber, u8)> {
        std::mem::take(&mut self.lock().notes)
    }

    /// Gives back a number that is not in use any more; `mark` says so in its word.
    pub(super) fn give(&self, page: PageNumber, mark: impl FnOnce()) {
        let mut numbers = self.lock();
        debug_assert!(numbers.has(page), "page {page} goes back to its own table");
        mark();
        if !numbers.unknown.contains(&extent_of(page)) {
            let most = (numbers.extents.len() - numbers.unknown.len()) * EXTENT as usize;
            debug_assert!(numbers.free.len() < most, "page {page} is given back once");
            numbers.free.push(page);
        }
    }

    /// Gives up all extents, which are not the table's any more.
    pub(crate) fn clear(&self) -> Vec<PageNumber> {
        let mut numbers = self.lock();
        let known = numbers.extents.len() - numbers.unknown.len();
        debug_assert_eq!(numbers.free.len(), known * EXTENT as usize, "no page is in use");
        self.owned.clear();
        std::mem::take(&mut *numbers).extents.into_iter().collect()
    }
}

/// Returns the first number of the extent that a page belongs to.
fn extent_of(page: PageNumber) -> PageNumber {
    PageNumber::new(page.get() - (page.get() - FIRST_TABLE_PAGE.get()) % EXTENT)
}

impl Numbers {
    fn has(&self, page: PageNumber) -> bool {
        page >= FIRST_TABLE_PAGE && self.extents.contains(&extent_of(page))
    }

    /// Finds the free numbers of the next extent; returns false if no extent is unknown.
    fn survey(&mut self, pager: &Pager) -> Result<bool> {
        let Some(&first) = self.unknown.first() else { return Ok(false) };
        let mut free = Vec::new();
        let mut notes = Vec::new();
        for page in first.run(EXTENT).rev() {
            let word = pager.entry(page)[0].load(Ordering::Acquire);
            let in_memory = word & PRESENT != 0;
            let note = match &pager.data {
                _ if word & FREE != 0 => None,
                _ if in_memory => {
                    Some((pager.frames.words(FrameNumber::of_word(word)).get(0) >> 56) as u8)
                }
                Some(data) => data.note(page)?,
                None => None,
            };
            match note {
                Some(0) => {}
                Some(note) => notes.push((page, note)),
                None => free.push(page),
            }
        }
        debug_assert!(free.len() <= EXTENT as usize, "an extent has {EXTENT} numbers");
        self.free.extend(free);
        self.notes.extend(notes);
        self.unknown.remove(&first);
        Ok(true)
    }
}

impl Pager {
    /// Takes an extent; returns its first page number.
    fn take_extent(&self) -> Result<PageNumber> {
        if let Some(first) = lock(&self.free_extents).pop() {
            let end = self.next_extent.load(Ordering::Relaxed);
            debug_assert!(first.get() < end, "extent {first} was taken before");
            return Ok(first);
        }
        let numbers = self.entries.count() / 2;
        let next = |next: u32| {
            let end = next.checked_add(EXTENT)?;
            (end as usize <= numbers).then_some(end)
        };
        self.next_extent
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map(PageNumber::new)
            .map_err(|_| self.no_numbers())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_has_the_pages_of_its_extents_and_no_others() {
        let first = FIRST_TABLE_PAGE.get();
        // Neighbours, and some in each part up to the last.
        let extents: Vec<_> = (0..26u32)
            .map(|power| first + (1 << power) / EXTENT * EXTENT)
            .chain([0, 1, 2, 63, 64, 65, 127, 129].map(|number| first + number * EXTENT))
            .map(PageNumber::new)
            .collect();
        let space = Space::restore(extents.clone());
        let has = |page: u32| space.has(PageNumber::new(page));
        for extent in (0..200u32).map(|number| first + number * EXTENT) {
            let expected = extents.contains(&PageNumber::new(extent));
            assert!([extent, extent + EXTENT - 1].iter().all(|page| has(*page) == expected));
        }
        assert!(extents.iter().all(|extent| has(extent.get()) && has(extent.get() + EXTENT - 1)));
        assert!(!has(0) && !has(first - 1) && !has(u32::MAX));
    }
}
