//! Where rows come from: files or a Delta table, which can be read several times.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lode::Schema;
use lode_arrow::{Error, ReadOptions, TableFiles, arrow_schema};
use lode_delta::DeltaTable;
use program_support::exit::{Failure, Outcome};

use super::{delta, failure, format_of};
use crate::cli::columns::{Format, ImportArgs};

/// Where rows come from.
pub(super) enum Source {
    Files {
        files: TableFiles,
        /// What each file is called in messages.
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
    /// Its columns.
    pub schema: SchemaRef,
    /// How many there are, if the source says so.
    pub rows: Option<u64>,
    pub batches: Box<dyn Iterator<Item = Outcome<RecordBatch>> + 's>,
}

impl Source {
    /// What a command line names. A Delta table is the version that is the newest now, a folder has
    /// the files that are in it now.
    pub(super) fn of(args: &ImportArgs) -> Outcome<Self> {
        match (&args.delta, &args.file) {
            (Some(place), _) => {
                let location = delta::location(place, &args.dir)?;
                let table = DeltaTable::open(&location);
                let table = table.map_err(|error| delta::failure(None, &error))?;
                Ok(Self::Delta { table: Box::new(table), name: place.clone() })
            }
            (None, Some(path)) => {
                let files = files(path, args.format)?;
                let names = files.paths().map(|path| path.display().to_string()).collect();
                Ok(Self::Files { files, names, name: path.display().to_string() })
            }
            (None, None) => Err(Failure::Usage("name a file, or a Delta table by --delta".into())),
        }
    }

    /// What it is called in messages.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Files { name, .. } | Self::Delta { name, .. } => name,
        }
    }

    /// All of its parts; there is one at least.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let parts = match self {
            Self::Files { names, .. } => names.len(),
            Self::Delta { .. } => 1,
        };
        (0..parts).map(|place| Part { source: self, place })
    }

    /// The first of its parts.
    pub(super) fn first(&self) -> Part<'_> {
        Part { source: self, place: 0 }
    }
}

/// The file of a path, or those of a folder.
fn files(path: &Path, said: Option<Format>) -> Outcome<TableFiles> {
    if let Err(error) = path.metadata() {
        return Err(failure(None, &path.display().to_string(), &error.into()));
    }
    if path.is_dir() {
        let files = TableFiles::in_folder(path, said.map(Into::into));
        return files.map_err(|error| failure(None, &path.display().to_string(), &error));
    }
    Ok(TableFiles::one(path, format_of(path, said)?))
}

impl<'s> Part<'s> {
    /// What it is called in messages.
    pub(super) fn name(self) -> &'s str {
        match self.source {
            Source::Files { names, .. } => &names[self.place],
            Source::Delta { name, .. } => name,
        }
    }

    /// Begins to read it. What it is read for says of which types the columns of CSV are.
    pub(super) fn open(self, wanted: Option<&Schema>) -> Outcome<Rows<'s>> {
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
            Source::Files { files, .. } => {
                let name = self.name();
                let wrong = move |error: Error| failure(None, name, &error);
                let schema = wanted.map(arrow_schema);
                let options = ReadOptions { schema, ..ReadOptions::default() };
                let rows = files.open(self.place, &options).map_err(|error| match error {
                    Error::NeedsSchema => Failure::Usage(format!(
                        "{name}: CSV does not say of which types its columns are; --schema does"
                    )),
                    other => wrong(other),
                })?;
                Ok(Rows {
                    schema: rows.schema().clone(),
                    rows: rows.rows(),
                    batches: Box::new(rows.map(move |batch| batch.map_err(wrong))),
                })
            }
        }
    }
}
