//! Delta tables as targets and as sources.

use std::path::Path;

use lode::Table;
use lode_arrow::Scan;
use lode_delta::{ChangesExported, Error, ExportOptions, Exported, Location};
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::{self, Interrupt};

use crate::cli::columns::ExportArgs;
use crate::commands::{expect_outside, records};
use crate::database::Opened;
use crate::progress::Progress;

/// Returns the location of a table, which is not inside the database.
pub(super) fn location(text: &str, dir: &Path) -> Outcome<Location> {
    let location = Location::parse(text).map_err(|error| failure(None, &error))?;
    if let Some(folder) = location.folder() {
        expect_outside(dir, folder, text)?;
    }
    Ok(location)
}

/// Writes a version of a Delta table; returns what there is to say.
pub(super) fn export(
    opened: &Opened,
    scan: Scan<&Table>,
    location: &Location,
    args: &ExportArgs,
) -> Outcome<String> {
    let name = scan.table_schema().name().to_string();
    let exported =
        during_export(&name, |stop| lode_delta::export(location, scan, &options(args), stop))?;
    Ok(whole(&exported.map_err(|error| failure(Some(opened), &error))?))
}

/// Writes what has changed as a version of a Delta table; returns what there is to say.
pub(super) fn export_changes(
    opened: &Opened,
    table: &Table,
    location: &Location,
    args: &ExportArgs,
) -> Outcome<String> {
    let exported = during_export(table.schema().name(), |stop| {
        lode_delta::export_changes(location, &opened.db, table, &options(args), stop)
    })?;
    Ok(match exported.map_err(|error| failure(Some(opened), &error))? {
        ChangesExported::Changes { version, written, deleted } => {
            format!("{} written and {deleted} deleted as version {version}", records(written))
        }
        ChangesExported::Whole { exported, why: None } => whole(&exported),
        ChangesExported::Whole { exported, why: Some(why) } => {
            format!("{}; all of them, since {why}", whole(&exported))
        }
        ChangesExported::Nothing { version } => {
            format!("nothing has changed since version {version}")
        }
    })
}

/// Runs an export with a line of progress, until a signal stops it.
fn during_export<T>(
    table: &str,
    export: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> T,
) -> Outcome<T> {
    let noted = Interrupt::noted();
    interrupt::watch("lode", || ())?;
    let mut progress = Progress::of_records(format!("exporting {table}"));
    Ok(export(&mut |rows| {
        progress.at(rows);
        noted.came()
    }))
}

fn options(args: &ExportArgs) -> ExportOptions {
    let usual = ExportOptions::default();
    ExportOptions {
        compression: args.compression.map_or(usual.compression, Into::into),
        row_group_rows: args.row_group.map_or(usual.row_group_rows, |rows| rows as usize),
        ..usual
    }
}

/// Describes a version with all records.
fn whole(exported: &Exported) -> String {
    let Exported { version, rows, files, .. } = *exported;
    let files = if files == 1 { "1 file".into() } else { format!("{files} files") };
    format!("{} exported in {files} as version {version}", records(rows))
}

/// Turns an error of a Delta table into the failure of a command.
pub(super) fn failure(opened: Option<&Opened>, error: &Error) -> Failure {
    let line = error.to_string();
    if let (Error::Arrow(lode_arrow::Error::Lode(error)), Some(opened)) = (error, opened) {
        return opened.failure(error);
    }
    match error {
        Error::Place { .. }
        | Error::NoTable { .. }
        | Error::OtherSchema { .. }
        | Error::ReservedName { .. } => Failure::Usage(line),
        Error::Arrow(_)
        | Error::Damaged { .. }
        | Error::NoColumn { .. }
        | Error::Unsupported { .. } => Failure::Wrong(line),
        Error::Interrupted => Failure::Interrupted(line),
        _ => Failure::Refused(line),
    }
}
