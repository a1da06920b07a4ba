//! The objects that handles stand for.

use lode::{ColumnId, Cursor, Database, ReadTable, Savepoint, Snapshot, Table, Transaction};

use crate::failure::{Failure, Result};
use crate::handles::{ExclusiveRegistry, Locked, Shared, SharedRegistry, kind_of};
use crate::status::lode_status;

/// The number of the kind of an object, in its handle.
const DATABASE: u8 = 1;
const TABLE: u8 = 2;
const TRANSACTION: u8 = 3;
const SNAPSHOT: u8 = 4;
const CURSOR: u8 = 5;

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

static DATABASES: SharedRegistry<Database> = SharedRegistry::new(DATABASE);
static TABLES: SharedRegistry<OpenTable> = SharedRegistry::new(TABLE);
static TRANSACTIONS: ExclusiveRegistry<OpenTransaction> = ExclusiveRegistry::new(TRANSACTION);
static SNAPSHOTS: SharedRegistry<Snapshot> = SharedRegistry::new(SNAPSHOT);
static CURSORS: ExclusiveRegistry<OpenCursor> = ExclusiveRegistry::new(CURSOR);

fn too_many<T>(_: T) -> Failure {
    Failure::new(lode_status::LODE_OTHER, "there are too many handles; free some")
}

impl lode_database {
    pub(crate) fn new(database: Database) -> Result<Self> {
        Ok(Self { id: DATABASES.insert(database).map_err(too_many)? })
    }

    pub(crate) fn share(self) -> Result<Shared<'static, Database>> {
        DATABASES.share(self.id).map_err(|why| Failure::unusable("database", why))
    }

    pub(crate) fn free(self) -> Result<()> {
        DATABASES.free(self.id).map_err(|why| Failure::unusable("database", why))
    }
}

impl lode_table {
    pub(crate) fn new(table: Table) -> Result<Self> {
        let schema = table.schema();
        let payload_bytes = (!schema.is_variable()).then(|| schema.payload_size());
        let open = OpenTable { table, payload_bytes };
        Ok(Self { id: TABLES.insert(open).map_err(too_many)? })
    }

    #[inline]
    pub(crate) fn share(self) -> Result<Shared<'static, OpenTable>> {
        TABLES.share(self.id).map_err(|why| Failure::unusable("table", why))
    }

    pub(crate) fn free(self) -> Result<()> {
        TABLES.free(self.id).map_err(|why| Failure::unusable("table", why))
    }
}

impl lode_transaction {
    pub(crate) fn new(transaction: Transaction) -> Result<Self> {
        let open = OpenTransaction { transaction, savepoints: Vec::new(), next: 1 };
        Ok(Self { id: TRANSACTIONS.insert(open).map_err(too_many)? })
    }

    pub(crate) fn is_none(self) -> bool {
        self.id == 0
    }

    pub(crate) fn lock(self) -> Result<Locked<'static, OpenTransaction>> {
        TRANSACTIONS.lock(self.id).map_err(|why| Failure::unusable("transaction", why))
    }

    pub(crate) fn take(self) -> Result<OpenTransaction> {
        TRANSACTIONS.take(self.id).map_err(|why| Failure::unusable("transaction", why))
    }
}

impl lode_snapshot {
    pub(crate) fn new(snapshot: Snapshot) -> Result<Self> {
        Ok(Self { id: SNAPSHOTS.insert(snapshot).map_err(too_many)? })
    }

    pub(crate) fn share(self) -> Result<Shared<'static, Snapshot>> {
        SNAPSHOTS.share(self.id).map_err(|why| Failure::unusable("snapshot", why))
    }

    pub(crate) fn free(self) -> Result<()> {
        SNAPSHOTS.free(self.id).map_err(|why| Failure::unusable("snapshot", why))
    }
}

impl lode_cursor {
    pub(crate) fn new(cursor: OpenCursor) -> Result<Self> {
        Ok(Self { id: CURSORS.insert(cursor).map_err(too_many)? })
    }

    pub(crate) fn lock(self) -> Result<Locked<'static, OpenCursor>> {
        CURSORS.lock(self.id).map_err(|why| Failure::unusable("cursor", why))
    }

    pub(crate) fn free(self) -> Result<()> {
        CURSORS.take(self.id).map(drop).map_err(|why| Failure::unusable("cursor", why))
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
            SNAPSHOT => work(&table.at(&*lode_snapshot { id: self.id }.share()?)),
            TRANSACTION => {
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
