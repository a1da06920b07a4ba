//! The sources of rows: files or a Delta table, which can be read several times.

use std::fs::File;
use std::io::{self, IsTerminal, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use lode::Schema;
use lode_arrow::{Error, FileFormat, ReadOptions, TableFiles, arrow_schema};
use lode_delta::DeltaTable;
use program_support::descriptor::descriptor;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;

use super::{csv, delta, failure, format_of};
use crate::cli::columns::{Format, ImportArgs};
use crate::commands::STANDARD;

/// The name of standard input in messages.
const STANDARD_INPUT: &str = "standard input";

/// A source of rows.
pub(super) enum Source {
    Files {
        files: TableFiles,
        options: ReadOptions,
        /// The name of each file in messages.
        names: Vec<String>,
        /// The file, or the folder.
        name: String,
    },
    Delta {
        table: Box<DeltaTable>,
        name: String,
    },
}

/// A file of a source, or all of a Delta table.
#[derive(Clone, Copy)]
pub(super) struct Part<'s> {
    source: &'s Source,
    place: usize,
}

/// The rows of a part.
pub(super) struct Rows<'s> {
    /// The columns of the rows.
    pub schema: SchemaRef,
    /// The number of rows, if the source has it.
    pub rows: Option<u64>,
    pub batches: Box<dyn Iterator<Item = Outcome<RecordBatch>> + 's>,
}

impl Source {
    /// Opens what a command line names. A Delta table is the version that is the newest now, a
    /// folder has the files that are in it now.
    pub(super) fn of(args: &ImportArgs) -> Outcome<Self> {
        match (&args.delta, &args.file) {
            (Some(place), _) => {
                let location = delta::location(place, &args.dir)?;
                csv::form(&args.csv, None)?;
                let table = match wanted(args) {
                    Some(columns) => DeltaTable::open_columns(&location, &columns),
                    None => DeltaTable::open(&location),
                };
                let table = table.map_err(|error| delta::failure(None, &error))?;
                Ok(Self::Delta { table: Box::new(table), name: place.clone() })
            }
            (None, Some(path)) => {
                let files = files(path, args.format)?;
                let options = ReadOptions {
                    columns: wanted(args),
                    csv: csv::form(&args.csv, Some(files.format()))?,
                    rounds_times: args.round,
                    ..ReadOptions::default()
                };
                let names: Vec<_> = files.paths().map(|path| path.display().to_string()).collect();
                let is_standard = path.as_os_str() == STANDARD;
                let name = if is_standard { names[0].clone() } else { path.display().to_string() };
                Ok(Self::Files { files, options, names, name })
            }
            (None, None) => Err(Failure::Usage("name a file, or a Delta table by --delta".into())),
        }
    }

    /// Returns the source's name in messages.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Files { name, .. } | Self::Delta { name, .. } => name,
        }
    }

    /// Returns true if the source has the types of its columns.
    pub(super) fn has_types(&self) -> bool {
        !matches!(self, Self::Files { files, .. } if files.format() == FileFormat::Csv)
    }

    /// Returns the columns of files of CSV with the types that their fields look like.
    pub(super) fn guess_schema(&self, noted: &Interrupt) -> Outcome<SchemaRef> {
        let Self::Files { files, options, names, .. } = self else {
            return Ok(Arc::new(ArrowSchema::empty()));
        };
        if !options.csv.has_header && options.columns.is_none() {
            return Err(Failure::Usage(
                "--no-header: the names of the columns are not known; --schema or --columns names \
                 them"
                    .into(),
            ));
        }
        let schema = files.guess_schema(options, &mut |_| noted.came());
        let schema = schema.map_err(|(place, error)| failure(None, &names[place], &error))?;
        if noted.came() { Err(Failure::Interrupted("interrupted".into())) } else { Ok(schema) }
    }

    /// Returns all of the source's parts, at least one.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let parts = match self {
            Self::Files { names, .. } => names.len(),
            Self::Delta { .. } => 1,
        };
        (0..parts).map(|place| Part { source: self, place })
    }

    /// Returns the first of the source's parts.
    pub(super) fn first(&self) -> Part<'_> {
        Part { source: self, place: 0 }
    }
}

/// Returns the columns that a command line names; `None` if it names no columns.
fn wanted(args: &ImportArgs) -> Option<Vec<String>> {
    Some(args.columns.clone()).filter(|columns| !columns.is_empty())
}

/// Opens the file of a path, or those of a folder. Standard input and pipes are kept in a temporary
/// file, since they are read twice.
fn files(path: &Path, said: Option<Format>) -> Outcome<TableFiles> {
    let refused = |error: io::Error| Failure::Refused(format!("{}: {error}", path.display()));
    if path.as_os_str() == STANDARD || descriptor(path) == Some(0) {
        let format = said
            .map(FileFormat::from)
            .ok_or_else(|| Failure::Usage(format!("{STANDARD_INPUT}: --format says what it is")))?;
        let file = io::stdin().as_fd().try_clone_to_owned().map_err(refused)?;
        return of_open(file.into(), Path::new(STANDARD_INPUT), format);
    }
    if let Err(error) = path.metadata() {
        return Err(failure(None, &path.display().to_string(), &error.into()));
    }
    if path.is_dir() {
        let files = TableFiles::in_folder(path, said.map(Into::into));
        return files.map_err(|error| failure(None, &path.display().to_string(), &error));
    }
    let format = format_of(path, said)?;
    match path.metadata() {
        Ok(found) if !found.is_file() => of_open(File::open(path).map_err(refused)?, path, format),
        // A file that cannot be read is reported when it is read.
        _ => Ok(TableFiles::one(path, format)),
    }
}

/// Takes an open file as a table: a file as it is, and what else can be read once is kept.
fn of_open(mut file: File, name: &Path, format: FileFormat) -> Outcome<TableFiles> {
    let named = name.display();
    let refused = |error: io::Error| Failure::Refused(format!("{named}: {error}"));
    let kind = file.metadata().map_err(refused)?.file_type();
    if kind.is_dir() || kind.is_block_device() || (kind.is_char_device() && !file.is_terminal()) {
        let what = if kind.is_dir() { "directory" } else { "device" };
        return Err(Failure::Refused(format!("{named}: this is a {what}; name a file or a pipe")));
    }
    let is_whole_file = kind.is_file() && file.stream_position().map_err(refused)? == 0;
    if !is_whole_file {
        let kept = tempfile::tempfile().and_then(|mut kept| {
            io::copy(&mut file, &mut kept)?;
            Ok(kept)
        });
        file = kept.map_err(|error| {
            let folder = std::env::temp_dir();
            let folder = folder.display();
            Failure::Refused(format!("{named}: it cannot be kept in {folder}: {error}"))
        })?;
    }
    Ok(TableFiles::of_open(file, name, format))
}

impl<'s> Part<'s> {
    /// Returns the part's name in messages.
    pub(super) fn name(self) -> &'s str {
        match self.source {
            Source::Files { names, .. } => &names[self.place],
            Source::Delta { name, .. } => name,
        }
    }

    /// Starts to read the part. `wanted` has the types of the columns of CSV. If the CSV has no
    /// header, it also has the columns, without one whose values are `made` for the rows.
    pub(super) fn open(self, wanted: Option<&Schema>, made: Option<&str>) -> Outcome<Rows<'s>> {
        match self.source {
            Source::Delta { table, .. } => Ok(Rows {
                schema: table.schema().clone(),
                rows: table.rows(),
                batches: Box::new(
                    table
                        .batches()
                        .map(|batch| batch.map_err(|error| delta::failure(None, &error))),
                ),
            }),
            Source::Files { files, options, .. } => {
                let name = self.name();
                let wrong = move |error: Error| failure(None, name, &error);
                let schema = wanted.map(|wanted| {
                    let all = arrow_schema(wanted);
                    let read = all.fields().iter().filter(|field| Some(&**field.name()) != made);
                    Arc::new(ArrowSchema::new(read.cloned().collect::<Vec<_>>()))
                });
                let options = ReadOptions { schema, ..options.clone() };
                let rows = files.open(self.place, &options).map_err(wrong)?;
                Ok(Rows {
                    schema: rows.schema().clone(),
                    rows: rows.rows(),
                    batches: Box::new(rows.map(move |batch| batch.map_err(wrong))),
                })
            }
        }
    }
}
