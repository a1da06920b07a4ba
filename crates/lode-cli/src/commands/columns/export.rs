//! `lode export`

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use lode::{Options, Table};
use lode_arrow::{Batches, Error, FileFormat, FileWriter, Scan, WriteOptions};
use lode_delta::Location;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::{self, Interrupt};
use program_support::output::print;
use program_support::whole_file;

use super::{delta, failure, format_of};
use crate::cli::columns::ExportArgs;
use crate::commands::{outside_of, records};
use crate::database::Opened;
use crate::progress::Progress;

/// Where a table goes.
enum Goal {
    File { target: PathBuf, format: FileFormat },
    Delta(Location),
}

impl Goal {
    fn of(args: &ExportArgs) -> Outcome<Self> {
        match (&args.delta, &args.file) {
            (Some(target), _) => Ok(Self::Delta(delta::location(target, &args.dir)?)),
            (None, Some(file)) => {
                let format = format_of(file, args.format)?;
                Ok(Self::File { target: outside_of(&args.dir, file)?, format })
            }
            (None, None) => Err(Failure::Usage("name a file, or a Delta table by --delta".into())),
        }
    }
}

/// Writes the records of a table as a file of columns, or as a Delta table.
pub(crate) fn export(args: &ExportArgs, options: &Options) -> Outcome {
    let goal = Goal::of(args)?;
    let opened = Opened::to_read(&args.dir, options)?;
    let exported = opened.table(&args.table).and_then(|table| {
        let scan = scan(args, &table).map_err(|error| opened.failure(&error))?;
        match &goal {
            Goal::Delta(location) => delta::export(&opened, scan, location, args),
            Goal::File { target, format } => {
                let options = write_options(args, *format);
                let count = to_file(&opened, scan, target, *format, &options)?;
                Ok(format!("{} exported", records(count)))
            }
        }
    });
    print(&format!("{}\n", opened.close_after(exported)?))
}

fn write_options(args: &ExportArgs, format: FileFormat) -> WriteOptions {
    let usual = WriteOptions::of(format);
    WriteOptions {
        compression: args.compression.map_or(usual.compression, Into::into),
        row_group_rows: args.row_group.map_or(usual.row_group_rows, |rows| rows as usize),
    }
}

/// What is to be exported.
fn scan<'t>(args: &ExportArgs, table: &'t Table) -> lode::Result<Scan<&'t Table>> {
    let scan = Scan::of(table).limit(args.limit.unwrap_or(u64::MAX));
    if args.columns.is_empty() { Ok(scan) } else { scan.columns(&args.columns) }
}

/// Writes a file that is whole or as it was; returns the number of its records.
fn to_file(
    opened: &Opened,
    scan: Scan<&Table>,
    target: &Path,
    format: FileFormat,
    options: &WriteOptions,
) -> Outcome<u64> {
    let noted = Interrupt::noted();
    interrupt::watch("lode", || ())?;
    let name = scan.table_schema().name().to_string();
    let mut progress = Progress::of_records(format!("exporting {name}"));
    let mut batches = scan.read();
    let mut wrong = None;
    let written = whole_file::write_to_file(target, &mut |file| {
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
    let name = target.display().to_string();
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
            // What is there so far is not what was wanted.
            return Err(io::Error::from(io::ErrorKind::Interrupted).into());
        }
    }
    writer.finish().map(drop)
}
