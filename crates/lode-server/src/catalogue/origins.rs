//! The columns of tables that results come from, as the catalogue numbers them.

use lode::{Database, Table};
use rusqlite::ColumnMetadata;

use crate::catalogue::fill::{modifier, number};

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The number of the table.
    pub table: i32,
    /// The number of the column, from 1 on.
    pub column: i16,
    /// The modifier of its type.
    pub modifier: i32,
}

/// The tables that a result comes from.
pub(crate) struct Origins<'d> {
    db: &'d Database,
    /// By their names; few, so that they are looked through.
    tables: Vec<(String, Option<Table>)>,
}

impl<'d> Origins<'d> {
    pub(crate) fn of(db: &'d Database) -> Self {
        Self { db, tables: Vec::new() }
    }

    /// Finds the column of a table that SQLite says that a result is. For SQLite, tables of Lode
    /// are temporary ones.
    pub(crate) fn find(&mut self, source: &ColumnMetadata<'_>) -> Option<Origin> {
        let table = source.table_name().filter(|_| source.database_name() == Some("temp"))?;
        let column = source.origin_name()?;
        let known = self.tables.iter().position(|(name, _)| name == table);
        let at = known.unwrap_or_else(|| {
            self.tables.push((table.into(), self.db.table(table).ok()));
            self.tables.len() - 1
        });
        let found = self.tables[at].1.as_ref()?;
        let columns = found.schema().columns();
        let at = columns.iter().position(|known| known.name == column)?;
        Some(Origin {
            table: i32::try_from(number(table)).ok()?,
            column: i16::try_from(at + 1).ok()?,
            modifier: modifier(columns[at].kind),
        })
    }
}
