//! Libraries that the dynamic linker loads while the program runs, and its errors about those that
//! it cannot load.

use std::error::Error;

use program_support::printable;

/// Returns the linker's error in one line: the last cause names the missing file.
pub(crate) fn words(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    printable::line(cause.to_string().lines().next().unwrap_or_default()).into_owned()
}

/// Loads the first of these files that `open` can load. A library is "not found" only if the linker
/// finds none of the files: one that lacks another library exists.
#[cfg(any(feature = "crossdb", feature = "leveldb"))]
pub(crate) fn load<L, E: Error>(
    files: &[&str],
    open: impl Fn(&str) -> Result<L, E>,
) -> Result<L, String> {
    let mut refused = None;
    for file in files {
        let error = match open(file) {
            Ok(library) => return Ok(library),
            Err(error) => words(&error),
        };
        let is_absent = error.starts_with(&format!("{file}: ")) && error.contains("No such file");
        if !is_absent && refused.is_none() {
            refused = Some(format!("{file} cannot be loaded: {error}"));
        }
    }
    Err(refused.unwrap_or_else(|| format!("library not found ({})", files.join(", "))))
}
