//! `lmdb`: LMDB through heed, the LMDB sources bundled with it.
//!
//! - Version: LMDB's own, as it reports it, with heed's.
//! - Storage: ramdisk and disk. Keys: tree. Transactions, scans; one writer next to readers.
//! - Levels (LMDB's documentation of `mdb_env_open` describes each flag): `process` is `NOSYNC |
//!   WRITEMAP | MAPASYNC`: commits are in the page cache, nothing is synced, and power loss may
//!   corrupt the store. `periodic` is `NOMETASYNC`: a commit syncs its data, and the commit after
//!   it the meta page. Power loss costs at most the last commit and keeps the store whole. `commit`
//!   is the default flags: every commit syncs both.
//! - Settings: the unnamed database; the map is sized for the expected rows with room to spare
//!   (a sparse file, so it costs no space); reads outside a transaction use one read
//!   transaction each, so that every read sees the latest commit.
//! - heed has no `mdb_txn_renew`, which LMDB's documentation recommends for read transactions
//!   of one lookup each; what starting and ending them takes was some 7 % of a lookup in
//!   100,000 rows. Lookups of several keys share one.
//! - The insert is `MDB_NOOVERWRITE`, the update reads the value and puts the changed one in
//!   the same write transaction. Keys have at most 511 bytes.

#![allow(unsafe_code)]

use std::ops::Bound;
use std::slice::ChunksExact;

use assay_driver::error::{Error, Result};
use assay_driver::schema::{KeyOrder, Schema};
use assay_driver::{
    Cache, Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Outcome,
    Parameter, Profile, Storage, Store, Transactions, Work,
};
use heed::types::Bytes;
use heed::{
    CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, MdbError, PutFlags, RoTxn, RwTxn,
    WithTls,
};

use crate::kv::{Handle, KvConnection};

pub(crate) struct Lmdb;

/// LMDB's `MDB_MAXKEYSIZE`, as it is compiled.
const MOST_KEY_BYTES: usize = 511;

const LEVELS: &[Durability] = &[Durability::Process, Durability::Periodic, Durability::Commit];

static PROFILE: Profile = Profile {
    id: "lmdb",
    name: "LMDB",
    about: "memory-mapped B+tree, copy-on-write (heed)",
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

impl Driver for Lmdb {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn stronger(&self, level: Durability) -> Option<&'static str> {
        (level == Durability::Periodic).then_some("every commit syncs its data")
    }

    fn version(&self) -> std::result::Result<String, String> {
        let lmdb = heed::lmdb_version();
        Ok(format!(
            "{}.{}.{} (heed {})",
            lmdb.major,
            lmdb.minor,
            lmdb.patch,
            env!("ASSAY_VERSION_HEED")
        ))
    }

    fn refusal(&self, schema: &Schema) -> Option<String> {
        let bytes = KeyOrder::new(schema).size();
        (bytes > MOST_KEY_BYTES)
            .then(|| format!("keys of {bytes} bytes; it takes {MOST_KEY_BYTES}"))
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        if let Some(why) = self.refusal(&spec.schema) {
            return Err(Error::unsupported(why));
        }
        let flags = match spec.durability {
            Durability::Commit => EnvFlags::empty(),
            Durability::Periodic => EnvFlags::NO_META_SYNC,
            _ => EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP | EnvFlags::MAP_ASYNC,
        };
        let map_size = map_size_bytes(spec)?;
        // SAFETY: no other environment of this process or another has these files open: the
        // directory belongs to this worker. The flags trade durability, as their level says.
        let env = unsafe {
            EnvOpenOptions::new()
                .map_size(map_size)
                .max_readers(spec.threads + READERS_BESIDE)
                .flags(flags)
                .open(spec.dir())
        }
        .map_err(|e| Error::engine("open", e))?;
        Ok(Box::new(LmdbStore {
            env,
            schema: spec.schema.clone(),
            settings: vec![
                match spec.durability {
                    Durability::Commit => "default flags: every commit syncs".into(),
                    Durability::Periodic => "MDB_NOMETASYNC: every commit syncs its data".into(),
                    _ => "MDB_NOSYNC | MDB_WRITEMAP | MDB_MAPASYNC".into(),
                },
                format!("map size {} MiB", map_size >> 20),
            ],
        }))
    }
}

/// Readers that are not a suite's threads: LMDB's default for all.
const READERS_BESIDE: u32 = 126;

/// Returns room for every record eight times over, and a gigabyte. Pages are half filled, and a
/// commit leaves copies of pages until it may use them again.
fn map_size_bytes(spec: &OpenSpec) -> Result<usize> {
    if let Some(bytes) = spec.bytes("map_bytes")? {
        return Ok(bytes.next_multiple_of(1 << 16) as usize);
    }
    let records = spec.expected_rows as usize * (spec.schema.record_size() + 32);
    Ok((records * 8 + (1 << 30)).next_multiple_of(1 << 20))
}

struct LmdbStore {
    env: Env,
    schema: Schema,
    settings: Vec<String>,
}

impl Store for LmdbStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        Cache::Mapped
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let said = |e| Error::engine("open the database", e);
        let txn = self.env.write_txn().map_err(said)?;
        let database = self
            .env
            .create_databases_and_commit(txn, |opener, txn| {
                opener
                    .create_database::<Bytes, Bytes>(txn, None)
                    .map(CommitOrAbort::<_, ()>::Commit)
            })
            .map_err(said)?
            .unwrap_commit();
        let handle = LmdbHandle {
            env: &self.env,
            database,
            transaction: None,
            value: Vec::with_capacity(self.schema.payload_size()),
        };
        work(&mut KvConnection::new(handle, &self.schema))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.env.prepare_for_closing().wait();
        Ok(())
    }
}

/// Payloads by keys, both packed.
type Records<'e> = Database<'e, Bytes, Bytes>;

struct LmdbHandle<'e> {
    env: &'e Env,
    database: Records<'e>,
    transaction: Option<RwTxn<'e>>,
    value: Vec<u8>,
}

impl<'e> LmdbHandle<'e> {
    /// Runs one write in the open transaction, or in a new one.
    fn write<T>(
        &mut self,
        what: &str,
        work: impl FnOnce(&Records<'e>, &mut RwTxn<'e>, &mut Vec<u8>) -> heed::Result<T>,
    ) -> Result<T> {
        let said = |e| Error::engine(what, e);
        match &mut self.transaction {
            Some(txn) => work(&self.database, txn, &mut self.value).map_err(said),
            None => {
                let mut txn = self.env.write_txn().map_err(said)?;
                let result = work(&self.database, &mut txn, &mut self.value).map_err(said)?;
                txn.commit().map_err(said)?;
                Ok(result)
            }
        }
    }
}

impl LmdbHandle<'_> {
    /// Starts a read transaction, unless a write transaction is open, which reads its own writes.
    fn own_read_txn(&self, what: &str) -> Result<Option<RoTxn<'_, WithTls>>> {
        match self.transaction {
            Some(_) => Ok(None),
            None => self.env.read_txn().map(Some).map_err(|e| Error::engine(what, e)),
        }
    }

    fn read_txn<'t>(&'t self, own: Option<&'t RoTxn<'_, WithTls>>) -> &'t RoTxn<'t> {
        match (&self.transaction, own) {
            (Some(open), _) => open,
            (None, Some(own)) => own,
            (None, None) => unreachable!("there is one of the two"),
        }
    }
}

impl Handle for LmdbHandle<'_> {
    fn begin(&mut self) -> Result<()> {
        self.transaction = Some(self.env.write_txn().map_err(|e| Error::engine("begin", e))?);
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
            txn.abort();
        }
        Ok(())
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome> {
        self.write("insert", |database, txn, _| {
            match database.put_with_flags(txn, PutFlags::NO_OVERWRITE, key, value) {
                Ok(()) => Ok(Outcome::Done),
                Err(heed::Error::Mdb(MdbError::KeyExist)) => Ok(Outcome::Duplicate),
                Err(error) => Err(error),
            }
        })
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write("upsert", |database, txn, _| database.put(txn, key, value))
    }

    fn get(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome> {
        let own = self.own_read_txn("get")?;
        let txn = self.read_txn(own.as_ref());
        match self.database.get(txn, key).map_err(|e| Error::engine("get", e))? {
            Some(value) => {
                found(value);
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
        let own = self.own_read_txn("get")?;
        let txn = self.read_txn(own.as_ref());
        for (key, at) in keys.zip(0..) {
            if let Some(value) = self.database.get(txn, key).map_err(|e| Error::engine("get", e))? {
                found(at, value);
            }
        }
        Ok(())
    }

    fn modify(&mut self, key: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Result<Outcome> {
        self.write("update", |database, txn, buffer| {
            let Some(value) = database.get(txn, key)? else {
                return Ok(Outcome::Missing);
            };
            buffer.clear();
            buffer.extend_from_slice(value);
            change(buffer);
            database.put(txn, key, buffer)?;
            Ok(Outcome::Done)
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.write("delete", |database, txn, _| {
            Ok(if database.delete(txn, key)? { Outcome::Done } else { Outcome::Missing })
        })
    }

    fn scan(
        &mut self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        mut row: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let said = |e| Error::engine("scan", e);
        let own = self.own_read_txn("scan")?;
        let txn = self.read_txn(own.as_ref());
        for entry in self.database.range(txn, &(lower, upper)).map_err(said)? {
            let (key, value) = entry.map_err(said)?;
            if !row(key, value) {
                break;
            }
        }
        Ok(())
    }
}
