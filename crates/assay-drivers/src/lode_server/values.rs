//! Values of packed records as parameters and columns of PostgreSQL, in binary.

use std::error::Error as AnyError;

use assay_driver::schema::{Column, ColumnType, Value, write_bytes, write_integer};
use postgres::Row;
use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};

const SIGN: u64 = 1 << 63;

/// Returns true if a column's unsigned integers need a signed integer of the same order.
fn orders_unsigned(column: &Column) -> bool {
    column.in_key && column.kind == ColumnType::U64
}

/// Returns the type of a column for the server.
pub(super) fn kind_of(kind: ColumnType) -> Type {
    match kind {
        ColumnType::F64 => Type::FLOAT8,
        ColumnType::Text(_) => Type::TEXT,
        ColumnType::Bytes(_) | ColumnType::VarBytes(_) => Type::BYTEA,
        ColumnType::U8
        | ColumnType::U16
        | ColumnType::U32
        | ColumnType::U64
        | ColumnType::I32
        | ColumnType::I64 => Type::INT8,
    }
}

/// A value as a parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<'v>(pub(super) Value<'v>);

impl<'v> Cell<'v> {
    /// Returns the parameter for a column of a packed record.
    pub(super) fn of(column: &Column, record: &'v [u8]) -> Self {
        Self(match column.value(record) {
            Value::Unsigned(number) if orders_unsigned(column) => Value::Unsigned(number ^ SIGN),
            value => value,
        })
    }
}

impl ToSql for Cell<'_> {
    fn to_sql(
        &self,
        _: &Type,
        to: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn AnyError + Sync + Send>> {
        match self.0 {
            Value::Unsigned(number) => to.extend_from_slice(&number.to_be_bytes()),
            Value::Signed(number) => to.extend_from_slice(&number.to_be_bytes()),
            Value::Float(number) => to.extend_from_slice(&number.to_be_bytes()),
            Value::Text(bytes) | Value::Bytes(bytes) => to.extend_from_slice(bytes),
        }
        Ok(IsNull::No)
    }

    /// Accepts any type: statements are prepared for those of their columns.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Copies a row's columns to their places; `base` is the offset at which `bytes` starts.
pub(super) fn read(
    row: &Row,
    columns: &[Column],
    base: usize,
    bytes: &mut [u8],
) -> Result<(), postgres::Error> {
    for (at, column) in columns.iter().enumerate() {
        let size = column.kind.size_bytes();
        let to = &mut bytes[column.offset - base..column.offset - base + size];
        match column.kind {
            ColumnType::F64 => to.copy_from_slice(&row.try_get::<_, f64>(at)?.to_le_bytes()),
            ColumnType::Text(_) => {
                write_bytes(column.kind, row.try_get::<_, &str>(at)?.as_bytes(), to)
            }
            ColumnType::Bytes(_) | ColumnType::VarBytes(_) => {
                write_bytes(column.kind, row.try_get(at)?, to);
            }
            _ => {
                let number: i64 = row.try_get(at)?;
                let flip = if orders_unsigned(column) { SIGN.cast_signed() } else { 0 };
                write_integer(column.kind, number ^ flip, to);
            }
        }
    }
    Ok(())
}
