//! Descriptions of tables: their columns, and what records take up.

use std::ffi::c_char;

use lode::{Builder, Column, KeyKind, Schema};

use crate::argument::{slice, utf8};
use crate::failure::{Failure, Result};
use crate::value::{TypeNumbers, lode_type};

/// Flag of a column: it is of the key. Columns of the key come first.
pub const LODE_KEY: u32 = 1;
/// Flag of a column: it can be null. Columns of the key cannot.
pub const LODE_NULLABLE: u32 = 2;

/// The way in which a table finds its records: `LODE_HASHED` or `LODE_ORDERED`.
pub type lode_key_kind = u32;

/// By a hash of the key: the fastest for single records. There are no ranges.
pub const LODE_HASHED: lode_key_kind = 1;
/// By the order of keys: with ranges, in both directions.
pub const LODE_ORDERED: lode_key_kind = 2;

/// A column of a table. `LODE_COLUMN` makes one of constants.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_column {
    /// The name, in UTF-8.
    pub name: *const c_char,
    /// The bytes of the name, without a zero at its end.
    pub name_size: usize,
    /// The type.
    pub r#type: lode_type,
    /// The bytes of a text or of bytes, or the digits of a decimal; 0 for other types.
    pub size: u32,
    /// Digits after the point of a decimal; 0 for other types.
    pub scale: u32,
    /// The sum of `LODE_KEY` and `LODE_NULLABLE`, or 0.
    pub flags: u32,
}

/// The sizes of records and keys of a table. Bytes are those of packed ones.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_table_sizes {
    /// The number of columns.
    pub columns: u64,
    /// The number of columns of the key, which come first.
    pub key_columns: u64,
    /// `LODE_HASHED` or `LODE_ORDERED`.
    pub key_kind: u64,
    /// The fewest bytes of a key.
    pub key_bytes: u64,
    /// The most bytes of a key.
    pub most_key_bytes: u64,
    /// The fewest bytes of a payload, which is a record without its key.
    pub payload_bytes: u64,
    /// The most bytes of a payload.
    pub most_payload_bytes: u64,
}

impl lode_table_sizes {
    /// Returns the numbers of a table, in the order of the fields.
    pub(crate) fn words(schema: &Schema, kind: KeyKind) -> [u64; 7] {
        let key_kind = match kind {
            KeyKind::Hash => LODE_HASHED,
            KeyKind::Tree => LODE_ORDERED,
        };
        let of_any_length = |column: &&Column| column.kind.is_variable();
        let most_bytes = |column: &Column| TypeNumbers::of(column.kind).size as usize;
        let payload = schema.columns()[schema.key_columns()..].iter();
        let variable: usize = payload.filter(of_any_length).map(most_bytes).sum();
        let most = schema.payload_size() + variable.min(lode::MOST_VARIABLE_BYTES);
        [
            schema.columns().len() as u64,
            schema.key_columns() as u64,
            key_kind.into(),
            schema.key_size() as u64,
            schema.most_key_size() as u64,
            schema.payload_size() as u64,
            most as u64,
        ]
    }
}

/// Returns the kind of key of a number.
///
/// # Errors
/// `LODE_BAD_ARGUMENT`.
pub(crate) fn key_kind(number: lode_key_kind) -> Result<KeyKind> {
    match number {
        LODE_HASHED => Ok(KeyKind::Hash),
        LODE_ORDERED => Ok(KeyKind::Tree),
        other => {
            let message = format!("there is no kind of key {other}; use LODE_HASHED, LODE_ORDERED");
            Err(Failure::argument(message))
        }
    }
}

impl lode_column {
    /// Returns the description of a column, whose name it points to.
    pub(crate) fn of(schema: &Schema, column: &Column) -> Self {
        let is_of_key = column.id().index() < schema.key_columns();
        let TypeNumbers { number, size, scale } = TypeNumbers::of(column.kind);
        let key = if is_of_key { LODE_KEY } else { 0 };
        let nullable = if column.nullable { LODE_NULLABLE } else { 0 };
        Self {
            name: column.name.as_ptr().cast(),
            name_size: column.name.len(),
            r#type: number,
            size,
            scale,
            flags: key | nullable,
        }
    }

    /// Adds the column to a schema.
    fn add(&self, at: usize, schema: Builder) -> Result<Builder> {
        // SAFETY: the header asks for a name of that many bytes.
        let name = unsafe { slice(self.name.cast::<u8>(), self.name_size, "the name of a column") };
        let name = utf8(name?, &format!("the name of column {at}"))?;
        let numbers = TypeNumbers { number: self.r#type, size: self.size, scale: self.scale };
        let kind = numbers.to_type().ok_or_else(|| {
            Failure::argument(format!(
                "column {name}: there is no type {} with size {} and scale {}; only texts, bytes \
                 and decimals have a size, and only decimals a scale",
                numbers.number, numbers.size, numbers.scale
            ))
        })?;
        match self.flags {
            0 => Ok(schema.column(name, kind)),
            LODE_KEY => Ok(schema.key(name, kind)),
            LODE_NULLABLE => Ok(schema.nullable(name, kind)),
            other => Err(Failure::argument(format!(
                "column {name}: flags {other} are not possible; use 0, LODE_KEY or LODE_NULLABLE"
            ))),
        }
    }
}

/// Makes a schema of columns.
pub(crate) fn schema(table: &str, columns: &[lode_column]) -> Result<Schema> {
    let mut schema = Schema::build(table);
    for (at, column) in columns.iter().enumerate() {
        schema = column.add(at, schema)?;
    }
    Ok(schema.finish()?)
}
