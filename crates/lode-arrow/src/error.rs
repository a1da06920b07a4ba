//! The errors of this crate.

use std::io;

use arrow_schema::{ArrowError, DataType};
use lode::Type;
use parquet::errors::ParquetError;

/// The result of an operation that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a table cannot be read or written as record batches, or a file of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine refuses.
    #[error(transparent)]
    Lode(#[from] lode::Error),
    /// A failure to read or write a file.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file whose content is not what its format says.
    #[error("{0}")]
    Format(Box<str>),
    /// A folder whose files are not those of a table.
    #[error("{0}")]
    NotATable(Box<str>),
    /// A column of text with bytes that are not UTF-8, which Arrow does not have.
    #[error("column {column} has text that is no UTF-8; `lode dump` writes it as hex")]
    NotText {
        /// The column.
        column: Box<str>,
    },
    /// Keys whose records have more bytes than a batch can have.
    #[error("the records of {keys} keys do not fit in one batch; look up fewer at a time")]
    TooManyKeys {
        /// The number of keys.
        keys: usize,
    },
    /// A needed column that is missing.
    #[error("there is no column {column}, which cannot be null; columns are {columns}")]
    NoColumn {
        /// The column.
        column: Box<str>,
        /// The present columns.
        columns: Box<str>,
    },
    /// A wanted column that the file does not have.
    #[error("there is no column {column}; columns are {columns}")]
    NotInFile {
        /// The column.
        column: Box<str>,
        /// The present columns.
        columns: Box<str>,
    },
    /// A column that the table does not have.
    #[error("column {column} is none of table {table}, whose columns are {columns}")]
    ExtraColumn {
        /// The column.
        column: Box<str>,
        /// The table.
        table: Box<str>,
        /// The columns of the table.
        columns: Box<str>,
    },
    /// Values of an Arrow type cannot go into a column of a type of Lode.
    #[error("column {column}: {found} does not fit {kind}")]
    TypeMisfit {
        /// The column.
        column: Box<str>,
        /// The Arrow type.
        found: Box<DataType>,
        /// The type of Lode.
        kind: Type,
    },
    /// An Arrow type whose values no type of Lode holds.
    #[error("column {column}: no type of Lode holds {found}")]
    NoType {
        /// The column.
        column: Box<str>,
        /// The Arrow type.
        found: Box<DataType>,
    },
    /// A value that does not fit its column.
    #[error("row {row}: column {column} ({kind}) cannot hold {value}")]
    ValueMisfit {
        /// The row, counted from 1.
        row: u64,
        /// The column.
        column: Box<str>,
        /// The column's type.
        kind: Type,
        /// The value.
        value: Box<str>,
    },
    /// A row that is not a valid record of the table.
    #[error("row {row}: {source}")]
    Row {
        /// The row, counted from 1.
        row: u64,
        /// The reason.
        source: lode::Error,
    },
    /// A line of a CSV file is wrong.
    #[error("line {line}: {why}")]
    Line {
        /// The line, counted from 1.
        line: u64,
        /// The fault of the line.
        why: Box<str>,
    },
    /// A row whose key a record has already.
    #[error("row {row}: there is a record with this key already")]
    KeyIsThere {
        /// The row, counted from 1.
        row: u64,
    },
    /// A compression that a format does not have.
    #[error("{format} has no compression {compression}")]
    NoCompression {
        /// The format.
        format: &'static str,
        /// The compression.
        compression: &'static str,
    },
    /// A file of CSV without its columns' types.
    #[error("a CSV file does not name the types of its columns; give a schema")]
    NeedsSchema,
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::IoError(_, error) => Self::Io(error),
            ArrowError::ExternalError(error) => Self::Format(error.to_string().into()),
            ArrowError::ParquetError(why)
            | ArrowError::IpcError(why)
            | ArrowError::ParseError(why) => Self::Format(why.into()),
            other => Self::Format(other.to_string().into()),
        }
    }
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(error) => Self::Io(*error),
                Err(other) => Self::Format(other.to_string().into()),
            },
            ParquetError::General(why) | ParquetError::EOF(why) | ParquetError::NYI(why) => {
                Self::Format(why.into())
            }
            other => Self::Format(other.to_string().into()),
        }
    }
}
