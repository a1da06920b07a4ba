//! Records as structs: how a struct becomes a packed record and back, and tables of them.
//!
//! [`Record`] says what the columns of a struct are; the derive macro of the same name writes it.
//! [`Records`] is a handle of a table whose schema is that of the struct.

mod by_index;
mod cursor;
mod handle;
mod same;

pub use by_index::{RecordIndexCursor, RecordsByIndex};
pub use cursor::RecordCursor;
pub use handle::{Records, RecordsAt, RecordsWithin};
pub(super) use same::expect_same;

use crate::error::{Error, Result};
use crate::schema::{IndexSchema, RowRef, Schema};

/// A struct whose values are the records of a table.
///
/// `#[derive(Record)]` implements it (with the feature `derive`, which is on by default). Fields
/// marked with `#[record(key)]` are the key, and come first.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use lode::{Database, KeyKind, Record};
///
/// #[derive(Record, Debug, PartialEq)]
/// #[record(table = "cities")]
/// struct City {
///     #[record(key, text = 2)]
///     country: String,
///     #[record(key, text = 32)]
///     name: String,
///     people: u64,
///     #[record(text = 48)]
///     mayor: Option<String>,
/// }
///
/// let db = Database::in_memory()?;
/// let cities = db.create_records::<City>(KeyKind::Tree)?;
/// cities.insert(&City {
///     country: "CH".into(),
///     name: "Bern".into(),
///     people: 134_591,
///     mayor: None,
/// })?;
///
/// cities.change(("CH", "Bern"), |bern| bern.people += 9)?;
/// let bern = cities.get(("CH", "Bern"))?.expect("it was inserted");
/// assert_eq!((bern.people, bern.mayor), (134_600, None));
/// # }
/// # Ok::<(), lode::Error>(())
/// ```
pub trait Record: Sized {
    /// A key: the type of the key field, or a tuple of those of all of them; `&str` for text,
    /// references to arrays for bytes, and the numbers themselves.
    type Key<'k>: Copy;

    /// Returns the columns, and the name of the table.
    ///
    /// # Errors
    /// `InvalidSchema` when records or keys are too long, or two columns have the same name.
    fn schema() -> Result<Schema>;

    /// Returns the secondary indexes of the table: none, unless fields or the struct say so.
    fn indexes() -> Vec<IndexSchema> {
        Vec::new()
    }

    /// Returns the key of this record.
    fn key(&self) -> Self::Key<'_>;

    /// Packs the record; the schema is [that](Self::schema) of the struct.
    ///
    /// # Errors
    /// `ValueTooLong` or `KeyTooLong` when a text or bytes are too long for their column;
    /// `ValueMisfit` when a text with a fixed place ends with a zero byte; `RecordTooLong`.
    fn pack(&self, schema: &Schema) -> Result<Vec<u8>>;

    /// Packs a key; the schema is [that](Self::schema) of the struct.
    ///
    /// # Errors
    /// As [`pack`](Self::pack).
    fn pack_key(key: Self::Key<'_>, schema: &Schema) -> Result<Vec<u8>>;

    /// Unpacks a struct from a packed record with [the schema](Self::schema) of the struct.
    ///
    /// # Errors
    /// `FieldMisfit` when a column has no value that its field can have: text that is not UTF-8, in
    /// a record that was packed by hand.
    fn unpack(row: RowRef<'_>) -> Result<Self>;
}

/// Returns the error that the field of a column cannot have the value in a row: for derived code.
#[doc(hidden)]
pub fn misfit(row: RowRef<'_>, column: usize) -> Error {
    let column = &row.schema().columns()[column];
    let table = row.schema().name().into();
    let value = row.at(column.id()).shown().into();
    Error::FieldMisfit { table, column: column.name.clone(), value }
}
