//! Values of SQLite as values of a column, and back.

pub(crate) mod collation;
pub(crate) mod decimal;
pub(crate) mod math;
pub(crate) mod number;
pub(crate) mod position;
pub(crate) mod row_numbers;

use lode::{Column, RowRef, Type, Value};
use rusqlite::Result;
use rusqlite::ffi;
use rusqlite::types::{Null, ToSqlOutput, ValueRef};
use rusqlite::vtab::Context;

use crate::error::error;
use crate::values::decimal::Form;
use crate::values::number::Number;
use crate::values::position::{bounds, same_number, whole};

/// Returns the type that a column has in a `CREATE TABLE` of SQLite.
pub(crate) fn declared_type(kind: Type) -> &'static str {
    match kind {
        Type::F32 | Type::F64 => "REAL",
        Type::Bool => "BOOLEAN",
        Type::Timestamp => "TIMESTAMP",
        Type::Text(_) | Type::VarText(_) => "TEXT",
        Type::Bytes(_) | Type::VarBytes(_) => "BLOB",
        Type::Decimal { precision, scale } => Form::of(precision, scale).declared(),
        _ => "INTEGER",
    }
}

/// Gives SQLite the value that a row has of a column. A NaN is NULL, as all of SQLite has it.
///
/// # Errors
/// For what SQLite has no value for: whole numbers from 2⁶³ on.
pub(crate) fn set_result(
    context: &mut Context,
    table: &str,
    column: &Column,
    row: RowRef<'_>,
) -> Result<()> {
    if let Type::Text(_) | Type::VarText(_) = column.kind {
        // Also what is no UTF-8, as SQLite has it.
        return match row.bytes_at(column.id()) {
            Some(text) => context.set_result(ToSqlOutput::Borrowed(ValueRef::Text(text))),
            None => context.set_result(Null),
        };
    }
    match row.at(column.id()) {
        Value::Null => context.set_result(Null),
        Value::Signed(number) | Value::Timestamp(number) => context.set_result(number),
        Value::Unsigned(number) => match i64::try_from(number) {
            Ok(number) => context.set_result(number),
            Err(_) => Err(has_no_value(table, column, &number.to_string())),
        },
        Value::Bool(bool) => context.set_result(bool),
        Value::Float(number) if number.is_nan() => context.set_result(Null),
        Value::Float(number) => context.set_result(number),
        Value::Bytes(bytes) => context.set_result(bytes),
        Value::Decimal(number) => decimal::set_result(context, column.kind, number),
        other => Err(has_no_value(table, column, &format!("{other:?}"))),
    }
}

#[cold]
fn has_no_value(table: &str, column: &Column, value: &str) -> rusqlite::Error {
    let Column { name, .. } = column;
    error(
        ffi::SQLITE_ERROR,
        format!("{table}.{name} is {value}, for which SQLite has no value; read it with lode dump"),
    )
}

/// Turns a value of SQLite into one for a column, as SQLite's strict tables have it. Text that
/// looks like a number becomes one for a column of numbers. A real number that is whole becomes a
/// whole one, and a whole one text.
///
/// # Errors
/// `SQLITE_CONSTRAINT` for a NULL where there can be none; `SQLITE_CONSTRAINT_DATATYPE` for what
/// does not fit.
pub(crate) fn from_sqlite<'v>(
    table: &str,
    column: &Column,
    value: ValueRef<'v>,
    text_of_number: &'v mut String,
) -> Result<Value<'v>> {
    if let ValueRef::Integer(number) = value
        && let Some(same) = same_number(column.kind, number)
    {
        return Ok(same);
    }
    let refused = |why: &str| {
        let Column { name, .. } = column;
        error(
            ffi::SQLITE_CONSTRAINT_DATATYPE,
            format!("cannot store {} in column {table}.{name}: {why}", shown(value)),
        )
    };
    let value = match (column.kind, value) {
        (_, ValueRef::Null) if column.nullable => Value::Null,
        (_, ValueRef::Null) => {
            let Column { name, .. } = column;
            // Plain, for SQLite to do what `OR IGNORE` and the like say.
            return Err(error(
                ffi::SQLITE_CONSTRAINT,
                format!("NOT NULL constraint failed: {table}.{name}"),
            ));
        }
        (Type::Text(most) | Type::VarText(most), value) => {
            let text = match value {
                ValueRef::Text(text) => {
                    str::from_utf8(text).map_err(|_| refused("it is not UTF-8"))?
                }
                ValueRef::Integer(number) => {
                    *text_of_number = number.to_string();
                    text_of_number
                }
                _ => return Err(refused("it takes text")),
            };
            if text.len() > most as usize {
                return Err(refused(&format!("it takes at most {most} bytes")));
            }
            if matches!(column.kind, Type::Text(_)) && text.ends_with('\0') {
                return Err(refused("text of fixed length cannot end with a zero byte"));
            }
            Value::Text(text)
        }
        (Type::Bytes(size), ValueRef::Blob(bytes)) if bytes.len() != size as usize => {
            return Err(refused(&format!("it takes exactly {size} bytes")));
        }
        (Type::VarBytes(most), ValueRef::Blob(bytes)) if bytes.len() > most as usize => {
            return Err(refused(&format!("it takes at most {most} bytes")));
        }
        (Type::Bytes(_) | Type::VarBytes(_), ValueRef::Blob(bytes)) => Value::Bytes(bytes),
        (Type::Bytes(_) | Type::VarBytes(_), _) => return Err(refused("it takes a BLOB")),
        (Type::Decimal { precision, scale }, value) => {
            decimal::to_column(precision, scale, value).map_err(|why| refused(&why))?
        }
        (kind, value) => {
            let number = match value {
                ValueRef::Integer(number) => Some(Number::Whole(number)),
                ValueRef::Real(number) => Some(Number::Real(number)),
                ValueRef::Text(text) => Number::parse(text),
                _ => None,
            };
            let number = number.ok_or_else(|| match kind {
                Type::Timestamp => refused("it takes microseconds, unixepoch(…) * 1000000"),
                _ => refused("it takes a number"),
            })?;
            match (kind, bounds(kind)) {
                (Type::F32 | Type::F64, _) => float(kind, number)
                    .ok_or_else(|| refused("it is beyond the floats of 32 bits"))?,
                // A value that SQLite could not read again is not stored.
                (_, Some((least, most))) => match (number.as_whole(), most.min(i64::MAX.into())) {
                    (Some(number), most) if (least..=most).contains(&number) => whole(kind, number),
                    (Some(_), most) => {
                        return Err(refused(&format!("it takes {least} to {most}")));
                    }
                    (None, _) => return Err(refused("it takes whole numbers")),
                },
                (_, None) => return Err(refused("its type is not known here")),
            }
        }
    };
    Ok(value)
}

/// Returns a number as a float; rounded, but not to infinity.
fn float(kind: Type, number: Number) -> Option<Value<'static>> {
    let number = match number {
        Number::Whole(number) => number as f64,
        Number::Real(number) => number,
    };
    let fits = kind == Type::F64 || (number as f32).is_finite() || !number.is_finite();
    fits.then_some(Value::Float(number))
}

/// Shows a value for an error, in a line and not too long.
fn shown(value: ValueRef<'_>) -> String {
    const MOST_CHARACTERS: usize = 40;
    match value {
        ValueRef::Null => "NULL".into(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => format!("{number:?}"),
        ValueRef::Blob(bytes) => format!("a BLOB of {} bytes", bytes.len()),
        ValueRef::Text(text) => {
            let text = String::from_utf8_lossy(text);
            let start: String = text.chars().take(MOST_CHARACTERS).collect();
            if start.len() == text.len() {
                format!("{start:?}")
            } else {
                format!("{start:?}… of {} bytes", text.len())
            }
        }
    }
}
