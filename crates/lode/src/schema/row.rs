//! Rows: packed records read as values.

use std::fmt;

use super::{Column, ColumnId, Schema, Type};
use crate::decimal::Decimal;
use crate::error::Result;

/// A value of a column.
///
/// ```
/// use lode::{Schema, Type, Value};
///
/// let schema = Schema::build("user").key("id", Type::U32).nullable("name", Type::VarText(99));
/// let schema = schema.finish()?;
/// let record = schema.pack(&[Value::Unsigned(7), Value::Text("Ada")])?;
/// let said = match schema.row(&record)?.get("name") {
///     Some(Value::Text(name)) => format!("it is {name}"),
///     Some(Value::Null) => "it has no name".into(),
///     other => unreachable!("the column is of text: {other:?}"),
/// };
/// assert_eq!(said, "it is Ada");
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'v> {
    /// No value.
    Null,
    /// A value of the unsigned integer types.
    Unsigned(u64),
    /// A value of the signed integer types.
    Signed(i64),
    /// A value of the float types.
    Float(f64),
    /// A value of `Bool`.
    Bool(bool),
    /// A value of `Timestamp`.
    Timestamp(i64),
    /// A value of `Text` and `VarText`.
    Text(&'v str),
    /// A value of `Bytes` and `VarBytes`; also of text that is not UTF-8.
    Bytes(&'v [u8]),
    /// A value of `Decimal`.
    Decimal(Decimal),
}

/// The most bytes of a value that an error shows.
const MOST_SHOWN: usize = 64;

impl Value<'_> {
    /// Returns the bytes of a text, or of bytes; 0 for others.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            _ => 0,
        }
    }

    /// Returns the value for an error: of a long one, the start.
    pub(crate) fn shown(&self) -> String {
        let size = self.size();
        let start = match *self {
            value if size <= MOST_SHOWN => return value.to_string(),
            Self::Text(text) => Self::Text(&text[..text.floor_char_boundary(MOST_SHOWN)]),
            Self::Bytes(bytes) => Self::Bytes(&bytes[..MOST_SHOWN]),
            other => other,
        };
        format!("{start}… of {size} bytes")
    }
}

/// Writes a value as a person would: text in quotes, bytes as `0x` and hexadecimal digits, a
/// timestamp in microseconds since 1970.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Unsigned(number) => number.fmt(f),
            Self::Signed(number) | Self::Timestamp(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Bool(is_so) => is_so.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Decimal(number) => number.fmt(f),
        }
    }
}

impl Schema {
    /// Reads a packed record as a row, to look at its values.
    ///
    /// # Errors
    /// `NotPacked` when `record` has more or fewer bytes than a record; also when its columns of
    /// variable length do not end where they should; `ValueTooLong`, `KeyTooLong`, `RecordTooLong`.
    pub fn row<'r>(&'r self, record: &'r [u8]) -> Result<RowRef<'r>> {
        self.expect_record(record)?;
        Ok(self.row_of(record, None))
    }

    /// Returns a row of these columns, or of all; `bytes` is such a row.
    pub(crate) fn row_of<'r>(
        &'r self,
        bytes: &'r [u8],
        columns: Option<&'r [ColumnId]>,
    ) -> RowRef<'r> {
        let parts = match columns {
            None => Parts::Record { key_size: self.front_of(bytes) },
            Some(columns) => Parts::Cells(columns),
        };
        RowRef { schema: self, bytes, parts }
    }

    /// Returns the values of a packed key, or of that of a packed record, as text.
    pub(crate) fn shown_key(&self, key: &[u8]) -> String {
        let row = self.row_of(key, None);
        let columns = self.columns()[..self.key_columns()].iter();
        columns.map(|column| row.at(column.id()).shown()).collect::<Vec<_>>().join(", ")
    }

    /// Returns true if all of these columns are of the key.
    pub(crate) fn are_of_key(&self, columns: &[ColumnId]) -> bool {
        columns.iter().all(|at| at.index() < self.key_columns())
    }

    /// Appends the cells of some columns of a record, as
    /// [`Cursor::columns`](crate::Cursor::columns) describes them. For columns of the key, the key
    /// alone is enough of a record.
    pub(crate) fn append_cells(&self, record: &[u8], columns: &[ColumnId], row: &mut Vec<u8>) {
        let key_size = self.front_of(record);
        for at in columns {
            let column = &self.columns[at.index()];
            let bytes = self.bytes_after(record, key_size, column);
            if column.kind.is_variable() {
                row.extend((bytes.len() as u32).to_le_bytes());
            }
            row.extend_from_slice(bytes);
            if let Some((at, mask)) = self.null_bit(column) {
                row.push(u8::from(record[key_size + at] & mask != 0));
            }
        }
    }
}

/// Bytes of the length before a value of variable length in a cell.
const LENGTH_BYTES: usize = 4;

/// A record, or some columns of one, with their schema. It borrows their bytes: see
/// [`Row`](crate::Row) for one that owns them.
///
/// ```
/// use lode::{Schema, Type, Value};
///
/// let schema = Schema::build("city").key("name", Type::Text(32)).column("people", Type::U64);
/// let schema = schema.finish()?;
/// let record = schema.pack(&[Value::Text("Bern"), Value::Unsigned(134_591)])?;
/// let row = schema.row(&record)?;
/// assert_eq!(row.get("people"), Some(Value::Unsigned(134_591)));
/// assert_eq!(row.at(schema.column("name")?), Value::Text("Bern"));
/// assert_eq!(row.get("mayor"), None);
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RowRef<'r> {
    schema: &'r Schema,
    bytes: &'r [u8],
    parts: Parts<'r>,
}

/// The meaning of the bytes of a row.
#[derive(Clone, Copy, Debug)]
enum Parts<'r> {
    /// A packed record, whose key has `key_size` bytes.
    Record { key_size: usize },
    /// The cells of these columns, one after another.
    Cells(&'r [ColumnId]),
}

impl<'r> RowRef<'r> {
    /// Returns the schema of the table.
    pub fn schema(&self) -> &'r Schema {
        self.schema
    }

    /// Returns the bytes: the packed record, or the cells of the columns that a cursor reads.
    pub fn bytes(&self) -> &'r [u8] {
        self.bytes
    }

    /// Returns the packed key.
    ///
    /// # Panics
    /// If the row has only some columns.
    pub fn key(&self) -> &'r [u8] {
        &self.bytes[..self.key_size()]
    }

    /// Returns the payload of the packed record.
    ///
    /// # Panics
    /// If the row has only some columns.
    pub fn payload(&self) -> &'r [u8] {
        &self.bytes[self.key_size()..]
    }

    fn key_size(&self) -> usize {
        match self.parts {
            Parts::Record { key_size } => key_size,
            Parts::Cells(_) => panic!("the row has only some columns of its record"),
        }
    }

    /// Returns the value of a column by its name; `None` if the row has no such column.
    pub fn get(&self, name: &str) -> Option<Value<'r>> {
        self.value(self.schema.column(name).ok()?)
    }

    /// Returns the value of a column.
    ///
    /// # Panics
    /// If the row has no such column.
    #[inline]
    pub fn at(&self, column: ColumnId) -> Value<'r> {
        self.value(column).unwrap_or_else(|| self.has_no_column(column))
    }

    /// Returns the bytes of a column, `None` if it is null: of a number little-endian, of a text of
    /// fixed length without the zeros after it (which [`Schema::bytes_of`] has). They are not
    /// checked, so a text may be other than UTF-8.
    ///
    /// ```
    /// use lode::{Schema, Type, Value};
    ///
    /// let schema = Schema::build("user").key("id", Type::U16).column("name", Type::Text(8));
    /// let schema = schema.nullable("mail", Type::VarText(99)).finish()?;
    /// let record = schema.pack(&[Value::Unsigned(7), Value::Text("Ada"), Value::Null])?;
    /// let row = schema.row(&record)?;
    /// let bytes = |name| Ok::<_, lode::Error>(row.bytes_at(schema.column(name)?));
    /// assert_eq!(bytes("id")?, Some(&[7, 0][..]));
    /// assert_eq!(bytes("name")?, Some(&b"Ada"[..]));
    /// assert_eq!(bytes("mail")?, None);
    /// # Ok::<(), lode::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the row has no such column.
    #[inline]
    pub fn bytes_at(&self, column: ColumnId) -> Option<&'r [u8]> {
        let Some((column, cell)) = self.cell(column) else { self.has_no_column(column) };
        cell.map(|cell| match column.kind {
            Type::Text(_) => without_zeros(cell),
            _ => cell,
        })
    }

    #[cold]
    fn has_no_column(&self, column: ColumnId) -> ! {
        panic!("the row has no column {}", column.index())
    }

    #[inline]
    fn value(&self, at: ColumnId) -> Option<Value<'r>> {
        let (column, cell) = self.cell(at)?;
        Some(cell.map_or(Value::Null, |cell| column.kind.value(cell)))
    }

    /// Returns a column and its cell, if it is not null; `None` if the row has no such column.
    #[inline]
    fn cell(&self, at: ColumnId) -> Option<(&'r Column, Option<&'r [u8]>)> {
        let column = self.schema.columns().get(at.index())?;
        let cell = match self.parts {
            Parts::Record { key_size } => {
                let bit = self.schema.null_bit(column);
                if bit.is_some_and(|(at, mask)| self.bytes[key_size + at] & mask != 0) {
                    None
                } else {
                    Some(self.schema.bytes_after(self.bytes, key_size, column))
                }
            }
            Parts::Cells(columns) => self.cell_among(columns, at)?,
        };
        Some((column, cell))
    }

    /// Finds the cell of a column among those of `columns`.
    fn cell_among(&self, columns: &[ColumnId], wanted: ColumnId) -> Option<Option<&'r [u8]>> {
        let mut rest = self.bytes;
        for at in columns {
            let column = &self.schema.columns()[at.index()];
            let size = if column.kind.is_variable() {
                let (length, after) = rest.split_first_chunk::<LENGTH_BYTES>()?;
                rest = after;
                u32::from_le_bytes(*length) as usize
            } else {
                column.kind.size_bytes()
            };
            let (cell, after) = rest.split_at_checked(size)?;
            let (null, after) = after.split_at_checked(usize::from(column.nullable))?;
            if *at == wanted {
                return Some(if null == [1] { None } else { Some(cell) });
            }
            rest = after;
        }
        None
    }
}

impl Type {
    /// Returns the value of a whole cell.
    #[inline]
    fn value(self, cell: &[u8]) -> Value<'_> {
        match self {
            Self::U8 => Value::Unsigned(u8::from_le_bytes(number(cell)).into()),
            Self::U16 => Value::Unsigned(u16::from_le_bytes(number(cell)).into()),
            Self::U32 => Value::Unsigned(u32::from_le_bytes(number(cell)).into()),
            Self::U64 => Value::Unsigned(u64::from_le_bytes(number(cell))),
            Self::I8 => Value::Signed(i8::from_le_bytes(number(cell)).into()),
            Self::I16 => Value::Signed(i16::from_le_bytes(number(cell)).into()),
            Self::I32 => Value::Signed(i32::from_le_bytes(number(cell)).into()),
            Self::I64 => Value::Signed(i64::from_le_bytes(number(cell))),
            Self::Timestamp => Value::Timestamp(i64::from_le_bytes(number(cell))),
            Self::F32 => Value::Float(f32::from_le_bytes(number(cell)).into()),
            Self::F64 => Value::Float(f64::from_le_bytes(number(cell))),
            Self::Bool => Value::Bool(cell[0] != 0),
            Self::Text(_) => text_or_bytes(without_zeros(cell)),
            Self::VarText(_) => text_or_bytes(cell),
            Self::Bytes(_) | Self::VarBytes(_) => Value::Bytes(cell),
            Self::Decimal { scale, .. } => Value::Decimal(Decimal::of_parts(unscaled(cell), scale)),
        }
    }
}

/// Returns the bytes of a number.
#[inline]
fn number<const SIZE: usize>(cell: &[u8]) -> [u8; SIZE] {
    *cell.first_chunk().expect("the cell of a number is whole")
}

/// Returns the unscaled value in the cell of a decimal, which has 8 or 16 bytes.
fn unscaled(cell: &[u8]) -> i128 {
    match cell.first_chunk() {
        Some(wide) => i128::from_le_bytes(*wide),
        None => i64::from_le_bytes(number(cell)).into(),
    }
}

/// Returns a text of fixed length without the zeros after it.
fn without_zeros(cell: &[u8]) -> &[u8] {
    let end = cell.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &cell[..end]
}

/// Returns a text, or bytes that are not UTF-8, which a caller that packs records may put there.
fn text_or_bytes(bytes: &[u8]) -> Value<'_> {
    str::from_utf8(bytes).map_or(Value::Bytes(bytes), Value::Text)
}
