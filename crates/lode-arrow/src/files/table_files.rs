//! A table in several files: those of a folder, which may be partitioned as Hive has it.

mod guess;

use std::collections::HashSet;
use std::fs::{self, DirEntry, File};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use percent_encoding::percent_decode_str;

use super::csv::CsvForm;
use super::{FileFormat, FileReader, ReadOptions, names_of, places};
use crate::constant::constant_array;
use crate::error::{Error, Result};
use crate::types::TYPE;

/// The value in a folder's name for a column without a value.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// DuckDB's value before 1.5 for such a column. In a column of text it is a text.
const NULL_OF_DUCKDB: &str = "NULL";

/// The folder of a Delta table's log.
const DELTA_LOG: &str = "_delta_log";

/// The files of a table: one, or all of a folder, as Spark, Hive, Polars and DuckDB write them.
///
/// A folder named `city=Bern` says that column `city` is `Bern` in all files below it, whatever the
/// files say; `%41` in such a name is an `A`. Names that start with `.` or `_` are not of the
/// table, but for folders such as `_city=Bern`.
///
/// ```
/// use std::fs;
///
/// use lode_arrow::{FileFormat, ReadOptions, TableFiles};
/// use lode::{Schema, Type};
///
/// let folder = tempfile::tempdir()?;
/// fs::create_dir(folder.path().join("year=2026"))?;
/// fs::write(folder.path().join("year=2026/a.csv"), "id\n7\n8\n")?;
///
/// let files = TableFiles::in_folder(folder.path(), None)?;
/// let schema = Schema::build("t").key("id", Type::U8).column("year", Type::U16).finish()?;
/// let schema = Some(lode_arrow::arrow_schema(&schema));
/// let mut rows = files.open(0, &ReadOptions { schema, ..ReadOptions::default() })?;
/// let batch = rows.next().expect("a batch")?;
/// assert_eq!((batch.num_rows(), batch.num_columns()), (2, 2));
/// # Ok::<(), lode_arrow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TableFiles {
    format: FileFormat,
    files: Vec<TableFile>,
    /// The columns that the names of folders say, of the types that all of their values have.
    partitions: Vec<Field>,
}

/// A file of a table.
#[derive(Clone, Debug)]
struct TableFile {
    path: PathBuf,
    /// The file itself, where the path is only its name.
    open: Option<Arc<File>>,
    /// The values in the names of its folders, from the outermost.
    values: Vec<PartitionValue>,
}

/// The value in the name of a folder; without a text the column is null.
#[derive(Clone, Debug)]
struct PartitionValue {
    column: String,
    text: Option<String>,
}

impl TableFiles {
    /// Makes a table of one file.
    pub fn one(file: &Path, format: FileFormat) -> Self {
        let files = vec![TableFile { path: file.into(), open: None, values: Vec::new() }];
        Self { format, files, partitions: Vec::new() }
    }

    /// Makes a table of one open file, called `name`. It is read from its start, by one reader at a
    /// time.
    pub fn of_open(file: File, name: &Path, format: FileFormat) -> Self {
        let open = Some(Arc::new(file));
        let files = vec![TableFile { path: name.into(), open, values: Vec::new() }];
        Self { format, files, partitions: Vec::new() }
    }

    /// Finds the table in a folder and its partitions. All files have one format: `format`, or that
    /// of the ends of their names.
    ///
    /// # Errors
    /// `Io`; `NotATable` when there are no such files, or something else is among them.
    pub fn in_folder(folder: &Path, format: Option<FileFormat>) -> Result<Self> {
        if folder.join(DELTA_LOG).is_dir() {
            return Err(Error::NotATable(
                "this is a Delta table, whose log says which files count; `lode import --delta` \
                 reads it"
                    .into(),
            ));
        }
        let mut walk = Walk { folder, said: format, found: None, files: Vec::new() };
        walk.through(folder, &mut Vec::new())?;
        let none = || Error::NotATable("there is no file of a table in this folder".into());
        let format = walk.found.ok_or_else(none)?;
        Ok(Self { format, partitions: partitions(&walk.files), files: walk.files })
    }

    /// Returns the format that all files have.
    pub fn format(&self) -> FileFormat {
        self.format
    }

    /// Returns the paths of the files, in the order in which they are read.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = &Path> {
        self.files.iter().map(|file| file.path.as_path())
    }

    /// Opens the file at a place of [`paths`](Self::paths). The columns that its folders say come
    /// after its own, of the types that `options` names, or else whole numbers or text. If
    /// `options` names columns, there are only these, in that order.
    ///
    /// # Errors
    /// The errors of [`FileReader::open`]; `Format` when a folder's name says no value of the type.
    ///
    /// # Panics
    /// When there is no such place.
    pub fn open(&self, place: usize, options: &ReadOptions) -> Result<TableRows> {
        let found = &self.files[place];
        let is_said = |name: &str| self.partitions.iter().any(|field| field.name() == name);
        let mut own_options = ReadOptions { csv: found.csv(options), ..options.clone() };
        if let Some(columns) = &mut own_options.columns {
            columns.retain(|name| !is_said(name));
        }
        let reader = FileReader::open(self.format, found.open()?, &own_options)?;
        let wanted = |name: &str| {
            let schema = options.schema.as_ref()?;
            schema.field_with_name(name).ok().cloned()
        };
        let own = reader.schema().fields().iter().enumerate();
        let own = own.filter(|(_, field)| !is_said(field.name()));
        let (own, mut fields): (Vec<_>, Vec<_>) =
            own.map(|(place, field)| (place, Arc::clone(field))).unzip();
        let mut constants = Vec::new();
        for (field, value) in self.partitions.iter().zip(&found.values) {
            let field = wanted(field.name()).unwrap_or_else(|| field.clone());
            constants.push(Constant::new(&field, value)?);
            fields.push(Arc::new(field.with_nullable(true)));
        }
        let all = Schema::new(fields);
        let order = options.columns.as_ref().map(|columns| places(columns, names_of(&all)));
        let order = order.transpose()?;
        let schema = order.as_ref().map_or(Ok(all.clone()), |order| all.project(order))?;
        Ok(TableRows {
            reader,
            own,
            constants,
            all: Arc::new(all),
            order,
            schema: Arc::new(schema),
        })
    }
}

impl TableFile {
    /// Opens the file, to be read from its start.
    fn open(&self) -> Result<File> {
        let Some(file) = &self.open else { return Ok(File::open(&self.path)?) };
        let mut file = file.try_clone()?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }

    /// Returns the form of a file of CSV: `.tsv` says that it has tabs.
    fn csv(&self, options: &ReadOptions) -> CsvForm {
        let csv = options.csv.clone();
        let delimiter = csv.delimiter.or_else(|| CsvForm::delimiter_of_path(&self.path));
        CsvForm { delimiter, ..csv }
    }
}

/// The files of a folder, as they are found.
struct Walk<'w> {
    folder: &'w Path,
    /// The format of the files, whatever their names are.
    said: Option<FileFormat>,
    /// The format of the files found so far.
    found: Option<FileFormat>,
    files: Vec<TableFile>,
}

impl Walk<'_> {
    /// Finds the files of a folder, whose name and those around it say `values`.
    fn through(&mut self, folder: &Path, values: &mut Vec<PartitionValue>) -> Result<()> {
        let entries = fs::read_dir(folder).and_then(Iterator::collect);
        let entries: Vec<DirEntry> = entries.map_err(|error| self.failed(folder, &error))?;
        let mut paths: Vec<_> = entries.iter().map(DirEntry::path).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_partition = name.contains('=');
            if name.starts_with('.') || (name.starts_with('_') && !is_partition) {
                continue;
            }
            let found = fs::metadata(&path).map_err(|error| self.failed(&path, &error))?;
            if !found.is_dir() {
                if !name.starts_with('_') {
                    self.add(path, values)?;
                }
                continue;
            }
            let value = PartitionValue::of(&path).ok_or_else(|| {
                self.refused(&path, "the folder of a partition is named COLUMN=VALUE")
            })?;
            if values.iter().any(|outer| outer.column == value.column) {
                return Err(self.refused(&path, "a folder around it names the same column"));
            }
            values.push(value);
            self.through(&path, values)?;
            values.pop();
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf, values: &[PartitionValue]) -> Result<()> {
        let format = self.said.or(FileFormat::of_path(&path));
        let format = format.ok_or_else(|| {
            self.refused(&path, "the name does not say which format the file has")
        })?;
        if self.found.is_some_and(|found| found != format) {
            return Err(self.refused(&path, "the file has another format than those before it"));
        }
        self.found = Some(format);
        let file = TableFile { path, open: None, values: values.to_vec() };
        let columns = |file: &TableFile| -> Vec<String> {
            file.values.iter().map(|value| value.column.clone()).collect()
        };
        if self.files.first().is_some_and(|first| columns(first) != columns(&file)) {
            return Err(self.refused(&file.path, "its folders name other columns than others do"));
        }
        self.files.push(file);
        Ok(())
    }

    /// Returns a path as it is within the folder.
    fn within<'p>(&self, path: &'p Path) -> std::path::Display<'p> {
        path.strip_prefix(self.folder).unwrap_or(path).display()
    }

    fn refused(&self, path: &Path, why: &str) -> Error {
        Error::NotATable(format!("{}: {why}", self.within(path)).into())
    }

    fn failed(&self, path: &Path, error: &io::Error) -> Error {
        if path == self.folder {
            io::Error::new(error.kind(), error.to_string()).into()
        } else {
            io::Error::new(error.kind(), format!("{}: {error}", self.within(path))).into()
        }
    }
}

impl PartitionValue {
    /// Reads the value in the name of a folder; `None` if it has no value.
    fn of(folder: &Path) -> Option<Self> {
        let (column, text) = folder.file_name()?.to_str()?.split_once('=')?;
        let decoded = |text| Some(percent_decode_str(text).decode_utf8().ok()?.into_owned());
        let column = decoded(column)?;
        let text = decoded(text)?;
        let text = Some(text).filter(|text| text != NULL);
        Some(Self { column, text }).filter(|value| !value.column.is_empty())
    }
}

/// Returns the columns in the names of the files' folders: of 64 bits if that is what all values
/// are, otherwise text.
fn partitions(files: &[TableFile]) -> Vec<Field> {
    let is_whole = |text: &str| text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
    let columns = files.first().map_or(0, |file| file.values.len());
    let field = |place: usize| {
        let texts: HashSet<_> =
            files.iter().map(|file| file.values[place].text.as_deref()).collect();
        let mut said = texts.iter().flatten().filter(|text| **text != NULL_OF_DUCKDB).peekable();
        let are_whole = said.peek().is_some() && said.all(|text| is_whole(text));
        let kind = if are_whole { DataType::Int64 } else { DataType::Utf8 };
        Field::new(&files[0].values[place].column, kind, true)
    };
    (0..columns).map(field).collect()
}

/// A column whose rows have one value.
#[derive(Debug)]
struct Constant {
    kind: DataType,
    text: Option<String>,
}

impl Constant {
    fn new(field: &Field, value: &PartitionValue) -> Result<Self> {
        let kind = field.data_type().clone();
        let is_null = |text: &String| kind != DataType::Utf8 && text == NULL_OF_DUCKDB;
        let text = value.text.clone().filter(|text| !is_null(text));
        let constant = Self { kind, text };
        if constant.array(0).is_some() {
            return Ok(constant);
        }
        let known = field.metadata().get(TYPE).cloned();
        let kind = known.unwrap_or_else(|| constant.kind.to_string());
        let text = constant.text.unwrap_or_default();
        Err(Error::Format(
            format!(
                "column {} ({kind}) cannot hold {text:?}, as the name of its folder says",
                value.column
            )
            .into(),
        ))
    }

    fn array(&self, rows: usize) -> Option<ArrayRef> {
        match &self.text {
            Some(text) => constant_array(&self.kind, text, rows),
            None => Some(new_null_array(&self.kind, rows)),
        }
    }
}

/// The rows of a file of a table. Made by [`TableFiles::open`].
///
/// # Errors
/// An iterator of it returns those of [`FileReader`].
pub struct TableRows {
    reader: FileReader,
    /// The columns of the file that its folders do not say.
    own: Vec<usize>,
    constants: Vec<Constant>,
    /// All columns: those of the file and of its folders.
    all: SchemaRef,
    /// The places of the wanted columns among all, if not all are wanted.
    order: Option<Vec<usize>>,
    schema: SchemaRef,
}

impl TableRows {
    /// Returns the columns of the file, and those of its folders.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the number of rows of the file, if the start of the file has it.
    pub fn rows(&self) -> Option<u64> {
        self.reader.rows()
    }

    /// Completes a batch of the file with the values of its folders.
    fn complete(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let constants = self.constants.iter().filter_map(|constant| constant.array(rows));
        let own = self.own.iter().map(|place| Arc::clone(batch.column(*place)));
        let columns = own.chain(constants).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let all = RecordBatch::try_new_with_options(Arc::clone(&self.all), columns, &options)?;
        match &self.order {
            Some(order) => Ok(all.project(order)?),
            None => Ok(all),
        }
    }
}

impl Iterator for TableRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let batch = self.reader.next()?;
        Some(if self.constants.is_empty() && self.order.is_none() {
            batch
        } else {
            batch.and_then(|batch| self.complete(&batch))
        })
    }
}
