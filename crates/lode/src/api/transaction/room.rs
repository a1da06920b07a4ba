//! Limits of a transaction: its memory is a part of the database's budget, and so are the pages
//! that its commit will change. A statement that could not be committed is refused.

use std::sync::Arc;

use super::savepoint::Savepoints;
use super::touched::{BYTES_OF_ORDER, Touched};
use super::{Place, Transaction};
use crate::api::steps::Steps;
use crate::error::{Error, MOST_TRANSACTION_BYTES, Result};
use crate::pager::PAGE_BYTES;

/// Bytes that a commit needs besides pages for each record that it writes.
const BYTES_OF_WRITE: usize = Steps::BYTES_OF_ONE + size_of::<Place>() + BYTES_OF_ORDER;

impl Transaction {
    /// Refuses more bytes than a transaction may hold, with those that its commit needs.
    pub(super) fn expect_room(
        &self,
        tables: &[Touched],
        savepoints: &Savepoints,
        more_bytes: usize,
    ) -> Result<()> {
        let held: usize = tables.iter().map(Touched::size_bytes).sum();
        let held = held + savepoints.size_bytes() + self.scans.borrow().size_bytes() + more_bytes;
        if held > MOST_TRANSACTION_BYTES {
            return Err(Error::TxnTooLarge { most_bytes: MOST_TRANSACTION_BYTES });
        }
        let writes: usize = tables.iter().map(|touched| touched.written_size().records).sum();
        self.loan.borrow_mut().grow_to(held + (writes + 1) * BYTES_OF_WRITE)
    }

    /// Refuses a write if the commit would have no room in pages, as far as that is known.
    pub(super) fn expect_pages(
        &self,
        tables: &mut [Touched],
        place: Place,
        payload: Option<&[u8]>,
    ) -> Result<()> {
        if self.db.store().is_none() {
            // Pages need not be written out, and have room for records already.
            return Ok(());
        }
        let pager = self.db.pager();
        let more_bytes = payload.map_or(0, <[u8]>::len);
        let touched = &mut tables[place.table];
        let core = Arc::clone(touched.core());
        touched.note_page(place.number, |key| core.page_of(pager, key));
        let changed: usize = tables.iter().map(Touched::changed_pages).sum();
        let written: usize = tables.iter().map(|touched| touched.written_size().bytes).sum();
        let most_bytes = usize::try_from(pager.most_written_bytes()).unwrap_or(usize::MAX);
        if written + more_bytes <= most_bytes && changed < most_bytes / PAGE_BYTES {
            Ok(())
        } else {
            Err(Error::TxnTooLarge { most_bytes })
        }
    }
}
