//! The rows of a statement, in each format.

use std::io::{self, Write};

use comfy_table::presets;
use program_support::exit::Outcome;
use program_support::output::{print, to_standard_output};
use program_support::printable;
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};

use super::session::line_of;
use crate::cli::sql::RowFormat;

/// Rows that a table is made of at a time: so memory is bounded, and wide columns after that have a
/// table of their own.
const ROWS_A_TABLE: usize = 10_000;

/// Runs a statement, and shows its rows.
pub(super) fn show(statement: &mut Statement<'_>, format: RowFormat) -> Result<(), String> {
    let names: Vec<String> = statement.column_names().map(Into::into).collect();
    if names.is_empty() {
        return statement.execute([]).map(drop).map_err(|error| line_of(&error));
    }
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
        RowFormat::Table => tables(&names, &mut next),
        RowFormat::Json => to_standard_output(&mut |out| {
            while next(&mut |row| json(out, &names, row))? {}
            Ok(())
        }),
        RowFormat::Csv => to_standard_output(&mut |out| {
            let mut out = csv::Writer::from_writer(out);
            out.write_record(&names)?;
            while next(&mut |row| Ok(out.write_record(cells(row, names.len(), ""))?))? {}
            out.flush()
        }),
    };
    match (shown, failed) {
        (_, Some(why)) => Err(why),
        (Err(failure), None) => Err(failure.line().unwrap_or_default().into()),
        (Ok(()), None) => Ok(()),
    }
}

/// Calls a closure with the next row; false at the end.
type Next<'n> = dyn FnMut(&mut dyn FnMut(&Row<'_>) -> io::Result<()>) -> io::Result<bool> + 'n;

fn tables(names: &[String], next: &mut Next<'_>) -> Outcome {
    let mut has_more = true;
    while has_more {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(names.iter().map(|name| printable::line(name)));
        let mut count = 0;
        while has_more && count < ROWS_A_TABLE {
            let mut add = |row: &Row<'_>| {
                let cells = cells(row, names.len(), "NULL");
                table.add_row(cells.iter().map(|cell| printable::line(cell)));
                Ok(())
            };
            has_more = matches!(next(&mut add), Ok(true));
            count += usize::from(has_more);
        }
        if count > 0 {
            let lines = table.to_string();
            let lines = lines.lines().map(|line| line.trim_end().to_string() + "\n");
            print(&lines.collect::<String>())?;
        }
    }
    Ok(())
}

fn cells(row: &Row<'_>, count: usize, null: &str) -> Vec<String> {
    let cell = |at: usize| match row.get_ref(at) {
        Ok(ValueRef::Integer(number)) => number.to_string(),
        Ok(ValueRef::Real(number)) => format!("{number:?}"),
        Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
        Ok(ValueRef::Blob(bytes)) => format!("x'{}'", hex(bytes)),
        Ok(ValueRef::Null) | Err(_) => null.into(),
    };
    (0..count).map(cell).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json(out: &mut dyn Write, names: &[String], row: &Row<'_>) -> io::Result<()> {
    for (at, name) in names.iter().enumerate() {
        let name = serde_json::to_string(name)?;
        write!(out, "{}{name}:", if at == 0 { '{' } else { ',' })?;
        match row.get_ref(at) {
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
