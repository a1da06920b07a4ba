//! Databases: tables by their names, transactions, snapshots.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::{Error, Result};
use crate::pager::{Moment, Pager};
use crate::schema::Schema;
use crate::table::{Core, KeyKind, Scan, Table};
use crate::txn::{Gate, Transaction};

/// What all handles of a database share.
pub struct Inner {
    pager: Pager,
    gate: Gate,
    tables: RwLock<Tables>,
}

#[derive(Default)]
struct Tables {
    by_name: BTreeMap<String, Arc<Core>>,
    next_id: u32,
}

impl Inner {
    pub(crate) fn pager(&self) -> &Pager {
        &self.pager
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }
}

/// How to open a database.
#[derive(Clone, Debug)]
pub struct Options {
    memory_bytes: u64,
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self { memory_bytes: machine_memory_bytes() / 2 }
    }

    /// The most memory that pages may take up, which is taken as it is used; half of the machine's by
    /// default. What snapshots need of pages that have changed comes on top.
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// A database that lives as long as its handles.
    ///
    /// # Errors
    /// `Io` when the operating system has not that much room for addresses.
    pub fn in_memory(&self) -> Result<Database> {
        let (pager, gate) = (Pager::new(self.memory_bytes)?, Gate::new());
        Ok(Database { inner: Arc::new(Inner { pager, gate, tables: RwLock::default() }) })
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

/// Bytes of memory that the machine has; some if it does not say.
fn machine_memory_bytes() -> u64 {
    const SOME_BYTES: u64 = 1 << 30;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map_or(SOME_BYTES, |kib| kib * 1024)
}

/// A database in memory. Handles are cheap to clone, and may be used by any number of threads.
///
/// ```
/// use lode::{Database, KeyKind, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("city").key("name", Type::Text(32)).column("people", Type::U64);
/// let cities = db.create_table(&schema.finish()?, KeyKind::Tree)?;
/// cities.insert(&cities.schema().pack(&[Value::Text("Bern"), Value::Unsigned(146_000)])?)?;
///
/// let key = cities.schema().pack_key(&[Value::Text("Bern")])?;
/// let people = cities.with(&key, |row| row.get("people") == Some(Value::Unsigned(146_000)))?;
/// assert_eq!(people, Some(true));
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone)]
pub struct Database {
    inner: Arc<Inner>,
}

impl Database {
    /// A database that lives as long as its handles, in at most half of the machine's memory.
    pub fn in_memory() -> Result<Self> {
        Options::new().in_memory()
    }

    /// Creates a table, named as its schema is.
    ///
    /// # Errors
    /// `TableExists`; `Schema` when its records are too long for tables of this kind; `Full`.
    pub fn create_table(&self, schema: &Schema, kind: KeyKind) -> Result<Table> {
        let mut tables = self.inner.tables.write().unwrap_or_else(PoisonError::into_inner);
        let name = schema.name().to_string();
        if tables.by_name.contains_key(&name) {
            return Err(Error::TableExists { table: name });
        }
        // Nobody outside knows it, so nobody can choose keys that all have the same hash.
        let seed = RandomState::new().hash_one(&name);
        let id = tables.next_id;
        let core = Arc::new(Core::create(&self.inner.pager, id, schema, kind, seed)?);
        tables.next_id += 1;
        tables.by_name.insert(name, Arc::clone(&core));
        Ok(Table::new(Arc::clone(&self.inner), core))
    }

    /// The table of a name.
    pub fn table(&self, name: &str) -> Result<Table> {
        let tables = self.inner.tables.read().unwrap_or_else(PoisonError::into_inner);
        let core = tables.by_name.get(name).ok_or_else(|| Error::NoTable { table: name.into() })?;
        Ok(Table::new(Arc::clone(&self.inner), Arc::clone(core)))
    }

    /// The names of all tables, in their order.
    pub fn table_names(&self) -> Vec<String> {
        let tables = self.inner.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.by_name.keys().cloned().collect()
    }

    /// Drops a table with all its records. Handles of it find no table any more; snapshots that
    /// were taken before still see it.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        let mut tables = self.inner.tables.write().unwrap_or_else(PoisonError::into_inner);
        let core = tables.by_name.remove(name);
        let core = core.ok_or_else(|| Error::NoTable { table: name.into() })?;
        let _alone = self.inner.gate.close();
        core.drop_pages(&self.inner.pager);
        Ok(())
    }

    /// Begins a transaction.
    pub fn begin(&self) -> Transaction {
        Transaction::new(Arc::clone(&self.inner))
    }

    /// All tables as they are now, for as long as the snapshot is kept. It blocks nobody; what it
    /// needs of pages that are changed meanwhile is kept in memory, beside the budget.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(Arc::clone(&self.inner))
    }

    /// What the database takes up.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            page_bytes: self.inner.pager.used_bytes(),
            snapshot_bytes: self.inner.pager.saved_bytes(),
        }
    }

    /// Looks at every page, index and record.
    ///
    /// # Errors
    /// What is wrong, and in which table and page.
    pub fn check(&self) -> Result<(), String> {
        let snapshot = self.snapshot();
        let tables = self.inner.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.by_name.iter().try_for_each(|(name, core)| {
            core.check_at(&self.inner.pager, snapshot.moment)
                .map_err(|why| format!("table {name}: {why}"))
        })
    }
}

/// What a database takes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Pages in use.
    pub page_bytes: u64,
    /// What pages were, for snapshots.
    pub snapshot_bytes: u64,
}

/// All tables of a database as they were at one moment.
pub struct Snapshot {
    db: Arc<Inner>,
    moment: Moment,
}

impl Snapshot {
    pub(crate) fn new(db: Arc<Inner>) -> Self {
        // A commit is before it or after it.
        let inside = db.gate.enter();
        let moment = db.pager.moment();
        drop(inside);
        Self { db, moment }
    }

    fn core<'t>(&self, table: &'t Table) -> Result<&'t Core> {
        match Arc::ptr_eq(&self.db, table.database()) {
            true => Ok(table.core()),
            false => Err(table.schema().mismatch("it is of another database than the snapshot")),
        }
    }

    /// Copies the columns after the key into the caller's buffer; false if there was no such record.
    pub fn get(&self, table: &Table, key: &[u8], payload: &mut [u8]) -> Result<bool> {
        let (core, schema) = (self.core(table)?, table.schema());
        schema.expect_size("key", key.len(), schema.key_size())?;
        schema.expect_size("payload", payload.len(), schema.payload_size())?;
        let pager = &self.db.pager;
        Ok(core.in_order(key, |key| core.get_at(pager, self.moment, key, payload)))
    }

    /// As [`Table::scan`], of what there was.
    pub fn scan(
        &self,
        table: &Table,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        self.core(table)?.scan_at(&self.db.pager, self.moment, scan, visit)
    }

    /// Calls `visit` with every packed record, until it answers false: in the order of keys, or of
    /// their hashes.
    pub fn each(&self, table: &Table, visit: &mut dyn FnMut(&[u8]) -> Result<bool>) -> Result<()> {
        self.core(table)?.each_at(&self.db.pager, self.moment, visit)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.db.pager.release(self.moment);
    }
}
