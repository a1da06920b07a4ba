//! Snapshots: all tables as they were at one moment.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::database;
use crate::failure::{Failure, Result};
use crate::table::Table;
use crate::view::{View, lock};

/// All tables as they were at one moment, for reading.
///
/// `Database.snapshot` takes one. Tables that were dropped or cleared since are not in it. It keeps
/// old pages in memory until it is deleted, or left as a context manager, and its tables too.
#[pyclass(frozen, module = "lode")]
pub(crate) struct Snapshot {
    database: lode::Database,
    snapshot: Mutex<Option<Arc<lode::Snapshot>>>,
}

impl Snapshot {
    pub(crate) fn of(database: &lode::Database) -> Self {
        let snapshot = Arc::new(database.snapshot());
        Self { database: database.clone(), snapshot: Some(snapshot).into() }
    }

    fn share(&self) -> Result<Arc<lode::Snapshot>> {
        let locked = lock(&self.snapshot, "snapshot")?;
        let ended = || Failure::Call("ended", "the snapshot has ended; take another one".into());
        locked.clone().ok_or_else(ended)
    }
}

#[pymethods]
impl Snapshot {
    /// Returns a table as of this moment. With `record`, a dataclass, rows are objects of it.
    #[pyo3(signature = (name, record = None))]
    fn table(&self, py: Python<'_>, name: &str, record: Option<Py<PyAny>>) -> Result<Table> {
        Table::open(py, &self.database, name, View::At(self.share()?), record)
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> Result<Table> {
        database::or_key_error(self.table(py, name, None), name)
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, raised: &Bound<'_, PyTuple>) -> Result<()> {
        let _ = raised;
        *lock(&self.snapshot, "snapshot")? = None;
        Ok(())
    }
}
