//! `liblode_sqlite`: what programs load into SQLite to reach tables of Lode.

use std::ffi::{c_char, c_int};
use std::mem::offset_of;

use rusqlite::ffi::sqlite3_api_routines as Routines;
use rusqlite::{Connection, Result, ffi};

/// SQLite 3.38.0, the oldest that says which lists and limits a statement has.
const OLDEST: c_int = 3_038_000;

/// SQLite 3.40.0, whose last function is `sqlite3_value_encoding`.
const WITH_VALUE_ENCODING: c_int = 3_040_000;

/// Registers the extension; SQLite calls this when it loads it.
///
/// # Safety
/// Only SQLite calls it, with what it passes to extensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sqlite3_extension_init(
    connection: *mut ffi::sqlite3,
    message: *mut *mut c_char,
    routines: *mut Routines,
) -> c_int {
    // SAFETY: SQLite passes the table of its functions.
    let version = unsafe { (*routines).libversion_number }.map_or(0, |version| {
        // SAFETY: it takes nothing and returns a number.
        unsafe { version() }
    });
    if version < OLDEST {
        // SAFETY: SQLite frees the message, which its own function makes.
        unsafe {
            if let Some(print) = (*routines).mprintf {
                *message = print(c"Lode needs SQLite 3.38 or a later one".as_ptr());
            }
        }
        return ffi::SQLITE_ERROR;
    }
    let routines = if version < ffi::SQLITE_VERSION_NUMBER {
        // SAFETY: the table is of this version.
        unsafe { lengthened(routines, version) }
    } else {
        routines
    };
    // SAFETY: these are SQLite's arguments.
    unsafe { Connection::extension_init2(connection, message, routines, begin) }
}

/// A copy of an older SQLite's table of functions, in which those that came later are missing. (The
/// bindings refuse older versions, whose tables are shorter than theirs; Lode calls no function
/// that came later.)
///
/// # Safety
/// The table is that of SQLite of this version.
unsafe fn lengthened(routines: *const Routines, version: c_int) -> *mut Routines {
    let bytes = if version < WITH_VALUE_ENCODING {
        offset_of!(Routines, deserialize)
    } else {
        offset_of!(Routines, is_interrupted)
    };
    // SAFETY: a table without functions is one of zeros.
    let mut copy: Box<Routines> = Box::new(unsafe { std::mem::zeroed() });
    // SAFETY: both have that many bytes, and functions are copied as they are.
    unsafe {
        let to = (&raw mut *copy).cast::<u8>();
        std::ptr::copy_nonoverlapping(routines.cast::<u8>(), to, bytes);
    }
    copy.libversion_number = Some(expected_version);
    // The bindings read it once; it is small, and the extension stays loaded.
    Box::leak(copy)
}

/// The version that the bindings expect.
unsafe extern "C" fn expected_version() -> c_int {
    ffi::SQLITE_VERSION_NUMBER
}

/// Returns true: the threads of open databases need the extension as long as the process lives.
fn begin(connection: Connection) -> Result<bool> {
    module::register(&connection)?;
    Ok(true)
}
