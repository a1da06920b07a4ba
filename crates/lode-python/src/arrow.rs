//! Streams of Arrow, both ways, by Arrow's PyCapsule interface: no package of Python is needed.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use lode_arrow::{Batches, Packer};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::failure::{Failure, Result};

/// Batches as the reader that Arrow exports.
struct Reader(Batches);

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.0.next()?;
        // Arrow's interface ends texts with a zero, so they have none.
        Some(next.map_err(|error| ArrowError::ComputeError(error.to_string().replace('\0', ""))))
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.0.schema().clone()
    }
}

/// Makes a capsule with a stream of batches.
pub(crate) fn stream(py: Python<'_>, batches: Batches) -> Result<Bound<'_, PyCapsule>> {
    let stream = FFI_ArrowArrayStream::new(Box::new(Reader(batches)));
    Ok(PyCapsule::new_with_value(py, stream, c"arrow_array_stream")?)
}

/// Writes the rows of an object's stream into a table, each batch as a whole. Columns are found by
/// their names. Returns the numbers of rows whose keys were new.
pub(crate) fn load(table: &lode::Table, data: &Bound<'_, PyAny>, replace: bool) -> Result<u64> {
    let py = data.py();
    let capsule = data.call_method0(intern!(py, "__arrow_c_stream__"))?;
    let capsule = capsule.cast::<PyCapsule>().map_err(PyErr::from)?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?;
    // SAFETY: the interface promises a pointer to a stream under this name, which the capsule owns
    // until it is taken out, as is done here.
    #[allow(unsafe_code)]
    let reader = unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr().cast()) };
    let mut reader = reader.map_err(of_stream)?;
    let mut packer = Packer::new(table.schema(), reader.schema())?;
    let mut added = 0;
    let mut is_first = true;
    loop {
        let next = next_batch(&mut reader);
        py.check_signals()?;
        let loaded = next.and_then(|batch| {
            let Some(batch) = batch else { return Ok(None) };
            py.detach(|| load_batch(table, &mut packer, &batch, replace)).map(Some)
        });
        match loaded {
            Ok(Some(count)) => {
                added += count;
                is_first = false;
            }
            Ok(None) => return Ok(added),
            Err(Failure::Call(code, message)) if !is_first => {
                let message = format!("{message}; the batches before it are in the table");
                return Err(Failure::Call(code, message));
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// Makes the failure of a stream. Its producer may say more than one line.
pub(crate) fn of_stream(error: ArrowError) -> Failure {
    Failure::value(error.to_string().lines().next().unwrap_or_default())
}

/// Reads the next batch of a stream, and looks at all of it: the offsets of texts, and that they
/// are UTF-8.
fn next_batch(reader: &mut ArrowArrayStreamReader) -> Result<Option<RecordBatch>> {
    // Arrow panics for columns that are not those of the stream's schema.
    let next = catch_unwind(AssertUnwindSafe(|| reader.next()));
    let next =
        next.map_err(|_| Failure::value("the stream's batches are not as its schema says"))?;
    let Some(batch) = next.transpose().map_err(of_stream)? else { return Ok(None) };
    for column in batch.columns() {
        column.to_data().validate_full().map_err(of_stream)?;
    }
    Ok(Some(batch))
}

/// Writes the rows of a batch, all or none of them. Returns the number of new keys.
pub(crate) fn load_batch(
    table: &lode::Table,
    packer: &mut Packer,
    batch: &RecordBatch,
    replace: bool,
) -> Result<u64> {
    let mut records = Vec::with_capacity(batch.num_rows());
    packer.pack::<lode_arrow::Error>(batch, &mut |_, record| {
        records.push(record.to_vec());
        Ok(())
    })?;
    Ok(if replace { table.upsert_all(records)? } else { table.insert_all(records)? })
}
