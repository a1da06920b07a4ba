//! `duckdb`: DuckDB, the analytical database, through its Rust client; the C++ is bundled with it.
//!
//! - Version: DuckDB's own.
//! - Storage: memory, ramdisk, disk. Keys: tree. Transactions, scans; many connections.
//! - Levels: every commit ends with a synchronisation of the write-ahead log, which the setting
//!   `fsync_mode` steers (duckdb_settings(), since 2.0). `commit` is `STANDARD`, the default.
//!   `process` is `NONE`: the log reaches the operating system at commit, and nothing is ever
//!   synchronised, so that power loss may even corrupt the file. In memory: level `none`.
//! - Settings: DuckDB scales `threads` (all processors) and `memory_limit` (80 % of the memory) to
//!   the machine by itself. The limit is of its buffer manager, and the common cache budget is set
//!   as this limit where the data is in a file; its guide wants 1 to 4 GB a thread, and less than
//!   80 % only where memory runs out (duckdb.org/docs/2.0/guides/performance/environment, …/oom).
//!   `preserve_insertion_order = false` (…/how_to_tune_workloads, …/oom): every result of ours has
//!   an `ORDER BY`. `checkpoint_threshold` is its 16 MiB: no page of the guide asks for another. In
//!   memory it may not spill into files; extensions are not fetched.
//! - Statements are prepared once and connections are kept (…/how_to_tune_workloads). Still,
//!   DuckDB 2.0 plans a prepared statement that reads a table anew at each execution
//!   (`always_require_rebind`); its documentation says that many small transactions are not what
//!   it is made for (duckdb.org/docs/stable/connect/concurrency).
//! - The primary key is an ART index, which checks uniqueness. Lookups use it only where the key
//!   is one column; with a composite key, and in ordered scans, DuckDB reads the table, past the
//!   row groups that its min-max indexes exclude (duckdb.org/docs/stable/sql/indexes).
//! - A single insert is plain, and the constraint's error is the duplicate. In a transaction that
//!   error would end the transaction, so there the insert has `ON CONFLICT DO NOTHING`, which
//!   DuckDB carries out as `MERGE INTO`: a join with the table. A batch inserts plainly, and once
//!   it meets a duplicate it starts again with `ON CONFLICT DO NOTHING`. The upsert is a merge too.
//! - Two transactions that change one row, or insert one key, meet as an error of the second
//!   (optimistic concurrency, duckdb.org/docs/2.0/connect/concurrency). Where several connections
//!   write, they therefore take turns by a mutex; reads do not wait.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use assay_driver::error::{Error, Result};
use assay_driver::schema::{Column, ColumnType, Schema, Value, write_bytes, write_integer};
use assay_driver::{
    Cache, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Parameter, Profile, Scan, Storage, Store, Transactions, Work,
};
use duckdb::types::{ToSqlOutput, ValueRef};
use duckdb::{Config, Row, Statement};

use crate::sql::{
    Dialect, Statements, Turns, changed, each_row, finding, scan_statement, scanned_columns,
};

pub(crate) struct DuckDb;

const FILE_LEVELS: &[Durability] = &[Durability::Process, Durability::Commit];

static PROFILE: Profile = Profile {
    id: "duckdb",
    name: "DuckDB",
    about: "analytical SQL database, by columns (C++, bundled)",
    key_kinds: &[KeyKind::Tree],
    levels: &[
        (Storage::Memory, &[Durability::None]),
        (Storage::Ramdisk, FILE_LEVELS),
        (Storage::Disk, FILE_LEVELS),
    ],
    periodic_survives_kill: false,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Refuses,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::OneWriter,
    parameters: &[Parameter::CACHE_BYTES],
    keeps_data: true,
};

fn said(what: &'static str) -> impl Fn(duckdb::Error) -> Error {
    move |error| Error::engine(what, error)
}

impl Driver for DuckDb {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn version(&self) -> std::result::Result<String, String> {
        duckdb::Connection::open_in_memory()
            .and_then(|connection| connection.version())
            .map(|version| version.trim_start_matches('v').to_string())
            .map_err(|error| error.to_string())
    }

    fn has_indexes(&self) -> bool {
        true
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let first = open(spec).map_err(said("open"))?;
        let statements = Statements::new(&spec.schema, &DIALECT);
        first.execute_batch(&statements.create).map_err(said("create the table"))?;
        let indexes = statements.create_indexes.join(";");
        first.execute_batch(&indexes).map_err(said("create the indexes"))?;
        let mut settings = settings(&first, spec.storage)?;
        if spec.schema.key_columns().len() > 1 {
            settings.push("composite key: the index checks uniqueness, lookups scan".into());
        }
        if spec.threads > 1 {
            settings.push("writers take turns by a mutex".into());
        }
        Ok(Box::new(DuckDbStore {
            insert_or_ignore: format!("{} ON CONFLICT DO NOTHING", statements.insert),
            statements,
            schema: spec.schema.clone(),
            cache: cache(spec),
            writing: (spec.threads > 1).then(|| Mutex::new(())),
            first: Mutex::new(first),
            settings,
        }))
    }
}

/// Opens the database with all settings that differ from DuckDB's defaults.
fn open(spec: &OpenSpec) -> duckdb::Result<duckdb::Connection> {
    let config = Config::default()
        .with("preserve_insertion_order", "false")?
        .with("autoinstall_known_extensions", "false")?;
    let config = match cache(spec) {
        Cache::Size { size_bytes, .. } => {
            config.with("memory_limit", format!("{}KiB", size_bytes >> 10))?
        }
        _ => config,
    };
    let path: PathBuf = spec.dir().join("store.duckdb");
    match (spec.storage, spec.durability) {
        (Storage::Memory, _) => {
            duckdb::Connection::open_in_memory_with_flags(config.with("temp_directory", "")?)
        }
        (_, Durability::Commit) => duckdb::Connection::open_with_flags(path, config),
        _ => duckdb::Connection::open_with_flags(path, config.with("fsync_mode", "NONE")?),
    }
}

/// Returns the limit of DuckDB's buffer manager.
fn cache(spec: &OpenSpec) -> Cache {
    match (spec.storage, spec.cache_bytes) {
        (Storage::Memory, _) => Cache::InMemory,
        (_, None) => Cache::Default,
        (_, Some(size_bytes)) => Cache::Size { size_bytes, setting: "memory_limit" },
    }
}

/// Returns the settings as DuckDB itself reports them.
fn settings(connection: &duckdb::Connection, storage: Storage) -> Result<Vec<String>> {
    let files = ["fsync_mode", "checkpoint_threshold"];
    let always = ["threads", "memory_limit", "preserve_insertion_order"];
    let of_files = files.iter().filter(|_| storage != Storage::Memory);
    let mut settings = of_files
        .chain(&always)
        .map(|name| {
            let sql = format!("SELECT current_setting('{name}')::VARCHAR");
            let value = connection.query_row(&sql, [], |row| row.get::<_, String>(0));
            Ok(format!("SET {name} = {}", value.map_err(said("read the settings"))?))
        })
        .collect::<Result<Vec<_>>>()?;
    if storage == Storage::Memory {
        settings.push("SET temp_directory = ''".into());
    }
    Ok(settings)
}

const DIALECT: Dialect =
    Dialect { type_name, key_type_name: type_name, column_suffix: " NOT NULL", table_suffix: "" };

fn type_name(kind: ColumnType) -> String {
    match kind {
        ColumnType::U8 => "UTINYINT",
        ColumnType::U16 => "USMALLINT",
        ColumnType::U32 => "UINTEGER",
        ColumnType::U64 => "UBIGINT",
        ColumnType::I32 => "INTEGER",
        ColumnType::I64 => "BIGINT",
        ColumnType::F64 => "DOUBLE",
        ColumnType::Text(_) => "VARCHAR",
        ColumnType::Bytes(_) | ColumnType::VarBytes(_) => "BLOB",
    }
    .into()
}

struct DuckDbStore {
    statements: Statements,
    /// The insert that changes nothing if the key exists.
    insert_or_ignore: String,
    schema: Schema,
    /// Held during a write, if several connections write.
    writing: Option<Mutex<()>>,
    /// The connection that holds the database open, and from which the others are cloned.
    first: Mutex<duckdb::Connection>,
    cache: Cache,
    settings: Vec<String>,
}

impl Store for DuckDbStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = first.try_clone().map_err(said("connect"))?;
        drop(first);
        let prepare = |sql: &str| connection.prepare(sql).map_err(said("prepare"));
        let find = |(at, sql): &(usize, String)| Ok((*at, prepare(sql)?));
        let updates = self.statements.updates.iter();
        work(&mut DuckDbConnection {
            connection: &connection,
            schema: &self.schema,
            begin: prepare("BEGIN TRANSACTION")?,
            commit: prepare("COMMIT")?,
            rollback: prepare("ROLLBACK")?,
            insert: prepare(&self.statements.insert)?,
            insert_or_ignore: prepare(&self.insert_or_ignore)?,
            upsert: prepare(&self.statements.upsert)?,
            select: prepare(&self.statements.select)?,
            finds: self.statements.finds.iter().map(find).collect::<Result<_>>()?,
            updates: updates.map(|sql| prepare(sql)).collect::<Result<_>>()?,
            delete: prepare(&self.statements.delete)?,
            turns: Turns::new(self.writing.as_ref()),
            in_transaction: false,
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        let first = self.first.into_inner().unwrap_or_else(PoisonError::into_inner);
        first.close().map_err(|(_, error)| said("close")(error))
    }
}

struct DuckDbConnection<'c> {
    connection: &'c duckdb::Connection,
    schema: &'c Schema,
    begin: Statement<'c>,
    commit: Statement<'c>,
    rollback: Statement<'c>,
    insert: Statement<'c>,
    insert_or_ignore: Statement<'c>,
    upsert: Statement<'c>,
    select: Statement<'c>,
    finds: Vec<(usize, Statement<'c>)>,
    updates: Vec<Statement<'c>>,
    delete: Statement<'c>,
    turns: Turns<'c>,
    in_transaction: bool,
}

impl DuckDbConnection<'_> {
    /// Inserts without a clause for conflicts; a duplicate ends the transaction, if there is one.
    fn insert_plainly(&mut self, record: &[u8]) -> Result<Outcome> {
        bind(&mut self.insert, 1, self.schema.columns(), record)?;
        let _turn = self.turns.one();
        match self.insert.raw_execute() {
            Ok(_) => Ok(Outcome::Done),
            Err(error) if is_duplicate(&error) => Ok(Outcome::Duplicate),
            Err(error) => Err(said("insert")(error)),
        }
    }
}

impl Connection for DuckDbConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        self.turns.begin();
        if let Err(error) = self.begin.raw_execute() {
            self.turns.end();
            return Err(said("begin")(error));
        }
        self.in_transaction = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let committed = self.commit.raw_execute().map_err(said("commit"));
        self.turns.end();
        self.in_transaction = false;
        committed.map(drop)
    }

    fn rollback(&mut self) -> Result<()> {
        let rolled_back = self.rollback.raw_execute().map_err(said("rollback"));
        self.turns.end();
        self.in_transaction = false;
        rolled_back.map(drop)
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        if !self.in_transaction {
            return self.insert_plainly(record);
        }
        bind(&mut self.insert_or_ignore, 1, self.schema.columns(), record)?;
        match self.insert_or_ignore.raw_execute().map_err(said("insert"))? {
            0 => Ok(Outcome::Duplicate),
            _ => Ok(Outcome::Done),
        }
    }

    fn batch(&mut self, records: &[u8], record_size: usize) -> Result<u64> {
        self.begin()?;
        let mut done = 0;
        for record in records.chunks_exact(record_size) {
            if self.insert_plainly(record)? == Outcome::Duplicate {
                self.rollback()?;
                self.begin()?;
                done = self.replay_inserts(records, record_size)?;
                break;
            }
            done += 1;
        }
        self.commit()?;
        Ok(done)
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        bind(&mut self.upsert, 1, self.schema.columns(), record)?;
        let _turn = self.turns.one();
        self.upsert.raw_execute().map_err(said("upsert"))?;
        Ok(())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        bind(&mut self.select, 1, self.schema.key_columns(), key)?;
        self.select.raw_execute().map_err(said("get"))?;
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
        let statement = &mut self.updates[at];
        let kind = self.schema.columns()[column].kind;
        bind_value(statement, 1, kind, Value::read(kind, value))?;
        bind(statement, 2, self.schema.key_columns(), key)?;
        let _turn = self.turns.one();
        Ok(changed(self.updates[at].raw_execute().map_err(said("update"))?))
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
        statement.raw_execute().map_err(said("scan"))?;
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
        bind_value(statement, 1, kind, Value::read(kind, value))?;
        statement.raw_execute().map_err(said("find"))?;
        let mut rows = statement.raw_query();
        each_row(self.schema, self.schema.columns(), row, |columns, record| {
            match rows.next().map_err(said("find"))? {
                Some(found) => read(found, columns, 0, record).map(|()| true),
                None => Ok(false),
            }
        })
    }
}

/// Compares composite keys column by column: min-max indexes serve the first column so, and two row
/// values around a key are an error ("Invalid type for BETWEEN") of DuckDB 2.0.
fn compare_keys(key: &[Column], operator: &str, first: usize) -> String {
    let strict = operator.trim_end_matches('=');
    match key {
        [] => String::new(),
        [last] => format!("{} {operator} ${first}", last.name),
        [column, rest @ ..] => {
            let name = column.name;
            let rest = compare_keys(rest, operator, first + 1);
            format!("{name} {strict}= ${first} AND ({name} {strict} ${first} OR ({rest}))")
        }
    }
}

/// Returns true if a primary key refused the row. The client passes on only the error's text.
fn is_duplicate(error: &duckdb::Error) -> bool {
    matches!(error, duckdb::Error::DuckDBFailure(_, Some(text))
        if text.starts_with("Constraint Error: Duplicate key"))
}

/// Binds columns of a packed record to parameters from `first` on.
fn bind(
    statement: &mut Statement<'_>,
    first: usize,
    columns: &[Column],
    record: &[u8],
) -> Result<()> {
    for (column, at) in columns.iter().zip(first..) {
        bind_value(statement, at, column.kind, column.value(record))?;
    }
    Ok(())
}

/// Binds a value as exactly the type of its column: then DuckDB neither casts nor plans for it.
fn bind_value(
    statement: &mut Statement<'_>,
    at: usize,
    kind: ColumnType,
    value: Value<'_>,
) -> Result<()> {
    let value = match (value, kind) {
        (Value::Unsigned(number), ColumnType::U8) => ValueRef::UTinyInt(number as u8),
        (Value::Unsigned(number), ColumnType::U16) => ValueRef::USmallInt(number as u16),
        (Value::Unsigned(number), ColumnType::U32) => ValueRef::UInt(number as u32),
        (Value::Unsigned(number), _) => ValueRef::UBigInt(number),
        (Value::Signed(number), ColumnType::I32) => ValueRef::Int(number as i32),
        (Value::Signed(number), _) => ValueRef::BigInt(number),
        (Value::Float(number), _) => ValueRef::Double(number),
        (Value::Text(bytes), _) => ValueRef::Text(bytes),
        (Value::Bytes(bytes), _) => ValueRef::Blob(bytes),
    };
    statement.raw_bind_parameter(at, ToSqlOutput::Borrowed(value)).map_err(said("bind"))
}

/// Copies a row's columns to their places; `base` is the offset at which `bytes` starts.
fn read(row: &Row<'_>, columns: &[Column], base: usize, bytes: &mut [u8]) -> Result<()> {
    for (at, column) in columns.iter().enumerate() {
        let size = column.kind.size_bytes();
        let to = &mut bytes[column.offset - base..column.offset - base + size];
        match row.get_ref(at).map_err(said("read"))? {
            ValueRef::UTinyInt(number) => write_integer(column.kind, number.into(), to),
            ValueRef::USmallInt(number) => write_integer(column.kind, number.into(), to),
            ValueRef::UInt(number) => write_integer(column.kind, number.into(), to),
            ValueRef::UBigInt(number) => write_integer(column.kind, number.cast_signed(), to),
            ValueRef::Int(number) => write_integer(column.kind, number.into(), to),
            ValueRef::BigInt(number) => write_integer(column.kind, number, to),
            ValueRef::Double(number) => to.copy_from_slice(&number.to_le_bytes()),
            ValueRef::Text(text) | ValueRef::Blob(text) => write_bytes(column.kind, text, to),
            other => {
                let kind = other.data_type();
                return Err(Error::engine("read", format!("{}: a value of {kind}", column.name)));
            }
        }
    }
    Ok(())
}
