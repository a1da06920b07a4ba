//! Whether a text is a whole statement.

use std::ffi::CString;

use rusqlite::ffi;

/// Whether a text ends with a semicolon that ends a statement: for shells, which read lines until
/// there is one.
///
/// ```
/// assert!(lode_sqlite::is_complete("SELECT ';';"));
/// assert!(!lode_sqlite::is_complete("SELECT ';"));
/// assert!(!lode_sqlite::is_complete("SELECT 1 -- ;"));
/// ```
pub fn is_complete(text: &str) -> bool {
    // What has a zero byte is refused when it is run.
    CString::new(text).map_or(true, |text| {
        // SAFETY: it reads a text that ends with a zero byte.
        #[expect(unsafe_code)]
        let is_complete = unsafe { ffi::sqlite3_complete(text.as_ptr()) };
        is_complete != 0
    })
}
