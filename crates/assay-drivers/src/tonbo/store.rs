//! A store of Tonbo.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use assay_driver::error::{Error, Result};
use assay_driver::{Cache, Durability, OpenSpec, Store, Work};
use tokio::runtime::{Builder, Runtime};
use tonbo::executor::tokio::TokioExecutor;
use tonbo::option::Path;
use tonbo::{DB, DbOption};

use super::background::{Background, one_line};
use super::connection::TonboConnection;
use super::layout::Layout;
use super::remote::Remote;
use super::rows::Row;
use crate::key_locks::KeyLocks;

/// The bytes that a memtable holds before Tonbo freezes it.
const MEMTABLE_BYTES: usize = 64 << 20;

/// The time that the tasks of a closed store get to end.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// The buffer of the log at level `process`: the most that one write or transaction may take to
/// reach the log in one piece.
const LOG_BUFFER_BYTES: usize = 1 << 20;

/// A file that marks a store with a table whose keys are out of order.
const DISORDERED: &str = "disordered";

pub(super) fn open<R: Row>(spec: &OpenSpec, remote: Option<Remote>) -> Result<Box<dyn Store>> {
    let said = |e: &dyn std::fmt::Display| Error::engine("open", one_line(e));
    let disordered = spec.dir().join(DISORDERED);
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
    let files = spec.dir().join("tonbo");
    std::fs::create_dir_all(&files).map_err(|e| said(&e))?;
    let path = Path::from_filesystem_path(&files).map_err(|e| said(&e))?;
    let options =
        DbOption::new(path, &schema).immutable_chunk_num(1).version_log_snapshot_threshold(1);
    let buffered = spec.has("wal", "buffered");
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

pub(super) struct TonboStore<R: Row> {
    pub(super) database: DB<R, TokioExecutor>,
    pub(super) runtime: Runtime,
    pub(super) layout: Layout,
    settings: Vec<String>,
    pub(super) logged: bool,
    /// True if every write must reach the operating system before it is acknowledged.
    flushes: bool,
    /// Bytes of records that were inserted without a log, as Tonbo counts them.
    pub(super) written: AtomicUsize,
    disordered: PathBuf,
    pub(super) background: Arc<Background>,
    remote: Option<Remote>,
    pub(super) key_locks: KeyLocks,
}

impl<R: Row> TonboStore<R> {
    /// Waits for the engine, but not for ever if it waits for a server.
    pub(super) async fn patiently<T, E: std::fmt::Display>(
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

    /// Does the work that the level requires before a write is acknowledged.
    pub(super) async fn acknowledge(&self, doing: &str) -> Result<()> {
        if self.flushes { self.patiently(doing, self.database.flush_wal()).await } else { Ok(()) }
    }

    /// Brings the data in memory to the files: by the log if there is one, else as tables.
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
        if !self.logged && self.written.load(Ordering::Relaxed) >= MEMTABLE_BYTES {
            std::fs::write(&self.disordered, "").map_err(|e| Error::engine("close", e))
        } else {
            Ok(())
        }
    }
}

impl<R: Row> Store for TonboStore<R> {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        Cache::NoSetting
    }

    fn processes(&self) -> Vec<u32> {
        self.remote.iter().filter_map(Remote::server).collect()
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let mut connection = TonboConnection::new(self);
        // Tonbo panics if its log cannot be written.
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
