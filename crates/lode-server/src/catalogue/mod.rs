//! `pg_catalog` and `information_schema`, for tools that look at tables: as much of them as psql
//! and drivers read, in SQLite's memory.
//!
//! They are filled when a statement names one of their tables, if tables of Lode have been created
//! or dropped since.

mod arrays;
mod fill;
mod functions;
mod missing;
mod origins;
mod texts;

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lode::Database;
use rusqlite::vtab::series::load_module;
use rusqlite::{Connection, Result};

use crate::catalogue::arrays::add_arrays;
use crate::catalogue::functions::add_functions;
use crate::catalogue::texts::add_texts;
use crate::sql::infer::Columns;
use crate::sql::settings::Changed;
use crate::sql::tokens::Token;
use crate::types::Kind;
use crate::types::time::now_us;

pub(crate) use missing::empty_result;
pub(crate) use origins::{Origin, Origins};

/// The entries that functions look up.
#[derive(Default)]
pub(crate) struct Lookup {
    /// The numbers of tables and indexes by their names.
    numbers: HashMap<String, i64>,
    /// The statements that make indexes, and their columns, by the numbers of the indexes.
    indexes: HashMap<i64, (String, Vec<String>)>,
    /// The conditions of keys, by the numbers of their indexes.
    constraints: HashMap<i64, String>,
}

/// A lookup that functions share with the catalogue.
pub(crate) type SharedLookup = Arc<Mutex<Lookup>>;

/// The session that functions tell about.
pub(crate) struct About {
    pub user: String,
    /// The number by which its statements are canceled.
    pub number: i32,
    pub settings: Changed,
}

/// The moment at which a transaction has started, or a statement outside of transactions.
#[derive(Clone, Default)]
struct Start(Arc<AtomicI64>);

impl Start {
    fn us(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The catalogue of a session.
pub(crate) struct Catalogue {
    start: Start,
    lookup: SharedLookup,
    /// The definitions that it shows.
    definitions: Option<u64>,
    /// The columns of its own tables, by the names of these.
    columns: HashMap<String, Columns>,
}

const COLUMNS: &str = "
    SELECT t.name, c.name, c.type
    FROM pg_catalog.sqlite_schema AS t, pragma_table_info(t.name, 'pg_catalog') AS c
    UNION ALL SELECT t.name, c.name, c.type
    FROM information_schema.sqlite_schema AS t,
         pragma_table_info(t.name, 'information_schema') AS c";

/// Databases of SQLite in memory, in which the tables are.
const ATTACH: &str = "ATTACH ':memory:' AS pg_catalog; ATTACH ':memory:' AS information_schema;";

impl Catalogue {
    /// Makes an empty catalogue on a connection. `is_off` says whether the statement is to end.
    pub(crate) fn new(
        connection: &Connection,
        about: About,
        is_off: impl Fn() -> bool + Send + 'static,
    ) -> Result<Self> {
        connection.execute_batch(ATTACH)?;
        let lookup = SharedLookup::default();
        let start = Start::default();
        add_functions(connection, about, &lookup, &start, is_off)?;
        add_arrays(connection)?;
        add_texts(connection)?;
        load_module(connection)?;
        Ok(Self { start, lookup, definitions: None, columns: HashMap::new() })
    }

    /// Notes that a transaction starts now, or a statement outside of transactions.
    pub(crate) fn note_start(&self) {
        self.start.0.store(now_us(), Ordering::Relaxed);
    }

    /// Returns the columns of a table of the catalogue, whose name is in lower case.
    pub(crate) fn columns(&self, table: &str) -> Option<&Columns> {
        self.columns.get(table)
    }

    /// Returns true if a statement names a table of the catalogue.
    pub(crate) fn is_meant(tokens: &[Token<'_>]) -> bool {
        let starts = |token: &Token<'_>, start: &str| {
            let front = token.text.trim_start_matches('"').get(..start.len());
            front.is_some_and(|front| front.eq_ignore_ascii_case(start))
        };
        tokens.iter().filter(|token| token.is_name()).any(|token| {
            ["pg_", "information_schema", "regclass", "to_regclass", "current_schemas"]
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
        if self.columns.is_empty() {
            let mut found: HashMap<String, Columns> = HashMap::new();
            let mut statement = connection.prepare(COLUMNS)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if let Some(kind) = Kind::of_declared(&row.get::<_, String>(2)?) {
                    found.entry(row.get(0)?).or_default().push((row.get(1)?, kind));
                }
            }
            self.columns = found;
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
