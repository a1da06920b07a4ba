//! `lode-c`: Lode through its C interface, to see what that costs next to `lode`.
//!
//! - Version: that of `lode_version`; the interface is in this repository, and linked.
//! - Storage, keys, levels, transactions, settings and the layout of records: those of `lode`.
//!   Each operation is a call of a function of `lode.h`, with handles, packed bytes and their
//!   numbers. A batch of inserts is one `lode_insert_all`, several lookups one
//!   `lode_get_many_packed`. The bounds of a scan are values, and each row is a call.
//! - The interface has no secondary indexes and no volumes, so neither has the driver.

mod calls;

use std::time::Duration;

use assay_driver::error::{Error, Result};
use assay_driver::schema::{ColumnType, Schema, Value, var_bytes};
use assay_driver::{
    Cache, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Profile, Scan, Storage, Store, Transactions, Work,
};
use lode_capi::options::{
    LODE_DURABILITY_COMMIT, LODE_DURABILITY_NONE, LODE_DURABILITY_PERIODIC,
    LODE_DURABILITY_PROCESS, LODE_NO_IDLE_COMPACTION, LODE_UNMAPPED_LOG, lode_options,
};
use lode_capi::value as types;

use crate::lode::packing::{Packing, ScannedRows, own_bytes};
use crate::lode::{PARAMETERS, cache_of, found, inserted, settings_of};
use calls::{Column, Database, Place, Table, Transaction};

pub(crate) struct LodeByC;

static PROFILE: Profile = Profile {
    id: "lode-c",
    name: "Lode by C",
    about: "Lode through its C interface",
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

impl Driver for LodeByC {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn periodic_interval(&self) -> Option<Duration> {
        Some(lode::DEFAULT_SYNC_INTERVAL)
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(calls::version())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let directory = match spec.storage {
            Storage::Memory => None,
            Storage::Ramdisk | Storage::Disk => Some(spec.dir()),
        };
        let (schema, packing) =
            Packing::new(&spec.schema).map_err(|error| Error::unsupported(error.to_string()))?;
        let columns = schema.columns().iter().enumerate();
        let columns = columns.map(|(at, column)| described(column, at < schema.key_columns()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let database = Database::open(directory, &options_of(spec)?)?;
        let table = if spec.create || spec.storage == Storage::Memory {
            let is_ordered = spec.key_kind == KeyKind::Tree;
            database.create_table(schema.name(), &columns, is_ordered)
        } else {
            database.open_table(schema.name())
        }?;
        if !table.has(&columns)? {
            let what =
                "its table has other columns, of another version of this driver; fill a new one";
            return Err(Error::engine("open the table", what));
        }
        Ok(Box::new(LodeStore {
            most_payload_bytes: table.most_payload_bytes()?,
            lode_key_size: schema.key_size(),
            table,
            database,
            schema: spec.schema.clone(),
            packing,
            settings: settings_of(spec),
            cache: cache_of(spec),
        }))
    }
}

/// Describes a column for the interface.
fn described(column: &lode::Column, is_key: bool) -> Result<Column<'_>> {
    let (kind, size) = match column.kind {
        lode::Type::U8 => (types::LODE_TYPE_U8, 0),
        lode::Type::U16 => (types::LODE_TYPE_U16, 0),
        lode::Type::U32 => (types::LODE_TYPE_U32, 0),
        lode::Type::U64 => (types::LODE_TYPE_U64, 0),
        lode::Type::I32 => (types::LODE_TYPE_I32, 0),
        lode::Type::I64 => (types::LODE_TYPE_I64, 0),
        lode::Type::F64 => (types::LODE_TYPE_F64, 0),
        lode::Type::Text(size) => (types::LODE_TYPE_TEXT, size),
        lode::Type::Bytes(size) => (types::LODE_TYPE_BYTES, size),
        lode::Type::VarText(most) => (types::LODE_TYPE_VAR_TEXT, most),
        lode::Type::VarBytes(most) => (types::LODE_TYPE_VAR_BYTES, most),
        other => return Err(Error::unsupported(format!("columns of type {other:?}"))),
    };
    Ok(Column { name: &column.name, kind, size, is_key })
}

fn options_of(spec: &OpenSpec) -> Result<lode_options> {
    let flag = |name, flag| if spec.has(name, "no") { flag } else { 0 };
    Ok(lode_options {
        memory_bytes: match cache_of(spec) {
            Cache::Size { size_bytes, .. } => size_bytes,
            _ => 0,
        },
        log_bytes: spec.bytes("log_bytes")?.unwrap_or(0),
        segment_bytes: 0,
        sync_interval_us: 0,
        durability: match spec.durability {
            Durability::None => LODE_DURABILITY_NONE,
            Durability::Process => LODE_DURABILITY_PROCESS,
            Durability::Periodic => LODE_DURABILITY_PERIODIC,
            Durability::Commit => LODE_DURABILITY_COMMIT,
        },
        mode: 0,
        flags: flag("map_log", LODE_UNMAPPED_LOG)
            | flag("compact_when_idle", LODE_NO_IDLE_COMPACTION),
        reserved: 0,
        kept_changes_bytes: 0,
    })
}

struct LodeStore {
    table: Table,
    database: Database,
    schema: Schema,
    packing: Packing,
    lode_key_size: usize,
    most_payload_bytes: usize,
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
            store: self,
            key: vec![0; self.lode_key_size],
            record: Vec::new(),
            batch: Vec::new(),
            payload: vec![0; self.most_payload_bytes],
            transaction: None,
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        let Self { table, database, .. } = *self;
        drop(table);
        database.close()
    }
}

struct LodeConnection<'s> {
    store: &'s LodeStore,
    /// The packed key. Every operation uses this and the next buffers again.
    key: Vec<u8>,
    record: Vec<u8>,
    batch: Vec<u8>,
    payload: Vec<u8>,
    transaction: Option<Transaction>,
}

/// Returns the values of a key area.
fn key_values<'k>(schema: &'k Schema, key: &'k [u8]) -> Vec<Value<'k>> {
    schema.key_columns().iter().map(|column| column.value(key)).collect()
}

impl Connection for LodeConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        self.transaction = Some(self.store.database.begin()?);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(transaction) => transaction.commit(),
            None => Err(Error::engine("commit", "there is no transaction")),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        self.transaction = None;
        Ok(())
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        self.store.packing.record(record, &mut self.record);
        self.store.table.insert(self.transaction.as_ref(), &self.record).map(inserted)
    }

    fn batch(&mut self, records: &[u8], record_size: usize) -> Result<u64> {
        self.batch.clear();
        let mut ends = vec![0];
        for record in records.chunks_exact(record_size) {
            self.store.packing.record(record, &mut self.record);
            self.batch.extend_from_slice(&self.record);
            ends.push(self.batch.len());
        }
        self.store.table.insert_all(ends.windows(2).map(|ends| &self.batch[ends[0]..ends[1]]))
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        self.store.packing.record(record, &mut self.record);
        self.store.table.upsert(self.transaction.as_ref(), &self.record)
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        let LodeStore { table, packing, .. } = self.store;
        let key = packing.key(key, &mut self.key);
        let transaction = self.transaction.as_ref();
        if let Some(size) = packing.one_piece() {
            let there = table.get(transaction, key, &mut payload[..size])?;
            return Ok(found(there.is_some()));
        }
        let there = table.get(transaction, key, &mut self.payload)?;
        if let Some(size) = there {
            packing.payload(&self.payload[..size], payload);
        }
        Ok(found(there.is_some()))
    }

    fn get_many(
        &mut self,
        keys: &[u8],
        payloads: &mut [u8],
        outcomes: &mut [Outcome],
    ) -> Result<()> {
        let LodeStore { table, schema, packing, lode_key_size, most_payload_bytes, .. } =
            self.store;
        let key_size = schema.key_size();
        let size = schema.payload_size();
        let mut packed = vec![0; outcomes.len() * lode_key_size];
        for (key, to) in keys.chunks_exact(key_size).zip(packed.chunks_exact_mut(*lode_key_size)) {
            to.copy_from_slice(packing.key(key, &mut self.key));
        }
        let mut places = vec![Place::NONE; outcomes.len()];
        self.batch.resize(outcomes.len() * most_payload_bytes, 0);
        table.get_many(self.transaction.as_ref(), &packed, &mut self.batch, &mut places)?;
        for (at, place) in places.into_iter().enumerate() {
            let payload = place.of(&self.batch);
            outcomes[at] = found(payload.is_some());
            if let Some(payload) = payload {
                packing.payload(payload, &mut payloads[at * size..(at + 1) * size]);
            }
        }
        Ok(())
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let LodeStore { table, schema, packing, .. } = self.store;
        let value = match schema.columns()[column].kind {
            ColumnType::VarBytes(_) => var_bytes(value),
            kind @ ColumnType::Text(_) if schema.has_varied_texts() => own_bytes(kind, value),
            _ => value,
        };
        let key = packing.key(key, &mut self.key);
        let column = packing.column(column).index();
        table.update(self.transaction.as_ref(), key, column, value).map(found)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        let key = self.store.packing.key(key, &mut self.key);
        self.store.table.delete(self.transaction.as_ref(), key).map(found)
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        // The interface reads any number of rows if the limit is 0.
        if scan.limit == 0 {
            return Ok(0);
        }
        let LodeStore { table, schema, packing, .. } = self.store;
        let bounds = [scan.lower, scan.upper].map(|bound| bound.map(|key| key_values(schema, key)));
        let columns: Vec<_> = scan.columns.iter().map(|&at| packing.column(at).index()).collect();
        let mut cursor = table.cursor(self.transaction.as_ref(), bounds, &columns, scan.limit)?;
        let mut rows = ScannedRows::new(schema, scan.columns);
        let mut count = 0;
        while let Some(cells) = cursor.next_row()? {
            row(rows.record(cells));
            count += 1;
        }
        Ok(count)
    }
}
