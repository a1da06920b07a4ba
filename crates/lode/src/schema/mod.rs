//! The schema of a table: the columns of its records.
//!
//! A record is *packed*: its columns one after another in the order of the schema, each in as many
//! bytes as its type has, little-endian, without gaps; then a bit for each column that may be null.
//! That is its *fixed part*, and all of it unless columns are of [variable] length, whose
//! bytes come after it.
//!
//! The first columns are the primary key, and [packed by themselves](packed_key): so a packed
//! record is a packed key and the *payload* after it. [`key`] turns keys into bytes that sort as
//! they do.

mod entries;
mod index_schema;
pub(crate) mod key;
mod pack;
mod packed_key;
#[cfg(test)]
mod round_trips;
mod row;
mod stored;
mod variable;

pub use crate::types::Type;
pub(crate) use entries::{Entries, Entry};
pub use index_schema::IndexSchema;
pub use pack::Packer;
pub use row::{RowRef, Value};

use std::collections::HashSet;
use std::ops::Index;

use crate::error::{Error, PackedFault, PackedPart, Result, SchemaFault};

/// The most bytes that the columns of variable length after the key have together.
pub const MOST_VARIABLE_BYTES: usize = 1 << 20;

/// The most bytes of the fixed part of a packed record: of all but columns of variable length.
pub const MOST_FIXED_BYTES: usize = 4096;

/// The most bytes of a key.
pub const MOST_KEY_BYTES: usize = 1024;

/// The most bytes of the name of a table, and of that of a column.
pub const MOST_NAME_BYTES: usize = 255;

/// The most bytes of a packed record: the longest key, the fixed part, and the columns of variable
/// length.
pub const MOST_RECORD_BYTES: usize = MOST_KEY_BYTES + MOST_FIXED_BYTES + MOST_VARIABLE_BYTES;

/// A handle of a column: its place among the columns of its schema. Made by [`Schema::column`].
///
/// ```
/// use lode::{Database, KeyKind, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("page").key("id", Type::U32).column("views", Type::U32).finish()?;
/// let pages = db.create_table(&schema, KeyKind::Hash)?;
/// pages.insert(&schema.pack(&[Value::Unsigned(7), Value::Unsigned(0)])?)?;
/// let views = schema.column("views")?;
/// assert_eq!(pages.increment(7, views, 3)?, Some(Value::Unsigned(3)));
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId(usize);

impl ColumnId {
    /// Returns the place among the [columns](Schema::columns), from 0 on.
    pub fn index(self) -> usize {
        self.0
    }
}

/// A column.
///
/// ```
/// use lode::{Schema, Type};
///
/// let schema = Schema::build("city").key("id", Type::U32).nullable("name", Type::Text(32));
/// let schema = schema.finish()?;
/// let name = &schema[schema.column("name")?];
/// assert_eq!((&name.name[..], name.kind, name.nullable), ("name", Type::Text(32), true));
/// assert_eq!((name.offset, name.range().len()), (4, 32));
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    id: ColumnId,
    /// The name of the column.
    pub name: String,
    /// The type of the column.
    pub kind: Type,
    /// True if the column can be null.
    pub nullable: bool,
    /// The start of the column in a packed record; after columns of the key of variable length, in
    /// a record in which those are empty.
    pub offset: usize,
    /// Bytes of its cell.
    size: usize,
    /// The number of the bit that is set if the column is null, if it can be.
    null_bit: Option<usize>,
    /// The number of the column among those of variable length after the key, if it is one.
    variable: Option<usize>,
}

impl Column {
    /// Returns the handle of the column.
    pub fn id(&self) -> ColumnId {
        self.id
    }

    /// Returns the fixed place of the column in a packed record; of a column of variable length,
    /// that of its end, or in a key of its length. [`Schema::bytes_of`] finds its bytes.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.size
    }
}

/// The columns of a table: those of the primary key first.
///
/// ```
/// use lode::{Schema, Type};
///
/// let schema = Schema::build("route")
///     .key("prefix", Type::U32)
///     .key("mask", Type::U8)
///     .column("next_hop", Type::U32)
///     .nullable("comment", Type::Text(16))
///     .finish()?;
/// assert_eq!(schema.key_size(), 5);
/// assert_eq!(schema.record_size(), 5 + 4 + 16 + 1);
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    name: String,
    columns: Vec<Column>,
    key_columns: usize,
    key_size: usize,
    most_key_size: usize,
    record_size: usize,
    /// Bytes of all keys, of all payloads, and of all records, if these are fixed: otherwise more
    /// than any has.
    whole_key_size: usize,
    whole_payload_size: usize,
    whole_size: usize,
    /// The columns of variable length after the key.
    variable: Vec<usize>,
}

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
    fault: Option<SchemaFault>,
}

impl Schema {
    /// Starts a schema for a table of that name.
    pub fn build(name: &str) -> Builder {
        Builder { name: name.into(), columns: Vec::new(), key_columns: 0, fault: None }
    }

    /// Returns the table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a schema with these columns and another name.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        Self { name: name.into(), ..self.clone() }
    }

    /// Returns all columns, those of the key first.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the number of columns of the key.
    pub fn key_columns(&self) -> usize {
        self.key_columns
    }

    /// Returns the bytes of a packed key; the fewest, if columns of it are of variable length.
    pub fn key_size(&self) -> usize {
        self.key_size
    }

    /// Returns the bytes of the fixed part of a packed record: all of it if no column is of
    /// variable length. Columns of the key that are have two bytes there.
    pub fn record_size(&self) -> usize {
        self.record_size
    }

    /// Returns the bytes of the fixed part after the key.
    pub fn payload_size(&self) -> usize {
        self.record_size - self.key_size
    }

    /// Returns the handle of the column with a name.
    ///
    /// # Errors
    /// `NoColumn`.
    pub fn column(&self, name: &str) -> Result<ColumnId> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.map(Column::id).ok_or_else(|| self.no_column(name))
    }

    /// Returns the column of a handle.
    ///
    /// # Errors
    /// `NoColumn`.
    #[inline(always)]
    pub(crate) fn expect_column(&self, column: ColumnId) -> Result<&Column> {
        match self.columns.get(column.0) {
            Some(found) => Ok(found),
            None => Err(self.no_column_at(column)),
        }
    }

    #[cold]
    fn no_column_at(&self, column: ColumnId) -> Error {
        self.no_column(column.0.to_string())
    }

    /// Returns the place of the null bit of a column in a payload: its byte, and a mask of the bit.
    #[inline]
    pub(crate) fn null_bit(&self, column: &Column) -> Option<(usize, u8)> {
        let bit = column.null_bit?;
        Some((self.null_bits().start + bit / 8, 1 << (bit % 8)))
    }

    /// Returns the place of the null bits in a payload.
    pub(crate) fn null_bits(&self) -> std::ops::Range<usize> {
        let begin = self.columns().last().map_or(0, |last| last.range().end);
        begin - self.key_size..self.payload_size()
    }

    /// Returns the place in a payload of a column that is not of the key; if it is of variable
    /// length, the place of its end.
    #[inline]
    pub(crate) fn range_in_payload(&self, column: &Column) -> std::ops::Range<usize> {
        debug_assert!(column.offset >= self.key_size, "column {} is of the payload", column.name);
        column.offset - self.key_size..column.range().end - self.key_size
    }

    pub(super) fn not_packed(&self, fault: PackedFault) -> Error {
        Error::NotPacked { table: self.name.clone(), fault }
    }

    fn no_column(&self, column: impl Into<String>) -> Error {
        Error::NoColumn { table: self.name.clone(), column: column.into() }
    }

    /// Returns the error that a column of the key cannot be set by itself.
    pub(crate) fn key_column(&self, column: &Column) -> Error {
        Error::KeyColumn { table: self.name.clone(), column: column.name.clone() }
    }

    /// Refuses bytes whose number is not the expected one.
    #[inline(always)]
    pub(crate) fn expect_size(
        &self,
        part: PackedPart,
        size_bytes: usize,
        expected_bytes: usize,
    ) -> Result<()> {
        if size_bytes == expected_bytes {
            Ok(())
        } else {
            self.wrong_size(part, size_bytes, expected_bytes)
        }
    }

    #[cold]
    fn wrong_size(&self, part: PackedPart, size_bytes: usize, expected_bytes: usize) -> Result<()> {
        Err(self.not_packed(PackedFault::Size { part, expected_bytes, size_bytes }))
    }
}

/// Returns the column of a handle.
impl Index<ColumnId> for Schema {
    type Output = Column;

    /// # Panics
    /// If the handle is of a schema with more columns.
    fn index(&self, column: ColumnId) -> &Column {
        &self.columns[column.0]
    }
}

impl Builder {
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

    /// Finishes the schema.
    ///
    /// # Errors
    /// `InvalidSchema` when there is no key; when a name occurs twice, or has more than
    /// [`MOST_NAME_BYTES`](crate::MOST_NAME_BYTES); when keys, columns or the fixed parts of
    /// records can be too long.
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
