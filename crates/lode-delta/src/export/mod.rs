//! Writing a version: the files first, which no reader sees yet, and then the entry of the log.

mod changes;
mod net;
mod old_rows;

pub use changes::{ChangesExported, WhyWhole, export_changes};

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use lode::{Position, ReadTable};
use lode_arrow::{Compression, FileFormat, FileWriter, Scan, WriteOptions};
use serde_json::json;

use crate::actions::{Action, Add, Format, Metadata, Protocol, Remove};
use crate::error::{Error, Result};
use crate::files::{Created, Files};
use crate::id::Id;
use crate::location::Location;
use crate::log::{self, Version, entry_name};
use crate::protocol;
use crate::schema;
use crate::stats::Stats;

/// The options for writing a version.
#[derive(Clone, Copy, Debug)]
pub struct ExportOptions {
    /// The compression of the values.
    pub compression: Compression,
    /// The most rows of a row group.
    pub row_group_rows: usize,
    /// The bytes after which a file is full. One file is in memory at a time.
    pub file_bytes: u64,
    /// The most bytes of changed records that [`export_changes`] holds in memory. If more has
    /// changed, it writes all records.
    pub changes_bytes: u64,
}

impl Default for ExportOptions {
    /// Returns options for files of 64 MiB, compressed as those of Spark.
    fn default() -> Self {
        Self {
            compression: Compression::Snappy,
            row_group_rows: 128 << 10,
            file_bytes: 64 << 20,
            changes_bytes: 256 << 20,
        }
    }
}

/// The result of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The version of the Delta table.
    pub version: u64,
    /// The rows of the version.
    pub rows: u64,
    /// The number of the version's files.
    pub files: usize,
    /// Bytes of the files together.
    pub size_bytes: u64,
}

/// Writes what a scan returns as a new version of a Delta table, which replaces the one before. If
/// there is no table, it is made. `stop` gets the number of rows so far, and returns true to stop.
///
/// The files of versions before stay, for readers of these versions, until the table is vacuumed.
///
/// # Errors
/// Nothing was written then, and an unfinished export is removed, but for `Unknown`: `OtherSchema`,
/// `Unsupported` when the table asks more of a writer; `Conflict`; `Interrupted`; `Store`; `Arrow`.
pub fn export<T: ReadTable>(
    location: &Location,
    scan: Scan<T>,
    options: &ExportOptions,
    stop: &mut dyn FnMut(u64) -> bool,
) -> Result<Exported> {
    Export::new(location, options)?.run(|export| {
        let before = log::newest(&export.files)?;
        export.whole(before, scan, None, &mut || Ok(()), stop)
    })
}

/// An export on its way.
struct Export {
    files: Files,
    /// The first folder that was made for the table.
    made: Option<PathBuf>,
    options: ExportOptions,
    /// The names of the files that were written.
    written: Vec<String>,
    /// The files of rows among them.
    added: Vec<Add>,
    /// The file that is not full.
    open: Option<DataFile>,
}

impl Export {
    fn new(location: &Location, options: &ExportOptions) -> Result<Self> {
        let (store, made) = location.store_to_write()?;
        let files = Files::new(store)?;
        let (written, added, open) = Default::default();
        Ok(Self { files, made, options: *options, written, added, open })
    }

    /// Does the work, and removes what is left of it if it fails.
    fn run<T>(mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let exported = work(&mut self);
        if exported.as_ref().is_err_and(|error| !matches!(error, Error::Unknown { .. })) {
            self.remove();
        }
        exported
    }

    /// Writes all rows of a scan as the version after `before`. A `position` is that of the moment
    /// of the scan, or earlier: the next version may have the changes since. `durable` makes what
    /// was scanned durable in the database.
    fn whole<T: ReadTable>(
        &mut self,
        before: Option<Version>,
        scan: Scan<T>,
        position: Option<Position>,
        durable: &mut dyn FnMut() -> Result<()>,
        stop: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Exported> {
        let name = scan.table_schema().name().to_string();
        let mut batches = scan.read();
        let stored = schema::stored(batches.schema());
        if let Some(before) = &before {
            self.expect_same_columns(before, &stored)?;
        }
        while let Some(batch) = batches.next() {
            self.write(&batch?, &stored)?;
            if stop(batches.rows()) {
                return Err(Error::Interrupted);
            }
        }
        self.end_file(&stored)?;
        let version = before.as_ref().map_or(0, |before| before.number + 1);
        let parameters = json!({ "mode": "Overwrite", "partitionBy": "[]" });
        let end = position.map(|position| ChangesEnd { table: &name, position });
        let mut actions = vec![info("WRITE", parameters, end.as_ref())];
        actions.extend(definition(&name, before.as_ref(), &stored, position.is_some()));
        let removed = before.iter().flat_map(|before| before.files.values());
        actions.extend(removed.map(|file| remove(file.clone())));
        actions.extend(self.added.iter().cloned().map(add));
        durable()?;
        self.commit(version, &actions)?;
        let sizes = self.added.iter().map(|file| file.size as u64);
        let files = self.added.len();
        Ok(Exported { version, rows: batches.rows(), files, size_bytes: sizes.sum() })
    }

    /// Refuses to write after a version of other columns, or one that asks more of its writers.
    fn expect_same_columns(&self, before: &Version, stored: &SchemaRef) -> Result<()> {
        let place = self.files.place();
        before.expect_replaceable(&place)?;
        let found = schema::parse(&before.schema, &place)?;
        if found.fields() == stored.fields() {
            return Ok(());
        }
        let found = schema::words(&found);
        let wanted = schema::words(stored);
        Err(Error::OtherSchema { place, found, wanted })
    }

    /// Writes the rows of a batch of Lode.
    fn write(&mut self, batch: &RecordBatch, stored: &SchemaRef) -> Result<()> {
        let batch = schema::to_store(batch, stored)?;
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(DataFile::new(stored, &self.options)?),
        };
        open.stats.add(&batch);
        open.writer.write(&batch)?;
        if open.writer.size_bytes() < self.options.file_bytes {
            return Ok(());
        }
        self.end_file(stored)
    }

    /// Ends the open file and puts it into the store.
    fn end_file(&mut self, stored: &SchemaRef) -> Result<()> {
        let Some(DataFile { writer, stats }) = self.open.take() else { return Ok(()) };
        let bytes = writer.finish()?;
        let path = format!("part-{:05}-{}.parquet", self.added.len(), Id::random());
        self.added.push(Add {
            path: path.clone(),
            partition_values: Default::default(),
            size: bytes.len() as i64,
            modification_time: now_ms(),
            data_change: true,
            stats: Some(stats.to_json(stored)),
            deletion_vector: None,
        });
        self.put(path, bytes)
    }

    /// Puts a file into the store.
    fn put(&mut self, name: String, bytes: Vec<u8>) -> Result<()> {
        self.written.push(name.clone());
        self.files.write(&name, bytes)
    }

    /// Writes the entry, which makes the version visible.
    fn commit(&self, version: u64, actions: &[Action]) -> Result<()> {
        let mut entry = Vec::new();
        for action in actions {
            serde_json::to_writer(&mut entry, action).expect("actions are JSON");
            entry.push(b'\n');
        }
        let name = entry_name(version);
        let place = self.files.place();
        let failed = match self.files.create(&name, &entry)? {
            Created::Now => return Ok(()),
            Created::WasThere => None,
            Created::Failed(error) => Some(error),
        };
        // A request may have been carried out though no answer came, and then been repeated.
        match (self.files.read(&name), failed) {
            (Ok(Some(found)), _) if found == entry => Ok(()),
            (Ok(Some(_)), _) | (Ok(None), None) => Err(Error::Conflict { place, version }),
            (Ok(None), Some(error)) => Err(error),
            (Err(error), failed) => {
                let why = failed.unwrap_or(error).to_string().into();
                Err(Error::Unknown { place, version, why })
            }
        }
    }

    /// Removes an unfinished export.
    fn remove(&self) {
        self.files.remove(&self.written);
        if let Some(made) = &self.made {
            // Others may have put something there since: only folders that are empty go.
            remove_empty(made);
        }
    }
}

/// The end of the changes of a table that a version has.
struct ChangesEnd<'u> {
    table: &'u str,
    position: Position,
}

/// Returns the action that describes the commit.
fn info(operation: &str, parameters: serde_json::Value, end: Option<&ChangesEnd<'_>>) -> Action {
    let mut info = json!({
        "timestamp": now_ms(),
        "operation": operation,
        "operationParameters": parameters,
        "engineInfo": concat!("lode/", env!("CARGO_PKG_VERSION")),
        "txnId": Id::random().to_string(),
    });
    if let Some(ChangesEnd { table, position }) = end {
        info[log::TABLE] = (*table).into();
        info[log::POSITION] = position.to_string().into();
    }
    Action { commit_info: Some(info), ..Action::default() }
}

/// Returns the actions that define the table as one that Lode writes, as far as the version before
/// does not have them. If it `has_changes`, versions may be written by what changed.
fn definition(
    name: &str,
    before: Option<&Version>,
    stored: &SchemaRef,
    has_changes: bool,
) -> Vec<Action> {
    let is_there = |before: &Version| before.has_changes() || !has_changes;
    if before.is_some_and(is_there) {
        return Vec::new();
    }
    let mut metadata = match before {
        None => Metadata {
            id: Id::random().to_string(),
            name: Some(name.into()),
            description: None,
            format: Format { provider: "parquet".into(), options: Default::default() },
            schema_string: Some(schema::print(stored)),
            partition_columns: Vec::new(),
            configuration: Default::default(),
            created_time: Some(now_ms()),
        },
        Some(before) => {
            Metadata { schema_string: Some(before.schema.clone()), ..before.metadata.clone() }
        }
    };
    if has_changes {
        metadata.configuration.extend(protocol::changes_properties());
    }
    let protocol = if has_changes { Protocol::with_changes() } else { Protocol::plain() };
    vec![
        Action { protocol: Some(protocol), ..Action::default() },
        Action { meta_data: Some(metadata), ..Action::default() },
    ]
}

fn add(file: Add) -> Action {
    Action { add: Some(file), ..Action::default() }
}

/// Returns the action that removes a file from the table.
fn remove(file: Add) -> Action {
    let remove = Remove {
        path: file.path,
        deletion_timestamp: Some(now_ms()),
        data_change: true,
        extended_file_metadata: Some(true),
        partition_values: Some(file.partition_values),
        size: Some(file.size),
        deletion_vector: file.deletion_vector,
    };
    Action { remove: Some(remove), ..Action::default() }
}

/// Removes a folder and those in it, as far as they are empty.
fn remove_empty(folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
        }
    }
    let _ = std::fs::remove_dir(folder);
}

/// A file that the export writes.
struct DataFile {
    writer: FileWriter<Vec<u8>>,
    stats: Stats,
}

impl DataFile {
    fn new(stored: &SchemaRef, options: &ExportOptions) -> Result<Self> {
        let ExportOptions { compression, row_group_rows, .. } = *options;
        let parquet = WriteOptions::of(FileFormat::Parquet);
        let options = WriteOptions { compression, row_group_rows, ..parquet };
        let writer = FileWriter::new(FileFormat::Parquet, stored, &options, Vec::new())?;
        Ok(Self { writer, stats: Stats::new(stored) })
    }
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as i64
}
