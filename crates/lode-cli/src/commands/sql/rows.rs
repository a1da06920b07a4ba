//! The rows of a statement, in each format.

use std::io::{self, Write};

use program_support::exit::Outcome;
use program_support::output::to_standard_output;
use program_support::printable;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};
use unicode_width::UnicodeWidthStr;

use super::session::line_of;
use crate::cli::sql::RowFormat;

/// Rows that a table is made of at a time: so memory is bounded, and wide columns after that have a
/// table of their own.
const ROWS_A_TABLE: usize = 10_000;

/// A column of the result.
struct Column {
    name: String,
    /// True if the column has truth values, which SQLite has as 0 and 1.
    is_bool: bool,
}

impl Column {
    /// Returns a value as text; `None` for NULL.
    fn text(&self, value: ValueRef<'_>) -> Option<String> {
        Some(match value {
            ValueRef::Integer(number @ 0..=1) if self.is_bool => (number == 1).to_string(),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => format!("{number:?}"),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            ValueRef::Blob(bytes) => format!("x'{}'", hex(bytes)),
            ValueRef::Null => return None,
        })
    }
}

/// Runs a statement, and shows its rows.
pub(super) fn show(statement: &mut Statement<'_>, format: RowFormat) -> Result<(), String> {
    let columns: Vec<_> = statement
        .columns()
        .map(|column| Column {
            name: column.name().into(),
            is_bool: column.decl_type() == Some("BOOLEAN"),
        })
        .collect();
    let mut failed = None;
    let mut rows = statement.query([]).map_err(|error| line_of(&error))?;
    let mut next = |each: &mut dyn FnMut(&Row<'_>) -> io::Result<()>| match rows.next() {
        Ok(Some(row)) => each(row).map(|()| true),
        Ok(None) => Ok(false),
        Err(error) => {
            failed = Some(line_of(&error));
            Ok(false)
        }
    };
    let shown = match format {
        RowFormat::Table => tables(&columns, &mut next),
        RowFormat::Json => to_standard_output(&mut |out| {
            while next(&mut |row| json(out, &columns, row))? {}
            Ok(())
        }),
        RowFormat::Csv => to_standard_output(&mut |out| {
            let names = columns.iter().map(|column| Some(column.name.clone()));
            csv_record(out, names)?;
            while next(&mut |row| csv_record(out, cells(&columns, row)))? {}
            Ok(())
        }),
    };
    match (shown, failed) {
        (_, Some(why)) => Err(why),
        (Err(failure), None) => Err(failure.line().unwrap_or_default().into()),
        (Ok(()), None) => Ok(()),
    }
}

/// A function that calls a closure with the next row; it returns false at the end.
type Next<'n> = dyn FnMut(&mut dyn FnMut(&Row<'_>) -> io::Result<()>) -> io::Result<bool> + 'n;

fn cells(columns: &[Column], row: &Row<'_>) -> impl Iterator<Item = Option<String>> {
    columns.iter().enumerate().map(|(at, column)| column.text(row.get_ref(at).ok()?))
}

fn tables(columns: &[Column], next: &mut Next<'_>) -> Outcome {
    let names = || columns.iter().map(|column| printable::line(&column.name).into_owned());
    let mut has_more = true;
    while has_more {
        let mut table: Vec<String> = names().collect();
        while has_more && table.len() <= ROWS_A_TABLE * columns.len() {
            let mut add = |row: &Row<'_>| {
                let cell = |cell: Option<String>| match cell {
                    Some(cell) => printable::line(&cell).into_owned(),
                    None => "NULL".into(),
                };
                table.extend(cells(columns, row).map(cell));
                Ok(())
            };
            has_more = matches!(next(&mut add), Ok(true));
        }
        if table.len() > columns.len() {
            // Nothing in the cells commands the terminal any more.
            let text = laid_out(&table, columns.len());
            to_standard_output(&mut |out| out.write_all(text.as_bytes()))?;
        }
    }
    Ok(())
}

/// Lays the cells of a table out in lines, one cell under the other.
fn laid_out(cells: &[String], columns: usize) -> String {
    let mut widths = vec![0; columns];
    for line in cells.chunks(columns) {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.width().max(*width);
        }
    }
    let mut text = String::new();
    for line in cells.chunks(columns) {
        let start = text.len();
        let mut gap = 1;
        for (cell, width) in line.iter().zip(&widths) {
            text.extend(std::iter::repeat_n(' ', gap));
            text += cell;
            gap = width - cell.width() + 2;
        }
        text.truncate(text[start..].trim_end().len() + start);
        text.push('\n');
    }
    text
}

/// Writes a record of CSV: nothing for NULL, and `""` for a text without characters.
fn csv_record(out: &mut dyn Write, cells: impl Iterator<Item = Option<String>>) -> io::Result<()> {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            out.write_all(b",")?;
        }
        let Some(cell) = cell else { continue };
        if cell.is_empty() || cell.contains([',', '"', '\n', '\r']) {
            write!(out, "\"{}\"", cell.replace('"', "\"\""))?
        } else {
            out.write_all(cell.as_bytes())?
        }
    }
    out.write_all(b"\n")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json(out: &mut dyn Write, columns: &[Column], row: &Row<'_>) -> io::Result<()> {
    for (at, column) in columns.iter().enumerate() {
        let name = serde_json::to_string(&column.name)?;
        write!(out, "{}{name}:", if at == 0 { '{' } else { ',' })?;
        match row.get_ref(at) {
            Ok(ValueRef::Integer(number @ 0..=1)) if column.is_bool => {
                write!(out, "{}", number == 1)?;
            }
            Ok(ValueRef::Integer(number)) => write!(out, "{number}")?,
            Ok(ValueRef::Real(number)) if number.is_finite() => write!(out, "{number:?}")?,
            Ok(ValueRef::Real(number)) => write!(out, "\"{number}\"")?,
            Ok(ValueRef::Text(text)) => match str::from_utf8(text) {
                Ok(text) => out.write_all(serde_json::to_string(text)?.as_bytes())?,
                Err(_) => write!(out, "{{\"hex\":\"{}\"}}", hex(text))?,
            },
            Ok(ValueRef::Blob(bytes)) => write!(out, "{{\"hex\":\"{}\"}}", hex(bytes))?,
            Ok(ValueRef::Null) | Err(_) => out.write_all(b"null")?,
        }
    }
    out.write_all(b"}\n")
}
