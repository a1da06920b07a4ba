//! One moment for all that a transaction reads, so that user code never acts on what no moment had.
//! (Opacity: Guerraoui, Kapalka: On the Correctness of Transactional Memory, PPoPP 2008.)
//!
//! - The first record is read as it is now. So are more of them as long as nothing was written in
//!   between: the gate has counts that say so. (As the global clock of TL2 does: Dice, Shalev,
//!   Shavit: Transactional Locking II, DISC 2006.)
//! - After a write of another thread, what was read before must be the same still. A few records
//!   are looked at again. If no writer is inside during the look, that is the moment of all of
//!   them. If writers do not leave time for it, the gate is closed for the look.
//! - With more records, and for a scan, the transaction takes a snapshot, in which all that was
//!   read before must be the same. Everything later is read there.

use std::cell::{Cell, RefCell};

use super::touched::Touched;
use super::{Transaction, conflict};
use crate::api::{Snapshot, Table};
use crate::engine::{Loan, Quiet, no_index};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::table::{Secondary, TableCore};

/// The most records that are looked at again as they are now.
const MOST_LOOKS: usize = 8;

/// The most looks at them with the gate open.
const MOST_TRIES: usize = 2;

/// The moment that a transaction reads at.
#[derive(Default)]
pub(super) struct Moment {
    /// The snapshot that it reads at; `None` as long as it reads the current records.
    snapshot: RefCell<Option<Snapshot>>,
    /// True if the user chose the snapshot, so that it cannot be replaced by a newer one.
    is_chosen: bool,
    reads: Cell<Reads>,
    /// The first change of what was read that the transaction has met.
    conflict: RefCell<Option<Box<Error>>>,
    /// The most bytes of a transaction, once what was read has taken more and was forgotten.
    forgot_beyond: Cell<Option<usize>>,
}

/// The consistency of the records that were read as they are now.
#[derive(Clone, Copy, Default)]
enum Reads {
    /// There are none.
    #[default]
    None,
    /// All were as they had been read at a time when no writer was inside.
    At(Quiet),
    /// Writers were there.
    Disturbed,
}

impl Reads {
    fn at(quiet: Option<Quiet>) -> Self {
        quiet.map_or(Self::Disturbed, Self::At)
    }
}

/// The findings of a look at records, or the table that it has failed in.
type Looked<'t, T> = std::result::Result<T, Refused<'t>>;

/// A table with a record that cannot be read as it was seen.
struct Refused<'t> {
    core: &'t TableCore,
    /// The error of the look; `None` if the record has changed.
    why: Option<Error>,
}

/// Looks, by `read`, whether all records are as they were seen.
fn look_again(
    tables: &[Touched],
    read: impl Fn(&TableCore, &[u8]) -> Result<Option<Vec<u8>>>,
) -> Looked<'_, ()> {
    for touched in tables.iter().filter(|touched| touched.count() > 0) {
        let core = touched.core();
        let refused = |why| Refused { core, why };
        core.ensure_open().map_err(|error| refused(Some(error)))?;
        for number in 0..touched.count() {
            let found = read(core, touched.key(number)).map_err(|error| refused(Some(error)))?;
            if found.as_deref() != touched.seen(number) {
                return Err(refused(None));
            }
        }
    }
    Ok(())
}

impl Moment {
    pub(super) fn new(snapshot: Option<Snapshot>) -> Self {
        let is_chosen = snapshot.is_some();
        Self { snapshot: RefCell::new(snapshot), is_chosen, ..Self::default() }
    }

    pub(super) fn into_snapshot(self) -> Option<Snapshot> {
        self.snapshot.into_inner()
    }

    /// Returns the conflict that the transaction has met, if there is one.
    pub(super) fn conflict(&self) -> Option<Box<Error>> {
        self.conflict.borrow().clone()
    }

    /// Refuses writes after what was read had to be forgotten.
    pub(super) fn expect_complete(&self) -> Result<()> {
        match self.forgot_beyond.get() {
            None => Ok(()),
            Some(most_bytes) => Err(Error::TxnTooLarge { most_bytes }),
        }
    }

    /// Returns true if the commit will not look at what is read.
    pub(super) fn needs_no_notes(&self) -> bool {
        self.forgot_beyond.get().is_some()
    }
}

impl Transaction {
    /// Reads a record that was not read before, as it is at the moment of those that were. Its
    /// packed key is `key`. Returns false if there is no such record.
    #[inline]
    pub(super) fn read_new(
        &self,
        tables: &[Touched],
        table: &Table,
        key: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        if self.moment.snapshot.borrow().is_some() {
            return self.read_at_moment(tables, table, key, payload);
        }
        let gate = self.db.gate();
        match self.moment.reads.get() {
            Reads::None => {
                self.moment.reads.set(Reads::at(gate.quiet()));
                return table.read_stored(key, payload);
            }
            Reads::At(quiet) => {
                let is_there = table.read_stored(key, payload);
                if is_there.is_ok() && gate.is_quiet_since(quiet) {
                    return is_there;
                }
            }
            Reads::Disturbed => {}
        }
        self.read_after_change(tables, table, key, payload)
    }

    /// Reads a record, where others may have changed since that were read before.
    #[cold]
    fn read_after_change(
        &self,
        tables: &[Touched],
        table: &Table,
        key: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        let count: usize = tables.iter().map(Touched::count).sum();
        self.db.expect_here()?;
        if count <= MOST_LOOKS
            && let Some(found) = self.read_with_all(tables, table.core(), key, payload)
        {
            let is_there = found.map_err(|refused| self.of_refused(tables, refused))?;
            // What expired since is of no moment with what others have written since.
            self.lifetimes.expect_all(&self.db)?;
            if is_there {
                table.core().expect_stored(payload)?;
            }
            return Ok(is_there);
        }
        self.fix(tables)?;
        self.read_at_moment(tables, table, key, payload)
    }

    /// Reads a record and looks again at all that was read before, while no writer is inside.
    /// Returns `None` if that was not possible.
    fn read_with_all<'t>(
        &self,
        tables: &'t [Touched],
        core: &'t TableCore,
        key: &[u8],
        payload: &mut Vec<u8>,
    ) -> Option<Looked<'t, bool>> {
        let gate = self.db.gate();
        let pager = self.db.pager();
        let mut look = || {
            look_again(tables, |core, key| core.payload_of(pager, key))?;
            let read = |key: &[u8]| core.read(pager, key, payload);
            let found = core.ensure_open().and_then(|()| core.in_order(key, read));
            found.map_err(|error| Refused { core, why: Some(error) })
        };
        for _ in 0..MOST_TRIES {
            let quiet = gate.quiet();
            // Without quiet, this has the pages read before the gate is closed.
            let found = look();
            if let Some(quiet) = quiet.filter(|quiet| gate.is_quiet_since(*quiet)) {
                self.moment.reads.set(Reads::At(quiet));
                return Some(found);
            }
        }
        let closed = gate.try_close_to_look()?;
        let found = look();
        self.moment.reads.set(Reads::At(closed.quiet_after()));
        Some(found)
    }

    /// Fixes the moment: takes a snapshot, unless there is one. All that was read must be the same
    /// there.
    fn fix(&self, tables: &[Touched]) -> Result<Snapshot> {
        if let Some(snapshot) = &*self.moment.snapshot.borrow() {
            return Ok(snapshot.clone());
        }
        let snapshot = Snapshot::new(self.db.clone());
        self.db.expect_here()?;
        let pager = self.db.pager();
        look_again(tables, |core, key| core.payload_at(pager, snapshot.moment(), key))
            .map_err(|refused| self.of_refused(tables, refused))?;
        self.lifetimes.expect_all(&self.db)?;
        *self.moment.snapshot.borrow_mut() = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Returns the error of a look, as the transaction has it.
    fn of_refused(&self, tables: &[Touched], refused: Refused<'_>) -> Error {
        match refused.why {
            None => self.conflict(refused.core),
            Some(error) => self.of_read(tables, refused.core, error),
        }
    }

    /// Returns the error of a read, as the transaction has it: what is gone that was there is a
    /// conflict.
    fn of_read(&self, tables: &[Touched], core: &TableCore, error: Error) -> Error {
        let was_read = || {
            let is_it = |touched: &Touched| touched.core().is(core) && touched.count() > 0;
            tables.iter().any(is_it)
        };
        match error {
            Error::SnapshotTooOld { .. } if !self.moment.is_chosen => self.conflict(core),
            // It was created after the moment, or dropped since it was read.
            Error::NoTable { .. } if !self.moment.is_chosen && core.ensure_open().is_ok() => {
                self.conflict(core)
            }
            Error::NoTable { .. } if was_read() => self.conflict(core),
            other => other,
        }
    }

    /// Returns the error that another writer has changed what was read in a table, and notes it.
    pub(super) fn conflict(&self, core: &TableCore) -> Error {
        let error = conflict(core);
        self.moment.conflict.borrow_mut().get_or_insert_with(|| Box::new(error.clone()));
        error
    }

    /// Reads a record at the moment, which is fixed then, whether it has expired or not.
    pub(super) fn read_at_moment(
        &self,
        tables: &[Touched],
        table: &Table,
        key: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        let snapshot = self.fix(tables)?;
        match snapshot.read_stored(table, key, payload) {
            Err(Error::SnapshotTooOld { .. }) if self.may_renew() => {}
            read => return read.map_err(|error| self.of_read(tables, table.core(), error)),
        }
        // Its images had no room. All that was read may be the same at a newer moment.
        drop(snapshot);
        *self.moment.snapshot.borrow_mut() = None;
        let read = self.fix(tables)?.read_stored(table, key, payload);
        read.map_err(|error| self.of_read(tables, table.core(), error))
    }

    /// Returns the number of records that a table had at the moment.
    pub(super) fn count_at_moment(&self, table: &Table) -> Result<u64> {
        let snapshot = self.moment_in(table)?;
        let counted = table.core().count_at(snapshot.pager(), snapshot.moment());
        counted.map_err(|error| self.of_read(&self.tables.borrow(), table.core(), error))
    }

    /// Returns true if the moment can be replaced by a newer one: with scans and cursors it cannot.
    fn may_renew(&self) -> bool {
        !self.moment.is_chosen
            && !self.moment.needs_no_notes()
            && self.scans.borrow().are_without_moment()
    }

    /// Returns the snapshot that the cursors of a table read at.
    pub(in crate::api) fn moment_in(&self, table: &Table) -> Result<Snapshot> {
        self.expect_own(table)?;
        let tables = self.tables.borrow();
        let snapshot = self.fix(&tables)?;
        let there = snapshot.core(table).map(drop);
        there.map_err(|error| self.of_read(&tables, table.core(), error))?;
        Ok(snapshot)
    }

    /// Refuses lookups by an index that had no entry for each record at the moment.
    pub(in crate::api) fn expect_ready(&self, table: &Table, secondary: &Secondary) -> Result<()> {
        self.expect_own(table)?;
        // A moment that is not fixed yet is not before this.
        let snapshot = self.moment.snapshot.borrow();
        if snapshot.as_ref().is_none_or(|at| secondary.of().was_ready(at.moment())) {
            Ok(())
        } else if self.moment.is_chosen {
            Err(no_index(table.core(), &secondary.of().name))
        } else {
            Err(self.conflict(table.core()))
        }
    }

    /// Returns true if the snapshot was chosen by the user, so that its expiry is no conflict.
    pub(in crate::api) fn has_chosen_moment(&self) -> bool {
        self.moment.is_chosen
    }

    /// Returns true if nothing can change, since the database was opened for reading.
    pub(super) fn is_read_only(&self) -> bool {
        self.db.store().is_some_and(Store::is_read_only)
    }

    /// Forgets what was read, since it takes more than `most_bytes`: from then on the transaction
    /// only reads. Returns false, and forgets nothing, if something was written.
    pub(super) fn forget_reads(&self, most_bytes: usize) -> Result<bool> {
        let mut tables = self.tables.borrow_mut();
        let has_written = tables.iter().any(|touched| touched.written_size().records > 0);
        if has_written || self.moment.needs_no_notes() {
            return Ok(false);
        }
        self.fix(&tables)?;
        debug_assert!(self.savepoints.borrow().are_without_writes(), "no write is to be undone");
        tables.clear();
        let scans = std::mem::take(&mut *self.scans.borrow_mut());
        scans.lost().into_iter().for_each(|core| drop(self.conflict(core)));
        *self.loan.borrow_mut() = Loan::new(self.db.clone());
        self.moment.forgot_beyond.set(Some(most_bytes));
        Ok(true)
    }
}
