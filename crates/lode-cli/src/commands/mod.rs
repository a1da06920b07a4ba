//! The commands, each in a file.

mod batch;
pub(crate) mod check;
#[cfg(feature = "columns")]
pub(crate) mod columns;
pub(crate) mod compact;
pub(crate) mod drop;
pub(crate) mod dump;
pub(crate) mod load;
pub(crate) mod schema;
#[cfg(feature = "sql")]
pub(crate) mod sql;
pub(crate) mod stat;
mod target;
pub(crate) mod volume;

use std::io;
use std::path::{Path, PathBuf};

use program_support::exit::{Failure, Outcome};
use program_support::whole_file;

/// A number of records, in words.
fn records(count: u64) -> String {
    match count {
        1 => "1 record".into(),
        count => format!("{count} records"),
    }
}

/// Where a file goes that is written from a database; not among those of the database.
fn outside_of(dir: &Path, path: &Path) -> Outcome<PathBuf> {
    let refused = |error: io::Error| Failure::Refused(format!("{}: {error}", path.display()));
    let target = whole_file::target(path).map_err(refused)?;
    let folder = whole_file::folder_of(&target).canonicalize().map_err(refused)?;
    match dir.canonicalize() {
        Ok(dir) if dir == folder => Err(Failure::Usage(format!(
            "{}: this is inside the database; choose another directory",
            path.display()
        ))),
        _ => Ok(target),
    }
}
