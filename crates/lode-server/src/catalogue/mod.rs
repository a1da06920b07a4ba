//! `pg_catalog` and `information_schema`, for tools that look at tables: as much of them as psql
//! and drivers read, in SQLite's memory.
//!
//! They are filled when a statement names one of their tables, if tables of Lode have been created
//! or dropped since.

mod fill;
mod functions;
mod missing;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lode::Database;
use rusqlite::{Connection, Result};

use crate::catalogue::functions::add_functions;
use crate::sql::tokens::Token;

pub(crate) use missing::empty_result;

/// The entries that functions look up.
#[derive(Default)]
pub(crate) struct Lookup {
    /// The numbers of tables and indexes by their names.
    numbers: HashMap<String, i64>,
    /// The statements that make indexes, by their numbers.
    indexes: HashMap<i64, String>,
    /// The conditions of keys, by the numbers of their indexes.
    constraints: HashMap<i64, String>,
}

/// A lookup that functions share with the catalogue.
pub(crate) type SharedLookup = Arc<Mutex<Lookup>>;

/// The catalogue of a session.
pub(crate) struct Catalogue {
    lookup: SharedLookup,
    /// The definitions that it shows.
    definitions: Option<u64>,
}

/// Databases of SQLite in memory, in which the tables are.
const ATTACH: &str = "ATTACH ':memory:' AS pg_catalog; ATTACH ':memory:' AS information_schema;";

impl Catalogue {
    /// Makes an empty catalogue on a connection. `is_off` says whether the statement is to end.
    pub(crate) fn new(
        connection: &Connection,
        user: &str,
        is_off: impl Fn() -> bool + Send + 'static,
    ) -> Result<Self> {
        connection.execute_batch(ATTACH)?;
        let lookup = SharedLookup::default();
        add_functions(connection, user, &lookup, is_off)?;
        Ok(Self { lookup, definitions: None })
    }

    /// Returns true if a statement names a table of the catalogue.
    pub(crate) fn is_meant(tokens: &[Token<'_>]) -> bool {
        let starts = |token: &Token<'_>, start: &str| {
            let front = token.text.trim_start_matches('"').get(..start.len());
            front.is_some_and(|front| front.eq_ignore_ascii_case(start))
        };
        tokens.iter().filter(|token| token.is_name()).any(|token| {
            ["pg_", "information_schema", "regclass", "to_regclass"]
                .iter()
                .any(|start| starts(token, start))
        })
    }

    /// Shows the tables as they are at a number of definitions.
    pub(crate) fn fill(
        &mut self,
        connection: &Connection,
        db: &Database,
        definitions: u64,
    ) -> Result<()> {
        if self.definitions == Some(definitions) {
            return Ok(());
        }
        let is_made = connection.table_exists(Some("pg_catalog"), "pg_class")?;
        if !is_made {
            make_tables(connection)?;
        }
        let lookup = fill::fill(connection, db)?;
        *self.lookup.lock().unwrap_or_else(PoisonError::into_inner) = lookup;
        // What a transaction has filled may be rolled back.
        self.definitions = connection.is_autocommit().then_some(definitions);
        Ok(())
    }
}

/// Makes all tables or, if that is interrupted, none.
fn make_tables(connection: &Connection) -> Result<()> {
    let made = connection.execute_batch(&format!("SAVEPOINT made; {}", fill::TABLES));
    if made.is_err() {
        // SQLite may have rolled it back by itself.
        let _ = connection.execute_batch("ROLLBACK TO made");
    }
    let _ = connection.execute_batch("RELEASE made");
    made
}
