//! The target of records: the database and the table, either of which may be new.

use std::path::Path;

use lode::{KeyKind, Options, Schema, Table};
use program_support::exit::{Failure, Outcome};

use crate::cli::Kind;
use crate::database::{DirContent, Opened, kind_word, look};
use crate::schema_text;

/// Opens a database, or makes a new one if `may_create`.
pub(super) fn open(dir: &Path, may_create: bool, options: &Options) -> Outcome<Opened> {
    match look(dir)? {
        DirContent::Free if may_create => Opened::or_new(dir, options),
        DirContent::Taken if may_create => Err(Failure::Usage(format!(
            "{}: there are other files in this directory; choose an empty or a new one",
            dir.display()
        ))),
        _ => Opened::existing(dir, options),
    }
}

/// A table, as a command line names it.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    /// The table's name.
    pub table: &'a str,
    /// The table's schema, if that is said.
    pub schema: Option<&'a Schema>,
    /// The table's kind of keys, if that is said.
    pub kind: Option<Kind>,
}

impl Target<'_> {
    /// Returns the table, which is created if it is not there and its schema is given.
    pub(super) fn in_database(&self, opened: &Opened) -> Outcome<Table> {
        match (self.schema, self.is_in(opened)) {
            (Some(schema), false) => {
                let kind = self.kind.map_or(KeyKind::Tree, KeyKind::from);
                opened.db.create_table(schema, kind).map_err(|error| opened.failure(&error))
            }
            _ => self.existing(opened),
        }
    }

    /// Returns true if the database has a table of the name.
    pub(super) fn is_in(&self, opened: &Opened) -> bool {
        opened.db.table_names().iter().any(|name| name == self.table)
    }

    /// Returns the table that is there, and is as it is said to be.
    pub(super) fn existing(&self, opened: &Opened) -> Outcome<Table> {
        let name = self.table;
        let table = opened.table(name).map_err(|failure| match self.schema {
            Some(_) => failure,
            None => failure.and("--schema creates a table that is not there"),
        })?;
        if self.schema.is_some_and(|schema| table.schema() != schema) {
            let columns = schema_text::print(table.schema());
            return Err(Failure::Usage(format!(
                "--schema: table {name} is there already, and has other columns: {columns}"
            )));
        }
        match self.kind.map(KeyKind::from) {
            Some(kind) if kind != table.key_kind() => Err(Failure::Usage(format!(
                "--kind: table {name} is there already, and is of kind {}",
                kind_word(table.key_kind())
            ))),
            _ => Ok(table),
        }
    }
}
