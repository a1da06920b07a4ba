//! Write transactions: their writes wait in memory until the commit, and the records that they read
//! must still be the same then (optimistic concurrency control with backward validation: Härder,
//! Observations on Optimistic Concurrency Control Schemes, Information Systems 9(2), 1984).

mod moment;
mod room;
mod savepoint;
mod touched;

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

pub use savepoint::Savepoint;
use savepoint::Savepoints;
use touched::Touched;

use crate::api::cursor::Written;
use crate::api::read::with_key;
use crate::api::steps::{Step, Steps};
use crate::api::table::{Table, expect_not_changing};
use crate::api::{Key, Snapshot};
use crate::engine::{CommitSize, Handle, Loan};
use crate::error::{Error, Result};
use crate::hash::AHEAD;
use crate::schema::ColumnId;
use crate::store::{Durability, Store};
use crate::table::{FetchFor, KeyKind, TableCore};
use crate::tree::Range;
use crate::wal::LogPosition;

/// A transaction. Until [`commit`](Self::commit) only the transaction sees what it wrote; if it is
/// dropped without one, it has written nothing.
///
/// Transactions do not wait for each other. If another writer has changed a record that the
/// transaction looked up by its key, or wrote, its commit returns [`Error::Conflict`] and nothing
/// of it happens: run it again. The commit does not check again what was read by a cursor, by `len`
/// or by `is_empty`.
///
/// It keeps what it reads and writes in memory, so it is used by one thread at a time.
/// [`Table::within`] is a table as it sees it.
///
/// ```
/// use lode::{Database, Error, KeyKind, ReadTable, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("account").key("id", Type::U64).column("cents", Type::I64).finish()?;
/// let accounts = db.create_table(&schema, KeyKind::Hash)?;
/// for id in 0..2 {
///     accounts.insert(&schema.pack(&[Value::Unsigned(id), Value::Signed(100)])?)?;
/// }
///
/// // Ten cents from one to the other, or nothing.
/// let (cents, transaction) = (schema.column("cents")?, db.begin());
/// for (id, sum) in [(0, 90i64), (1, 110)] {
///     assert!(accounts.within(&transaction).contains(id)?);
///     transaction.update(&accounts, id, cents, &sum.to_le_bytes())?;
/// }
/// accounts.delete(1)?;
/// assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })));
/// let first = accounts.get(0)?.expect("nothing of it happened");
/// assert_eq!(first.at(cents), Value::Signed(100));
/// # Ok::<(), lode::Error>(())
/// ```
pub struct Transaction {
    db: Handle,
    tables: RefCell<Vec<Touched>>,
    savepoints: RefCell<Savepoints>,
    /// The moment that it reads at; `None` if it reads the current records.
    snapshot: Option<Snapshot>,
    /// The memory that it holds.
    loan: RefCell<Loan>,
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").finish_non_exhaustive()
    }
}

/// A record that a transaction has read or written: the place of its table, and its number there.
#[derive(Clone, Copy)]
struct Place {
    table: usize,
    number: usize,
}

impl Transaction {
    pub(crate) fn new(db: Handle, snapshot: Option<Snapshot>) -> Self {
        let tables = RefCell::default();
        let savepoints = RefCell::default();
        let loan = RefCell::new(Loan::new(db.clone()));
        Self { db, tables, savepoints, snapshot, loan }
    }

    /// Returns the place of the record with a packed key, as this transaction has seen it.
    fn record(&self, table: &Table, key: &[u8]) -> Result<Place> {
        let core = table.core();
        core.schema().expect_key(key)?;
        self.expect_own(table)?;
        let mut tables = self.tables.borrow_mut();
        let place = place_of(&mut tables, core);
        core.in_order(key, |ordered| {
            if let Some(number) = tables[place].find(ordered) {
                return Ok(Place { table: place, number });
            }
            let mut payload = Vec::new();
            let is_there = match &self.snapshot {
                Some(snapshot) => snapshot.read_into(table, key, &mut payload)?,
                None => table.read_into(key, &mut payload)?,
            };
            let seen = is_there.then_some(&payload[..]);
            let more_bytes = key.len() + seen.map_or(0, <[u8]>::len);
            self.expect_room(&tables, &self.savepoints.borrow(), more_bytes)?;
            let number = tables[place].note(ordered, seen);
            Ok(Place { table: place, number })
        })
    }

    /// Returns true if a record exists for the transaction.
    fn is_there(&self, place: Place) -> bool {
        self.tables.borrow()[place.table].current(place.number).is_some()
    }

    pub(super) fn expect_own(&self, table: &Table) -> Result<()> {
        if self.db.is_same(table.database()) {
            Ok(())
        } else {
            let table = table.schema().name().into();
            Err(Error::OtherDatabase { table, reader: "transaction" })
        }
    }

    /// Copies a record's payload, as the transaction sees it, into the caller's buffer, in place of
    /// its content. Returns false if there is no such record.
    pub(super) fn read_into(
        &self,
        table: &Table,
        key: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        if !table.core().can_have(key)? {
            return Ok(false);
        }
        if let Some(snapshot) = &self.snapshot
            && !self.has_written(table, key)?
        {
            return snapshot.read_into(table, key, payload);
        }
        let place = self.record(table, key)?;
        let tables = self.tables.borrow();
        let current = tables[place.table].current(place.number);
        payload.clear();
        payload.extend_from_slice(current.unwrap_or_default());
        Ok(current.is_some())
    }

    /// Copies the records that were written in a table: all, or those in a range of keys.
    ///
    /// # Errors
    /// `TxnTooLarge` when the budget has no memory for the copy.
    pub(super) fn written(&self, core: &TableCore, range: Option<&Range>) -> Result<Written> {
        let tables = self.tables.borrow();
        let mut loan = Loan::new(self.db.clone());
        let touched = tables.iter().find(|touched| touched.core().id() == core.id());
        let records = match touched.filter(|touched| touched.written_size().records > 0) {
            Some(touched) => {
                loan.grow_to(touched.copy_bytes())?;
                touched.written(range)
            }
            None => Vec::new(),
        };
        Ok(Written { records, _loan: loan })
    }

    /// Inserts a packed record; returns false if there is one with its key.
    ///
    /// # Errors
    /// `NotPacked`, `ValueTooLong`, `RecordTooLong` and `KeyTooLong` when it is no record of the
    /// table; `TxnTooLarge`; and those of [reading](super::ReadTable#errors).
    pub fn insert(&self, table: &Table, record: &[u8]) -> Result<bool> {
        let (key, payload) = table.core().split(record)?;
        let place = self.record(table, key)?;
        if self.is_there(place) {
            return Ok(false);
        }
        self.put(place, payload)?;
        Ok(true)
    }

    /// Writes a packed record, and replaces one with its key. Returns true if there was one.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn upsert(&self, table: &Table, record: &[u8]) -> Result<bool> {
        let (key, payload) = table.core().split(record)?;
        let place = self.record(table, key)?;
        let was_there = self.is_there(place);
        self.put(place, payload)?;
        Ok(was_there)
    }

    /// Sets a column as [`Table::update`] does; returns false if there is no such record.
    ///
    /// # Errors
    /// As [`Table::update`] and [`insert`](Self::insert).
    pub fn update(
        &self,
        table: &Table,
        key: impl Key,
        column: ColumnId,
        bytes: &[u8],
    ) -> Result<bool> {
        with_key(table, key, |key| self.update_packed(table, key, column, bytes))
    }

    fn update_packed(
        &self,
        table: &Table,
        key: &[u8],
        column: ColumnId,
        bytes: &[u8],
    ) -> Result<bool> {
        table.core().column_to_set(column)?;
        let mut payload = Vec::new();
        if !self.read_into(table, key, &mut payload)? {
            return Ok(false);
        }
        table.schema().replace(&mut payload, column, bytes)?;
        self.put(self.record(table, key)?, &payload)?;
        Ok(true)
    }

    /// Deletes a record; returns false if it is missing.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn delete(&self, table: &Table, key: impl Key) -> Result<bool> {
        with_key(table, key, |key| self.delete_packed(table, key))
    }

    fn delete_packed(&self, table: &Table, key: &[u8]) -> Result<bool> {
        if !table.core().can_have(key)? {
            return Ok(false);
        }
        let place = self.record(table, key)?;
        let was_there = self.is_there(place);
        if was_there {
            let mut tables = self.tables.borrow_mut();
            let mut savepoints = self.savepoints.borrow_mut();
            self.expect_room(&tables, &savepoints, 0)?;
            self.expect_pages(&mut tables, place, None)?;
            savepoints.note(&tables, place);
            tables[place.table].delete(place.number);
        }
        Ok(was_there)
    }

    fn put(&self, place: Place, payload: &[u8]) -> Result<()> {
        let mut tables = self.tables.borrow_mut();
        let mut savepoints = self.savepoints.borrow_mut();
        self.expect_room(&tables, &savepoints, payload.len())?;
        self.expect_pages(&mut tables, place, Some(payload))?;
        let overwrite = savepoints.note(&tables, place);
        tables[place.table].put(place.number, payload, overwrite);
        Ok(())
    }

    /// Applies all writes together, as durable as the database's operations are.
    ///
    /// # Errors
    /// `Conflict` when a record has changed since the transaction saw it, `Full` when there is no
    /// memory for it, `DiskFull`: in these cases nothing happens. `Poisoned` when making it durable
    /// fails: it may be there when the database is opened again. [`Error::effect`] says which it
    /// is.
    pub fn commit(self) -> Result<()> {
        let commit = self.into_commit();
        let end = commit.apply()?;
        commit.db.acknowledge(end).map_err(Error::after_effect)
    }

    /// Commits the transaction, durable at `level` at least. In a database of [`Durability::None`],
    /// which has no log, that takes a checkpoint. One of [`Durability::Process`] syncs its log for
    /// [`Durability::Periodic`] too: it has no thread that would do so later.
    ///
    /// # Errors
    /// As [`commit`](Self::commit). `NotDurable` when that checkpoint fails: the transaction has
    /// happened and stays, so it must not be repeated.
    pub fn commit_with(self, level: Durability) -> Result<()> {
        let commit = self.into_commit();
        let end = commit.apply()?;
        let Some(store) = commit.db.store() else { return Ok(()) };
        let made_durable = match (store.level, level) {
            (_, Durability::None) => Ok(()),
            (Durability::None, _) => commit.db.checkpoint(),
            (Durability::Commit, _) | (_, Durability::Commit) => store.sync(end),
            (Durability::Process, Durability::Periodic) => store.sync(end),
            (Durability::Process | Durability::Periodic, _) => Ok(()),
        };
        made_durable.map_err(Error::after_effect)
    }

    /// Returns true if a record has changed since the transaction saw it.
    pub(super) fn has_conflict(self) -> bool {
        let commit = self.into_commit();
        if commit.db.expect_here().is_err() {
            // The gate may be closed by a thread that this process does not have.
            return false;
        }
        let _alone = commit.db.gate().close();
        let has_changed = |touched: &Touched| commit.expect_seen(touched, 0..touched.count());
        let mut seen = commit.tables.iter().map(has_changed);
        seen.any(|seen| matches!(seen, Err(Error::Conflict { .. })))
    }

    fn into_commit(self) -> Commit {
        let tables = self.tables.into_inner();
        Commit { db: self.db, tables, _loan: self.loan.into_inner() }
    }
}

/// Returns the place of a table in the list of a transaction, and adds it if it is missing.
fn place_of(tables: &mut Vec<Touched>, core: &Arc<TableCore>) -> usize {
    let is_it = |touched: &Touched| touched.core().id() == core.id();
    tables.iter().position(is_it).unwrap_or_else(|| {
        tables.push(Touched::new(Arc::clone(core)));
        tables.len() - 1
    })
}

/// The reads and writes of a transaction, during its commit.
struct Commit {
    db: Handle,
    tables: Vec<Touched>,
    /// The memory of the tables and of the steps.
    _loan: Loan,
}

impl Commit {
    /// Applies all writes; returns where they end in the log.
    fn apply(&self) -> Result<LogPosition> {
        let order = self.order();
        for place in &order {
            let touched = &self.tables[place.table];
            expect_not_changing(touched.core(), touched.key(place.number))?;
        }
        if order.is_empty() && self.db.store().is_some_and(Store::is_read_only) {
            // What was read cannot change.
            return Ok(LogPosition::default());
        }
        let bytes = self.tables.iter().map(|touched| touched.written_size().bytes).sum();
        let size = CommitSize { records: order.len(), bytes };
        self.db.admitted_alone(size, &mut || {
            self.validate()?;
            let mut steps = Steps::new(&self.db, order.len());
            let all = self.write_all(&order, &mut steps);
            steps.end(all).map(|((), end)| end)
        })
    }

    /// Returns the places of the writes, in the order of writing: that of the keys in trees.
    fn order(&self) -> Vec<Place> {
        let mut order = Vec::new();
        for (table, touched) in self.tables.iter().enumerate() {
            let mut add = |number: usize| {
                if touched.wanted(number).is_some() {
                    order.push(Place { table, number });
                }
            };
            match touched.core().definition().kind {
                KeyKind::Hash => (0..touched.count()).for_each(add),
                KeyKind::Tree => {
                    touched.in_order().into_iter().for_each(|number| add(number as usize));
                }
            }
        }
        order
    }

    /// Checks that all records that were only read are still as they were seen.
    fn validate(&self) -> Result<()> {
        for touched in &self.tables {
            let read = (0..touched.count()).filter(|number| touched.wanted(*number).is_none());
            self.expect_seen(touched, read)?;
        }
        Ok(())
    }

    /// Refuses records that are not as they were seen.
    fn expect_seen(&self, touched: &Touched, numbers: impl Iterator<Item = usize>) -> Result<()> {
        touched.core().ensure_open()?;
        for number in numbers {
            let found = touched.core().payload_of(self.db.pager(), touched.key(number))?;
            if found.as_deref() != touched.seen(number) {
                return Err(conflict(touched.core()));
            }
        }
        Ok(())
    }

    /// Writes all records; fails if one is not as it was seen.
    fn write_all<'c>(&'c self, order: &[Place], steps: &mut Steps<'c>) -> Result<()> {
        for place in order {
            let touched = &self.tables[place.table];
            let core = touched.core();
            let number = place.number;
            if number.is_multiple_of(AHEAD) {
                // Has the processor fetch what the next ones need at the same time, if numbers are
                // in order.
                let ahead = number..(number + AHEAD).min(touched.count());
                let keys = ahead.map(|number| touched.key(number));
                core.fetch(self.db.pager(), keys, FetchFor::Insert);
            }
            let step = Step {
                core,
                key: touched.key(number),
                seen: touched.seen(number).map(Cow::Borrowed),
                wanted: touched.wanted(number).flatten(),
            };
            if !steps.take(step)? {
                return Err(conflict(core));
            }
        }
        Ok(())
    }
}

/// Returns the error that another thread has changed a record.
fn conflict(core: &TableCore) -> Error {
    Error::Conflict { table: core.schema().name().into() }
}
