//! The commands, each in a file.

pub(crate) mod backup;
mod batch;
pub(crate) mod blob;
pub(crate) mod changes;
pub(crate) mod check;
#[cfg(feature = "columns")]
pub(crate) mod columns;
pub(crate) mod compact;
pub(crate) mod drop;
pub(crate) mod dump;
pub(crate) mod follow;
pub(crate) mod index;
pub(crate) mod load;
pub(crate) mod repair;
pub(crate) mod schema;
#[cfg(feature = "serve")]
pub(crate) mod serve;
#[cfg(feature = "sql")]
pub(crate) mod sql;
pub(crate) mod stat;
mod target;
pub(crate) mod volume;

use std::fmt::Display;
use std::io;
use std::path::{self, Path};

use program_support::destination::Destination;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::whole_file;

/// Returns a number of records, in words.
fn records(count: u64) -> String {
    match count {
        1 => "1 record".into(),
        count => format!("{count} records"),
    }
}

/// The path that means standard input and standard output.
const STANDARD: &str = "-";

/// Returns the destination of output from a database: `-` is standard output. A file is not among
/// those of the database.
fn outside_of(dir: &Path, path: &Path) -> Outcome<Destination> {
    let refused = |error: io::Error| Failure::Refused(format!("{}: {error}", path.display()));
    if path.as_os_str() == STANDARD {
        return Destination::standard_output().map_err(refused);
    }
    let destination = Destination::of(path).map_err(refused)?;
    if let Destination::File(target) = &destination {
        let folder = whole_file::folder_of(target).canonicalize().map_err(refused)?;
        expect_outside(dir, &folder, path.display())?;
    }
    Ok(destination)
}

/// Refuses a directory that is a database's own or in that, as far as it exists. `text` names it.
fn expect_outside(dir: &Path, to: &Path, text: impl Display) -> Outcome {
    let refused = |error: io::Error| Failure::Refused(format!("{text}: {error}"));
    let to = path::absolute(to).map_err(refused)?;
    let existing = to.ancestors().find_map(|part| part.canonicalize().ok());
    if let (Some(existing), Ok(dir)) = (existing, dir.canonicalize())
        && existing.starts_with(&dir)
    {
        return Err(Failure::Usage(format!(
            "{text}: this is inside the database; choose another directory"
        )));
    }
    Ok(())
}

/// Starts to look for signals where output is a file, which is not written then; other output ends
/// at once.
fn noted_for(destination: &Destination) -> Interrupt {
    match destination {
        Destination::File(_) => Interrupt::noted(),
        Destination::Stream { .. } => Interrupt::ending_at_once(),
    }
}
