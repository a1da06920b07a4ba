//! `lode`: hashed and ordered tables of typed records.
//!
//! - Version: that of the crate, which is in this repository.
//! - Storage: memory, or a directory, at every level of durability. Keys: hash, tree. Transactions,
//!   scans, lookups of several keys; readers and writers all at once.
//! - Settings: its defaults (pages may take up half of the machine's memory, or what parameter
//!   `memory_bytes` says; `periodic` syncs every 100 ms).
//! - Its records are packed as Assay's are, but for the gaps that align columns there, and what is
//!   behind a value of variable length.

use assay_core::driver::{
    Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Profile, Scan, Storage, Store, Transactions, Work,
};
use assay_core::error::{Error, ErrorKind, Result};
use assay_core::schema::{ColumnType, LENGTH_SIZE, Schema, var_bytes};
use lode::{Database, Options, Table, Transaction};

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
    options: &[],
    parameters: &[MEMORY_BYTES],
    keeps_data: true,
};

/// The parameter for how much memory pages may take up.
const MEMORY_BYTES: &str = "memory_bytes";

fn said(what: &'static str) -> impl Fn(lode::Error) -> Error {
    move |error| match error {
        lode::Error::Full { .. } | lode::Error::DiskFull { .. } => {
            Error::new(ErrorKind::Full, format!("{what}: {error}"))
        }
        lode::Error::NoOrder { .. } => Error::unsupported("ordered scans with hash keys"),
        _ => Error::engine(what, error),
    }
}

/// The same columns for Lode.
fn schema_of(schema: &Schema) -> lode::Result<lode::Schema> {
    let kind = |kind| match kind {
        ColumnType::U8 => lode::Type::U8,
        ColumnType::U16 => lode::Type::U16,
        ColumnType::U32 => lode::Type::U32,
        ColumnType::U64 => lode::Type::U64,
        ColumnType::I32 => lode::Type::I32,
        ColumnType::I64 => lode::Type::I64,
        ColumnType::F64 => lode::Type::F64,
        ColumnType::Text(size) => lode::Type::Text(size),
        ColumnType::Bytes(size) => lode::Type::Bytes(size),
        ColumnType::VarBytes(most) => lode::Type::VarBytes(most),
    };
    let mut build = lode::Schema::build(schema.name());
    for (at, column) in schema.columns().iter().enumerate() {
        build = match at < schema.key_columns().len() {
            true => build.key(column.name, kind(column.kind)),
            false => build.column(column.name, kind(column.kind)),
        };
    }
    build.finish()
}

/// How Assay's packed records and Lode's, which have no gaps, lie to each other. In both, a value of
/// variable length comes last, after how long it is.
struct Packing {
    /// Stretches without gaps: where they begin in Assay's and in Lode's records, and their length.
    stretches: Vec<(usize, usize, usize)>,
    /// How many of them are of the key.
    of_key: usize,
    key_size: usize,
    lode_key_size: usize,
    /// Where a value of variable length says how long it is in Assay's records.
    variable_at: Option<usize>,
    /// Bytes of Lode's record before such a value.
    fixed_size: usize,
}

impl Packing {
    fn new(assay: &Schema, lode: &lode::Schema) -> Self {
        let mut stretches: Vec<(usize, usize, usize)> = Vec::new();
        let mut of_key = 0;
        for (at, (from, to)) in assay.columns().iter().zip(lode.columns()).enumerate() {
            let begins_payload = at == lode.key_columns();
            if begins_payload {
                of_key = stretches.len();
            }
            let size = to.range().len();
            match stretches.last_mut() {
                Some((last, _, length)) if *last + *length == from.offset && !begins_payload => {
                    *length += size;
                }
                _ => stretches.push((from.offset, to.offset, size)),
            }
        }
        if lode.columns().len() == lode.key_columns() {
            of_key = stretches.len();
        }
        Self {
            stretches,
            of_key,
            key_size: assay.key_size(),
            lode_key_size: lode.key_size(),
            variable_at: assay.variable_column().map(|column| column.offset),
            fixed_size: lode.record_size(),
        }
    }

    /// Lode's key; in its place `packed`, unless it is in one piece.
    #[inline(always)]
    fn key<'k>(&self, key: &'k [u8], packed: &'k mut [u8]) -> &'k [u8] {
        if let [(from, _, size)] = &self.stretches[..self.of_key] {
            return &key[*from..from + size];
        }
        for (from, to, size) in &self.stretches[..self.of_key] {
            packed[*to..to + size].copy_from_slice(&key[*from..from + size]);
        }
        packed
    }

    /// Lode's record.
    #[inline(always)]
    fn record(&self, record: &[u8], packed: &mut Vec<u8>) {
        packed.resize(self.fixed_size, 0);
        for (from, to, size) in &self.stretches {
            packed[*to..to + size].copy_from_slice(&record[*from..from + size]);
        }
        if let Some(at) = self.variable_at {
            packed.extend_from_slice(var_bytes(&record[at..]));
        }
    }

    /// Assay's payload.
    #[inline(always)]
    fn payload(&self, packed: &[u8], payload: &mut [u8]) {
        for (to, from, size) in &self.stretches[self.of_key..] {
            let (to, from) = (to - self.key_size, from - self.lode_key_size);
            payload[to..to + size].copy_from_slice(&packed[from..from + size]);
        }
        if let Some(at) = self.variable_at {
            let value = &packed[self.fixed_size - self.lode_key_size..];
            let to = at + LENGTH_SIZE - self.key_size;
            payload[to..to + value.len()].copy_from_slice(value);
        }
    }
}

impl Driver for LodeDriver {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(lode::VERSION.into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let options = options_of(spec)?;
        let database = match spec.storage {
            Storage::Memory => options.in_memory(),
            Storage::Ramdisk | Storage::Disk => options.open(&spec.dir),
        };
        let database = database.map_err(said("open"))?;
        let kind = match spec.key_kind {
            KeyKind::Hash => lode::KeyKind::Hash,
            KeyKind::Tree => lode::KeyKind::Tree,
        };
        // What does not fit a table of this kind is nothing that the engine does.
        let unsupported = |error: lode::Error| Error::unsupported(error.to_string());
        let schema = schema_of(&spec.schema).map_err(unsupported)?;
        let table = match spec.create || spec.storage == Storage::Memory {
            true => database.create_table(&schema, kind),
            false => database.table(schema.name()),
        };
        let table = table.map_err(|error| match error {
            lode::Error::Schema { .. } => unsupported(error),
            other => said("open the table")(other),
        })?;
        let packing = Packing::new(&spec.schema, &schema);
        let settings = settings_of(spec);
        Ok(Box::new(LodeStore { database, table, schema: spec.schema.clone(), packing, settings }))
    }
}

fn level_of(level: Durability) -> lode::Durability {
    match level {
        Durability::None => lode::Durability::None,
        Durability::Process => lode::Durability::Process,
        Durability::Periodic => lode::Durability::Periodic,
        Durability::Commit => lode::Durability::Commit,
    }
}

fn options_of(spec: &OpenSpec) -> Result<Options> {
    let options = Options::new().durability(level_of(spec.durability));
    let Some(text) = spec.parameter(MEMORY_BYTES) else { return Ok(options) };
    let bytes = text.parse().map_err(|_| {
        Error::engine("open", format!("{MEMORY_BYTES}: {text} is not a number of bytes"))
    })?;
    Ok(options.memory_bytes(bytes))
}

/// What was set, as Lode's users would write it.
fn settings_of(spec: &OpenSpec) -> Vec<String> {
    let memory = spec.parameter(MEMORY_BYTES).map_or_else(
        || "default memory budget (half of the machine's)".into(),
        |bytes| format!("memory_bytes {bytes}"),
    );
    let level = format!("durability {:?}", level_of(spec.durability));
    match spec.storage {
        Storage::Memory => vec![memory],
        Storage::Ramdisk | Storage::Disk => vec![level, memory],
    }
}

struct LodeStore {
    database: Database,
    table: Table,
    schema: Schema,
    packing: Packing,
    settings: Vec<String>,
}

impl Store for LodeStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        work(&mut LodeConnection {
            database: &self.database,
            table: &self.table,
            schema: &self.schema,
            packing: &self.packing,
            key: vec![0; self.table.schema().key_size()],
            record: Vec::new(),
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
    packing: &'s Packing,
    /// What Lode takes and answers, for every operation again.
    key: Vec<u8>,
    record: Vec<u8>,
    payload: Vec<u8>,
    transaction: Option<Transaction>,
}

fn found(there: bool) -> Outcome {
    if there { Outcome::Done } else { Outcome::Missing }
}

fn inserted(new: bool) -> Outcome {
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
        let new = match &mut self.transaction {
            None => self.table.insert(&self.record),
            Some(transaction) => transaction.insert(self.table, &self.record),
        };
        new.map(inserted).map_err(said("insert"))
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        self.packing.record(record, &mut self.record);
        let there = match &mut self.transaction {
            None => self.table.upsert(&self.record),
            Some(transaction) => transaction.upsert(self.table, &self.record),
        };
        there.map(drop).map_err(said("upsert"))
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        let key = self.packing.key(key, &mut self.key);
        let there = match &mut self.transaction {
            None => self.table.read(key, &mut self.payload).map_err(said("get"))?,
            Some(transaction) => {
                let answer = transaction.payload(self.table, key).map_err(said("get"))?;
                let there = answer.is_some();
                answer.into_iter().for_each(|answer| self.payload = answer);
                there
            }
        };
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
        let (key_size, size) = (self.schema.key_size(), self.schema.payload_size());
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
        self.table.get_many(&packed, keep).map_err(said("get several"))
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let value = match self.schema.columns()[column].kind {
            ColumnType::VarBytes(_) => var_bytes(value),
            _ => value,
        };
        let key = self.packing.key(key, &mut self.key);
        let there = match &mut self.transaction {
            None => self.table.update(key, column, value),
            Some(transaction) => transaction.update(self.table, key, column, value),
        };
        there.map(found).map_err(said("update"))
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        let key = self.packing.key(key, &mut self.key);
        let there = match &mut self.transaction {
            None => self.table.delete(key),
            Some(transaction) => transaction.delete(self.table, key),
        };
        there.map(found).map_err(said("delete"))
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let mut packed = |key: &[u8]| self.packing.key(key, &mut self.key).to_vec();
        let (lower, upper) = (scan.lower.map(&mut packed), scan.upper.map(packed));
        let ask = lode::Scan {
            lower: lower.as_ref().map(|key| &key[..]),
            upper: upper.as_ref().map(|key| &key[..]),
            backward: false,
            columns: scan.columns,
            limit: scan.limit,
        };
        // Lode hands the columns out one after another; a row has each at its own place.
        let columns: Vec<_> = scan.columns.iter().map(|&at| &self.schema.columns()[at]).collect();
        let mut record = vec![0; self.schema.record_size()];
        let mut count = 0;
        let visit = &mut |packed: &[u8]| {
            count += 1;
            let mut from = 0;
            for column in &columns {
                let size = column.kind.used_bytes(&packed[from..]);
                record[column.offset..column.offset + size]
                    .copy_from_slice(&packed[from..from + size]);
                from += size;
            }
            row(&record);
            Ok(true)
        };
        self.table.scan(&ask, visit).map_err(said("scan"))?;
        Ok(count)
    }
}
