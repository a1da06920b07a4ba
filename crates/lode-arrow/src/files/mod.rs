//! Files of record batches: one format a file.

mod csv;
mod guard;
mod ipc;
mod parquet;
mod table_files;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};

pub use csv::CsvForm;
pub use guard::{guard_panics, silence_reader_panics};
pub use table_files::{TableFiles, TableRows};

use crate::error::{Error, Result};
use crate::types::expect_distinct;

/// The formats of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// The file format of Arrow IPC, also known as Feather 2.
    Ipc,
    /// Comma-separated values with a header line (RFC 4180), or what [`CsvForm`] says.
    ///
    /// A null is an empty field, an empty text is `""`. Bytes are digits in hex, timestamps are
    /// microseconds since the start of 1970; other forms of times and truth values are read. A
    /// float that is no number comes back as the usual one. Gzip and Zstandard are read by their
    /// first bytes, whatever the name of the file.
    Csv,
}

impl FileFormat {
    /// Returns the format that a file has by the end of its name: `.parquet`, `.arrow`, `.ipc`,
    /// `.feather`, `.csv` or `.tsv`. After the last two `.gz` or `.zst` may come.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "parquet" => Some(Self::Parquet),
            "arrow" | "ipc" | "feather" => Some(Self::Ipc),
            "csv" | "tsv" => Some(Self::Csv),
            "gz" | "zst" => {
                Self::of_path(Path::new(path.file_stem()?)).filter(|format| *format == Self::Csv)
            }
            _ => None,
        }
    }

    /// Returns the format's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "Parquet",
            Self::Ipc => "Arrow IPC",
            Self::Csv => "CSV",
        }
    }
}

/// The compression of the values of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    None,
    /// Snappy; Parquet only.
    Snappy,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
    /// Gzip; Parquet and CSV only.
    Gzip,
}

impl Compression {
    /// Returns the compression's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// Returns how a file of CSV is compressed by the end of its name: `.gz` or `.zst`.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "gz" => Some(Self::Gzip),
            "zst" => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// The options for writing a file.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// The compression of the values.
    pub compression: Compression,
    /// The most rows of a row group of Parquet, which has at most 64 MiB. Larger groups compress
    /// better, smaller ones are skipped more often.
    pub row_group_rows: usize,
    /// The form of a file of CSV.
    pub csv: CsvForm,
}

impl WriteOptions {
    /// Returns the usual options for a format: Zstandard for Parquet, no compression for others.
    pub fn of(format: FileFormat) -> Self {
        let compression = match format {
            FileFormat::Parquet => Compression::Zstd,
            FileFormat::Ipc | FileFormat::Csv => Compression::None,
        };
        Self { compression, row_group_rows: 128 << 10, csv: CsvForm::default() }
    }
}

/// Writes record batches to a file of some format.
///
/// ```
/// use lode::{Database, KeyKind, Schema, Type};
/// use lode_arrow::{FileFormat, FileReader, FileWriter, ReadOptions, Scan, WriteOptions};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("byte").key("id", Type::U8).finish()?;
/// let bytes = db.create_table(&schema, KeyKind::Tree)?;
/// bytes.insert(&[7])?;
///
/// let (file, format) = (tempfile::tempfile()?, FileFormat::Parquet);
/// let batches = Scan::of(&bytes).read();
/// let options = WriteOptions::of(format);
/// let mut writer = FileWriter::new(format, batches.schema(), &options, file.try_clone()?)?;
/// for batch in batches {
///     writer.write(&batch?)?;
/// }
/// writer.finish()?;
///
/// let mut reader = FileReader::open(format, file, &ReadOptions::default())?;
/// assert_eq!(reader.next().expect("a batch")?.num_rows(), 1);
/// assert!(reader.next().is_none());
/// # Ok::<(), lode_arrow::Error>(())
/// ```
pub struct FileWriter<W: Write + Send> {
    state: WriterState<W>,
}

enum WriterState<W: Write + Send> {
    Parquet(parquet::Writer<W>),
    Ipc(ipc::Writer<W>),
    Csv(csv::Writer<W>),
}

impl<W: Write + Send> FileWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// `Io`; `NoCompression` when the format has no such compression.
    pub fn new(
        format: FileFormat,
        schema: &SchemaRef,
        options: &WriteOptions,
        out: W,
    ) -> Result<Self> {
        let state = match format {
            FileFormat::Parquet => WriterState::Parquet(parquet::writer(schema, options, out)?),
            FileFormat::Ipc => WriterState::Ipc(ipc::writer(schema, options, out)?),
            FileFormat::Csv => WriterState::Csv(csv::Writer::new(schema, options, out)?),
        };
        Ok(Self { state })
    }

    /// Writes a batch of the file's schema.
    ///
    /// # Errors
    /// `Io`; `Format` when the batch is of another schema.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match &mut self.state {
            WriterState::Parquet(writer) => Ok(writer.write(batch)?),
            WriterState::Ipc(writer) => Ok(writer.write(batch)?),
            WriterState::Csv(writer) => writer.write(batch),
        }
    }

    /// Returns the bytes that the file has by now, with those that are still to be written to it,
    /// as far as they are known.
    pub fn size_bytes(&self) -> u64 {
        match &self.state {
            WriterState::Parquet(writer) => {
                (writer.bytes_written() + writer.in_progress_size()) as u64
            }
            WriterState::Ipc(writer) => writer.get_ref().written_bytes,
            WriterState::Csv(writer) => writer.written_bytes(),
        }
    }

    /// Writes what is at the end of the file, and returns what was written to.
    ///
    /// # Errors
    /// `Io`.
    pub fn finish(self) -> Result<W> {
        match self.state {
            WriterState::Parquet(writer) => Ok(writer.into_inner()?),
            WriterState::Ipc(writer) => Ok(writer.into_inner()?.out),
            WriterState::Csv(writer) => Ok(writer.finish()?),
        }
    }
}

/// The options for reading a file.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The most rows of a batch. Batches of Arrow IPC are as they were written.
    pub batch_rows: usize,
    /// The columns of a CSV file. It may have only some of them, in any order; without a header,
    /// these are all of its columns in their order.
    pub schema: Option<SchemaRef>,
    /// The columns to read. Of a CSV file without a header they are all columns instead.
    pub columns: Option<Vec<String>>,
    /// The form of a file of CSV.
    pub csv: CsvForm,
    /// True if times in CSV with more digits than microseconds have are rounded to them. They are
    /// refused otherwise.
    pub rounds_times: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            batch_rows: crate::DEFAULT_BATCH_ROWS,
            schema: None,
            columns: None,
            csv: CsvForm::default(),
            rounds_times: false,
        }
    }
}

/// Reads the record batches of a file of some format. Columns are matched by their names, so a
/// file with two of one name is refused.
///
/// # Errors
/// An iterator of it returns `Io`; `Format` when the file is damaged, cut off, or of another
/// format; `Line`. After an error there are no more batches.
pub struct FileReader {
    schema: SchemaRef,
    rows: Option<u64>,
    /// The places of the wanted columns in a batch, unless it has only these.
    places: Option<Vec<usize>>,
    field_ids: Vec<Option<i32>>,
    state: ReaderState,
}

enum ReaderState {
    Parquet(parquet::Reader),
    Ipc(Box<ipc::Reader>),
    Csv(Box<csv::Reader>),
    Ended,
}

impl FileReader {
    /// Opens a file.
    ///
    /// # Errors
    /// `Io`; `Format` when the file is not of the format; `NeedsSchema` for CSV without a schema;
    /// `NotInFile` when the file lacks a column of [`ReadOptions::columns`].
    pub fn open(format: FileFormat, file: File, options: &ReadOptions) -> Result<Self> {
        let reader = guard_panics(|| Self::open_unguarded(format, file, options))?;
        expect_distinct(&reader.schema)?;
        Ok(reader)
    }

    fn open_unguarded(format: FileFormat, file: File, options: &ReadOptions) -> Result<Self> {
        Ok(match format {
            FileFormat::Parquet => {
                let parquet::Opened { schema, rows, field_ids, reader } =
                    parquet::reader(file, options)?;
                let state = ReaderState::Parquet(reader);
                Self { schema, rows: Some(rows), places: None, field_ids, state }
            }
            FileFormat::Ipc => {
                let reader = ipc::Reader::new(file)?;
                let mut schema = reader.schema();
                let mut places = None;
                if let Some(wanted) = &options.columns {
                    let found = self::places(wanted, names_of(&schema))?;
                    schema = Arc::new(schema.project(&found)?);
                    places = Some(found);
                }
                let state = ReaderState::Ipc(Box::new(reader));
                Self { schema, rows: None, places, field_ids: Vec::new(), state }
            }
            FileFormat::Csv => {
                let schema = options.schema.as_ref().ok_or(Error::NeedsSchema)?;
                let reader = csv::Reader::new(file, schema, options)?;
                let schema = reader.schema();
                let state = ReaderState::Csv(Box::new(reader));
                Self { schema, rows: None, places: None, field_ids: Vec::new(), state }
            }
        })
    }

    /// Returns the columns of the file.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the number of rows of the file, if the start of the file has it.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// Returns the numbers that a Parquet file gives its columns, as far as it does.
    pub fn field_ids(&self) -> &[Option<i32>] {
        &self.field_ids
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        match &mut self.state {
            ReaderState::Parquet(reader) => parquet::next_batch(reader),
            ReaderState::Ipc(reader) => match (reader.next_batch()?, &self.places) {
                (Some(batch), Some(places)) => Ok(Some(batch.project(places)?)),
                (batch, _) => Ok(batch),
            },
            ReaderState::Csv(reader) => reader.next_batch(),
            ReaderState::Ended => Ok(None),
        }
    }
}

impl Iterator for FileReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = guard_panics(|| self.next_batch()).transpose();
        if !matches!(next, Some(Ok(_))) {
            self.state = ReaderState::Ended;
        }
        next
    }
}

/// Returns where wanted columns are among those that a file has.
///
/// # Errors
/// `NotInFile`.
fn places<'n>(wanted: &[String], found: impl Iterator<Item = &'n str>) -> Result<Vec<usize>> {
    let found: Vec<_> = found.collect();
    let place = |name: &String| {
        found.iter().position(|other| other == name).ok_or_else(|| Error::NotInFile {
            column: name.as_str().into(),
            columns: found.join(", ").into(),
        })
    };
    wanted.iter().map(place).collect()
}

/// Returns the names of columns.
fn names_of(schema: &Schema) -> impl Iterator<Item = &str> {
    schema.fields().iter().map(|field| field.name().as_str())
}
