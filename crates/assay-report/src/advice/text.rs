//! The conclusion as text for the terminal.

use std::fmt::{self, Write};

use assay_core::run_file::RunFile;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};

use super::sheet::Sheet;
use crate::table::grid::paragraph;

/// Draws the conclusion of a run in at most `width` columns; nothing if the run answers no
/// question.
///
/// # Errors
/// Only if memory runs out.
pub fn render(run: &RunFile, width: usize) -> Result<String, fmt::Error> {
    let mut out = String::new();
    let Some(sheet) = Sheet::of(run) else { return Ok(out) };
    paragraph(&mut out, &sheet.question, " · ", width);
    out.push('\n');
    if sheet.rows.is_empty() {
        paragraph(&mut out, &["no engine qualifies".into()], "", width);
    } else {
        table(&mut out, &sheet, width)?;
        out.push('\n');
        for sentence in sheet.sentences {
            paragraph(&mut out, &[sentence], "", width);
        }
        out.push('\n');
        for facts in sheet.facts {
            paragraph(&mut out, &facts, " · ", width);
        }
    }
    if !sheet.out.is_empty() {
        out.push_str("\n do not qualify\n");
        for engine in sheet.out {
            paragraph(&mut out, &[engine], "", width);
        }
    }
    Ok(out)
}

fn table(out: &mut String, sheet: &Sheet, width: usize) -> fmt::Result {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    // A space stands before each line.
    table.set_width(u16::try_from(width.saturating_sub(1)).unwrap_or(u16::MAX));
    table.set_header(&sheet.heads);
    for row in &sheet.rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    if let Some(names) = table.column_mut(1) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    for line in table.to_string().lines() {
        writeln!(out, " {}", line.trim_end())?;
    }
    Ok(())
}
