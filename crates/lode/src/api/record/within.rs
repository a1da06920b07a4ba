//! Typed records within transactions, and at the moments of snapshots.

use std::ops::RangeBounds;

use super::Record;
use super::handle::{Records, direction_of};
use crate::api::Snapshot;
use crate::api::Transaction;
use crate::error::Result;

impl<R: Record> Records<R> {
    /// The records as a transaction sees them; what is written is of the transaction.
    pub fn within<'t>(&'t self, transaction: &'t mut Transaction) -> RecordsWithin<'t, R> {
        RecordsWithin { records: self, transaction }
    }

    /// The records as they were at the moment of a snapshot.
    pub fn at<'s>(&'s self, snapshot: &'s Snapshot) -> RecordsAt<'s, R> {
        RecordsAt { records: self, snapshot }
    }
}

/// Records as a transaction sees them: those of the table, with what it has written in their place.
/// Made by [`Records::within`].
pub struct RecordsWithin<'t, R> {
    records: &'t Records<R>,
    transaction: &'t mut Transaction,
}

impl<R: Record> RecordsWithin<'_, R> {
    /// The record with a key, if there is one.
    pub fn get(&mut self, key: R::Key<'_>) -> Result<Option<R>> {
        let Some(key) = self.records.key_of_any(key)? else { return Ok(None) };
        let payload = self.transaction.payload(self.records.table(), &key)?;
        payload.map(|payload| self.records.unpack(&[key, payload].concat())).transpose()
    }

    /// Inserts a record; false if there is one with its key.
    pub fn insert(&mut self, record: &R) -> Result<bool> {
        self.transaction.insert(self.records.table(), &self.records.pack(record)?)
    }

    /// Writes a record, whether there is one with its key or not; answers whether there was.
    pub fn upsert(&mut self, record: &R) -> Result<bool> {
        self.transaction.upsert(self.records.table(), &self.records.pack(record)?)
    }

    /// Lets `change` change the record with a key. Answers whether there is such a record.
    ///
    /// # Errors
    /// `Schema` when `change` has changed the key, or the record does not fit its columns any more;
    /// the record stays as it was.
    pub fn change(&mut self, key: R::Key<'_>, change: impl FnOnce(&mut R)) -> Result<bool> {
        let Some(key) = self.records.key_of_any(key)? else { return Ok(false) };
        let table = self.records.table();
        let Some(payload) = self.transaction.payload(table, &key)? else { return Ok(false) };
        self.transaction.upsert(table, &self.records.changed(&key, &payload, change)?)
    }

    /// Deletes the record with a key; false if there is none.
    pub fn delete(&mut self, key: R::Key<'_>) -> Result<bool> {
        let Some(key) = self.records.key_of_any(key)? else { return Ok(false) };
        self.transaction.delete(self.records.table(), &key)
    }

    /// As [`Records::scan`], with what the transaction has written so far. A commit does not look
    /// at what scans came by: [get](Self::get) what must not change until then.
    pub fn scan<'k>(
        &self,
        keys: impl RangeBounds<R::Key<'k>>,
        limit: u64,
        visit: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        self.scan_in(false, keys, limit, visit)
    }

    /// As [`scan`](Self::scan), from the highest key down.
    pub fn scan_backward<'k>(
        &self,
        keys: impl RangeBounds<R::Key<'k>>,
        limit: u64,
        visit: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        self.scan_in(true, keys, limit, visit)
    }

    fn scan_in<'k>(
        &self,
        backward: bool,
        keys: impl RangeBounds<R::Key<'k>>,
        limit: u64,
        visit: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        let (range, table) = (self.records.range(&keys)?, self.records.table());
        let mut show = self.records.show(limit, visit);
        let range = (&range, direction_of(backward));
        self.transaction.each_in(table, range, limit, &mut |key, payload| match payload {
            Some(payload) => show(key, payload),
            None => Ok(true),
        })
    }
}

/// Records as they were at the moment of a snapshot. Made by [`Records::at`].
pub struct RecordsAt<'s, R> {
    records: &'s Records<R>,
    snapshot: &'s Snapshot,
}

impl<R: Record> RecordsAt<'_, R> {
    /// The record with a key, if there was one.
    pub fn get(&self, key: R::Key<'_>) -> Result<Option<R>> {
        let Some(key) = self.records.key_of_any(key)? else { return Ok(None) };
        let mut payload = Vec::new();
        match self.snapshot.read(self.records.table(), &key, &mut payload)? {
            true => self.records.unpack(&[key, payload].concat()).map(Some),
            false => Ok(None),
        }
    }

    /// As [`Records::scan`], of what there was.
    pub fn scan<'k>(
        &self,
        keys: impl RangeBounds<R::Key<'k>>,
        limit: u64,
        visit: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        let range = self.records.range(&keys)?;
        self.records.scan_at(self.snapshot, (&range, false), limit, visit)
    }

    /// As [`scan`](Self::scan), from the highest key down.
    pub fn scan_backward<'k>(
        &self,
        keys: impl RangeBounds<R::Key<'k>>,
        limit: u64,
        visit: impl FnMut(R) -> Result<bool>,
    ) -> Result<()> {
        let range = self.records.range(&keys)?;
        self.records.scan_at(self.snapshot, (&range, true), limit, visit)
    }

    /// As [`Records::each`], of what there was.
    pub fn each(&self, mut visit: impl FnMut(R) -> Result<bool>) -> Result<()> {
        let each = &mut |record: &[u8]| visit(self.records.unpack(record)?);
        self.snapshot.each(self.records.table(), each)
    }
}
