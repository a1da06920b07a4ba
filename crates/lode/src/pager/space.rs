//! The page numbers of one table: whole extents, so that what happens to one does not concern
//! another table.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::PageNumber;
use crate::error::Result;

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
}

impl Space {
    fn lock(&self) -> MutexGuard<'_, Numbers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A number that is not in use, of a new extent if need be.
    pub(super) fn take(&self, extent: impl FnOnce() -> Result<PageNumber>) -> Result<PageNumber> {
        let mut numbers = self.lock();
        if let Some(page) = numbers.free.pop() {
            return Ok(page);
        }
        let first = extent()?;
        numbers.extents.push(first);
        numbers.free.extend((first + 1..first + EXTENT).rev());
        Ok(first)
    }

    /// A number is not in use any more.
    pub(super) fn give(&self, page: PageNumber) {
        self.lock().free.push(page);
    }

    /// All extents, which are the table's no more.
    pub(super) fn extents(&self) -> Vec<PageNumber> {
        let mut numbers = self.lock();
        numbers.free.clear();
        std::mem::take(&mut numbers.extents)
    }
}
