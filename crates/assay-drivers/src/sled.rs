//! `sled`: a lock-free Bw-tree in Rust.
//!
//! - Version: 0.34, its last stable release (1.0 has been in alpha since 2022).
//! - Storage: ramdisk and disk. Keys: tree. Scans. Transactions are batches (`apply_batch`):
//!   its interactive transactions are closures that it may run again, which `begin … commit`
//!   cannot be; inside a batch, updates are not offered, since a batch cannot read.
//! - Levels (its documentation of `flush_every_ms` and `flush`): `none` switches the background
//!   flush off; `periodic` is the default flush every 500 ms; `commit` calls `flush` after every
//!   write. There is no `process`: writes wait in buffers of the process until they are
//!   flushed, so a killed process loses them as power loss does.
//! - Settings: `Mode::HighThroughput`; `cache_capacity` as the common budget says, else 1 GiB.
//! - The insert replaces, as `insert` does; the update is `fetch_and_update`.

use std::fs::File;
use std::ops::Bound;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use assay_driver::error::{Error, Result};
use assay_driver::schema::Schema;
use assay_driver::{
    Cache, Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Outcome,
    Parameter, Profile, Storage, Store, Transactions, Work,
};
use sled::{Batch, Db, Mode};

use crate::kv::{Handle, KvConnection};

pub(crate) struct Sled;

const LEVELS: &[Durability] = &[Durability::None, Durability::Periodic, Durability::Commit];
const FLUSH_MS: u64 = 500;
/// sled's default.
const OWN_CACHE_BYTES: u64 = 1 << 30;

static PROFILE: Profile = Profile {
    id: "sled",
    name: "sled",
    about: "lock-free Bw-tree",
    key_kinds: &[KeyKind::Tree],
    levels: &[(Storage::Ramdisk, LEVELS), (Storage::Disk, LEVELS)],
    periodic_survives_kill: false,
    transactions: Transactions::Batches,
    insert_rule: InsertRule::Replaces,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::Concurrent,
    parameters: &[Parameter::CACHE_BYTES],
    keeps_data: true,
};

impl Driver for Sled {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn periodic_interval(&self) -> Option<Duration> {
        Some(Duration::from_millis(FLUSH_MS))
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(env!("ASSAY_VERSION_SLED").into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let interval = (spec.durability == Durability::Periodic).then_some(FLUSH_MS);
        let cache_bytes = spec.cache_bytes.unwrap_or(OWN_CACHE_BYTES);
        let database = sled::Config::default()
            .path(spec.dir())
            .cache_capacity(cache_bytes)
            .mode(Mode::HighThroughput)
            .flush_every_ms(interval)
            .open()
            .map_err(|e| Error::engine("open", e))?;
        let flushing = match spec.durability {
            Durability::Commit => "flush() after every write".into(),
            Durability::Periodic => format!("flush_every_ms({FLUSH_MS})"),
            _ => "flush_every_ms(None)".into(),
        };
        Ok(Box::new(SledStore {
            database,
            lock: spec.dir().join("db"),
            flush: spec.durability == Durability::Commit,
            schema: spec.schema.clone(),
            settings: vec![flushing, "Mode::HighThroughput".into()],
            cache: Cache::Size { size_bytes: cache_bytes, setting: "cache_capacity" },
        }))
    }
}

struct SledStore {
    database: Db,
    /// The file that sled locks.
    lock: PathBuf,
    flush: bool,
    schema: Schema,
    settings: Vec<String>,
    cache: Cache,
}

impl Store for SledStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let handle = SledHandle { database: &self.database, flush: self.flush, batch: None };
        work(&mut KvConnection::new(handle, &self.schema))
    }

    /// Flushes, then waits until the store's lock is free. sled's threads close its files some time
    /// after the last handle is dropped; until then the store cannot be opened again.
    fn close(self: Box<Self>) -> Result<()> {
        self.database.flush().map_err(|e| Error::engine("close", e))?;
        drop(self.database);
        let lock = File::open(self.lock).map_err(|e| Error::engine("close", e))?;
        let patience = Instant::now() + Duration::from_secs(30);
        while let Err(error) = lock.try_lock() {
            if Instant::now() > patience {
                return Err(Error::engine("close", error));
            }
            std::thread::yield_now();
        }
        Ok(())
    }
}

struct SledHandle<'s> {
    database: &'s Db,
    flush: bool,
    batch: Option<Batch>,
}

impl SledHandle<'_> {
    fn written<T>(&self, what: &str, result: sled::Result<T>) -> Result<T> {
        let said = |e| Error::engine(what, e);
        let value = result.map_err(said)?;
        if self.flush {
            self.database.flush().map_err(said)?;
        }
        Ok(value)
    }
}

impl Handle for SledHandle<'_> {
    fn begin(&mut self) -> Result<()> {
        self.batch = Some(Batch::default());
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        match self.batch.take() {
            Some(batch) => self.written("commit", self.database.apply_batch(batch)),
            None => Err(Error::engine("commit", "no batch is open")),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        self.batch = None;
        Ok(())
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome> {
        match &mut self.batch {
            Some(batch) => batch.insert(key, value),
            None => {
                self.written("insert", self.database.insert(key, value))?;
            }
        }
        Ok(Outcome::Done)
    }

    fn get(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome> {
        match self.database.get(key).map_err(|e| Error::engine("get", e))? {
            Some(value) => {
                found(&value);
                Ok(Outcome::Done)
            }
            None => Ok(Outcome::Missing),
        }
    }

    fn modify(&mut self, key: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Result<Outcome> {
        if self.batch.is_some() {
            return Err(Error::unsupported("updates inside a batch"));
        }
        let updated = self.database.fetch_and_update(key, |old| {
            old.map(|old| {
                let mut value = old.to_vec();
                change(&mut value);
                value
            })
        });
        match self.written("update", updated)? {
            Some(_) => Ok(Outcome::Done),
            None => Ok(Outcome::Missing),
        }
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        match &mut self.batch {
            Some(batch) => {
                batch.remove(key);
                Ok(Outcome::Done)
            }
            None => Ok(match self.written("delete", self.database.remove(key))? {
                Some(_) => Outcome::Done,
                None => Outcome::Missing,
            }),
        }
    }

    fn scan(
        &mut self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        mut row: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        for entry in self.database.range::<&[u8], _>((lower, upper)) {
            let (key, value) = entry.map_err(|e| Error::engine("scan", e))?;
            if !row(&key, &value) {
                break;
            }
        }
        Ok(())
    }
}
