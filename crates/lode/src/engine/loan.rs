//! Memory besides pages that an operation holds for its user: what a transaction has read and
//! written, and records that are written together. It is a part of the memory budget, so pages have
//! less as long as it is held.

use super::Handle;
use crate::error::{Error, Result};

/// Bytes that are taken from the budget at a time.
const STEP_BYTES: u64 = 4 << 10;

/// A part of the memory budget, given back when this is dropped.
pub(crate) struct Loan {
    db: Handle,
    bytes: u64,
}

impl Loan {
    /// Makes an empty loan.
    pub(crate) fn new(db: Handle) -> Self {
        Self { db, bytes: 0 }
    }

    /// Makes sure that the loan has at least `bytes`.
    ///
    /// # Errors
    /// `TxnTooLarge` when the budget does not have that much for this. `Forked`.
    #[inline]
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<()> {
        if bytes as u64 <= self.bytes { Ok(()) } else { self.grow(bytes as u64) }
    }

    #[cold]
    fn grow(&mut self, bytes: u64) -> Result<()> {
        // A thread of the parent process may hold these locks for ever.
        self.db.expect_here()?;
        let pager = self.db.pager();
        debug_assert!(bytes > self.bytes, "a loan grows when it is too small");
        let more_bytes = bytes.next_multiple_of(STEP_BYTES) - self.bytes;
        if pager.lend(more_bytes) {
            self.bytes += more_bytes;
            debug_assert!(self.bytes <= pager.lent_bytes(), "each loan is a part of all");
            Ok(())
        } else {
            Err(Error::TxnTooLarge { most_bytes: pager.most_lent_bytes() as usize })
        }
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        self.db.pager().take_back(self.bytes);
    }
}
