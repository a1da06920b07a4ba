//! `sqlite`: SQLite through rusqlite, the SQLite sources bundled with it.
//!
//! - Version: SQLite's own.
//! - Storage: memory, ramdisk, disk. Keys: tree. Transactions, scans; one writer next to readers.
//! - Levels, all with `journal_mode = WAL` (sqlite.org/pragma.html#pragma_synchronous):
//!   `process` is `synchronous = OFF`; `periodic` is `NORMAL` (power loss may cost the commits
//!   since the last checkpoint, 1,000 pages of log, and never corrupts); `commit` is `FULL`.
//!   In memory: `synchronous = OFF`, `journal_mode = OFF`, level `none`, and no rollback.
//! - Settings: the three published sets of CrossDB-vs-SQLite3 are the defaults of the three
//!   storage modes: memory as above, ramdisk `OFF` + WAL, disk `NORMAL` + WAL; with
//!   `temp_store = memory` and `PRAGMA optimize`. Statements are prepared once.
//! - The table is `WITHOUT ROWID`: a composite primary key on a table with a rowid is a second
//!   B-tree (sqlite.org/withoutrowid.html). `--set sqlite.rowid=yes` gives it one, as published.
//! - The common cache budget is `PRAGMA cache_size`. Each connection has a separate cache, so
//!   those that work at once have equal parts. SQLite's default is 2 MiB each. In memory the pages
//!   are the data, and no budget applies.
//! - Where several connections write, they take turns by a mutex: SQLite's own waiting sleeps
//!   longer and longer (sqlite.org/c3ref/busy_timeout.html). A database in memory has one
//!   connection.
//! - Unsigned 64-bit integers are stored as signed ones of the same bits; in the key with the
//!   highest bit flipped, so that their order is kept.

use std::sync::{Mutex, PoisonError};

use assay_driver::error::{Error, Result};
use assay_driver::schema::{Column, ColumnType, Schema, Value, write_bytes, write_integer};
use assay_driver::{
    Cache, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Parameter, Profile, Scan, Storage, Store, Transactions, Values, Work,
};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, Row, Statement};

use crate::sql::{
    Dialect, Statements, Turns, changed, each_row, finding, scan_statement, scanned_columns,
};

pub(crate) struct Sqlite;

/// The parameters that are pragmas, by their names.
const PRAGMAS: [&str; 2] = ["page_size", MMAP_SIZE];
const MMAP_SIZE: &str = "mmap_size";

const FILE_LEVELS: &[Durability] = &[Durability::Process, Durability::Periodic, Durability::Commit];

static PROFILE: Profile = Profile {
    id: "sqlite",
    name: "SQLite",
    about: "SQL database (rusqlite, bundled)",
    key_kinds: &[KeyKind::Tree],
    levels: &[
        (Storage::Memory, &[Durability::None]),
        (Storage::Ramdisk, FILE_LEVELS),
        (Storage::Disk, FILE_LEVELS),
    ],
    periodic_survives_kill: true,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Refuses,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::OneWriter,
    parameters: &[
        Parameter {
            as_published: Some("yes"),
            ..Parameter::words(
                "rowid",
                &["no", "yes"],
                "yes: a table with a rowid, two B-trees, as published; no: WITHOUT ROWID",
            )
        },
        Parameter::CACHE_BYTES,
        Parameter {
            name: "page_size",
            values: Values::PowerOfTwo { least: 512, most: 64 << 10, default: "4096" },
            about: "PRAGMA page_size, of a new store",
            as_published: None,
            of_files: false,
        },
        Parameter {
            of_files: true,
            ..Parameter::bytes(
                MMAP_SIZE,
                (0, i32::MAX as u64),
                "0",
                "PRAGMA mmap_size: the most bytes of the file that are read through a map",
            )
        },
    ],
    keeps_data: true,
};

fn said(what: &'static str) -> impl Fn(rusqlite::Error) -> Error {
    move |error| Error::engine(what, error)
}

impl Driver for Sqlite {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn copy_rule(&self) -> Option<&'static str> {
        Some("a copy made during a transaction may be corrupt (sqlite.org/howtocorrupt.html, 1.2)")
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(rusqlite::version().into())
    }

    fn has_indexes(&self) -> bool {
        true
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        if spec.storage == Storage::Memory && spec.threads > 1 {
            return Err(Error::unsupported("several connections to a database in memory"));
        }
        let dialect = Dialect {
            type_name,
            key_type_name: type_name,
            column_suffix: " NOT NULL",
            table_suffix: if spec.has("rowid", "yes") { "" } else { " WITHOUT ROWID" },
        };
        let pragmas = match (spec.storage, spec.durability) {
            (Storage::Memory, _) => ["OFF", "OFF"],
            (_, Durability::Commit) => ["FULL", "WAL"],
            (_, Durability::Periodic) => ["NORMAL", "WAL"],
            _ => ["OFF", "WAL"],
        };
        let mut store = SqliteStore {
            path: (spec.storage != Storage::Memory).then(|| spec.dir().join("store.sqlite")),
            statements: Statements::new(&spec.schema, &dialect),
            schema: spec.schema.clone(),
            pragmas,
            set: set_pragmas(spec)?,
            cache: cache(spec),
            connections: u64::from(spec.threads.max(1)),
            writing: (spec.threads > 1).then(|| Mutex::new(())),
            first: Mutex::new(None),
            settings: Vec::new(),
        };
        let first = store.new_connection()?;
        first
            .execute_batch(&store.statements.create)
            .and_then(|()| first.execute_batch(&store.statements.create_indexes.join(";")))
            .and_then(|()| first.execute_batch("PRAGMA optimize"))
            .map_err(said("create the table"))?;
        store.settings = settings(&first, dialect.table_suffix, &store.set)?;
        if store.writing.is_some() {
            store.settings.push("writers take turns by a mutex".into());
        }
        *store.first.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(first);
        Ok(Box::new(store))
    }
}

/// Returns the pragmas that were set as parameters, with their values.
fn set_pragmas(spec: &OpenSpec) -> Result<Vec<(&'static str, u64)>> {
    let set = PRAGMAS.into_iter().map(|name| Ok(spec.bytes(name)?.map(|bytes| (name, bytes))));
    set.filter_map(Result::transpose).collect()
}

/// Returns the size of the caches of all connections together.
fn cache(spec: &OpenSpec) -> Cache {
    match (spec.storage, spec.cache_bytes) {
        (Storage::Memory, _) => Cache::InMemory,
        (_, None) => Cache::Default,
        (_, Some(size_bytes)) => Cache::Size { size_bytes, setting: "PRAGMA cache_size" },
    }
}

/// Returns a size as the pragma takes it, in KiB, of which it has 31 bits.
fn cache_kib(size_bytes: u64) -> i64 {
    i64::from(i32::try_from(size_bytes >> 10).unwrap_or(i32::MAX)).max(1)
}

/// Returns the settings as SQLite itself reports them.
fn settings(
    connection: &rusqlite::Connection,
    table_suffix: &str,
    set: &[(&'static str, u64)],
) -> Result<Vec<String>> {
    let ask = |pragma: &str| {
        connection
            .pragma_query_value(None, pragma, |row| {
                Ok(match row.get_ref(0)? {
                    ValueRef::Integer(number) => number.to_string(),
                    value => value.as_str().unwrap_or_default().to_string(),
                })
            })
            .map_err(said("read the settings"))
    };
    let name = |names: &[&str], number: String| {
        let at = number.parse::<usize>().unwrap_or(usize::MAX);
        names.get(at).map_or(number, ToString::to_string)
    };
    let mut settings = vec![
        format!(
            "PRAGMA synchronous = {}",
            name(&["OFF", "NORMAL", "FULL", "EXTRA"], ask("synchronous")?)
        ),
        format!("PRAGMA journal_mode = {}", ask("journal_mode")?.to_uppercase()),
        format!("PRAGMA cache_size = {}", ask("cache_size")?),
        format!("PRAGMA temp_store = {}", name(&["default", "file", "memory"], ask("temp_store")?)),
        "PRAGMA optimize".into(),
        match table_suffix.trim() {
            "" => "table with a rowid (two B-trees)".into(),
            suffix => suffix.to_string(),
        },
    ];
    for (name, _) in set {
        settings.push(format!("PRAGMA {name} = {}", ask(name)?));
    }
    Ok(settings)
}

fn type_name(kind: ColumnType) -> String {
    match kind {
        ColumnType::F64 => "REAL",
        ColumnType::Text(_) => "TEXT",
        ColumnType::Bytes(_) | ColumnType::VarBytes(_) => "BLOB",
        _ => "INTEGER",
    }
    .into()
}

struct SqliteStore {
    path: Option<std::path::PathBuf>,
    statements: Statements,
    schema: Schema,
    pragmas: [&'static str; 2],
    /// Pragmas that were set as parameters.
    set: Vec<(&'static str, u64)>,
    cache: Cache,
    /// The number of connections that work at once.
    connections: u64,
    /// Held during a write, if several connections write.
    writing: Option<Mutex<()>>,
    /// The connection that holds the store open: in memory it is the store.
    first: Mutex<Option<rusqlite::Connection>>,
    settings: Vec<String>,
}

impl SqliteStore {
    fn new_connection(&self) -> Result<rusqlite::Connection> {
        let connection = match &self.path {
            Some(path) => rusqlite::Connection::open(path),
            None => rusqlite::Connection::open_in_memory(),
        }
        .map_err(said("open"))?;
        let [synchronous, journal_mode] = self.pragmas;
        // The size of pages is that of an empty file only.
        let mut set = self.set.iter();
        set.try_for_each(|(name, bytes)| connection.pragma_update(None, name, *bytes as i64))
            .and_then(|()| connection.pragma_update(None, "synchronous", synchronous))
            .and_then(|()| connection.pragma_update(None, "journal_mode", journal_mode))
            .and_then(|()| connection.pragma_update(None, "temp_store", "memory"))
            .and_then(|()| match self.cache {
                Cache::Size { size_bytes, .. } => {
                    let kib = cache_kib(size_bytes / self.connections);
                    connection.pragma_update(None, "cache_size", -kib)
                }
                _ => Ok(()),
            })
            .map_err(said("set the pragmas"))?;
        Ok(connection)
    }

    fn session(&self, connection: &rusqlite::Connection, work: &mut Work<'_>) -> Result<()> {
        let prepare = |sql: &str| connection.prepare(sql).map_err(said("prepare"));
        let find = |(at, sql): &(usize, String)| Ok((*at, prepare(sql)?));
        work(&mut SqliteConnection {
            connection,
            schema: &self.schema,
            begin: prepare("BEGIN IMMEDIATE")?,
            commit: prepare("COMMIT")?,
            rollback: prepare("ROLLBACK")?,
            insert: prepare(&self.statements.insert)?,
            upsert: prepare(&self.statements.upsert)?,
            select: prepare(&self.statements.select)?,
            finds: self.statements.finds.iter().map(find).collect::<Result<_>>()?,
            updates: self
                .statements
                .updates
                .iter()
                .map(|sql| prepare(sql))
                .collect::<Result<_>>()?,
            delete: prepare(&self.statements.delete)?,
            journaled: self.path.is_some(),
            turns: Turns::new(self.writing.as_ref()),
        })
    }
}

impl Store for SqliteStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        if self.path.is_some() {
            return self.session(&self.new_connection()?, work);
        }
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = first.as_ref().expect("the store is open until it is closed");
        self.session(connection, work)
    }

    fn close(self: Box<Self>) -> Result<()> {
        let first = self.first.into_inner().unwrap_or_else(PoisonError::into_inner);
        match first {
            Some(connection) => connection.close().map_err(|(_, error)| said("close")(error)),
            None => Ok(()),
        }
    }
}

struct SqliteConnection<'c> {
    connection: &'c rusqlite::Connection,
    schema: &'c Schema,
    begin: Statement<'c>,
    commit: Statement<'c>,
    rollback: Statement<'c>,
    insert: Statement<'c>,
    upsert: Statement<'c>,
    select: Statement<'c>,
    finds: Vec<(usize, Statement<'c>)>,
    updates: Vec<Statement<'c>>,
    delete: Statement<'c>,
    journaled: bool,
    turns: Turns<'c>,
}

impl Connection for SqliteConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        self.turns.begin();
        self.begin.raw_execute().map_err(said("begin"))?;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.commit.raw_execute().map_err(said("commit"))?;
        self.turns.end();
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        if !self.journaled {
            return Err(Error::unsupported("rollback with journal_mode = OFF"));
        }
        self.rollback.raw_execute().map_err(said("rollback"))?;
        self.turns.end();
        Ok(())
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        bind(&mut self.insert, 1, self.schema.columns(), record)?;
        let _turn = self.turns.one();
        match self.insert.raw_execute() {
            Ok(_) => Ok(Outcome::Done),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
                Ok(Outcome::Duplicate)
            }
            Err(error) => Err(said("insert")(error)),
        }
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        bind(&mut self.upsert, 1, self.schema.columns(), record)?;
        let _turn = self.turns.one();
        self.upsert.raw_execute().map_err(said("upsert"))?;
        Ok(())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        bind(&mut self.select, 1, self.schema.key_columns(), key)?;
        let mut rows = self.select.raw_query();
        match rows.next().map_err(said("get"))? {
            Some(row) => {
                let base = self.schema.key_size();
                read(row, self.schema.payload_columns(), base, payload)?;
                Ok(Outcome::Done)
            }
            None => Ok(Outcome::Missing),
        }
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let at = column - self.schema.key_columns().len();
        let _turn = self.turns.one();
        let statement = &mut self.updates[at];
        let kind = self.schema.columns()[column].kind;
        bind_value(statement, 1, Value::read(kind, value))?;
        bind(statement, 2, self.schema.key_columns(), key)?;
        Ok(changed(statement.raw_execute().map_err(said("update"))?))
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        bind(&mut self.delete, 1, self.schema.key_columns(), key)?;
        let _turn = self.turns.one();
        Ok(changed(self.delete.raw_execute().map_err(said("delete"))?))
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let (sql, bounds) = scan_statement(self.schema, scan, compare_keys);
        let mut statement = self.connection.prepare_cached(&sql).map_err(said("scan"))?;
        let key_columns = self.schema.key_columns();
        for (bound, first) in bounds.iter().zip((1..).step_by(key_columns.len())) {
            bind(&mut statement, first, key_columns, bound)?;
        }
        let mut rows = statement.raw_query();
        each_row(
            self.schema,
            &scanned_columns(self.schema, scan),
            row,
            |columns, record| match rows.next().map_err(said("scan"))? {
                Some(found) => read(found, columns, 0, record).map(|()| true),
                None => Ok(false),
            },
        )
    }

    fn find_by(&mut self, column: usize, value: &[u8], row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let statement = finding(&mut self.finds, column)?;
        let kind = self.schema.columns()[column].kind;
        bind_value(statement, 1, Value::read(kind, value))?;
        let mut rows = statement.raw_query();
        each_row(self.schema, self.schema.columns(), row, |columns, record| {
            match rows.next().map_err(said("find"))? {
                Some(found) => read(found, columns, 0, record).map(|()| true),
                None => Ok(false),
            }
        })
    }
}

/// Compares composite keys as row values.
fn compare_keys(key: &[Column], operator: &str, _: usize) -> String {
    let names = key.iter().map(|column| column.name).collect::<Vec<_>>().join(", ");
    format!("({names}) {operator} ({})", vec!["?"; key.len()].join(", "))
}

const SIGN: u64 = 1 << 63;

/// Returns true if a column's unsigned integers need a signed integer of the same order.
fn orders_unsigned(column: &Column) -> bool {
    column.in_key && column.kind == ColumnType::U64
}

/// Binds columns of a packed record to parameters from `first` on.
fn bind(
    statement: &mut Statement<'_>,
    first: usize,
    columns: &[Column],
    record: &[u8],
) -> Result<()> {
    for (column, at) in columns.iter().zip(first..) {
        let value = match column.value(record) {
            Value::Unsigned(number) if orders_unsigned(column) => Value::Unsigned(number ^ SIGN),
            value => value,
        };
        bind_value(statement, at, value)?;
    }
    Ok(())
}

fn bind_value(statement: &mut Statement<'_>, at: usize, value: Value<'_>) -> Result<()> {
    let value = match value {
        Value::Unsigned(number) => ValueRef::Integer(number.cast_signed()),
        Value::Signed(number) => ValueRef::Integer(number),
        Value::Float(number) => ValueRef::Real(number),
        Value::Text(bytes) => ValueRef::Text(bytes),
        Value::Bytes(bytes) => ValueRef::Blob(bytes),
    };
    statement.raw_bind_parameter(at, ToSqlOutput::Borrowed(value)).map_err(said("bind"))
}

/// Copies a row's columns to their places; `base` is the offset at which `bytes` starts.
fn read(row: &Row<'_>, columns: &[Column], base: usize, bytes: &mut [u8]) -> Result<()> {
    for (at, column) in columns.iter().enumerate() {
        let size = column.kind.size_bytes();
        let to = &mut bytes[column.offset - base..column.offset - base + size];
        match row.get_ref(at).map_err(said("read"))? {
            ValueRef::Integer(number) if orders_unsigned(column) => {
                write_integer(column.kind, number ^ SIGN.cast_signed(), to);
            }
            ValueRef::Integer(number) => write_integer(column.kind, number, to),
            ValueRef::Real(number) => to.copy_from_slice(&number.to_le_bytes()),
            ValueRef::Text(text) | ValueRef::Blob(text) => write_bytes(column.kind, text, to),
            ValueRef::Null => to.fill(0),
        }
    }
    Ok(())
}
