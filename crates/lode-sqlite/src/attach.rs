//! The tables of a database as virtual tables of a connection.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use lode::Database;
use rusqlite::vtab::escape_double_quote;
use rusqlite::{Connection, OptionalExtension, Result};

use crate::decimal::add_decimals;
use crate::directories::Directories;
use crate::functions::{Current, add_attach, add_definitions};
use crate::module::MODULE;
use crate::session::{Access, Session};
use crate::source::Source;

/// Modules that were made: each database that a program attaches has one of its own.
static MODULES: AtomicU64 = AtomicU64::new(0);

/// A database whose tables are visible.
pub(crate) struct Attached {
    pub session: Arc<Session>,
    /// The module that finds it, with these arguments before the table's.
    pub module: String,
    pub arguments: Vec<String>,
}

/// A name as SQL has it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", escape_double_quote(name))
}

impl Attached {
    /// The statement that makes a table visible.
    pub(crate) fn statement(&self, name: &str) -> String {
        let name = quoted(name);
        let mut arguments = self.arguments.clone();
        // After the directory.
        arguments.insert(arguments.len().min(1), name.clone());
        let arguments = arguments.join(", ");
        format!("CREATE VIRTUAL TABLE temp.{name} USING {}({arguments})", self.module)
    }

    /// Makes all tables visible that are not yet, or none.
    pub(crate) fn all(&self, connection: &Connection) -> Result<()> {
        let mut statements = String::from("SAVEPOINT lode_attach;");
        for name in self.session.db().table_names() {
            let statement = self.statement(&name);
            let query = "SELECT sql FROM temp.sqlite_schema WHERE name = ?1";
            let known: Option<String> =
                connection.query_row(query, [&name], |row| row.get(0)).optional()?;
            // SQLite keeps it without the schema's name.
            if known.as_deref() != Some(&statement.replacen(" temp.", " ", 1)) {
                statements = statements + &statement + ";";
            }
        }
        statements += "RELEASE lode_attach;";
        connection.execute_batch(&statements).inspect_err(|_| {
            // What went wrong is what is said.
            let _ = connection.execute_batch("ROLLBACK TO lode_attach; RELEASE lode_attach");
        })
    }
}

/// Makes all tables of a database visible on a connection, as temporary virtual tables of the same
/// names; and the functions `lode_create` and `lode_drop`, which create and drop tables in it.
///
/// A table that is created otherwise later is not among them. What the database was opened for
/// reading only, the connection only reads.
///
/// # Errors
/// When a table has the name of a temporary one that is there, or one that SQLite keeps for itself
/// (`sqlite_…`). When two names differ only in case. No table is attached then.
pub fn attach(connection: &Connection, database: &Database) -> Result<()> {
    let module = format!("lode_{}", MODULES.fetch_add(1, Ordering::Relaxed));
    let session = Session::new(database.clone(), Access::Write);
    let source = Source::Attached(Arc::clone(&session));
    connection.create_module(&module[..], const { &MODULE }, Some(source))?;
    add_decimals(connection)?;
    let attached = Attached { session, module, arguments: Vec::new() };
    attached.all(connection)?;
    add_definitions(connection, &Arc::new(Mutex::new(Some(attached))))
}

/// Makes the module `lode` and the functions `lode_attach`, `lode_create` and `lode_drop` on a
/// connection, for programs that name directories by SQL. (The loadable extension calls it.)
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
/// Those of SQLite.
pub fn register(connection: &Connection) -> Result<()> {
    let (directories, current) = (Arc::new(Directories::default()), Current::default());
    let source = Source::Directories(Arc::clone(&directories));
    connection.create_module("lode", const { &MODULE }, Some(source))?;
    add_decimals(connection)?;
    add_attach(connection, &directories, &current)?;
    add_definitions(connection, &current)
}

/// The statement that creates a table like this one with `lode_create`.
pub fn create_statement(table: &lode::Table) -> String {
    crate::ddl::print(table)
}
