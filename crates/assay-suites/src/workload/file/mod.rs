//! The file of a workload, in TOML. What it says is honoured; what it cannot say is refused by its
//! name, with line and column.

mod columns;
mod phases;
mod reader;
mod tables;
mod words;

use super::spec::Spec;
use reader::Reader;
use tables::File;

/// A fault of a file: what is wrong, and where.
#[derive(Debug, thiserror::Error)]
#[error("{}{what}", place(*line, *column))]
pub struct Fault {
    line: usize,
    column: usize,
    what: String,
}

fn place(line: usize, column: usize) -> String {
    format!("line {line}, column {column}: ")
}

/// Reads the text of a file.
///
/// # Errors
/// The first fault, with its line and column.
pub fn parse(text: &str) -> Result<Spec, Fault> {
    let reader = Reader { text };
    let file: File = toml::from_str(text).map_err(|error| {
        let said = error.message().lines().collect::<Vec<_>>().join(", ");
        reader.fault(error.span().unwrap_or(0..0), said)
    })?;
    reader.spec(file)
}
