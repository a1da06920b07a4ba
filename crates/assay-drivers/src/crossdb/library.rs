//! The functions of `libcrossdb.so` that the driver calls, loaded when they are first needed.
//!
//! Signatures and the layout of a result follow CrossDB's public header, `crossdb.h`, of
//! versions 0.6 to 0.11.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use libloading::Library;

/// The file that the dynamic linker looks for.
const FILE: &str = "libcrossdb.so";

/// A connection, a statement, a row: only ever handed back to the library.
pub(super) type Handle = *mut c_void;

/// The beginning of a result, as far as the driver reads it.
#[repr(C)]
pub(super) struct QueryResult {
    len_type: u32,
    pub(super) error_code: u16,
    status: u16,
    meta_len: u32,
    column_count: u16,
    statement_type: u8,
    reserved: u8,
    row_count: u64,
    pub(super) affected_rows: u64,
    insert_id: u64,
    pub(super) column_meta: u64,
    row_data: u64,
    data_len: u64,
}

macro_rules! library {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// The loaded library.
        pub(super) struct CrossDbLibrary {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
            _library: Library,
        }

        impl CrossDbLibrary {
            fn load() -> Result<Self, String> {
                // SAFETY: loading runs the library's initialisers, which is what loading an
                // engine means; the library stays loaded as long as its functions are kept.
                let library = unsafe { Library::new(FILE) }
                    .map_err(|_| format!("library not found ({FILE})"))?;
                refuse_newer(&library)?;
                Ok(Self {
                    $($name: {
                        // SAFETY: the signature is the one in CrossDB's header.
                        let symbol = unsafe {
                            library.get::<unsafe extern "C" fn($($argument),*) $(-> $result)?>(
                                $symbol,
                            )
                        };
                        *symbol.map_err(|_| {
                            let name = String::from_utf8_lossy($symbol);
                            format!("{FILE} has no function {name}: not a version that is known")
                        })?
                    },)+
                    _library: library,
                })
            }
        }
    };
}

library! {
    open = b"xdb_open": fn(*const c_char) -> Handle;
    close = b"xdb_close": fn(Handle);
    exec = b"xdb_exec": fn(Handle, *const c_char) -> *mut QueryResult;
    free_result = b"xdb_free_result": fn(*mut QueryResult);
    fetch_row = b"xdb_fetch_row": fn(*mut QueryResult) -> Handle;
    column_int64 = b"xdb_column_int64": fn(u64, Handle, u16) -> i64;
    column_double = b"xdb_column_double": fn(u64, Handle, u16) -> f64;
    column_str2 = b"xdb_column_str2": fn(u64, Handle, u16, *mut c_int) -> *const c_char;
    errmsg = b"xdb_errmsg": fn(*mut QueryResult) -> *const c_char;
    version = b"xdb_version": fn() -> *const c_char;
    prepare = b"xdb_stmt_prepare": fn(Handle, *const c_char) -> Handle;
    bind_int64 = b"xdb_bind_int64": fn(Handle, u16, i64) -> c_int;
    bind_double = b"xdb_bind_double": fn(Handle, u16, f64) -> c_int;
    bind_str2 = b"xdb_bind_str2": fn(Handle, u16, *const c_char, c_int) -> c_int;
    stmt_exec = b"xdb_stmt_exec": fn(Handle) -> *mut QueryResult;
    stmt_close = b"xdb_stmt_close": fn(Handle);
    begin = b"xdb_begin": fn(Handle) -> c_int;
    commit = b"xdb_commit": fn(Handle) -> c_int;
    rollback = b"xdb_rollback": fn(Handle) -> c_int;
}

/// From 0.12 on, functions of the same names take other arguments, which nothing would notice
/// before it is too late. That line is told by a function that it brought.
fn refuse_newer(library: &Library) -> Result<(), String> {
    // SAFETY: the symbol is looked up and never called.
    let newer = unsafe { library.get::<unsafe extern "C" fn()>(b"xdb_errcode") }.is_ok();
    match newer {
        true => Err(format!("{FILE} is 0.12 or later; this driver speaks the API of 0.6 to 0.11")),
        false => Ok(()),
    }
}

/// The library, or why it cannot be used. Looked for once.
pub(super) fn library() -> Result<&'static CrossDbLibrary, String> {
    static LIBRARY: OnceLock<Result<CrossDbLibrary, String>> = OnceLock::new();
    LIBRARY.get_or_init(CrossDbLibrary::load).as_ref().map_err(Clone::clone)
}

/// Text of the library, copied.
///
/// # Safety
/// `text` is null or points to a NUL-terminated string.
pub(super) unsafe fn text(text: *const c_char) -> String {
    match text.is_null() {
        true => String::new(),
        // SAFETY: the caller's promise.
        false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
    }
}
