//! `surrealkv`: a log-structured merge tree in Rust with an asynchronous commit.
//!
//! - Version: that of the crate.
//! - Storage: ramdisk and disk. Keys: tree. Transactions, scans.
//! - Levels (its documentation of `Durability` and `Tree::flush_wal`): `process` is
//!   `Durability::Eventual`, the default: a commit is in the log, in the page cache; `periodic`
//!   adds a `flush_wal(true)` every 100 ms by a thread of the driver; `commit` is
//!   `Durability::Immediate`.
//! - Settings: those that its `autotune` chooses for the machine's processors and memory. The
//!   memtables are parts of a quarter of it, and so is the block cache (half of that quarter, 8 GiB
//!   at most). A common budget for the cache has precedence. Everything else is the default; tables
//!   are not compressed.
//! - The tree lives in a tokio runtime of as many workers as processors, and commits are driven
//!   by `block_on`, since its commits are futures; reads and scans are plain calls. Single writes
//!   are transactions in `Mode::WriteOnly`, lookups in `Mode::ReadOnly`.
//! - Commits of writers that meet at a key fail with a conflict; then the driver starts the
//!   single write again, as its users have to.
//! - The insert replaces, as `set` does, and deletes write tombstones without looking; an update
//!   reads the value and sets the changed one in one transaction.

use std::ops::Bound;
use std::slice::ChunksExact;
use std::sync::Arc;
use std::time::Duration;

use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::machine;
use assay_driver::schema::Schema;
use assay_driver::{
    Cache, Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Outcome,
    Parameter, Profile, Storage, Store, Transactions, Work,
};
use surrealkv::autotune::HardwareProfile;
use surrealkv::{LSMIterator, Mode, ReadOptions, Transaction, Tree, TreeBuilder};
use tokio::runtime::{self, Runtime};

use crate::kv::{Handle, KvConnection, successor};
use crate::ticker::{INTERVAL, Ticker};

pub(crate) struct SurrealKv;

const LEVELS: &[Durability] = &[Durability::Process, Durability::Periodic, Durability::Commit];

static PROFILE: Profile = Profile {
    id: "surrealkv",
    name: "SurrealKV",
    about: "log-structured merge tree, asynchronous",
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

impl Driver for SurrealKv {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn periodic_interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(env!("ASSAY_VERSION_SURREALKV").into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let cpus = machine::usable_cpus().len();
        let memory_bytes = machine::usable_memory_bytes();
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(cpus.max(1))
            .enable_all()
            .build()
            .map_err(|e| Error::engine("start the runtime", e))?;
        let mut options = HardwareProfile { cpu_cores: cpus, total_ram_bytes: memory_bytes }
            .tune_options(surrealkv::Options::new().with_path(spec.dir().to_path_buf()));
        if let Some(cache_bytes) = spec.cache_bytes {
            options = options.with_block_cache_capacity(cache_bytes);
        }
        let memtable_bytes = options.max_memtable_size;
        let tree = runtime
            .block_on(async { TreeBuilder::with_options(options).build() })
            .map_err(|e| Error::engine("open", e))?;
        let tree = Arc::new(tree);
        let syncer = (spec.durability == Durability::Periodic).then(|| {
            let tree = Arc::clone(&tree);
            Ticker::start(move || tree.flush_wal(true).map_err(|e| Error::engine("flush_wal", e)))
        });
        let durability = match spec.durability {
            Durability::Commit => surrealkv::Durability::Immediate,
            _ => surrealkv::Durability::Eventual,
        };
        Ok(Box::new(SurrealKvStore {
            tree,
            runtime,
            durability,
            cache: spec.cache_bytes.map_or(Cache::Default, |size_bytes| Cache::Size {
                size_bytes,
                setting: "with_block_cache_capacity",
            }),
            schema: spec.schema.clone(),
            settings: vec![
                match spec.durability {
                    Durability::Commit => "Durability::Immediate".into(),
                    Durability::Periodic => format!(
                        "Durability::Eventual, flush_wal(true) every {} ms",
                        INTERVAL.as_millis()
                    ),
                    _ => "Durability::Eventual".into(),
                },
                format!("autotune for {} MiB", memory_bytes >> 20),
                format!("max_memtable_size {} MiB", memtable_bytes >> 20),
                format!("tokio, {} workers", cpus.max(1)),
            ],
            syncer,
        }))
    }
}

struct SurrealKvStore {
    tree: Arc<Tree>,
    runtime: Runtime,
    durability: surrealkv::Durability,
    schema: Schema,
    settings: Vec<String>,
    cache: Cache,
    syncer: Option<Ticker>,
}

impl Store for SurrealKvStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let handle = SurrealKvHandle { store: self, transaction: None };
        work(&mut KvConnection::new(handle, &self.schema))
    }

    fn close(self: Box<Self>) -> Result<()> {
        if let Some(syncer) = self.syncer {
            syncer.stop()?;
        }
        let said = |e| Error::engine("close", e);
        self.tree.flush_wal(true).map_err(said)?;
        self.runtime.block_on(self.tree.close()).map_err(said)
    }
}

/// Returns an error of the engine, or that its transaction met another.
fn said(what: &str) -> impl Fn(surrealkv::Error) -> Error {
    move |error| match error {
        surrealkv::Error::TransactionWriteConflict => {
            Error::new(ErrorKind::Conflict, format!("{what}: {error}"))
        }
        _ => Error::engine(what, error),
    }
}

struct SurrealKvHandle<'s> {
    store: &'s SurrealKvStore,
    transaction: Option<Transaction>,
}

impl SurrealKvHandle<'_> {
    fn transaction(&self, what: &str, mode: Mode) -> Result<Transaction> {
        let txn = self.store.tree.begin_with_mode(mode).map_err(|e| Error::engine(what, e))?;
        Ok(txn.with_durability(self.store.durability))
    }

    /// Runs one write in the open transaction, or in a new one, which starts again after a
    /// conflict.
    fn write(
        &mut self,
        what: &str,
        mode: Mode,
        mut work: impl FnMut(&mut Transaction) -> surrealkv::Result<Outcome>,
    ) -> Result<Outcome> {
        let said = said(what);
        if let Some(txn) = &mut self.transaction {
            return work(txn).map_err(&said);
        }
        loop {
            let mut txn = self.transaction(what, mode)?;
            let outcome = work(&mut txn).map_err(&said)?;
            match self.store.runtime.block_on(txn.commit()) {
                Ok(()) => return Ok(outcome),
                Err(surrealkv::Error::TransactionWriteConflict) => {}
                Err(error) => return Err(said(error)),
            }
        }
    }

    /// Starts a read transaction, unless a transaction is open, which reads its own writes.
    fn own_read_txn(&self, what: &str) -> Result<Option<Transaction>> {
        match self.transaction {
            Some(_) => Ok(None),
            None => self.transaction(what, Mode::ReadOnly).map(Some),
        }
    }

    fn read_txn<'t>(&'t self, own: Option<&'t Transaction>) -> &'t Transaction {
        match (&self.transaction, own) {
            (Some(open), _) => open,
            (None, Some(own)) => own,
            (None, None) => unreachable!("there is one of the two"),
        }
    }
}

impl Handle for SurrealKvHandle<'_> {
    fn begin(&mut self) -> Result<()> {
        self.transaction = Some(self.transaction("begin", Mode::ReadWrite)?);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(mut txn) => self.store.runtime.block_on(txn.commit()).map_err(said("commit")),
            None => Err(Error::engine("commit", "no transaction is open")),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        if let Some(mut txn) = self.transaction.take() {
            txn.rollback();
        }
        Ok(())
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome> {
        self.write("insert", Mode::WriteOnly, |txn| txn.set(key, value).map(|()| Outcome::Done))
    }

    fn get(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome> {
        let own = self.own_read_txn("get")?;
        let txn = self.read_txn(own.as_ref());
        match txn.get(key).map_err(|e| Error::engine("get", e))? {
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
        let own = self.own_read_txn("get")?;
        let txn = self.read_txn(own.as_ref());
        for (key, at) in keys.zip(0..) {
            if let Some(value) = txn.get(key).map_err(|e| Error::engine("get", e))? {
                found(at, &value);
            }
        }
        Ok(())
    }

    fn modify(&mut self, key: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Result<Outcome> {
        self.write("update", Mode::ReadWrite, |txn| {
            let Some(mut value) = txn.get(key)? else {
                return Ok(Outcome::Missing);
            };
            change(&mut value);
            txn.set(key, value)?;
            Ok(Outcome::Done)
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.write("delete", Mode::WriteOnly, |txn| txn.delete(key).map(|()| Outcome::Done))
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
        // Its own bounds are the first key that is in and the first that is out.
        let mut options = ReadOptions::new();
        options.set_iterate_lower_bound(match lower {
            Bound::Included(key) => Some(key.to_vec()),
            Bound::Excluded(key) => Some(successor(key)),
            Bound::Unbounded => None,
        });
        options.set_iterate_upper_bound(match upper {
            Bound::Included(key) => Some(successor(key)),
            Bound::Excluded(key) => Some(key.to_vec()),
            Bound::Unbounded => None,
        });
        let mut entries = txn.range_with_options(&options).map_err(said)?;
        entries.seek_first().map_err(said)?;
        while entries.valid() {
            let value = entries.value_ref().map_err(said)?;
            if !row(entries.key().user_key(), &value) {
                break;
            }
            drop(value);
            entries.next().map_err(said)?;
        }
        Ok(())
    }
}
