//! Reading a version: its files one after another, in the order of their names.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use lode_arrow::{FileFormat, FileReader, ReadOptions, constant_array};
use roaring::RoaringTreemap;

use crate::actions::Add;
use crate::convert::converted;
use crate::deletion::DeletedRows;
use crate::error::{Error, Result};
use crate::files::Files;
use crate::location::Location;
use crate::log::{self, Version};
use crate::schema::{Columns, StoredColumn};

/// The newest version of a Delta table, to be read.
pub struct DeltaTable {
    files: Files,
    version: Version,
    columns: Columns,
}

impl DeltaTable {
    /// Opens a table to read all of its columns.
    ///
    /// # Errors
    /// `NoTable`; `Damaged`; `Unsupported`; `Store`; `Place`.
    pub fn open(location: &Location) -> Result<Self> {
        Self::open_with(location, None)
    }

    /// Opens a table to read these columns, in this order. Others may have types that Lode does not
    /// hold.
    ///
    /// # Errors
    /// As [`open`](Self::open); `NoColumn`.
    pub fn open_columns(location: &Location, columns: &[String]) -> Result<Self> {
        Self::open_with(location, Some(columns))
    }

    fn open_with(location: &Location, wanted: Option<&[String]>) -> Result<Self> {
        let no_table = || Error::NoTable { place: location.shown().into() };
        let files = Files::new(location.store()?.ok_or_else(no_table)?)?;
        let version = log::newest(&files)?.ok_or_else(no_table)?;
        Self::of(files, version, wanted)
    }

    /// Takes a version to read these columns, or all.
    pub(crate) fn of(files: Files, version: Version, wanted: Option<&[String]>) -> Result<Self> {
        let place = files.place();
        version.expect_readable(&place)?;
        let mapping = version.mapping(&place)?;
        let columns = Columns::parse(&version.schema, mapping, wanted, &place)?;
        let mut partitions = version.metadata.partition_columns.iter();
        match partitions.find(|name| !columns.names.contains(name)) {
            Some(name) => Err(files.damaged(format!("it has no column {name} for its partitions"))),
            None => Ok(Self { files, version, columns }),
        }
    }

    /// Returns the version's files, in the order of their names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Add> {
        self.version.files.values()
    }

    /// Returns the number of the version.
    pub fn version(&self) -> u64 {
        self.version.number
    }

    /// Returns the columns that are read. If Lode wrote the table, their metadata says which types
    /// of Lode they had.
    pub fn schema(&self) -> &SchemaRef {
        &self.columns.schema
    }

    /// Returns the number of rows, if the table's log has it.
    pub fn rows(&self) -> Option<u64> {
        let rows = |file: &Add| file.stored_rows()?.checked_sub(file.deleted_rows());
        self.version.files.values().map(rows).sum()
    }

    /// Returns all of the table's rows. One batch is in memory at a time, and which rows of a file
    /// are deleted.
    pub fn batches(&self) -> Batches<'_> {
        Batches { table: self, files: self.version.files.values().collect(), open: None }
    }

    /// Opens one of its files.
    fn file<'t>(&'t self, file: &'t Add) -> Result<DataFile<'t>> {
        let damaged = |why: &str| self.files.damaged(format!("file {}: {why}", file.path));
        let spot = self.files.spot(&file.path)?;
        let found = self.files.fetch(&spot)?.ok_or_else(|| damaged("it is not there"))?;
        let size_bytes = found.metadata().map_or(0, |found| found.len());
        if i64::try_from(size_bytes) != Ok(file.size) {
            return Err(damaged(&format!("it has {size_bytes} bytes and not {}", file.size)));
        }
        let open = |options: &ReadOptions| {
            let file = found.try_clone().map_err(lode_arrow::Error::from);
            let reader = file.and_then(|file| FileReader::open(FileFormat::Parquet, file, options));
            reader.map_err(|error| damaged(&error.to_string()))
        };
        let reader = open(&ReadOptions::default())?;
        let rows = reader.rows().unwrap_or(0);
        if let Some(said) = file.stored_rows().filter(|said| *said != rows) {
            return Err(damaged(&format!("it has {rows} rows and not {said}")));
        }
        let deleted = match &file.deletion_vector {
            Some(vector) => Some(DeletedRows::read(&self.files, &file.path, vector)?),
            None => None,
        };
        if let Some(last) =
            deleted.as_ref().and_then(DeletedRows::last).filter(|last| *last >= rows)
        {
            let why = format!("its deletion vector has row {last}, and it has {rows} rows");
            return Err(damaged(&why));
        }
        let mut sources = self.sources(file, &reader).map_err(|why| damaged(&why))?;
        // Values of other columns are not looked at: their types may be any.
        let mut places: Vec<usize> = sources.iter().filter_map(Source::place).collect();
        places.sort_unstable();
        let name = |place: &usize| reader.schema().field(*place).name().clone();
        let names = places.iter().map(name).collect();
        let reader = open(&ReadOptions { columns: Some(names), ..ReadOptions::default() })?;
        for source in &mut sources {
            if let Source::Column(place) = source {
                *place = places.partition_point(|other| *other < *place);
            }
        }
        Ok(DataFile { reader, sources, deleted, path: &file.path })
    }

    /// Returns where the columns of the table come from, or what is wrong with the file.
    fn sources<'t>(
        &'t self,
        file: &'t Add,
        reader: &FileReader,
    ) -> Result<Vec<Source<'t>>, String> {
        let has_ids = || reader.field_ids().iter().any(Option::is_some);
        if self.columns.stored.iter().any(|column| column.id.is_some()) && !has_ids() {
            return Err("it has no field ids, by which the columns of the table are found".into());
        }
        let columns = self.columns.schema.fields().iter().zip(&self.columns.stored);
        let sources = columns.map(|(field, stored)| {
            if self.version.metadata.partition_columns.contains(field.name()) {
                let value = file.partition_values.get(&stored.name);
                let value = value.ok_or_else(|| format!("it has no value of {}", field.name()))?;
                // An empty text means null.
                return Ok(Source::Value(value.as_deref().filter(|text| !text.is_empty())));
            }
            Ok(match place(stored, reader)? {
                Some(place) if *field.data_type() != DataType::Null => Source::Column(place),
                _ => Source::Nothing,
            })
        });
        sources.collect()
    }

    /// Reads all rows of one of its files, also those that are deleted; returns how many there are,
    /// and the places of those that are deleted.
    pub(crate) fn each_row_of(
        &self,
        file: &Add,
        take: &mut dyn FnMut(&RecordBatch) -> Result<()>,
    ) -> Result<(u64, RoaringTreemap)> {
        let mut open = self.file(file)?;
        let mut rows = 0;
        while let Some(batch) = self.next_of(&mut open)? {
            rows += batch.num_rows() as u64;
            take(&batch)?;
        }
        Ok((rows, open.deleted.map_or_else(RoaringTreemap::new, DeletedRows::into_places)))
    }

    /// Returns the next rows of a file, also those that are deleted; `None` after the last.
    fn next_of(&self, file: &mut DataFile<'_>) -> Result<Option<RecordBatch>> {
        let Some(batch) = file.reader.next() else { return Ok(None) };
        let damaged = |error| self.files.damaged(format!("file {}: {error}", file.path));
        let batch = batch.map_err(damaged)?;
        self.complete(&batch, file).map(Some)
    }

    /// Completes a batch of the file with all columns of the table.
    fn complete(&self, batch: &RecordBatch, file: &DataFile<'_>) -> Result<RecordBatch> {
        let mut fields = Vec::new();
        let mut columns = Vec::new();
        for (field, source) in self.columns.schema.fields().iter().zip(&file.sources) {
            let wanted = field.data_type();
            let array = match source {
                Source::Column(place) => {
                    let found = batch.column(*place);
                    let damaged = |why: String| {
                        let name = field.name();
                        self.files.damaged(format!("file {}: column {name}: {why}", file.path))
                    };
                    let array = converted(found, wanted).ok_or_else(|| {
                        damaged(format!("it is {} and not {wanted}", found.data_type()))
                    })?;
                    array.map_err(|error| damaged(error.to_string()))?
                }
                Source::Value(Some(text)) => self.partition(field, text, file, batch.num_rows())?,
                Source::Value(None) | Source::Nothing => new_null_array(wanted, batch.num_rows()),
            };
            // Files may say otherwise than the log which columns can be null.
            let kind = array.data_type().clone();
            fields.push(field.as_ref().clone().with_data_type(kind).with_nullable(true));
            columns.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, columns, &options);
        Ok(batch.map_err(lode_arrow::Error::from)?)
    }

    /// Returns the value of a column that the rows of a file have in common.
    fn partition(
        &self,
        field: &Field,
        text: &str,
        file: &DataFile<'_>,
        rows: usize,
    ) -> Result<ArrayRef> {
        // Bytes are there as the text that they are.
        if *field.data_type() == DataType::Binary {
            return if text.contains(char::REPLACEMENT_CHARACTER) {
                Err(self.no_value(field, text, file))
            } else {
                Ok(Arc::new(BinaryArray::from_iter_values(vec![text; rows])))
            };
        }
        let array = constant_array(field.data_type(), text, rows);
        array.ok_or_else(|| self.no_value(field, text, file))
    }

    fn no_value(&self, field: &Field, text: &str, file: &DataFile<'_>) -> Error {
        let path = file.path;
        let name = field.name();
        let kind = field.data_type();
        Error::Unsupported {
            place: self.files.place(),
            what: format!("the value {text:?} of column {name} ({kind}) for file {path}").into(),
            verb: "read",
        }
    }
}

/// Finds a column in a file. Names whose letters differ in case are equal, if the file does not
/// have both.
fn place(stored: &StoredColumn, reader: &FileReader) -> Result<Option<usize>, String> {
    let fields = reader.schema().fields();
    let found: Vec<usize> = match stored.id {
        Some(id) => {
            let ids = reader.field_ids().iter().enumerate();
            ids.filter(|(_, found)| **found == Some(id)).map(|(place, _)| place).collect()
        }
        None => match fields.iter().position(|field| *field.name() == stored.name) {
            Some(place) => vec![place],
            None => {
                let name = stored.name.to_lowercase();
                let is_it = |field: &Field| field.name().to_lowercase() == name;
                (0..fields.len()).filter(|place| is_it(&fields[*place])).collect()
            }
        },
    };
    match found[..] {
        [] => Ok(None),
        [place] => Ok(Some(place)),
        _ => Err(format!("it has column {} twice", stored.name)),
    }
}

impl std::fmt::Debug for DeltaTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeltaTable").field("version", &self.version.number).finish_non_exhaustive()
    }
}

/// The source of the values of a column.
enum Source<'t> {
    /// A column of the file.
    Column(usize),
    /// The value in the log for the file.
    Value(Option<&'t str>),
    /// Nowhere: they are null.
    Nothing,
}

impl Source<'_> {
    /// Returns which column of the file it is, if it is one.
    fn place(&self) -> Option<usize> {
        match self {
            Self::Column(place) => Some(*place),
            Self::Value(_) | Self::Nothing => None,
        }
    }
}

/// A file that is being read.
struct DataFile<'t> {
    reader: FileReader,
    /// The sources of the columns of the table.
    sources: Vec<Source<'t>>,
    deleted: Option<DeletedRows>,
    path: &'t str,
}

/// The rows of a version. Made by [`DeltaTable::batches`].
///
/// # Errors
/// `Store`; `Damaged` when a file is not there, or is not what it should be. After an error there
/// are no more batches.
pub struct Batches<'t> {
    table: &'t DeltaTable,
    /// The files to come, the next one first.
    files: VecDeque<&'t Add>,
    open: Option<DataFile<'t>>,
}

impl Batches<'_> {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(open) = &mut self.open
                && let Some(batch) = self.table.next_of(open)?
            {
                let batch = match &mut open.deleted {
                    Some(deleted) => deleted.keep(&batch)?,
                    None => batch,
                };
                if batch.num_rows() > 0 {
                    return Ok(Some(batch));
                }
                continue;
            }
            match self.files.pop_front() {
                None => return Ok(None),
                Some(next) => self.open = Some(self.table.file(next)?),
            }
        }
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = self.next_batch();
        if next.is_err() {
            self.open = None;
            self.files.clear();
        }
        next.transpose()
    }
}
