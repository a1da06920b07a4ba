//! Writing record batches into a table.

use arrow_array::RecordBatch;
use lode::Table;

use crate::error::{Error, Result};
use crate::pack::Packer;

/// What is done about rows whose keys are in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfThere {
    /// They are an error.
    Stop,
    /// They overwrite the records.
    Replace,
    /// They are left out.
    Skip,
}

/// What became of the rows of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// Rows that are new records.
    pub inserted: u64,
    /// Rows that overwrote others.
    pub replaced: u64,
    /// Rows that were left out.
    pub skipped: u64,
}

/// Writes the rows of a batch into a table, all of them or none. Columns are found by their names,
/// as [`Packer`] says.
///
/// # Errors
/// Those of [`Packer`]; `KeyIsThere`; `Lode` with those of writing, and `TxnTooLarge` when the
/// batch has more bytes than a transaction may write.
pub fn append(table: &Table, batch: &RecordBatch, if_there: IfThere) -> Result<Appended> {
    let mut packer = Packer::new(table.schema(), batch.schema())?;
    let (mut packed, mut ends) = (Vec::new(), vec![0]);
    packer.pack::<Error>(batch, &mut |_, record| {
        packed.extend_from_slice(record);
        ends.push(packed.len());
        Ok(())
    })?;
    let records = ends.windows(2).map(|ends| &packed[ends[0]..ends[1]]);
    let count = records.len() as u64;
    let mut done = Appended::default();
    match if_there {
        IfThere::Replace => {
            done.inserted = table.upsert_all(records)?;
            done.replaced = count - done.inserted;
        }
        IfThere::Skip => {
            done.inserted = table.insert_all(records)?;
            done.skipped = count - done.inserted;
        }
        IfThere::Stop => match table.insert_all_new(records)? {
            Some(first) => return Err(Error::KeyIsThere { row: first as u64 + 1 }),
            None => done.inserted = count,
        },
    }
    Ok(done)
}
