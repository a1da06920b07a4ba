//! The mapping of Assay's columns to a Tonbo table: the primary key is its first column, under the
//! key column's name or as `key`, and every other column follows under its own name.

use assay_driver::schema::{Column, ColumnType, KeyOrder, Schema};
use tonbo::record::DataType;

/// The table of a schema.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) schema: Schema,
    /// Encodes keys that Tonbo has no type for.
    pub(super) order: KeyOrder,
    /// The type of the key column.
    pub(super) key_type: DataType,
    /// The names of Tonbo's columns, the key first.
    pub(super) names: Vec<String>,
}

impl Layout {
    pub(super) fn new(schema: &Schema) -> Self {
        let (key_name, key_type) = match schema.key_columns() {
            [only] => (only.name, key_type(only.kind)),
            _ => ("key", DataType::Bytes),
        };
        let names = std::iter::once(key_name)
            .chain(schema.payload_columns().iter().map(|column| column.name))
            .map(str::to_string)
            .collect();
        Self { schema: schema.clone(), order: KeyOrder::new(schema), key_type, names }
    }

    /// Returns true if the key is one integer, which Tonbo orders as Assay does.
    pub(super) fn key_is_integer(&self) -> bool {
        self.key_type != DataType::Bytes
    }

    /// Returns the key column of an integer key.
    pub(super) fn key_column(&self) -> &Column {
        &self.schema.key_columns()[0]
    }

    /// Returns the bytes that stand for any other key.
    pub(super) fn encoded_key(&self, area: &[u8]) -> Vec<u8> {
        let mut encoded = vec![0; self.order.size()];
        self.order.encode(area, &mut encoded);
        encoded
    }
}

/// Returns the type of a key: one integer keeps its type; all others are bytes in [`KeyOrder`].
fn key_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::F64 | ColumnType::Text(_) | ColumnType::Bytes(_) | ColumnType::VarBytes(_) => {
            DataType::Bytes
        }
        integer => data_type(integer),
    }
}

/// Returns the type of a column that is not in the key. Tonbo 0.3 has no floats: their bits are
/// stored as an integer.
pub(super) fn data_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::U8 => DataType::UInt8,
        ColumnType::U16 => DataType::UInt16,
        ColumnType::U32 => DataType::UInt32,
        ColumnType::U64 | ColumnType::F64 => DataType::UInt64,
        ColumnType::I32 => DataType::Int32,
        ColumnType::I64 => DataType::Int64,
        ColumnType::Text(_) => DataType::String,
        ColumnType::Bytes(_) | ColumnType::VarBytes(_) => DataType::Bytes,
    }
}
