//! `persy`: a transactional storage engine in one file, copy-on-write with a log, in Rust.
//!
//! - Version: that of the crate.
//! - Storage: memory (its in-memory store), ramdisk, disk. Keys: tree. Transactions, scans; one
//!   operation at a time.
//! - Levels (its documentation of `TransactionConfig` and the README): `commit` is the default: a
//!   transaction syncs before it is prepared, and recovery completes what is prepared; `process`
//!   is `set_background_sync(true)`: a thread of the engine syncs as soon as it can, and what
//!   was committed is in the page cache until then. It states no interval, so this is not
//!   `periodic`. In memory there is `none`.
//! - Settings: an index from bytes to bytes in `ValueMode::Replace`, as its page "Getting started"
//!   keeps data under keys; `change_cache_size` as the common budget says, else a
//!   quarter of the memory instead of 32 MiB (there is no recommendation; with 32 MiB every lookup
//!   in a larger store reads its file).
//! - Concurrent transactions change one index, and the last of them wins: a read and a write
//!   after it are not one change; and now and then a lookup next to a writer misses a record that
//!   is there. So all take turns by a mutex of the driver.
//! - The insert replaces, as that mode does. A delete looks first, in the same transaction: the
//!   engine's own does not return whether there was something. An update reads the value and puts
//!   the changed one. Keys and values have at most 512 KiB.

use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_driver::error::{Error, Result};
use assay_driver::machine;
use assay_driver::schema::Schema;
use assay_driver::{
    Cache, Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Outcome,
    Parameter, Profile, Storage, Store, Transactions, Work,
};
use persy::{ByteVec, Config, OpenOptions, Transaction, TransactionConfig, ValueMode};

use crate::kv::{Handle, KvConnection};

pub(crate) struct Persy;

const LEVELS: &[Durability] = &[Durability::Process, Durability::Commit];
const INDEX: &str = "records";

static PROFILE: Profile = Profile {
    id: "persy",
    name: "Persy",
    about: "copy-on-write B+tree with a log, one file",
    key_kinds: &[KeyKind::Tree],
    levels: &[
        (Storage::Memory, &[Durability::None]),
        (Storage::Ramdisk, LEVELS),
        (Storage::Disk, LEVELS),
    ],
    periodic_survives_kill: true,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Replaces,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::OneWriter,
    parameters: &[Parameter::CACHE_BYTES],
    keeps_data: true,
};

/// The most bytes of a record without its key.
const MOST_PAYLOAD_BYTES: usize = 512 << 10;

impl Driver for Persy {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn refusal(&self, schema: &Schema) -> Option<String> {
        let bytes = schema.payload_size();
        (bytes > MOST_PAYLOAD_BYTES).then(|| {
            format!(
                "records of up to {bytes} bytes without their key; it takes {MOST_PAYLOAD_BYTES}"
            )
        })
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(env!("ASSAY_VERSION_PERSY").into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let cache_bytes = spec.cache_bytes.unwrap_or_else(|| machine::usable_memory_bytes() / 4);
        let mut config = Config::new();
        config.change_cache_size(cache_bytes);
        let mut options = OpenOptions::new();
        options.create(spec.create).config(config).prepare_with(|persy| {
            let mut txn = persy.begin()?;
            txn.create_index::<ByteVec, ByteVec>(INDEX, ValueMode::Replace)?;
            Ok(txn.commit()?)
        });
        let database = match spec.storage {
            Storage::Memory => options.memory().map_err(|e| Error::engine("open", e))?,
            _ => options
                .open(spec.dir().join("store.persy"))
                .map_err(|e| Error::engine("open", e))?,
        };
        Ok(Box::new(PersyStore {
            database,
            background_sync: spec.durability != Durability::Commit,
            writer: Mutex::new(()),
            cache: Cache::Size { size_bytes: cache_bytes, setting: "change_cache_size" },
            schema: spec.schema.clone(),
            settings: vec![
                match spec.durability {
                    Durability::Commit => "transactions sync".into(),
                    Durability::None => "in memory".into(),
                    _ => "set_background_sync(true)".into(),
                },
                "readers and writers take turns by a mutex".into(),
            ],
        }))
    }
}

struct PersyStore {
    database: persy::Persy,
    background_sync: bool,
    writer: Mutex<()>,
    schema: Schema,
    settings: Vec<String>,
    cache: Cache,
}

impl PersyStore {
    /// Takes the turn to read or to write, if no transaction is open.
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for PersyStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let handle = PersyHandle { store: self, transaction: None, value: Vec::new() };
        work(&mut KvConnection::new(handle, &self.schema))
    }

    /// Drops the store; the engine's thread then syncs the commits that wait for it.
    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct PersyHandle<'s> {
    store: &'s PersyStore,
    transaction: Option<(Transaction, MutexGuard<'s, ()>)>,
    value: Vec<u8>,
}

impl<'s> PersyHandle<'s> {
    fn open_transaction(&self, what: &str) -> Result<(Transaction, MutexGuard<'s, ()>)> {
        // A writer that panicked leaves nothing behind: its transaction is rolled back.
        let turn = self.store.turn();
        let config = TransactionConfig::new().set_background_sync(self.store.background_sync);
        let txn = self.store.database.begin_with(config).map_err(|e| Error::engine(what, e))?;
        Ok((txn, turn))
    }

    /// Runs one write in the open transaction, or in a new one.
    fn write(
        &mut self,
        what: &str,
        work: impl FnOnce(&mut Transaction, &mut Vec<u8>) -> Result<Outcome>,
    ) -> Result<Outcome> {
        if let Some((txn, _)) = &mut self.transaction {
            return work(txn, &mut self.value);
        }
        let (mut txn, _turn) = self.open_transaction(what)?;
        let outcome = work(&mut txn, &mut self.value)?;
        if outcome == Outcome::Done {
            txn.commit().map_err(|e| Error::engine(what, e))?;
        }
        Ok(outcome)
    }
}

fn bytes(slice: &[u8]) -> ByteVec {
    ByteVec::new(slice.to_vec())
}

impl Handle for PersyHandle<'_> {
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

    fn rollback(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some((txn, _turn)) => txn.rollback().map_err(|e| Error::engine("rollback", e)),
            None => Ok(()),
        }
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome> {
        self.write("insert", |txn, _| {
            txn.put(INDEX, bytes(key), bytes(value)).map_err(|e| Error::engine("insert", e))?;
            Ok(Outcome::Done)
        })
    }

    fn get(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome> {
        let key = bytes(key);
        let value: Option<ByteVec> = match &mut self.transaction {
            Some((txn, _)) => txn.one(INDEX, &key).map_err(|e| Error::engine("get", e))?,
            None => {
                let _turn = self.store.turn();
                self.store.database.one(INDEX, &key).map_err(|e| Error::engine("get", e))?
            }
        };
        match value {
            Some(value) => {
                found(&value);
                Ok(Outcome::Done)
            }
            None => Ok(Outcome::Missing),
        }
    }

    fn modify(&mut self, key: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Result<Outcome> {
        self.write("update", |txn, buffer| {
            let key = bytes(key);
            let value: Option<ByteVec> =
                txn.one(INDEX, &key).map_err(|e| Error::engine("update", e))?;
            let Some(value) = value else {
                return Ok(Outcome::Missing);
            };
            buffer.clear();
            buffer.extend_from_slice(&value);
            change(buffer);
            txn.put(INDEX, key, bytes(buffer)).map_err(|e| Error::engine("update", e))?;
            Ok(Outcome::Done)
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.write("delete", |txn, _| {
            let key = bytes(key);
            let value: Option<ByteVec> =
                txn.one(INDEX, &key).map_err(|e| Error::engine("delete", e))?;
            if value.is_none() {
                return Ok(Outcome::Missing);
            }
            txn.remove::<ByteVec, ByteVec>(INDEX, key, None)
                .map_err(|e| Error::engine("delete", e))?;
            Ok(Outcome::Done)
        })
    }

    fn scan(
        &mut self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        row: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let range = (lower.map(bytes), upper.map(bytes));
        let said = |e| Error::engine("scan", e);
        match &mut self.transaction {
            Some((txn, _)) => each(txn.range(INDEX, range).map_err(said)?, row),
            None => {
                let _turn = self.store.turn();
                each(self.store.database.range(INDEX, range).map_err(said)?, row);
            }
        }
        Ok(())
    }
}

/// Calls `row` with keys and values until it returns false.
fn each<V: Iterator<Item = ByteVec>>(
    entries: impl Iterator<Item = (ByteVec, V)>,
    mut row: impl FnMut(&[u8], &[u8]) -> bool,
) {
    for (key, mut values) in entries {
        // Each key has one value in this mode.
        if let Some(value) = values.next()
            && !row(&key, &value)
        {
            break;
        }
    }
}
