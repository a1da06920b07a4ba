//! `lode`: hashed and ordered tables of typed records.
//!
//! - Version: that of the crate, which is in this repository.
//! - Storage: memory, or a directory, at every level of durability. Keys: hash, tree. Transactions,
//!   scans, lookups of several keys; readers and writers all at once. A batch of inserts is one
//!   `Table::insert_all`.
//! - Settings: in a directory, pages may take up what the common cache budget says
//!   (`Options::memory_bytes`), else half of what the process may; in memory, where they are
//!   the data, always that half. Everything else is the default (`periodic` syncs every 100 ms).
//! - Suites of volumes work on `lode-volumes`, with all volumes mounted in one storage; reads stop
//!   at the first that has a property. Their tables are ordered.
//! - Its columns have the layout of Assay's records; the gaps that align them there are extra
//!   columns, as in an application that stores its structs as they are in memory.

pub(crate) mod packing;
mod volumes;

use std::time::Duration;

use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::schema::{ColumnType, Schema, Value, var_bytes};
use assay_driver::{
    Cache, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind,
    MOST_BYTES, OpenSpec, Outcome, Parameter, Profile, Scan, Storage, Store, Transactions, Work,
};
use lode::{Database, IndexSchema, Options, ReadTable, Table, Transaction};
use packing::{Packing, ScannedRows, own_bytes};

pub(crate) struct LodeDriver;

static PROFILE: Profile = Profile {
    id: "lode",
    name: "Lode",
    about: "hashed and ordered tables of typed records",
    key_kinds: &[KeyKind::Hash, KeyKind::Tree],
    levels: &[
        (Storage::Memory, &[Durability::None]),
        (Storage::Ramdisk, Durability::ALL),
        (Storage::Disk, Durability::ALL),
    ],
    periodic_survives_kill: true,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Refuses,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::Concurrent,
    parameters: PARAMETERS,
    keeps_data: true,
};

/// Parameters that users may set, of this driver and of those of other interfaces of Lode.
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::CACHE_BYTES,
    Parameter {
        of_files: true,
        ..Parameter::bytes(
            "log_bytes",
            (64 << 10, MOST_BYTES),
            "1g",
            "the log's length at which a checkpoint starts",
        )
    },
    Parameter {
        of_files: true,
        ..Parameter::words(
            "map_log",
            &["yes", "no"],
            "yes: the log is written through a map; no: by calls of the system",
        )
    },
    Parameter {
        of_files: true,
        ..Parameter::words(
            "compact_when_idle",
            &["yes", "no"],
            "yes: sparse pages are filled while nothing else is done",
        )
    },
];

pub(crate) fn said(what: &'static str) -> impl Fn(lode::Error) -> Error {
    move |error| {
        let effect = error.effect();
        let said = match error {
            lode::Error::DiskFull { .. } => Error::new(ErrorKind::Full, format!("{what}: {error}")),
            lode::Error::NoOrder { .. } => Error::unsupported("ordered scans with hash keys"),
            lode::Error::Conflict { .. } => {
                Error::new(ErrorKind::Conflict, format!("{what}: {error}"))
            }
            _ => Error::engine(what, error),
        };
        if effect == lode::Effect::None { said.without_effect() } else { said }
    }
}

impl Driver for LodeDriver {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn periodic_interval(&self) -> Option<Duration> {
        Some(lode::DEFAULT_SYNC_INTERVAL)
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(lode::VERSION.into())
    }

    fn has_indexes(&self) -> bool {
        true
    }

    fn volume_keys(&self) -> Option<KeyKind> {
        Some(KeyKind::Tree)
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let options = options_of(spec)?;
        if let Some(count) = spec.volumes {
            return volumes::open(spec, options, count);
        }
        let database = match spec.storage {
            Storage::Memory => options.in_memory(),
            Storage::Ramdisk | Storage::Disk => options.open(spec.dir()),
        };
        let database = database.map_err(said("open"))?;
        let kind = match spec.key_kind {
            KeyKind::Hash => lode::KeyKind::Hash,
            KeyKind::Tree => lode::KeyKind::Tree,
        };
        // What does not fit a table of this kind is nothing that the engine does.
        let unsupported = |error: lode::Error| Error::unsupported(error.to_string());
        let (schema, packing) = Packing::new(&spec.schema).map_err(unsupported)?;
        let indexes: Vec<_> =
            spec.schema.indexed().iter().map(|at| index_of(&spec.schema, *at)).collect();
        let table = if spec.create || spec.storage == Storage::Memory {
            database.create_indexed_table(&schema, kind, &indexes)
        } else {
            database.table(schema.name())
        };
        let table = table.map_err(|error| match error {
            error if error.is_bad_input() => unsupported(error),
            other => said("open the table")(other),
        })?;
        if table.schema() != &schema {
            let what =
                "its table has other columns, of another version of this driver; fill a new one";
            return Err(Error::engine("open the table", what));
        }
        let settings = settings_of(spec);
        Ok(Box::new(LodeStore {
            database,
            table,
            schema: spec.schema.clone(),
            indexes,
            packing,
            settings,
            cache: cache_of(spec),
        }))
    }
}

/// Returns the secondary index of a column.
fn index_of(schema: &Schema, column: usize) -> IndexSchema {
    let name = schema.columns()[column].name;
    IndexSchema::new(&format!("by_{name}"), [name])
}

fn level_of(level: Durability) -> lode::Durability {
    match level {
        Durability::None => lode::Durability::None,
        Durability::Process => lode::Durability::Process,
        Durability::Periodic => lode::Durability::Periodic,
        Durability::Commit => lode::Durability::Commit,
    }
}

pub(crate) fn options_of(spec: &OpenSpec) -> Result<Options> {
    let mut options = Options::new()
        .durability(level_of(spec.durability))
        .map_log(!spec.has("map_log", "no"))
        .compact_when_idle(!spec.has("compact_when_idle", "no"));
    if let Some(bytes) = spec.bytes("log_bytes")? {
        options = options.log_bytes(bytes);
    }
    Ok(match cache_of(spec) {
        Cache::Size { size_bytes, .. } => {
            options.memory_bytes(size_bytes / u64::from(spec.volumes.unwrap_or(1).max(1)))
        }
        _ => options,
    })
}

/// Returns the most bytes for the pages of all databases of a store.
pub(crate) fn cache_of(spec: &OpenSpec) -> Cache {
    match (spec.storage, spec.cache_bytes) {
        (Storage::Memory, _) => Cache::InMemory,
        (_, None) => Cache::Default,
        (_, Some(size_bytes)) => Cache::Size { size_bytes, setting: "memory_bytes" },
    }
}

/// Returns the settings, as Lode's users would write them.
pub(crate) fn settings_of(spec: &OpenSpec) -> Vec<String> {
    match spec.storage {
        Storage::Memory => Vec::new(),
        Storage::Ramdisk | Storage::Disk => {
            let level = format!("durability {:?}", level_of(spec.durability));
            let set = spec.parameters.iter().map(|(name, value)| format!("{name} {value}"));
            [level].into_iter().chain(set).collect()
        }
    }
}

struct LodeStore {
    database: Database,
    table: Table,
    schema: Schema,
    /// The secondary indexes, in the order of [`Schema::indexed`].
    indexes: Vec<IndexSchema>,
    packing: Packing,
    settings: Vec<String>,
    cache: Cache,
}

impl Store for LodeStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        work(&mut LodeConnection {
            database: &self.database,
            table: &self.table,
            schema: &self.schema,
            indexes: &self.indexes,
            packing: &self.packing,
            key: vec![0; self.table.schema().key_size()],
            record: Vec::new(),
            batch: Vec::new(),
            payload: Vec::new(),
            transaction: None,
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.database.close().map_err(said("close"))
    }
}

struct LodeConnection<'s> {
    database: &'s Database,
    table: &'s Table,
    schema: &'s Schema,
    indexes: &'s [IndexSchema],
    packing: &'s Packing,
    /// The packed key. Every operation uses this and the next buffers again.
    key: Vec<u8>,
    record: Vec<u8>,
    batch: Vec<u8>,
    payload: Vec<u8>,
    transaction: Option<Transaction>,
}

impl LodeConnection<'_> {
    #[inline(never)]
    fn get_in_transaction(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        let key = self.packing.key(key, &mut self.key);
        let Some(transaction) = &self.transaction else {
            return Err(Error::engine("get", "there is no transaction"));
        };
        let table = self.table.within(transaction);
        let there = table.get_into(key, &mut self.payload).map_err(said("get"))?;
        if there {
            self.packing.payload(&self.payload, payload);
        }
        Ok(found(there))
    }
}

/// Returns Lode's value.
fn value_of(value: Value<'_>) -> Result<lode::Value<'_>> {
    Ok(match value {
        Value::Unsigned(number) => lode::Value::Unsigned(number),
        Value::Signed(number) => lode::Value::Signed(number),
        Value::Float(number) => lode::Value::Float(number),
        Value::Bytes(bytes) => lode::Value::Bytes(bytes),
        Value::Text(bytes) => {
            let text = str::from_utf8(bytes).map_err(|error| Error::engine("find", error))?;
            lode::Value::Text(text)
        }
    })
}

pub(crate) fn found(there: bool) -> Outcome {
    if there { Outcome::Done } else { Outcome::Missing }
}

pub(crate) fn inserted(new: bool) -> Outcome {
    if new { Outcome::Done } else { Outcome::Duplicate }
}

impl Connection for LodeConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        self.transaction = Some(self.database.begin());
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(transaction) => transaction.commit().map_err(said("commit")),
            None => Err(Error::engine("commit", "there is no transaction")),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        self.transaction = None;
        Ok(())
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        self.packing.record(record, &mut self.record);
        let new = match &self.transaction {
            None => self.table.insert(&self.record),
            Some(transaction) => transaction.insert(self.table, &self.record),
        };
        new.map(inserted).map_err(said("insert"))
    }

    fn batch(&mut self, records: &[u8], record_size: usize) -> Result<u64> {
        self.batch.clear();
        let mut ends = vec![0];
        for record in records.chunks_exact(record_size) {
            self.packing.record(record, &mut self.record);
            self.batch.extend_from_slice(&self.record);
            ends.push(self.batch.len());
        }
        let packed = ends.windows(2).map(|ends| &self.batch[ends[0]..ends[1]]);
        self.table.insert_all(packed).map_err(said("insert several"))
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        self.packing.record(record, &mut self.record);
        let there = match &self.transaction {
            None => self.table.upsert(&self.record),
            Some(transaction) => transaction.upsert(self.table, &self.record),
        };
        there.map(drop).map_err(said("upsert"))
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        if self.transaction.is_some() {
            return self.get_in_transaction(key, payload);
        }
        let key = self.packing.key(key, &mut self.key);
        if let Some(size) = self.packing.one_piece() {
            let payload = &mut payload[..size];
            return self.table.get_exact(key, payload).map(found).map_err(said("get"));
        }
        let there = self.table.get_into(key, &mut self.payload).map_err(said("get"))?;
        if there {
            self.packing.payload(&self.payload, payload);
        }
        Ok(found(there))
    }

    fn get_many(
        &mut self,
        keys: &[u8],
        payloads: &mut [u8],
        outcomes: &mut [Outcome],
    ) -> Result<()> {
        let key_size = self.schema.key_size();
        let size = self.schema.payload_size();
        let lode_key_size = self.key.len();
        let mut packed = vec![0; keys.len() / key_size * lode_key_size];
        for (key, to) in keys.chunks_exact(key_size).zip(packed.chunks_exact_mut(lode_key_size)) {
            let key = self.packing.key(key, &mut self.key);
            to.copy_from_slice(key);
        }
        let keep = &mut |at: usize, payload: Option<&[u8]>| {
            outcomes[at] = found(payload.is_some());
            if let Some(payload) = payload {
                let to = &mut payloads[at * size..(at + 1) * size];
                self.packing.payload(payload, to);
            }
        };
        self.table.get_many_with(&packed, keep).map_err(said("get several"))
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let value = match self.schema.columns()[column].kind {
            ColumnType::VarBytes(_) => var_bytes(value),
            kind @ ColumnType::Text(_) if self.schema.has_varied_texts() => own_bytes(kind, value),
            _ => value,
        };
        let key = self.packing.key(key, &mut self.key);
        let column = self.packing.column(column);
        let there = match &self.transaction {
            None => self.table.update(key, column, value),
            Some(transaction) => transaction.update(self.table, key, column, value),
        };
        there.map(found).map_err(said("update"))
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        let key = self.packing.key(key, &mut self.key);
        let there = match &self.transaction {
            None => self.table.delete(key),
            Some(transaction) => transaction.delete(self.table, key),
        };
        there.map(found).map_err(said("delete"))
    }

    fn find_by(&mut self, column: usize, value: &[u8], row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let indexed = self.schema.indexed().iter().position(|at| *at == column);
        let Some(index) = indexed.map(|at| &self.indexes[at]) else {
            return Err(Error::unsupported("finding by a column without an index"));
        };
        let within;
        let by = match &self.transaction {
            None => self.table.by(index.name()),
            Some(transaction) => {
                within = self.table.within(transaction);
                within.by(index.name())
            }
        };
        let value = value_of(Value::read(self.schema.columns()[column].kind, value))?;
        let wanted = self.schema.positions();
        let columns: Vec<_> = wanted.iter().map(|&at| self.packing.column(at)).collect();
        let mut cursor = by.map_err(said("find"))?.prefix(&[value]).columns(columns);
        let mut rows = ScannedRows::new(self.schema, wanted);
        let mut count = 0;
        while let Some(found) = cursor.next_row().map_err(said("find"))? {
            row(rows.record(found.bytes()));
            count += 1;
        }
        Ok(count)
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let mut packed = |key: &[u8]| self.packing.key(key, &mut self.key).to_vec();
        let lower = scan.lower.map(&mut packed);
        let upper = scan.upper.map(packed);
        let wanted: Vec<_> = scan.columns.iter().map(|&at| self.packing.column(at)).collect();
        let (lower, upper) =
            (lower.as_ref().map(|key| &key[..]), upper.as_ref().map(|key| &key[..]));
        let cursor = match &self.transaction {
            None => self.table.range_packed(lower, upper),
            Some(transaction) => self.table.within(transaction).range_packed(lower, upper),
        };
        let mut cursor = cursor.columns(wanted).limit(scan.limit);
        let mut rows = ScannedRows::new(self.schema, scan.columns);
        let mut count = 0;
        while let Some(found) = cursor.next_row().map_err(said("scan"))? {
            row(rows.record(found.bytes()));
            count += 1;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that an engine out of memory is not advised to make space on a disk.
    #[test]
    fn only_a_full_disk_is_a_full_place() {
        let memory = lode::Error::Full { budget_bytes: 1 << 24 };
        let disk = lode::Error::DiskFull { what: "extend file data".into() };
        for (error, kind) in [(memory, ErrorKind::Engine), (disk, ErrorKind::Full)] {
            assert_eq!(said("insert")(error.clone()).kind(), kind, "{error}");
        }
    }
}
