//! Judges the content of a damaged disk.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::reading::check;
use lode::Error;
use lode::simulation::Simulated;

use super::open;
use crate::common::content::{Content, difference, read_table, tables_of};
use crate::common::tables::{TABLES, record};

/// The outcome of opening a damaged disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A refusal to open it.
    Refused,
    /// One of the contents that are allowed.
    Content(usize),
    /// The right content, but some tables cannot be read.
    Part(BTreeSet<usize>),
}

/// A part of what a check says of a copy that is damaged.
pub const IS_TWICE: &str = "nothing is lost, it is there twice";

/// Returns the fault of a damaged disk's content, if it is not one of those allowed.
pub fn judge(disk: &Simulated, allowed: &[&Content]) -> Result<Outcome, String> {
    let work = || -> Result<Outcome, String> {
        let db = match open(disk, 99) {
            Ok(db) => db,
            Err(
                Error::Corrupt { .. }
                | Error::ForeignFile { .. }
                | Error::Version { .. }
                | Error::TableVersion { .. },
            ) => return Ok(Outcome::Refused),
            Err(error) => return Err(format!("opening returns {error:?}")),
        };
        let tables = tables_of(&db);
        let (mut read, mut unreadable) = (Content::new(), BTreeSet::new());
        for at in &tables {
            match read_table(&db, *at) {
                Ok(found) => drop(read.insert(*at, found)),
                Err(Error::Corrupt { .. }) => drop(unreadable.insert(*at)),
                Err(error) => return Err(format!("{} returns {error:?}", TABLES[*at].0)),
            }
        }
        let fits = |content: &&&Content| {
            content.keys().eq(&tables) && read.iter().all(|(at, found)| content[at] == *found)
        };
        let Some(place) = allowed.iter().position(|content| fits(&content)) else {
            return Err(format!("it has another content: {}", difference(&read, allowed[0])));
        };
        if let Err(why) = check(&db)
            && unreadable.is_empty()
            && !why.contains(IS_TWICE)
        {
            return Err(format!("all is readable, but {why}"));
        }
        // What can be read can be written, or there is an error that says why not.
        for at in read.keys() {
            let written =
                db.table(TABLES[*at].0).and_then(|table| table.upsert(&record(*at, 3, 3)));
            match written {
                Ok(_) | Err(Error::Corrupt { .. } | Error::Poisoned { .. }) => {}
                Err(error) => return Err(format!("writing returns {error:?}")),
            }
        }
        match db.close() {
            Ok(()) | Err(Error::Corrupt { .. } | Error::Poisoned { .. }) => {}
            Err(error) => return Err(format!("closing returns {error:?}")),
        }
        Ok(if unreadable.is_empty() { Outcome::Content(place) } else { Outcome::Part(unreadable) })
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("it panics".into()))
}
