//! The tables of a database as virtual tables of a connection.

pub(crate) mod attached;
pub(crate) mod functions;
pub(crate) mod guard;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lode::Database;
use rusqlite::{Connection, Result};

use crate::attach::attached::{Attached, HiddenTable};
use crate::attach::functions::{Current, add_attach, add_definitions, set_current};
use crate::language::ddl;
use crate::session::Session;
use crate::session::directories::Directories;
use crate::session::lease::Access;
use crate::table::module::MODULE;
use crate::table::source::Source;
use crate::values::decimal::add_decimals;

/// The number of modules that were made: each database that a program attaches has its own.
static MODULES: AtomicU64 = AtomicU64::new(0);

/// Makes all tables of a database visible on a connection, as temporary virtual tables of the same
/// names; and the functions `lode_create`, `lode_alter` and `lode_drop`, which create, alter and
/// drop tables in it.
///
/// Returns the tables that SQLite cannot show, with why; all others are visible. A table that is
/// created otherwise later is not among them. What the database was opened for reading only, the
/// connection only reads.
///
/// # Errors
/// When the connection's text is not UTF-8, and those of SQLite.
pub fn attach(connection: &Connection, database: &Database) -> Result<Vec<HiddenTable>> {
    let mut attached = add_module(connection, database)?;
    let current = Current::default();
    attached.all(connection)?;
    let hidden = attached.hidden.clone();
    set_current(&current, attached);
    add_definitions(connection, &current)?;
    Ok(hidden)
}

/// Makes a module for one database; no table is visible yet.
pub(crate) fn add_module(connection: &Connection, database: &Database) -> Result<Attached> {
    let module = format!("lode_{}", MODULES.fetch_add(1, Ordering::Relaxed));
    let session = Session::new(database.clone(), Access::Write);
    let source = Source::Attached(Arc::clone(&session));
    connection.create_module(&module[..], const { &MODULE }, Some(source))?;
    add_decimals(connection)?;
    Ok(Attached::new(session, &module, Vec::new()))
}

/// Makes the module `lode` and the functions `lode_attach`, `lode_create`, `lode_alter` and
/// `lode_drop` on a connection, for programs that name directories by SQL. (The loadable extension
/// calls it.)
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let dir = directory.path().join("zoo");
/// let connection = rusqlite::Connection::open_in_memory()?;
/// lode_sqlite::register(&connection)?;
/// connection.query_row("SELECT lode_attach(?1, 'create')", [dir.to_str()], |_| Ok(()))?;
/// let create = "SELECT lode_create('CREATE TABLE animal (id U32 PRIMARY KEY, name VARTEXT(40))')";
/// connection.query_row(create, [], |_| Ok(()))?;
/// connection.execute("INSERT INTO animal VALUES (1, 'Ada')", [])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of SQLite.
pub fn register(connection: &Connection) -> Result<()> {
    let directories = Arc::new(Directories::default());
    let current = Current::default();
    let source = Source::Directories(Arc::clone(&directories));
    connection.create_module("lode", const { &MODULE }, Some(source))?;
    add_decimals(connection)?;
    add_attach(connection, &directories, &current)?;
    add_definitions(connection, &current)
}

/// Returns the statements that create indexes like those of a table with `lode_create`, where a
/// table like that is.
///
/// # Errors
/// The errors of the engine.
pub fn create_index_statements(table: &lode::Table) -> lode::Result<Vec<String>> {
    let indexes = table.indexes()?;
    Ok(indexes.iter().map(|index| ddl::print_index(table, index)).collect())
}

/// Returns the statement that creates a table like this one with `lode_create`.
pub fn create_statement(table: &lode::Table) -> String {
    ddl::print(table)
}
