//! The module of virtual tables, as SQLite knows it.
//!
//! `rusqlite` makes it without the functions for savepoints and names, so they are added here.

use std::ffi::{c_char, c_int};
use std::mem::transmute;

use rusqlite::ffi;
use rusqlite::vtab::{Module, sqlite3_vtab};

use crate::table::VirtualTable;

/// The version of SQLite's interface that has savepoints.
const WITH_SAVEPOINTS: c_int = 2;

/// The module.
pub(crate) const MODULE: Module<'static, VirtualTable> = with_savepoints();

#[expect(unsafe_code)]
const fn with_savepoints() -> Module<'static, VirtualTable> {
    // SAFETY: a module is SQLite's structure, and nothing else (`repr(transparent)`).
    let mut module: ffi::sqlite3_module = unsafe {
        transmute::<Module<'static, VirtualTable>, ffi::sqlite3_module>(
            Module::update_module_with_tx(),
        )
    };
    module.iVersion = WITH_SAVEPOINTS;
    module.xSavepoint = Some(keep);
    module.xRelease = Some(release);
    module.xRollbackTo = Some(roll_back_to);
    module.xRename = Some(refuse_to_rename);
    // SAFETY: as above; the functions take tables of this type.
    unsafe { transmute::<ffi::sqlite3_module, Module<'static, VirtualTable>>(module) }
}

/// Returns the table that SQLite passes.
///
/// # Safety
/// The table is one that this module made.
#[expect(unsafe_code)]
unsafe fn table<'t>(table: *mut sqlite3_vtab) -> &'t VirtualTable {
    // SAFETY: SQLite's part is the first field of the table.
    unsafe { &*table.cast() }
}

#[expect(unsafe_code)]
unsafe extern "C" fn keep(base: *mut sqlite3_vtab, number: c_int) -> c_int {
    // SAFETY: SQLite calls it with tables of this module.
    match unsafe { table(base) }.keep(number) {
        Ok(()) => ffi::SQLITE_OK,
        Err(rusqlite::Error::SqliteFailure(error, _)) => error.extended_code,
        Err(_) => ffi::SQLITE_ERROR,
    }
}

#[expect(unsafe_code)]
unsafe extern "C" fn release(base: *mut sqlite3_vtab, number: c_int) -> c_int {
    // SAFETY: SQLite calls it with tables of this module.
    unsafe { table(base) }.session().release(number);
    ffi::SQLITE_OK
}

#[expect(unsafe_code)]
unsafe extern "C" fn roll_back_to(base: *mut sqlite3_vtab, number: c_int) -> c_int {
    // SAFETY: SQLite calls it with tables of this module.
    unsafe { table(base) }.session().roll_back_to(number);
    ffi::SQLITE_OK
}

/// Refuses to rename a table. SQLite alone would give it another name on the connection, and the
/// database would keep the one before.
#[expect(unsafe_code)]
unsafe extern "C" fn refuse_to_rename(base: *mut sqlite3_vtab, _: *const c_char) -> c_int {
    // SAFETY: SQLite calls it with a table of this module. It frees the message, which is in its
    // own memory, and as long as the copied text.
    unsafe {
        let text =
            c"lode_alter('ALTER TABLE … RENAME TO …') renames tables of Lode".to_bytes_with_nul();
        let copy: *mut c_char = ffi::sqlite3_malloc(text.len() as c_int).cast();
        if !copy.is_null() {
            copy.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        }
        (*base).zErrMsg = copy;
    }
    ffi::SQLITE_ERROR
}
