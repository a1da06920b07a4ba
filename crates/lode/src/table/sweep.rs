//! The progress of removing expired records from a table.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use super::kinds::Walk;

/// The walk that removes expired records, from one writer to the next.
#[derive(Default)]
pub(crate) struct Sweep {
    /// The walk at its present place; `None` before the first page.
    walk: Mutex<Option<Walk>>,
    writes: AtomicU64,
}

impl Sweep {
    /// Writes of a record for each page that is looked at. As many records as a page has can expire
    /// while this many are written, so a table that is written keeps few.
    const WRITES_FOR_PAGE: u64 = 16;

    /// The most pages that one write looks at.
    const MOST_PAGES: u64 = 8;

    /// Notes writes of some records. Returns the number of pages to look at now.
    pub(crate) fn pages_after(&self, writes: u64) -> u64 {
        let before = self.writes.fetch_add(writes, Ordering::Relaxed);
        let due = (before + writes) / Self::WRITES_FOR_PAGE - before / Self::WRITES_FOR_PAGE;
        due.min(Self::MOST_PAGES)
    }

    /// Returns the walk, unless another thread is working on it.
    pub(crate) fn try_walk(&self) -> Option<MutexGuard<'_, Option<Walk>>> {
        match self.walk.try_lock() {
            Ok(walk) => Some(walk),
            Err(TryLockError::Poisoned(walk)) => Some(walk.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
