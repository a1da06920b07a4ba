//! `mdbx`: libmdbx through signet-libmdbx, the libmdbx sources bundled with it.
//!
//! - Version: libmdbx's, as the binding bundles it, with the binding's.
//! - Storage: ramdisk and disk. Keys: tree. Transactions, scans; one writer next to readers.
//! - Levels (`mdbx.h`, "SYNC MODES"): `process` is `MDBX_UTTERLY_NOSYNC | MDBX_WRITEMAP`: commits
//!   are in the page cache, nothing is synced, and power loss may corrupt the store (LMDB's
//!   `MDB_NOSYNC`, says that page). `periodic` is `MDBX_SAFE_NOSYNC`, which power loss takes back
//!   to the last synced commit, with `MDBX_opt_sync_period` of 100 ms. Without a period, commits
//!   sync whenever they run out of pages to use again. libmdbx looks at the period only when
//!   something is committed, so a thread of the driver syncs as often. The driver also syncs the
//!   empty store, since libmdbx does not: power loss would have no commit to take it back to.
//!   `commit` is `MDBX_SYNC_DURABLE`, the default: every commit syncs its data and its meta page.
//! - Settings: the unnamed table; pages of 4 KiB, the default; the upper size of the map has room
//!   for the expected rows with much to spare, and the file grows in steps that libmdbx chooses.
//! - Transactions are the binding's unsynchronised ones, which it recommends for one thread
//!   each. Reads outside a transaction use one read transaction each, so that every read sees
//!   the latest commit: the binding has no `mdbx_txn_renew`. Lookups of several keys share one.
//! - The binding opens with `MDBX_NOSTICKYTHREADS`. Under it, libmdbx takes a sync by another
//!   thread for one inside the open write transaction, and aborts the process when they meet. So
//!   with several threads, and at `periodic`, writers and syncs take turns by a mutex of the
//!   driver.
//! - The insert is `MDBX_NOOVERWRITE`, the update reads the value and puts the changed one in the
//!   same write transaction. Keys have at most 2,022 bytes; the binding does not check that, and
//!   libmdbx may abort the process, so the driver does.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Bound;
use std::slice::ChunksExact;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_driver::error::{Error, Result};
use assay_driver::schema::{KeyOrder, Schema};
use assay_driver::{
    Cache, Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Outcome,
    Parameter, Profile, Storage, Store, Transactions, Work,
};
use signet_libmdbx::sys::{EnvironmentKind, PageSize};
use signet_libmdbx::tx::Tx;
use signet_libmdbx::tx::aliases::{RoTxUnsync, RwTxUnsync};
use signet_libmdbx::{
    Database, DatabaseFlags, Environment, EnvironmentFlags, Geometry, MdbxError, Mode, ReadResult,
    SyncMode, TransactionKind, WriteFlags,
};

use crate::kv::{Handle, KvConnection};
use crate::ticker::{INTERVAL, Ticker};

pub(crate) struct Mdbx;

const LEVELS: &[Durability] = &[Durability::Process, Durability::Periodic, Durability::Commit];
/// The version of libmdbx that signet-mdbx-sys 0.1 bundles; its `mdbx_version` says the same.
const BUNDLED: &str = "0.13.7";
const PAGE_SIZE: usize = 4096;
/// The result of `mdbx_limits_keysize_max` for pages of [`PAGE_SIZE`].
const MAX_KEY_SIZE: usize = 2022;

static PROFILE: Profile = Profile {
    id: "mdbx",
    name: "libmdbx",
    about: "memory-mapped B+tree, copy-on-write, from LMDB (signet-libmdbx)",
    key_kinds: &[KeyKind::Tree],
    levels: &[(Storage::Ramdisk, LEVELS), (Storage::Disk, LEVELS)],
    periodic_survives_kill: true,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Refuses,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::OneWriter,
    parameters: &[Parameter::bytes(
        "map_bytes",
        (1 << 20, 1 << 46),
        "eight times the records",
        "the map's bytes, which are the most that a store can have",
    )],
    keeps_data: true,
};

impl Driver for Mdbx {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn periodic_interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(format!("{BUNDLED} (signet-libmdbx {})", env!("ASSAY_VERSION_SIGNET_LIBMDBX")))
    }

    fn refusal(&self, schema: &Schema) -> Option<String> {
        let bytes = KeyOrder::new(schema).size();
        (bytes > MAX_KEY_SIZE).then(|| format!("keys of {bytes} bytes; it takes {MAX_KEY_SIZE}"))
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        if let Some(why) = self.refusal(&spec.schema) {
            return Err(Error::unsupported(why));
        }
        let said = |e| Error::engine("open", e);
        let (sync_mode, kind) = match spec.durability {
            Durability::Commit => (SyncMode::Durable, EnvironmentKind::Default),
            Durability::Periodic => (SyncMode::SafeNoSync, EnvironmentKind::Default),
            _ => (SyncMode::UtterlyNoSync, EnvironmentKind::WriteMap),
        };
        let map_size = map_size_bytes(spec)?;
        let mut builder = Environment::builder();
        builder
            .set_geometry(Geometry {
                size: Some(0..map_size),
                page_size: Some(PageSize::Set(PAGE_SIZE)),
                ..Geometry::default()
            })
            .set_flags(EnvironmentFlags {
                mode: Mode::ReadWrite { sync_mode },
                ..EnvironmentFlags::default()
            })
            .set_kind(kind);
        if spec.durability == Durability::Periodic {
            builder.set_sync_period(INTERVAL);
        }
        let env = builder.open(spec.dir()).map_err(said)?;
        let txn = env.begin_rw_unsync().map_err(said)?;
        let database = txn.create_db(None, DatabaseFlags::empty()).map_err(said)?;
        txn.commit().map_err(said)?;
        let periodic = spec.durability == Durability::Periodic;
        if periodic && spec.create {
            // There is nothing yet that libmdbx would sync, and no commit to be taken back to.
            let synced = File::open(spec.dir().join("mdbx.dat")).and_then(|file| file.sync_all());
            synced.map_err(|e| Error::engine("open", e))?;
        }
        let writer = (periodic || spec.threads > 1).then(Arc::<Mutex<()>>::default);
        let syncer = periodic.then(|| {
            let env = env.clone();
            let writer = writer.clone();
            Ticker::start(move || {
                let _turn = turn(writer.as_deref());
                env.sync(true).map(|_| ()).map_err(|e| Error::engine("sync", e))
            })
        });
        Ok(Box::new(MdbxStore {
            env,
            database,
            writer,
            schema: spec.schema.clone(),
            settings: vec![
                match spec.durability {
                    Durability::Commit => "MDBX_SYNC_DURABLE: every commit syncs".into(),
                    Durability::Periodic => {
                        format!(
                            "MDBX_SAFE_NOSYNC, MDBX_opt_sync_period {} ms",
                            INTERVAL.as_millis()
                        )
                    }
                    _ => "MDBX_UTTERLY_NOSYNC | MDBX_WRITEMAP".into(),
                },
                format!("map size at most {} MiB", map_size >> 20),
                if periodic || spec.threads > 1 {
                    "writers and syncs take turns by a mutex".into()
                } else {
                    "one writer".into()
                },
            ],
            syncer,
        }))
    }
}

/// Returns room for every record eight times over, and a gigabyte: for half-filled pages, for pages
/// that wait for a sync, and for copies of pages that a commit leaves until it may use them again.
fn map_size_bytes(spec: &OpenSpec) -> Result<usize> {
    if let Some(bytes) = spec.bytes("map_bytes")? {
        return Ok(bytes.next_multiple_of(1 << 16) as usize);
    }
    let records = spec.expected_rows as usize * (spec.schema.record_size() + 32);
    Ok((records * 8 + (1 << 30)).next_multiple_of(1 << 20))
}

/// Takes the turn to write or to sync. A writer that panicked leaves nothing behind: its
/// transaction is aborted.
fn turn(writer: Option<&Mutex<()>>) -> Option<MutexGuard<'_, ()>> {
    writer.map(|writer| writer.lock().unwrap_or_else(PoisonError::into_inner))
}

struct MdbxStore {
    env: Environment,
    database: Database,
    writer: Option<Arc<Mutex<()>>>,
    schema: Schema,
    settings: Vec<String>,
    syncer: Option<Ticker>,
}

impl Store for MdbxStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        Cache::Mapped
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let handle = MdbxHandle {
            env: &self.env,
            database: self.database,
            writer: self.writer.as_deref(),
            transaction: None,
            value: Vec::new(),
        };
        work(&mut KvConnection::new(handle, &self.schema))
    }

    /// Syncs the store, as `mdbx_env_close` does, but returns the error.
    fn close(self: Box<Self>) -> Result<()> {
        if let Some(syncer) = self.syncer {
            syncer.stop()?;
        }
        self.env.sync(true).map(|_| ()).map_err(|e| Error::engine("close", e))
    }
}

/// A transaction, which ends before its turn does.
type OpenTransaction<'s> = (RwTxUnsync, Option<MutexGuard<'s, ()>>);

struct MdbxHandle<'s> {
    env: &'s Environment,
    database: Database,
    writer: Option<&'s Mutex<()>>,
    transaction: Option<OpenTransaction<'s>>,
    value: Vec<u8>,
}

impl<'s> MdbxHandle<'s> {
    fn open_transaction(&self, what: &str) -> Result<OpenTransaction<'s>> {
        let turn = turn(self.writer);
        let txn = self.env.begin_rw_unsync().map_err(|e| Error::engine(what, e))?;
        Ok((txn, turn))
    }

    fn read_txn(&self, what: &str) -> Result<RoTxUnsync> {
        self.env.begin_ro_unsync().map_err(|e| Error::engine(what, e))
    }

    /// Runs one write in the open transaction, or in a new one.
    fn write<T>(
        &mut self,
        what: &str,
        work: impl FnOnce(&RwTxUnsync, Database, &mut Vec<u8>) -> ReadResult<T>,
    ) -> Result<T> {
        let said = |e| Error::engine(what, e);
        match &self.transaction {
            Some((txn, _)) => {
                work(txn, self.database, &mut self.value).map_err(|e| Error::engine(what, e))
            }
            None => {
                let (txn, _turn) = self.open_transaction(what)?;
                let result = work(&txn, self.database, &mut self.value)
                    .map_err(|e| Error::engine(what, e))?;
                txn.commit().map_err(said)?;
                Ok(result)
            }
        }
    }
}

/// Calls `found` with the value of a key. Returns true if the key has one.
fn look_up<K: TransactionKind>(
    txn: &Tx<K>,
    database: Database,
    key: &[u8],
    found: impl FnOnce(&[u8]),
) -> Result<Outcome> {
    let value: Option<Cow<'_, [u8]>> =
        txn.get(database.dbi(), key).map_err(|e| Error::engine("get", e))?;
    match value {
        Some(value) => {
            found(&value);
            Ok(Outcome::Done)
        }
        None => Ok(Outcome::Missing),
    }
}

fn look_up_many<K: TransactionKind>(
    txn: &Tx<K>,
    database: Database,
    keys: ChunksExact<'_, u8>,
    mut found: impl FnMut(usize, &[u8]),
) -> Result<()> {
    for (key, at) in keys.zip(0..) {
        look_up(txn, database, key, |value| found(at, value))?;
    }
    Ok(())
}

/// Calls `row` with the entries of a range until it returns false.
fn each_in_range<K: TransactionKind>(
    txn: &Tx<K>,
    database: Database,
    lower: Bound<&[u8]>,
    upper: Bound<&[u8]>,
    mut row: impl FnMut(&[u8], &[u8]) -> bool,
) -> ReadResult<()> {
    type Entry<'t> = Option<(Cow<'t, [u8]>, Cow<'t, [u8]>)>;
    let mut cursor = txn.cursor(database)?;
    let mut entry: Entry<'_> = match lower {
        Bound::Included(key) | Bound::Excluded(key) => cursor.set_range(key)?,
        Bound::Unbounded => cursor.first()?,
    };
    if let (Bound::Excluded(key), Some((first, _))) = (lower, &entry)
        && **first == *key
    {
        entry = cursor.next()?;
    }
    while let Some((key, value)) = entry {
        let inside = match upper {
            Bound::Included(upper) => *key <= *upper,
            Bound::Excluded(upper) => *key < *upper,
            Bound::Unbounded => true,
        };
        if !inside || !row(&key, &value) {
            break;
        }
        entry = cursor.next()?;
    }
    Ok(())
}

impl Handle for MdbxHandle<'_> {
    fn begin(&mut self) -> Result<()> {
        self.transaction = Some(self.open_transaction("begin")?);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some((txn, _turn)) => txn.commit().map_err(|e| Error::engine("commit", e)),
            None => Err(Error::engine("commit", "no transaction is open")),
        }
    }

    /// Drops the transaction, which aborts it.
    fn rollback(&mut self) -> Result<()> {
        self.transaction = None;
        Ok(())
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome> {
        self.write("insert", |txn, database, _| {
            match txn.put(database, key, value, WriteFlags::NO_OVERWRITE) {
                Ok(()) => Ok(Outcome::Done),
                Err(MdbxError::KeyExist) => Ok(Outcome::Duplicate),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write("upsert", |txn, database, _| {
            Ok(txn.put(database, key, value, WriteFlags::UPSERT)?)
        })
    }

    fn get(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome> {
        match &self.transaction {
            Some((txn, _)) => look_up(txn, self.database, key, found),
            None => look_up(&self.read_txn("get")?, self.database, key, found),
        }
    }

    fn get_many(
        &mut self,
        keys: ChunksExact<'_, u8>,
        found: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        match &self.transaction {
            Some((txn, _)) => look_up_many(txn, self.database, keys, found),
            None => look_up_many(&self.read_txn("get")?, self.database, keys, found),
        }
    }

    fn modify(&mut self, key: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Result<Outcome> {
        self.write("update", |txn, database, buffer| {
            let Some(value) = txn.get::<Cow<'_, [u8]>>(database.dbi(), key)? else {
                return Ok(Outcome::Missing);
            };
            buffer.clear();
            buffer.extend_from_slice(&value);
            change(buffer);
            txn.put(database, key, buffer, WriteFlags::UPSERT)?;
            Ok(Outcome::Done)
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.write("delete", |txn, database, _| {
            Ok(if txn.del(database, key, None)? { Outcome::Done } else { Outcome::Missing })
        })
    }

    fn scan(
        &mut self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        row: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        match &self.transaction {
            Some((txn, _)) => each_in_range(txn, self.database, lower, upper, row),
            None => each_in_range(&self.read_txn("scan")?, self.database, lower, upper, row),
        }
        .map_err(|e| Error::engine("scan", e))
    }
}
