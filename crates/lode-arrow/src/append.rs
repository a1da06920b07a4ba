//! Writing record batches into a table.

use arrow_array::RecordBatch;
use lode::{Database, Table};

use crate::error::{Error, Result};
use crate::pack::Packer;

/// The treatment of rows whose keys are in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfThere {
    /// Returning an error.
    Stop,
    /// Overwriting the records.
    Replace,
    /// Leaving the rows out.
    Skip,
}

/// The numbers of rows of a batch by what was done with them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// Rows that are new records.
    pub inserted: u64,
    /// Rows that overwrote others.
    pub replaced: u64,
    /// Rows that were left out.
    pub skipped: u64,
}

/// Writes the rows of a batch into a table, all of them or none, in one transaction. Columns are
/// found by their names, as [`Packer`] says.
///
/// # Errors
/// The errors of [`Packer`]; `KeyIsThere`; `Lode` with those of writing, `TxnTooLarge` when the
/// batch is too large for a transaction, and `Conflict` when another writer was first.
pub fn append(
    db: &Database,
    table: &Table,
    batch: &RecordBatch,
    if_there: IfThere,
) -> Result<Appended> {
    let mut packer = Packer::new(table.schema(), batch.schema())?;
    let transaction = db.begin();
    let mut done = Appended::default();
    packer.pack(batch, &mut |row, record| {
        let (was_there, count) = match if_there {
            IfThere::Replace => (transaction.upsert(table, record)?, &mut done.replaced),
            IfThere::Stop | IfThere::Skip => {
                (!transaction.insert(table, record)?, &mut done.skipped)
            }
        };
        match (was_there, if_there) {
            (true, IfThere::Stop) => return Err(Error::KeyIsThere { row }),
            (true, _) => *count += 1,
            (false, _) => done.inserted += 1,
        }
        Ok(())
    })?;
    transaction.commit()?;
    Ok(done)
}
