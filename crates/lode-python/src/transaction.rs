//! Transactions: several writes that happen together or not at all.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::database;
use crate::failure::{Failure, Result};
use crate::table::Table;
use crate::view::{SharedTransaction, View, lock, within};

/// Several reads and writes that happen together, or not at all.
///
/// `Database.begin` starts one. As a context manager it is committed at the end, and rolled back if
/// the block raises. Transactions are serializable: if others have since written what this one has
/// read, the commit raises `ConflictError` and nothing has happened. `Database.transact` starts a
/// function again then.
#[pyclass(frozen, module = "lode")]
pub(crate) struct Transaction {
    database: lode::Database,
    shared: SharedTransaction,
}

impl Transaction {
    pub(crate) fn of(database: &lode::Database) -> Self {
        let shared = Arc::new(Mutex::new(Some(database.begin())));
        Self { database: database.clone(), shared }
    }

    /// Returns true if it was committed or rolled back.
    pub(crate) fn has_ended(&self) -> Result<bool> {
        Ok(lock(&self.shared, "transaction")?.is_none())
    }

    fn take(&self) -> Result<lode::Transaction> {
        lock(&self.shared, "transaction")?.take().ok_or_else(Failure::ended)
    }
}

#[pymethods]
impl Transaction {
    /// Returns a table as the transaction sees it. With `record`, a dataclass, rows are objects of
    /// it.
    #[pyo3(signature = (name, record = None))]
    fn table(&self, py: Python<'_>, name: &str, record: Option<Py<PyAny>>) -> Result<Table> {
        Table::open(py, &self.database, name, View::Within(self.shared.clone()), record)
    }

    fn __getitem__(&self, py: Python<'_>, name: &str) -> Result<Table> {
        database::or_key_error(self.table(py, name, None), name)
    }

    /// Applies all writes together. `durability` is a stronger level than that of the database.
    ///
    /// Raises `ConflictError` if others have since written what it has read: nothing has happened.
    #[pyo3(signature = (durability = None))]
    pub(crate) fn commit(&self, py: Python<'_>, durability: Option<&str>) -> Result<()> {
        let level = durability.map(database::level).transpose()?;
        let transaction = self.take()?;
        py.detach(|| match level {
            None => Ok(transaction.commit()?),
            Some(level) => Ok(transaction.commit_with(level)?),
        })
    }

    /// Ends the transaction without an effect.
    pub(crate) fn rollback(&self, py: Python<'_>) -> Result<()> {
        let transaction = self.take()?;
        py.detach(|| drop(transaction));
        Ok(())
    }

    /// Makes a point that the transaction can go back to. As a context manager, it is gone back to
    /// if the block raises.
    fn savepoint(&self) -> Result<Savepoint> {
        let point = within(&self.shared, |transaction| Ok(transaction.savepoint()))?;
        Ok(Savepoint { shared: self.shared.clone(), point: Some(point).into() })
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, py: Python<'_>, raised: &Bound<'_, PyTuple>) -> Result<()> {
        // It may have been committed or rolled back within.
        if self.has_ended()? {
            return Ok(());
        }
        if raised.get_item(0)?.is_none() { self.commit(py, None) } else { self.rollback(py) }
    }
}

/// A point that a transaction can go back to.
#[pyclass(frozen, module = "lode")]
pub(crate) struct Savepoint {
    shared: SharedTransaction,
    point: Mutex<Option<lode::Savepoint>>,
}

#[pymethods]
impl Savepoint {
    /// Undoes the writes since this point, which is kept; later points are gone.
    fn rollback(&self) -> Result<()> {
        let point = lock(&self.point, "savepoint")?;
        let point = point.as_ref().ok_or_else(gone)?;
        within(&self.shared, |transaction| {
            if !transaction.has_savepoint(point) {
                return Err(gone());
            }
            transaction.roll_back_to(point);
            Ok(())
        })
    }

    /// Forgets this point; the writes stay.
    fn release(&self) -> Result<()> {
        let point = lock(&self.point, "savepoint")?.take().ok_or_else(gone)?;
        within(&self.shared, |transaction| {
            transaction.release(point);
            Ok(())
        })
    }

    fn __enter__(this: Py<Self>) -> Py<Self> {
        this
    }

    #[pyo3(signature = (*raised))]
    fn __exit__(&self, raised: &Bound<'_, PyTuple>) -> Result<()> {
        // It may be gone: released within, or with its transaction.
        let is_kept = lock(&self.point, "savepoint")?.as_ref().is_some_and(|point| {
            within(&self.shared, |transaction| Ok(transaction.has_savepoint(point)))
                .unwrap_or(false)
        });
        if !is_kept {
            return Ok(());
        }
        if !raised.get_item(0)?.is_none() {
            self.rollback()?;
        }
        self.release()
    }
}

fn gone() -> Failure {
    Failure::Call("ended", "the savepoint was released, or one before it; make another one".into())
}
