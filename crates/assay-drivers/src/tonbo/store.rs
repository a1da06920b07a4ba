//! A store of Tonbo, and the connections to it.

use std::collections::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use assay_core::driver::{Connection, Durability, OpenSpec, Outcome, Scan, Store, Work};
use assay_core::error::{Error, Result};
use futures_util::StreamExt;
use tokio::runtime::{Builder, Runtime};
use tonbo::executor::tokio::TokioExecutor;
use tonbo::option::Path;
use tonbo::transaction::{CommitError, Transaction};
use tonbo::{DB, DbOption, Projection};

use super::background::{Background, one_line};
use super::layout::Layout;
use super::remote::Remote;
use super::rows::{KeyOf, Row};
use crate::key_locks::KeyLocks;

/// How often an update is tried again when another writer came between.
const ATTEMPTS_MAX: usize = 1_000;

/// What a memtable holds before Tonbo freezes it.
const MEMTABLE_BYTES: usize = 64 << 20;

/// How long the tasks of a closed store get to end.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// The buffer of the log at level `process`: what one write or transaction may take to reach the
/// log in one piece.
const LOG_BUFFER_BYTES: usize = 1 << 20;

/// A file that says that the store has a table whose keys are out of order.
const DISORDERED: &str = "disordered";

pub(super) fn open<R: Row>(spec: &OpenSpec, remote: Option<Remote>) -> Result<Box<dyn Store>> {
    let said = |e: &dyn std::fmt::Display| Error::engine("open", one_line(e));
    let disordered = spec.dir.join(DISORDERED);
    if disordered.exists() {
        return Err(said(
            &"when this store was closed, Tonbo wrote several memtables into one table without \
              merging them, and would answer scans of it wrongly; run at --durability process",
        ));
    }
    let background = Arc::new(Background::default());
    let listener = Arc::clone(&background);
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .on_thread_start(move || listener.listen())
        .build()
        .map_err(|e| said(&e))?;
    let layout = Layout::new(&spec.schema);
    let schema = R::schema(&layout);
    let files = spec.dir.join("tonbo");
    std::fs::create_dir_all(&files).map_err(|e| said(&e))?;
    let path = Path::from_filesystem_path(&files).map_err(|e| said(&e))?;
    let options =
        DbOption::new(path, &schema).immutable_chunk_num(1).version_log_snapshot_threshold(1);
    let buffered = spec.option("wal") == "buffered";
    let (mut options, log) = match spec.durability {
        Durability::None if buffered => (options, "log with its default buffer of 4 KiB"),
        Durability::None => (options.disable_wal(), "disable_wal()"),
        _ => (
            options.wal_buffer_size(LOG_BUFFER_BYTES),
            "wal_buffer_size(1 MiB), flush_wal() after every write and commit",
        ),
    };
    let key_locks = KeyLocks::new(spec.threads);
    let mut settings = vec![
        log.to_string(),
        "immutable_chunk_num(1)".into(),
        "version_log_snapshot_threshold(1)".into(),
    ];
    settings.extend(key_locks.setting());
    if let Some(remote) = &remote {
        runtime.block_on(remote.check())?;
        options = remote.place_tables(options).map_err(|e| said(&e))?;
        settings.push(remote.setting());
    }
    // Tonbo panics at a log that ends in the middle of a record.
    let opened = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async { DB::new(options, TokioExecutor::current(), schema).await })
    }));
    let database = opened.map_err(|panic| panicked("open", &*panic))?.map_err(|e| said(&e))?;
    Ok(Box::new(TonboStore::<R> {
        database,
        runtime,
        layout,
        settings,
        logged: spec.durability != Durability::None || buffered,
        flushes: spec.durability != Durability::None,
        written: AtomicUsize::new(0),
        disordered,
        background,
        remote,
        key_locks,
    }))
}

fn panicked(doing: &str, panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message");
    Error::engine(doing, format!("the engine panicked: {}", one_line(text)))
}

struct TonboStore<R: Row> {
    database: DB<R, TokioExecutor>,
    runtime: Runtime,
    layout: Layout,
    settings: Vec<String>,
    logged: bool,
    /// Whether every write is to reach the operating system before it is acknowledged.
    flushes: bool,
    /// Bytes of records that were inserted while there is no log, as Tonbo counts them.
    written: AtomicUsize,
    disordered: PathBuf,
    background: Arc<Background>,
    remote: Option<Remote>,
    key_locks: KeyLocks,
}

impl<R: Row> TonboStore<R> {
    /// Waits for the engine, but not for ever when it waits for a server.
    async fn patiently<T, E: std::fmt::Display>(
        &self,
        doing: &str,
        work: impl Future<Output = std::result::Result<T, E>>,
    ) -> Result<T> {
        let said = |e: E| Error::engine(doing, one_line(e));
        match &self.remote {
            None => work.await.map_err(said),
            Some(remote) => remote.patiently(doing, work).await?.map_err(said),
        }
    }

    /// Does what a write owes to the level before it is acknowledged.
    async fn acknowledge(&self, doing: &str) -> Result<()> {
        match self.flushes {
            true => self.patiently(doing, self.database.flush_wal()).await,
            false => Ok(()),
        }
    }

    /// Brings what is in memory to the files: by the log if there is one, else as tables.
    fn settle(&self) -> Result<()> {
        self.background.check("close")?;
        self.runtime.block_on(async {
            if self.logged {
                return self.patiently("close", self.database.flush_wal()).await;
            }
            let flushed = self.patiently("close", self.database.flush()).await;
            self.background.check("close")?;
            flushed
        })?;
        match !self.logged && self.written.load(Ordering::Relaxed) >= MEMTABLE_BYTES {
            true => std::fs::write(&self.disordered, "").map_err(|e| Error::engine("close", e)),
            false => Ok(()),
        }
    }
}

impl<R: Row> Store for TonboStore<R> {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let mut connection = TonboConnection {
            store: self,
            transaction: None,
            record: vec![0; self.layout.schema.record_size()],
        };
        // Tonbo panics where its log cannot be written.
        catch_unwind(AssertUnwindSafe(|| work(&mut connection)))
            .unwrap_or_else(|panic| Err(panicked("work", &*panic)))
    }

    fn close(self: Box<Self>) -> Result<()> {
        let settled = self.settle();
        let Self { database, runtime, remote, .. } = *self;
        drop(database);
        runtime.shutdown_timeout(SHUTDOWN);
        match remote {
            Some(remote) => settled.and(remote.close()),
            None => settled,
        }
    }
}

/// An open transaction.
struct Open<'s, R: Row> {
    inner: Transaction<'s, R>,
    /// Whether it has deleted: its own deletes are hidden from `Transaction::get`, not from its
    /// scans.
    deleted: bool,
}

struct TonboConnection<'s, R: Row> {
    store: &'s TonboStore<R>,
    transaction: Option<Open<'s, R>>,
    record: Vec<u8>,
}

/// Reads a record's payload area with a transaction.
async fn find<R: Row>(
    store: &TonboStore<R>,
    open: &Open<'_, R>,
    key: &KeyOf<R>,
    payload: &mut [u8],
) -> Result<Outcome> {
    let layout = &store.layout;
    let (columns, base) = payload_columns(layout);
    if !open.deleted {
        let entry = store.patiently("get", open.inner.get(key, Projection::All)).await?;
        return Ok(match entry {
            Some(entry) => {
                R::unpack(layout, &entry.get(), columns, base, payload);
                Outcome::Done
            }
            None => Outcome::Missing,
        });
    }
    let range = (Bound::Included(key), Bound::Included(key));
    let mut entries = pin!(store.patiently("get", open.inner.scan(range).take()).await?);
    while let Some(entry) = entries.next().await {
        let entry = entry.map_err(|e| Error::engine("get", one_line(e)))?;
        if let Some(found) = entry.value() {
            R::unpack(layout, &found, columns, base, payload);
            return Ok(Outcome::Done);
        }
    }
    Ok(Outcome::Missing)
}

/// The columns of the payload area, and where it begins in a record.
fn payload_columns(layout: &Layout) -> (std::ops::Range<usize>, usize) {
    let schema = &layout.schema;
    (schema.key_columns().len()..schema.columns().len(), schema.key_size())
}

impl<R: Row> TonboConnection<'_, R> {
    async fn put(&mut self, packed: &[u8]) -> Result<Outcome> {
        let store = self.store;
        store.background.check("insert")?;
        let record = R::pack(&store.layout, packed)?;
        if !store.logged {
            store.written.fetch_add(record.size(), Ordering::Relaxed);
        }
        match &mut self.transaction {
            Some(open) => open.inner.insert(record),
            None => {
                let _held = store.key_locks.lock(&packed[..store.layout.schema.key_size()]);
                store.patiently("insert", store.database.insert(record)).await?;
                store.acknowledge("insert").await?;
            }
        }
        Ok(Outcome::Done)
    }

    async fn find(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        let store = self.store;
        let key = <R as Row>::key(&store.layout, key);
        if let Some(open) = &self.transaction {
            return find(store, open, &key, payload).await;
        }
        let (columns, base) = payload_columns(&store.layout);
        let found = store.database.get(&key, |entry| {
            R::unpack(&store.layout, &entry.get(), columns.clone(), base, payload);
            Some(())
        });
        Ok(match store.patiently("get", found).await? {
            Some(()) => Outcome::Done,
            None => Outcome::Missing,
        })
    }

    async fn change(&mut self, area: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let store = self.store;
        store.background.check("update")?;
        let key = <R as Row>::key(&store.layout, area);
        let column = &store.layout.schema.columns()[column];
        let (head, payload) = self.record.split_at_mut(area.len());
        head.copy_from_slice(area);
        if let Some(open) = &mut self.transaction {
            if find(store, open, &key, payload).await? == Outcome::Missing {
                return Ok(Outcome::Missing);
            }
            column.slice_mut(&mut self.record).copy_from_slice(value);
            open.inner.insert(R::pack(&store.layout, &self.record)?);
            return Ok(Outcome::Done);
        }
        let _held = store.key_locks.lock(area);
        for _ in 0..ATTEMPTS_MAX {
            let (_, payload) = self.record.split_at_mut(area.len());
            let mut open = Open { inner: store.database.transaction().await, deleted: false };
            if find(store, &open, &key, payload).await? == Outcome::Missing {
                return Ok(Outcome::Missing);
            }
            column.slice_mut(&mut self.record).copy_from_slice(value);
            let record = R::pack(&store.layout, &self.record)?;
            if !store.logged {
                store.written.fetch_add(record.size(), Ordering::Relaxed);
            }
            open.inner.insert(record);
            match open.inner.commit().await {
                Ok(()) => {
                    store.acknowledge("update").await?;
                    return Ok(Outcome::Done);
                }
                Err(CommitError::WriteConflict(_)) => {}
                Err(error) => return Err(Error::engine("update", one_line(error))),
            }
        }
        Err(Error::engine("update", "it met other writers again and again"))
    }

    async fn remove(&mut self, key: &[u8]) -> Result<Outcome> {
        let store = self.store;
        store.background.check("delete")?;
        let _held = match self.transaction {
            Some(_) => None,
            None => store.key_locks.lock(key),
        };
        let key = <R as Row>::key(&store.layout, key);
        match &mut self.transaction {
            Some(open) => {
                open.inner.remove(key);
                open.deleted = true;
            }
            // What it answers is not whether the key was there.
            None => {
                store.patiently("delete", store.database.remove(key)).await?;
                store.acknowledge("delete").await?;
            }
        }
        Ok(Outcome::Done)
    }

    async fn walk(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let store = self.store;
        let layout = &store.layout;
        if is_empty(layout, scan) {
            return Ok(0);
        }
        let (lower, upper) = (
            scan.lower.map(|area| <R as Row>::key(layout, area)),
            scan.upper.map(|area| <R as Row>::key(layout, area)),
        );
        let range = (lower.as_ref(), upper.as_ref());
        let snapshot;
        let mut query = match &self.transaction {
            Some(open) => open.inner.scan(range),
            None => {
                snapshot = store.database.snapshot().await;
                snapshot.scan(range)
            }
        };
        let key_len = layout.schema.key_columns().len();
        let payload = scan.columns.iter().filter(|&&at| at >= key_len);
        let names: Vec<_> = payload.map(|at| layout.names[at - key_len + 1].as_str()).collect();
        if names.len() < layout.names.len() - 1 {
            query = query.projection(&names);
        }
        let mut entries = pin!(store.patiently("scan", query.take()).await?);
        let mut count = 0;
        while count < scan.limit {
            let next = async { entries.next().await.transpose() };
            let Some(entry) = store.patiently("scan", next).await? else {
                break;
            };
            let Some(found) = entry.value() else {
                continue;
            };
            R::unpack(layout, &found, scan.columns.iter().copied(), 0, &mut self.record);
            row(&self.record);
            count += 1;
        }
        Ok(count)
    }
}

/// Whether no key can be in a range. (Tonbo asks maps for it that panic then.)
fn is_empty(layout: &Layout, scan: &Scan<'_>) -> bool {
    use Bound::{Excluded, Included, Unbounded};
    let (lower, upper) = (
        scan.lower.map(|area| layout.encoded_key(area)),
        scan.upper.map(|area| layout.encoded_key(area)),
    );
    match (&lower, &upper) {
        (Unbounded, _) | (_, Unbounded) => false,
        (Included(lower), Included(upper)) => lower > upper,
        (Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => lower >= upper,
    }
}

impl<R: Row> Connection for TonboConnection<'_, R> {
    fn begin(&mut self) -> Result<()> {
        let store = self.store;
        let inner = store.runtime.block_on(store.database.transaction());
        self.transaction = Some(Open { inner, deleted: false });
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let store = self.store;
        let open = self.transaction.take();
        let open = open.ok_or_else(|| Error::engine("commit", "no transaction is open"))?;
        let _held = store.key_locks.lock_all();
        store.runtime.block_on(async {
            store.patiently("commit", open.inner.commit()).await?;
            store.acknowledge("commit").await
        })
    }

    fn rollback(&mut self) -> Result<()> {
        self.transaction = None;
        Ok(())
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        self.store.runtime.block_on(self.put(record))
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        self.store.runtime.block_on(self.put(record)).map(|_| ())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        self.store.runtime.block_on(self.find(key, payload))
    }

    fn get_many(
        &mut self,
        keys: &[u8],
        payloads: &mut [u8],
        outcomes: &mut [Outcome],
    ) -> Result<()> {
        let schema = &self.store.layout.schema;
        let keys = keys.chunks_exact(schema.key_size());
        let payloads = payloads.chunks_exact_mut(schema.payload_size());
        self.store.runtime.block_on(async {
            let own = match self.transaction {
                Some(_) => None,
                None => {
                    let inner = self.store.database.transaction().await;
                    Some(Open { inner, deleted: false })
                }
            };
            let open = self.transaction.as_ref().or(own.as_ref());
            let Some(open) = open else {
                return Ok(());
            };
            for ((key, payload), outcome) in keys.zip(payloads).zip(outcomes) {
                let key = <R as Row>::key(&self.store.layout, key);
                *outcome = find(self.store, open, &key, payload).await?;
            }
            Ok(())
        })
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        self.store.runtime.block_on(self.change(key, column, value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.store.runtime.block_on(self.remove(key))
    }

    fn replay_inserts(&mut self, records: &[u8], record_size: usize) -> Result<u64> {
        self.store.runtime.block_on(async {
            let mut done = 0;
            for record in records.chunks_exact(record_size) {
                done += u64::from(self.put(record).await? == Outcome::Done);
            }
            Ok(done)
        })
    }

    fn replay_gets(
        &mut self,
        keys: &[u8],
        key_size: usize,
        payloads: &mut [u8],
        payload_size: usize,
    ) -> Result<u64> {
        self.store.runtime.block_on(async {
            let mut done = 0;
            let payloads = payloads.chunks_exact_mut(payload_size);
            for (key, payload) in keys.chunks_exact(key_size).zip(payloads) {
                done += u64::from(self.find(key, payload).await? == Outcome::Done);
            }
            Ok(done)
        })
    }

    fn replay_updates(
        &mut self,
        keys: &[u8],
        key_size: usize,
        column: usize,
        values: &[u8],
        value_size: usize,
    ) -> Result<u64> {
        self.store.runtime.block_on(async {
            let mut done = 0;
            let values = values.chunks_exact(value_size);
            for (key, value) in keys.chunks_exact(key_size).zip(values) {
                done += u64::from(self.change(key, column, value).await? == Outcome::Done);
            }
            Ok(done)
        })
    }

    fn replay_deletes(&mut self, keys: &[u8], key_size: usize) -> Result<u64> {
        self.store.runtime.block_on(async {
            let mut done = 0;
            for key in keys.chunks_exact(key_size) {
                done += u64::from(self.remove(key).await? == Outcome::Done);
            }
            Ok(done)
        })
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        self.store.runtime.block_on(self.walk(scan, row))
    }
}
