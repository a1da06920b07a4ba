//! The page numbers of one table: whole extents, so that what happens to one does not concern
//! another table.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{FREE, PRESENT, PageNumber, Pager, lock};
use crate::error::{Error, Result};

/// Page numbers in an extent.
pub(super) const EXTENT: u32 = 64;

/// A table's page numbers.
#[derive(Default)]
pub struct Space(Mutex<Numbers>);

#[derive(Default)]
struct Numbers {
    /// The first number of each extent.
    extents: Vec<PageNumber>,
    /// Those that are not in use.
    free: Vec<PageNumber>,
    /// Whether it has still to be found out which numbers of the extents are in use.
    unknown: bool,
}

impl Space {
    /// That of a table that is opened.
    pub fn restore(extents: Vec<PageNumber>) -> Self {
        Self(Mutex::new(Numbers { extents, free: Vec::new(), unknown: true }))
    }

    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first number of each extent.
    pub fn extents(&self) -> Vec<PageNumber> {
        self.lock().extents.clone()
    }

    /// All numbers, in use or not.
    pub(super) fn numbers(&self) -> Vec<PageNumber> {
        self.lock().extents.iter().flat_map(|first| *first..first + EXTENT).collect()
    }

    /// A number that is not in use, of a new extent if need be.
    pub(super) fn take(&self, pager: &Pager) -> Result<PageNumber> {
        let mut numbers = self.lock();
        if numbers.unknown {
            numbers.survey(pager)?;
        }
        if let Some(page) = numbers.free.pop() {
            return Ok(page);
        }
        let first = pager.take_extent()?;
        numbers.extents.push(first);
        numbers.free.extend((first + 1..first + EXTENT).rev());
        Ok(first)
    }

    /// A number is not in use any more; `mark` says so in its word.
    pub(super) fn give(&self, page: PageNumber, mark: impl FnOnce()) {
        let mut numbers = self.lock();
        mark();
        if !numbers.unknown {
            numbers.free.push(page);
        }
    }

    /// Gives up all extents, which are the table's no more.
    pub fn clear(&self) -> Vec<PageNumber> {
        std::mem::take(&mut *self.lock()).extents
    }
}

impl Numbers {
    /// Finds the numbers that are not in use: neither in memory nor in the data file.
    fn survey(&mut self, pager: &Pager) -> Result<()> {
        let mut free = Vec::new();
        for page in self.extents.iter().rev().flat_map(|first| (*first..first + EXTENT).rev()) {
            let word = pager.entry(page)[0].load(Ordering::Acquire);
            let in_file = || pager.data.as_ref().map_or(Ok(false), |data| data.has(page));
            if word & FREE != 0 || (word & PRESENT == 0 && !in_file()?) {
                free.push(page);
            }
        }
        (self.free, self.unknown) = (free, false);
        Ok(())
    }
}

impl Pager {
    /// The first page number of an extent.
    fn take_extent(&self) -> Result<PageNumber> {
        if let Some(first) = lock(&self.free_extents).pop() {
            return Ok(first);
        }
        let numbers = self.entries.count() / 2;
        let next = |next: u32| {
            let end = next.checked_add(EXTENT)?;
            (end as usize <= numbers).then_some(end)
        };
        self.next_extent
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map_err(|_| Error::Full { budget_bytes: self.budget_bytes() })
    }
}
