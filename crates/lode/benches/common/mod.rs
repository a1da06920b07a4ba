//! Parts that benchmarks of databases in directories share.

use lode::{Schema, Type};
use tempfile::TempDir;

/// A number from the environment; if it says none, the `usual` one for `cargo bench`, and a `tiny`
/// one for the tests.
pub fn number(name: &str, usual: u64, tiny: u64) -> u64 {
    // `cargo bench` says so.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let default = if is_bench { usual } else { tiny };
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// A directory in that which `LODE_DIRECTORY` names, or in the one for temporary files.
pub fn directory() -> TempDir {
    let parent = std::env::var_os("LODE_DIRECTORY").map_or_else(std::env::temp_dir, Into::into);
    tempfile::tempdir_in(parent).expect("a directory")
}

/// Records of a key and one more column.
pub fn schema(key: Type, rest: Type) -> Schema {
    Schema::build("records").key("id", key).column("rest", rest).finish().expect("a schema")
}
