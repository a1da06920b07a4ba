//! `crossdb`: CrossDB through its C library, loaded at run time where the machine has it.
//!
//! - Version: as the library reports it, 0.8 to 0.14. (0.7 misses rows when its index grows, and is
//!   refused.) 0.12 changed what functions take: results and rows are read through functions since.
//!   Run with 0.8.0, the snapshot after it, which has callbacks, 0.11.0 to 0.14.0, and the one of
//!   20 June 2025.
//! - Storage: memory (`ENGINE=MEMORY`), ramdisk and disk (mapped files; a RAM disk is a path on
//!   tmpfs). Keys: hash only (`USING RBTREE` is accepted by it and ignored). No ordered scans.
//! - Levels: 0.8 and 0.9 have no log; later releases do not sync theirs unless they are told to
//!   (`SYNCMODE`). So files promise `process` and memory `none`.
//! - Settings: its defaults, as its own benchmark has them: `LOCKMODE=THREAD`, statements
//!   prepared once. `--set crossdb.lockmode=nolock` leaves its lock out.
//! - Form of calling: values are bound, then the statement is executed. Lookups take their row
//!   in a callback, the fastest of its forms in memory, where the library has that
//!   (`xdb_stmt_bexec_cb`); else they fetch it from the result. 0.12 took callbacks out of its
//!   header: its functions read no column of a row that a callback got.
//! - Text is bound with its length (`xdb_bind_str2`), since `xdb_bind_str` stores a length of 0
//!   on insert. Texts are compared without regard to case: keys that differ only there are one.
//! - Columns are declared without `NOT NULL`: 0.8 never returns from a column option that it
//!   does not know.
//! - A missing key, a duplicate key and an insert without room all return "no rows affected"
//!   without an error. (0.8.0 has an error for a duplicate key.) So an insert that affected nothing
//!   looks for its key.
//! - Unsigned integers are stored as signed ones of the same bits. Up to eight bytes are stored as
//!   `BIGINT`, more as `CHAR`, which keeps any bytes and their number; its API has no type for
//!   bytes. Keys cannot have columns of more than eight bytes, since case is ignored in `CHAR`, nor
//!   of floats, which it does not find. Since 0.14 their integers of one or two bytes are stored as
//!   `INT`: a negative `TINYINT` or `SMALLINT` is missed in keys.

#![allow(unsafe_code)]

mod library;
mod lookup;
mod row;
mod statement;
mod version;

use std::ffi::c_int;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use assay_driver::error::{Error, Result};
use assay_driver::schema::{ColumnType, Schema};
use assay_driver::{
    Cache, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Parameter, Profile, Storage, Store, Transactions, Work,
};

use crate::sql::{Dialect, Statements, changed};
use library::{CrossDbLibrary, Handle, Interface, library, text};
use lookup::Lookup;
use statement::{Inserted, Parameter as Bound, Prepared, c_text, checked};
use version::Version;

pub(crate) struct CrossDb;

static PROFILE: Profile = Profile {
    id: "crossdb",
    name: "CrossDB",
    about: "SQL database with hash indexes (libcrossdb.so)",
    key_kinds: &[KeyKind::Hash],
    levels: &[
        (Storage::Memory, &[Durability::None]),
        (Storage::Ramdisk, &[Durability::Process]),
        (Storage::Disk, &[Durability::Process]),
    ],
    periodic_survives_kill: false,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Refuses,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::OneConnection,
    parameters: &[Parameter {
        as_published: Some("thread"),
        ..Parameter::words(
            "lockmode",
            &["thread", "nolock"],
            "the lock around each statement: among threads, CrossDB's default, or none",
        )
    }],
    keeps_data: true,
};

fn dialect(version: Version) -> Dialect {
    let key_type_name = if version.finds_narrow_keys() { type_name } else { wide_type_name };
    Dialect { type_name, key_type_name, column_suffix: "", table_suffix: "" }
}

/// Returns the type of a key's column if negative numbers of one or two bytes are not found.
fn wide_type_name(kind: ColumnType) -> String {
    match kind {
        ColumnType::U8 | ColumnType::U16 => "INT".into(),
        _ => type_name(kind),
    }
}

fn type_name(kind: ColumnType) -> String {
    match kind {
        ColumnType::U8 => "TINYINT".into(),
        ColumnType::U16 => "SMALLINT".into(),
        ColumnType::U32 | ColumnType::I32 => "INT".into(),
        ColumnType::U64 | ColumnType::I64 => "BIGINT".into(),
        ColumnType::F64 => "DOUBLE".into(),
        ColumnType::Bytes(size) if size <= MOST_SHORT_BYTES => "BIGINT".into(),
        ColumnType::Text(size) | ColumnType::Bytes(size) | ColumnType::VarBytes(size) => {
            format!("CHAR({size})")
        }
    }
}

/// The most bytes that are stored as an integer.
const MOST_SHORT_BYTES: u32 = 8;

/// The most bytes that a `CHAR` has.
const MOST_CHAR_BYTES: u32 = 65_535;

/// Databases in memory that were opened: each has a unique name, by which the library, within
/// a process, would take one for another.
static OPENED: AtomicU32 = AtomicU32::new(0);

/// CrossDB's `XDB_PATH_LEN`: the most bytes of a database's path.
const MOST_PATH_BYTES: usize = 256;

impl Driver for CrossDb {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn version(&self) -> std::result::Result<String, String> {
        library().map(|library| library.said.clone())
    }

    fn refusal(&self, schema: &Schema) -> Option<String> {
        unfit_columns(schema)
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let library = library().map_err(Error::unsupported)?;
        if let Some(why) = self.refusal(&spec.schema) {
            return Err(Error::unsupported(why));
        }
        let lock_mode = spec.parameter("lockmode").unwrap_or("thread").to_uppercase();
        let database = match spec.storage {
            Storage::Memory => {
                let number = OPENED.fetch_add(1, Ordering::Relaxed);
                format!("memory{number} ENGINE=MEMORY, LOCKMODE={lock_mode}")
            }
            _ => format!("'{}' LOCKMODE={lock_mode}", quotable(&spec.dir().join("store"))?),
        };
        let store = CrossDbStore {
            library,
            connection: Mutex::new(Opened(open(library, &database)?)),
            statements: Statements::new(&spec.schema, &dialect(library.version)),
            schema: spec.schema.clone(),
            database,
            cache: match spec.storage {
                Storage::Memory => Cache::InMemory,
                _ => Cache::Mapped,
            },
        };
        store.create_table()?;
        Ok(Box::new(store))
    }
}

/// Returns which columns CrossDB has no type for, or does not find again; none if there are none.
fn unfit_columns(schema: &Schema) -> Option<String> {
    let is_long = |kind| match kind {
        ColumnType::Text(size) | ColumnType::Bytes(size) | ColumnType::VarBytes(size) => {
            size > MOST_CHAR_BYTES
        }
        _ => false,
    };
    let is_long_bytes = |kind| matches!(kind, ColumnType::Bytes(size) if size > MOST_SHORT_BYTES);
    let keys = schema.key_columns();
    if schema.columns().iter().any(|column| is_long(column.kind)) {
        return Some(format!("columns of more than {MOST_CHAR_BYTES} bytes"));
    }
    if keys.iter().any(|column| is_long_bytes(column.kind)) {
        return Some(format!("keys of more than {MOST_SHORT_BYTES} bytes"));
    }
    if keys.iter().any(|column| column.kind == ColumnType::F64) {
        return Some("keys with a column of floats".into());
    }
    None
}

/// Returns a path for use between quotation marks in a statement of CrossDB's.
fn quotable(path: &Path) -> Result<String> {
    let refused = |why: String| Error::engine("open", format!("{}: {why}", path.display()));
    match path.to_str() {
        None => Err(refused("not UTF-8".into())),
        Some(path) if path.len() > MOST_PATH_BYTES => {
            Err(refused(format!("CrossDB takes paths of at most {MOST_PATH_BYTES} bytes")))
        }
        Some(path) if path.contains(['\'', '\\']) => {
            Err(refused("CrossDB takes no path with a quotation mark or a backslash".into()))
        }
        Some(path) => Ok(path.into()),
    }
}

/// Opens a connection to a database with options, which is created if it is missing. (`xdb_open`
/// does this with a path, but reports a failure on standard error only.)
fn open(library: &'static CrossDbLibrary, database: &str) -> Result<Handle> {
    let create = c_text(&format!("CREATE DATABASE IF NOT EXISTS {database}"))?;
    // SAFETY: without a path, it makes a connection; null means failure.
    let connection = unsafe { (library.functions.open)(ptr::null()) };
    if connection.is_null() {
        return Err(Error::engine("open", "xdb_open failed"));
    }
    // SAFETY: an open connection and a NUL-terminated statement; the name is the connection's.
    let (created, name) = unsafe {
        let result = (library.functions.exec)(connection, create.as_ptr());
        let created = checked(library, "open", result).map(|_| ());
        (created, text((library.functions.current_database)(connection)))
    };
    let opened = created.and_then(|()| {
        if name.is_empty() {
            Err(Error::unsupported("several open databases of one name in a process"))
        } else {
            Ok(connection)
        }
    });
    if opened.is_err() {
        // SAFETY: it is open, and not used after this.
        unsafe { (library.functions.close)(connection) };
    }
    opened
}

struct Opened(Handle);

// SAFETY: a connection is not bound to a thread, and the mutex around it lets one use it.
unsafe impl Send for Opened {}

struct CrossDbStore {
    library: &'static CrossDbLibrary,
    connection: Mutex<Opened>,
    statements: Statements,
    schema: Schema,
    /// The database's name or path, and its options.
    database: String,
    cache: Cache,
}

impl CrossDbStore {
    fn create_table(&self) -> Result<()> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let sql = c_text(&self.statements.create)?;
        // SAFETY: an open connection and a NUL-terminated statement.
        let result = unsafe { (self.library.functions.exec)(connection.0, sql.as_ptr()) };
        checked(self.library, "create the table", result).map(|_| ())
    }
}

impl Store for CrossDbStore {
    fn settings(&self) -> Vec<String> {
        let form = match self.library.interface {
            Interface::Shown(_, Some(_)) => "prepared statements, rows by callback",
            Interface::Shown(_, None) | Interface::Opaque(_) => "prepared statements, rows fetched",
        };
        let mut settings = vec![format!("CREATE DATABASE {}", self.database), form.into()];
        let file = self.library.named_file.iter().map(|file| file.display().to_string());
        settings.extend(file);
        settings
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let library = self.library;
        let schema = &self.schema;
        let prepare = |sql: &str, parameters| Prepared::new(library, connection.0, sql, parameters);
        let key = || schema.key_columns().iter().map(Bound::of_column);
        let updates = self.statements.updates.iter().zip(schema.payload_columns());
        work(&mut CrossDbConnection {
            library,
            connection: connection.0,
            schema,
            insert: prepare(
                &self.statements.insert,
                schema.columns().iter().map(Bound::of_column).collect(),
            )?,
            lookup: Lookup::new(library, connection.0, &self.statements.select, schema)?,
            updates: updates
                .map(|(sql, column)| {
                    let value = [Bound::of_value(column)].into_iter();
                    prepare(sql, value.chain(key()).collect())
                })
                .collect::<Result<_>>()?,
            delete: prepare(&self.statements.delete, key().collect())?,
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

impl Drop for CrossDbStore {
    fn drop(&mut self) {
        let connection = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner).0;
        // SAFETY: it is open, and all statements on it ended with their `connect`.
        unsafe { (self.library.functions.close)(connection) };
    }
}

struct CrossDbConnection<'s> {
    library: &'static CrossDbLibrary,
    connection: Handle,
    schema: &'s Schema,
    insert: Prepared,
    lookup: Lookup,
    updates: Vec<Prepared>,
    delete: Prepared,
}

impl CrossDbConnection<'_> {
    fn transact(&self, what: &str, function: unsafe extern "C" fn(Handle) -> c_int) -> Result<()> {
        // SAFETY: one of begin, commit and rollback, on an open connection.
        match unsafe { function(self.connection) } {
            0 => Ok(()),
            code => Err(Error::engine(what, format!("error {code}"))),
        }
    }

    /// Returns the outcome of an insert that affected nothing.
    #[cold]
    fn refused_insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let (key, payload) = record.split_at(self.schema.key_size());
        match self.lookup.get(key, &mut payload.to_vec())? {
            Outcome::Missing => Err(Error::engine(
                "insert",
                "CrossDB inserted nothing, though the key is not there (no room for it?)",
            )),
            _ => Ok(Outcome::Duplicate),
        }
    }
}

impl Connection for CrossDbConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        self.transact("begin", self.library.functions.begin)
    }

    fn commit(&mut self) -> Result<()> {
        self.transact("commit", self.library.functions.commit)
    }

    fn rollback(&mut self) -> Result<()> {
        self.transact("rollback", self.library.functions.rollback)
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        self.insert.bind_all(record)?;
        match self.insert.execute_insert()? {
            Inserted::Yes => Ok(Outcome::Done),
            Inserted::Exists => Ok(Outcome::Duplicate),
            Inserted::No => self.refused_insert(record),
        }
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        self.lookup.get(key, payload)
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        update(&mut self.updates[column - self.schema.key_columns().len()], key, value)
    }

    fn replay_updates(
        &mut self,
        keys: &[u8],
        key_size: usize,
        column: usize,
        values: &[u8],
        value_size: usize,
    ) -> Result<u64> {
        let statement = &mut self.updates[column - self.schema.key_columns().len()];
        let mut done = 0;
        let values = values.chunks_exact(value_size);
        for (key, value) in keys.chunks_exact(key_size).zip(values) {
            done += u64::from(update(statement, key, value)? == Outcome::Done);
        }
        Ok(done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.delete.bind_all(key)?;
        Ok(changed(self.delete.execute("delete")?))
    }
}

#[inline]
fn update(statement: &mut Prepared, key: &[u8], value: &[u8]) -> Result<Outcome> {
    statement.bind_value_and_rest(value, key)?;
    Ok(changed(statement.execute("update")?))
}
