//! `canopydb`: a B+tree with a write-ahead log in Rust.
//!
//! - Version: that of the crate.
//! - Storage: ramdisk and disk. Keys: tree. Transactions, scans; one writer next to readers.
//! - Levels (its documentation of `DbOptions` and `EnvOptions`): `none` is `use_wal = false`:
//!   commits reach the file with the checkpoints that run in the background; `process` is the
//!   default: every commit is in the log, in the page cache; `periodic` lets it sync the log every
//!   100 ms (`wal_background_sync_interval`); `commit` is `default_commit_sync`.
//! - Settings: `page_cache_size` as the common budget says, else 1 GiB; the default
//!   checkpoints of 64 MiB.
//! - Write transactions are the exclusive ones, which its documentation of `WriteTransaction`
//!   finds cheaper; several threads take turns at them. In a transaction of several writes the
//!   tree stays open between them.
//! - The insert replaces, as `Tree::insert` does; an update reads the value and inserts the
//!   changed one in the same transaction.

use std::ops::Bound;
use std::slice::ChunksExact;
use std::time::Duration;

use assay_driver::error::{Error, Result};
use assay_driver::schema::Schema;
use assay_driver::{
    Cache, Concurrency, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec, Outcome,
    Parameter, Profile, Storage, Store, Transactions, Work,
};
use canopydb::{Database, DbOptions, EnvOptions, ReadTransaction, Tree, WriteTransaction};
use self_cell::self_cell;

use crate::kv::{Handle, KvConnection};

pub(crate) struct CanopyDb;

const LEVELS: &[Durability] =
    &[Durability::None, Durability::Process, Durability::Periodic, Durability::Commit];
const TREE: &[u8] = b"records";
/// The interval of its own syncs at `periodic`.
const INTERVAL: Duration = Duration::from_millis(100);

static PROFILE: Profile = Profile {
    id: "canopydb",
    name: "Canopydb",
    about: "B+tree with a write-ahead log",
    key_kinds: &[KeyKind::Tree],
    levels: &[(Storage::Ramdisk, LEVELS), (Storage::Disk, LEVELS)],
    periodic_survives_kill: true,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Replaces,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::OneWriter,
    parameters: &[Parameter::CACHE_BYTES],
    keeps_data: true,
};

impl Driver for CanopyDb {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn periodic_interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(env!("ASSAY_VERSION_CANOPYDB").into())
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let said = |e| Error::engine("open", e);
        let mut environment = EnvOptions::new(spec.dir());
        environment.wal_background_sync_interval =
            (spec.durability == Durability::Periodic).then_some(INTERVAL);
        if let Some(cache_bytes) = spec.cache_bytes {
            environment.page_cache_size = cache_bytes as usize;
        }
        let cache_bytes = environment.page_cache_size as u64;
        let mut options = DbOptions::new();
        options.use_wal = spec.durability != Durability::None;
        options.default_commit_sync = spec.durability == Durability::Commit;
        let database = Database::with_options(environment, options).map_err(said)?;
        // The tree exists from here on; reads expect it.
        let txn = database.begin_write().map_err(said)?;
        txn.get_or_create_tree(TREE).map_err(said)?;
        txn.commit().map_err(said)?;
        Ok(Box::new(CanopyDbStore {
            database,
            logged: spec.durability != Durability::None,
            cache: Cache::Size { size_bytes: cache_bytes, setting: "page_cache_size" },
            schema: spec.schema.clone(),
            settings: vec![match spec.durability {
                Durability::Commit => "default_commit_sync".into(),
                Durability::Periodic => {
                    format!("wal_background_sync_interval {} ms", INTERVAL.as_millis())
                }
                Durability::Process => "commits are logged, not synced".into(),
                Durability::None => "use_wal = false".into(),
            }],
        }))
    }
}

struct CanopyDbStore {
    database: Database,
    logged: bool,
    schema: Schema,
    settings: Vec<String>,
    cache: Cache,
}

impl Store for CanopyDbStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let handle =
            CanopyDbHandle { database: &self.database, transaction: None, value: Vec::new() };
        work(&mut KvConnection::new(handle, &self.schema))
    }

    fn close(self: Box<Self>) -> Result<()> {
        let closed = if self.logged { self.database.sync() } else { self.database.checkpoint() };
        closed.map_err(|e| Error::engine("close", e))
    }
}

self_cell!(
    /// A transaction with its tree open, so that a write need not open it.
    struct OpenTransaction {
        owner: WriteTransaction,
        #[not_covariant]
        dependent: Tree,
    }
);

struct CanopyDbHandle<'s> {
    database: &'s Database,
    transaction: Option<OpenTransaction>,
    value: Vec<u8>,
}

impl CanopyDbHandle<'_> {
    fn read_txn(&self, what: &str) -> Result<ReadTransaction> {
        self.database.begin_read().map_err(|e| Error::engine(what, e))
    }

    /// Runs one write in the open transaction, or in a new one.
    fn write<T>(
        &mut self,
        what: &str,
        work: impl FnOnce(&mut Tree<'_>, &mut Vec<u8>) -> std::result::Result<T, canopydb::Error>,
    ) -> Result<T> {
        let said = |e| Error::engine(what, e);
        let value = &mut self.value;
        if let Some(open) = &mut self.transaction {
            return open.with_dependent_mut(|_, tree| work(tree, value)).map_err(said);
        }
        let txn = self.database.begin_write().map_err(said)?;
        let mut tree = txn.get_or_create_tree(TREE).map_err(said)?;
        let result = work(&mut tree, value).map_err(said)?;
        drop(tree);
        txn.commit().map_err(said)?;
        Ok(result)
    }
}

fn tree_of(txn: &ReadTransaction) -> Result<Tree<'_>> {
    txn.get_tree(TREE)
        .map_err(|e| Error::engine("open the tree", e))?
        .ok_or_else(|| Error::engine("open the tree", "it is not there"))
}

fn look_up(tree: &Tree<'_>, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome> {
    match tree.get(key).map_err(|e| Error::engine("get", e))? {
        Some(value) => {
            found(&value);
            Ok(Outcome::Done)
        }
        None => Ok(Outcome::Missing),
    }
}

fn look_up_many(
    tree: &Tree<'_>,
    keys: ChunksExact<'_, u8>,
    mut found: impl FnMut(usize, &[u8]),
) -> Result<()> {
    for (key, at) in keys.zip(0..) {
        look_up(tree, key, |value| found(at, value))?;
    }
    Ok(())
}

/// Calls `row` with the entries of a range until it returns false.
fn each_in_range(
    tree: &Tree<'_>,
    bounds: (Bound<&[u8]>, Bound<&[u8]>),
    mut row: impl FnMut(&[u8], &[u8]) -> bool,
) -> Result<()> {
    let said = |e| Error::engine("scan", e);
    for entry in tree.range::<&[u8]>(bounds).map_err(said)? {
        let (key, value) = entry.map_err(said)?;
        if !row(&key, &value) {
            break;
        }
    }
    Ok(())
}

impl Handle for CanopyDbHandle<'_> {
    fn begin(&mut self) -> Result<()> {
        let said = |e| Error::engine("begin", e);
        let txn = self.database.begin_write().map_err(said)?;
        let open = OpenTransaction::try_new(txn, |txn| txn.get_or_create_tree(TREE));
        self.transaction = Some(open.map_err(said)?);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(open) => {
                open.into_owner().commit().map(|_| ()).map_err(|e| Error::engine("commit", e))
            }
            None => Err(Error::engine("commit", "no transaction is open")),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(open) => open.into_owner().rollback().map_err(|e| Error::engine("rollback", e)),
            None => Ok(()),
        }
    }

    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome> {
        self.write("insert", |tree, _| tree.insert(key, value).map(|()| Outcome::Done))
    }

    fn get(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome> {
        match &self.transaction {
            Some(open) => open.with_dependent(|_, tree| look_up(tree, key, found)),
            None => look_up(&tree_of(&self.read_txn("get")?)?, key, found),
        }
    }

    fn get_many(
        &mut self,
        keys: ChunksExact<'_, u8>,
        found: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        match &self.transaction {
            Some(open) => open.with_dependent(|_, tree| look_up_many(tree, keys, found)),
            None => look_up_many(&tree_of(&self.read_txn("get")?)?, keys, found),
        }
    }

    fn modify(&mut self, key: &[u8], mut change: impl FnMut(&mut Vec<u8>)) -> Result<Outcome> {
        self.write("update", |tree, buffer| {
            match tree.get(key)? {
                Some(value) => {
                    buffer.clear();
                    buffer.extend_from_slice(&value);
                }
                None => return Ok(Outcome::Missing),
            }
            change(buffer);
            tree.insert(key, buffer)?;
            Ok(Outcome::Done)
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.write("delete", |tree, _| {
            Ok(if tree.delete(key)? { Outcome::Done } else { Outcome::Missing })
        })
    }

    fn scan(
        &mut self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        row: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let bounds = (lower, upper);
        match &self.transaction {
            Some(open) => open.with_dependent(|_, tree| each_in_range(tree, bounds, row)),
            None => each_in_range(&tree_of(&self.read_txn("scan")?)?, bounds, row),
        }
    }
}
