//! Databases: opening, closing, and what concerns all of their tables.

use std::path::PathBuf;
use std::time::Duration;

use lode::{Durability, Error, KeyKind, Options};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};

use crate::blobs::Blobs;
use crate::changes::{self, Changes};
use crate::failure::{Failure, Result};
use crate::schema::Columns;
use crate::snapshot::Snapshot;
use crate::table::Table;
use crate::transaction::Transaction;
use crate::view::View;

/// A database: tables of typed records.
///
/// `open` and `memory` return one. Any number of threads may use it. It is closed by `close`, at
/// the end of a `with` block, and at the end of the program.
#[pyclass(frozen, weakref, module = "lode")]
pub(crate) struct Database {
    database: lode::Database,
}

/// Returns the durability of a word.
///
/// # Errors
/// `bad_argument`.
pub(crate) fn level(word: &str) -> Result<Durability> {
    match word {
        "none" => Ok(Durability::None),
        "process" => Ok(Durability::Process),
        "periodic" => Ok(Durability::Periodic),
        "commit" => Ok(Durability::Commit),
        other => Err(Failure::argument(format!(
            "there is no durability {other}; use none, process, periodic or commit"
        ))),
    }
}

/// Makes a `KeyError` of the failure that there is no such table.
pub(crate) fn or_key_error<T>(found: Result<T>, name: &str) -> Result<T> {
    found.map_err(|failure| match failure {
        Failure::Lode(error) if matches!(*error, Error::NoTable { .. }) => {
            PyKeyError::new_err(name.to_string()).into()
        }
        other => other,
    })
}

fn options(
    durability: Option<&str>,
    memory_bytes: Option<u64>,
    log_bytes: Option<u64>,
) -> Result<Options> {
    let mut options = Options::new();
    if let Some(word) = durability {
        options = options.durability(level(word)?);
    }
    if let Some(bytes) = memory_bytes {
        options = options.memory_bytes(bytes);
    }
    if let Some(bytes) = log_bytes {
        options = options.log_bytes(bytes);
    }
    Ok(options)
}

/// Opens the database in a directory.
///
/// `mode` is "create" (the default), which makes one if the directory has none; "existing", which
/// does not; "new", which refuses to open one; or "read", which writes nothing and cannot be
/// written. `durability` is "none", "process", "periodic", with a sync each `sync_interval_ms`, or
/// "commit" (the default). `memory_bytes` bounds the memory for pages.
///
/// `keep_changes_bytes` has the database keep its newest changes for `Database.changes`: at least
/// this many bytes of its log, in whole MiB. It remembers that for later openings; 0 ends it, and
/// so does an opening with the durability "none". Its log is about twice as long then, and writes
/// are slower.
#[pyfunction]
#[pyo3(signature = (
    path,
    *,
    mode = "create",
    durability = None,
    sync_interval_ms = None,
    memory_bytes = None,
    log_bytes = None,
    keep_changes_bytes = None,
))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn open(
    py: Python<'_>,
    path: PathBuf,
    mode: &str,
    durability: Option<&str>,
    sync_interval_ms: Option<u64>,
    memory_bytes: Option<u64>,
    log_bytes: Option<u64>,
    keep_changes_bytes: Option<u64>,
) -> Result<Py<Database>> {
    let mut options = options(durability, memory_bytes, log_bytes)?;
    if let Some(interval) = sync_interval_ms {
        options = options.sync_interval(Duration::from_millis(interval));
    }
    if let Some(bytes) = keep_changes_bytes {
        expect_log(mode, durability, bytes)?;
        options = options.keep_changes(bytes);
    }
    let database = py.detach(|| match mode {
        "create" => Ok(options.open(path)?),
        "existing" => Ok(options.open_existing(path)?),
        "new" => Ok(options.create_new(path)?),
        "read" => Ok(options.open_read_only(path)?),
        other => Err(Failure::argument(format!(
            "there is no mode {other}; use create, existing, new or read"
        ))),
    })?;
    Database::keep(py, database)
}

/// Refuses to keep changes where nothing is written, or nothing is logged.
fn expect_log(mode: &str, durability: Option<&str>, keep_changes_bytes: u64) -> Result<()> {
    if mode == "read" {
        let message =
            "mode read sets nothing; open the database for writing with keep_changes_bytes";
        return Err(Failure::argument(message));
    }
    if durability == Some("none") && keep_changes_bytes > 0 {
        let message = "durability none logs no changes that could be kept; use a stronger one";
        return Err(Failure::argument(message));
    }
    Ok(())
}

/// Creates a database in memory, which lives until it is closed.
#[pyfunction]
#[pyo3(signature = (*, memory_bytes = None))]
pub(crate) fn memory(py: Python<'_>, memory_bytes: Option<u64>) -> Result<Py<Database>> {
    let options = options(None, memory_bytes, None)?;
    Database::keep(py, options.in_memory()?)
}

impl Database {
    /// Makes the object for a database, which is closed at the end of the program.
    fn keep(py: Python<'_>, database: lode::Database) -> Result<Py<Self>> {
        let made = Py::new(py, Self { database })?;
        py.import("lode._exit")?.call_method1("close_at_exit", (&made,))?;
        Ok(made)
    }
}

#[pymethods]
impl Database {
    /// Creates a table and returns it.
    ///
    /// `columns` has the types of columns by their names, such as `{"id": "u64", "name":
    /// "vartext(80)", "age": "u8?"}`, where `?` allows `None`; or it is a dataclass, of which rows
    /// are objects then. `key` names the column of the key, or several; the first column is the
    /// default. An `ordered` table has ranges; another finds single records faster. With
    /// `exist_ok`, a table of that name and these columns is returned if there is one.
    #[pyo3(signature = (name, columns, *, key = None, ordered = true, exist_ok = false))]
    fn create(
        &self,
        py: Python<'_>,
        name: &str,
        columns: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        ordered: bool,
        exist_ok: bool,
    ) -> Result<Table> {
        let schema = Columns::take(columns, key)?.schema(name)?;
        let kind = if ordered { KeyKind::Tree } else { KeyKind::Hash };
        let created = py.detach(|| match self.database.create_table(&schema, kind) {
            Err(Error::TableExists { .. }) if exist_ok => {
                let table = self.database.table(name)?;
                let is_equal = *table.schema() == schema && table.key_kind() == kind;
                if is_equal { Ok(table) } else { Err(other_columns(name)) }
            }
            other => Ok(other?),
        })?;
        let is_class = columns.is_instance_of::<pyo3::types::PyType>();
        let record = is_class.then(|| columns.clone().unbind());
        Ok(Table::of(py, created, View::Now, record))
    }

    /// Returns a table. With `record`, a dataclass, rows are objects of it. Raises `SchemaError` if
    /// there is no such table.
    #[pyo3(signature = (name, record = None))]
    fn table(&self, py: Python<'_>, name: &str, record: Option<Py<PyAny>>) -> Result<Table> {
        Table::open(py, &self.database, name, View::Now, record)
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> Result<Table> {
        or_key_error(self.table(py, name, None), name)
    }

    fn __contains__(&self, name: &str) -> bool {
        self.database.table_names().iter().any(|table| table == name)
    }

    fn __len__(&self) -> usize {
        self.database.table_names().len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyIterator>> {
        Ok(PyList::new(py, self.database.table_names())?.try_iter()?)
    }

    /// Returns the names of the tables, sorted.
    fn tables(&self) -> Vec<String> {
        let mut names = self.database.table_names();
        names.sort_unstable();
        names
    }

    /// Drops a table with all of its records.
    fn drop(&self, py: Python<'_>, name: &str) -> Result<()> {
        py.detach(|| Ok(self.database.drop_table(name)?))
    }

    fn __delitem__(&self, py: Python<'_>, name: &str) -> Result<()> {
        or_key_error(self.drop(py, name), name)
    }

    /// Deletes all records of a table at once. Objects of it have to be made anew.
    fn clear(&self, py: Python<'_>, name: &str) -> Result<()> {
        py.detach(|| Ok(self.database.clear_table(name).map(drop)?))
    }

    /// Creates a store of blobs, which are values of any length, and returns it. With `exist_ok`,
    /// the store of that name is returned if there is one. It is kept in the tables `NAME.blobs`,
    /// `NAME.chunks` and `NAME.pending`; write these by the store only.
    #[pyo3(signature = (name, *, exist_ok = false))]
    fn create_blobs(&self, py: Python<'_>, name: &str, exist_ok: bool) -> Result<Blobs> {
        Blobs::create(py, &self.database, name, exist_ok)
    }

    /// Returns a store of blobs. Raises `SchemaError` if there is no such store.
    fn blobs(&self, py: Python<'_>, name: &str) -> Result<Blobs> {
        Blobs::open_store(py, &self.database, name)
    }

    /// Returns the names of the stores of blobs, sorted.
    fn blob_names(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.database.blob_names())
    }

    /// Drops a store of blobs with all of them.
    fn drop_blobs(&self, py: Python<'_>, name: &str) -> Result<()> {
        Blobs::drop_store(py, &self.database, name)
    }

    /// Starts a transaction.
    fn begin(&self) -> Transaction {
        Transaction::of(&self.database)
    }

    /// Calls `work` with a transaction and commits it, unless `work` has ended it. Starts again
    /// after a conflict, at most `attempts` times in all. Returns what `work` returns; if that
    /// raises, nothing has happened.
    #[pyo3(signature = (work, *, attempts = 1_000))]
    fn transact(
        &self,
        py: Python<'_>,
        work: &Bound<'_, PyAny>,
        attempts: u32,
    ) -> Result<Py<PyAny>> {
        if attempts == 0 {
            return Err(Failure::argument("attempts is at least 1"));
        }
        let mut attempt = 1;
        loop {
            py.check_signals()?;
            let transaction = Bound::new(py, self.begin())?;
            let called = work.call1((&transaction,));
            if transaction.get().has_ended()? {
                return Ok(called?.unbind());
            }
            let (is_conflict, outcome) = match called {
                Ok(done) => match transaction.get().commit(py, None) {
                    Ok(()) => return Ok(done.unbind()),
                    Err(Failure::Lode(error)) => {
                        (matches!(*error, Error::Conflict { .. }), Failure::Lode(error))
                    }
                    Err(other) => (false, other),
                },
                Err(raised) => {
                    transaction.get().rollback(py)?;
                    (is_conflict(py, &raised)?, raised.into())
                }
            };
            if !is_conflict || attempt >= attempts {
                return Err(outcome);
            }
            py.detach(|| std::thread::sleep(pause(attempt)));
            attempt += 1;
        }
    }

    /// Takes a snapshot: all tables as they are now, for reading.
    fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.database)
    }

    /// Returns the position after all changes so far, as a str: `changes` continues there. In a
    /// database or backup that is open for reading only, it is that of the moment shown.
    fn position(&self, py: Python<'_>) -> Result<String> {
        changes::position(py, &self.database)
    }

    /// Returns an iterator over the changes after the position `since`, or all that are kept, in
    /// their order. `open` has a database keep them, with `keep_changes_bytes`.
    ///
    /// Raises `ChangesGoneError` if those after the position are not kept any more, or it is none
    /// of this database: take a new copy and continue at the position of that. They may be there
    /// before they are durable; who acts on them calls `Changes.sync` first.
    ///
    /// In a copy that is made of changes, blobs are only read: who writes to their stores there
    /// removes the parts of blobs that are still being written in the database.
    #[pyo3(signature = (since = None))]
    fn changes(&self, py: Python<'_>, since: Option<&str>) -> Result<Changes> {
        Changes::since(py, &self.database, since)
    }

    /// Makes durable what was done before, whatever the level.
    fn flush(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| Ok(self.database.flush()?))
    }

    /// Writes what has changed to the data file, so that nothing has to be replayed after a crash.
    fn checkpoint(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| Ok(self.database.checkpoint()?))
    }

    /// Gives unused space back to the file system.
    fn compact(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| Ok(self.database.compact().map(drop)?))
    }

    /// Backs the database up to another directory, of one moment, and returns the bytes that were
    /// copied: those that a backup there before does not have.
    fn backup(&self, py: Python<'_>, path: PathBuf) -> Result<u64> {
        py.detach(|| Ok(self.database.backup(path, |_| {})?.copied_bytes))
    }

    /// Checks all pages and records. Raises `CorruptError` for the first damage.
    fn check(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            let report = self.database.check()?;
            match report.faults.first() {
                None => Ok(()),
                Some(fault) => Err(Failure::Call("corrupt", fault.to_string())),
            }
        })
    }

    /// Returns the space that the database takes up, in bytes by names.
    fn statistics<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let statistics = self.database.statistics();
        let named = PyDict::new(py);
        for (name, bytes) in [
            ("page_bytes", statistics.page_bytes),
            ("changed_bytes", statistics.changed_bytes),
            ("snapshot_bytes", statistics.snapshot_bytes),
            ("transaction_bytes", statistics.transaction_bytes),
            ("data_bytes", statistics.data_bytes),
            ("data_used_bytes", statistics.data_used_bytes),
            ("data_read_bytes", statistics.data_read_bytes),
            ("data_written_bytes", statistics.data_written_bytes),
            ("log_bytes", statistics.log_bytes),
        ] {
            named.set_item(name, bytes)?;
        }
        Ok(named)
    }

    /// Closes the database: what was done is in its files then, whatever the level. Reading and
    /// writing records raise `ClosedError` from then on; closing it again does nothing.
    fn close(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| match self.database.clone().close() {
            Err(Error::Closed) => Ok(()),
            closed => Ok(closed?),
        })
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> Result<()> {
        let _ = raised;
        self.close(py)
    }
}

fn other_columns(name: &str) -> Failure {
    let message = format!(
        "table {name} has other columns, or another kind of key; open it with table() to see them"
    );
    Failure::Call("other_columns", message)
}

/// Returns true if an exception, or one that it was raised for, says that there was a conflict.
fn is_conflict(py: Python<'_>, raised: &PyErr) -> PyResult<bool> {
    let conflict = py.import("lode._errors")?.getattr("ConflictError")?;
    let mut next = Some(raised.value(py).clone().into_any());
    while let Some(error) = next {
        if error.is_instance(&conflict)? {
            return Ok(true);
        }
        let earlier = error.getattr("__context__")?;
        next = (!earlier.is_none()).then_some(earlier);
    }
    Ok(false)
}

/// Returns the time to wait after an attempt: at most 10 ms.
fn pause(attempt: u32) -> Duration {
    Duration::from_micros(20 << attempt.min(9))
}
