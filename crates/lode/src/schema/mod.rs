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

mod builder;
mod entries;
mod expiry;
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
pub use builder::Builder;
pub(crate) use entries::{Entries, Entry};
pub use index_schema::IndexSchema;
pub use pack::Packer;
pub use row::{RowRef, Value};

use std::ops::Index;

use crate::error::{Error, PackedFault, PackedPart, Result};

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
    /// The column that says when a record expires.
    expires: Option<ColumnId>,
}

impl Schema {
    /// Starts a schema for a table of that name.
    pub fn build(name: &str) -> Builder {
        Builder::new(name)
    }

    /// Returns the table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a schema with these columns and another name.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        Self { name: name.into(), ..self.clone() }
    }

    /// Returns true if all records of a table with another schema are records of one with this as
    /// they are: columns have other names at most, or those after the key are of variable length
    /// and may be longer. (A node of a tree has room for the longest key.)
    pub(crate) fn suits_records_of(&self, other: &Self) -> bool {
        let suits = |(own, other): (&Column, &Column)| {
            let is_same = own.kind == other.kind;
            let suits = is_same || !self.is_of_key(own) && own.kind.suits_values_of(other.kind);
            suits && own.nullable == other.nullable
        };
        let are_as_many = self.columns.len() == other.columns.len();
        let are_keys = self.key_columns == other.key_columns;
        let is_suited = are_as_many
            && are_keys
            && self.expires == other.expires
            && self.columns.iter().zip(&other.columns).all(suits);
        debug_assert!(
            !is_suited || self.record_size == other.record_size && self.variable == other.variable,
            "columns are in their places"
        );
        is_suited
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
