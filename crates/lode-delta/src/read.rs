//! Reading a version: its files one after another, in the order of their names.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{Field, Schema, SchemaRef};
use lode_arrow::{FileFormat, FileReader, ReadOptions, constant_array};
use percent_encoding::percent_decode_str;

use crate::actions::Add;
use crate::error::{Error, Result};
use crate::files::Files;
use crate::location::Location;
use crate::log::{self, Version};
use crate::schema;

/// The newest version of a Delta table, to be read.
pub struct DeltaTable {
    files: Files,
    version: Version,
    schema: SchemaRef,
}

impl DeltaTable {
    /// Opens a table.
    ///
    /// # Errors
    /// `NoTable`; `Damaged`; `Unsupported`; `Store`; `Place`.
    pub fn open(location: &Location) -> Result<Self> {
        let no_table = || Error::NoTable { place: location.shown().into() };
        let files = Files::new(location.store()?.ok_or_else(no_table)?)?;
        let version = log::newest(&files)?.ok_or_else(no_table)?;
        version.expect_readable(&files.place())?;
        let schema = schema::parse(&version.metadata.schema_string, &files.place())?;
        Ok(Self { files, version, schema })
    }

    /// The number of the version.
    pub fn version(&self) -> u64 {
        self.version.number
    }

    /// Its columns. If Lode wrote it, their metadata says which types of Lode they had.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// How many rows it has, if its log says so.
    pub fn rows(&self) -> Option<u64> {
        let rows = |file: &Add| {
            let stats: serde_json::Value = serde_json::from_str(file.stats.as_deref()?).ok()?;
            stats.get("numRecords")?.as_u64()
        };
        self.version.files.values().map(rows).sum()
    }

    /// All of its rows. One batch is in memory at a time.
    pub fn batches(&self) -> Batches<'_> {
        Batches { table: self, files: self.version.files.values().collect(), open: None }
    }

    /// Opens one of its files.
    fn file<'t>(&'t self, file: &'t Add) -> Result<DataFile<'t>> {
        let path = percent_decode_str(&file.path).decode_utf8();
        let damaged = |why: &str| self.files.damaged(format!("file {}: {why}", file.path));
        let path = path.map_err(|_| damaged("its name is no UTF-8"))?;
        if path.contains("://") || path.starts_with('/') {
            return Err(Error::Unsupported {
                place: self.files.place(),
                what: format!("the file {path} outside of it").into(),
                verb: "read",
            });
        }
        let found = self.files.fetch(&path)?.ok_or_else(|| damaged("it is not there"))?;
        let options = ReadOptions::default();
        let reader = FileReader::open(FileFormat::Parquet, found, &options);
        let reader = reader.map_err(|error| damaged(&error.to_string()))?;
        Ok(DataFile { reader, partitions: &file.partition_values, path: &file.path })
    }

    /// A batch of a file with all columns of the table.
    fn complete(&self, batch: &RecordBatch, file: &DataFile<'_>) -> Result<RecordBatch> {
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for field in self.schema.fields() {
            let array = if self.version.metadata.partition_columns.contains(field.name()) {
                self.partition(field, file, batch.num_rows())?
            } else if let Some(found) = batch.column_by_name(field.name()) {
                Arc::clone(found)
            } else {
                new_null_array(field.data_type(), batch.num_rows())
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

    /// The value of a column that the rows of a file have in common.
    fn partition(&self, field: &Field, file: &DataFile<'_>, rows: usize) -> Result<ArrayRef> {
        let text = file.partitions.get(field.name()).and_then(Option::as_deref);
        // An empty text means null.
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(new_null_array(field.data_type(), rows));
        };
        constant_array(field.data_type(), text, rows).ok_or_else(|| {
            self.files.damaged(format!(
                "file {}: the value {text:?} of column {} is no {}",
                file.path,
                field.name(),
                field.data_type()
            ))
        })
    }
}

impl std::fmt::Debug for DeltaTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeltaTable").field("version", &self.version.number).finish_non_exhaustive()
    }
}

/// A file that is being read.
struct DataFile<'t> {
    reader: FileReader,
    partitions: &'t BTreeMap<String, Option<String>>,
    path: &'t str,
}

/// The rows of a version. Made by [`DeltaTable::batches`].
///
/// # Errors
/// `Store`; `Damaged` when a file is not there, or is not what it should be. After an error there
/// are no more batches.
pub struct Batches<'t> {
    table: &'t DeltaTable,
    /// Those to come, the next one first.
    files: std::collections::VecDeque<&'t Add>,
    open: Option<DataFile<'t>>,
}

impl Batches<'_> {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(open) = &mut self.open
                && let Some(batch) = open.reader.next()
            {
                let batch = batch.map_err(|error| {
                    self.table.files.damaged(format!("file {}: {error}", open.path))
                })?;
                return self.table.complete(&batch, open).map(Some);
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
