//! Rows: the columns that a scan asks for, out of whole records.

use crate::error::Result;
use crate::schema::Schema;

/// The columns that a scan asks for.
pub struct Projection<'p> {
    schema: &'p Schema,
    columns: Vec<usize>,
}

impl<'p> Projection<'p> {
    /// Refuses columns that there are not.
    pub fn new(schema: &'p Schema, columns: &[usize]) -> Result<Self> {
        match columns.iter().find(|column| **column >= schema.columns().len()) {
            Some(column) => Err(schema.mismatch(format!("no column {column}"))),
            None => Ok(Self { schema, columns: columns.to_vec() }),
        }
    }

    /// Makes the row of a packed record.
    pub fn row(&self, record: &[u8], row: &mut Vec<u8>) {
        row.clear();
        for column in &self.columns {
            let column = &self.schema.columns()[*column];
            let bytes = self.schema.bytes_of(record, column);
            if column.kind.is_variable() {
                row.extend((bytes.len() as u32).to_le_bytes());
            }
            row.extend_from_slice(bytes);
            if let Some((at, mask)) = self.schema.null_bit(column) {
                row.push(u8::from(record[at] & mask != 0));
            }
        }
    }
}
