//! The commit of a transaction: it works alone, looks again at all that was read, and writes.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use super::lifetime::Lifetimes;
use super::scans::Scans;
use super::touched::Touched;
use super::{Place, Transaction, conflict};
use crate::api::steps::{Step, Steps};
use crate::api::table::expect_not_changing;
use crate::api::{Snapshot, Table};
use crate::engine::{CommitSize, Handle, Loan};
use crate::error::{Error, Result};
use crate::hash::AHEAD;
use crate::store::Store;
use crate::table::{FetchFor, KeyKind};
use crate::wal::LogPosition;

/// The reads and writes of a transaction, during its commit.
pub(super) struct Commit {
    pub(super) db: Handle,
    tables: Vec<Touched>,
    scans: Scans,
    lifetimes: Lifetimes,
    /// The moment of the scans, until it is not needed any more.
    snapshot: RefCell<Option<Snapshot>>,
    /// A change of what was read that the transaction has met.
    met_conflict: Option<Box<Error>>,
    /// The memory of the tables and of the steps.
    _loan: Loan,
}

impl Commit {
    #[inline(always)]
    pub(super) fn of(transaction: Transaction) -> Self {
        let met_conflict = transaction.met_conflict();
        let Transaction { db, tables, scans, moment, lifetimes, loan, .. } = transaction;
        let tables = tables.into_inner();
        let scans = scans.into_inner();
        let loan = loan.into_inner();
        // Only scans are looked at again at their moment.
        let snapshot = moment.into_snapshot().filter(|_| !scans.are_empty());
        let snapshot = RefCell::new(snapshot);
        Self { db, tables, scans, lifetimes, snapshot, met_conflict, _loan: loan }
    }

    /// Applies all writes; returns where they end in the log.
    pub(super) fn apply(&self) -> Result<LogPosition> {
        let order = self.order();
        if order.is_empty() {
            return self.end_without_writes();
        }
        for place in &order {
            let touched = &self.tables[place.table];
            expect_not_changing(touched.core(), touched.key(place.number))?;
        }
        let written = self.tables.iter().filter(|touched| touched.written_size().records > 0);
        written.for_each(|touched| touched.core().watch().wait_for_room());
        self.db.admitted_alone(self.size(order.len()), &mut || {
            self.validate()?;
            let mut steps = Steps::new(&self.db, order.len());
            let all = self.write_all(&order, &mut steps);
            steps.end(all).map(|((), end)| end)
        })
    }

    /// Removes some expired records of the tables that it has written.
    pub(super) fn sweep(&self) {
        for touched in self.tables.iter().filter(|touched| touched.core().has_expiry()) {
            let table = Table::new(self.db.clone(), Arc::clone(touched.core()));
            table.sweep_after(touched.written_size().records as u64);
        }
    }

    /// Returns true if it writes records.
    pub(super) fn has_written(&self) -> bool {
        self.tables.iter().any(|touched| touched.written_size().records > 0)
    }

    /// Returns the size of the commit, which writes some records.
    fn size(&self, records: usize) -> CommitSize {
        if self.snapshot.borrow().is_some() {
            return CommitSize::WITH_SCANS;
        }
        let bytes = self.tables.iter().map(|touched| touched.written_size().bytes).sum();
        CommitSize { records, bytes }
    }

    /// Returns the places of the writes, in the order of writing: that of the keys in trees.
    fn order(&self) -> Vec<Place> {
        let mut order = Vec::new();
        for (table, touched) in self.tables.iter().enumerate() {
            let mut add = |number: usize| {
                if touched.wanted(number).is_some() {
                    order.push(Place { table, number });
                }
            };
            match touched.core().definition().kind {
                KeyKind::Hash => (0..touched.count()).for_each(add),
                KeyKind::Tree => {
                    touched.in_order().into_iter().for_each(|number| add(number as usize));
                }
            }
        }
        order
    }

    /// Ends a transaction that has only read. All of that is of one moment, so nothing is looked at
    /// again.
    fn end_without_writes(&self) -> Result<LogPosition> {
        self.db.expect_open()?;
        if !self.db.store().is_some_and(Store::is_read_only) {
            self.db.expect_healthy()?;
        }
        self.expect_no_conflict().map(|()| LogPosition::default())
    }

    fn expect_no_conflict(&self) -> Result<()> {
        self.met_conflict.as_ref().map_or(Ok(()), |error| Err((**error).clone()))
    }

    /// Checks that all that was only read is still as it was seen.
    fn validate(&self) -> Result<()> {
        self.expect_no_conflict()?;
        self.lifetimes.expect_all(&self.db)?;
        for touched in self.tables.iter().filter(|touched| touched.count() > 0) {
            self.expect_seen(touched)?;
        }
        self.expect_scanned()
    }

    /// Refuses records that were only read, and are not as they were seen.
    fn expect_seen(&self, touched: &Touched) -> Result<()> {
        let core = touched.core();
        match core.ensure_open() {
            Err(Error::NoTable { .. }) => return Err(conflict(core)),
            open => open?,
        }
        if touched.written_size().records > 0 && !touched.has_same_secondaries() {
            return Err(conflict(core));
        }
        for number in (0..touched.count()).filter(|number| touched.wanted(*number).is_none()) {
            let found = core.payload_of(self.db.pager(), touched.key(number))?;
            if found.as_deref() != touched.seen(number) {
                return Err(conflict(core));
            }
        }
        Ok(())
    }

    /// Refuses scans that would find other records now.
    fn expect_scanned(&self) -> Result<()> {
        let mut snapshot = self.snapshot.borrow_mut();
        let Some(moment) = snapshot.as_ref().map(Snapshot::moment) else { return Ok(()) };
        if let Some(core) = self.scans.changed(self.db.pager(), moment)? {
            return Err(conflict(core));
        }
        if self.db.store().is_none() {
            // There is no second try. So no image is kept of what is written now.
            *snapshot = None;
        }
        Ok(())
    }

    /// Writes all records; fails if one is not as it was seen.
    fn write_all<'c>(&'c self, order: &[Place], steps: &mut Steps<'c>) -> Result<()> {
        for place in order {
            let touched = &self.tables[place.table];
            let core = touched.core();
            let number = place.number;
            if number.is_multiple_of(AHEAD) {
                // Has the processor fetch what the next ones need at the same time, if numbers are
                // in order.
                let ahead = number..(number + AHEAD).min(touched.count());
                let keys = ahead.map(|number| touched.key(number));
                core.fetch(self.db.pager(), keys, FetchFor::Insert);
            }
            let step = Step {
                core,
                key: Cow::Borrowed(touched.key(number)),
                seen: touched.seen(number).map(Cow::Borrowed),
                wanted: touched.wanted(number).flatten().map(Cow::Borrowed),
            };
            if !steps.take(step)? {
                return Err(conflict(core));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
