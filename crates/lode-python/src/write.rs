//! Writes of several columns or records as one.

use lode::ReadTable;

use crate::failure::Result;
use crate::value::OwnedValue;

/// Writes records in a transaction, all of them or none. Returns the number for which `write`
/// returns true.
pub(crate) fn all_or_none(
    transaction: &lode::Transaction,
    records: &[Vec<u8>],
    write: impl Fn(&[u8]) -> Result<bool>,
) -> Result<u64> {
    let point = transaction.savepoint();
    let written = records
        .iter()
        .try_fold(0, |count, record| write(record).map(|is_counted| count + u64::from(is_counted)));
    if written.is_err() {
        transaction.roll_back_to(&point);
    }
    transaction.release(point);
    written
}

/// The new values of some columns of a record.
pub(crate) struct Update<'u> {
    pub(crate) table: &'u lode::Table,
    pub(crate) key: &'u [u8],
    pub(crate) values: &'u [(usize, OwnedValue)],
}

impl Update<'_> {
    /// Sets the columns in a packed record.
    fn set(&self, record: &mut Vec<u8>) -> Result<()> {
        let schema = self.table.schema();
        for (at, value) in self.values {
            let column = &schema.columns()[*at];
            schema.set(record, column, value.value(column))?;
        }
        Ok(())
    }

    pub(crate) fn alone(&self) -> Result<bool> {
        let mut outcome = Ok(());
        let is_there = self.table.change(self.key, &mut |payload| {
            let mut record = [self.key, payload].concat();
            outcome = self.set(&mut record);
            payload.clear();
            payload.extend_from_slice(&record[self.key.len()..]);
            outcome.is_ok()
        })?;
        outcome.map(|()| is_there)
    }

    pub(crate) fn within(&self, transaction: &lode::Transaction) -> Result<bool> {
        let mut payload = Vec::new();
        if !self.table.within(transaction).get_into(self.key, &mut payload)? {
            return Ok(false);
        }
        let mut record = [self.key, &payload].concat();
        self.set(&mut record)?;
        transaction.upsert(self.table, &record)?;
        Ok(true)
    }
}
