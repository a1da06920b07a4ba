//! The functions `lode_attach`, `lode_create` and `lode_drop`.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, Result, ffi};

use crate::attach::{Attached, quoted};
use crate::ddl;
use crate::directories::Directories;
use crate::error::{error, of_engine};

/// The database in which tables are created and dropped: that which was attached last.
pub(crate) type Current = Arc<Mutex<Option<Attached>>>;

/// Not in views and triggers of a file that somebody else wrote.
const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DIRECTONLY);

/// Makes `lode_create` and `lode_drop` for a database.
pub(crate) fn add_definitions(connection: &Connection, current: &Current) -> Result<()> {
    let at = Arc::clone(current);
    connection.create_scalar_function("lode_create", 1, FLAGS, move |context| {
        let text = context.get::<String>(0)?;
        with_current(context, &at, |connection, attached| create(connection, attached, &text))
    })?;
    let at = Arc::clone(current);
    connection.create_scalar_function("lode_drop", 1, FLAGS, move |context| {
        let name = context.get::<String>(0)?;
        with_current(context, &at, |connection, attached| drop_table(connection, attached, &name))
    })
}

/// Makes `lode_attach` for the directories of a connection.
pub(crate) fn add_attach(
    connection: &Connection,
    directories: &Arc<Directories>,
    current: &Current,
) -> Result<()> {
    let (directories, current) = (Arc::clone(directories), Arc::clone(current));
    connection.create_scalar_function("lode_attach", -1, FLAGS, move |context| {
        let arguments = (0..context.len()).map(|at| context.get::<String>(at));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        with_connection(context, |connection| {
            let attached = directories.attach(connection, &arguments)?;
            let count = attached.session.db().table_names().len();
            *current.lock().unwrap_or_else(PoisonError::into_inner) = Some(attached);
            Ok(count as i64)
        })
    })
}

fn with_connection<T>(
    context: &Context<'_>,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    // SAFETY: the connection is used only while it calls this function.
    #[expect(unsafe_code)]
    let connection = unsafe { context.get_connection() }?;
    work(&connection)
}

fn with_current(
    context: &Context<'_>,
    current: &Current,
    work: impl FnOnce(&Connection, &Attached) -> Result<String>,
) -> Result<String> {
    let current = current.lock().unwrap_or_else(PoisonError::into_inner);
    let attached = current.as_ref().ok_or_else(|| {
        error(ffi::SQLITE_ERROR, "there is no database of Lode; attach one with lode_attach('DIR')")
    })?;
    with_connection(context, |connection| {
        if !connection.is_autocommit() {
            return Err(error(
                ffi::SQLITE_ERROR,
                "tables of Lode are created and dropped outside of transactions; commit it first",
            ));
        }
        work(connection, attached)
    })
}

/// Creates a table, and makes it visible. Returns its name.
fn create(connection: &Connection, attached: &Attached, text: &str) -> Result<String> {
    let definition = ddl::parse(text).map_err(|why| error(ffi::SQLITE_ERROR, why))?;
    let name = definition.schema.name().to_string();
    let db = attached.session.db();
    db.create_table(&definition.schema, definition.kind).map_err(|cause| of_engine(&cause))?;
    connection.execute_batch(&attached.statement(&name)).inspect_err(|_| {
        // What cannot be seen is not left behind; what went wrong is what is said.
        let _ = db.drop_table(&name);
    })?;
    Ok(name)
}

/// Drops a table, here and in the database. Returns its name.
fn drop_table(connection: &Connection, attached: &Attached, name: &str) -> Result<String> {
    attached.session.db().drop_table(name).map_err(|cause| of_engine(&cause))?;
    connection.execute_batch(&format!("DROP TABLE IF EXISTS temp.{}", quoted(name)))?;
    Ok(name.into())
}
