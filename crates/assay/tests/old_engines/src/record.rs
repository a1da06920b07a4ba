//! The records of a store as keys and values.

use std::ffi::{CStr, c_char};
use std::slice;

use assay_driver::schema::{ColumnType, KeyOrder, LENGTH_SIZE, Schema};

use crate::Result;
use crate::abi::{CColumn, CSchema};

/// The layout of a store's records.
pub(crate) struct Layout {
    pub(crate) schema: Schema,
    pub(crate) order: KeyOrder,
}

impl Layout {
    /// Reads a schema of the C interface. Its names live as long as the process.
    ///
    /// # Safety
    /// The schema is one that Assay passes.
    pub(crate) unsafe fn read(schema: &CSchema) -> Result<Self> {
        // SAFETY: the schema has that number of columns.
        let columns =
            unsafe { slice::from_raw_parts(schema.columns, schema.column_count as usize) };
        let typed = columns.iter().map(|column| {
            // SAFETY: a name is a text that ends with a zero byte.
            let name = unsafe { leaked(column.name) }?;
            Ok((name, type_of(column)?))
        });
        let typed = typed.collect::<Result<Vec<_>>>()?;
        // SAFETY: as above.
        let name = unsafe { leaked(schema.name) }?;
        let schema = Schema::new(name, &typed, schema.key_column_count as usize);
        Ok(Self { order: KeyOrder::new(&schema), schema })
    }

    /// Returns the ordered bytes of a key.
    pub(crate) fn key(&self, key: &[u8]) -> Vec<u8> {
        let mut ordered = vec![0; self.order.size()];
        self.order.encode(key, &mut ordered);
        ordered
    }

    /// Returns the key and the value of a record.
    pub(crate) fn split(&self, record: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (key, payload) = record.split_at(self.schema.key_size());
        (self.key(key), payload[..self.schema.used_payload(payload)].to_vec())
    }
}

/// Copies a text for as long as the process lives.
///
/// # Safety
/// The text ends with a zero byte.
unsafe fn leaked(text: *const c_char) -> Result<&'static str> {
    // SAFETY: by the contract.
    let text = unsafe { CStr::from_ptr(text) }.to_str()?;
    Ok(Box::leak(text.into()))
}

/// Returns the type of a column.
fn type_of(column: &CColumn) -> Result<ColumnType> {
    let size = column.size_bytes;
    Ok(match column.kind {
        0 => ColumnType::U8,
        1 => ColumnType::U16,
        2 => ColumnType::U32,
        3 => ColumnType::U64,
        4 => ColumnType::I32,
        5 => ColumnType::I64,
        6 => ColumnType::F64,
        7 => ColumnType::Text(size),
        8 => ColumnType::Bytes(size),
        9 => ColumnType::VarBytes(size - LENGTH_SIZE as u32),
        other => return Err(format!("a column of the unknown type {other}").into()),
    })
}
