//! Transactions: their writes wait in memory until the commit, and all that they have read must
//! still be the same then. (Optimistic concurrency control with backward validation: Härder,
//! Observations on Optimistic Concurrency Control Schemes, Information Systems 9(2), 1984.)

mod commit;
mod indexed;
mod lifetime;
mod moment;
mod room;
mod savepoint;
mod scans;
mod touched;

use std::cell::RefCell;
use std::sync::Arc;

use commit::Commit;
pub(super) use lifetime::Lifetime;
use lifetime::Lifetimes;
use moment::Moment;
pub use savepoint::Savepoint;
use savepoint::Savepoints;
pub(super) use scans::Scan;
use scans::{Needed, Scans};
use touched::Touched;

use crate::api::cursor::Written;
use crate::api::read::with_key;
use crate::api::table::Table;
use crate::api::{Key, ReadTable, Snapshot};
use crate::engine::{Handle, Loan};
use crate::error::{Error, Result};
use crate::observability::Work;
use crate::schema::ColumnId;
use crate::store::Durability;
use crate::table::TableCore;
use crate::tree::Range;
use crate::wal::LogPosition;

/// A transaction. Until [`commit`](Self::commit) only the transaction sees what it wrote; if it is
/// dropped without one, it has written nothing.
///
/// Transactions are serializable: they have happened one after another, in an order that agrees
/// with real time. They do not wait for each other. If another writer has changed what the
/// transaction has read or writes, its commit returns [`Error::Conflict`] and nothing of it
/// happens: run it again. Reads by key, by a cursor, by `len` and by `is_empty` count. A
/// transaction that has written nothing is committed without a check.
///
/// All that it reads is of one moment after its start. After a change of what it has read, a read
/// or a write may return `Conflict` before the commit does; nothing of the transaction can be
/// committed then.
///
/// A cursor that was dropped before its end has read what is before its last row; in a hashed
/// table, all records of the same page, too.
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
    scans: RefCell<Scans>,
    moment: Moment,
    lifetimes: Lifetimes,
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
        let scans = RefCell::default();
        let moment = Moment::new(snapshot);
        let loan = RefCell::new(Loan::new(db.clone()));
        let lifetimes = Lifetimes::default();
        Self { db, tables, savepoints, scans, moment, lifetimes, loan }
    }

    /// Returns the place of the record with a packed key, as this transaction has seen it.
    fn record(&self, table: &Table, key: &[u8]) -> Result<Place> {
        let core = table.core();
        core.schema().expect_key(key)?;
        self.expect_own(table)?;
        self.moment.expect_complete()?;
        let mut tables = self.tables.borrow_mut();
        let place = place_of(&mut tables, core);
        core.in_order(key, |ordered| {
            if let Some(number) = tables[place].find(ordered) {
                return Ok(Place { table: place, number });
            }
            let mut payload = Vec::new();
            let is_there = self.read_new(&tables, table, key, &mut payload)?;
            let seen = is_there.then_some(&payload[..]);
            let more_bytes = key.len() + seen.map_or(0, <[u8]>::len);
            self.expect_room(&tables, &self.savepoints.borrow(), more_bytes)?;
            let number = tables[place].note(ordered, seen);
            Ok(Place { table: place, number })
        })
    }

    /// Returns true if a record exists for the transaction.
    fn is_there(&self, table: &Table, place: Place) -> Result<bool> {
        let tables = self.tables.borrow();
        let current = tables[place.table].current(place.number);
        current.map_or(Ok(false), |payload| self.is_found(table, payload))
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
        let needs_no_notes = self.moment.needs_no_notes()
            || (self.is_read_only() && self.tables.borrow().is_empty());
        if needs_no_notes {
            self.expect_own(table)?;
            let is_there = self.read_at_moment(&self.tables.borrow(), table, key, payload)?;
            return Ok(is_there && self.is_found(table, payload)?);
        }
        let place = match self.record(table, key) {
            Err(Error::TxnTooLarge { most_bytes }) if self.forget_reads(most_bytes)? => {
                return self.read_into(table, key, payload);
            }
            place => place?,
        };
        let tables = self.tables.borrow();
        let current = tables[place.table].current(place.number);
        payload.clear();
        payload.extend_from_slice(current.unwrap_or_default());
        Ok(current.is_some() && self.is_found(table, payload)?)
    }

    /// Copies the records that were written in a table: all, or those in a range of keys.
    ///
    /// # Errors
    /// `TxnTooLarge` when the budget has no memory for the copy.
    pub(super) fn written(&self, core: &TableCore, range: Option<&Range>) -> Result<Written> {
        let tables = self.tables.borrow();
        let mut loan = Loan::new(self.db.clone());
        let touched = tables.iter().find(|touched| touched.core().is(core));
        let records = match touched.filter(|touched| touched.written_size().records > 0) {
            Some(touched) => {
                loan.grow_to(touched.copy_bytes())?;
                touched.written(range)
            }
            None => Vec::new(),
        };
        Ok(Written { records, _loan: loan })
    }

    /// Makes the note of a cursor over a table.
    ///
    /// # Errors
    /// `TxnTooLarge` when the transaction has no memory for it, and has written something.
    pub(super) fn note_scan(&self, core: &Arc<TableCore>) -> Result<Arc<Scan>> {
        let needed = self.need_of_note()?;
        Ok(self.scans.borrow_mut().begin(core, needed))
    }

    /// Notes the number of a table's records, of which the commit looks whether it is the same.
    ///
    /// # Errors
    /// As [`note_scan`](Self::note_scan).
    pub(super) fn note_count(&self, core: &Arc<TableCore>, count: u64) -> Result<()> {
        if self.need_of_note()? == Needed::Yes {
            self.scans.borrow_mut().note_count(core, count);
        }
        Ok(())
    }

    /// Returns whether what is scanned has to be noted, for which there is room then.
    fn need_of_note(&self) -> Result<Needed> {
        if self.moment.needs_no_notes() || self.is_read_only() {
            return Ok(Needed::No);
        }
        let room =
            self.expect_room(&self.tables.borrow(), &self.savepoints.borrow(), Scans::BYTES_OF_ONE);
        match room {
            Err(Error::TxnTooLarge { most_bytes }) if self.forget_reads(most_bytes)? => {
                Ok(Needed::No)
            }
            room => room.map(|()| Needed::Yes),
        }
    }

    /// Returns the number of a table's records, as the transaction sees it.
    pub(super) fn len(&self, table: &Table) -> Result<u64> {
        if table.core().has_expiry() {
            return table.within(self).iter().count_rows();
        }
        let count = self.count_at_moment(table)?;
        let core = table.core();
        self.note_count(core, count)?;
        let tables = self.tables.borrow();
        let touched = tables.iter().find(|touched| touched.core().is(core));
        Ok(count.wrapping_add_signed(touched.map_or(0, Touched::written_more)))
    }

    /// Inserts a packed record; returns false if there is one with its key.
    ///
    /// # Errors
    /// `NotPacked`, `ValueTooLong`, `RecordTooLong` and `KeyTooLong` when it is no record of the
    /// table; `Conflict`; `UniqueViolation` when a unique index has an entry of another record, as
    /// the transaction sees it; `TxnTooLarge`; and those of [reading](super::ReadTable#errors).
    pub fn insert(&self, table: &Table, record: &[u8]) -> Result<bool> {
        let (key, payload) = table.core().split(record)?;
        let place = self.record(table, key)?;
        if self.is_there(table, place)? {
            return Ok(false);
        }
        self.put(table, place, payload)?;
        Ok(true)
    }

    /// Writes a packed record, and replaces one with its key. Returns true if there was one.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn upsert(&self, table: &Table, record: &[u8]) -> Result<bool> {
        let (key, payload) = table.core().split(record)?;
        let place = self.record(table, key)?;
        let was_there = self.is_there(table, place)?;
        self.put(table, place, payload)?;
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
        self.put(table, self.record(table, key)?, &payload)?;
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
        let was_there = self.is_there(table, place)?;
        if was_there {
            self.write(table, place, None)?;
        }
        Ok(was_there)
    }

    fn put(&self, table: &Table, place: Place, payload: &[u8]) -> Result<()> {
        self.write(table, place, Some(payload))
    }

    /// Gives a record a payload, or deletes it, together with its entries.
    fn write(&self, table: &Table, place: Place, wanted: Option<&[u8]>) -> Result<()> {
        if table.core().is_indexed() {
            self.write_indexed(table, place, wanted)
        } else {
            self.write_one(place, wanted)
        }
    }

    /// Gives a record or an entry a payload, or deletes it.
    fn write_one(&self, place: Place, wanted: Option<&[u8]>) -> Result<()> {
        let mut tables = self.tables.borrow_mut();
        let mut savepoints = self.savepoints.borrow_mut();
        self.expect_room(&tables, &savepoints, wanted.map_or(0, <[u8]>::len))?;
        self.expect_pages(&mut tables, place, wanted)?;
        let overwrite = savepoints.note(&tables, place);
        match wanted {
            Some(payload) => tables[place.table].put(place.number, payload, overwrite),
            None => tables[place.table].delete(place.number),
        }
        Ok(())
    }

    /// Applies all writes together, as durable as the database's operations are.
    ///
    /// # Errors
    /// `Conflict` when what the transaction has read has changed since, `Full` when there is no
    /// memory for it, `DiskFull`: in these cases nothing happens. `Poisoned` when making it durable
    /// fails: it may be there when the database is opened again. [`Error::effect`] says which it
    /// is.
    pub fn commit(self) -> Result<()> {
        self.commit_and(|db, end| db.acknowledge(end))
    }

    /// Applies all writes together, as durable as the next operation that waits for that.
    pub(super) fn commit_early(self) -> Result<()> {
        Commit::of(self).apply().map(drop)
    }

    /// Commits the transaction, durable at `level` at least. In a database of [`Durability::None`],
    /// which has no log, that takes a checkpoint. One of [`Durability::Process`] syncs its log for
    /// [`Durability::Periodic`] too: it has no thread that would do so later.
    ///
    /// # Errors
    /// As [`commit`](Self::commit). `NotDurable` when that checkpoint fails: the transaction has
    /// happened and stays, so it must not be repeated.
    pub fn commit_with(self, level: Durability) -> Result<()> {
        self.commit_and(|db, end| {
            let Some(store) = db.store() else { return Ok(()) };
            match (store.level, level) {
                (_, Durability::None) => Ok(()),
                (Durability::None, _) => db.checkpoint(),
                (Durability::Commit, _) | (_, Durability::Commit) => store.sync(end),
                (Durability::Process, Durability::Periodic) => store.sync(end),
                (Durability::Process | Durability::Periodic, _) => Ok(()),
            }
        })
    }

    /// Commits the transaction, and then has `make_durable` treat the log up to its end.
    #[inline(always)]
    fn commit_and(
        self,
        make_durable: impl FnOnce(&Handle, LogPosition) -> Result<()>,
    ) -> Result<()> {
        let work = Work::start();
        let commit = Commit::of(self);
        let end = match commit.apply() {
            Ok(end) => end,
            Err(error) => return Err(commit.db.observer().refused(error)),
        };
        make_durable(&commit.db, end).map_err(Error::after_effect)?;
        commit.db.observer().committed(work, || commit.has_written());
        commit.sweep();
        Ok(())
    }

    /// Returns true if the transaction has met a change of what it has read, and reports that: it
    /// is not committed.
    pub(in crate::api) fn has_met_conflict(&self) -> bool {
        let has_met = self.met_conflict().is_some();
        if has_met {
            self.db.observer().met_conflict();
        }
        has_met
    }

    /// Returns the change of what was read that the transaction has met, if it has met one: the
    /// error of its commit.
    pub(super) fn met_conflict(&self) -> Option<Box<Error>> {
        let of_scan = || self.scans.borrow().lost().map(|core| Box::new(conflict(core)));
        let of_lifetime = || self.lifetimes.lost().map(|core| Box::new(conflict(core)));
        self.moment.conflict().or_else(of_scan).or_else(of_lifetime)
    }
}

/// Returns the place of a table in the list of a transaction, and adds it if it is missing.
fn place_of(tables: &mut Vec<Touched>, core: &Arc<TableCore>) -> usize {
    let is_it = |touched: &Touched| touched.core().is(core);
    tables.iter().position(is_it).unwrap_or_else(|| {
        tables.push(Touched::new(Arc::clone(core)));
        tables.len() - 1
    })
}

/// Returns the error that another thread has changed a record.
fn conflict(core: &TableCore) -> Error {
    Error::Conflict { table: core.table_name().into() }
}
