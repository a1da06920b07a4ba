//! Write transactions: what they wrote waits in memory until the commit, and what they read must
//! still be so then (optimistic concurrency control with backward validation: Härder, Observations
//! on Optimistic Concurrency Control Schemes, Information Systems 9(2), 1984).

mod scan;
mod touched;

use std::sync::Arc;

use touched::Touched;

use crate::api::table::{Table, expect_not_changing};
use crate::engine::Handle;
use crate::error::{Error, Result};
use crate::hash::AHEAD;
use crate::heap::{Swapped, UndoRecord, pages_for};
use crate::index::Swap;
use crate::store::{Durability, Store};
use crate::table::{KeyKind, TableCore};
use crate::wal::{Keyed, LogPosition, LogRecord};

/// Bytes of keys and records that a transaction may hold. What it writes must fit in the memory
/// budget, too.
pub const MOST_BYTES: usize = 256 << 20;

/// Bytes that it may write however small the budget is: more than the longest record has.
const LEAST_BYTES: usize = 2 << 20;

/// A transaction. What it wrote, only it sees until [`commit`](Self::commit); dropped without one,
/// it has written nothing.
///
/// Transactions do not wait for each other. If a record that one has read or written was changed by
/// somebody else meanwhile, its commit answers [`Error::Conflict`] and nothing of it happens: run
/// it again.
pub struct Transaction {
    db: Handle,
    tables: Vec<Touched>,
    /// What it may write.
    most_written_bytes: usize,
}

/// A record that a transaction has dealt with: the place of its table, and its number there.
#[derive(Clone, Copy)]
struct Place {
    table: usize,
    number: usize,
}

impl Transaction {
    pub(crate) fn new(db: Handle) -> Self {
        // What does not fit in all pages together would fail at the commit.
        let budget = usize::try_from(db.pager().budget_bytes()).unwrap_or(usize::MAX);
        let most_written_bytes = MOST_BYTES.min(budget.max(LEAST_BYTES));
        Self { db, tables: Vec::new(), most_written_bytes }
    }

    /// The place of a table among those that it has dealt with.
    fn table(&mut self, core: &Arc<TableCore>) -> usize {
        let is_it = |touched: &Touched| touched.core().id() == core.id();
        self.tables.iter().position(is_it).unwrap_or_else(|| {
            self.tables.push(Touched::new(Arc::clone(core)));
            self.tables.len() - 1
        })
    }

    /// The record with a packed key, as this transaction has seen it.
    fn record(&mut self, table: &Table, key: &[u8]) -> Result<Place> {
        let core = table.core();
        core.schema().expect_key(key)?;
        self.expect_own(table)?;
        let place = self.table(core);
        core.in_order(key, |ordered| {
            if let Some(number) = self.tables[place].find(ordered) {
                return Ok(Place { table: place, number });
            }
            let seen = table.payload(key)?;
            self.expect_room(key.len() + seen.as_ref().map_or(0, Vec::len))?;
            let number = self.tables[place].note(ordered, seen.as_deref());
            Ok(Place { table: place, number })
        })
    }

    fn current(&self, place: Place) -> Option<&[u8]> {
        self.tables[place.table].current(place.number)
    }

    fn expect_own(&self, table: &Table) -> Result<()> {
        match self.db.is_same(table.database()) {
            true => Ok(()),
            false => Err(table.schema().mismatch("it is of another database than the transaction")),
        }
    }

    /// Refuses more bytes than it may hold.
    fn expect_room(&self, more: usize) -> Result<()> {
        let held: usize = self.tables.iter().map(Touched::size_bytes).sum();
        match held + more <= MOST_BYTES {
            true => Ok(()),
            false => Err(Error::TxnTooLarge { most_bytes: MOST_BYTES }),
        }
    }

    /// The payload of a record, the columns after its key; `None` if there is none.
    pub fn payload(&mut self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if !table.core().can_have(key)? {
            return Ok(None);
        }
        let place = self.record(table, key)?;
        Ok(self.current(place).map(<[u8]>::to_vec))
    }

    /// Inserts a packed record; false if there is one with its key.
    pub fn insert(&mut self, table: &Table, record: &[u8]) -> Result<bool> {
        let (key, payload) = table.core().split(record)?;
        let place = self.record(table, key)?;
        if self.current(place).is_some() {
            return Ok(false);
        }
        self.put(place, payload)?;
        Ok(true)
    }

    /// Writes a packed record, whether there is one with its key or not; answers whether there was.
    pub fn upsert(&mut self, table: &Table, record: &[u8]) -> Result<bool> {
        let (key, payload) = table.core().split(record)?;
        let place = self.record(table, key)?;
        let there = self.current(place).is_some();
        self.put(place, payload)?;
        Ok(there)
    }

    /// Sets a column as [`Table::update`] does; false if there is no such record.
    pub fn update(
        &mut self,
        table: &Table,
        key: &[u8],
        column: usize,
        bytes: &[u8],
    ) -> Result<bool> {
        table.core().column_to_set(column)?;
        if !table.core().can_have(key)? {
            return Ok(false);
        }
        let place = self.record(table, key)?;
        let Some(mut payload) = self.current(place).map(<[u8]>::to_vec) else {
            return Ok(false);
        };
        table.schema().replace(&mut payload, column, bytes)?;
        self.put(place, &payload)?;
        Ok(true)
    }

    /// Deletes a record; false if there is none.
    pub fn delete(&mut self, table: &Table, key: &[u8]) -> Result<bool> {
        if !table.core().can_have(key)? {
            return Ok(false);
        }
        let place = self.record(table, key)?;
        let there = self.current(place).is_some();
        if there {
            self.tables[place.table].delete(place.number);
        }
        Ok(there)
    }

    fn put(&mut self, place: Place, payload: &[u8]) -> Result<()> {
        self.expect_room(payload.len())?;
        let written: usize = self.tables.iter().map(Touched::written_bytes).sum();
        if written + payload.len() > self.most_written_bytes {
            return Err(Error::TxnTooLarge { most_bytes: self.most_written_bytes });
        }
        self.tables[place.table].put(place.number, payload);
        Ok(())
    }

    /// Makes everything happen at once, as durable as the database's operations are.
    ///
    /// # Errors
    /// `Conflict` when a record is not any more as the transaction saw it, `Full` when there is no
    /// memory for it, `DiskFull`: in these cases nothing happens.
    pub fn commit(self) -> Result<()> {
        let end = self.apply()?;
        self.db.acknowledge(end)
    }

    /// The same, durable at this level at least. (In a database of [`Durability::None`], which has
    /// no log, that takes a checkpoint.)
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_with(self, level: Durability) -> Result<()> {
        let end = self.apply()?;
        let Some(store) = self.db.store() else { return Ok(()) };
        match (store.level, level) {
            (_, Durability::None) => Ok(()),
            (Durability::None, _) => self.db.checkpoint(),
            (Durability::Commit, _) | (_, Durability::Commit) => store.sync(end),
            _ => Ok(()),
        }
    }

    /// Makes everything happen; answers where it ends in the log.
    fn apply(&self) -> Result<LogPosition> {
        let order = self.order();
        for place in &order {
            let touched = &self.tables[place.table];
            expect_not_changing(touched.core(), touched.key(place.number))?;
        }
        if order.is_empty() && self.db.store().is_some_and(Store::is_read_only) {
            // Nobody changes what was read.
            return Ok(LogPosition::default());
        }
        let records = self.log_records(&order);
        self.db.admitted(0, &mut || {
            let _alone = self.db.gate().close();
            self.db.expect_healthy()?;
            self.validate()?;
            let mut done = Vec::new();
            let logged =
                self.write_all(&order, &mut done).and_then(|()| match records.is_empty() {
                    true => Ok(LogPosition::default()),
                    false => self.db.append(&records),
                });
            match logged {
                Ok(_) => self.give_up(&order, &done),
                Err(_) => self.roll_back(&order, &done)?,
            }
            logged
        })
    }

    /// What was written, in the order in which it is to be: that of the keys in trees.
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

    /// Whether everything is still as it was seen that was only read.
    fn validate(&self) -> Result<()> {
        for touched in &self.tables {
            let core = touched.core();
            core.ensure_open()?;
            for number in (0..touched.count()).filter(|number| touched.wanted(*number).is_none()) {
                let found = core.payload_of(self.db.pager(), touched.key(number))?;
                if found.as_deref() != touched.seen(number) {
                    return Err(conflict(core));
                }
            }
        }
        Ok(())
    }

    /// Writes everything that is still as it was seen; `done` gets what undoes each step.
    fn write_all(&self, order: &[Place], done: &mut Vec<Option<Box<UndoRecord>>>) -> Result<()> {
        let pager = self.db.pager();
        for place in order {
            let touched = &self.tables[place.table];
            let (core, number) = (touched.core(), place.number);
            if number.is_multiple_of(AHEAD) {
                // What the next ones need comes from memory at the same time, where numbers are in
                // order.
                let ahead = number..(number + AHEAD).min(touched.count());
                core.fetch(pager, ahead.map(|number| touched.key(number)));
            }
            let wanted = touched.wanted(number).flatten();
            let extra_pages = wanted.map_or(0, |payload| pages_for(payload.len()));
            self.db.make_room_for_step(extra_pages)?;
            match core.swap(
                pager,
                Swap { key: touched.key(number), seen: touched.seen(number), wanted },
            )? {
                Swapped::Done(undo) => done.push(undo),
                Swapped::Conflict => return Err(conflict(core)),
            }
        }
        Ok(())
    }

    /// Puts back what was there before, the last step first. All pages are still there, so it has
    /// room.
    fn roll_back(&self, order: &[Place], done: &[Option<Box<UndoRecord>>]) -> Result<()> {
        for (place, undo) in order.iter().zip(done).rev() {
            let touched = &self.tables[place.table];
            let record = (touched.key(place.number), touched.seen(place.number));
            let undone = touched.core().roll_back(self.db.pager(), record, undo.as_deref());
            if let Err(error) = undone {
                // Half of it is there: what is on the disk is all right, but no more of this is.
                return Err(self.db.store().map_or(error.clone(), |store| store.poison(&error)));
            }
        }
        Ok(())
    }

    /// Gives up pages that were kept in case that it had to be rolled back, as far as there is room
    /// for it.
    fn give_up(&self, order: &[Place], done: &[Option<Box<UndoRecord>>]) {
        for (place, undo) in order.iter().zip(done) {
            let touched = &self.tables[place.table];
            let (core, pager) = (touched.core(), self.db.pager());
            if let Some(undo) = undo {
                core.give_up(pager, undo);
            }
            let is_gone = touched.wanted(place.number) == Some(None);
            if is_gone && self.db.make_room_for_step(0).is_ok() {
                core.tidy(pager, touched.key(place.number));
            }
        }
    }

    /// What the log says of it.
    fn log_records(&self, order: &[Place]) -> Vec<LogRecord<'_>> {
        let record = |place: &Place| {
            let touched = &self.tables[place.table];
            let (table, key) = (touched.core().id(), touched.key(place.number));
            match (touched.seen(place.number), touched.wanted(place.number)?) {
                // Inserted and deleted again.
                (None, None) => None,
                (_, Some(payload)) => {
                    let record = Keyed::Apart { key, rest: payload };
                    Some(LogRecord::Put { table, record })
                }
                (Some(_), None) => {
                    let key = Keyed::Apart { key, rest: &[] };
                    Some(LogRecord::Delete { table, key })
                }
            }
        };
        order.iter().filter_map(record).collect()
    }
}

/// Somebody else has changed a record.
fn conflict(core: &TableCore) -> Error {
    Error::Conflict { table: core.schema().name().into() }
}
