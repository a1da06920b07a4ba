//! `lode export`

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::Path;

use lode::{Options, Table};
use lode_arrow::{
    Batches, Compression, CsvForm, Error, FileFormat, FileWriter, Scan, WriteOptions,
};
use lode_delta::Location;
use program_support::destination::Destination;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt;
use program_support::output::print;

use super::{csv, delta, expect_different, failure, format_of};
use crate::cli::columns::ExportArgs;
use crate::commands::{noted_for, outside_of, records};
use crate::database::Opened;
use crate::progress::Progress;

/// The goal of an export.
enum Goal {
    File { target: Destination, options: WriteOptions, format: FileFormat },
    Delta(Location),
}

impl Goal {
    fn of(args: &ExportArgs) -> Outcome<Self> {
        match (&args.delta, &args.file) {
            (Some(target), _) => {
                csv::form(&args.csv, None)?;
                if args.iso_times {
                    return Err(Failure::Usage("--iso-times is for CSV; this is Delta".into()));
                }
                Ok(Self::Delta(delta::location(target, &args.dir)?))
            }
            (None, _) if args.changes => {
                Err(Failure::Usage("--changes is for Delta tables; name one by --delta".into()))
            }
            (None, Some(file)) => {
                let format = format_of(file, args.format)?;
                let options = write_options(args, file, format)?;
                Ok(Self::File { target: outside_of(&args.dir, file)?, options, format })
            }
            (None, None) => Err(Failure::Usage("name a file, or a Delta table by --delta".into())),
        }
    }
}

/// Writes the records of a table as a file of columns, or as a Delta table.
pub(crate) fn export(args: &ExportArgs, options: &Options) -> Outcome {
    expect_different(&args.columns)?;
    let goal = Goal::of(args)?;
    let opened = Opened::to_read(&args.dir, options)?;
    let exported = opened.whole_table(&args.table).and_then(|table| {
        let scan = scan(args, &table).map_err(|error| opened.failure(&error))?;
        match &goal {
            Goal::Delta(location) if args.changes => {
                delta::export_changes(&opened, &table, location, args)
            }
            Goal::Delta(location) => delta::export(&opened, scan, location, args),
            Goal::File { target, options, format } => {
                let count = to_file(&opened, scan, target, *format, options)?;
                Ok(format!("{} exported", records(count)))
            }
        }
    });
    let said = opened.close_after(exported)?;
    match goal {
        // The stream may be the one that this line would go to.
        Goal::File { target: Destination::Stream { .. }, .. } => Ok(()),
        _ => print(&format!("{said}\n")),
    }
}

/// Returns the options for a file, whose format has to allow them.
fn write_options(args: &ExportArgs, file: &Path, format: FileFormat) -> Outcome<WriteOptions> {
    let usual = WriteOptions::of(format);
    let mut csv = csv::form(&args.csv, Some(format))?;
    if csv.nulls.len() > 1 {
        return Err(Failure::Usage("--null: a null can be written as one word only".into()));
    }
    csv.delimiter = csv.delimiter.or_else(|| CsvForm::delimiter_of_path(file));
    csv.iso_times = args.iso_times;
    for (option, is_said, needed) in [
        ("--row-group", args.row_group.is_some(), FileFormat::Parquet),
        ("--iso-times", args.iso_times, FileFormat::Csv),
    ] {
        if is_said && format != needed {
            let needed = needed.name();
            let format = format.name();
            return Err(Failure::Usage(format!("{option} is for {needed}; this is {format}")));
        }
    }
    let by_name = Compression::of_path(file).filter(|_| format == FileFormat::Csv);
    let said = args.compression.map(Compression::from);
    Ok(WriteOptions {
        compression: said.or(by_name).unwrap_or(usual.compression),
        row_group_rows: args.row_group.map_or(usual.row_group_rows, |rows| rows as usize),
        csv,
    })
}

/// Returns the scan to export.
fn scan<'t>(args: &ExportArgs, table: &'t Table) -> lode::Result<Scan<&'t Table>> {
    let scan = Scan::of(table).limit(args.limit.unwrap_or(u64::MAX));
    if args.columns.is_empty() { Ok(scan) } else { scan.columns(&args.columns) }
}

/// Writes a file that is whole or as it was; returns the number of its records.
fn to_file(
    opened: &Opened,
    scan: Scan<&Table>,
    target: &Destination,
    format: FileFormat,
    options: &WriteOptions,
) -> Outcome<u64> {
    let noted = noted_for(target);
    interrupt::watch("lode", || ())?;
    let name = scan.table_schema().name().to_string();
    let is_on_terminal = matches!(target, Destination::Stream { file, .. } if file.is_terminal());
    if is_on_terminal && format != FileFormat::Csv {
        let format = format.name();
        return Err(Failure::Usage(format!(
            "{}: a terminal does not show {format}",
            target.name()
        )));
    }
    let mut progress = Progress::of_records(format!("exporting {name}")).only_if(!is_on_terminal);
    let mut batches = scan.read();
    let mut wrong = None;
    let written = target.write_to_file(&mut |file| {
        let copied = copy(&mut batches, file, format, options, &mut |rows| {
            progress.at(rows);
            noted.came()
        });
        copied.map_err(|error| match error {
            Error::Io(error) => error,
            other => {
                wrong = Some(other);
                io::Error::other("it is not whole")
            }
        })
    });
    let name = target.name();
    match (wrong, written) {
        _ if noted.came() => {
            Err(Failure::Interrupted("interrupted; the file was not written".into()))
        }
        (Some(error), _) => Err(failure(Some(opened), &name, &error)),
        (None, Err(error)) => Err(Failure::Refused(format!("{name}: {error}"))),
        (None, Ok(())) => Ok(batches.rows()),
    }
}

/// Copies all batches to a file, until `stop`, which gets the number of rows so far, says so.
fn copy(
    batches: &mut Batches,
    file: &File,
    format: FileFormat,
    options: &WriteOptions,
    stop: &mut dyn FnMut(u64) -> bool,
) -> lode_arrow::Result<()> {
    let mut writer = FileWriter::new(format, batches.schema(), options, file)?;
    while let Some(batch) = batches.next() {
        writer.write(&batch?)?;
        if stop(batches.rows()) {
            // The output so far is not the wanted one.
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
    }
    writer.finish().map(drop)
}
