//! A connection of SQLite on a database of Lode: what its statements read, and its transaction.
//!
//! - While a statement reads, there is a snapshot, which all its cursors read at. The last cursor
//!   that is closed lets it go.
//! - What SQLite begins with the first write, is a transaction at such a snapshot: from then on,
//!   cursors read within it.
//! - A statement that reads one record by its key, and a transaction that writes one, need neither:
//!   the engine does that at once. If more comes, the snapshot is taken then, and what was read
//!   must be the same in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lode::{Cursor, Database, ReadTable, Savepoint, Snapshot, Table, Transaction};
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
    /// What was read without a snapshot. There is one at most.
    single: Option<Single>,
    /// One that is of no use any more, but for its buffers.
    spare: Option<Single>,
    writing: Writing,
    /// By SQLite's numbers of them, ascending.
    savepoints: Vec<(i32, Savepoint)>,
}

/// What has been written.
#[derive(Default)]
enum Writing {
    /// No transaction has begun.
    #[default]
    None,
    /// One has begun, and at most one record is to be written.
    Begun(Option<Pending>),
    /// There are several, or what was read is not one record.
    Transaction(Transaction),
}

/// A record that was read as it is now: a statement that reads nothing else needs no snapshot.
struct Single {
    table: Table,
    key: Vec<u8>,
    is_there: bool,
    /// If it is there.
    payload: Vec<u8>,
}

/// A record that is to be written. If nothing is added to it, that needs no transaction.
enum Pending {
    Insert {
        table: Table,
        record: Vec<u8>,
    },
    /// In the place of what was read.
    Replace {
        read: Single,
        record: Vec<u8>,
    },
}

impl Single {
    fn of(table: &Table) -> Self {
        Self { table: table.clone(), key: Vec::new(), is_there: false, payload: Vec::new() }
    }

    fn note(&mut self, key: &[u8], payload: Option<&mut Vec<u8>>) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.is_there = payload.is_some();
        self.payload.clear();
        self.payload.extend_from_slice(payload.map_or(&[], |payload| payload));
    }

    fn is_in(&self, table: &Table) -> bool {
        std::ptr::eq(self.table.schema(), table.schema())
    }

    fn is_of(&self, table: &Table, key: &[u8]) -> bool {
        self.key == key && self.is_in(table)
    }

    /// Refuses to go on if the record is not the same elsewhere.
    fn expect_same_in(&self, table: &impl ReadTable) -> Result<()> {
        let mut payload = Vec::new();
        let is_there = table.get_into(&self.key, &mut payload);
        let is_there = is_there.map_err(|cause| of_engine(&cause))?;
        match is_there == self.is_there && (!is_there || payload == self.payload) {
            true => Ok(()),
            false => Err(self.conflict()),
        }
    }

    /// Writes a payload in the place of the one that was read; false if the record has another.
    fn swap(&self, key: &[u8], new: &[u8]) -> Result<bool> {
        let swapped = self.table.compare_and_swap(key, &self.payload, new);
        swapped.map_err(|cause| of_engine(&cause))
    }

    fn conflict(&self) -> rusqlite::Error {
        conflict(&self.table)
    }
}

/// Another writer was quicker.
fn conflict(table: &Table) -> rusqlite::Error {
    of_engine(&lode::Error::Conflict { table: table.schema().name().into() })
}

impl Pending {
    /// Writes it in a transaction.
    fn write_in(self, transaction: &Transaction) -> Result<()> {
        let written = match &self {
            Self::Insert { table, record } => match transaction.insert(table, record) {
                Ok(false) => return Err(conflict(table)),
                inserted => inserted,
            },
            Self::Replace { read, record } => {
                read.expect_same_in(&read.table.within(transaction))?;
                transaction.upsert(&read.table, record)
            }
        };
        written.map(drop).map_err(|cause| of_engine(&cause))
    }

    /// Writes it by itself. Returns what was read, if anything was.
    fn write(self) -> Result<Option<Single>> {
        match self {
            Self::Insert { table, record } => match table.insert(&record) {
                Ok(true) => Ok(None),
                Ok(false) => Err(conflict(&table)),
                Err(cause) => Err(of_engine(&cause)),
            },
            Self::Replace { read, record } => {
                let (key, new) = record.split_at(read.key.len());
                match read.is_there && read.swap(key, new)? {
                    true => Ok(Some(read)),
                    false => Err(read.conflict()),
                }
            }
        }
    }
}

impl State {
    /// The snapshot that statements read at. What was read before there was one, must be the same
    /// in it.
    fn snapshot(&mut self, db: &Database) -> Result<&Snapshot> {
        if self.snapshot.is_none() {
            let snapshot = db.snapshot();
            if let Some(single) = self.single.take() {
                single.expect_same_in(&single.table.at(&snapshot))?;
            }
            self.snapshot = Some(snapshot);
        }
        Ok(self.snapshot.get_or_insert_with(|| db.snapshot()))
    }

    /// The transaction, if one has begun: with all that is to be written.
    fn transaction(&mut self, db: &Database) -> Result<Option<&Transaction>> {
        if let Writing::Begun(pending) = &mut self.writing {
            let pending = pending.take();
            let transaction = db.begin_at(self.snapshot(db)?);
            if let Some(pending) = pending {
                pending.write_in(&transaction)?;
            }
            self.writing = Writing::Transaction(transaction);
        }
        Ok(match &self.writing {
            Writing::Transaction(transaction) => Some(transaction),
            Writing::None | Writing::Begun(_) => None,
        })
    }

    /// Whether nothing has been read or written yet.
    fn is_fresh(&self) -> bool {
        self.snapshot.is_none()
            && self.single.is_none()
            && matches!(self.writing, Writing::None | Writing::Begun(None))
    }

    fn end(&mut self) -> Writing {
        self.savepoints.clear();
        // What is open still reads at its own clone; what begins from here on sees what is now.
        (self.snapshot, self.single) = (None, None);
        std::mem::take(&mut self.writing)
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
        state.cursors == 1 && matches!(state.writing, Writing::None)
    }

    pub(crate) fn close_cursor(&self) {
        let mut state = self.state();
        state.cursors -= 1;
        if state.cursors == 0 && matches!(state.writing, Writing::None) {
            state.snapshot = None;
            if let Some(single) = state.single.take() {
                state.spare = Some(single);
            }
        }
    }

    /// Copies what the record with a packed key has after it into `payload`; false if there is no
    /// such record.
    pub(crate) fn find(&self, table: &Table, key: &[u8], payload: &mut Vec<u8>) -> Result<bool> {
        let mut state = self.state();
        let found = if state.cursors == 1 && state.is_fresh() {
            table.get_into(key, payload).inspect(|is_there| {
                let spare = state.spare.take().filter(|spare| spare.is_in(table));
                let mut single = spare.unwrap_or_else(|| Single::of(table));
                single.note(key, is_there.then_some(payload));
                state.single = Some(single);
            })
        } else if let Some(transaction) = state.transaction(&self.db)? {
            table.within(transaction).get_into(key, payload)
        } else {
            table.at(state.snapshot(&self.db)?).get_into(key, payload)
        };
        found.map_err(|cause| of_engine(&cause))
    }

    /// A cursor over a range of records.
    pub(crate) fn walk(&self, table: &Table, range: &Range) -> Result<Cursor> {
        let mut state = self.state();
        Ok(match state.transaction(&self.db)? {
            Some(transaction) => range.of(&table.within(transaction)),
            None => range.of(&table.at(state.snapshot(&self.db)?)),
        })
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
        if let Writing::None = state.writing {
            state.writing = Writing::Begun(None);
        }
        Ok(())
    }

    /// Inserts a packed record, which begins with its key; false if there is one with this key.
    pub(crate) fn insert(&self, table: &Table, key_bytes: usize, record: Vec<u8>) -> Result<bool> {
        let mut state = self.state();
        if state.is_fresh() {
            let is_there = table.get_into(&record[..key_bytes], &mut Vec::new());
            let is_there = is_there.map_err(|cause| of_engine(&cause))?;
            if !is_there && let Writing::Begun(pending) = &mut state.writing {
                *pending = Some(Pending::Insert { table: table.clone(), record });
                return Ok(true);
            }
        }
        drop(state);
        self.write(|transaction| transaction.insert(table, &record))
    }

    /// The record with a packed key, to be changed.
    pub(crate) fn read(&self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if let Some(single) = &self.state().single
            && single.is_of(table, key)
        {
            return Ok(single.is_there.then(|| [key, &single.payload].concat()));
        }
        let mut payload = Vec::new();
        let is_there = self.find(table, key, &mut payload)?;
        Ok(is_there.then(|| [key, &payload].concat()))
    }

    /// Writes a packed record in the place of the one with its key, which was read.
    pub(crate) fn replace(&self, table: &Table, key: &[u8], record: Vec<u8>) -> Result<()> {
        let mut state = self.state();
        if let State { single, writing: Writing::Begun(pending), .. } = &mut *state
            && pending.is_none()
            && let Some(read) = single.take_if(|single| single.is_of(table, key))
        {
            *pending = Some(Pending::Replace { read, record });
            return Ok(());
        }
        drop(state);
        self.write(|transaction| transaction.upsert(table, &record).map(drop))
    }

    /// Works in the transaction, which has begun.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction) -> lode::Result<T>) -> Result<T> {
        match self.state().transaction(&self.db)? {
            Some(transaction) => work(transaction).map_err(|cause| of_engine(&cause)),
            None => Err(error(ffi::SQLITE_MISUSE, "there is no transaction of Lode to write in")),
        }
    }

    /// Commits the transaction, if there is one.
    pub(crate) fn commit(&self) -> Result<()> {
        let writing = self.state().end();
        match writing {
            Writing::None | Writing::Begun(None) => Ok(()),
            Writing::Begun(Some(pending)) => {
                if let Some(read) = pending.write()? {
                    self.state().spare = Some(read);
                }
                Ok(())
            }
            Writing::Transaction(transaction) => {
                transaction.commit().map_err(|cause| of_engine(&cause))
            }
        }
    }

    /// Ends the transaction, if there is one; nothing of it happens.
    pub(crate) fn roll_back(&self) {
        drop(self.state().end());
    }

    /// Keeps a point under SQLite's number, unless another table has had it kept.
    pub(crate) fn keep(&self, number: i32) -> Result<()> {
        let mut state = self.state();
        if state.savepoints.last().is_some_and(|(last, _)| *last >= number) {
            return Ok(());
        }
        if let Some(transaction) = state.transaction(&self.db)? {
            let point = transaction.savepoint();
            state.savepoints.push((number, point));
        }
        Ok(())
    }

    /// Goes back to a point, which stays. If it is not kept, SQLite made it before the first write:
    /// then nothing that was written happens.
    pub(crate) fn roll_back_to(&self, number: i32) {
        let mut state = self.state();
        let State { writing, savepoints, .. } = &mut *state;
        let at = savepoints.partition_point(|(kept, _)| *kept < number);
        match (writing, savepoints.get(at)) {
            (Writing::None, _) => {}
            (Writing::Transaction(transaction), Some((kept, point))) if *kept == number => {
                transaction.roll_back_to(point);
                savepoints.truncate(at + 1);
            }
            (writing, _) => {
                // What comes reads at the same moment, if there is one.
                *writing = Writing::Begun(None);
                savepoints.clear();
            }
        }
    }

    /// Forgets a point, and those inside it.
    pub(crate) fn release(&self, number: i32) {
        let mut state = self.state();
        let State { writing: Writing::Transaction(transaction), savepoints, .. } = &mut *state
        else {
            return;
        };
        let at = savepoints.partition_point(|(kept, _)| *kept < number);
        if let Some((_, outermost)) = savepoints.drain(at..).next() {
            transaction.release(outermost);
        }
    }
}
