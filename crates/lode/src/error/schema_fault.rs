//! Faults of a schema.

/// The fault of a schema.
///
/// ```
/// use lode::{Error, Schema, SchemaFault, Type};
///
/// let schema = Schema::build("t").key("id", Type::U8).column("id", Type::U16).finish();
/// let fault = SchemaFault::SameName { column: "id".into() };
/// assert_eq!(schema, Err(Error::InvalidSchema { table: "t".into(), fault }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// The table has no name.
    #[error("a table needs a name")]
    NoName,
    /// A secondary index has no name.
    #[error("an index needs a name")]
    IndexWithoutName,
    /// A secondary index has no columns.
    #[error("an index needs a column")]
    IndexWithoutColumns,
    /// The name of the table is too long.
    #[error("its name has {size_bytes} bytes; the most is {most_bytes}")]
    TableNameTooLong {
        /// The most bytes of a name.
        most_bytes: usize,
        /// The bytes of this name.
        size_bytes: usize,
    },
    /// The name of a column is too long.
    #[error("the name of column {column} has {size_bytes} bytes; the most is {most_bytes}")]
    ColumnNameTooLong {
        /// The start of its name.
        column: String,
        /// The most bytes of a name.
        most_bytes: usize,
        /// The bytes of this name.
        size_bytes: usize,
    },
    /// The schema has no column of the key.
    #[error("it has no key; begin with a key column")]
    NoKey,
    /// A column of the key comes after another one.
    #[error("key column {column} comes after other columns; put it first")]
    KeyComesLate {
        /// The column.
        column: String,
    },
    /// Two columns have the same name.
    #[error("there are two columns {column}")]
    SameName {
        /// The name of both.
        column: String,
    },
    /// Records are to expire by a column that is missing, of the key, or no timestamp.
    #[error("records cannot expire by {column}; that takes a timestamp column after the key")]
    ExpiresByNone {
        /// The name of the column.
        column: String,
    },
    /// Records are to expire by two columns.
    #[error("records expire by one column; {column} is a second one")]
    ExpiresTwice {
        /// The name of the second column.
        column: String,
    },
    /// A text or bytes column has room for no byte.
    #[error("column {column} has no bytes")]
    Empty {
        /// The column.
        column: String,
    },
    /// A decimal has no digits, too many, or more after the point than in all.
    #[error(
        "column {column} is a decimal of 1 to {} digits, at most all of them after the point",
        crate::decimal::MOST_DECIMAL_DIGITS
    )]
    Digits {
        /// The column.
        column: String,
    },
    /// A column can have too many bytes.
    #[error("column {column} can have at most {most_bytes} bytes")]
    ColumnTooLong {
        /// The column.
        column: String,
        /// The most bytes of a column.
        most_bytes: usize,
    },
    /// The columns of fixed length have too many bytes together.
    #[error("records can have at most {most_bytes} bytes beside those of variable length")]
    FixedPartTooLong {
        /// The most bytes.
        most_bytes: usize,
    },
    /// The columns of the key can have too many bytes together.
    #[error("keys can have at most {most_bytes} bytes{}", lengths(*is_variable))]
    KeyTooLong {
        /// The most bytes.
        most_bytes: usize,
        /// True if columns of the key are of variable length. Each of them takes two bytes more.
        is_variable: bool,
    },
}

fn lengths(is_variable: bool) -> &'static str {
    if is_variable { ", two of them for each column of variable length" } else { "" }
}
