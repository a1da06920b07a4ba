//! Rows that own their bytes.

use std::fmt;
use std::sync::Arc;

use crate::schema::{ColumnId, RowRef, Schema, Value};
use crate::table::TableCore;

/// The table and columns that rows have in common.
#[derive(Clone)]
pub(super) struct Shape {
    core: Arc<TableCore>,
    /// The columns of the rows; `None` for all columns.
    columns: Option<Arc<[ColumnId]>>,
}

impl Shape {
    pub(super) fn new(core: Arc<TableCore>, columns: Option<Arc<[ColumnId]>>) -> Self {
        Self { core, columns }
    }

    /// Returns a row of these bytes, to be read.
    pub(super) fn row<'r>(&'r self, bytes: &'r [u8]) -> RowRef<'r> {
        self.core.schema().row_of(bytes, self.columns.as_deref())
    }
}

/// A record, or some columns of one, that was copied out of a table. Later changes of the table do
/// not change it.
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("city").key("id", Type::U32).column("name", Type::VarText(99));
/// let cities = db.create_table(&schema.finish()?, KeyKind::Hash)?;
/// cities.insert(&cities.schema().pack(&[Value::Unsigned(7), Value::Text("Bern")])?)?;
///
/// let row = cities.get(7)?.expect("it was inserted");
/// cities.delete(7)?;
/// assert_eq!(row.get("name"), Some(Value::Text("Bern")));
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone)]
pub struct Row {
    shape: Shape,
    bytes: Vec<u8>,
}

impl Row {
    /// Makes a row of bytes that have this shape.
    pub(super) fn new(shape: Shape, bytes: Vec<u8>) -> Self {
        Self { shape, bytes }
    }

    /// Borrows the row, as a reference that can be copied.
    pub fn as_ref(&self) -> RowRef<'_> {
        self.shape.row(&self.bytes)
    }

    /// Returns the schema of the table.
    pub fn schema(&self) -> &Schema {
        self.shape.core.schema()
    }

    /// Returns the value of a column by its name; `None` if the row has no such column.
    pub fn get(&self, name: &str) -> Option<Value<'_>> {
        self.as_ref().get(name)
    }

    /// Returns the value of a column.
    ///
    /// # Panics
    /// If the row has no such column.
    pub fn at(&self, column: ColumnId) -> Value<'_> {
        self.as_ref().at(column)
    }

    /// Returns the bytes: the packed record, or the cells of the columns that a cursor reads.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bytes, without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Returns the packed key.
    ///
    /// # Panics
    /// If the row has only some columns.
    pub fn key(&self) -> &[u8] {
        self.as_ref().key()
    }

    /// Returns the payload of the packed record.
    ///
    /// # Panics
    /// If the row has only some columns.
    pub fn payload(&self) -> &[u8] {
        self.as_ref().payload()
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for column in self.schema().columns() {
            if let Some(value) = self.get(&column.name) {
                map.entry(&column.name, &value);
            }
        }
        map.finish()
    }
}

impl PartialEq for Row {
    /// Returns true if columns and bytes are equal.
    fn eq(&self, other: &Self) -> bool {
        let columns = |row: &Self| row.shape.columns.clone();
        self.bytes == other.bytes
            && columns(self) == columns(other)
            && self.schema().columns() == other.schema().columns()
    }
}
