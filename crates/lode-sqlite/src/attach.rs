//! The tables of a database as virtual tables of a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lode::Database;
use rusqlite::vtab::escape_double_quote;
use rusqlite::{Connection, Result};

use crate::module::MODULE;
use crate::session::{Access, Session};
use crate::source::Source;

/// Modules that were made: each database that is attached has one of its own.
static MODULES: AtomicU64 = AtomicU64::new(0);

/// Makes all tables of a database visible on a connection, as temporary virtual tables of the same
/// names. A table that is created later is not among them.
///
/// # Errors
/// When a table has the name of a temporary one that is there, or a name that SQLite keeps for
/// itself (`sqlite_…`), or when two names differ only in case. No table is attached then.
pub fn attach(connection: &Connection, database: &Database) -> Result<()> {
    let module = format!("lode_{}", MODULES.fetch_add(1, Ordering::Relaxed));
    let session = Session::new(database.clone(), Access::Write);
    connection.create_module(
        &module[..],
        const { &MODULE },
        Some(Source::Attached(Arc::clone(&session))),
    )?;
    let quoted = |name: &str| format!("\"{}\"", escape_double_quote(name));
    let mut statements = String::from("SAVEPOINT lode_attach;");
    for name in database.table_names() {
        let name = quoted(&name);
        statements += &format!("CREATE VIRTUAL TABLE temp.{name} USING {module}({name});");
    }
    statements += "RELEASE lode_attach;";
    connection.execute_batch(&statements).inspect_err(|_| {
        // What went wrong is what is said.
        let _ = connection.execute_batch("ROLLBACK TO lode_attach; RELEASE lode_attach");
    })
}
