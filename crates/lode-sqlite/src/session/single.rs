//! The only record that a statement reads, or a transaction writes. As long as nothing is added to
//! it, it needs neither snapshot nor transaction.

use lode::{ReadTable, Table, Transaction};
use rusqlite::Result;

use crate::error::of_engine;

/// A record as it was read, and as it is to be if it is written.
pub(crate) struct Single {
    table: Table,
    /// The packed key, and what comes after it if the record is there.
    record: Vec<u8>,
    key_bytes: usize,
    is_there: bool,
    new: Vec<u8>,
}

/// Appends to a packed key what its record has after it; returns false if the record is missing.
/// `payload` may have any content; its memory is used.
pub(crate) fn complete(
    table: &impl ReadTable,
    record: &mut Vec<u8>,
    payload: &mut Vec<u8>,
) -> Result<bool> {
    let is_there = table.get_into(record, payload).map_err(|cause| of_engine(&cause))?;
    if is_there {
        record.extend_from_slice(payload);
    }
    Ok(is_there)
}

/// Appends the payload of a record as it is now, without a copy if it can be.
pub(crate) fn complete_now(
    table: &Table,
    record: &mut Vec<u8>,
    payload: &mut Vec<u8>,
) -> Result<bool> {
    if table.schema().is_variable() {
        return complete(table, record, payload);
    }
    let key_bytes = record.len();
    record.resize(key_bytes + table.schema().payload_size(), 0);
    let (key, place) = record.split_at_mut(key_bytes);
    let is_there = table.get_exact(key, place).map_err(|cause| of_engine(&cause))?;
    if !is_there {
        record.truncate(key_bytes);
    }
    Ok(is_there)
}

/// The most bytes of memory that are kept for the next record. (Larger ones cost more than to ask
/// for it.)
pub(crate) const MOST_KEPT_BYTES: usize = 1 << 16;

/// Returns the error for a write that another writer was quicker than.
pub(crate) fn conflict(table: &Table) -> rusqlite::Error {
    of_engine(&lode::Error::Conflict { table: table.schema().name().into() })
}

impl Single {
    pub(crate) fn of(table: &Table) -> Self {
        let record = Vec::new();
        let new = Vec::new();
        Self { table: table.clone(), record, key_bytes: 0, is_there: false, new }
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    pub(crate) fn is_in(&self, table: &Table) -> bool {
        std::ptr::eq(self.table.schema(), table.schema())
    }

    pub(crate) fn is_of(&self, table: &Table, key: &[u8]) -> bool {
        self.record[..self.key_bytes] == *key && self.is_in(table)
    }

    /// Notes what was read: the packed key, and what comes after it if the record is there.
    pub(crate) fn note(&mut self, record: &[u8], key_bytes: usize, is_there: bool) {
        self.record.clear();
        self.record.extend_from_slice(record);
        (self.key_bytes, self.is_there) = (key_bytes, is_there);
    }

    /// Reads the record of a packed key as it is now. Returns true if it is there.
    pub(crate) fn read(&mut self, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        self.note(key, key.len(), false);
        self.is_there = complete_now(&self.table, &mut self.record, payload)?;
        Ok(self.is_there)
    }

    /// Returns the record, if it is there.
    pub(crate) fn record(&self) -> Option<&[u8]> {
        self.is_there.then_some(&self.record)
    }

    /// Notes what is to be written in its place: a packed record with the same key.
    pub(crate) fn set_new(&mut self, record: &[u8]) {
        self.new.clear();
        self.new.extend_from_slice(record);
    }

    /// Gives memory back that most records do not need.
    pub(crate) fn shrink(&mut self) {
        self.record.shrink_to(MOST_KEPT_BYTES);
        self.new.shrink_to(MOST_KEPT_BYTES);
    }

    /// Returns an error if the record is not the same elsewhere.
    pub(crate) fn expect_same_in(&self, table: &impl ReadTable) -> Result<()> {
        let mut record = self.record[..self.key_bytes].to_vec();
        let is_there = complete(table, &mut record, &mut Vec::new())?;
        if is_there == self.is_there && record == self.record {
            Ok(())
        } else {
            Err(conflict(&self.table))
        }
    }

    /// Reads the record in a transaction too, where it must be the same.
    pub(crate) fn read_in(&self, transaction: &Transaction) -> Result<()> {
        self.expect_same_in(&self.table.within(transaction))
    }

    /// Writes what is new in a transaction.
    pub(crate) fn write_in(&self, transaction: &Transaction) -> Result<()> {
        self.read_in(transaction)?;
        let written = transaction.upsert(&self.table, &self.new);
        written.map(drop).map_err(|cause| of_engine(&cause))
    }

    /// Writes what is new by itself, if the record is still as it was read.
    pub(crate) fn write(&self) -> Result<()> {
        let written = if self.is_there {
            let (key, new) = self.new.split_at(self.key_bytes);
            self.table.compare_and_swap(key, &self.record[self.key_bytes..], new)
        } else {
            self.table.insert(&self.new)
        };
        match written {
            Ok(true) => Ok(()),
            Ok(false) => Err(conflict(&self.table)),
            Err(cause) => Err(of_engine(&cause)),
        }
    }
}
