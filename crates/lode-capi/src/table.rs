//! Tables: creating and opening them, and their descriptions.

use std::ffi::c_char;

use lode::{Schema, Table};

use crate::argument::{array, out, room, text};
use crate::column::{key_kind, lode_column, lode_key_kind, lode_table_sizes, schema};
use crate::database::write_words;
use crate::failure::{Failure, Result, guarded};
use crate::objects::{OpenTable, lode_database, lode_table};
use crate::status::lode_status::{self, LODE_NO_COLUMN, LODE_OK};

/// Creates a table. That is durable at every level but `LODE_DURABILITY_NONE`.
///
/// `name` is UTF-8 of `name_size` bytes. `columns` are `count` columns, those of the key first.
/// `kind` is `LODE_HASHED` or `LODE_ORDERED`. The table is written to `table`, and freed with
/// `lode_free_table`.
///
/// Returns `LODE_TABLE_EXISTS`, `LODE_INVALID_SCHEMA`, `LODE_SCHEMA_TOO_LONG`,
/// `LODE_CATALOGUE_FULL`, `LODE_FULL`, `LODE_DISK_FULL`, `LODE_READ_ONLY`, `LODE_POISONED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_create_table(
    database: lode_database,
    name: *const c_char,
    name_size: usize,
    columns: *const lode_column,
    count: usize,
    kind: lode_key_kind,
    table: *mut lode_table,
) -> lode_status {
    guarded(|| {
        let out = out!(table);
        let schema = schema(text!(name, name_size), array!(columns, count))?;
        let created = database.share()?.create_table(&schema, key_kind(kind)?)?;
        out.set(lode_table::new(OpenTable::new(created))?);
        Ok(LODE_OK)
    })
}

/// Opens the table with a name, UTF-8 of `name_size` bytes. It is written to `table`, and freed
/// with `lode_free_table`.
///
/// Returns `LODE_NO_TABLE`; `LODE_CORRUPT` when it cannot be read, though others can.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_table(
    database: lode_database,
    name: *const c_char,
    name_size: usize,
    table: *mut lode_table,
) -> lode_status {
    guarded(|| {
        let out = out!(table);
        let opened = database.share()?.table(text!(name, name_size))?;
        out.set(lode_table::new(OpenTable::new(opened))?);
        Ok(LODE_OK)
    })
}

/// Deletes all records of a table at once: the table is replaced by an empty one like it, which is
/// written to `table`. Handles of the old one return `LODE_NO_TABLE` then. As `lode_drop_table`
/// otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_clear_table(
    database: lode_database,
    name: *const c_char,
    name_size: usize,
    table: *mut lode_table,
) -> lode_status {
    guarded(|| {
        let out = out!(table);
        let cleared = database.share()?.clear_table(text!(name, name_size))?;
        out.set(lode_table::new(OpenTable::new(cleared))?);
        Ok(LODE_OK)
    })
}

/// Frees the handle of a table. The table stays.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_table(table: lode_table) -> lode_status {
    guarded(|| table.free().map(|()| LODE_OK))
}

/// Writes what keys and records of a table take up to `sizes`, which has `sizes_size` bytes
/// (`sizeof(lode_table_sizes)`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_get_table_sizes(
    table: lode_table,
    sizes: *mut lode_table_sizes,
    sizes_size: usize,
) -> lode_status {
    guarded(|| {
        let room = room!(sizes, sizes_size);
        let open = table.share()?;
        let words = lode_table_sizes::words(open.table.schema(), open.table.key_kind());
        write_words(&room, &words);
        Ok(LODE_OK)
    })
}

/// Writes the description of the column at a place, counted from 0, to `column`. Its name points
/// to memory of the table's handle, and stays until that is freed.
///
/// Returns `LODE_NO_COLUMN`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_get_column(
    table: lode_table,
    at: usize,
    column: *mut lode_column,
) -> lode_status {
    guarded(|| {
        let out = out!(column);
        let open = table.share()?;
        let schema = open.table.schema();
        out.set(lode_column::of(schema, column_at(schema, at)?));
        Ok(LODE_OK)
    })
}

/// Writes the place of the column with a name, UTF-8 of `name_size` bytes, to `at`.
///
/// Returns `LODE_NO_COLUMN`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_find_column(
    table: lode_table,
    name: *const c_char,
    name_size: usize,
    at: *mut usize,
) -> lode_status {
    guarded(|| {
        let out = out!(at);
        let open = table.share()?;
        out.set(open.table.schema().column(text!(name, name_size))?.index());
        Ok(LODE_OK)
    })
}

/// Returns the column at a place.
///
/// # Errors
/// `LODE_NO_COLUMN`.
pub(crate) fn column_at(schema: &Schema, at: usize) -> Result<&lode::Column> {
    schema.columns().get(at).ok_or_else(|| {
        let count = schema.columns().len();
        let table = schema.name();
        let message = format!("table {table}: there is no column {at}; it has {count}, from 0 on");
        Failure::new(LODE_NO_COLUMN, message)
    })
}

/// Returns the column at a place, which is not of the key.
///
/// # Errors
/// `LODE_NO_COLUMN`, `LODE_KEY_COLUMN`.
pub(crate) fn column_to_set(table: &Table, at: usize) -> Result<&lode::Column> {
    let schema = table.schema();
    let column = column_at(schema, at)?;
    if at < schema.key_columns() {
        let table = schema.name().into();
        let column = column.name.clone();
        return Err(lode::Error::KeyColumn { table, column }.into());
    }
    Ok(column)
}
