//! The types of columns, and single values in their packed form.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Unsigned, 1 byte.
    U8,
    /// Unsigned, 2 bytes.
    U16,
    /// Unsigned, 4 bytes.
    U32,
    /// Unsigned, 8 bytes.
    U64,
    /// Signed, 4 bytes.
    I32,
    /// Signed, 8 bytes.
    I64,
    /// IEEE 754, 8 bytes.
    F64,
    /// UTF-8 text of at most this number of bytes, filled up with zero bytes.
    Text(u32),
    /// Exactly this number of bytes.
    Bytes(u32),
    /// At most this number of bytes, with their length (4 bytes) before them. Only the last column
    /// can have this type.
    VarBytes(u32),
}

/// Bytes of the number before a value of variable length.
pub const LENGTH_SIZE: usize = 4;

impl ColumnType {
    /// Returns the bytes that a value takes in a packed record.
    pub fn size_bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::I32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
            Self::Text(size) | Self::Bytes(size) => size as usize,
            Self::VarBytes(most) => LENGTH_SIZE + most as usize,
        }
    }

    /// Returns the meaningful bytes of a value's packed form: all, or those up to its end.
    pub fn used_bytes(self, value: &[u8]) -> usize {
        match self {
            Self::VarBytes(_) => LENGTH_SIZE + var_bytes(value).len(),
            fixed => fixed.size_bytes(),
        }
    }

    pub(super) fn align_bytes(self) -> usize {
        match self {
            Self::Text(_) | Self::Bytes(_) => 1,
            Self::VarBytes(_) => LENGTH_SIZE,
            number => number.size_bytes(),
        }
    }
}

/// Writes the type as the marker of a store names it: the texts must never change.
impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U8 => f.write_str("U8"),
            Self::U16 => f.write_str("U16"),
            Self::U32 => f.write_str("U32"),
            Self::U64 => f.write_str("U64"),
            Self::I32 => f.write_str("I32"),
            Self::I64 => f.write_str("I64"),
            Self::F64 => f.write_str("F64"),
            Self::Text(most) => write!(f, "Text({most})"),
            Self::Bytes(size) => write!(f, "Bytes({size})"),
            Self::VarBytes(most) => write!(f, "VarBytes({most})"),
        }
    }
}

/// One value of a record, for code that treats columns one by one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'r> {
    /// Any unsigned integer.
    Unsigned(u64),
    /// Any signed integer.
    Signed(i64),
    /// A float.
    Float(f64),
    /// Text without its filling.
    Text(&'r [u8]),
    /// Bytes.
    Bytes(&'r [u8]),
}

impl<'r> Value<'r> {
    /// Reads a value of type `kind` from its packed bytes.
    pub fn read(kind: ColumnType, bytes: &'r [u8]) -> Self {
        match kind {
            ColumnType::U8 => Self::Unsigned(u64::from(bytes[0])),
            ColumnType::U16 => Self::Unsigned(u64::from(u16::from_le_bytes(array(bytes)))),
            ColumnType::U32 => Self::Unsigned(u64::from(u32::from_le_bytes(array(bytes)))),
            ColumnType::U64 => Self::Unsigned(u64::from_le_bytes(array(bytes))),
            ColumnType::I32 => Self::Signed(i64::from(i32::from_le_bytes(array(bytes)))),
            ColumnType::I64 => Self::Signed(i64::from_le_bytes(array(bytes))),
            ColumnType::F64 => Self::Float(f64::from_le_bytes(array(bytes))),
            ColumnType::Text(_) => {
                let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
                Self::Text(&bytes[..end])
            }
            ColumnType::Bytes(_) => Self::Bytes(bytes),
            ColumnType::VarBytes(_) => Self::Bytes(var_bytes(bytes)),
        }
    }
}

/// Returns the value in a slot of variable length; one whose length is impossible is empty.
pub fn var_bytes(slot: &[u8]) -> &[u8] {
    let len = u32::from_le_bytes(array(slot)) as usize;
    slot[LENGTH_SIZE..].get(..len).unwrap_or_default()
}

pub(super) fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("a column's slice has its type's size")
}

/// Writes an integer that an engine returned into a column's packed bytes.
pub fn write_integer(kind: ColumnType, value: i64, bytes: &mut [u8]) {
    let size = kind.size_bytes();
    bytes[..size].copy_from_slice(&value.to_le_bytes()[..size]);
}

/// Writes text or bytes that an engine returned into a column's packed bytes. A value that is too
/// long is cut (the check of the result finds that).
pub fn write_bytes(kind: ColumnType, value: &[u8], bytes: &mut [u8]) {
    let (length, bytes) = match kind {
        ColumnType::VarBytes(_) => bytes.split_at_mut(LENGTH_SIZE),
        _ => (&mut [] as &mut [u8], bytes),
    };
    let len = value.len().min(bytes.len());
    if !length.is_empty() {
        length.copy_from_slice(&(len as u32).to_le_bytes());
    }
    bytes[..len].copy_from_slice(&value[..len]);
    // What is behind a value with a length is not part of it.
    if length.is_empty() {
        bytes[len..].fill(0);
    }
}

/// Returns a value as messages show it.
pub(super) fn shortened(value: Value<'_>) -> String {
    const SHOWN: usize = 16;
    match value {
        Value::Text(bytes) | Value::Bytes(bytes) if bytes.len() > SHOWN => {
            format!("{} bytes beginning {:02x?}", bytes.len(), &bytes[..SHOWN])
        }
        value => format!("{value:?}"),
    }
}
