//! `leveldb`: LevelDB through the C interface of the system's shared library.
//!
//! - Version: the library's own, major and minor, as it reports it.
//! - Storage: ramdisk and disk. Keys: tree. Scans. Transactions are batches (`WriteBatch`), which
//!   reads do not see; inside one, updates are not offered, since a batch cannot read.
//! - Levels (`doc/index.md`, "Synchronous Writes"): `process` is the default: a write is in the
//!   log, in the page cache, when it returns; `commit` is `WriteOptions::sync`. There is no
//!   `periodic`: a log that was full is not synced by a later write.
//! - Settings (`doc/index.md`, "Performance"): a bloom filter of 10 bits a key, as "Filters"
//!   recommends for random reads; a block cache as the common budget says, else a quarter of
//!   the memory ("Cache" gives no size). Everything else is the default: blocks of 4 KiB (or as the
//!   parameter `block_size` says), a write buffer of 4 MiB, Snappy.
//! - Inserts replace and deletes write tombstones without looking, as its own calls do. LevelDB has
//!   no update of a record: an update reads the value and puts the changed one. With several
//!   threads the driver locks the key for that and for every write to it; 256 locks share the keys.

#![allow(unsafe_code)]

mod library;
mod objects;

use std::ffi::CString;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;

use assay_driver::error::{Error, Result};
use assay_driver::machine;
use assay_driver::schema::Schema;
use assay_driver::{
    Cache, Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Outcome,
    Parameter, Profile, Storage, Store, Transactions, Work,
};
use library::library;
use objects::{Batch, Database, Entries, ReadOptions, WriteOptions};

use crate::key_locks::KeyLocks;
use crate::kv::{Handle, KvConnection, successor};

pub(crate) struct LevelDb;

const LEVELS: &[Durability] = &[Durability::Process, Durability::Commit];
const BLOCK_SIZE: u64 = 4 << 10;
const BLOCK_SIZE_NAME: &str = "block_size";
const BLOOM_BITS: i32 = 10;

static PROFILE: Profile = Profile {
    id: "leveldb",
    name: "LevelDB",
    about: "log-structured merge tree in C++",
    key_kinds: &[KeyKind::Tree],
    levels: &[(Storage::Ramdisk, LEVELS), (Storage::Disk, LEVELS)],
    periodic_survives_kill: true,
    transactions: Transactions::Batches,
    insert_rule: InsertRule::Replaces,
    delete_rule: DeleteRule::Silent,
    concurrency: Concurrency::Concurrent,
    parameters: &[
        Parameter::CACHE_BYTES,
        Parameter::bytes(BLOCK_SIZE_NAME, (1 << 10, 4 << 20), "4k", "bytes of a block"),
    ],
    keeps_data: true,
};

impl Driver for LevelDb {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn version(&self) -> std::result::Result<String, String> {
        let library = library()?;
        // SAFETY: these take nothing and read constants.
        let (major, minor) = unsafe { ((library.major_version)(), (library.minor_version)()) };
        Ok(format!("{major}.{minor}"))
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let said = |e: &dyn std::fmt::Display| Error::engine("open", e);
        let library = library().map_err(|e| said(&e))?;
        let path = CString::new(spec.dir().as_os_str().as_bytes()).map_err(|e| said(&e))?;
        let block_size = spec.bytes(BLOCK_SIZE_NAME)?.unwrap_or(BLOCK_SIZE);
        let cache_bytes = spec.cache_bytes.unwrap_or_else(|| machine::usable_memory_bytes() / 4);
        let database = Database::open(
            library,
            &path,
            spec.create,
            cache_bytes as usize,
            block_size as usize,
            BLOOM_BITS,
        )
        .map_err(|e| said(&e))?;
        Ok(Box::new(LevelDbStore {
            database,
            key_locks: KeyLocks::new(spec.threads),
            sync: spec.durability == Durability::Commit,
            cache: Cache::Size { size_bytes: cache_bytes, setting: "block_cache" },
            schema: spec.schema.clone(),
            settings: vec![
                match spec.durability {
                    Durability::Commit => "WriteOptions::sync".into(),
                    _ => "default writes: the log is not synced".into(),
                },
                format!("block_size {block_size}"),
                format!("bloom filter {BLOOM_BITS} bits"),
            ],
        }))
    }
}

struct LevelDbStore {
    database: Database,
    key_locks: KeyLocks,
    sync: bool,
    schema: Schema,
    settings: Vec<String>,
    cache: Cache,
}

impl Store for LevelDbStore {
    fn settings(&self) -> Vec<String> {
        let settings = self.settings.iter().cloned();
        settings.chain(self.key_locks.setting()).collect()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let handle = LevelDbHandle {
            database: &self.database,
            key_locks: &self.key_locks,
            read: self.database.read_options(),
            write: self.database.write_options(self.sync),
            batch: self.database.batch(),
            in_batch: false,
            value: Vec::new(),
        };
        work(&mut KvConnection::new(handle, &self.schema))
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct LevelDbHandle<'s> {
    database: &'s Database,
    key_locks: &'s KeyLocks,
    read: ReadOptions,
    write: WriteOptions,
    batch: Batch,
    in_batch: bool,
    value: Vec<u8>,
}

impl Handle for LevelDbHandle<'_> {
    fn begin(&mut self) -> Result<()> {
        self.batch.clear();
        self.in_batch = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.in_batch) {
            return Err(Error::engine("commit", "no batch is open"));
        }
        let _alone = self.key_locks.lock_all();
        self.database.write(&self.write, &mut self.batch).map_err(|e| Error::engine("commit", e))
    }

    fn rollback(&mut self) -> Result<()> {
        self.in_batch = false;
        Ok(())
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome> {
        if self.in_batch {
            self.batch.put(key, value)
        } else {
            let _alone = self.key_locks.lock(key);
            self.database.put(&self.write, key, value).map_err(|e| Error::engine("insert", e))?;
        }
        Ok(Outcome::Done)
    }

    fn get(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome> {
        match self.database.get(&self.read, key).map_err(|e| Error::engine("get", e))? {
            Some(value) => {
                found(&value);
                Ok(Outcome::Done)
            }
            None => Ok(Outcome::Missing),
        }
    }

    fn modify(&mut self, key: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Result<Outcome> {
        if self.in_batch {
            return Err(Error::unsupported("updates inside a batch"));
        }
        let said = |e| Error::engine("update", e);
        let _alone = self.key_locks.lock(key);
        let Some(value) = self.database.get(&self.read, key).map_err(said)? else {
            return Ok(Outcome::Missing);
        };
        self.value.clear();
        self.value.extend_from_slice(&value);
        change(&mut self.value);
        self.database.put(&self.write, key, &self.value).map_err(said)?;
        Ok(Outcome::Done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        if self.in_batch {
            self.batch.delete(key)
        } else {
            let _alone = self.key_locks.lock(key);
            self.database.delete(&self.write, key).map_err(|e| Error::engine("delete", e))?;
        }
        Ok(Outcome::Done)
    }

    fn scan(
        &mut self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        mut row: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let mut entries: Entries<'_> = self.database.entries(&self.read);
        match lower {
            Bound::Included(key) => entries.seek(key),
            Bound::Excluded(key) => entries.seek(&successor(key)),
            Bound::Unbounded => entries.seek_to_first(),
        }
        while let Some((key, value)) = entries.item() {
            let inside = match upper {
                Bound::Included(upper) => key <= upper,
                Bound::Excluded(upper) => key < upper,
                Bound::Unbounded => true,
            };
            if !inside || !row(key, value) {
                break;
            }
            entries.next();
        }
        entries.status().map_err(|e| Error::engine("scan", e))
    }
}
