//! Describing a schema, column by column.

use std::collections::HashSet;

use super::{
    Column, ColumnId, MOST_FIXED_BYTES, MOST_KEY_BYTES, MOST_NAME_BYTES, MOST_VARIABLE_BYTES,
    Schema, packed_key,
};
use crate::error::{Error, Result, SchemaFault};
use crate::types::Type;

/// A schema that is being described.
///
/// ```
/// use lode::{Schema, Type};
///
/// let fields = [("width", Type::U32), ("height", Type::U32), ("title", Type::VarText(200))];
/// let builder = Schema::build("picture").key("id", Type::U64);
/// let builder = fields.iter().fold(builder, |builder, (name, kind)| builder.column(name, *kind));
/// assert_eq!(builder.finish()?.columns().len(), 4);
/// # Ok::<(), lode::Error>(())
/// ```
pub struct Builder {
    name: String,
    columns: Vec<(String, Type, bool)>,
    key_columns: usize,
    expires: Option<String>,
    fault: Option<SchemaFault>,
}

impl Builder {
    /// Starts a schema for a table of that name.
    pub(super) fn new(name: &str) -> Self {
        let (columns, expires, fault) = Default::default();
        Self { name: name.into(), columns, key_columns: 0, expires, fault }
    }

    /// Adds a column of the primary key; these come first.
    pub fn key(mut self, name: &str, kind: Type) -> Self {
        if self.key_columns < self.columns.len() {
            self.fault = Some(SchemaFault::KeyComesLate { column: name.into() });
        }
        self.columns.push((name.into(), kind, false));
        self.key_columns += 1;
        self
    }

    /// Adds a column that always has a value.
    pub fn column(mut self, name: &str, kind: Type) -> Self {
        self.columns.push((name.into(), kind, false));
        self
    }

    /// Adds a column that can be null.
    pub fn nullable(mut self, name: &str, kind: Type) -> Self {
        self.columns.push((name.into(), kind, true));
        self
    }

    /// Has each record expire at the time in a column, which is a timestamp after the key: from
    /// that time on, no read finds the record. If the column is null, the record never expires.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("session").key("id", Type::U64);
    /// let schema = schema.nullable("until", Type::Timestamp).expires("until").finish()?;
    /// let sessions = db.create_table(&schema, KeyKind::Hash)?;
    /// // A time that is long over, and none.
    /// for (id, until) in [(1, Value::Timestamp(1_000_000)), (2, Value::Null)] {
    ///     sessions.insert(&schema.pack(&[Value::Unsigned(id), until])?)?;
    /// }
    /// assert!(sessions.get(1)?.is_none());
    /// assert_eq!(sessions.len()?, 1);
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Clocks
    /// The time is that of [`Options::clock`](crate::Options::clock). A record that a read has left
    /// out stays gone, whatever the clock says later. After the database was opened again, that is
    /// as durable as the next write; what a database that is only read has left out is forgotten.
    ///
    /// # Space
    /// Writes remove expired records: each looks at a few others, in turn. So a table that is
    /// written keeps few of them, and one that is not keeps them until
    /// [`Table::remove_expired`](crate::Table::remove_expired).
    pub fn expires(mut self, name: &str) -> Self {
        if self.expires.replace(name.into()).is_some() {
            self.fault = Some(SchemaFault::ExpiresTwice { column: name.into() });
        }
        self
    }

    /// Finishes the schema.
    ///
    /// # Errors
    /// `InvalidSchema` when there is no key; when a name occurs twice, or has more than
    /// [`MOST_NAME_BYTES`](crate::MOST_NAME_BYTES); when keys, columns or the fixed parts of
    /// records can be too long; when records expire by a column that is none, is of the key, or is
    /// no timestamp.
    pub fn finish(self) -> Result<Schema> {
        let wrong = |fault| Err(Error::InvalidSchema { table: self.name.clone(), fault });
        if let Some(fault) = self.fault {
            return wrong(fault);
        }
        if self.name.is_empty() {
            return wrong(SchemaFault::NoName);
        }
        if self.name.len() > MOST_NAME_BYTES {
            // The error names the table.
            let table = beginning(&self.name);
            let size_bytes = self.name.len();
            let fault = SchemaFault::TableNameTooLong { most_bytes: MOST_NAME_BYTES, size_bytes };
            return Err(Error::InvalidSchema { table, fault });
        }
        if self.key_columns == 0 {
            return wrong(SchemaFault::NoKey);
        }
        let mut columns = Vec::<Column>::new();
        let mut offset = 0;
        let mut bits = 0;
        let mut variable = Vec::new();
        let mut names = HashSet::new();
        for (name, kind, nullable) in self.columns {
            if !names.insert(name.clone()) {
                return wrong(SchemaFault::SameName { column: name });
            }
            if name.len() > MOST_NAME_BYTES {
                return wrong(SchemaFault::ColumnNameTooLong {
                    column: beginning(&name),
                    most_bytes: MOST_NAME_BYTES,
                    size_bytes: name.len(),
                });
            }
            if kind.most_bytes() == 0 {
                return wrong(SchemaFault::Empty { column: name });
            }
            if !kind.has_valid_digits() {
                return wrong(SchemaFault::Digits { column: name });
            }
            let is_of_key = columns.len() < self.key_columns;
            if kind.is_variable() && kind.most_bytes() > MOST_VARIABLE_BYTES {
                let most_bytes = MOST_VARIABLE_BYTES;
                return wrong(SchemaFault::ColumnTooLong { column: name, most_bytes });
            }
            let null_bit = nullable.then(|| {
                bits += 1;
                bits - 1
            });
            let number = (kind.is_variable() && !is_of_key).then_some(variable.len());
            variable.extend(number.map(|_| columns.len()));
            let size = if kind.is_variable() && is_of_key {
                packed_key::LENGTH_BYTES
            } else {
                kind.size_bytes()
            };
            let id = ColumnId(columns.len());
            let variable = number;
            columns.push(Column { id, name, kind, nullable, offset, size, null_bit, variable });
            offset += size;
            if offset > MOST_FIXED_BYTES {
                break;
            }
        }
        let key_size = columns.get(self.key_columns).map_or(offset, |column| column.offset);
        let record_size = offset + bits.div_ceil(8);
        if record_size > MOST_FIXED_BYTES {
            return wrong(SchemaFault::FixedPartTooLong { most_bytes: MOST_FIXED_BYTES });
        }
        let key_columns = self.key_columns;
        let most_key_size = packed_key::most_bytes(&columns[..key_columns.min(columns.len())]);
        if most_key_size > MOST_KEY_BYTES {
            let is_variable = columns.iter().take(key_columns).any(|key| key.kind.is_variable());
            return wrong(SchemaFault::KeyTooLong { most_bytes: MOST_KEY_BYTES, is_variable });
        }
        let expires = match self.expires {
            None => None,
            Some(name) => match columns[key_columns..].iter().find(|column| column.name == name) {
                Some(column) if column.kind == Type::Timestamp => Some(column.id),
                _ => return wrong(SchemaFault::ExpiresByNone { column: name }),
            },
        };
        let is_key_variable = columns[..key_columns].iter().any(|key| key.kind.is_variable());
        let unless = |varies: bool, size: usize| if varies { usize::MAX } else { size };
        let varies = !variable.is_empty();
        debug_assert!(key_columns <= columns.len(), "key columns are some of all");
        debug_assert!(key_size <= record_size, "a key is a part of its record");
        debug_assert!(most_key_size >= key_size, "the longest key has the fixed part of any");
        Ok(Schema {
            name: self.name,
            columns,
            key_columns,
            key_size,
            most_key_size,
            record_size,
            whole_key_size: unless(is_key_variable, key_size),
            whole_payload_size: unless(varies, record_size - key_size),
            whole_size: unless(varies || is_key_variable, record_size),
            variable,
            expires,
        })
    }
}

/// Returns the first characters of a name that is too long to be repeated in an error.
fn beginning(name: &str) -> String {
    /// The most characters that an error shows.
    const SHOWN: usize = 32;
    let mut shown: String = name.chars().take(SHOWN).collect();
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_at_most_255_bytes_and_a_table_at_most_4096_columns() {
        let longest = "ä".repeat(127) + "a";
        let longer = "ä".repeat(128);
        assert_eq!((longest.len(), longer.len()), (MOST_NAME_BYTES, MOST_NAME_BYTES + 1));
        let named = |table: &str, key: &str, column: &str| {
            Schema::build(table).key(key, Type::U8).column(column, Type::U8).finish()
        };
        named(&longest, &longest, "b").expect("as long as names can be");
        let why = named(&longer, "a", "b").expect_err("refused");
        let shown = "ä".repeat(32) + "…";
        let wanted = format!("table {shown}: its name has 256 bytes; the most is 255");
        assert_eq!((why.to_string(), why.is_bad_input()), (wanted, true));
        for (key, column) in [(&longer[..], "b"), ("a", &longer[..])] {
            let why = named("t", key, column).expect_err("refused");
            let wanted =
                format!("table t: the name of column {shown} has 256 bytes; the most is 255");
            assert_eq!((why.to_string(), why.is_bad_input()), (wanted, true));
        }
        // Each takes a byte of the fixed part at least.
        let columns = |count: usize| {
            let add = |builder: Builder, at: usize| builder.column(&at.to_string(), Type::U8);
            (1..count).fold(Schema::build("t").key("id", Type::U8), add).finish()
        };
        assert_eq!(columns(4096).expect("the most that there can be").columns().len(), 4096);
        let fault = SchemaFault::FixedPartTooLong { most_bytes: MOST_FIXED_BYTES };
        assert_eq!(columns(4097), Err(Error::InvalidSchema { table: "t".into(), fault }));
    }

    #[test]
    fn records_expire_by_one_timestamp_after_the_key() {
        let t = || Schema::build("t").key("id", Type::Timestamp).column("at", Type::Timestamp);
        let schema = t().column("n", Type::I64).expires("at").finish().expect("a schema");
        assert_eq!(schema.expires(), Some(schema.column("at").expect("a column")));
        assert_eq!(t().finish().expect("a schema").expires(), None);
        let why = |builder: Builder| builder.finish().expect_err("refused").to_string();
        for column in ["id", "n", "other"] {
            let said = why(t().column("n", Type::I64).expires(column));
            assert!(said.contains(&format!("cannot expire by {column}")), "{said}");
        }
        assert!(why(t().expires("at").expires("at")).contains("expire by one column"));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let why = |builder: Builder| builder.finish().expect_err("refused").to_string();
        let t = || Schema::build("t");
        assert_eq!(why(t()), "table t: it has no key; begin with a key column");
        assert!(why(t().column("a", Type::U8)).contains("no key"));
        assert!(why(t().key("a", Type::U8).column("a", Type::U8)).contains("two columns a"));
        let late = t().key("a", Type::U8).column("b", Type::U8).key("c", Type::U8);
        assert!(why(late).contains("key column c comes after other columns"));
        assert!(why(t().key("a", Type::Bytes(0))).contains("no bytes"));
        assert!(why(t().key("a", Type::Bytes(1025))).contains("at most 1024"));
        assert!(why(t().key("a", Type::U8).column("b", Type::Text(4096))).contains("4096"));
        assert!(why(t().key("a", Type::U8).column("b", Type::Text(u32::MAX))).contains("4096"));
        assert!(why(Schema::build("").key("a", Type::U8)).contains("needs a name"));
        for variable in [Type::VarText, Type::VarBytes] {
            let key = |most| t().key("id", Type::U8).key("a", variable(most));
            assert!(why(key(1022)).contains("at most 1024 bytes, two of them for each column of"));
            key(1021).finish().expect("the most that there can be");
            let with = |most| t().key("id", Type::U8).nullable("b", variable(most));
            assert!(why(with(0)).contains("column b has no bytes"));
            assert!(why(with((1 << 20) + 1)).contains("column b can have at most 1048576 bytes"));
            with(1 << 20).finish().expect("the most that there can be");
            let many = (0..1024).fold(t().key("id", Type::U8), |builder, at| {
                builder.column(&at.to_string(), variable(1))
            });
            assert!(why(many).contains("at most 4096 bytes beside those of variable length"));
        }
    }
}
