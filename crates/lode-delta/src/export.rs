//! Writing a version: the files first, which no reader sees yet, and then the entry of the log.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_schema::SchemaRef;
use lode::ReadTable;
use lode_arrow::{Compression, FileFormat, FileWriter, Scan, WriteOptions};
use serde_json::json;

use crate::actions::{Action, Add, Format, Metadata, Protocol, Remove};
use crate::error::{Error, Result};
use crate::files::{Created, Files};
use crate::location::Location;
use crate::log::{self, Version, entry_name};
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
}

impl Default for ExportOptions {
    /// Returns options for files of 64 MiB, compressed as those of Spark.
    fn default() -> Self {
        Self { compression: Compression::Snappy, row_group_rows: 128 << 10, file_bytes: 64 << 20 }
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
    let (store, made) = location.store_to_write()?;
    let files = Files::new(store)?;
    let mut export = Export { files, made, options: *options, added: Vec::new() };
    let exported = export.run(scan, stop);
    if exported.as_ref().is_err_and(|error| !matches!(error, Error::Unknown { .. })) {
        export.remove();
    }
    exported
}

/// An export on its way.
struct Export {
    files: Files,
    /// The first folder that was made for the table.
    made: Option<PathBuf>,
    options: ExportOptions,
    /// The files that were written.
    added: Vec<Add>,
}

impl Export {
    fn run<T: ReadTable>(
        &mut self,
        scan: Scan<T>,
        stop: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Exported> {
        let place = self.files.place();
        let before = log::newest(&self.files)?;
        let name = scan.table_schema().name().to_string();
        let mut batches = scan.read();
        let stored = schema::stored(batches.schema());
        if let Some(before) = &before {
            before.expect_replaceable(&place)?;
            let found = schema::parse(&before.schema, &place)?;
            if found.fields() != stored.fields() {
                let found = schema::words(&found);
                let wanted = schema::words(&stored);
                return Err(Error::OtherSchema { place, found, wanted });
            }
        }
        let mut file: Option<DataFile> = None;
        while let Some(batch) = batches.next() {
            let batch = schema::to_store(&batch?, &stored)?;
            let open = match &mut file {
                Some(open) => open,
                None => file.insert(DataFile::new(&stored, &self.options)?),
            };
            open.stats.add(&batch);
            open.writer.write(&batch)?;
            if open.writer.size_bytes() >= self.options.file_bytes {
                self.put(file.take(), &stored)?;
            }
            if stop(batches.rows()) {
                return Err(Error::Interrupted);
            }
        }
        self.put(file.take(), &stored)?;
        let version = before.as_ref().map_or(0, |before| before.number + 1);
        let actions = self.actions(&name, before, &stored);
        self.commit(version, &actions)?;
        let sizes = self.added.iter().map(|file| file.size as u64);
        let files = self.added.len();
        let size_bytes = sizes.sum();
        Ok(Exported { version, rows: batches.rows(), files, size_bytes })
    }

    /// Ends a file and writes it to the store.
    fn put(&mut self, file: Option<DataFile>, stored: &SchemaRef) -> Result<()> {
        let Some(DataFile { writer, stats }) = file else { return Ok(()) };
        let bytes = writer.finish()?;
        let path = format!("part-{:05}-{}.parquet", self.added.len(), random_id());
        self.added.push(Add {
            path: path.clone(),
            partition_values: Default::default(),
            size: bytes.len() as i64,
            modification_time: now_ms(),
            data_change: true,
            stats: Some(stats.to_json(stored)),
            deletion_vector: None,
        });
        self.files.write(&path, bytes)
    }

    /// Returns the actions of the entry of the log.
    fn actions(&self, name: &str, before: Option<Version>, stored: &SchemaRef) -> Vec<Action> {
        let info = json!({
            "timestamp": now_ms(),
            "operation": "WRITE",
            "operationParameters": { "mode": "Overwrite", "partitionBy": "[]" },
            "engineInfo": concat!("lode/", env!("CARGO_PKG_VERSION")),
            "txnId": random_id(),
        });
        let mut actions = vec![Action { commit_info: Some(info), ..Action::default() }];
        match before {
            None => {
                let protocol = Protocol {
                    min_reader_version: 1,
                    min_writer_version: 2,
                    reader_features: None,
                    writer_features: None,
                };
                let meta_data = Metadata {
                    id: random_id(),
                    name: Some(name.into()),
                    format: Format { provider: "parquet".into(), options: Default::default() },
                    schema_string: Some(schema::print(stored)),
                    partition_columns: Vec::new(),
                    configuration: Default::default(),
                    created_time: Some(now_ms()),
                };
                actions.push(Action { protocol: Some(protocol), ..Action::default() });
                actions.push(Action { meta_data: Some(meta_data), ..Action::default() });
            }
            Some(before) => actions.extend(before.files.into_values().map(|file| {
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
            })),
        }
        let added = self.added.iter().cloned();
        actions.extend(added.map(|add| Action { add: Some(add), ..Action::default() }));
        actions
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
        let names: Vec<_> = self.added.iter().map(|file| file.path.clone()).collect();
        self.files.remove(&names);
        if let Some(made) = &self.made {
            // Others may have put something there since: only folders that are empty go.
            remove_empty(made);
        }
    }
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

/// Returns random bits in the form of a UUID of version 4. What the standard library seeds its hash
/// maps with is random for each process, and differs for each of them.
fn random_id() -> String {
    let bits = || RandomState::new().build_hasher().finish();
    let high = bits();
    let low = bits();
    let time = high >> 32;
    let more = high >> 16 & 0xffff;
    let version = high & 0xfff;
    let variant = low >> 48 & 0x3fff | 0x8000;
    let node = low & 0xffff_ffff_ffff;
    format!("{time:08x}-{more:04x}-4{version:03x}-{variant:04x}-{node:012x}")
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as i64
}
