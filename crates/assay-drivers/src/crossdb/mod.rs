//! `crossdb`: CrossDB through its C library, loaded at run time where the machine has it.
//!
//! - Version: as the library reports it; written for the API of 0.6 to 0.11 (0.12
//!   changed what its functions take, and is refused).
//! - Storage: memory (`:memory:`), ramdisk and disk (mapped files; a RAM disk is a path on
//!   tmpfs). Keys: hash only (`USING RBTREE` is accepted by it and ignored). No ordered scans.
//! - Levels: it has no log and never syncs, so files promise `process` and memory `none`.
//! - Settings: its defaults, with statements prepared once. Values are bound one by one and the
//!   statement executed; text is bound with its length (`xdb_bind_str2`), since `xdb_bind_str`
//!   stores a length of 0 on insert.
//! - A missing key and a duplicate key both answer "no rows affected" without an error, which
//!   is unambiguous for each kind of statement.
//! - Unsigned integers are stored as signed ones of the same bits. Columns of bytes are not
//!   supported: its C API binds text only.

#![allow(unsafe_code)]

mod library;

use std::ffi::{CString, c_char, c_int};
use std::sync::{Mutex, PoisonError};

use assay_core::driver::{
    Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Profile, Storage, Store, Transactions, Work,
};
use assay_core::error::{Error, Result};
use assay_core::schema::{Column, ColumnType, Schema, Value, write_bytes, write_integer};

use crate::sql::{Dialect, Statements};
use library::{CrossDbLibrary, Handle, QueryResult, library, text};

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
    options: &[],
    parameters: &[],
    keeps_data: true,
};

const DIALECT: Dialect = Dialect {
    type_name: |kind| match kind {
        ColumnType::U8 => "TINYINT".into(),
        ColumnType::U16 => "SMALLINT".into(),
        ColumnType::U32 | ColumnType::I32 => "INT".into(),
        ColumnType::U64 | ColumnType::I64 => "BIGINT".into(),
        ColumnType::F64 => "DOUBLE".into(),
        ColumnType::Text(size) | ColumnType::Bytes(size) | ColumnType::VarBytes(size) => {
            format!("CHAR({size})")
        }
    },
    table_suffix: "",
};

impl Driver for CrossDb {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn version(&self) -> std::result::Result<String, String> {
        // SAFETY: the function takes nothing and returns a static string.
        library().map(|library| unsafe { text((library.version)()) })
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let library = library().map_err(Error::unsupported)?;
        let columns = spec.schema.columns();
        if columns
            .iter()
            .any(|column| matches!(column.kind, ColumnType::Bytes(_) | ColumnType::VarBytes(_)))
        {
            return Err(Error::unsupported("columns of bytes"));
        }
        let path = match spec.storage {
            Storage::Memory => ":memory:".into(),
            _ => spec.dir.join("store").to_string_lossy().into_owned(),
        };
        let c_path = c_text(&path)?;
        // SAFETY: a NUL-terminated path; null is the answer for failure.
        let connection = unsafe { (library.open)(c_path.as_ptr()) };
        if connection.is_null() {
            return Err(Error::engine("open", format!("xdb_open({path}) failed")));
        }
        let store = CrossDbStore {
            library,
            connection: Mutex::new(Opened(connection)),
            statements: Statements::new(&spec.schema, &DIALECT),
            schema: spec.schema.clone(),
            path,
        };
        store.create_table(connection)?;
        Ok(Box::new(store))
    }
}

fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|e| Error::engine("pass a text", e))
}

struct Opened(Handle);

// SAFETY: a connection is not bound to a thread, and the mutex around it lets one use it.
unsafe impl Send for Opened {}

struct CrossDbStore {
    library: &'static CrossDbLibrary,
    connection: Mutex<Opened>,
    statements: Statements,
    schema: Schema,
    path: String,
}

impl CrossDbStore {
    fn create_table(&self, connection: Handle) -> Result<()> {
        let sql = c_text(&self.statements.create)?;
        // SAFETY: an open connection and a NUL-terminated statement.
        let result = unsafe { (self.library.exec)(connection, sql.as_ptr()) };
        affected(self.library, "create the table", result).map(|_| ())
    }
}

impl Store for CrossDbStore {
    fn settings(&self) -> Vec<String> {
        vec![format!("xdb_open({})", self.path), "prepared statements".into()]
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let prepare = |sql: &str| Prepared::new(self.library, connection.0, sql, &self.schema);
        work(&mut CrossDbConnection {
            library: self.library,
            connection: connection.0,
            schema: &self.schema,
            insert: prepare(&self.statements.insert)?,
            select: prepare(&self.statements.select)?,
            updates: self
                .statements
                .updates
                .iter()
                .map(|sql| prepare(sql))
                .collect::<Result<_>>()?,
            delete: prepare(&self.statements.delete)?,
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
        unsafe { (self.library.close)(connection) };
    }
}

/// A prepared statement, closed when it is dropped.
struct Prepared {
    library: &'static CrossDbLibrary,
    handle: Handle,
    /// Bound texts, each with a zero byte after it, until the statement has been executed: the
    /// library copies one byte more than a text's length. It never grows beyond its capacity,
    /// so texts stay where they are.
    texts: Vec<u8>,
}

impl Prepared {
    fn new(
        library: &'static CrossDbLibrary,
        connection: Handle,
        sql: &str,
        schema: &Schema,
    ) -> Result<Self> {
        let c_sql = c_text(sql)?;
        // SAFETY: an open connection and a NUL-terminated statement.
        let handle = unsafe { (library.prepare)(connection, c_sql.as_ptr()) };
        match handle.is_null() {
            true => Err(Error::engine("prepare", sql)),
            false => {
                let texts = Vec::with_capacity(schema.record_size() + schema.columns().len());
                Ok(Self { library, handle, texts })
            }
        }
    }

    /// Binds columns of a packed record to parameters from `first` on.
    fn bind(&mut self, first: u16, columns: &[Column], record: &[u8]) -> Result<()> {
        for (column, at) in columns.iter().zip(first..) {
            self.bind_value(at, column.kind, column.value(record))?;
        }
        Ok(())
    }

    fn bind_value(&mut self, at: u16, kind: ColumnType, value: Value<'_>) -> Result<()> {
        if at == 1 {
            self.texts.clear();
        }
        // SAFETY: a live statement; a text lies in `texts` until the first parameter is bound
        // again.
        let code = unsafe {
            match value {
                Value::Unsigned(number) => {
                    (self.library.bind_int64)(self.handle, at, signed(kind, number))
                }
                Value::Signed(number) => (self.library.bind_int64)(self.handle, at, number),
                Value::Float(number) => (self.library.bind_double)(self.handle, at, number),
                Value::Text(bytes) | Value::Bytes(bytes) => {
                    let text = self.keep(bytes);
                    (self.library.bind_str2)(self.handle, at, text, bytes.len() as c_int)
                }
            }
        };
        match code {
            0 => Ok(()),
            code => Err(Error::engine("bind", format!("parameter {at}: error {code}"))),
        }
    }

    /// Copies a text to where it stays until the statement has been executed.
    fn keep(&mut self, text: &[u8]) -> *const c_char {
        let from = self.texts.len();
        assert!(from + text.len() < self.texts.capacity(), "room for every text of a record");
        self.texts.extend_from_slice(text);
        self.texts.push(0);
        self.texts[from..].as_ptr().cast()
    }

    fn execute(&mut self) -> *mut QueryResult {
        // SAFETY: a live statement with all parameters bound.
        unsafe { (self.library.stmt_exec)(self.handle) }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: it is live, and nobody uses it after this.
        unsafe { (self.library.stmt_close)(self.handle) };
    }
}

/// The signed integer of the column's width with these bits.
fn signed(kind: ColumnType, number: u64) -> i64 {
    match kind {
        ColumnType::U8 => i64::from(number as u8 as i8),
        ColumnType::U16 => i64::from(number as u16 as i16),
        ColumnType::U32 => i64::from(number as u32 as i32),
        _ => number.cast_signed(),
    }
}

/// The rows that a statement affected, or its error.
fn affected(library: &CrossDbLibrary, what: &str, result: *mut QueryResult) -> Result<u64> {
    // SAFETY: null, or a result of the library that lives until the connection's next call.
    match unsafe { result.as_ref() } {
        None => Err(Error::engine(what, "no result")),
        Some(answer) if answer.error_code != 0 => {
            // SAFETY: the message belongs to the result.
            let message = unsafe { text((library.errmsg)(result)) };
            Err(Error::engine(what, format!("{message} (error {})", answer.error_code)))
        }
        Some(answer) => Ok(answer.affected_rows),
    }
}

struct CrossDbConnection<'s> {
    library: &'static CrossDbLibrary,
    connection: Handle,
    schema: &'s Schema,
    insert: Prepared,
    select: Prepared,
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
}

impl Connection for CrossDbConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        self.transact("begin", self.library.begin)
    }

    fn commit(&mut self) -> Result<()> {
        self.transact("commit", self.library.commit)
    }

    fn rollback(&mut self) -> Result<()> {
        self.transact("rollback", self.library.rollback)
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        self.insert.bind(1, self.schema.columns(), record)?;
        match affected(self.library, "insert", self.insert.execute())? {
            0 => Ok(Outcome::Duplicate),
            _ => Ok(Outcome::Done),
        }
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        self.select.bind(1, self.schema.key_columns(), key)?;
        let result = self.select.execute();
        affected(self.library, "get", result)?;
        // SAFETY: `affected` has checked that there is a result, which is freed below; its row
        // and the texts in it live until then.
        unsafe {
            let meta = (*result).column_meta;
            let row = (self.library.fetch_row)(result);
            if !row.is_null() {
                read(self.library, meta, row, self.schema, payload);
            }
            (self.library.free_result)(result);
            Ok(if row.is_null() { Outcome::Missing } else { Outcome::Done })
        }
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let kind = self.schema.columns()[column].kind;
        let statement = &mut self.updates[column - self.schema.key_columns().len()];
        statement.bind_value(1, kind, Value::read(kind, value))?;
        statement.bind(2, self.schema.key_columns(), key)?;
        changed(affected(self.library, "update", statement.execute())?)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.delete.bind(1, self.schema.key_columns(), key)?;
        changed(affected(self.library, "delete", self.delete.execute())?)
    }
}

fn changed(rows: u64) -> Result<Outcome> {
    Ok(if rows == 0 { Outcome::Missing } else { Outcome::Done })
}

/// Copies the selected columns of a row to their places.
///
/// # Safety
/// `row` is a row of a result with this `meta` that has not been freed.
unsafe fn read(
    library: &CrossDbLibrary,
    meta: u64,
    row: Handle,
    schema: &Schema,
    payload: &mut [u8],
) {
    for (column, at) in schema.payload_columns().iter().zip(0..) {
        let from = column.offset - schema.key_size();
        let to = &mut payload[from..from + column.kind.size_bytes()];
        // SAFETY: the caller's promise; a text has the length that comes with it.
        unsafe {
            match column.kind {
                ColumnType::F64 => {
                    to.copy_from_slice(&(library.column_double)(meta, row, at).to_le_bytes());
                }
                ColumnType::Text(_) | ColumnType::Bytes(_) | ColumnType::VarBytes(_) => {
                    let mut len = 0;
                    let text = (library.column_str2)(meta, row, at, &raw mut len);
                    let len = if text.is_null() { 0 } else { usize::try_from(len).unwrap_or(0) };
                    let bytes = match len {
                        0 => &[],
                        len => std::slice::from_raw_parts(text.cast::<u8>(), len),
                    };
                    write_bytes(column.kind, bytes, to);
                }
                kind => write_integer(kind, (library.column_int64)(meta, row, at), to),
            }
        }
    }
}
