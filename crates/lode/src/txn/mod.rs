//! Write transactions: what they wrote waits in memory until the commit, and what they read must
//! still be so then (optimistic concurrency control with backward validation: Härder, Observations
//! on Optimistic Concurrency Control Schemes, Information Systems 9(2), 1984).

mod gate;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use gate::Gate;

use crate::db::Inner;
use crate::error::{Error, Result};
use crate::table::{Core, Table};

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
        if !Arc::ptr_eq(&self.db, table.database()) {
            return Err(core.schema().mismatch("it is of another database than the transaction"));
        }
        let place = (core.id(), core.in_order(key, |key| key.into()));
        if !self.records.contains_key(&place) {
            let seen = table.payload(key)?.map(Vec::into_boxed_slice);
            self.add(key.len() + seen.as_ref().map_or(0, |payload| payload.len()))?;
            self.tables.entry(core.id()).or_insert_with(|| Arc::clone(core));
            self.records.insert(place.clone(), Record { seen, wanted: None });
        }
        Ok(self.records.get_mut(&place).expect("it was just put there"))
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

    /// Sets a column to the bytes that it has in a packed record; false if there is no such record.
    pub fn update(
        &mut self,
        table: &Table,
        key: &[u8],
        column: usize,
        bytes: &[u8],
    ) -> Result<bool> {
        let at = table.core().payload_place(column, bytes)?;
        let Some(mut payload) = self.payload(table, key)? else {
            return Ok(false);
        };
        payload[at..at + bytes.len()].copy_from_slice(bytes);
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

    /// Makes everything happen at once.
    ///
    /// # Errors
    /// `Conflict` when a record is not any more as the transaction saw it, `Full` when there is no
    /// memory left: in both cases nothing happens.
    pub fn commit(self) -> Result<()> {
        let pager = self.db.pager();
        let alone = self.db.gate().close();
        for ((id, key), record) in &self.records {
            let core = &self.tables[id];
            core.is_there()?;
            if core.payload_of(pager, key).as_deref() != record.seen.as_deref() {
                return Err(Error::Conflict { table: core.schema().name().into() });
            }
        }
        let mut done: Vec<(&Arc<Core>, &[u8], &State)> = Vec::new();
        for ((id, key), record) in &self.records {
            let Some(wanted) = &record.wanted else { continue };
            let core = &self.tables[id];
            if let Err(error) = core.set(pager, key, wanted.as_deref()) {
                for (core, key, seen) in done.into_iter().rev() {
                    // What was there before has room again, and deleting needs none.
                    core.set(pager, key, seen.as_deref())?;
                }
                return Err(error);
            }
            done.push((core, key, &record.seen));
        }
        drop(alone);
        Ok(())
    }
}
