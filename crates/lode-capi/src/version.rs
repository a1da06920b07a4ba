//! The versions of the library and of its interface.

use std::ffi::c_char;

/// The version of this interface: of the functions, structures and numbers in this header.
///
/// It goes up when a program that was compiled with an earlier header would no longer work.
/// Functions, statuses and fields at the end of structures that have a size are added without that.
pub const LODE_ABI_VERSION: u32 = 1;

/// Returns the version of the interface that the library has. Compare it with `LODE_ABI_VERSION`,
/// which is that of the header, when the library is loaded while the program runs.
#[unsafe(no_mangle)]
pub extern "C" fn lode_abi_version() -> u32 {
    LODE_ABI_VERSION
}

/// Returns the version of Lode, such as "0.1.0", ended by a zero. The text is constant.
#[unsafe(no_mangle)]
pub extern "C" fn lode_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
