//! The functions of `libcrossdb.so` that the driver calls, loaded when they are first needed.
//!
//! Signatures and the layout of a result follow CrossDB's public header, `crossdb.h`, of versions
//! 0.8 to 0.11 and 0.12 to 0.14. A library of another version is refused before anything else of
//! it is called: its functions may have the same names and other arguments.

use std::env;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;
use program_support::printable;

use super::version::Version;
use crate::linker;

/// The file that the dynamic linker looks for.
const FILE: &str = "libcrossdb.so";

/// The environment variable that names another file.
const VARIABLE: &str = "ASSAY_CROSSDB_LIB";

/// The advice for a machine without a usable library.
const REMEDY: &str = "build crossdb-org/CrossDB with `make build` and name its libcrossdb.so in \
                      ASSAY_CROSSDB_LIB";

/// A connection or a statement: only ever handed back to the library.
pub(super) type Handle = *mut c_void;

/// A row: only the interface knows its layout.
pub(super) type Row = *const c_void;

/// Gets the meta data of a query, a row of it, and the argument given with the callback.
pub(super) type RowCallback = unsafe extern "C" fn(u64, Row, *mut c_void) -> c_int;

/// Executes a query with values for its parameters, and hands its rows to a callback.
pub(super) type ExecuteWithCallback =
    unsafe extern "C" fn(Handle, RowCallback, *mut c_void, ...) -> *mut QueryResult;

/// Executes a statement with values for its parameters.
pub(super) type ExecuteWithValues = unsafe extern "C" fn(Handle, ...) -> *mut QueryResult;

/// The head of a result, as the header shows it up to 0.11. Since 0.12 only the library knows its
/// layout.
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

/// Functions of the library, found by their names.
macro_rules! functions {
    ($(#[$about:meta])* $group:ident: $($name:ident = $symbol:literal: $function:ty;)+) => {
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub(super) struct $group {
            $(pub(super) $name: $function,)+
        }

        impl $group {
            fn find(library: &Library, file: &str, version: &str) -> Result<Self, String> {
                Ok(Self {
                    // SAFETY: the signature is the one in the header of this version.
                    $($name: *unsafe { library.get::<$function>($symbol) }
                        .map_err(|error| lacks(file, version, $symbol, &error))?,)+
                })
            }
        }
    };
}

functions! {
    /// The functions that all versions have.
    Functions:
    open = b"xdb_open": unsafe extern "C" fn(*const c_char) -> Handle;
    close = b"xdb_close": unsafe extern "C" fn(Handle);
    current_database = b"xdb_curdb": unsafe extern "C" fn(Handle) -> *const c_char;
    exec = b"xdb_exec": unsafe extern "C" fn(Handle, *const c_char) -> *mut QueryResult;
    free_result = b"xdb_free_result": unsafe extern "C" fn(*mut QueryResult);
    fetch_row = b"xdb_fetch_row": unsafe extern "C" fn(*mut QueryResult) -> Row;
    errmsg = b"xdb_errmsg": unsafe extern "C" fn(*mut QueryResult) -> *const c_char;
    prepare = b"xdb_stmt_prepare": unsafe extern "C" fn(Handle, *const c_char) -> Handle;
    bind_int64 = b"xdb_bind_int64": unsafe extern "C" fn(Handle, u16, i64) -> c_int;
    bind_double = b"xdb_bind_double": unsafe extern "C" fn(Handle, u16, f64) -> c_int;
    bind_str2 = b"xdb_bind_str2":
        unsafe extern "C" fn(Handle, u16, *const c_char, c_int) -> c_int;
    stmt_exec = b"xdb_stmt_exec": unsafe extern "C" fn(Handle) -> *mut QueryResult;
    stmt_close = b"xdb_stmt_close": unsafe extern "C" fn(Handle);
    begin = b"xdb_begin": unsafe extern "C" fn(Handle) -> c_int;
    commit = b"xdb_commit": unsafe extern "C" fn(Handle) -> c_int;
    rollback = b"xdb_rollback": unsafe extern "C" fn(Handle) -> c_int;
}

functions! {
    /// The functions that read a row up to 0.11.
    ShownFunctions:
    column_str2 = b"xdb_column_str2":
        unsafe extern "C" fn(u64, Row, u16, *mut c_int) -> *const c_char;
}

functions! {
    /// The functions that read results and rows since 0.12.
    OpaqueFunctions:
    error_code = b"xdb_errcode": unsafe extern "C" fn(*mut QueryResult) -> c_int;
    affected_rows = b"xdb_affected_rows": unsafe extern "C" fn(*mut QueryResult) -> c_int;
    column_int64 = b"xdb_column_int64":
        unsafe extern "C" fn(*mut QueryResult, Row, u16) -> i64;
    column_double = b"xdb_column_double":
        unsafe extern "C" fn(*mut QueryResult, Row, u16) -> f64;
    column_str2 = b"xdb_column_str2":
        unsafe extern "C" fn(*mut QueryResult, Row, u16, *mut c_int) -> *const c_char;
    execute_with_values = b"xdb_stmt_bexec": ExecuteWithValues;
}

/// The interface through which the library hands out a statement's results.
pub(super) enum Interface {
    /// Up to 0.11: the header shows a result's parts, and a row is the addresses of its columns.
    /// Only some versions call back with rows.
    Shown(ShownFunctions, Option<ExecuteWithCallback>),
    /// Since 0.12: functions return the parts of results and rows.
    Opaque(OpaqueFunctions),
}

impl Interface {
    /// A symbol that came with 0.12. Snapshots carry the version of the release before them.
    const OPAQUE: &'static [u8] = b"xdb_errcode";

    fn find(library: &Library, file: &str, said: &str, version: Version) -> Result<Self, String> {
        // SAFETY: the symbol is looked up and never called.
        let has_it = unsafe { library.get::<unsafe extern "C" fn()>(Self::OPAQUE) }.is_ok();
        if has_it || version.has_opaque_results() {
            return OpaqueFunctions::find(library, file, said).map(Self::Opaque);
        }
        // SAFETY: the signature is the one in the header of this version.
        let execute = unsafe { library.get(b"xdb_stmt_bexec_cb") }.ok().map(|symbol| *symbol);
        Ok(Self::Shown(ShownFunctions::find(library, file, said)?, execute))
    }
}

/// The loaded library.
pub(super) struct CrossDbLibrary {
    pub(super) functions: Functions,
    pub(super) interface: Interface,
    /// The library's version, as it says itself.
    pub(super) said: String,
    pub(super) version: Version,
    /// The file that the environment variable names.
    pub(super) named_file: Option<PathBuf>,
    _library: Library,
}

fn lacks(file: &str, version: &str, symbol: &[u8], error: &libloading::Error) -> String {
    let symbol = String::from_utf8_lossy(symbol);
    let said = linker::words(error);
    format!("{file}: CrossDB {version} without the function {symbol} ({said}); {REMEDY}")
}

impl CrossDbLibrary {
    fn from(library: Library, named_file: Option<PathBuf>, file: &str) -> Result<Self, String> {
        let (said, version) = checked_version(&library, file)?;
        Ok(Self {
            functions: Functions::find(&library, file, &said)?,
            interface: Interface::find(&library, file, &said, version)?,
            said,
            version,
            named_file,
            _library: library,
        })
    }

    fn load() -> Result<Self, String> {
        let named_file = env::var_os(VARIABLE).filter(|value| !value.is_empty());
        match named_file {
            Some(value) => Self::load_named(&value),
            None => {
                // SAFETY: loading runs the library's initialisers, which is what loading an
                // engine means; the library stays loaded as long as its functions are kept.
                let library = linker::load(&[FILE], |file| unsafe { Library::new(file) })
                    .map_err(|why| format!("{why}; {REMEDY}"))?;
                Self::from(library, None, FILE)
            }
        }
    }

    /// Loads the file that the environment variable names.
    fn load_named(value: &OsStr) -> Result<Self, String> {
        let path = std::path::absolute(value).unwrap_or_else(|_| value.into());
        let shown = path.display().to_string();
        let file = format!("{VARIABLE}: {}", printable::line(&shown));
        match path.metadata() {
            Err(error) => return Err(format!("{file}: {error}; {REMEDY}")),
            Ok(data) if data.is_dir() => {
                return Err(format!("{file}: a directory; name the file {FILE} in it"));
            }
            Ok(data) if !data.is_file() => {
                return Err(format!("{file}: not a file; {REMEDY}"));
            }
            Ok(_) => {}
        }
        // SAFETY: loading runs the library's initialisers, which is what loading an engine means;
        // the library stays loaded as long as its functions are kept.
        let library = unsafe { Library::new(&path) }.map_err(|error| {
            let said = linker::words(&error).replace(&format!("{}: ", printable::line(&shown)), "");
            format!("{file}: cannot be loaded: {said}; {REMEDY}")
        })?;
        Self::from(library, Some(path), &file)
    }
}

/// Returns the library's version, if it is one whose functions are known.
fn checked_version(library: &Library, file: &str) -> Result<(String, Version), String> {
    // SAFETY: in every version it takes nothing and returns a static text.
    let symbol = unsafe { library.get::<unsafe extern "C" fn() -> *const c_char>(b"xdb_version") };
    let function = symbol.map_err(|error| {
        let said = linker::words(&error);
        format!("{file}: no CrossDB of 0.6 or later (no xdb_version: {said}); {REMEDY}")
    })?;
    // SAFETY: in every version it takes nothing and returns a static text.
    let said = unsafe { text(function()) };
    match Version::parse(&said) {
        Some(version) if version.is_driven() => Ok((said, version)),
        _ => Err(format!("{file}: CrossDB {}; Assay drives 0.8 to 0.14", printable::line(&said))),
    }
}

/// Returns the library, or why it cannot be used. Looks for it once.
pub(super) fn library() -> Result<&'static CrossDbLibrary, String> {
    static LIBRARY: OnceLock<Result<CrossDbLibrary, String>> = OnceLock::new();
    LIBRARY.get_or_init(CrossDbLibrary::load).as_ref().map_err(Clone::clone)
}

/// Copies a text of the library.
///
/// # Safety
/// `text` is null or points to a NUL-terminated string.
pub(super) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        String::new()
    } else {
        // SAFETY: the caller's promise.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}
