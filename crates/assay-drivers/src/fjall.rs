//! `fjall`: a log-structured merge tree in Rust.
//!
//! - Version: that of the crate.
//! - Storage: ramdisk and disk. Keys: tree. Transactions (its single-writer ones), scans.
//! - Levels (its documentation of `Database::persist` and `PersistMode`): `process` is the
//!   default: every write reaches the operating system before it returns; `periodic` adds a
//!   `persist(SyncData)` every 100 ms by a thread of the driver; `commit` adds a
//!   `persist(SyncData)` to every write, or the same as the durability of a transaction.
//! - Settings: `cache_size` as the common budget says, else a quarter of the memory, as its
//!   documentation recommends (20–25 %); everything else is the default.
//! - Inserts replace and deletes write tombstones without looking, as its own calls do. Single
//!   writes go to the keyspace itself; an update runs as its `update_fetch`.

use std::ops::Bound;
use std::slice::ChunksExact;
use std::time::Duration;

use assay_driver::error::{Error, Result};
use assay_driver::machine;
use assay_driver::schema::Schema;
use assay_driver::{
    Cache, Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Outcome,
    Parameter, Profile, Storage, Store, Transactions, Work,
};
use fjall::{
    KeyspaceCreateOptions, PersistMode, Readable, SingleWriterTxDatabase, SingleWriterTxKeyspace,
    SingleWriterWriteTx,
};

use crate::kv::{Handle, KvConnection};
use crate::ticker::{INTERVAL, Ticker};

pub(crate) struct Fjall;

const LEVELS: &[Durability] = &[Durability::Process, Durability::Periodic, Durability::Commit];

static PROFILE: Profile = Profile {
    id: "fjall",
    name: "fjall",
    about: "log-structured merge tree",
    key_kinds: &[KeyKind::Tree],
    levels: &[(Storage::Ramdisk, LEVELS), (Storage::Disk, LEVELS)],
    periodic_survives_kill: true,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Replaces,
    delete_rule: DeleteRule::Silent,
    concurrency: Concurrency::Concurrent,
    parameters: &[Parameter::CACHE_BYTES],
    keeps_data: true,
};

impl Driver for Fjall {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn periodic_interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(env!("ASSAY_VERSION_FJALL").into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let said = |e| Error::engine("open", e);
        let cache_bytes = spec.cache_bytes.unwrap_or_else(|| machine::usable_memory_bytes() / 4);
        let database = SingleWriterTxDatabase::builder(spec.dir())
            .cache_size(cache_bytes)
            .open()
            .map_err(said)?;
        let keyspace =
            database.keyspace("records", KeyspaceCreateOptions::default).map_err(said)?;
        let syncer = (spec.durability == Durability::Periodic).then(|| {
            let database = database.clone();
            Ticker::start(move || {
                database.persist(PersistMode::SyncData).map_err(|e| Error::engine("persist", e))
            })
        });
        let persistence = match spec.durability {
            Durability::Commit => "persist(SyncData) with every commit".into(),
            Durability::Periodic => {
                format!("persist(SyncData) every {} ms", INTERVAL.as_millis())
            }
            _ => "writes reach the operating system, no sync".into(),
        };
        Ok(Box::new(FjallStore {
            database,
            keyspace,
            sync: spec.durability == Durability::Commit,
            schema: spec.schema.clone(),
            settings: vec![persistence],
            cache: Cache::Size { size_bytes: cache_bytes, setting: "cache_size" },
            syncer,
        }))
    }
}

struct FjallStore {
    database: SingleWriterTxDatabase,
    keyspace: SingleWriterTxKeyspace,
    sync: bool,
    schema: Schema,
    settings: Vec<String>,
    cache: Cache,
    syncer: Option<Ticker>,
}

impl Store for FjallStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let handle = FjallHandle {
            database: &self.database,
            keyspace: &self.keyspace,
            sync: self.sync,
            transaction: None,
        };
        work(&mut KvConnection::new(handle, &self.schema))
    }

    fn close(self: Box<Self>) -> Result<()> {
        if let Some(syncer) = self.syncer {
            syncer.stop()?;
        }
        self.database.persist(PersistMode::SyncAll).map_err(|e| Error::engine("close", e))
    }
}

struct FjallHandle<'s> {
    database: &'s SingleWriterTxDatabase,
    keyspace: &'s SingleWriterTxKeyspace,
    sync: bool,
    transaction: Option<SingleWriterWriteTx<'s>>,
}

impl FjallHandle<'_> {
    fn written(&self, what: &str, result: fjall::Result<()>) -> Result<Outcome> {
        result
            .and_then(
                |()| if self.sync { self.database.persist(PersistMode::SyncData) } else { Ok(()) },
            )
            .map_err(|e| Error::engine(what, e))?;
        Ok(Outcome::Done)
    }
}

impl Handle for FjallHandle<'_> {
    fn begin(&mut self) -> Result<()> {
        let mode = if self.sync { PersistMode::SyncData } else { PersistMode::Buffer };
        self.transaction = Some(self.database.write_tx().durability(Some(mode)));
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(txn) => txn.commit().map_err(|e| Error::engine("commit", e)),
            None => Err(Error::engine("commit", "no transaction is open")),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        if let Some(txn) = self.transaction.take() {
            txn.rollback();
        }
        Ok(())
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome> {
        match &mut self.transaction {
            Some(txn) => {
                txn.insert(self.keyspace, key, value);
                Ok(Outcome::Done)
            }
            None => self.written("insert", self.keyspace.inner().insert(key, value)),
        }
    }

    fn get(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome> {
        let value = match &self.transaction {
            Some(txn) => txn.get(self.keyspace, key),
            None => self.keyspace.inner().get(key),
        };
        match value.map_err(|e| Error::engine("get", e))? {
            Some(value) => {
                found(&value);
                Ok(Outcome::Done)
            }
            None => Ok(Outcome::Missing),
        }
    }

    fn get_many(
        &mut self,
        keys: ChunksExact<'_, u8>,
        mut found: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        let snapshot = self.database.read_tx();
        for (key, at) in keys.zip(0..) {
            let value = match &self.transaction {
                Some(txn) => txn.get(self.keyspace, key),
                None => snapshot.get(self.keyspace, key),
            };
            if let Some(value) = value.map_err(|e| Error::engine("get", e))? {
                found(at, &value);
            }
        }
        Ok(())
    }

    fn modify(&mut self, key: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Result<Outcome> {
        let changed = |old: Option<&fjall::UserValue>| {
            old.map(|old| {
                let mut value = old.to_vec();
                change(&mut value);
                value.into()
            })
        };
        let (updated, alone) = match &mut self.transaction {
            Some(txn) => (txn.update_fetch(self.keyspace, key, changed), false),
            None => (self.keyspace.update_fetch(key, changed), true),
        };
        match updated.map_err(|e| Error::engine("update", e))? {
            Some(_) if alone => self.written("update", Ok(())),
            Some(_) => Ok(Outcome::Done),
            None => Ok(Outcome::Missing),
        }
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        match &mut self.transaction {
            Some(txn) => {
                txn.remove(self.keyspace, key);
                Ok(Outcome::Done)
            }
            None => self.written("delete", self.keyspace.inner().remove(key)),
        }
    }

    fn scan(
        &mut self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        mut row: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let range = match &self.transaction {
            Some(txn) => txn.range::<&[u8], _>(self.keyspace, (lower, upper)),
            None => self.keyspace.inner().range::<&[u8], _>((lower, upper)),
        };
        for entry in range {
            let (key, value) = entry.into_inner().map_err(|e| Error::engine("scan", e))?;
            if !row(&key, &value) {
                break;
            }
        }
        Ok(())
    }
}
