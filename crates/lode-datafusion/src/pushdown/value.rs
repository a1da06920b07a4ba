//! Values that keys are compared with.

use std::fmt;

use datafusion::common::ScalarValue;
use lode::{Type, Value};

/// A value of a column of the key. Values of one column sort as Lode orders them.
///
/// Floats are not among them: to DataFusion a comparison may hold both zeros for one, and Lode
/// orders them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyValue {
    Unsigned(u64),
    Signed(i64),
    Bool(bool),
    /// Microseconds since the start of 1970.
    Timestamp(i64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
}

impl KeyValue {
    /// Turns a value of DataFusion into one of a column; `None` if the column cannot have it, or if
    /// the value is of another Arrow type than the column.
    pub(crate) fn of(scalar: &ScalarValue, kind: Type) -> Option<Self> {
        use ScalarValue as S;
        Some(match (kind, scalar) {
            (Type::U8, S::UInt8(Some(number))) => Self::Unsigned((*number).into()),
            (Type::U16, S::UInt16(Some(number))) => Self::Unsigned((*number).into()),
            (Type::U32, S::UInt32(Some(number))) => Self::Unsigned((*number).into()),
            (Type::U64, S::UInt64(Some(number))) => Self::Unsigned(*number),
            (Type::I8, S::Int8(Some(number))) => Self::Signed((*number).into()),
            (Type::I16, S::Int16(Some(number))) => Self::Signed((*number).into()),
            (Type::I32, S::Int32(Some(number))) => Self::Signed((*number).into()),
            (Type::I64, S::Int64(Some(number))) => Self::Signed(*number),
            (Type::Bool, S::Boolean(Some(truth))) => Self::Bool(*truth),
            // Moments in time, in whatever zone they are shown.
            (Type::Timestamp, S::TimestampMicrosecond(Some(time_us), Some(_))) => {
                Self::Timestamp(*time_us)
            }
            (
                Type::Text(most) | Type::VarText(most),
                S::Utf8(Some(text)) | S::LargeUtf8(Some(text)) | S::Utf8View(Some(text)),
            ) => {
                // A text of fixed size ends before the zeros that fill its cell.
                let is_padded = matches!(kind, Type::Text(_)) && text.ends_with('\0');
                let fits = text.len() <= most as usize && !is_padded;
                fits.then(|| Self::Text(text.as_str().into()))?
            }
            (Type::Bytes(size), S::FixedSizeBinary(_, Some(bytes)) | S::Binary(Some(bytes))) => {
                (bytes.len() == size as usize).then(|| Self::Bytes(bytes.as_slice().into()))?
            }
            (
                Type::VarBytes(most),
                S::Binary(Some(bytes)) | S::LargeBinary(Some(bytes)) | S::BinaryView(Some(bytes)),
            ) => (bytes.len() <= most as usize).then(|| Self::Bytes(bytes.as_slice().into()))?,
            _ => return None,
        })
    }

    /// Returns the value as Lode packs it.
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Self::Unsigned(number) => Value::Unsigned(*number),
            Self::Signed(number) => Value::Signed(*number),
            Self::Bool(truth) => Value::Bool(*truth),
            Self::Timestamp(time_us) => Value::Timestamp(*time_us),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(number) => write!(f, "{number}"),
            Self::Signed(number) | Self::Timestamp(number) => write!(f, "{number}"),
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Text(text) => write!(f, "'{}'", text.escape_debug()),
            Self::Bytes(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))?;
                f.write_str("'")
            }
        }
    }
}
