//! A database whose tables are visible on a connection, and the tables that are not.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, Error, Result};

use crate::attach::guard::Guard;
use crate::language::ddl::quoted;
use crate::session::Session;
use crate::table::expect_utf8;

/// A database whose tables are visible.
pub(crate) struct Attached {
    pub session: Arc<Session>,
    /// The module that finds it, with these arguments before the table's.
    pub module: String,
    pub arguments: Vec<String>,
    /// The guard of the connection, if the connection is this crate's own.
    pub guard: Option<Arc<Guard>>,
    /// Tables that are not visible.
    pub hidden: Vec<HiddenTable>,
}

/// The most columns that SQLite takes, unless it was compiled otherwise.
const MOST_COLUMNS: usize = 2_000;

/// Returns why SQLite has no table of a name.
pub(super) fn cannot_name(name: &str) -> Option<String> {
    let is_own = name.len() >= 7 && name.as_bytes()[..7].eq_ignore_ascii_case(b"sqlite_");
    is_own.then(|| "SQLite keeps names that start with sqlite_ for itself".into())
}

/// Returns why SQLite has no table with this number of columns.
pub(super) fn cannot_have(columns: usize) -> Option<String> {
    let is_more = columns > MOST_COLUMNS;
    is_more.then(|| format!("it has {columns} columns, and SQLite takes {MOST_COLUMNS}"))
}

/// A table that SQL cannot show, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenTable {
    /// The table's name.
    pub name: String,
    /// The reason, in words that come after its name.
    pub why: String,
}

impl std::fmt::Display for HiddenTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, why } = self;
        write!(
            f,
            "SQL cannot show table {name:?}: {why}; lode dump writes its records, lode drop \
             drops it"
        )
    }
}

impl Attached {
    pub(crate) fn new(session: Arc<Session>, module: &str, arguments: Vec<String>) -> Self {
        let hidden = Vec::new();
        Self { session, module: module.into(), arguments, guard: None, hidden }
    }

    /// Returns the statement that makes a table visible.
    pub(crate) fn statement(&self, name: &str) -> String {
        let name = quoted(name);
        let mut arguments = self.arguments.clone();
        // After the directory.
        arguments.insert(arguments.len().min(1), name.clone());
        let arguments = arguments.join(", ");
        format!("CREATE VIRTUAL TABLE temp.{name} USING {}({arguments})", self.module)
    }

    /// Makes all tables visible that are not yet. A table that cannot be shown is hidden, and keeps
    /// no other from being seen.
    pub(crate) fn all(&mut self, connection: &Connection) -> Result<()> {
        expect_utf8(connection)?;
        let names = self.session.db().table_names();
        let mut by_name = HashMap::<String, Vec<&str>>::new();
        for name in &names {
            by_name.entry(name.to_ascii_lowercase()).or_default().push(name);
        }
        let mut query = connection.prepare("SELECT name, sql FROM temp.sqlite_schema")?;
        let shown = query.query_map([], |row| Ok((row.get(0)?, row.get::<_, Option<String>>(1)?)));
        let shown = shown?.collect::<Result<HashMap<String, _>>>()?;
        let mut hidden = Vec::new();
        for name in &names {
            let twins = &by_name[&name.to_ascii_lowercase()];
            let twin = twins.iter().find(|twin| **twin != name);
            // SQLite keeps it without the schema's name.
            let statement = self.statement(name).replacen(" temp.", " ", 1);
            let is_shown = shown.get(name).is_some_and(|sql| sql.as_ref() == Some(&statement));
            let why = match (self.cannot_show(name, twin.copied()), is_shown) {
                (Some(why), true) => {
                    self.hide(connection, name)?;
                    Some(why)
                }
                (Some(why), false) => Some(why),
                (None, true) => None,
                (None, false) => self.show(connection, name).err(),
            };
            hidden.extend(why.map(|why| HiddenTable { name: name.clone(), why }));
        }
        self.hidden = hidden;
        Ok(())
    }

    /// Makes all tables visible as they are now, in the place of those that were visible.
    pub(crate) fn renew(&mut self, connection: &Connection) -> Result<()> {
        let mut query = connection.prepare("SELECT name, sql FROM temp.sqlite_schema")?;
        let known = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let known = known.collect::<Result<Vec<(String, Option<String>)>>>()?;
        drop(query);
        for (name, sql) in known {
            if sql.is_some_and(|sql| sql == self.statement(&name).replacen(" temp.", " ", 1)) {
                self.hide(connection, &name)?;
            }
        }
        self.all(connection)
    }

    /// Makes a table visible, or returns why it cannot be.
    pub(crate) fn show(&self, connection: &Connection, name: &str) -> Result<(), String> {
        connection.execute_batch(&self.statement(name)).map_err(|error| match error {
            Error::SqliteFailure(_, Some(why)) => why,
            other => other.to_string(),
        })
    }

    /// Returns why SQLite could not show a table under its own name, as far as that is known
    /// before.
    pub(crate) fn cannot_show(&self, name: &str, twin: Option<&str>) -> Option<String> {
        if let Some(twin) = twin {
            return Some(format!("table {twin:?} has the same name to SQLite, but for the case"));
        }
        if let Some(why) = cannot_name(name) {
            return Some(why);
        }
        let has_zero = |name: &str| name.contains('\0');
        let table = match self.session.db().table(name) {
            Ok(table) => table,
            Err(error) => return Some(error.to_string()),
        };
        let columns = table.schema().columns();
        if has_zero(name) || columns.iter().any(|column| has_zero(&column.name)) {
            return Some("a name in it has a zero byte".into());
        }
        if let Some(why) = cannot_have(columns.len()) {
            return Some(why);
        }
        let mut seen = HashMap::new();
        for column in columns {
            if let Some(other) = seen.insert(column.name.to_ascii_lowercase(), &column.name) {
                let name = &column.name;
                return Some(format!(
                    "columns {other:?} and {name:?} have the same name to SQLite, but for the case"
                ));
            }
        }
        None
    }

    /// Takes a table away from the connection.
    pub(crate) fn hide(&self, connection: &Connection, name: &str) -> Result<()> {
        let statement = format!("DROP TABLE IF EXISTS temp.{}", quoted(name));
        match &self.guard {
            Some(guard) => guard.own(|| connection.execute_batch(&statement)),
            None => connection.execute_batch(&statement),
        }
    }
}
