//! `redb`: a copy-on-write B-tree in Rust.
//!
//! - Version: that of the crate.
//! - Storage: memory (its in-memory backend), ramdisk, disk. Keys: tree. Transactions, scans;
//!   one writer next to readers.
//! - Levels (its documentation of `Durability`): `none` is `Durability::None`: nothing reaches the
//!   file until a later durable commit or the close. `periodic` adds a durable commit every 100 ms,
//!   made by a thread of the driver while there are writes. So a crash of the process or the
//!   machine costs at most 100 ms and one commit. `commit` is the default, `Durability::Immediate`.
//!   There is no `process`: a killed process loses what only `Durability::None` has committed.
//! - Settings: `set_cache_size` as the common budget says, else 1 GiB; in a transaction of
//!   several writes the table stays open between them.
//! - The insert replaces, as `Table::insert` does.

use std::ops::Bound;
use std::slice::ChunksExact;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use assay_driver::error::{Error, Result};
use assay_driver::schema::Schema;
use assay_driver::{
    Cache, Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Outcome,
    Parameter, Profile, Storage, Store, Transactions, Work,
};
use redb::{
    Database, ReadableDatabase, ReadableTable, Table, TableDefinition, WriteTransaction, backends,
};
use self_cell::self_cell;

use crate::kv::{Handle, KvConnection};
use crate::ticker::{INTERVAL, Ticker};

pub(crate) struct Redb;

const LEVELS: &[Durability] = &[Durability::None, Durability::Periodic, Durability::Commit];
/// redb's default.
const OWN_CACHE_BYTES: u64 = 1 << 30;
const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("records");

static PROFILE: Profile = Profile {
    id: "redb",
    name: "redb",
    about: "copy-on-write B-tree",
    key_kinds: &[KeyKind::Tree],
    levels: &[
        (Storage::Memory, &[Durability::None]),
        (Storage::Ramdisk, LEVELS),
        (Storage::Disk, LEVELS),
    ],
    periodic_survives_kill: false,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Replaces,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::OneWriter,
    parameters: &[Parameter::CACHE_BYTES],
    keeps_data: true,
};

impl Driver for Redb {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn periodic_interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn copy_rule(&self) -> Option<&'static str> {
        Some("it is not safe to copy the file while writes are in progress (cberner/redb#634)")
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(env!("ASSAY_VERSION_REDB").into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let said = |e: redb::DatabaseError| Error::engine("open", e);
        let path = spec.dir().join("store.redb");
        let cache_bytes = spec.cache_bytes.unwrap_or(OWN_CACHE_BYTES);
        let mut builder = Database::builder();
        builder.set_cache_size(cache_bytes as usize);
        let database = Arc::new(
            match spec.storage {
                Storage::Memory => builder.create_with_backend(backends::InMemoryBackend::new()),
                _ if spec.create => builder.create(path),
                _ => builder.open(path),
            }
            .map_err(said)?,
        );
        let written = Arc::new(AtomicBool::new(false));
        let committer = (spec.durability == Durability::Periodic).then(|| {
            let database = Arc::clone(&database);
            let written = Arc::clone(&written);
            Ticker::start(move || {
                if written.swap(false, Ordering::Relaxed) {
                    durable_commit(&database)
                } else {
                    Ok(())
                }
            })
        });
        Ok(Box::new(RedbStore {
            immediate: spec.durability == Durability::Commit,
            settings: vec![match spec.durability {
                Durability::Commit => "Durability::Immediate".into(),
                Durability::Periodic => {
                    format!(
                        "Durability::None, and an Immediate commit every {} ms",
                        INTERVAL.as_millis()
                    )
                }
                _ => "Durability::None".into(),
            }],
            cache: Cache::Size { size_bytes: cache_bytes, setting: "set_cache_size" },
            schema: spec.schema.clone(),
            database,
            written,
            committer,
        }))
    }
}

struct RedbStore {
    database: Arc<Database>,
    immediate: bool,
    schema: Schema,
    settings: Vec<String>,
    cache: Cache,
    written: Arc<AtomicBool>,
    committer: Option<Ticker>,
}

impl Store for RedbStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let mut handle = RedbHandle {
            database: &self.database,
            immediate: self.immediate,
            written: &self.written,
            transaction: None,
            value: Vec::with_capacity(self.schema.payload_size()),
        };
        // The table exists from the first write on; reads expect it.
        handle.write("create the table", |_, _| Ok(()))?;
        work(&mut KvConnection::new(handle, &self.schema))
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        if let Some(committer) = self.committer.take() {
            committer.stop()?;
        }
        if !self.immediate {
            durable_commit(&self.database)?;
        }
        let database = Arc::into_inner(self.database)
            .ok_or_else(|| Error::engine("close", "the store is still in use"))?;
        drop(database);
        Ok(())
    }
}

fn durable_commit(database: &Database) -> Result<()> {
    let said = |e: redb::Error| Error::engine("commit", e);
    let txn = database.begin_write().map_err(|e| said(e.into()))?;
    txn.commit().map_err(|e| said(e.into()))
}

type RecordTable<'t> = Table<'t, &'static [u8], &'static [u8]>;

/// The result of work in a transaction.
type Attempt<T> = std::result::Result<T, redb::Error>;

self_cell!(
    /// A transaction with its table open, so that a write need not open it.
    struct OpenTransaction {
        owner: WriteTransaction,
        #[not_covariant]
        dependent: RecordTable,
    }
);

struct RedbHandle<'s> {
    database: &'s Database,
    immediate: bool,
    written: &'s AtomicBool,
    transaction: Option<OpenTransaction>,
    value: Vec<u8>,
}

impl RedbHandle<'_> {
    fn open_transaction(&self) -> std::result::Result<OpenTransaction, redb::Error> {
        let mut txn = self.database.begin_write()?;
        if !self.immediate {
            txn.set_durability(redb::Durability::None)?;
        }
        Ok(OpenTransaction::try_new(txn, |txn| txn.open_table(TABLE))?)
    }

    fn finish(&self, transaction: OpenTransaction) -> std::result::Result<(), redb::Error> {
        transaction.into_owner().commit()?;
        self.written.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Runs one write in the open transaction, or in a new one.
    fn write<T>(
        &mut self,
        what: &str,
        work: impl FnOnce(&mut RecordTable<'_>, &mut Vec<u8>) -> Attempt<T>,
    ) -> Result<T> {
        let said = |e: redb::Error| Error::engine(what, e);
        let value = &mut self.value;
        if let Some(open) = &mut self.transaction {
            return open.with_dependent_mut(|_, table| work(table, value)).map_err(said);
        }
        let mut buffer = std::mem::take(&mut self.value);
        let mut own = self.open_transaction().map_err(said)?;
        let result = own.with_dependent_mut(|_, table| work(table, &mut buffer)).map_err(said);
        self.value = buffer;
        let result = result?;
        self.finish(own).map_err(said)?;
        Ok(result)
    }
}

fn look_up(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    keys: ChunksExact<'_, u8>,
    found: &mut impl FnMut(usize, &[u8]),
) -> std::result::Result<(), redb::Error> {
    for (key, at) in keys.zip(0..) {
        if let Some(value) = table.get(key)? {
            found(at, value.value());
        }
    }
    Ok(())
}

impl Handle for RedbHandle<'_> {
    fn begin(&mut self) -> Result<()> {
        let open = self.open_transaction().map_err(|e| Error::engine("begin", e))?;
        self.transaction = Some(open);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(open) => self.finish(open).map_err(|e| Error::engine("commit", e)),
            None => Err(Error::engine("commit", "no transaction is open")),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(open) => open.into_owner().abort().map_err(|e| Error::engine("rollback", e)),
            None => Ok(()),
        }
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome> {
        self.write("insert", |table, _| {
            table.insert(key, value)?;
            Ok(Outcome::Done)
        })
    }

    fn get(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome> {
        let said = |e: redb::Error| Error::engine("get", e);
        let mut outcome = Outcome::Missing;
        let take = |value: &[u8]| {
            found(value);
            outcome = Outcome::Done;
        };
        match &mut self.transaction {
            Some(open) => open.with_dependent_mut(|_, table| {
                let value = table.get(key).map_err(|e| said(e.into()))?;
                if let Some(value) = value {
                    take(value.value());
                }
                Ok(())
            })?,
            None => {
                let txn = self.database.begin_read().map_err(|e| said(e.into()))?;
                let table = txn.open_table(TABLE).map_err(|e| said(e.into()))?;
                let value = table.get(key).map_err(|e| said(e.into()))?;
                if let Some(value) = value {
                    take(value.value());
                }
            }
        }
        Ok(outcome)
    }

    fn get_many(
        &mut self,
        keys: ChunksExact<'_, u8>,
        mut found: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        let said = |e: redb::Error| Error::engine("get", e);
        match &mut self.transaction {
            Some(open) => {
                open.with_dependent_mut(|_, table| look_up(table, keys, &mut found)).map_err(said)
            }
            None => {
                let txn = self.database.begin_read().map_err(|e| said(e.into()))?;
                let table = txn.open_table(TABLE).map_err(|e| said(e.into()))?;
                look_up(&table, keys, &mut found).map_err(said)
            }
        }
    }

    fn modify(&mut self, key: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Result<Outcome> {
        self.write("update", |table, buffer| {
            match table.get(key)? {
                Some(value) => {
                    buffer.clear();
                    buffer.extend_from_slice(value.value());
                }
                None => return Ok(Outcome::Missing),
            }
            change(buffer);
            table.insert(key, buffer.as_slice())?;
            Ok(Outcome::Done)
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.write("delete", |table, _| {
            Ok(match table.remove(key)? {
                Some(_) => Outcome::Done,
                None => Outcome::Missing,
            })
        })
    }

    fn scan(
        &mut self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        mut row: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let said = |e: redb::Error| Error::engine("scan", e);
        let mut each = |range: redb::Range<'_, &'static [u8], &'static [u8]>| {
            for entry in range {
                let (key, value) = entry.map_err(|e| said(e.into()))?;
                if !row(key.value(), value.value()) {
                    break;
                }
            }
            Ok(())
        };
        match &mut self.transaction {
            Some(open) => open.with_dependent_mut(|_, table| {
                each(table.range::<&[u8]>((lower, upper)).map_err(|e| said(e.into()))?)
            }),
            None => {
                let txn = self.database.begin_read().map_err(|e| said(e.into()))?;
                let table = txn.open_table(TABLE).map_err(|e| said(e.into()))?;
                each(table.range::<&[u8]>((lower, upper)).map_err(|e| said(e.into()))?)
            }
        }
    }
}
