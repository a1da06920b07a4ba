//! Where rows come from: a file or a Delta table, which can be read several times.

use std::fs::File;
use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lode::Schema;
use lode_arrow::{Error, FileFormat, FileReader, ReadOptions, arrow_schema};
use lode_delta::DeltaTable;
use program_support::exit::{Failure, Outcome};

use super::{delta, failure, format_of};
use crate::cli::columns::ImportArgs;

/// Where rows come from.
pub(super) enum Source {
    File { path: PathBuf, format: FileFormat, name: String },
    Delta { table: Box<DeltaTable>, name: String },
}

/// The rows of a source.
pub(super) struct Rows<'s> {
    /// Its columns.
    pub schema: SchemaRef,
    /// How many there are, if the source says so.
    pub rows: Option<u64>,
    pub batches: Box<dyn Iterator<Item = Outcome<RecordBatch>> + 's>,
}

impl Source {
    /// What a command line names. A Delta table is the version that is the newest now.
    pub(super) fn of(args: &ImportArgs) -> Outcome<Self> {
        match (&args.delta, &args.file) {
            (Some(place), _) => {
                let location = delta::location(place, &args.dir)?;
                let table = DeltaTable::open(&location);
                let table = table.map_err(|error| delta::failure(None, &error))?;
                Ok(Self::Delta { table: Box::new(table), name: place.clone() })
            }
            (None, Some(path)) => {
                let (format, name) = (format_of(path, args.format)?, path.display().to_string());
                Ok(Self::File { path: path.clone(), format, name })
            }
            (None, None) => Err(Failure::Usage("name a file, or a Delta table by --delta".into())),
        }
    }

    /// What it is called in messages.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::File { name, .. } | Self::Delta { name, .. } => name,
        }
    }

    /// Begins to read it. What it is read for says of which types the columns of CSV are.
    pub(super) fn open(&self, wanted: Option<&Schema>) -> Outcome<Rows<'_>> {
        match self {
            Self::Delta { table, .. } => Ok(Rows {
                schema: table.schema().clone(),
                rows: table.rows(),
                batches: Box::new(
                    table
                        .batches()
                        .map(|batch| batch.map_err(|error| delta::failure(None, &error))),
                ),
            }),
            Self::File { path, format, name } => {
                let wrong = |error: Error| failure(None, name, &error);
                let file = File::open(path).map_err(|error| wrong(error.into()))?;
                if file.metadata().map_err(|error| wrong(error.into()))?.is_dir() {
                    return Err(Failure::Usage(format!("{name}: this is a directory, not a file")));
                }
                let schema = wanted.map(arrow_schema);
                let options = ReadOptions { schema, ..ReadOptions::default() };
                let reader = FileReader::open(*format, file, &options);
                let reader = reader.map_err(|error| match error {
                    Error::NeedsSchema => Failure::Usage(format!(
                        "{name}: CSV does not say of which types its columns are; --schema does"
                    )),
                    other => wrong(other),
                })?;
                Ok(Rows {
                    schema: reader.schema().clone(),
                    rows: reader.rows(),
                    batches: Box::new(reader.map(move |batch| batch.map_err(wrong))),
                })
            }
        }
    }
}
