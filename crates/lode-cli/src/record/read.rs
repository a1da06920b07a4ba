//! Reads records from lines of JSON.

use std::fmt;
use std::str::FromStr;

use lode::{Column, ColumnId, Decimal, Schema, Type, Value};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{HEX, INFINITE, MINUS_INFINITE, NAN};

/// The most characters of a value that an error repeats.
const MOST_REPEATED: usize = 40;

/// The message for bytes that are written in another way.
const WRITE_HEX: &str = "write bytes as {\"hex\": \"00ff\"}";

/// The fault of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The byte of the line at which the fault is.
    pub at: usize,
    /// The words for the fault.
    pub why: String,
}

/// Reads a packed record from a line, which has a value for every column, in any order.
pub(crate) fn read(schema: &Schema, line: &str) -> Result<Vec<u8>, Fault> {
    let place = |part: &RawValue| part.get().as_ptr().addr() - line.as_ptr().addr();
    let Members(members) = serde_json::from_str(line).map_err(|error| broken(&error))?;
    let columns = schema.columns();
    let mut record = vec![0; schema.record_size()];
    let mut seen = vec![false; columns.len()];
    // The bytes of columns of variable length, which come after all others.
    let is_variable = schema.is_variable() || schema.is_key_variable();
    let mut variable = vec![Vec::new(); if is_variable { columns.len() } else { 0 }];
    for (order, (name, value)) in members.into_iter().enumerate() {
        let wrong = |why| Fault { at: place(name), why };
        let text: String = serde_json::from_str(name.get()).map_err(|error| {
            let Fault { at, why } = broken(&error);
            Fault { at: place(name) + at, why }
        })?;
        // Most lines have the columns in the order of the schema.
        let at = if columns.get(order).is_some_and(|column| column.name == text) {
            Some(order)
        } else {
            schema.column(&text).ok().map(ColumnId::index)
        };
        let Some(at) = at else {
            let columns: Vec<_> = columns.iter().map(|column| &column.name[..]).collect();
            let columns = columns.join(", ");
            return Err(wrong(format!("there is no column {text}; columns are {columns}")));
        };
        if std::mem::replace(&mut seen[at], true) {
            return Err(wrong(format!("column {text} is there twice")));
        }
        let column = &columns[at];
        let misfit = |why| Fault { at: place(value), why };
        match value.get() {
            "null" if column.nullable => schema
                .set(&mut record, column, Value::Null)
                .map_err(|error| misfit(error.to_string()))?,
            "null" => return Err(misfit(format!("column {text} cannot be null"))),
            _ => if column.kind.is_variable() {
                of_variable(column, value.get()).map(|bytes| variable[at] = bytes)
            } else {
                fill(column, value.get(), &mut record[column.range()])
            }
            .map_err(|why| {
                let kind = column.kind;
                let value = shown(value.get());
                let because = why.map_or(String::new(), |why| format!(": {why}"));
                misfit(format!("column {text} ({kind}) cannot hold {value}{because}"))
            })?,
        }
    }
    let at_end = |why| Fault { at: line.trim_ascii_end().len() - 1, why };
    if let Some(missing) = seen.iter().position(|seen| !seen) {
        return Err(at_end(format!("column {} is missing", columns[missing].name)));
    }
    if is_variable {
        record = with_variable(schema, &record, &variable);
    }
    // The bytes of all columns together may be too many.
    schema.row(&record).map_err(|error| at_end(error.to_string()))?;
    Ok(record)
}

/// Makes a packed record whose columns of variable length have these bytes; `fixed` is one where
/// they are empty.
fn with_variable(schema: &Schema, fixed: &[u8], variable: &[Vec<u8>]) -> Vec<u8> {
    let mut record = Vec::new();
    let columns = schema.columns();
    for (column, bytes) in columns.iter().zip(variable).take(schema.key_columns()) {
        if column.kind.is_variable() {
            record.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
            record.extend_from_slice(bytes);
        } else {
            record.extend_from_slice(&fixed[column.range()]);
        }
    }
    let front = record.len();
    record.extend_from_slice(&fixed[schema.key_size()..]);
    for (column, bytes) in columns.iter().zip(variable).skip(schema.key_columns()) {
        if column.kind.is_variable() {
            record.extend_from_slice(bytes);
            let end = (record.len() - front - schema.payload_size()) as u32;
            let cell = front + column.offset - schema.key_size();
            record[cell..][..4].copy_from_slice(&end.to_le_bytes());
        }
    }
    record
}

/// Returns the fault of a text that is not JSON, or no object. The error's text ends with its place
/// in what was read.
fn broken(error: &serde_json::Error) -> Fault {
    let text = error.to_string();
    let why = text.rsplit_once(" at line ").map_or(&text[..], |(why, _)| why);
    Fault { at: error.column().saturating_sub(1), why: why.into() }
}

/// Returns as much of a value as an error repeats.
fn shown(value: &str) -> String {
    let mut start: String = value.chars().take(MOST_REPEATED).collect();
    if start.len() < value.len() {
        start.push('…');
    }
    start
}

/// The reason why a value does not fit, if there is more to say than that.
type Why = Option<String>;

/// Fills a cell, which is zero yet, with a value that is not null.
fn fill(column: &Column, value: &str, cell: &mut [u8]) -> Result<(), Why> {
    if value.starts_with('{') {
        return fill_with_bytes(column, value, cell);
    }
    match column.kind {
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => {
            let number: u64 = number(value)?;
            let unused = 64 - cell.len() as u32 * 8;
            put(cell, &number.to_le_bytes(), number << unused >> unused == number)
        }
        Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Timestamp => {
            let number: i64 = number(value)?;
            let unused = 64 - cell.len() as u32 * 8;
            put(cell, &number.to_le_bytes(), number << unused >> unused == number)
        }
        Type::Decimal { precision, scale } => {
            let number: Decimal = if value.starts_with('"') {
                string(value)?.parse().map_err(|_| None)?
            } else {
                number(value)?
            };
            let unscaled = number.rescaled(precision, scale).ok_or(None)?;
            put(cell, &unscaled.to_le_bytes(), true)
        }
        Type::F32 => {
            let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
            let number = float(value, special, f32::is_finite)?;
            put(cell, &number.to_le_bytes(), true)
        }
        Type::F64 => {
            let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
            let number = float(value, special, f64::is_finite)?;
            put(cell, &number.to_le_bytes(), true)
        }
        Type::Bool => match value {
            "false" => put(cell, &[0], true),
            "true" => put(cell, &[1], true),
            _ => Err(None),
        },
        Type::Text(_) => {
            let text = string(value)?;
            if text.ends_with('\0') {
                return Err(Some("zeros at its end would be lost".into()));
            }
            fill_start(cell, text.as_bytes())
        }
        Type::Bytes(_) => Err(Some(WRITE_HEX.into())),
        _ => Err(Some("this version of lode does not know the type".into())),
    }
}

/// Returns the bytes of a column of variable length for a value that is not null.
fn of_variable(column: &Column, value: &str) -> Result<Vec<u8>, Why> {
    let (bytes, most) = match column.kind {
        Type::VarText(most) | Type::VarBytes(most) if value.starts_with('{') => (hex(value)?, most),
        Type::VarText(most) => (string(value)?.into_bytes(), most),
        Type::VarBytes(_) => return Err(Some(WRITE_HEX.into())),
        _ => return Err(Some("this version of lode does not know the type".into())),
    };
    if bytes.len() <= most as usize {
        Ok(bytes)
    } else {
        Err(Some(format!("it has {}", in_bytes(bytes.len()))))
    }
}

/// Copies the first of some bytes, if they are the value.
fn put(cell: &mut [u8], bytes: &[u8], fits: bool) -> Result<(), Why> {
    cell.copy_from_slice(&bytes[..cell.len()]);
    if fits { Ok(()) } else { Err(None) }
}

/// Copies bytes of which there may be fewer than the cell has.
fn fill_start(cell: &mut [u8], bytes: &[u8]) -> Result<(), Why> {
    match cell.get_mut(..bytes.len()) {
        Some(start) => start.copy_from_slice(bytes),
        None => return Err(Some(format!("it has {}", in_bytes(bytes.len())))),
    }
    Ok(())
}

/// Returns a length, in words.
fn in_bytes(count: usize) -> String {
    format!("{count} byte{}", if count == 1 { "" } else { "s" })
}

/// Reads a number exactly, as its type does.
fn number<T: FromStr>(value: &str) -> Result<T, Why> {
    let begins_as_number = value.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    if !begins_as_number {
        return Err(None);
    }
    value.parse().map_err(|_| None)
}

/// Reads a float: the nearest one to a number, or one of those that have names.
fn float<T: FromStr + Copy>(
    value: &str,
    special: [T; 3],
    is_finite: impl Fn(T) -> bool,
) -> Result<T, Why> {
    if value.starts_with('"') {
        let name = string(value)?;
        let found = [NAN, INFINITE, MINUS_INFINITE].iter().position(|special| *special == name);
        return found.map(|at| special[at]).ok_or(None);
    }
    let number = number(value)?;
    if is_finite(number) { Ok(number) } else { Err(None) }
}

fn string(value: &str) -> Result<String, Why> {
    if value.starts_with('"') {
        serde_json::from_str(value).map_err(|error| Some(broken(&error).why))
    } else {
        Err(None)
    }
}

/// Returns the bytes that are written as `{"hex": "…"}`.
fn hex(value: &str) -> Result<Vec<u8>, Why> {
    let Ok(Members(members)) = serde_json::from_str(value) else { return Err(None) };
    let [(name, digits)] = members[..] else { return Err(None) };
    if string(name.get())? != HEX {
        return Err(None);
    }
    let digits = string(digits.get())?;
    unhex(&digits).ok_or_else(|| Some("these are no bytes in hex".to_string()))
}

/// Fills a cell with such bytes: all of it, or of a text the first.
fn fill_with_bytes(column: &Column, value: &str, cell: &mut [u8]) -> Result<(), Why> {
    let bytes = hex(value)?;
    let is_text = matches!(column.kind, Type::Text(_));
    if bytes.len() != cell.len() && !is_text {
        return Err(Some(format!("it has {}, and not {}", in_bytes(bytes.len()), cell.len())));
    }
    fill_start(cell, &bytes)
}

/// Returns bytes from their digits, two each.
fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = digits.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    pairs.collect()
}

/// The members of an object as they stand in the text, also those of the same name.
struct Members<'t>(Vec<(&'t RawValue, &'t RawValue)>);

impl<'t> Deserialize<'t> for Members<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Collector)
    }
}

struct Collector;

impl<'t> Visitor<'t> for Collector {
    type Value = Members<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the columns")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}
