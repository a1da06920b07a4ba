//! A connection of SQLite on a database of Lode: what its statements read, and its transaction.
//!
//! - While a statement reads, there is a snapshot, which all its cursors read at. The last cursor
//!   that is closed lets it go.
//! - A transaction that SQLite starts with the first write is at such a snapshot: from then on,
//!   cursors read within it. A transaction that the user starts is at the moment of its first
//!   statement, also if that reads. All that its statements read is read within it, so that the
//!   commit looks at it again.
//! - A statement that reads one record by its key, and a transaction that writes one, need neither:
//!   the engine does that at once. If more comes, the snapshot is taken then, and what was read
//!   must be the same in it.

pub(crate) mod confined;
pub(crate) mod directories;
pub(crate) mod lease;
pub(crate) mod single;

use std::cell::RefMut;
use std::collections::HashMap;
use std::sync::Arc;

use lode::{
    ByIndex, Cursor, Database, IndexKeys, IndexSchema, ReadTable, Savepoint, Snapshot, Table,
    Transaction,
};
use rusqlite::{Result, ffi};

use crate::error::{error, of_engine};
use crate::plan::range::Range;
use crate::plan::secondary::{Secondary, Values};
use crate::plan::transient::Moment;
use crate::session::confined::Confined;
use crate::session::lease::{Access, Lease};
use crate::session::single::{MOST_KEPT_BYTES, Single, complete, complete_now, conflict};

/// A database as one connection uses it.
pub(crate) struct Session {
    db: Database,
    access: Access,
    state: Confined<State>,
    /// The lease that keeps the database open, if it is to be closed after this.
    _lease: Option<Lease>,
}

#[derive(Default)]
struct State {
    /// Cursors that are open.
    cursors: usize,
    snapshot: Option<Snapshot>,
    /// The record that was read without a snapshot. At most one exists.
    single: Option<Box<Single>>,
    /// A record that is of no more use, but for its memory.
    spare: Option<Box<Single>>,
    /// Memory for lookups.
    payload: Vec<u8>,
    writing: Writing,
    /// The savepoints by SQLite's numbers of them, ascending.
    savepoints: Vec<(i32, Savepoint)>,
    /// The number of times that what is read may have become another moment.
    moments: u64,
    /// The number of writes to each table.
    writes: HashMap<usize, u64>,
    /// True if a statement of the user's transaction may have read outside of the session's.
    has_read_apart: bool,
}

/// The writes of the session.
#[derive(Default)]
enum Writing {
    /// No transaction.
    #[default]
    None,
    /// A transaction with at most one record to write.
    Begun(Option<Box<Single>>),
    /// A transaction with several records, or what was read is not one record.
    Transaction(Box<Transaction>),
    /// The table of a write that could not be taken into a transaction, so nothing of it can be
    /// committed.
    Lost(Table),
}

impl State {
    /// Returns the snapshot that statements read at. If a record was read before the snapshot
    /// existed, the record must be the same in it.
    fn snapshot(&mut self, db: &Database) -> Result<&Snapshot> {
        if self.snapshot.is_none() {
            let snapshot = db.snapshot();
            // Only a transaction needs it once more.
            let spent =
                if matches!(self.writing, Writing::None) { self.single.take() } else { None };
            if let Some(single) = spent.as_ref().or(self.single.as_ref()) {
                single.expect_same_in(&single.table().at(&snapshot))?;
            }
            self.snapshot = Some(snapshot);
        }
        Ok(self.snapshot.get_or_insert_with(|| db.snapshot()))
    }

    /// Returns the transaction, if there is one: with all that was read and is to be written.
    fn transaction(&mut self, db: &Database) -> Result<Option<&Transaction>> {
        if let Writing::Begun(_) = self.writing {
            let transaction = db.begin_at(self.snapshot(db)?);
            let begun = std::mem::take(&mut self.writing);
            let pending = if let Writing::Begun(pending) = begun { pending } else { None };
            let read = self.single.take();
            // The commit has to look at both again.
            let taken = read.iter().try_for_each(|read| read.read_in(&transaction));
            let taken = taken
                .and_then(|()| pending.iter().try_for_each(|record| record.write_in(&transaction)));
            self.writing = match (&taken, pending.or(read)) {
                (Err(_), Some(record)) => Writing::Lost(record.table().clone()),
                _ => Writing::Transaction(Box::new(transaction)),
            };
            taken?;
        }
        match &self.writing {
            Writing::Transaction(transaction) => Ok(Some(transaction)),
            Writing::Lost(table) => Err(conflict(table)),
            Writing::None | Writing::Begun(_) => Ok(None),
        }
    }

    /// Returns a record that is to be read in a table.
    fn single(&mut self, table: &Table) -> Box<Single> {
        let spare = self.spare.take().filter(|spare| spare.is_in(table));
        spare.unwrap_or_else(|| Box::new(Single::of(table)))
    }

    /// Keeps the memory of a record for the next one.
    fn keep(&mut self, mut single: Box<Single>) {
        single.shrink();
        self.payload.shrink_to(MOST_KEPT_BYTES);
        self.spare = Some(single);
    }

    /// Returns true if nothing has been read or written yet.
    fn is_fresh(&self) -> bool {
        self.snapshot.is_none()
            && self.single.is_none()
            && matches!(self.writing, Writing::None | Writing::Begun(None))
    }

    /// Notes that a table is written to.
    fn note_write(&mut self, table: &Table) {
        *self.writes.entry(identity(table)).or_default() += 1;
    }

    fn end(&mut self) -> Writing {
        self.savepoints.clear();
        self.writes.clear();
        self.has_read_apart = false;
        self.forget_moment();
        std::mem::take(&mut self.writing)
    }

    /// Forgets the moment of statements. Open cursors still read at their own clones of it; cursors
    /// that start from here on read at a new one.
    fn forget_moment(&mut self) {
        (self.snapshot, self.single) = (None, None);
        self.moments += 1;
    }
}

/// Returns a number that identifies a table.
fn identity(table: &Table) -> usize {
    std::ptr::from_ref(table.schema()).addr()
}

impl Session {
    pub(crate) fn new(db: Database, access: Access) -> Arc<Self> {
        Arc::new(Self { db, access, state: Confined::new(State::default()), _lease: None })
    }

    pub(crate) fn leased(db: Database, access: Access, lease: Lease) -> Arc<Self> {
        Arc::new(Self { db, access, state: Confined::new(State::default()), _lease: Some(lease) })
    }

    pub(crate) fn db(&self) -> &Database {
        &self.db
    }

    fn state(&self) -> RefMut<'_, State> {
        self.state.borrow()
    }

    /// Notes that a cursor is opened. Returns true if it is the only one, outside of a transaction.
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
            state.moments += 1;
            if let Some(single) = state.single.take() {
                state.keep(single);
            }
        }
    }

    /// Appends to a packed key what its record has after it; returns false if the record is
    /// missing.
    pub(crate) fn find(&self, table: &Table, record: &mut Vec<u8>) -> Result<bool> {
        let state = &mut *self.state();
        if state.cursors == 1 && state.is_fresh() {
            let key_bytes = record.len();
            let is_there = complete_now(table, record, &mut state.payload)?;
            let mut single = state.single(table);
            single.note(record, key_bytes, is_there);
            state.single = Some(single);
            return Ok(is_there);
        }
        let mut payload = std::mem::take(&mut state.payload);
        let is_there = match state.transaction(&self.db)? {
            Some(transaction) => complete(&table.within(transaction), record, &mut payload)?,
            None => complete(&table.at(state.snapshot(&self.db)?), record, &mut payload)?,
        };
        state.payload = payload;
        Ok(is_there)
    }

    /// Returns a cursor over a range of records.
    pub(crate) fn walk(&self, table: &Table, range: &Range) -> Result<Cursor> {
        let mut state = self.state();
        Ok(match state.transaction(&self.db)? {
            Some(transaction) => range.of(&table.within(transaction)),
            None => range.of(&table.at(state.snapshot(&self.db)?)),
        })
    }

    /// Returns the keys of the records that a secondary index has in a range of values.
    ///
    /// # Errors
    /// `SQLITE_SCHEMA`, after which SQLite plans the statement again, when there is no such index
    /// any more.
    pub(crate) fn keys_by(
        &self,
        table: &Table,
        secondary: &Secondary,
        range: &Values<'_>,
    ) -> Result<IndexKeys> {
        let (lower, upper) = range;
        let mut state = self.state();
        let bounds = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
        let keys = |by: lode::Result<ByIndex<'_>>| {
            let cursor = by?.range_of_values(bounds.0, bounds.1);
            Ok(if secondary.is_backward { cursor.rev().keys() } else { cursor.keys() })
        };
        let keys = match state.transaction(&self.db)? {
            Some(transaction) => keys(table.within(transaction).by(&secondary.name)),
            None => keys(table.at(state.snapshot(&self.db)?).by(&secondary.name)),
        };
        keys.map_err(|cause| match cause {
            lode::Error::NoIndex { .. } => error(ffi::SQLITE_SCHEMA, cause.to_string()),
            cause => of_engine(&cause),
        })
    }

    /// Returns the secondary indexes of a table that statements can use now.
    pub(crate) fn indexes(&self, table: &Table) -> Result<Vec<IndexSchema>> {
        if !table.has_indexes() {
            return Ok(Vec::new());
        }
        let mut indexes = table.indexes().map_err(|cause| of_engine(&cause))?;
        let state = self.state();
        match (&state.writing, &state.snapshot) {
            (Writing::Transaction(transaction), _) => {
                let within = table.within(transaction);
                indexes.retain(|index| within.by(index.name()).is_ok());
            }
            (_, Some(snapshot)) => {
                let at = table.at(snapshot);
                indexes.retain(|index| at.by(index.name()).is_ok());
            }
            _ => {}
        }
        Ok(indexes)
    }

    /// Returns the number of records of a table.
    pub(crate) fn count(&self, table: &Table) -> Result<u64> {
        let state = &mut *self.state();
        let count = match state.transaction(&self.db)? {
            Some(transaction) => table.within(transaction).len(),
            None => table.at(state.snapshot(&self.db)?).len(),
        };
        count.map_err(|cause| of_engine(&cause))
    }

    /// Returns about how many records a table has: those of the database, and one for each write of
    /// the transaction.
    pub(crate) fn about(&self, table: &Table) -> Result<u64> {
        let rows = table.len_estimate().map_err(|cause| of_engine(&cause))?;
        Ok(rows.saturating_add(self.moment(table).writes))
    }

    /// Returns the moment at which a table is read.
    pub(crate) fn moment(&self, table: &Table) -> Moment {
        let state = self.state();
        let writes = state.writes.get(&identity(table)).copied().unwrap_or_default();
        Moment { snapshot: state.moments, writes }
    }

    /// Refuses to write to what was opened for reading only.
    pub(crate) fn expect_writable(&self) -> Result<()> {
        match self.access {
            Access::Write => Ok(()),
            Access::Read => Err(error(
                ffi::SQLITE_READONLY,
                "the database of Lode was opened for reading only; open it for writing",
            )),
        }
    }

    /// Returns true inside a transaction.
    pub(crate) fn has_begun(&self) -> bool {
        !matches!(self.state().writing, Writing::None)
    }

    /// Starts a transaction with a table, unless there is one. Nothing of it can be committed if
    /// the user's transaction has read outside of it.
    pub(crate) fn begin(&self, table: &Table) {
        let mut state = self.state();
        if let Writing::None = state.writing {
            // What statements have read that were open before is no part of it.
            state.forget_moment();
            state.writing = if state.has_read_apart {
                Writing::Lost(table.clone())
            } else {
                Writing::Begun(None)
            };
        }
    }

    /// Notes whether the statement that starts now reads in a transaction of the user that the
    /// session takes no part in.
    pub(crate) fn note_apart(&self, is_apart: bool) {
        self.state().has_read_apart = is_apart;
    }

    /// Has the transaction read at this moment, unless it reads at one already.
    pub(crate) fn fix_moment(&self) {
        let mut state = self.state();
        if state.is_fresh() {
            state.snapshot = Some(self.db.snapshot());
        }
    }

    /// Inserts a packed record, which starts with its key; returns false if the key is there.
    pub(crate) fn insert(&self, table: &Table, key_bytes: usize, record: &[u8]) -> Result<bool> {
        self.expect_writable()?;
        let mut state = self.state();
        // A unique index refuses a record at the statement, and so within the transaction.
        if state.is_fresh() && !table.has_indexes() {
            let mut single = state.single(table);
            let is_there = single.read(&record[..key_bytes], &mut state.payload)?;
            if !is_there && let Writing::Begun(pending) = &mut state.writing {
                single.set_new(record);
                *pending = Some(single);
                state.note_write(table);
                return Ok(true);
            }
            state.keep(single);
        }
        drop(state);
        self.write(table, |transaction| transaction.insert(table, record))
    }

    /// Completes the record of a packed key, which is to be changed; returns false if it is
    /// missing.
    pub(crate) fn read(&self, table: &Table, record: &mut Vec<u8>) -> Result<bool> {
        if let Some(single) = &self.state().single
            && single.is_of(table, record)
        {
            let found = single.record();
            record.clear();
            record.extend_from_slice(found.unwrap_or_default());
            return Ok(found.is_some());
        }
        self.find(table, record)
    }

    /// Writes a packed record in the place of the one with its key, which was read.
    pub(crate) fn replace(&self, table: &Table, key: &[u8], record: &[u8]) -> Result<()> {
        self.expect_writable()?;
        let mut state = self.state();
        if let State { single, writing: Writing::Begun(pending), .. } = &mut *state
            && pending.is_none()
            && !table.has_indexes()
            && let Some(mut read) = single.take_if(|single| single.is_of(table, key))
        {
            read.set_new(record);
            *pending = Some(read);
            state.note_write(table);
            return Ok(());
        }
        drop(state);
        self.write(table, |transaction| transaction.upsert(table, record).map(drop))
    }

    /// Writes to a table in the transaction.
    pub(crate) fn write<T>(
        &self,
        table: &Table,
        work: impl FnOnce(&Transaction) -> lode::Result<T>,
    ) -> Result<T> {
        self.expect_writable()?;
        let mut state = self.state();
        state.note_write(table);
        match state.transaction(&self.db)? {
            Some(transaction) => work(transaction).map_err(|cause| of_engine(&cause)),
            None => Err(error(ffi::SQLITE_MISUSE, "there is no transaction of Lode to write in")),
        }
    }

    /// Commits the transaction, if there is one.
    pub(crate) fn commit(&self) -> Result<()> {
        let mut state = self.state();
        match state.end() {
            Writing::None | Writing::Begun(None) => Ok(()),
            Writing::Begun(Some(pending)) => {
                pending.write()?;
                state.keep(pending);
                Ok(())
            }
            Writing::Transaction(transaction) => {
                transaction.commit().map_err(|cause| of_engine(&cause))
            }
            Writing::Lost(table) => Err(conflict(&table)),
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

    /// Rolls back to a point, which stays. If it is not kept, SQLite made it before the first
    /// write: then nothing that was written happens. What was read stays read.
    pub(crate) fn roll_back_to(&self, number: i32) {
        let mut state = self.state();
        state.moments += 1;
        let State { writing, savepoints, single, .. } = &mut *state;
        let at = savepoints.partition_point(|(kept, _)| *kept < number);
        match (writing, savepoints.get(at)) {
            (Writing::None | Writing::Lost(_), _) => {}
            (Writing::Transaction(transaction), Some((kept, point))) if *kept == number => {
                transaction.roll_back_to(point);
                savepoints.truncate(at + 1);
            }
            (Writing::Transaction(transaction), _) => {
                transaction.roll_back_all();
                savepoints.clear();
            }
            (Writing::Begun(pending), _) => {
                if let Some(pending) = pending.take() {
                    debug_assert!(single.is_none(), "a transaction has one record outside of it");
                    *single = Some(pending);
                }
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
