//! Descriptions of tables: columns in the words for their types.

use lode::{Builder, Schema, Type};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};

use crate::failure::{Failure, Result};

/// A description of columns that a program of Python has given.
pub(crate) struct Columns {
    /// Names and words for types, in their order.
    columns: Vec<(String, String)>,
    /// The names of the columns of the key, in their order.
    key: Vec<String>,
}

impl Columns {
    /// Reads `columns`, a mapping or a dataclass, and `key`, a name or several.
    ///
    /// # Errors
    /// `bad_argument`; whatever Python raises.
    pub(crate) fn take(columns: &Bound<'_, PyAny>, key: Option<&Bound<'_, PyAny>>) -> Result<Self> {
        let py = columns.py();
        let mapping = if columns.cast::<PyMapping>().is_ok() {
            columns.clone()
        } else {
            py.import("lode._dataclass")?.call_method1("columns_of", (columns,))?
        };
        let mapping = mapping.cast::<PyMapping>().map_err(PyErr::from)?;
        let mut named = Vec::new();
        for item in mapping.items()?.iter() {
            named.push(item.extract::<(String, String)>()?);
        }
        let key = match key {
            None => named.first().map(|(name, _)| name.clone()).into_iter().collect(),
            Some(key) if key.is_instance_of::<PyString>() => vec![key.extract()?],
            Some(keys) => keys.extract()?,
        };
        Ok(Self { columns: named, key })
    }

    /// Returns the schema of a table with these columns, those of the key first.
    pub(crate) fn schema(&self, table: &str) -> Result<Schema> {
        let mut schema = Schema::build(table);
        for name in &self.key {
            let found = self.columns.iter().find(|(column, _)| column == name);
            let (name, words) = found.ok_or_else(|| {
                Failure::argument(format!("key {name} of table {table} is none of its columns"))
            })?;
            schema = add(schema, name, words, true)?;
        }
        let others = self.columns.iter().filter(|(column, _)| !self.key.contains(column));
        for (name, words) in others {
            schema = add(schema, name, words, false)?;
        }
        Ok(schema.finish()?)
    }
}

/// Adds a column; its type is nullable with a `?` after it, and has records expire with `expires`.
fn add(schema: Builder, name: &str, words: &str, is_key: bool) -> Result<Builder> {
    if let Some(words) = words.strip_suffix(" expires") {
        return Ok(add(schema, name, words, is_key)?.expires(name));
    }
    let nullable = words.strip_suffix('?');
    let kind: Type = nullable.unwrap_or(words).trim().parse().map_err(|_| {
        Failure::argument(format!(
            "column {name}: there is no type {words}; use u8 to u64, i8 to i64, f32, f64, bool, \
             timestamp, decimal(12,2), text(40), bytes(16), vartext(900) or varbytes(900), with a \
             ? after it if it can be None; \
             `timestamp expires` has records expire"
        ))
    })?;
    match (is_key, nullable) {
        (true, Some(_)) => {
            let message = format!("column {name} is of the key, so it cannot be None; leave out ?");
            Err(Failure::argument(message))
        }
        (true, None) => Ok(schema.key(name, kind)),
        (false, Some(_)) => Ok(schema.nullable(name, kind)),
        (false, None) => Ok(schema.column(name, kind)),
    }
}
