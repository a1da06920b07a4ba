//! Writes records as lines of JSON.

use std::fmt::Display;
use std::io::Write;

use lode::{Column, Decimal, Schema, Type, Value};

use super::{HEX, INFINITE, MINUS_INFINITE, NAN};

/// Writes the records of a schema.
pub(crate) struct Writer<'s> {
    schema: &'s Schema,
    /// The text before each value: the name of its column, and what separates it.
    names: Vec<String>,
}

impl<'s> Writer<'s> {
    /// Makes a writer for the records of a table.
    pub(crate) fn new(schema: &'s Schema) -> Self {
        let before = |at| if at == 0 { '{' } else { ',' };
        let names = schema.columns().iter().enumerate();
        let names = names.map(|(at, column)| format!("{}{}:", before(at), json(&column.name)));
        Self { schema, names: names.collect() }
    }

    /// Appends the line of a packed record.
    ///
    /// # Errors
    /// When it does not have the bytes of a record.
    pub(crate) fn append(&self, record: &[u8], line: &mut Vec<u8>) -> lode::Result<()> {
        let row = self.schema.row(record)?;
        for (column, name) in self.schema.columns().iter().zip(&self.names) {
            line.extend_from_slice(name.as_bytes());
            match row.at(column.id()) {
                Value::Null => line.extend_from_slice(b"null"),
                Value::Decimal(number) if fits(number, column.kind) => append(number, line),
                _ => append_cell(column, self.schema.bytes_of(record, column), line),
            }
        }
        line.extend_from_slice(b"}\n");
        Ok(())
    }
}

/// Checks that a column has a decimal that it may have: a caller that packs records itself may have
/// put others there.
fn fits(number: Decimal, kind: Type) -> bool {
    let Type::Decimal { precision, scale } = kind else { return false };
    number.rescaled(precision, scale).is_some()
}

/// Returns a text as JSON.
fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn append_cell(column: &Column, cell: &[u8], line: &mut Vec<u8>) {
    match column.kind {
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => {
            append(u64::from_le_bytes(wide(cell)), line)
        }
        Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Timestamp => {
            let unused = 64 - cell.len() as u32 * 8;
            append(i64::from_le_bytes(wide(cell)) << unused >> unused, line);
        }
        Type::F32 => {
            let bytes = *cell.first_chunk().expect("a cell has the size of its type");
            let number = f32::from_le_bytes(bytes);
            let is_usual = number.to_bits() == f32::NAN.to_bits();
            append_float(number.into(), &format_args!("{number:?}"), is_usual, cell, line);
        }
        Type::F64 => {
            let number = f64::from_le_bytes(wide(cell));
            let is_usual = number.to_bits() == f64::NAN.to_bits();
            append_float(number, &format_args!("{number:?}"), is_usual, cell, line);
        }
        Type::Bool => match cell {
            [0] => line.extend_from_slice(b"false"),
            [1] => line.extend_from_slice(b"true"),
            _ => append_hex(cell, line),
        },
        Type::Text(_) => {
            let end = cell.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            append_text(&cell[..end], line);
        }
        Type::VarText(_) => append_text(cell, line),
        // Bytes, and whatever there may be one day.
        _ => append_hex(cell, line),
    }
}

/// Appends a text; as bytes, if it is not UTF-8.
fn append_text(bytes: &[u8], line: &mut Vec<u8>) {
    match str::from_utf8(bytes) {
        Ok(text) => append(json(text), line),
        Err(_) => append_hex(bytes, line),
    }
}

/// Fills a cell up to eight bytes with zeros.
fn wide(cell: &[u8]) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..cell.len()].copy_from_slice(cell);
    bytes
}

fn append(what: impl Display, line: &mut Vec<u8>) {
    write!(line, "{what}").expect("a vector takes everything");
}

/// Appends a float: in the fewest digits that mean it, if it is a number.
fn append_float(
    number: f64,
    digits: &dyn Display,
    is_usual_nan: bool,
    cell: &[u8],
    line: &mut Vec<u8>,
) {
    match number {
        f64::INFINITY => append(json(INFINITE), line),
        f64::NEG_INFINITY => append(json(MINUS_INFINITE), line),
        _ if is_usual_nan => append(json(NAN), line),
        _ if number.is_nan() => append_hex(cell, line),
        _ => append(digits, line),
    }
}

fn append_hex(bytes: &[u8], line: &mut Vec<u8>) {
    append(format_args!("{{{}:\"", json(HEX)), line);
    for byte in bytes {
        append(format_args!("{byte:02x}"), line);
    }
    append("\"}", line);
}
