//! The moment that a transaction reads at.

use super::Transaction;
use crate::api::{Snapshot, Table};
use crate::error::Result;

impl Transaction {
    /// Returns true if the transaction has written the record with a packed key.
    pub(super) fn has_written(&self, table: &Table, key: &[u8]) -> Result<bool> {
        let core = table.core();
        core.schema().expect_key(key)?;
        self.expect_own(table)?;
        let tables = self.tables.borrow();
        let Some(touched) = tables.iter().find(|touched| touched.core().id() == core.id()) else {
            return Ok(false);
        };
        core.in_order(key, |ordered| {
            Ok(touched.find(ordered).is_some_and(|number| touched.wanted(number).is_some()))
        })
    }

    /// Returns the moment that its cursors read at.
    pub(in crate::api) fn moment(&self) -> Snapshot {
        self.snapshot.clone().unwrap_or_else(|| Snapshot::new(self.db.clone()))
    }
}
