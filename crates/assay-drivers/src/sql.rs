//! The SQL texts that engines of the SQL family share, made once from the schema when a connection
//! is opened.

#[cfg(any(feature = "duckdb", feature = "lode-server", feature = "sqlite"))]
use std::ops::Bound;
#[cfg(any(feature = "duckdb", feature = "sqlite"))]
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_driver::Outcome;
#[cfg(any(feature = "duckdb", feature = "lode-server", feature = "sqlite"))]
use assay_driver::Scan;
#[cfg(any(feature = "duckdb", feature = "lode-server", feature = "sqlite"))]
use assay_driver::error::{Error, Result};
use assay_driver::schema::{Column, ColumnType, Schema};

/// The differences between SQL dialects.
pub(crate) struct Dialect {
    /// The type of a column that is not in the key.
    pub(crate) type_name: fn(ColumnType) -> String,
    /// The type of a column of the key.
    pub(crate) key_type_name: fn(ColumnType) -> String,
    /// The text after the type of each column in `CREATE TABLE`.
    pub(crate) column_suffix: &'static str,
    /// The text after the closing parenthesis of `CREATE TABLE`.
    pub(crate) table_suffix: &'static str,
}

/// The statements of one table. Parameters stand for all columns in their order (insert), for
/// the new value and the key columns (update), for the key columns (select, delete).
pub(crate) struct Statements {
    pub(crate) create: String,
    /// Creates each secondary index, in the schema's order.
    pub(crate) create_indexes: Vec<String>,
    /// Selects all columns by the value of each column with an index.
    pub(crate) finds: Vec<(usize, String)>,
    pub(crate) insert: String,
    /// Inserts, or sets all columns of the existing row.
    pub(crate) upsert: String,
    /// Selects the columns that are not in the key.
    pub(crate) select: String,
    /// The updates of each column that is not in the key, in their order.
    pub(crate) updates: Vec<String>,
    pub(crate) delete: String,
}

impl Statements {
    pub(crate) fn new(schema: &Schema, dialect: &Dialect) -> Self {
        let table = schema.name();
        let list = |columns: &[Column], separator: &str, form: &dyn Fn(&Column) -> String| {
            columns.iter().map(form).collect::<Vec<_>>().join(separator)
        };
        let name = |column: &Column| column.name.to_string();
        let all = schema.columns();
        let key = list(schema.key_columns(), " AND ", &|c| format!("{} = ?", c.name));
        let insert = format!(
            "INSERT INTO {table} ({}) VALUES ({})",
            list(all, ", ", &name),
            list(all, ", ", &|_| "?".into())
        );
        let key_columns = schema.key_columns().len();
        let declared = all.iter().enumerate().map(|(at, column)| {
            let is_key = at < key_columns;
            let type_name = if is_key { dialect.key_type_name } else { dialect.type_name };
            format!("{} {}{}", column.name, type_name(column.kind), dialect.column_suffix)
        });
        let indexed = || schema.indexed().iter().map(|at| (*at, all[*at].name));
        let create_indexes = indexed()
            .map(|(_, name)| {
                format!("CREATE INDEX IF NOT EXISTS {table}_by_{name} ON {table} ({name})")
            })
            .collect();
        let columns = list(all, ", ", &name);
        let finds = indexed()
            .map(|(at, name)| (at, format!("SELECT {columns} FROM {table} WHERE {name} = ?")))
            .collect();
        Self {
            create_indexes,
            finds,
            create: format!(
                "CREATE TABLE IF NOT EXISTS {table} ({}, PRIMARY KEY ({})){}",
                declared.collect::<Vec<_>>().join(", "),
                list(schema.key_columns(), ", ", &name),
                dialect.table_suffix
            ),
            upsert: format!(
                "{insert} ON CONFLICT ({}) DO UPDATE SET {}",
                list(schema.key_columns(), ", ", &name),
                list(schema.payload_columns(), ", ", &|c| format!("{0} = excluded.{0}", c.name))
            ),
            insert,
            select: format!(
                "SELECT {} FROM {table} WHERE {key}",
                list(schema.payload_columns(), ", ", &name)
            ),
            updates: schema
                .payload_columns()
                .iter()
                .map(|c| format!("UPDATE {table} SET {} = ? WHERE {key}", c.name))
                .collect(),
            delete: format!("DELETE FROM {table} WHERE {key}"),
        }
    }
}

/// Returns the outcome of a change by the number of rows that it changed.
pub(crate) fn changed<N: PartialEq + From<u8>>(rows: N) -> Outcome {
    if rows == N::from(0) { Outcome::Missing } else { Outcome::Done }
}

/// The turns that writers take if several connections write.
#[cfg(any(feature = "duckdb", feature = "sqlite"))]
pub(crate) struct Turns<'t> {
    /// Held by the connection that writes; none if only one connection does.
    writing: Option<&'t Mutex<()>>,
    /// The connection's turn, while a transaction is open.
    held: Option<MutexGuard<'t, ()>>,
}

#[cfg(any(feature = "duckdb", feature = "sqlite"))]
impl<'t> Turns<'t> {
    pub(crate) fn new(writing: Option<&'t Mutex<()>>) -> Self {
        Self { writing, held: None }
    }

    /// Takes the turn for one write, unless a transaction has it already.
    pub(crate) fn one(&self) -> Option<MutexGuard<'t, ()>> {
        let writing = self.writing.filter(|_| self.held.is_none())?;
        Some(writing.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the turn for a transaction.
    pub(crate) fn begin(&mut self) {
        self.held = self.one();
    }

    /// Gives the turn back after a transaction.
    pub(crate) fn end(&mut self) {
        self.held = None;
    }
}

/// Passes rows of some columns to `row` as packed records, and returns their number. `next` copies
/// the columns of the next row to their places in a record; false ends the rows.
#[cfg(any(feature = "duckdb", feature = "lode-server", feature = "sqlite"))]
pub(crate) fn each_row(
    schema: &Schema,
    columns: &[Column],
    row: &mut dyn FnMut(&[u8]),
    mut next: impl FnMut(&[Column], &mut [u8]) -> Result<bool>,
) -> Result<u64> {
    let mut record = vec![0; schema.record_size()];
    let mut count = 0;
    while next(columns, &mut record)? {
        row(&record);
        count += 1;
    }
    Ok(count)
}

/// Returns the statement that finds records by a column.
#[cfg(any(feature = "duckdb", feature = "lode-server", feature = "sqlite"))]
pub(crate) fn finding<S>(finds: &mut [(usize, S)], column: usize) -> Result<&mut S> {
    let find = finds.iter_mut().find(|(at, _)| *at == column).map(|(_, statement)| statement);
    find.ok_or_else(|| Error::unsupported("finding by a column without an index"))
}

/// Returns the columns that a scan asks for.
#[cfg(any(feature = "duckdb", feature = "lode-server", feature = "sqlite"))]
pub(crate) fn scanned_columns(schema: &Schema, scan: &Scan<'_>) -> Vec<Column> {
    scan.columns.iter().map(|&at| schema.columns()[at].clone()).collect()
}

/// The comparison of a key with the parameters from a number on, in a dialect: the key columns, one
/// of `>=`, `>`, `<=`, `<`, and the number of the first parameter.
#[cfg(any(feature = "duckdb", feature = "lode-server", feature = "sqlite"))]
pub(crate) type CompareKeys = fn(&[Column], &str, usize) -> String;

/// Returns the text of a scan and the keys to bind, in order, each to one parameter for each of its
/// columns.
#[cfg(any(feature = "duckdb", feature = "lode-server", feature = "sqlite"))]
pub(crate) fn scan_statement<'s>(
    schema: &Schema,
    scan: &Scan<'s>,
    compare: CompareKeys,
) -> (String, Vec<&'s [u8]>) {
    let names = |columns: &mut dyn Iterator<Item = &Column>| {
        columns.map(|c| c.name).collect::<Vec<_>>().join(", ")
    };
    let keys = schema.key_columns();
    let mut conditions = Vec::new();
    let mut bounds = Vec::new();
    for (bound, included, excluded) in [(scan.lower, ">=", ">"), (scan.upper, "<=", "<")] {
        let (operator, area) = match bound {
            Bound::Unbounded => continue,
            Bound::Included(area) => (included, area),
            Bound::Excluded(area) => (excluded, area),
        };
        conditions.push(compare(keys, operator, 1 + bounds.len() * keys.len()));
        bounds.push(area);
    }
    let wanted = names(&mut scan.columns.iter().map(|&at| &schema.columns()[at]));
    let filter = if conditions.is_empty() {
        String::new()
    } else {
        format!(" WHERE {}", conditions.join(" AND "))
    };
    let limit = i64::try_from(scan.limit).unwrap_or(i64::MAX);
    let table = schema.name();
    let key = names(&mut keys.iter());
    (format!("SELECT {wanted} FROM {table}{filter} ORDER BY {key} LIMIT {limit}"), bounds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_follow_the_schema() {
        let schema = Schema::new(
            "t",
            &[("a", ColumnType::U32), ("b", ColumnType::U8), ("c", ColumnType::Text(4))],
            2,
        )
        .with_index(2);
        let dialect = Dialect {
            type_name: |kind| format!("{kind:?}").to_uppercase(),
            key_type_name: |kind| format!("KEY_{kind:?}").to_uppercase(),
            column_suffix: " NOT NULL",
            table_suffix: " WITHOUT ROWID",
        };
        let statements = Statements::new(&schema, &dialect);
        assert_eq!(
            statements.create,
            "CREATE TABLE IF NOT EXISTS t (a KEY_U32 NOT NULL, b KEY_U8 NOT NULL, c TEXT(4) \
             NOT NULL, PRIMARY KEY (a, b)) WITHOUT ROWID"
        );
        assert_eq!(statements.insert, "INSERT INTO t (a, b, c) VALUES (?, ?, ?)");
        assert_eq!(
            statements.upsert,
            "INSERT INTO t (a, b, c) VALUES (?, ?, ?) ON CONFLICT (a, b) DO UPDATE SET c = \
             excluded.c"
        );
        assert_eq!(statements.select, "SELECT c FROM t WHERE a = ? AND b = ?");
        assert_eq!(statements.updates, ["UPDATE t SET c = ? WHERE a = ? AND b = ?"]);
        assert_eq!(statements.delete, "DELETE FROM t WHERE a = ? AND b = ?");
        assert_eq!(statements.create_indexes, ["CREATE INDEX IF NOT EXISTS t_by_c ON t (c)"]);
        assert_eq!(statements.finds, [(2, "SELECT a, b, c FROM t WHERE c = ?".to_string())]);
    }
}
