//! `rocksdb`: RocksDB through the `rocksdb` crate, the RocksDB sources bundled with it.
//!
//! - Version: RocksDB's own, as the crate names it, with the crate's.
//! - Storage: ramdisk and disk. Keys: tree. Scans. Transactions are batches (`WriteBatch`), which
//!   reads do not see; inside one, updates are not offered, since a batch cannot read.
//! - Levels (RocksDB wiki, "WAL Performance" and "Basic Operations", Synchronous Writes): `none`
//!   is `disableWAL`: the memtable is written when it is full or the store is closed;
//!   `process` is the default: every write is in the log, which is in the page cache when the
//!   write returns; `periodic` adds a `FlushWAL(true)` every 100 ms by a thread of the driver;
//!   `commit` is `sync` with every write, which RocksDB shares among the writers that wait.
//! - Settings (wiki, "Setup Options and Basic Tuning"): a block cache as the common budget says,
//!   else a third of the memory; in it index and filter blocks, those of level 0 pinned; blocks of
//!   16 KiB, or as the parameter `block_size` says; bloom filters of 10 bits a key; LZ4, and ZSTD
//!   for the last level; `bytes_per_sync` of 1 MiB; dynamic level sizes; as many background jobs as
//!   processors. The cache is a HyperClockCache, as `cache.h` recommends. Everything else is the
//!   default, also the format of tables, which is the newest.
//! - Inserts replace and deletes write tombstones without looking, as its own calls do; lookups do
//!   not copy (`GetPinned`), and several are one batched `MultiGet`. RocksDB has no update of a
//!   record: an update reads the value and puts the changed one. With several threads the driver
//!   locks the key for that and for every write to it; 256 locks share the keys.
//! - RocksDB computes CRC32C in software unless the compiler may use SSE4.2
//!   (`RUSTFLAGS=-Ctarget-cpu=native`, or any processor that has it).

use std::ops::Bound;
use std::slice::ChunksExact;
use std::sync::Arc;
use std::time::Duration;

use assay_driver::error::{Error, Result};
use assay_driver::machine;
use assay_driver::schema::Schema;
use assay_driver::{
    Cache, Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Outcome,
    Parameter, Profile, Storage, Store, Transactions, Work,
};
use rocksdb::{
    BlockBasedOptions, Cache as BlockCache, ColumnFamily, DB, DBCompressionType,
    DEFAULT_COLUMN_FAMILY_NAME, Options, ReadOptions, WriteBatch, WriteOptions,
};

use crate::key_locks::KeyLocks;
use crate::kv::{Handle, KvConnection, successor};
use crate::ticker::{INTERVAL, Ticker};

pub(crate) struct RocksDb;

const LEVELS: &[Durability] =
    &[Durability::None, Durability::Process, Durability::Periodic, Durability::Commit];
const BLOCK_SIZE: u64 = 16 << 10;
const BLOCK_SIZE_NAME: &str = "block_size";
const WRITE_BUFFER: &str = "write_buffer_bytes";
const BYTES_PER_SYNC: u64 = 1 << 20;
const BLOOM_BITS: f64 = 10.0;

static PROFILE: Profile = Profile {
    id: "rocksdb",
    name: "RocksDB",
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
        Parameter::bytes(BLOCK_SIZE_NAME, (1 << 10, 1 << 30), "16k", "bytes of a block"),
        Parameter::bytes(
            WRITE_BUFFER,
            (64 << 10, 64 << 30),
            "64m",
            "bytes that are collected in memory before they become a file",
        ),
        Parameter::words(
            "compression",
            &["lz4+zstd", "lz4", "zstd", "none"],
            "of files; lz4+zstd: zstd in the lowest level, lz4 in the others",
        ),
    ],
    keeps_data: true,
};

impl Driver for RocksDb {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn periodic_interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn version(&self) -> std::result::Result<String, String> {
        let bundled = env!("ASSAY_VERSION_LIBROCKSDB_SYS");
        let rocksdb = bundled.split_once('+').map_or(bundled, |(_, rocksdb)| rocksdb);
        Ok(format!("{rocksdb} (rocksdb {})", env!("ASSAY_VERSION_ROCKSDB")))
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let cpus = machine::usable_cpus().len();
        let cache_bytes = spec.cache_bytes.unwrap_or_else(|| machine::usable_memory_bytes() / 3);
        let block_size = spec.bytes(BLOCK_SIZE_NAME)?.unwrap_or(BLOCK_SIZE);
        let write_buffer_bytes = spec.bytes(WRITE_BUFFER)?;
        let mut options = options(spec, cpus, cache_bytes as usize, block_size as usize);
        if let Some(bytes) = write_buffer_bytes {
            options.set_write_buffer_size(bytes as usize);
        }
        let families = [(DEFAULT_COLUMN_FAMILY_NAME, options.clone())];
        let database = DB::open_cf_with_opts(&options, spec.dir(), families)
            .map_err(|e| Error::engine("open", e))?;
        let database = Arc::new(database);
        let syncer = (spec.durability == Durability::Periodic).then(|| {
            let database = Arc::clone(&database);
            Ticker::start(move || {
                database.flush_wal(true).map_err(|e| Error::engine("FlushWAL", e))
            })
        });
        Ok(Box::new(RocksDbStore {
            database,
            key_locks: KeyLocks::new(spec.threads),
            durability: spec.durability,
            cache: Cache::Size { size_bytes: cache_bytes, setting: "HyperClockCache" },
            schema: spec.schema.clone(),
            settings: [
                match spec.durability {
                    Durability::Commit => "WriteOptions::sync".into(),
                    Durability::Periodic => {
                        format!("FlushWAL(true) every {} ms", INTERVAL.as_millis())
                    }
                    Durability::Process => "default writes: the log is not synced".into(),
                    Durability::None => "WriteOptions::disableWAL".into(),
                },
                format!("block_size {block_size}"),
                format!("bloom filter {BLOOM_BITS} bits"),
                "cache_index_and_filter_blocks".into(),
                "pin_l0_filter_and_index_blocks_in_cache".into(),
                compression(spec).0.into(),
                format!("bytes_per_sync {BYTES_PER_SYNC}"),
                format!("max_background_jobs {}", background_jobs(cpus)),
            ]
            .into_iter()
            .chain(write_buffer_bytes.map(|bytes| format!("write_buffer_size {bytes}")))
            .collect(),
            syncer,
        }))
    }
}

/// Returns the number of processors, but at least the default: a flush and a compaction.
fn background_jobs(cpus: usize) -> i32 {
    i32::try_from(cpus).unwrap_or(i32::MAX).max(2)
}

/// Returns the compression of files, in words, of upper levels and of the lowest.
fn compression(spec: &OpenSpec) -> (&'static str, [DBCompressionType; 2]) {
    use DBCompressionType::{Lz4, None, Zstd};
    match spec.parameter("compression") {
        Some("lz4") => ("LZ4", [Lz4, Lz4]),
        Some("zstd") => ("ZSTD", [Zstd, Zstd]),
        Some("none") => ("no compression", [None, None]),
        _ => ("LZ4, bottommost ZSTD", [Lz4, Zstd]),
    }
}

fn options(spec: &OpenSpec, cpus: usize, cache_bytes: usize, block_size: usize) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&BlockCache::new_hyper_clock_cache(cache_bytes, 0));
    table.set_block_size(block_size);
    table.set_bloom_filter(BLOOM_BITS, false);
    table.set_cache_index_and_filter_blocks(true);
    table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    let mut options = Options::default();
    options.create_if_missing(spec.create);
    options.set_block_based_table_factory(&table);
    let (_, [upper, lowest]) = compression(spec);
    options.set_compression_type(upper);
    options.set_bottommost_compression_type(lowest);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_bytes_per_sync(BYTES_PER_SYNC);
    options.set_max_background_jobs(background_jobs(cpus));
    options
}

struct RocksDbStore {
    database: Arc<DB>,
    key_locks: KeyLocks,
    durability: Durability,
    schema: Schema,
    settings: Vec<String>,
    cache: Cache,
    syncer: Option<Ticker>,
}

impl Store for RocksDbStore {
    fn settings(&self) -> Vec<String> {
        let settings = self.settings.iter().cloned();
        settings.chain(self.key_locks.setting()).collect()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let mut write = WriteOptions::default();
        write.set_sync(self.durability == Durability::Commit);
        write.disable_wal(self.durability == Durability::None);
        let family = self
            .database
            .cf_handle(DEFAULT_COLUMN_FAMILY_NAME)
            .ok_or_else(|| Error::engine("connect", "the default column family is not open"))?;
        let handle = RocksDbHandle {
            database: &self.database,
            key_locks: &self.key_locks,
            family,
            write,
            read: ReadOptions::default(),
            batch: None,
            value: Vec::new(),
        };
        work(&mut KvConnection::new(handle, &self.schema))
    }

    fn close(self: Box<Self>) -> Result<()> {
        if let Some(syncer) = self.syncer {
            syncer.stop()?;
        }
        match self.durability {
            Durability::None => self.database.flush(),
            _ => self.database.flush_wal(true),
        }
        .map_err(|e| Error::engine("close", e))?;
        self.database.cancel_all_background_work(true);
        Ok(())
    }
}

struct RocksDbHandle<'s> {
    database: &'s DB,
    key_locks: &'s KeyLocks,
    family: &'s ColumnFamily,
    write: WriteOptions,
    read: ReadOptions,
    batch: Option<WriteBatch>,
    value: Vec<u8>,
}

impl Handle for RocksDbHandle<'_> {
    fn begin(&mut self) -> Result<()> {
        self.batch = Some(WriteBatch::default());
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let Some(batch) = self.batch.take() else {
            return Err(Error::engine("commit", "no batch is open"));
        };
        let _alone = self.key_locks.lock_all();
        self.database.write_opt(batch, &self.write).map_err(|e| Error::engine("commit", e))
    }

    fn rollback(&mut self) -> Result<()> {
        self.batch = None;
        Ok(())
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome> {
        match &mut self.batch {
            Some(batch) => batch.put(key, value),
            None => {
                let _alone = self.key_locks.lock(key);
                self.database
                    .put_opt(key, value, &self.write)
                    .map_err(|e| Error::engine("insert", e))?;
            }
        }
        Ok(Outcome::Done)
    }

    fn get(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome> {
        let value =
            self.database.get_pinned_opt(key, &self.read).map_err(|e| Error::engine("get", e))?;
        match value {
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
        let values = self.database.batched_multi_get_cf_opt(self.family, keys, false, &self.read);
        for (value, at) in values.into_iter().zip(0..) {
            if let Some(value) = value.map_err(|e| Error::engine("get", e))? {
                found(at, &value);
            }
        }
        Ok(())
    }

    fn modify(&mut self, key: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Result<Outcome> {
        if self.batch.is_some() {
            return Err(Error::unsupported("updates inside a batch"));
        }
        let said = |e| Error::engine("update", e);
        let _alone = self.key_locks.lock(key);
        let Some(value) = self.database.get_pinned_opt(key, &self.read).map_err(said)? else {
            return Ok(Outcome::Missing);
        };
        self.value.clear();
        self.value.extend_from_slice(&value);
        drop(value);
        change(&mut self.value);
        self.database.put_opt(key, &self.value, &self.write).map_err(said)?;
        Ok(Outcome::Done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        match &mut self.batch {
            Some(batch) => batch.delete(key),
            None => {
                let _alone = self.key_locks.lock(key);
                self.database
                    .delete_opt(key, &self.write)
                    .map_err(|e| Error::engine("delete", e))?;
            }
        }
        Ok(Outcome::Done)
    }

    fn scan(
        &mut self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        mut row: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let mut read = ReadOptions::default();
        // Its own bounds are the first key that is in and the first that is out.
        match upper {
            Bound::Included(key) => read.set_iterate_upper_bound(successor(key)),
            Bound::Excluded(key) => read.set_iterate_upper_bound(key),
            Bound::Unbounded => {}
        }
        let mut entries = self.database.raw_iterator_opt(read);
        match lower {
            Bound::Included(key) => entries.seek(key),
            Bound::Excluded(key) => entries.seek(successor(key)),
            Bound::Unbounded => entries.seek_to_first(),
        }
        while let Some((key, value)) = entries.item() {
            if !row(key, value) {
                break;
            }
            entries.next();
        }
        entries.status().map_err(|e| Error::engine("scan", e))
    }
}
