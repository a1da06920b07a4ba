//! The moment at which a table is read.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use lode::{Error, ReadTable};
use pyo3::prelude::*;

use crate::failure::{Failure, Result};

/// A transaction until it ends. One thread at a time uses it.
pub(crate) type SharedTransaction = Arc<Mutex<Option<lode::Transaction>>>;

/// The state that a read sees.
#[derive(Clone)]
pub(crate) enum View {
    /// The records as they are at the moment of the call.
    Now,
    /// The records as of a snapshot.
    At(Arc<lode::Snapshot>),
    /// The records as a transaction sees them.
    Within(SharedTransaction),
}

/// Locks what one thread at a time may use.
///
/// # Errors
/// `busy`: waiting for a thread that may itself wait for Python's lock would be for ever.
pub(crate) fn lock<'m, T>(mutex: &'m Mutex<T>, what: &str) -> Result<MutexGuard<'m, T>> {
    match mutex.try_lock() {
        Ok(locked) => Ok(locked),
        Err(TryLockError::WouldBlock) => Err(Failure::busy(what)),
        // No code of Python's ran under it, and Lode's transactions and cursors bear a panic.
        Err(TryLockError::Poisoned(locked)) => Ok(locked.into_inner()),
    }
}

/// Refuses a database that was closed, or that is of the process which this one was forked from.
///
/// # Errors
/// `closed`, `forked`.
pub(crate) fn expect_open(database: &lode::Database) -> Result<()> {
    // Looking a table up says so without reading anything.
    match database.table("") {
        Err(error @ (Error::Closed | Error::Forked)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Calls `work` with a transaction.
///
/// # Errors
/// `busy`, `ended`; those of `work`.
pub(crate) fn within<T>(
    shared: &SharedTransaction,
    work: impl FnOnce(&lode::Transaction) -> Result<T>,
) -> Result<T> {
    let locked = lock(shared, "transaction")?;
    work(locked.as_ref().ok_or_else(Failure::ended)?)
}

impl View {
    /// Calls `work` with a table as this view sees it, without Python's lock.
    pub(crate) fn read<T: Send>(
        &self,
        py: Python<'_>,
        table: &lode::Table,
        work: impl FnOnce(&dyn ReadTable) -> Result<T> + Send,
    ) -> Result<T> {
        py.detach(|| match self {
            Self::Now => work(table),
            Self::At(snapshot) => work(&table.at(snapshot)),
            Self::Within(shared) => within(shared, |transaction| work(&table.within(transaction))),
        })
    }

    /// Calls `alone`, or `inside` the transaction that this view is of, without Python's lock.
    ///
    /// # Errors
    /// `read_only` when it is of a snapshot; those of `alone` and `inside`.
    pub(crate) fn write<T: Send>(
        &self,
        py: Python<'_>,
        alone: impl FnOnce() -> Result<T> + Send,
        inside: impl FnOnce(&lode::Transaction) -> Result<T> + Send,
    ) -> Result<T> {
        py.detach(|| match self {
            Self::Now => alone(),
            Self::At(_) => {
                let message = "a snapshot cannot be written; write to a table of the database";
                Err(Failure::Call("read_only", message.into()))
            }
            Self::Within(shared) => within(shared, inside),
        })
    }
}
