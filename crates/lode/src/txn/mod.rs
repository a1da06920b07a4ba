//! Write transactions: what they wrote waits in memory until the commit, and what they read must
//! still be so then (optimistic concurrency control with backward validation: Härder, Observations
//! on Optimistic Concurrency Control Schemes, Information Systems 9(2), 1984).

mod gate;
mod scan;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use gate::Gate;

use crate::codec::Writer;
use crate::db::{Durability, Inner};
use crate::error::{Error, Result};
use crate::heap::pages_for;
use crate::table::{Core, Table};
use crate::wal::{Entry, Kind, Position};

/// Bytes of keys and records that a transaction may hold.
pub const MOST_BYTES: usize = 256 << 20;

/// A transaction. What it wrote, only it sees until [`commit`](Self::commit); dropped without one, it
/// has written nothing.
///
/// Transactions do not wait for each other. If a record that one has read or written was changed by
/// somebody else meanwhile, its commit answers [`Error::Conflict`] and nothing of it happens: run it
/// again.
pub struct Transaction {
    db: Arc<Inner>,
    tables: BTreeMap<u32, Arc<Core>>,
    records: BTreeMap<(u32, Box<[u8]>), Record>,
    bytes: usize,
}

/// A payload, or none.
type State = Option<Box<[u8]>>;

/// A record that a transaction has dealt with.
struct Record {
    /// What it was.
    seen: State,
    /// What it shall be, if it was written.
    wanted: Option<State>,
}

impl Record {
    fn current(&self) -> Option<&[u8]> {
        self.wanted.as_ref().unwrap_or(&self.seen).as_deref()
    }
}

impl Transaction {
    pub(crate) fn new(db: Arc<Inner>) -> Self {
        Self { db, tables: BTreeMap::new(), records: BTreeMap::new(), bytes: 0 }
    }

    /// The record with a packed key, as this transaction sees it.
    fn record(&mut self, table: &Table, key: &[u8]) -> Result<&mut Record> {
        let core = table.core();
        core.schema().expect_size("key", key.len(), core.schema().key_size())?;
        self.expect_own(table)?;
        let place = (core.id(), core.in_order(key, |key| key.into()));
        if !self.records.contains_key(&place) {
            let seen = table.payload(key)?.map(Vec::into_boxed_slice);
            self.add(key.len() + seen.as_ref().map_or(0, |payload| payload.len()))?;
            self.tables.entry(core.id()).or_insert_with(|| Arc::clone(core));
            self.records.insert(place.clone(), Record { seen, wanted: None });
        }
        Ok(self.records.get_mut(&place).expect("it was just put there"))
    }

    fn expect_own(&self, table: &Table) -> Result<()> {
        match Arc::ptr_eq(&self.db, table.database()) {
            true => Ok(()),
            false => Err(table.schema().mismatch("it is of another database than the transaction")),
        }
    }

    fn add(&mut self, bytes: usize) -> Result<()> {
        /// What a record takes up beside its bytes, about.
        const OVERHEAD: usize = 100;
        let sum = self.bytes + bytes + OVERHEAD;
        if sum > MOST_BYTES {
            return Err(Error::TxnTooLarge { most_bytes: MOST_BYTES });
        }
        self.bytes = sum;
        Ok(())
    }

    /// The payload of a record, the columns after its key; `None` if there is none.
    pub fn payload(&mut self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.record(table, key)?.current().map(<[u8]>::to_vec))
    }

    /// Inserts a packed record; false if there is one with its key.
    pub fn insert(&mut self, table: &Table, record: &[u8]) -> Result<bool> {
        let (key, payload) = table.core().split(record)?;
        if self.record(table, key)?.current().is_some() {
            return Ok(false);
        }
        self.put(table, key, payload)?;
        Ok(true)
    }

    /// Writes a packed record, whether there is one with its key or not; answers whether there was.
    pub fn upsert(&mut self, table: &Table, record: &[u8]) -> Result<bool> {
        let (key, payload) = table.core().split(record)?;
        let there = self.record(table, key)?.current().is_some();
        self.put(table, key, payload)?;
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
        let Some(mut payload) = self.payload(table, key)? else {
            return Ok(false);
        };
        table.schema().replace(&mut payload, column, bytes)?;
        self.put(table, key, &payload)?;
        Ok(true)
    }

    /// Deletes a record; false if there is none.
    pub fn delete(&mut self, table: &Table, key: &[u8]) -> Result<bool> {
        let record = self.record(table, key)?;
        let there = record.current().is_some();
        if there {
            record.wanted = Some(None);
        }
        Ok(there)
    }

    fn put(&mut self, table: &Table, key: &[u8], payload: &[u8]) -> Result<()> {
        self.add(payload.len())?;
        self.record(table, key)?.wanted = Some(Some(payload.into()));
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

    /// The same, durable at this level at least. (In a database of [`Durability::None`], which has no
    /// log, that takes a checkpoint.)
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
    fn apply(&self) -> Result<Position> {
        let outcomes = self.outcomes();
        self.db.admitted(0, &mut || {
            let _alone = self.db.gate().close();
            self.validate()?;
            let done = self.write_all()?;
            let told = match &outcomes {
                None => Ok(Position::default()),
                Some((kind, body)) => self.db.tell(*kind, body),
            };
            told.or_else(|error| self.undo(done).and(Err(error)))
        })
    }

    /// Whether everything is still as it was seen.
    fn validate(&self) -> Result<()> {
        for ((id, key), record) in &self.records {
            let core = &self.tables[id];
            core.is_there()?;
            if core.payload_of(self.db.pager(), key)?.as_deref() != record.seen.as_deref() {
                return Err(Error::Conflict { table: core.schema().name().into() });
            }
        }
        Ok(())
    }

    /// Writes everything; if that fails, nothing.
    fn write_all(&self) -> Result<Vec<Written<'_>>> {
        let pager = self.db.pager();
        let mut done = Vec::new();
        for ((id, key), record) in &self.records {
            let Some(wanted) = &record.wanted else { continue };
            let core = &self.tables[id];
            let wanted = wanted.as_deref();
            let room = self.make_sure_of_room(wanted.map_or(0, |payload| pages_for(payload.len())));
            let written = room.and_then(|()| core.set(pager, key, wanted));
            if let Err(error) = written {
                self.undo(done)?;
                return Err(error);
            }
            done.push((core, &key[..], &record.seen));
        }
        Ok(done)
    }

    /// Whether so many more pages than most operations change can be, and be written out.
    fn make_sure_of_room(&self, more: u64) -> Result<()> {
        let pager = self.db.pager();
        if !pager.has_room_for_change(more) {
            return Err(Error::Full { budget_bytes: pager.budget_bytes() });
        }
        match self.db.store() {
            Some(store) if pager.dirty() + more >= store.room() => store.make_room(pager, more),
            _ => Ok(()),
        }
    }

    /// Puts back what was there before. That has room again, and deleting needs none.
    fn undo(&self, done: Vec<Written<'_>>) -> Result<()> {
        for (core, key, seen) in done.into_iter().rev() {
            if let Err(error) = core.set(self.db.pager(), key, seen.as_deref()) {
                // Half of it is there: what is on the disk is all right, but no more of this is.
                return Err(self.db.store().map_or(error.clone(), |store| store.poison(&error)));
            }
        }
        Ok(())
    }

    /// What it does, as the log has it; `None` if it only reads.
    fn outcomes(&self) -> Option<(Kind, Vec<u8>)> {
        let mut written: Vec<(Kind, Vec<u8>)> = Vec::new();
        for ((id, key), record) in &self.records {
            let Some(wanted) = &record.wanted else { continue };
            let kind = if wanted.is_some() { Kind::Put } else { Kind::Delete };
            let payload = wanted.as_deref().unwrap_or_default();
            written.push((kind, [&id.to_le_bytes(), &key[..], payload].concat()));
        }
        if written.len() < 2 {
            return written.pop();
        }
        let mut body = Writer::default();
        written.iter().for_each(|(kind, outcome)| Entry::append(*kind, outcome, &mut body));
        Some((Kind::Commit, body.0))
    }
}

/// A record that was written, and what it was.
type Written<'t> = (&'t Arc<Core>, &'t [u8], &'t State);
