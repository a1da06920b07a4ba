//! Snapshots: all tables as they were at one moment.

use crate::api::Table;
use crate::engine::Handle;
use crate::error::{Error, Result};
use crate::index::Visit;
use crate::pager::ReadEpoch;
use crate::table::{Scan, TableCore};
use crate::tree::{Direction, Range};

/// All tables of a database as they were at one moment.
pub struct Snapshot {
    db: Handle,
    pub(super) moment: ReadEpoch,
}

impl Snapshot {
    pub(crate) fn new(db: Handle) -> Self {
        if db.expect_here().is_err() {
            // Nothing can be read at it, and locks may be held by threads that this process has
            // not.
            return Self { db, moment: ReadEpoch::default() };
        }
        // A commit is before it or after it.
        let inside = db.gate().enter();
        let moment = db.pager().moment();
        drop(inside);
        Self { db, moment }
    }

    /// What is read of a table that was there.
    pub(crate) fn core<'t>(&self, table: &'t Table) -> Result<&'t TableCore> {
        if !self.db.is_same(table.database()) {
            return Err(table.schema().mismatch("it is of another database than the snapshot"));
        }
        table.core().was_there(self.moment)?;
        Ok(table.core())
    }

    /// Copies the columns after the key into the caller's buffer; false if there was no such
    /// record.
    pub fn get(&self, table: &Table, key: &[u8], payload: &mut [u8]) -> Result<bool> {
        let core = self.core(table)?;
        if !core.can_have(key)? {
            return Ok(false);
        }
        core.expect_buffer(payload)?;
        let pager = self.db.pager();
        core.in_order(key, |key| core.get_at(pager, self.moment, key, payload))
    }

    /// Puts the columns after the key into the caller's buffer, as many bytes as they have,
    /// whatever was in it; false if there was no such record.
    pub fn read(&self, table: &Table, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        let core = self.core(table)?;
        if !core.can_have(key)? {
            return Ok(false);
        }
        let pager = self.db.pager();
        let there = core.in_order(key, |key| core.get_at(pager, self.moment, key, payload))?;
        if there {
            core.expect_stored(payload)?;
        }
        Ok(there)
    }

    /// As [`Table::scan`], of what there was.
    pub fn scan(
        &self,
        table: &Table,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        self.core(table)?.scan_at(self.db.pager(), self.moment, scan, visit)
    }

    /// Calls `visit` with the key in order and the payload of each record in a range, until it
    /// answers false.
    pub(crate) fn each_in(
        &self,
        core: &TableCore,
        range: (&Range, Direction),
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        core.each_in(self.db.pager(), self.moment, range, visit)
    }

    /// Calls `visit` with every packed record, until it answers false: in the order of keys, or of
    /// their hashes.
    pub fn each(&self, table: &Table, visit: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        self.core(table)?.each_at(self.db.pager(), self.moment, visit)
    }

    /// The same for all records that can be read. `fault` gets the error of each page or record
    /// that cannot: they are damaged, and left out.
    ///
    /// # Errors
    /// What `visit` returns; `Io`; `Corrupt` when the pages that lead to all others are damaged.
    pub fn each_readable(
        &self,
        table: &Table,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
        fault: &mut dyn FnMut(Error),
    ) -> Result<()> {
        self.core(table)?.each_readable_at(self.db.pager(), self.moment, visit, fault)
    }

    /// How many records there were. Pages of the table's index are read, and no record beyond them.
    pub fn count(&self, table: &Table) -> Result<u64> {
        self.core(table)?.count_at(self.db.pager(), self.moment)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        if self.db.expect_here().is_ok() {
            self.db.pager().release(self.moment);
        }
    }
}
