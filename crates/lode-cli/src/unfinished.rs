//! Imports that were killed: while one is under way, a table of the database says so. A table that
//! an import made and did not fill is never taken for a whole one.

use lode::{Database, Error, KeyKind, ReadTable, Schema, Type, Value};
use program_support::exit::Outcome;
use program_support::output::say;

use crate::database::Opened;

/// The table that says which import is under way. It has one record, or none yet.
const NOTE: &str = "unfinished import";

/// The most bytes of a table's name that are noted, as a key can have them.
const MOST_NAME_BYTES: u32 = 1022;

/// An import that was begun and not ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub table: String,
    /// Whether the table is made by the import, so that it is not whole.
    pub is_new: bool,
}

fn schema() -> lode::Result<Schema> {
    let schema = Schema::build(NOTE).key("table", Type::VarText(MOST_NAME_BYTES));
    schema.column("is_new", Type::Bool).finish()
}

impl Unfinished {
    /// Returns what a database says of an import. A table of that name with other columns is none
    /// of this program.
    pub(crate) fn of(db: &Database) -> lode::Result<Option<Self>> {
        let note = match db.table(NOTE) {
            Err(Error::NoTable { .. }) => return Ok(None),
            other => other?,
        };
        if *note.schema() != schema()? {
            return Ok(None);
        }
        let row = note.iter().next().transpose()?;
        let noted = row.map(|row| match (row.get("table"), row.get("is_new")) {
            (Some(Value::Text(table)), Some(Value::Bool(is_new))) => {
                Self { table: table.into(), is_new }
            }
            _ => Self { table: String::new(), is_new: false },
        });
        // Without a record nothing was begun.
        Ok(Some(noted.unwrap_or(Self { table: String::new(), is_new: false })))
    }

    /// Says of a database that is only read what was not ended.
    pub(crate) fn say(&self) {
        let Self { table, is_new } = self;
        match (table.as_str(), is_new) {
            ("", _) => {}
            (table, true) => say(&format!(
                "lode: table {table} is not whole: its import was killed; the next command that \
                 writes drops it"
            )),
            (table, false) => say_of_rows(table),
        }
    }

    /// Drops a table that is not whole, and forgets the import.
    pub(crate) fn clear(&self, db: &Database) -> lode::Result<()> {
        match (self.table.as_str(), self.is_new) {
            ("", _) => {}
            (table, true) => {
                match db.drop_table(table) {
                    Ok(()) | Err(Error::NoTable { .. }) => {}
                    other => return other,
                }
                say(&format!(
                    "lode: table {table} was not whole, since its import was killed; it is dropped"
                ));
            }
            (table, false) => say_of_rows(table),
        }
        db.drop_table(NOTE)
    }
}

fn say_of_rows(table: &str) {
    say(&format!(
        "lode: an import into table {table} was killed: some of its rows may be there; import the \
         rest with --skip or --replace"
    ));
}

/// Notes that an import begins.
#[cfg(feature = "columns")]
pub(crate) fn begin(opened: &Opened, table: &str, is_new: bool) -> Outcome {
    let noted = || {
        let schema = schema()?;
        let record = schema.pack(&[Value::Text(table), Value::Bool(is_new)])?;
        opened.db.create_table(&schema, KeyKind::Tree)?.insert(&record).map(drop)
    };
    noted().map_err(|error| opened.failure(&error))
}

/// Notes that an import has ended, with or without success: what the database has now counts.
#[cfg(feature = "columns")]
pub(crate) fn end(opened: &Opened) -> Outcome {
    opened.db.drop_table(NOTE).map_err(|error| opened.failure(&error))
}

/// Drops a table that an import has made and not filled, and then the note of it; returns what is
/// in the way.
#[cfg(feature = "columns")]
pub(crate) fn drop_new(opened: &Opened, table: &str) -> Result<(), Error> {
    [table, NOTE].iter().try_for_each(|name| match opened.db.drop_table(name) {
        Err(Error::NoTable { .. }) => Ok(()),
        other => other,
    })
}
