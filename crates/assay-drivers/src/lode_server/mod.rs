//! `lode-server`: Lode through its server, to see what SQL over a socket costs next to `lode`.
//!
//! - Version: that of the crate. The server is `lode-server`, in threads of the worker's process,
//!   and listens at a Unix socket. The client is the crate `postgres`, with one connection for each
//!   thread and every statement prepared once.
//! - Storage, keys, settings, transactions: those of `lode`. Levels in files: those that
//!   `lode serve --durability` takes.
//! - Each operation is one round trip, also those of a transaction. Duplicates are found by
//!   `INSERT OR IGNORE`, an upsert is `INSERT OR REPLACE`.
//! - Unsigned 64-bit integers are stored as signed ones of the same bits, since SQL has none; in
//!   the key with the highest bit flipped, so that their order is kept.
//! - There are no volumes and no lookups of several keys at once.

mod serving;
mod values;

use std::collections::HashMap;
use std::time::Duration;

use assay_driver::error::{Error, Result};
use assay_driver::schema::{Column, ColumnType, Schema, Value};
use assay_driver::{
    Cache, Concurrency, Connection, DeleteRule, Driver, Durability, InsertRule, KeyKind, OpenSpec,
    Outcome, Profile, Scan, Storage, Store, Transactions, Work,
};
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Statement};

use crate::lode::{PARAMETERS, cache_of, inserted, options_of, said as said_by_lode, settings_of};
use crate::sql::{
    Dialect, Statements, changed, each_row, finding, scan_statement, scanned_columns,
};
use serving::{Serving, said};
use values::{Cell, kind_of, read};

pub(crate) struct LodeByServer;

const FILE_LEVELS: &[Durability] = &[Durability::Process, Durability::Periodic, Durability::Commit];

static PROFILE: Profile = Profile {
    id: "lode-server",
    name: "Lode by server",
    about: "Lode through its server, by PostgreSQL's protocol",
    key_kinds: &[KeyKind::Hash, KeyKind::Tree],
    levels: &[
        (Storage::Memory, &[Durability::None]),
        (Storage::Ramdisk, FILE_LEVELS),
        (Storage::Disk, FILE_LEVELS),
    ],
    periodic_survives_kill: true,
    transactions: Transactions::Full,
    insert_rule: InsertRule::Refuses,
    delete_rule: DeleteRule::Reports,
    concurrency: Concurrency::Concurrent,
    parameters: PARAMETERS,
    keeps_data: true,
};

impl Driver for LodeByServer {
    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn periodic_interval(&self) -> Option<Duration> {
        Some(lode::DEFAULT_SYNC_INTERVAL)
    }

    fn version(&self) -> std::result::Result<String, String> {
        Ok(lode::VERSION.into())
    }

    fn has_indexes(&self) -> bool {
        true
    }

    fn open(&self, spec: &OpenSpec) -> Result<Box<dyn Store>> {
        let options = options_of(spec)?;
        let database = match spec.storage {
            Storage::Memory => options.in_memory(),
            Storage::Ramdisk | Storage::Disk => options.open(spec.dir()),
        };
        let database = database.map_err(said_by_lode("open"))?;
        let dialect = Dialect {
            type_name: |kind| type_of(kind).to_string(),
            key_type_name: |kind| key_type_of(kind).to_string(),
            column_suffix: " NOT NULL",
            table_suffix: match spec.key_kind {
                KeyKind::Hash => " USING HASH",
                KeyKind::Tree => " USING TREE",
            },
        };
        let statements = Statements::new(&spec.schema, &dialect);
        let serving = Serving::start(database.clone())?;
        let mut client = serving.client()?;
        for statement in [&statements.create].into_iter().chain(&statements.create_indexes) {
            client.batch_execute(statement).map_err(said("create the table"))?;
        }
        drop(client);
        let table = database.table(spec.schema.name()).map_err(said_by_lode("open the table"))?;
        expect_columns(&table, &spec.schema)?;
        Ok(Box::new(LodeStore {
            serving,
            statements,
            schema: spec.schema.clone(),
            is_ordered: spec.key_kind == KeyKind::Tree,
            settings: settings_of(spec),
            cache: cache_of(spec),
        }))
    }
}

/// Returns the type of a column after the key, in which texts have their own length.
fn type_of(kind: ColumnType) -> lode::Type {
    match kind {
        ColumnType::U8 => lode::Type::U8,
        ColumnType::U16 => lode::Type::U16,
        ColumnType::U32 => lode::Type::U32,
        ColumnType::I32 => lode::Type::I32,
        ColumnType::U64 | ColumnType::I64 => lode::Type::I64,
        ColumnType::F64 => lode::Type::F64,
        ColumnType::Text(most) => lode::Type::VarText(most),
        ColumnType::Bytes(size) => lode::Type::Bytes(size),
        ColumnType::VarBytes(most) => lode::Type::VarBytes(most),
    }
}

/// Returns the type of a column of the key, in which texts are filled up.
fn key_type_of(kind: ColumnType) -> lode::Type {
    match kind {
        ColumnType::Text(size) => lode::Type::Text(size),
        other => type_of(other),
    }
}

/// Refuses a table that an earlier version of this driver has made with other columns.
fn expect_columns(table: &lode::Table, schema: &Schema) -> Result<()> {
    let kind = |column: &Column| {
        if column.in_key { key_type_of(column.kind) } else { type_of(column.kind) }
    };
    let expected = schema.columns().iter().map(|column| (column.name, kind(column)));
    let found = table.schema().columns().iter().map(|column| (&column.name[..], column.kind));
    if found.eq(expected) {
        return Ok(());
    }
    let what = "its table has other columns, of another version of this driver; fill a new one";
    Err(Error::engine("open the table", what))
}

struct LodeStore {
    serving: Serving,
    statements: Statements,
    schema: Schema,
    is_ordered: bool,
    settings: Vec<String>,
    cache: Cache,
}

impl Store for LodeStore {
    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn cache(&self) -> Cache {
        self.cache
    }

    fn connect(&self, work: &mut Work<'_>) -> Result<()> {
        let Self { statements, schema, is_ordered, .. } = self;
        let mut client = self.serving.client()?;
        let mut prepare = |sql: &str, columns: &mut dyn Iterator<Item = &Column>| {
            prepared(&mut client, sql, columns)
        };
        let all = schema.columns();
        let keys = schema.key_columns();
        let finds = statements
            .finds
            .iter()
            .map(|(at, sql)| Ok((*at, prepare(sql, &mut std::iter::once(&all[*at]))?)));
        let finds = finds.collect::<Result<_>>()?;
        let updates = statements
            .updates
            .iter()
            .zip(schema.payload_columns())
            .map(|(sql, column)| prepare(sql, &mut std::iter::once(column).chain(keys)));
        let updates = updates.collect::<Result<_>>()?;
        let insert = &statements.insert;
        let conflict = |rule: &str| insert.replacen("INSERT", &format!("INSERT OR {rule}"), 1);
        work(&mut LodeConnection {
            schema,
            is_ordered: *is_ordered,
            insert: prepare(&conflict("IGNORE"), &mut all.iter())?,
            upsert: prepare(&conflict("REPLACE"), &mut all.iter())?,
            select: prepare(&statements.select, &mut keys.iter())?,
            delete: prepare(&statements.delete, &mut keys.iter())?,
            begin: prepare("BEGIN", &mut std::iter::empty())?,
            commit: prepare("COMMIT", &mut std::iter::empty())?,
            rollback: prepare("ROLLBACK", &mut std::iter::empty())?,
            updates,
            finds,
            scans: HashMap::new(),
            client,
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.serving.close()
    }
}

/// Prepares a statement whose parameters, each a `?`, have the types of columns.
fn prepared(
    client: &mut Client,
    sql: &str,
    columns: &mut dyn Iterator<Item = &Column>,
) -> Result<Statement> {
    let mut parts = sql.split('?');
    let mut numbered = parts.next().unwrap_or_default().to_string();
    for (part, number) in parts.zip(1..) {
        numbered += &format!("${number}{part}");
    }
    let types: Vec<_> = columns.map(|column| kind_of(column.kind)).collect();
    client.prepare_typed(&numbered, &types).map_err(said("prepare"))
}

struct LodeConnection<'s> {
    client: Client,
    schema: &'s Schema,
    is_ordered: bool,
    insert: Statement,
    upsert: Statement,
    select: Statement,
    delete: Statement,
    begin: Statement,
    commit: Statement,
    rollback: Statement,
    updates: Vec<Statement>,
    finds: Vec<(usize, Statement)>,
    /// The scans that were done, by their texts.
    scans: HashMap<String, Statement>,
}

/// Does a change, and returns the number of rows.
fn execute<'v, I>(
    client: &mut Client,
    statement: &Statement,
    values: I,
) -> std::result::Result<u64, postgres::Error>
where
    I: IntoIterator<Item = Cell<'v>, IntoIter: ExactSizeIterator>,
{
    let mut rows = client.query_raw(statement, values)?;
    while rows.next()?.is_some() {}
    Ok(rows.rows_affected().unwrap_or_default())
}

/// Returns the parameters for columns of a packed record.
fn cells<'v>(columns: &'v [Column], record: &'v [u8]) -> impl ExactSizeIterator<Item = Cell<'v>> {
    columns.iter().map(|column| Cell::of(column, record))
}

impl Connection for LodeConnection<'_> {
    fn begin(&mut self) -> Result<()> {
        execute(&mut self.client, &self.begin, []).map(drop).map_err(said("begin"))
    }

    fn commit(&mut self) -> Result<()> {
        execute(&mut self.client, &self.commit, []).map(drop).map_err(said("commit"))
    }

    fn rollback(&mut self) -> Result<()> {
        execute(&mut self.client, &self.rollback, []).map(drop).map_err(said("rollback"))
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let values = cells(self.schema.columns(), record);
        let count = execute(&mut self.client, &self.insert, values).map_err(said("insert"))?;
        Ok(inserted(count == 1))
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        let values = cells(self.schema.columns(), record);
        execute(&mut self.client, &self.upsert, values).map(drop).map_err(said("upsert"))
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        let values = cells(self.schema.key_columns(), key);
        let mut rows = self.client.query_raw(&self.select, values).map_err(said("get"))?;
        let mut outcome = Outcome::Missing;
        while let Some(row) = rows.next().map_err(said("get"))? {
            read(&row, self.schema.payload_columns(), self.schema.key_size(), payload)
                .map_err(said("get"))?;
            outcome = Outcome::Done;
        }
        Ok(outcome)
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let keys = self.schema.key_columns();
        let statement = &self.updates[column - keys.len()];
        let value = Cell(Value::read(self.schema.columns()[column].kind, value));
        let values = (0..keys.len() + 1).map(|at| match at.checked_sub(1) {
            None => value,
            Some(at) => Cell::of(&keys[at], key),
        });
        execute(&mut self.client, statement, values).map(changed).map_err(said("update"))
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        let values = cells(self.schema.key_columns(), key);
        execute(&mut self.client, &self.delete, values).map(changed).map_err(said("delete"))
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        if !self.is_ordered {
            return Err(Error::unsupported("ordered scans with hash keys"));
        }
        let keys = self.schema.key_columns();
        let (sql, bounds) = scan_statement(self.schema, scan, compare_keys);
        if !self.scans.contains_key(&sql) {
            let mut columns = keys.iter().cycle().take(bounds.len() * keys.len());
            let statement = prepared(&mut self.client, &sql, &mut columns)?;
            self.scans.insert(sql.clone(), statement);
        }
        let values = (0..bounds.len() * keys.len())
            .map(|at| Cell::of(&keys[at % keys.len()], bounds[at / keys.len()]));
        let mut rows = self.client.query_raw(&self.scans[&sql], values).map_err(said("scan"))?;
        let wanted = scanned_columns(self.schema, scan);
        each_row(self.schema, &wanted, row, |columns, record| {
            match rows.next().map_err(said("scan"))? {
                Some(found) => {
                    read(&found, columns, 0, record).map(|()| true).map_err(said("scan"))
                }
                None => Ok(false),
            }
        })
    }

    fn find_by(&mut self, column: usize, value: &[u8], row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let statement = finding(&mut self.finds, column)?;
        let value = Cell(Value::read(self.schema.columns()[column].kind, value));
        let mut rows = self.client.query_raw(&*statement, [value]).map_err(said("find"))?;
        each_row(self.schema, self.schema.columns(), row, |columns, record| {
            match rows.next().map_err(said("find"))? {
                Some(found) => {
                    read(&found, columns, 0, record).map(|()| true).map_err(said("find"))
                }
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
