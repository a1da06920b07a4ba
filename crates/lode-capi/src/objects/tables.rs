//! Databases, tables, and what several calls read or write in them.

use lode::{ColumnId, Cursor, Database, ReadTable, Savepoint, Snapshot, Table, Transaction};

use super::{kind, lock, share};
use crate::failure::{Failure, Result};
use crate::handles::kind_of;
use crate::status::lode_status;

/// An open database. Any number of threads may use one at the same time.
///
/// All handles are passed by value, and one of zeros is none. Each is freed once, by `lode_close`
/// for a database. A call with a handle that was freed returns `LODE_BAD_HANDLE`; a thread that is
/// in a call with it at that moment finishes the call. Handles are worthless in a forked process.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_database {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// A table. Any number of threads may use one at the same time. Freed by `lode_free_table`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_table {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// A transaction. One thread at a time may use one; another gets `LODE_BUSY`. It ends with
/// `lode_commit`, `lode_commit_with` or `lode_roll_back`, which free the handle.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_transaction {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// All tables as they were at one moment. Any number of threads may use one at the same time. Freed
/// by `lode_free_snapshot`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_snapshot {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// The rows of a table, or of a range of keys, one after another. One thread at a time may use one;
/// another gets `LODE_BUSY`. Freed by `lode_free_cursor`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_cursor {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// The state that a read sees: the records as they are now (`LODE_NOW`), as of a snapshot
/// (`lode_at(snapshot)`), or as a transaction sees them (`lode_within(transaction)`). It is no
/// handle of its own: the snapshot or transaction is freed, the view is not.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_view {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// A transaction, with the points that it can go back to.
pub(crate) struct OpenTransaction {
    pub(crate) transaction: Transaction,
    /// Points by their numbers, which go up.
    pub(crate) savepoints: Vec<(u64, Savepoint)>,
    /// The number of the next point.
    pub(crate) next: u64,
}

/// A cursor, with the columns of its rows.
pub(crate) struct OpenCursor {
    pub(crate) cursor: Cursor,
    pub(crate) columns: Box<[ColumnId]>,
}

/// A table, with what each lookup has to know of it.
pub(crate) struct OpenTable {
    pub(crate) table: Table,
    /// The bytes of all payloads, if they have the same number.
    pub(crate) payload_bytes: Option<usize>,
}

share!(lode_database: Database, DATABASE, "database");
share!(lode_table: OpenTable, TABLE, "table");
lock!(lode_transaction: OpenTransaction, TRANSACTION, "transaction");
share!(lode_snapshot: Snapshot, SNAPSHOT, "snapshot");
lock!(lode_cursor: OpenCursor, CURSOR, "cursor");

impl OpenTable {
    pub(crate) fn new(table: Table) -> Self {
        let schema = table.schema();
        let payload_bytes = (!schema.is_variable()).then(|| schema.payload_size());
        Self { table, payload_bytes }
    }
}

impl OpenTransaction {
    pub(crate) fn new(transaction: Transaction) -> Self {
        Self { transaction, savepoints: Vec::new(), next: 1 }
    }
}

impl lode_transaction {
    pub(crate) fn is_none(self) -> bool {
        self.id == 0
    }
}

impl lode_view {
    #[inline]
    pub(crate) fn is_now(self) -> bool {
        self.id == 0
    }

    /// Calls `work` with a table as this view sees it.
    pub(crate) fn of<T>(
        self,
        table: &Table,
        work: impl FnOnce(&dyn ReadTable) -> Result<T>,
    ) -> Result<T> {
        if self.is_now() {
            return work(table);
        }
        match kind_of(self.id) {
            kind::SNAPSHOT => work(&table.at(&*lode_snapshot { id: self.id }.share()?)),
            kind::TRANSACTION => {
                let open = lode_transaction { id: self.id }.lock()?;
                work(&table.within(&open.transaction))
            }
            _ => Err(Failure::new(
                lode_status::LODE_BAD_HANDLE,
                "the view is of no snapshot or transaction; make one with lode_at or lode_within",
            )),
        }
    }
}
