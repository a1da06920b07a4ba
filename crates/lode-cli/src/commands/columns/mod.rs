//! Tables as files of columns: `lode export` and `lode import`.

mod csv;
mod delta;
mod export;
mod import;
mod key;
mod source;
mod under_way;

use std::path::Path;

use lode_arrow::{Error, FileFormat};
use program_support::exit::{Failure, Outcome};

pub(crate) use export::export;
pub(crate) use import::import;

use crate::cli::columns::Format;
use crate::database::Opened;

/// Returns the format of a file: as it is said, or by the end of its name.
fn format_of(path: &Path, said: Option<Format>) -> Outcome<FileFormat> {
    let found = said.map(FileFormat::from).or_else(|| FileFormat::of_path(path));
    found.ok_or_else(|| {
        Failure::Usage(format!(
            "{}: the name does not end in .parquet, .arrow, .ipc, .feather, .csv or .tsv; --format \
             says what it is",
            path.display()
        ))
    })
}

/// Refuses `--columns` that name one twice.
fn expect_different(columns: &[String]) -> Outcome {
    let doubled = columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name));
    match doubled {
        Some((_, name)) => Err(Failure::Usage(format!("--columns: {name} is there twice"))),
        None => Ok(()),
    }
}

/// Turns an error into the failure of a command on a source or a target of that name.
fn failure(opened: Option<&Opened>, name: &str, error: &Error) -> Failure {
    let line = format!("{name}: {error}");
    match (error, opened) {
        (Error::Lode(error), Some(opened)) => opened.failure(error),
        (Error::Lode(_), None) => Failure::Usage(line),
        (Error::Io(_), _) => Failure::Refused(line),
        (Error::NoCompression { .. } | Error::NeedsSchema | Error::NotATable(_), _) => {
            Failure::Usage(line)
        }
        _ => Failure::Wrong(line),
    }
}
