//! Rows: the columns that a scan asks for, out of whole records.

use super::scan::Scan;
use crate::error::Result;
use crate::schema::Schema;
use crate::table::TableCore;

/// Hands the columns that a scan asks for out.
pub(crate) struct Rows<'r> {
    core: &'r TableCore,
    columns: &'r [usize],
    left: u64,
    record: Vec<u8>,
    row: Vec<u8>,
    visit: &'r mut dyn FnMut(&[u8]) -> Result<bool>,
}

impl<'r> Rows<'r> {
    /// Refuses columns that there are not.
    pub(crate) fn new(
        core: &'r TableCore,
        scan: &'r Scan<'_>,
        visit: &'r mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<Self> {
        let (schema, columns) = (core.schema(), scan.columns);
        if let Some(column) = columns.iter().find(|column| **column >= schema.columns().len()) {
            return Err(schema.mismatch(format!("no column {column}")));
        }
        let (record, row) = (Vec::new(), Vec::new());
        Ok(Self { core, columns, left: scan.limit, record, row, visit })
    }

    /// Shows a record by its key in order, if there is one; whether there may be more.
    pub(crate) fn show(&mut self, key: &[u8], payload: Option<&[u8]>) -> Result<bool> {
        let Some(payload) = payload else { return Ok(true) };
        self.core.pack(key, payload, &mut self.record)?;
        self.row.clear();
        for column in self.columns {
            append(self.core.schema(), *column, (&self.record, payload), &mut self.row);
        }
        self.left -= 1;
        Ok((self.visit)(&self.row)? && self.left > 0)
    }
}

/// Appends what a row has of a column of a record with this payload.
fn append(schema: &Schema, column: usize, (record, payload): (&[u8], &[u8]), row: &mut Vec<u8>) {
    let column = &schema.columns()[column];
    let bytes = schema.bytes_of(record, column);
    if column.kind.is_variable() {
        row.extend((bytes.len() as u32).to_le_bytes());
    }
    row.extend_from_slice(bytes);
    if let Some((at, mask)) = schema.null_bit(column) {
        row.push(u8::from(payload[at] & mask != 0));
    }
}
