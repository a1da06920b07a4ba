//! Databases: tables by their names, transactions, snapshots.

use std::path::Path;
use std::time::Duration;

use super::{Options, Snapshot, Table, Transaction};
use crate::engine::{BackupProgress, CheckReport, Compacted, Handle, STAGE_PAGES, TableToCheck};
use crate::error::{Error, Result};
use crate::observability::Statistics;
use crate::schema::{IndexSchema, Schema};
use crate::table::KeyKind;

/// The number of times that [`Database::transact`] runs a transaction before it gives up.
pub const MOST_ATTEMPTS: u32 = 1_000;

/// Lets other writers go first. The wait grows with the number of attempts.
fn wait_after(attempt: u32) {
    match attempt {
        0..4 => std::thread::yield_now(),
        _ => std::thread::sleep(Duration::from_micros(1 << attempt.min(10))),
    }
}

/// A database, in memory or in a directory. Handles are cheap to clone, and may be used by any
/// number of threads.
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("city").key("name", Type::Text(32)).column("people", Type::U64);
/// let cities = db.create_table(&schema.finish()?, KeyKind::Tree)?;
/// cities.insert(&cities.schema().pack(&[Value::Text("Bern"), Value::Unsigned(134_591)])?)?;
///
/// let bern = cities.get("Bern")?.expect("it was inserted");
/// assert_eq!(bern.get("people"), Some(Value::Unsigned(134_591)));
/// assert!(cities.get("Thun")?.is_none());
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone)]
pub struct Database {
    engine: Handle,
}

impl Database {
    pub(crate) fn new(engine: Handle) -> Self {
        Self { engine }
    }

    pub(crate) fn engine(&self) -> &Handle {
        &self.engine
    }

    /// Creates a database that lives as long as its handles, in at most half of the memory that the
    /// process may take up.
    ///
    /// # Errors
    /// As [`Options::in_memory`].
    pub fn in_memory() -> Result<Self> {
        Options::new().in_memory()
    }

    /// Opens the database in a directory, with the default [`Options`]; creates one if the
    /// directory does not exist or is empty.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(path)
    }

    /// Opens the database in a directory to read it only, as [`Options::open_read_only`] says.
    ///
    /// # Errors
    /// As [`Options::open_read_only`].
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open_read_only(path)
    }

    /// Shows the newest moment of a database that was opened [for reading
    /// only](Options::open_read_only). Returns true if that is a later one. Another database always
    /// shows the newest, and returns false.
    ///
    /// It takes as long as opening. Tables, cursors and snapshots from before stay at the earlier
    /// moment, and so do clones of this; while they are there, both take up memory, and the writer
    /// keeps the pages of both.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type};
    ///
    /// let directory = std::env::temp_dir().join(format!("lode-refresh-{}", std::process::id()));
    /// let db = Database::open(&directory)?;
    /// let schema = Schema::build("byte").key("id", Type::U8).finish()?;
    /// let bytes = db.create_table(&schema, KeyKind::Tree)?;
    ///
    /// // In another process, or in this one.
    /// let mut reader = Database::open_read_only(&directory)?;
    /// bytes.insert(&[7])?;
    /// assert_eq!(reader.table("byte")?.len(), Ok(0));
    /// assert_eq!(reader.refresh(), Ok(true));
    /// assert_eq!(reader.table("byte")?.len(), Ok(1));
    /// assert_eq!(reader.refresh(), Ok(false));
    /// # std::fs::remove_dir_all(&directory).expect("it is there");
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Options::open_read_only`]; `Closed`. It shows what it showed before then.
    pub fn refresh(&mut self) -> Result<bool> {
        match self.engine.open_later()? {
            Some(later) => {
                self.engine = Handle::new(later);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// Creates a table, named as its schema is. That is durable at every level except
    /// [`Durability::None`](crate::Durability::None), where it is if there is room for a
    /// checkpoint.
    ///
    /// # Errors
    /// `TableExists`; `SchemaTooLong` when its records are too long for tables of this kind;
    /// `CatalogueFull` when all tables together have too many names and columns; `Full`,
    /// `DatabaseFull`; and those of [writing](Table#errors).
    pub fn create_table(&self, schema: &Schema, kind: KeyKind) -> Result<Table> {
        self.create_indexed_table(schema, kind, &[])
    }

    /// Creates a table as [`create_table`](Self::create_table) does, together with secondary
    /// indexes. After a crash, all of them are there or none.
    ///
    /// ```
    /// use lode::{Database, IndexSchema, KeyKind, ReadTable, Schema, Type};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
    /// let by_bits = IndexSchema::new("by_bits", ["bits"]);
    /// let bytes = db.create_indexed_table(&schema, KeyKind::Hash, &[by_bits])?;
    /// bytes.insert(&[7, 3])?;
    /// assert_eq!(bytes.by("by_bits")?.get(3)?.map(lode::Row::into_bytes), Some(vec![7, 3]));
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`create_table`](Self::create_table) and [`Table::create_index`].
    pub fn create_indexed_table(
        &self,
        schema: &Schema,
        kind: KeyKind,
        indexes: &[IndexSchema],
    ) -> Result<Table> {
        let core = self.engine.create_table(schema, kind, indexes)?;
        Ok(Table::new(self.engine.clone(), core))
    }

    /// Returns the table with a name.
    ///
    /// # Errors
    /// `NoTable`; `Corrupt` when it cannot be read, though others can.
    pub fn table(&self, name: &str) -> Result<Table> {
        let core = self.engine.table(name)?;
        Ok(Table::new(self.engine.clone(), core))
    }

    /// Returns the names of all tables, in their order.
    pub fn table_names(&self) -> Vec<String> {
        self.engine.table_names()
    }

    /// Drops a table with all its records. Handles of it find no table then; snapshots that were
    /// taken before still see it.
    ///
    /// # Errors
    /// `NoTable`; and those of [writing](Table#errors).
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.engine.drop_table(name)
    }

    /// Deletes all records of a table at once, however many there are: the table is replaced by an
    /// empty one like it, which is returned. After a crash it is one or the other. Handles of the
    /// old one find no table then; snapshots that were taken before still see it.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("byte").key("id", Type::U8).finish()?;
    /// let bytes = db.create_table(&schema, KeyKind::Tree)?;
    /// bytes.insert(&[7])?;
    /// assert_eq!(db.clear_table("byte")?.len(), Ok(0));
    /// assert!(bytes.insert(&[8]).is_err(), "the table before is no more");
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NoTable`; `Corrupt` when it cannot be read; `Full`; and those of [writing](Table#errors).
    pub fn clear_table(&self, name: &str) -> Result<Table> {
        let core = self.engine.clear_table(name)?;
        Ok(Table::new(self.engine.clone(), core))
    }

    /// Starts a transaction. It reads at one moment, which is after this call.
    pub fn begin(&self) -> Transaction {
        Transaction::new(self.engine.clone(), None)
    }

    /// Starts a transaction that reads the records as of a snapshot, and its own writes.
    ///
    /// If it writes, its commit returns `Conflict` if anything that it has read or written was
    /// changed since that moment. If it only reads, it has happened at that moment. When the
    /// snapshot has expired, reads return `SnapshotTooOld`, and the commit of what was scanned
    /// returns `Conflict`.
    ///
    /// ```
    /// use lode::{Database, Error, KeyKind, ReadTable, Schema, Type};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
    /// let bytes = db.create_table(&schema, KeyKind::Tree)?;
    /// bytes.insert(&[7, 3])?;
    ///
    /// let transaction = db.begin_at(&db.snapshot());
    /// bytes.upsert(&[7, 2])?;
    /// let row = bytes.within(&transaction).get(7)?.expect("it was there");
    /// assert_eq!(row.bytes(), [7, 3]);
    /// transaction.upsert(&bytes, &[7, 4])?;
    /// assert!(matches!(transaction.commit(), Err(Error::Conflict { .. })));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// A snapshot of another database makes everything in the transaction return `OtherDatabase`.
    pub fn begin_at(&self, snapshot: &Snapshot) -> Transaction {
        Transaction::new(self.engine.clone(), Some(snapshot.clone()))
    }

    /// Runs `work` in a transaction and commits it. Runs it again from the start if another writer
    /// has changed what it has read or wrote. Returns the result of `work`.
    ///
    /// `work` may be called several times, so it changes nothing outside the transaction. An error
    /// that it returns ends it, and nothing of the transaction happens. If a read in it has
    /// returned `Conflict`, `work` runs again, whatever it returns.
    ///
    /// All that it reads is of one moment, and the same at the commit. So a rule about several
    /// records, such as a count, holds if each transaction that could break it reads what the rule
    /// is about.
    ///
    /// A long scan whose range others never stop changing may not get through in any attempt.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Table, Type, Value};
    ///
    /// /// Takes cents from an account, unless it has fewer.
    /// fn take(db: &Database, accounts: &Table, id: u64, cents: u64) -> Result<u64, String> {
    ///     db.transact(|transaction| {
    ///         let account = accounts.within(transaction).get(id).map_err(Refused::from)?;
    ///         let has = account.as_ref().and_then(|account| account.get("cents"));
    ///         let Some(Value::Unsigned(has)) = has else { return Err(Refused::NoAccount) };
    ///         let left = has.checked_sub(cents).ok_or(Refused::TooFew { has })?;
    ///         let column = accounts.schema().column("cents")?;
    ///         transaction.update(accounts, id, column, &left.to_le_bytes())?;
    ///         Ok(left)
    ///     })
    ///     .map_err(|refused| format!("{refused:?}"))
    /// }
    ///
    /// #[derive(Debug)]
    /// enum Refused {
    ///     NoAccount,
    ///     TooFew { has: u64 },
    ///     Store(lode::Error),
    /// }
    ///
    /// impl From<lode::Error> for Refused {
    ///     fn from(error: lode::Error) -> Self {
    ///         Self::Store(error)
    ///     }
    /// }
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("account").key("id", Type::U64).column("cents", Type::U64);
    /// let accounts = db.create_table(&schema.finish()?, KeyKind::Hash)?;
    /// accounts.insert(&accounts.schema().pack(&[Value::Unsigned(1), Value::Unsigned(50)])?)?;
    /// assert_eq!(take(&db, &accounts, 1, 20), Ok(30));
    /// assert_eq!(take(&db, &accounts, 1, 40), Err("TooFew { has: 30 }".into()));
    /// assert_eq!(take(&db, &accounts, 2, 1), Err("NoAccount".into()));
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `work`; those of [`Transaction::commit`]; `Conflict` after
    /// [`MOST_ATTEMPTS`](crate::MOST_TRANSACT_ATTEMPTS) attempts.
    pub fn transact<T, E: From<Error>>(
        &self,
        mut work: impl FnMut(&Transaction) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut attempt = 1;
        loop {
            let transaction = self.begin();
            let (conflict, outcome) = match work(&transaction) {
                Ok(done) => match transaction.commit() {
                    Ok(()) => return Ok(done),
                    Err(error) => (matches!(error, Error::Conflict { .. }), Err(error.into())),
                },
                Err(error) => (transaction.has_met_conflict(), Err(error)),
            };
            if !conflict || attempt == MOST_ATTEMPTS {
                return outcome;
            }
            wait_after(attempt);
            attempt += 1;
        }
    }

    /// Takes a snapshot: all tables as they are now, until it is dropped. It blocks no other
    /// operation.
    ///
    /// Of each page that changes later, the old image is kept in memory. Snapshots may take up a
    /// quarter of the memory budget with that, or 16 MiB if that is more. If they would take more,
    /// the oldest ones expire: reading changed pages is an error from then on,
    /// [`SnapshotTooOld`](crate::Error::SnapshotTooOld). So no snapshot is in the way of a writer.
    /// Scans are snapshots too.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.engine.clone())
    }

    /// Makes everything durable that was done before, whatever the level. (At
    /// [`Durability::None`](crate::Durability::None) that is a checkpoint.)
    ///
    /// # Errors
    /// `Poisoned` when the disk fails, now and ever after; `DiskFull`, `Io`.
    pub fn flush(&self) -> Result<()> {
        self.engine.flush()
    }

    /// Writes all that has changed to the data file, so that nothing that was done before has to be
    /// replayed after a crash. It blocks no other operation. In memory there is nothing to do.
    ///
    /// If more than a fifth of the files is free after that, most of it goes back to the file
    /// system. The file system must support holes in files. Later writes need new space. If many
    /// free pages are scattered, some are left for the next time.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn checkpoint(&self) -> Result<()> {
        self.engine.checkpoint_and_give_back(&|| true)
    }

    /// Removes [expired records](crate::Builder::expires), and gives space back. Sparse
    /// pages of all tables are filled from others, and those that become empty are freed; then
    /// pages move to the front of the data file, and the free space after them goes back to the
    /// file system. It works in small steps, next to readers and writers. In memory, the freed
    /// pages serve other records.
    ///
    /// # Errors
    /// As [`flush`](Self::flush). `Corrupt` when a table is damaged; others are compacted anyway.
    pub fn compact(&self) -> Result<Compacted> {
        let mut removed = Ok(());
        for name in self.table_names() {
            match self.table(&name).and_then(|table| table.remove_expired()) {
                // It was dropped in the meantime; or its damage is returned below.
                Ok(_) | Err(Error::NoTable { .. } | Error::Corrupt { .. }) => {}
                Err(error) => removed = removed.and(Err(error)),
            }
        }
        // Space may be what was missing.
        let compacted = self.engine.compact()?;
        removed.map(|()| compacted)
    }

    /// Backs the database up to another directory, as of one moment from the call on. Others read
    /// and write in that time. The directory is created if it does not exist. If it has an earlier
    /// backup of this database, only pages that have changed since are copied. Calls `on_progress`
    /// after some pages, and returns the last progress.
    ///
    /// The backup is a database of its own, synced and checked page by page on the way; open it to
    /// use it. Opened for writing, it takes no further backup. If a backup is interrupted, the one
    /// before stays whole, and a first one is continued by the next call.
    ///
    /// While it is taken, pages that change need new space in the data file. One backup follows
    /// another, so `on_progress` must not start one.
    ///
    /// ```
    /// use lode::{Database, KeyKind, Schema, Type};
    ///
    /// # let place = std::env::temp_dir().join(format!("lode-backup-{}", std::process::id()));
    /// # let (directory, copy) = (place.join("bytes"), place.join("copy"));
    /// let db = Database::open(&directory)?;
    /// let schema = Schema::build("byte").key("id", Type::U8).finish()?;
    /// let bytes = db.create_table(&schema, KeyKind::Tree)?;
    /// bytes.insert(&[7])?;
    /// let first = db.backup(&copy, |_| {})?;
    /// assert_eq!(first.copied_bytes, first.total_bytes);
    /// let second = db.backup(&copy, |_| {})?;
    /// assert_eq!(second.copied_bytes, 0);
    /// assert_eq!(Database::open_read_only(&copy)?.table_names(), ["byte"]);
    /// # std::fs::remove_dir_all(&place).expect("it is there");
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NoBackup` when the directory has something else, or is the database's own or in that;
    /// `NoFiles` for a database in memory; `Locked` when the backup is open; `Corrupt` when a page
    /// is damaged, which stops the backup; `DiskFull`, `Io`; `ReadOnly`; and as
    /// [`flush`](Self::flush).
    pub fn backup(
        &self,
        directory: impl AsRef<Path>,
        mut on_progress: impl FnMut(BackupProgress),
    ) -> Result<BackupProgress> {
        let directory = directory.as_ref();
        let to = || {
            self.engine.expect_outside(directory)?;
            super::options::directory_to_write(directory)
        };
        self.engine.back_up(to, STAGE_PAGES, &mut on_progress)
    }

    /// Closes the database: all that was done is in the data file then, whatever the level, and the
    /// directory can be opened again. Other handles return `Closed` from then on. Dropping the last
    /// handle closes it too, but does not say whether that went well.
    ///
    /// # Errors
    /// As [`flush`](Self::flush). It is closed anyway; the promise of the level is kept.
    pub fn close(self) -> Result<()> {
        self.engine.close()
    }

    /// Returns true in a process that was forked from the one that opened the database. Calls fail
    /// there with `Forked`; a fork copies neither threads nor the work that they were doing.
    #[inline]
    pub fn is_forked(&self) -> bool {
        self.engine.expect_here().is_err()
    }

    /// Returns the space that the database takes up.
    pub fn statistics(&self) -> Statistics {
        self.engine.statistics()
    }

    /// Checks every page, index and record, the chunks of all [`Blobs`](super::Blobs), and
    /// [changes](Self::changes) that are kept, and reports all faults. Of the changes it is the
    /// first.
    ///
    /// # Errors
    /// `Closed`, `Forked` and `MomentExpired`. Faults of the database are in the report.
    pub fn check(&self) -> Result<CheckReport> {
        let mut report = CheckReport::default();
        let (tables, snapshot) = self.begin_check(&mut report)?;
        self.engine.check(&tables, snapshot.moment(), &mut report)?;
        self.check_blobs(&snapshot, &mut report)?;
        drop(snapshot);
        self.check_changes(&mut report)?;
        Ok(report)
    }

    /// Returns the tables with the pages of their heaps, as of the moment of a snapshot.
    fn begin_check(&self, report: &mut CheckReport) -> Result<(Vec<TableToCheck>, Snapshot)> {
        let tables = self.engine.tables(report)?;
        let (snapshot, pages) = Snapshot::alone(self.engine.clone(), &|| {
            tables.iter().map(|core| core.heap_pages()).collect::<Vec<_>>()
        });
        Ok((tables.into_iter().zip(pages).collect(), snapshot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Type, Value};

    /// Drops a table during a check, and gives its pages to the heap of another one: at the moment
    /// of the check they were pages of an index.
    #[test]
    fn pages_that_change_hands_during_a_check_are_not_faults() {
        let db = Database::in_memory().expect("memory");
        let table = |name: &str, rest| {
            let schema = Schema::build(name).key("id", Type::U64).column("rest", rest).finish();
            db.create_table(&schema.expect("a schema"), KeyKind::Tree).expect("room")
        };
        let fill = |table: &Table, count: u64| {
            for id in 0..count {
                let values = [Value::Unsigned(id), Value::Bytes(&[3; 50])];
                let record = table.schema().pack(&values).expect("it fits");
                table.insert(&record).expect("room");
            }
        };
        fill(&table("dropped", Type::Bytes(50)), 20_000);
        let heap = table("heap", Type::VarBytes(50));
        let mut report = CheckReport::default();
        let (tables, snapshot) = db.begin_check(&mut report).expect("it is open");
        db.drop_table("dropped").expect("it is there");
        fill(&heap, 20_000);
        db.engine.check(&tables, snapshot.moment(), &mut report).expect("it is open");
        assert!(report.is_sound(), "{report:?}");
        let heap = heap.core();
        let now = vec![(std::sync::Arc::clone(heap), heap.heap_pages())];
        db.engine.check(&now, snapshot.moment(), &mut report).expect("it is open");
        assert!(!report.is_sound(), "no page has changed hands");
        db.clone().close().expect("nothing is to be written");
        assert_eq!(db.engine.check(&now, snapshot.moment(), &mut report), Err(Error::Closed));
    }
}
