//! Records as Tonbo takes them: its dynamic records for any schema (`DynRecord`), and the
//! operations that the store needs of a row type.

use std::any::Any;
use std::sync::Arc;

use assay_driver::error::{Error, Result};
use assay_driver::schema::{Column, ColumnType, Value as Cell, write_bytes};
use tonbo::record::{DataType, DynRecord, DynRecordRef, DynSchema, Record, Schema};
use tonbo::record::{Value, ValueDesc};

use super::layout::{Layout, data_type};

/// The key of a row type.
pub(super) type KeyOf<R> = <<R as Record>::Schema as Schema>::Key;

/// A record type of Tonbo that carries Assay's packed records.
pub(super) trait Row: Record<Schema: Schema<Columns: Send + Sync>> {
    /// Returns the type's schema.
    fn schema(layout: &Layout) -> Self::Schema;

    /// Returns the key that a key area stands for.
    fn key(layout: &Layout, area: &[u8]) -> KeyOf<Self>;

    /// Returns the record that a packed record stands for.
    fn pack(layout: &Layout, packed: &[u8]) -> Result<Self>;

    /// Writes columns of a found record, by their positions in the schema, to a packed one. That
    /// starts `base` bytes after the start of the record.
    fn unpack(
        layout: &Layout,
        found: &Self::Ref<'_>,
        columns: impl Iterator<Item = usize>,
        base: usize,
        packed: &mut [u8],
    );
}

impl Row for DynRecord {
    fn schema(layout: &Layout) -> DynSchema {
        let payload = layout.schema.payload_columns().iter().map(|column| data_type(column.kind));
        let types = std::iter::once(layout.key_type).chain(payload);
        let columns = layout.names.iter().zip(types);
        DynSchema::new(
            columns.map(|(name, kind)| ValueDesc::new(name.clone(), kind, false)).collect(),
            0,
        )
    }

    fn key(layout: &Layout, area: &[u8]) -> Value {
        let value = if layout.key_is_integer() {
            integer(layout.key_column(), area)
        } else {
            Arc::new(layout.encoded_key(area))
        };
        Value::new(layout.key_type, layout.names[0].clone(), value, false)
    }

    fn pack(layout: &Layout, packed: &[u8]) -> Result<Self> {
        let payload = layout.schema.payload_columns();
        let mut values = Vec::with_capacity(1 + payload.len());
        values.push(<Self as Row>::key(layout, packed));
        for (column, name) in payload.iter().zip(&layout.names[1..]) {
            let value: Arc<dyn Any + Send + Sync> = match column.value(packed) {
                Cell::Text(text) => Arc::new(utf8(text)?.to_string()),
                Cell::Bytes(bytes) => Arc::new(bytes.to_vec()),
                _ => integer(column, packed),
            };
            values.push(Value::new(data_type(column.kind), name.clone(), value, false));
        }
        Ok(DynRecord::new(values, 0))
    }

    fn unpack(
        layout: &Layout,
        found: &DynRecordRef<'_>,
        columns: impl Iterator<Item = usize>,
        base: usize,
        packed: &mut [u8],
    ) {
        let key_len = layout.schema.key_columns().len();
        let mut wants_key = false;
        for at in columns {
            let column = &layout.schema.columns()[at];
            if at < key_len {
                wants_key = true;
                continue;
            }
            let value = &*found.columns[at - key_len + 1].value;
            read(column, value, &mut packed[column.offset - base..]);
        }
        if wants_key {
            unpack_key(layout, &*found.columns[0].value, packed);
        }
    }
}

/// Returns an integer or the bits of a float, as the type that Tonbo keeps it in.
fn integer(column: &Column, packed: &[u8]) -> Arc<dyn Any + Send + Sync> {
    let bytes = column.slice(packed);
    macro_rules! number {
        ($type:ty) => {
            Arc::new(bytes.first_chunk().copied().map_or(0, <$type>::from_le_bytes))
        };
    }
    match data_type(column.kind) {
        DataType::UInt8 => number!(u8),
        DataType::UInt16 => number!(u16),
        DataType::UInt32 => number!(u32),
        DataType::Int32 => number!(i32),
        DataType::Int64 => number!(i64),
        _ => number!(u64),
    }
}

fn unpack_key(layout: &Layout, value: &(dyn Any + Send + Sync), packed: &mut [u8]) {
    let area = &mut packed[..layout.schema.key_size()];
    if let Some(encoded) = value.downcast_ref::<Vec<u8>>() {
        return layout.order.decode(encoded, area);
    }
    let column = layout.key_column();
    macro_rules! number {
        ($($type:ty),+) => {$(
            if let Some(value) = value.downcast_ref::<$type>() {
                column.slice_mut(area).copy_from_slice(&value.to_le_bytes());
            }
        )+};
    }
    number!(u8, u16, u32, u64, i32, i64);
}

/// Reads a value that is not in the key; Tonbo hands those out as options. A missing one (it never
/// is) leaves the bytes as they are, for the check to find.
fn read(column: &Column, value: &(dyn Any + Send + Sync), bytes: &mut [u8]) {
    let bytes = &mut bytes[..column.kind.size_bytes()];
    macro_rules! number {
        ($type:ty) => {
            if let Some(Some(value)) = value.downcast_ref::<Option<$type>>() {
                bytes.copy_from_slice(&value.to_le_bytes());
            }
        };
    }
    match column.kind {
        ColumnType::U8 => number!(u8),
        ColumnType::U16 => number!(u16),
        ColumnType::U32 => number!(u32),
        ColumnType::U64 | ColumnType::F64 => number!(u64),
        ColumnType::I32 => number!(i32),
        ColumnType::I64 => number!(i64),
        ColumnType::Text(_) => {
            if let Some(Some(text)) = value.downcast_ref::<Option<String>>() {
                write_bytes(column.kind, text.as_bytes(), bytes);
            }
        }
        ColumnType::Bytes(_) | ColumnType::VarBytes(_) => {
            if let Some(Some(value)) = value.downcast_ref::<Option<Vec<u8>>>() {
                write_bytes(column.kind, value, bytes);
            }
        }
    }
}

/// Returns a text as Tonbo takes it.
pub(super) fn utf8(text: &[u8]) -> Result<&str> {
    std::str::from_utf8(text).map_err(|e| Error::engine("insert", e))
}
