//! The functions `lode_attach`, `lode_create`, `lode_alter`, `lode_drop`, `lode_drop_index` and
//! `lode_hidden`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lode::{Database, IndexSchema, ReadTable};
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, Result, ffi};

use crate::attach::attached::Attached;
use crate::attach::attached::{cannot_have, cannot_name};
use crate::error::{error, of_engine};
use crate::language::alter::Alter;
use crate::language::ddl::{self, same_name};
use crate::language::statement::Kind;
use crate::session::directories::Directories;

/// The database in which tables are created and dropped: that which was attached last.
pub(crate) type Current = Arc<Mutex<Option<Attached>>>;

/// Flags that keep a function out of views and triggers of a file from an unknown source.
const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8.union(FunctionFlags::SQLITE_DIRECTONLY);

/// Locks the database that was attached last, while nothing else uses it.
pub(crate) fn lock(current: &Current) -> MutexGuard<'_, Option<Attached>> {
    current.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a database the one that was attached last.
pub(crate) fn set_current(current: &Current, attached: Attached) {
    *lock(current) = Some(attached);
}

/// Makes `lode_create`, `lode_alter`, `lode_drop`, `lode_drop_index` and `lode_hidden` for a
/// database.
pub(crate) fn add_definitions(connection: &Connection, current: &Current) -> Result<()> {
    let at = Arc::clone(current);
    connection.create_scalar_function("lode_create", 1, FLAGS, move |context| {
        let text = context.get::<String>(0)?;
        with_current(context, &at, |connection, attached| create(connection, attached, &text))
    })?;
    let at = Arc::clone(current);
    connection.create_scalar_function("lode_alter", 1, FLAGS, move |context| {
        let text = context.get::<String>(0)?;
        with_current(context, &at, |connection, attached| alter(connection, attached, &text))
    })?;
    let at = Arc::clone(current);
    connection.create_scalar_function("lode_drop", 1, FLAGS, move |context| {
        let name = context.get::<String>(0)?;
        with_current(context, &at, |connection, attached| drop_table(connection, attached, &name))
    })?;
    let at = Arc::clone(current);
    connection.create_scalar_function("lode_drop_index", 1, FLAGS, move |context| {
        let name = context.get::<String>(0)?;
        with_current(context, &at, |connection, attached| {
            if drop_index(connection, attached, &name)? {
                return Ok(name);
            }
            Err(error(ffi::SQLITE_ERROR, format!("there is no index {name}")))
        })
    })?;
    add_hidden(connection, current)
}

/// Makes `lode_hidden` for a database.
pub(crate) fn add_hidden(connection: &Connection, current: &Current) -> Result<()> {
    let at = Arc::clone(current);
    connection.create_scalar_function("lode_hidden", 0, FLAGS, move |_| {
        let current = lock(&at);
        let hidden = current.iter().flat_map(|attached| &attached.hidden);
        let lines: Vec<_> = hidden.map(ToString::to_string).collect();
        Ok((!lines.is_empty()).then(|| lines.join("\n")))
    })
}

/// Makes `lode_attach` for the directories of a connection.
pub(crate) fn add_attach(
    connection: &Connection,
    directories: &Arc<Directories>,
    current: &Current,
) -> Result<()> {
    let directories = Arc::clone(directories);
    let current = Arc::clone(current);
    connection.create_scalar_function("lode_attach", -1, FLAGS, move |context| {
        let arguments = (0..context.len()).map(|at| context.get::<String>(at));
        let arguments = arguments.collect::<Result<Vec<_>>>()?;
        with_connection(context, |connection| {
            let attached = attach_directory(connection, &directories, &arguments)?;
            let count = attached.session.db().table_names().len() - attached.hidden.len();
            set_current(&current, attached);
            Ok(count as i64)
        })
    })
}

/// Makes all tables in a directory visible.
fn attach_directory(
    connection: &Connection,
    directories: &Directories,
    arguments: &[String],
) -> Result<Attached> {
    // SAFETY: the handle is used only here.
    #[expect(unsafe_code)]
    let session = directories.session(unsafe { connection.handle() }, arguments)?;
    let quoted = arguments.iter().map(|text| format!("'{}'", text.replace('\'', "''")));
    let mut attached = Attached::new(session, "lode", quoted.collect());
    attached.all(connection)?;
    Ok(attached)
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
    work: impl FnOnce(&Connection, &mut Attached) -> Result<String>,
) -> Result<String> {
    let mut current = lock(current);
    let attached = current.as_mut().ok_or_else(|| {
        error(ffi::SQLITE_ERROR, "there is no database of Lode; attach one with lode_attach('DIR')")
    })?;
    with_connection(context, |connection| work(connection, attached))
}

fn expect_no_transaction(connection: &Connection) -> Result<()> {
    if connection.is_autocommit() {
        Ok(())
    } else {
        Err(error(
            ffi::SQLITE_ERROR,
            "tables of Lode are created, altered and dropped outside of transactions; commit it \
             first",
        ))
    }
}

/// Creates a table, and makes it visible; or creates an index of one. Returns its name.
pub(crate) fn create(
    connection: &Connection,
    attached: &mut Attached,
    text: &str,
) -> Result<String> {
    expect_no_transaction(connection)?;
    if let Kind::CreateIndex { .. } = Kind::of(text) {
        return create_index(attached, text);
    }
    let definition = ddl::parse(text).map_err(|why| error(ffi::SQLITE_ERROR, why))?;
    let name = definition.schema.name().to_string();
    let db = attached.session.db().clone();
    let names = db.table_names();
    let twin = names.iter().find(|other| same_name(other, &name));
    if definition.if_missing && twin.is_some() {
        return Ok(name);
    }
    let refused = |why: String| {
        error(ffi::SQLITE_ERROR, format!("table {name} cannot be created by SQL: {why}"))
    };
    if let Some(twin) = twin.filter(|twin| **twin != name) {
        return Err(refused(format!("table {twin} is there, and SQLite takes one for the other")));
    }
    db.create_table(&definition.schema, definition.kind).map_err(|cause| of_engine(&cause))?;
    let why = attached.cannot_show(&name, None);
    let shown = why.map_or_else(|| attached.show(connection, &name), Err);
    shown.map_err(|why| {
        // A table that cannot be shown is dropped; the error is the first one.
        let _ = db.drop_table(&name);
        refused(why)
    })?;
    Ok(name)
}

/// Creates an index of a table. Returns its name.
fn create_index(attached: &Attached, text: &str) -> Result<String> {
    let definition = ddl::parse_index(text).map_err(|why| error(ffi::SQLITE_ERROR, why))?;
    let name = definition.index.name().to_string();
    let db = attached.session.db();
    let refused = |why: String| Err(error(ffi::SQLITE_ERROR, why));
    match &tables_with_index(db, &name)[..] {
        [] => {}
        [..] if definition.if_missing => return Ok(name),
        [table, ..] => return refused(format!("table {table} has an index {name} already")),
    }
    let Some(table) = only_table(db, &definition.table) else {
        return refused(format!("there is no table {}", definition.table));
    };
    let table = db.table(&table).map_err(|cause| of_engine(&cause))?;
    let columns = definition.index.columns().iter().map(|name| {
        let mut columns = table.schema().columns().iter();
        let found = columns.find(|column| same_name(&column.name, name));
        found.map_or(name.as_str(), |column| &column.name)
    });
    let index = IndexSchema::new(&name, columns);
    let index = if definition.index.is_unique() { index.unique() } else { index };
    table.create_index(&index).map_err(|cause| of_engine(&cause))?;
    Ok(name)
}

/// Alters a table. Returns its name.
pub(crate) fn alter(
    connection: &Connection,
    attached: &mut Attached,
    text: &str,
) -> Result<String> {
    expect_no_transaction(connection)?;
    let refused = |why: String| error(ffi::SQLITE_ERROR, why);
    let alter = Alter::parse(text).map_err(refused)?;
    let db = attached.session.db().clone();
    let Some(name) = only_table(&db, &alter.table) else {
        return Err(refused(format!("there is no table {}", alter.table)));
    };
    if let Some(new) = alter.new_name()
        && let Some(twin) = only_table(&db, new).filter(|twin| *twin != name)
    {
        return Err(refused(format!("there is a table {twin} already; choose another name")));
    }
    let table = db.table(&name).map_err(|cause| of_engine(&cause))?;
    let alteration = alter.alteration(table.schema()).map_err(refused)?;
    let count = table.schema().columns().len() + usize::from(alter.adds_column());
    cannot_name(alter.new_name().unwrap_or(&name))
        .or_else(|| cannot_have(count))
        .map_or(Ok(()), |why| Err(refused(why)))?;
    // Before anything has happened: a statement that reads the table keeps it from that.
    attached.hide(connection, &name)?;
    let altered = db.alter_table(&name, &alteration).map_err(|cause| of_engine(&cause));
    let shown = attached.all(connection);
    let altered = altered?;
    shown?;
    Ok(altered.schema().name().into())
}

/// Drops the index with a name, if one table has it. Returns false if no table has.
pub(crate) fn drop_index(
    connection: &Connection,
    attached: &mut Attached,
    name: &str,
) -> Result<bool> {
    let db = attached.session.db();
    match &tables_with_index(db, name)[..] {
        [] => Ok(false),
        [table] => {
            expect_no_transaction(connection)?;
            let table = db.table(table).map_err(|cause| of_engine(&cause))?;
            let indexes = table.indexes().map_err(|cause| of_engine(&cause))?;
            let index = indexes.iter().find(|index| same_name(index.name(), name));
            let exact = index.map_or(name, |index| index.name());
            table.drop_index(exact).map_err(|cause| of_engine(&cause))?;
            Ok(true)
        }
        tables => Err(error(
            ffi::SQLITE_ERROR,
            format!(
                "tables {} have an index {name} each; lode index drop says of which",
                tables.join(", ")
            ),
        )),
    }
}

/// Returns true if a table has an index of a name.
pub(crate) fn has_index(db: &Database, name: &str) -> bool {
    !tables_with_index(db, name).is_empty()
}

/// Returns the tables that have an index of a name. Tables that cannot be read have none.
fn tables_with_index(db: &Database, name: &str) -> Vec<String> {
    let has_it = |table: &String| {
        let indexes = db.table(table).and_then(|table| table.indexes()).unwrap_or_default();
        indexes.iter().any(|index| same_name(index.name(), name))
    };
    db.table_names().into_iter().filter(has_it).collect()
}

/// Returns the table of the database that SQL means by a name: that itself, or the only one that
/// differs in case.
pub(crate) fn only_table(db: &Database, name: &str) -> Option<String> {
    let names = db.table_names();
    let mut same = names.iter().filter(|other| same_name(other, name));
    match (names.iter().find(|other| *other == name), same.next(), same.next()) {
        (Some(exact), ..) => Some(exact.clone()),
        (None, Some(only), None) => Some(only.clone()),
        _ => None,
    }
}

/// Drops a table, here and in the database. Returns its name.
pub(crate) fn drop_table(
    connection: &Connection,
    attached: &mut Attached,
    name: &str,
) -> Result<String> {
    expect_no_transaction(connection)?;
    attached.session.db().drop_table(name).map_err(|cause| of_engine(&cause))?;
    attached.hide(connection, name)?;
    if !attached.hidden.is_empty() {
        // A table may have been hidden because of this one.
        attached.all(connection)?;
    }
    Ok(name.into())
}

/// Takes all records out of a table at once. Returns how many there were.
pub(crate) fn clear_table(
    connection: &Connection,
    attached: &mut Attached,
    name: &str,
) -> Result<u64> {
    expect_no_transaction(connection)?;
    let db = attached.session.db().clone();
    let count = db.table(name).and_then(|table| table.len());
    let count = count.map_err(|cause| of_engine(&cause))?;
    db.clear_table(name).map_err(|cause| of_engine(&cause))?;
    attached.hide(connection, name)?;
    attached.show(connection, name).map_err(|why| error(ffi::SQLITE_ERROR, why))?;
    Ok(count)
}
