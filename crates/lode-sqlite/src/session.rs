//! A connection of SQLite on a database of Lode: what its statements read, and its transaction.
//!
//! - While a statement reads, there is a snapshot, which all its cursors read at. The last cursor
//!   that is closed lets it go.
//! - What SQLite begins with the first write, is a transaction at such a snapshot: from then on,
//!   cursors read within it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lode::{Cursor, Database, ReadTable, Row, Savepoint, Snapshot, Table, Transaction};
use rusqlite::{Result, ffi};

use crate::directories::Lease;
use crate::error::{error, of_engine};
use crate::range::Range;

/// A database as one connection uses it.
pub(crate) struct Session {
    db: Database,
    access: Access,
    state: Mutex<State>,
    /// What keeps the database open, if it is to be closed after this.
    _lease: Option<Lease>,
}

/// What a connection may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Access {
    Read,
    Write,
}

#[derive(Default)]
struct State {
    /// Cursors that are open.
    cursors: usize,
    snapshot: Option<Snapshot>,
    transaction: Option<Transaction>,
    /// By SQLite's numbers of them, ascending.
    savepoints: Vec<(i32, Savepoint)>,
}

impl State {
    fn snapshot(&mut self, db: &Database) -> &Snapshot {
        self.snapshot.get_or_insert_with(|| db.snapshot())
    }

    fn end(&mut self) -> Option<Transaction> {
        self.savepoints.clear();
        // What is open still reads at its own clone; what begins from here on sees what is now.
        self.snapshot = None;
        self.transaction.take()
    }
}

impl Session {
    pub(crate) fn new(db: Database, access: Access) -> Arc<Self> {
        Arc::new(Self { db, access, state: Mutex::default(), _lease: None })
    }

    pub(crate) fn leased(db: Database, access: Access, lease: Lease) -> Arc<Self> {
        Arc::new(Self { db, access, state: Mutex::default(), _lease: Some(lease) })
    }

    pub(crate) fn db(&self) -> &Database {
        &self.db
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a thread that panicked left is a state like others.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A cursor is opened. Returns whether it is the only one, outside of a transaction.
    pub(crate) fn open_cursor(&self) -> bool {
        let mut state = self.state();
        state.cursors += 1;
        state.cursors == 1 && state.transaction.is_none()
    }

    pub(crate) fn close_cursor(&self) {
        let mut state = self.state();
        state.cursors -= 1;
        if state.cursors == 0 && state.transaction.is_none() {
            state.snapshot = None;
        }
    }

    /// The record with a packed key.
    pub(crate) fn find(&self, table: &Table, key: &[u8]) -> Result<Option<Row>> {
        let mut state = self.state();
        let found = match &state.transaction {
            Some(transaction) => table.within(transaction).get(key),
            None => table.at(state.snapshot(&self.db)).get(key),
        };
        found.map_err(|cause| of_engine(&cause))
    }

    /// A cursor over a range of records.
    pub(crate) fn walk(&self, table: &Table, range: &Range) -> Cursor {
        let mut state = self.state();
        match &state.transaction {
            Some(transaction) => range.of(&table.within(transaction)),
            None => range.of(&table.at(state.snapshot(&self.db))),
        }
    }

    /// Begins the transaction, if it has not begun.
    pub(crate) fn begin(&self) -> Result<()> {
        if self.access == Access::Read {
            return Err(error(
                ffi::SQLITE_READONLY,
                "the database of Lode was opened for reading only; open it for writing",
            ));
        }
        let mut state = self.state();
        if state.transaction.is_none() {
            state.transaction = Some(self.db.begin_at(state.snapshot(&self.db)));
        }
        Ok(())
    }

    /// Works in the transaction, which has begun.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction) -> lode::Result<T>) -> Result<T> {
        match &self.state().transaction {
            Some(transaction) => work(transaction).map_err(|cause| of_engine(&cause)),
            None => Err(error(ffi::SQLITE_MISUSE, "there is no transaction of Lode to write in")),
        }
    }

    /// Commits the transaction, if there is one.
    pub(crate) fn commit(&self) -> Result<()> {
        let transaction = self.state().end();
        transaction.map_or(Ok(()), Transaction::commit).map_err(|cause| of_engine(&cause))
    }

    /// Ends the transaction, if there is one; nothing of it happens.
    pub(crate) fn roll_back(&self) {
        drop(self.state().end());
    }

    /// Keeps a point under SQLite's number, unless another table has had it kept.
    pub(crate) fn keep(&self, number: i32) {
        let mut state = self.state();
        let State { transaction: Some(transaction), savepoints, .. } = &mut *state else { return };
        if savepoints.last().is_none_or(|(last, _)| *last < number) {
            savepoints.push((number, transaction.savepoint()));
        }
    }

    /// Goes back to a point, which stays. If it is not kept, SQLite made it before the first write:
    /// then nothing that was written happens.
    pub(crate) fn roll_back_to(&self, number: i32) {
        let mut state = self.state();
        let State { transaction: Some(transaction), savepoints, .. } = &mut *state else { return };
        let at = savepoints.partition_point(|(kept, _)| *kept < number);
        match savepoints.get(at) {
            Some((kept, point)) if *kept == number => {
                transaction.roll_back_to(point);
                savepoints.truncate(at + 1);
            }
            _ => {
                savepoints.clear();
                state.transaction = Some(self.db.begin_at(state.snapshot(&self.db)));
            }
        }
    }

    /// Forgets a point, and those inside it.
    pub(crate) fn release(&self, number: i32) {
        let mut state = self.state();
        let State { transaction: Some(transaction), savepoints, .. } = &mut *state else { return };
        let at = savepoints.partition_point(|(kept, _)| *kept < number);
        if let Some((_, outermost)) = savepoints.drain(at..).next() {
            transaction.release(outermost);
        }
    }
}
