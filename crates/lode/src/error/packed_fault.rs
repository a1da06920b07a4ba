//! Faults of packed bytes.

/// The fault of bytes that should be a packed key, record, payload or column.
///
/// ```
/// use lode::{Error, PackedFault, PackedPart, Schema, Type};
///
/// let schema = Schema::build("t").key("id", Type::U8).column("n", Type::U16).finish()?;
/// let fault =
///     PackedFault::Size { part: PackedPart::Record, expected_bytes: 3, size_bytes: 4 };
/// let refused = schema.row(&[0; 4]).expect_err("it has a byte too many");
/// assert_eq!(refused, Error::NotPacked { table: "t".into(), fault });
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackedFault {
    /// The number of bytes is not that of the part.
    #[error("a packed {part} has {expected_bytes} bytes, not {size_bytes}")]
    Size {
        /// The part that the bytes should be.
        part: PackedPart,
        /// The bytes that each has.
        expected_bytes: usize,
        /// The bytes that were passed.
        size_bytes: usize,
    },
    /// The bytes are fewer than those of the fixed part of a record or payload.
    #[error("a packed {part} has at least {least_bytes} bytes, not {size_bytes}")]
    TooShort {
        /// The part that the bytes should be.
        part: PackedPart,
        /// The fewest bytes that one has.
        least_bytes: usize,
        /// The bytes that were passed.
        size_bytes: usize,
    },
    /// The bytes end before a key of variable length does.
    #[error("a packed key is longer than these {size_bytes} bytes")]
    KeyCutOff {
        /// The bytes that were passed.
        size_bytes: usize,
    },
    /// The bytes are no whole number of keys.
    #[error("packed keys have {key_bytes} bytes each")]
    KeysCutOff {
        /// The bytes of a key.
        key_bytes: usize,
    },
    /// A column of variable length ends before its start.
    #[error("column {column} ends before it begins")]
    EndsBeforeItBegins {
        /// The column.
        column: Box<str>,
    },
    /// The columns of variable length end elsewhere than the record or payload does.
    #[error(
        "the columns of variable length have {columns_bytes} bytes, and the {part} has \
         {room_bytes} for them"
    )]
    Lengths {
        /// The part that the bytes should be.
        part: PackedPart,
        /// The bytes of the columns, as they say.
        columns_bytes: usize,
        /// The bytes after the fixed part.
        room_bytes: usize,
    },
}

/// A part that packed bytes can be.
///
/// ```
/// assert_eq!(lode::PackedPart::Payload.to_string(), "payload");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackedPart {
    /// A primary key.
    Key,
    /// A record.
    Record,
    /// A record without its key.
    Payload,
    /// The bytes of one column.
    Column,
}

impl std::fmt::Display for PackedPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Key => "key",
            Self::Record => "record",
            Self::Payload => "payload",
            Self::Column => "column",
        })
    }
}
