//! Snapshots: all tables as they were at one moment.

use std::sync::Arc;

use crate::api::Table;
use crate::engine::Handle;
use crate::error::{Error, Result};
use crate::pager::{Pager, ReadEpoch};
use crate::table::TableCore;

/// All tables of a database as they were at one moment, until it is dropped. Clones have the same
/// moment, and are cheap. [`Table::at`] returns a table to read.
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Schema, Type};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
/// let bytes = db.create_table(&schema, KeyKind::Tree)?;
/// bytes.insert(&[7, 3])?;
///
/// let snapshot = db.snapshot();
/// bytes.upsert(&[7, 2])?;
/// db.drop_table("byte")?;
/// let row = bytes.at(&snapshot).get(7)?.expect("it was there");
/// assert_eq!(row.bytes(), [7, 3]);
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone)]
pub struct Snapshot {
    held: Arc<Held>,
}

/// A moment that is kept.
struct Held {
    db: Handle,
    moment: ReadEpoch,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("moment", &self.held.moment).finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(crate) fn new(db: Handle) -> Self {
        if db.expect_here().is_err() {
            // Nothing can be read at it, and locks may be held by threads that this process does
            // not have.
            return Self { held: Arc::new(Held { db, moment: ReadEpoch::default() }) };
        }
        // A commit is before it or after it.
        let moment = match db.gate().enter_unless(|| db.pager().share_shown()) {
            Ok(inside) => {
                let moment = db.pager().moment();
                inside.leave_unchanged();
                moment
            }
            Err(before_commit) => before_commit,
        };
        Self { held: Arc::new(Held { db, moment }) }
    }

    /// Takes a snapshot, and calls `look` at its moment, while no operation is under way. Only the
    /// process that opened the database may ask for it.
    pub(super) fn alone<T>(db: Handle, look: &dyn Fn() -> T) -> (Self, T) {
        let alone = db.gate().close();
        let moment = db.pager().moment();
        let seen = look();
        drop(alone);
        (Self { held: Arc::new(Held { db, moment }) }, seen)
    }

    pub(super) fn moment(&self) -> ReadEpoch {
        self.held.moment
    }

    pub(super) fn database(&self) -> &Handle {
        &self.held.db
    }

    pub(super) fn pager(&self) -> &Pager {
        self.held.db.pager()
    }

    /// Refuses a table of another database.
    pub(super) fn expect_own(&self, table: &Table) -> Result<()> {
        if self.held.db.is_same(table.database()) {
            Ok(())
        } else {
            let table = table.schema().name().into();
            Err(Error::OtherDatabase { table, reader: "snapshot" })
        }
    }

    /// Returns the core of a table that existed at the moment.
    pub(super) fn core<'t>(&self, table: &'t Table) -> Result<&'t TableCore> {
        self.expect_own(table)?;
        table.core().was_there(self.held.moment)?;
        Ok(table.core())
    }

    /// Copies a record's payload into the caller's buffer, in place of its content. Returns false
    /// if there was no such record, or it has expired.
    pub(super) fn read_into(
        &self,
        table: &Table,
        key: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        let is_there = self.read_stored(table, key, payload)?;
        Ok(is_there && self.is_found(table.core(), payload))
    }

    /// Returns true if a read finds the record with a payload: it has not expired.
    pub(super) fn is_found(&self, core: &TableCore, payload: &[u8]) -> bool {
        self.held.db.is_found(core, payload)
    }

    /// Copies a record's payload as [`read_into`](Self::read_into) does, whether it has expired or
    /// not.
    pub(super) fn read_stored(
        &self,
        table: &Table,
        key: &[u8],
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        let core = self.core(table)?;
        if !core.can_have(key)? {
            return Ok(false);
        }
        let pager = self.pager();
        let moment = self.held.moment;
        let is_there = core.in_order(key, |key| core.get_at(pager, moment, key, payload))?;
        if is_there {
            core.expect_stored(payload)?;
        }
        Ok(is_there)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.db.expect_here().is_ok() {
            self.db.pager().release(self.moment);
        }
    }
}
