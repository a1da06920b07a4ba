//! Packed records read as values.

use super::{Schema, Type};
use crate::error::Result;

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'v> {
    /// None.
    Null,
    /// Of the unsigned integer types.
    Unsigned(u64),
    /// Of the signed integer types.
    Signed(i64),
    /// Of the float types.
    Float(f64),
    /// Of `Bool`.
    Bool(bool),
    /// Of `Timestamp`.
    Timestamp(i64),
    /// Of `Text` and `VarText`.
    Text(&'v str),
    /// Of `Bytes` and `VarBytes`; also of text that is not UTF-8.
    Bytes(&'v [u8]),
}

/// The most bytes of a value that an error shows.
const MOST_SHOWN: usize = 64;

impl Value<'_> {
    /// Bytes of a text, or of bytes; 0 for others.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// The value for an error: of a long one, the beginning.
    pub(crate) fn shown(&self) -> String {
        let size = self.size();
        let start = match *self {
            value if size <= MOST_SHOWN => return format!("{value:?}"),
            Self::Text(text) => Self::Text(&text[..text.floor_char_boundary(MOST_SHOWN)]),
            Self::Bytes(bytes) => Self::Bytes(&bytes[..MOST_SHOWN]),
            other => other,
        };
        format!("{start:?}… of {size} bytes")
    }
}

impl Schema {
    /// A packed record, to look at its values.
    ///
    /// # Errors
    /// `Schema` when it has more or fewer bytes than a record, or its columns of variable length do
    /// not have the bytes that they should.
    pub fn row<'r>(&'r self, record: &'r [u8]) -> Result<Row<'r>> {
        self.expect_record(record)?;
        Ok(Row { schema: self, record, front: self.front_of(record) })
    }
}

/// A packed record with its schema.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    schema: &'r Schema,
    record: &'r [u8],
    /// Bytes of its key.
    front: usize,
}

impl<'r> Row<'r> {
    /// What it looks like.
    pub fn schema(&self) -> &'r Schema {
        self.schema
    }

    /// The value of a column by its name; `None` if there is no such column.
    pub fn get(&self, name: &str) -> Option<Value<'r>> {
        self.schema.position(name).map(|at| self.at(at))
    }

    /// The value of the column at a place.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn at(&self, column: usize) -> Value<'r> {
        let column = &self.schema.columns()[column];
        if let Some((at, mask)) = self.schema.null_bit(column)
            && self.record[self.front + at] & mask != 0
        {
            return Value::Null;
        }
        let cell = self.schema.bytes_after(self.record, self.front, column);
        let mut bytes = [0; 8];
        let count = cell.len().min(8);
        bytes[..count].copy_from_slice(&cell[..count]);
        let bits = count as u32 * 8;
        let signed = || i64::from_le_bytes(bytes) << (64 - bits) >> (64 - bits);
        match column.kind {
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => {
                Value::Unsigned(u64::from_le_bytes(bytes))
            }
            Type::I8 | Type::I16 | Type::I32 | Type::I64 => Value::Signed(signed()),
            Type::Timestamp => Value::Timestamp(signed()),
            Type::F32 => {
                let four = bytes.first_chunk().expect("eight bytes");
                Value::Float(f32::from_le_bytes(*four).into())
            }
            Type::F64 => Value::Float(f64::from_le_bytes(bytes)),
            Type::Bool => Value::Bool(cell[0] != 0),
            Type::Text(_) => {
                let end = cell.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                text_or_bytes(&cell[..end])
            }
            Type::VarText(_) => text_or_bytes(cell),
            Type::Bytes(_) | Type::VarBytes(_) => Value::Bytes(cell),
        }
    }
}

/// What is in a column of text, where whoever packs records himself may put what is none.
fn text_or_bytes(bytes: &[u8]) -> Value<'_> {
    str::from_utf8(bytes).map_or(Value::Bytes(bytes), Value::Text)
}
