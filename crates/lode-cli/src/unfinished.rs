//! Imports that were killed: while one is under way, a table of the database says so. A table that
//! an import made and did not fill is never taken for a whole one.

use lode::{Database, Error, ReadTable, Schema, Type, Value};
use program_support::output::say;

/// The table that says which import is under way. It has one record, or none yet.
pub(crate) const NOTE: &str = "unfinished import";

/// The most bytes of a table's name that are noted, as a key can have them.
const MOST_NAME_BYTES: u32 = 1022;

/// An import that was started and not ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfinished {
    /// The table's name; empty if nothing was written yet.
    pub table: String,
    /// True if the table is made by the import, so that it is not whole.
    pub is_new: bool,
}

/// Returns the columns of that table.
pub(crate) fn schema() -> lode::Result<Schema> {
    let schema = Schema::build(NOTE).key("table", Type::VarText(MOST_NAME_BYTES));
    schema.column("is_new", Type::Bool).finish()
}

impl Unfinished {
    /// Returns what a database says of an import. A table of that name with other columns is not
    /// this program's.
    pub(crate) fn of(db: &Database) -> lode::Result<Option<Self>> {
        let note = match db.table(NOTE) {
            Err(Error::NoTable { .. }) => return Ok(None),
            other => other?,
        };
        if *note.schema() != schema()? {
            return Ok(None);
        }
        let row = note.iter().next().transpose()?;
        let noted = row.as_ref().map(|row| (row.get("table"), row.get("is_new")));
        let (table, is_new) = match noted {
            Some((Some(Value::Text(table)), Some(Value::Bool(is_new)))) => (table, is_new),
            _ => ("", false),
        };
        Ok(Some(Self { table: table.into(), is_new }))
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
