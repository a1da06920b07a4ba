//! The types of columns.

use std::fmt;
use std::str::FromStr;

use crate::decimal::{MOST_DECIMAL_DIGITS, MOST_SHORT_DIGITS};

/// The type of a column. Values of all types have a total order, which keys in a tree are in.
///
/// ```
/// use lode::{Schema, Type};
///
/// let schema = Schema::build("all")
///     .key("at", Type::Timestamp)
///     .column("digest", Type::Bytes(32))
///     .column("text", Type::VarText(1_000))
///     .finish()?;
/// assert!(schema.columns().iter().any(|column| column.kind.is_variable()));
/// assert_eq!(schema.record_size(), 8 + 32 + 4);
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// 8 bits, unsigned.
    U8,
    /// 16 bits, unsigned.
    U16,
    /// 32 bits, unsigned.
    U32,
    /// 64 bits, unsigned.
    U64,
    /// 8 bits, signed.
    I8,
    /// 16 bits, signed.
    I16,
    /// 32 bits, signed.
    I32,
    /// 64 bits, signed.
    I64,
    /// 32 bits, IEEE 754; ordered as by `f32::total_cmp`.
    F32,
    /// 64 bits, IEEE 754; ordered as by `f64::total_cmp`.
    F64,
    /// False before true, in a byte.
    Bool,
    /// Microseconds since the start of 1970, signed, in 64 bits.
    Timestamp,
    /// UTF-8 of at most this many bytes, filled up with zeros; ordered bytewise.
    Text(u32),
    /// Exactly this many bytes; ordered bytewise.
    Bytes(u32),
    /// UTF-8 of at most this many bytes, stored in its own length; ordered bytewise.
    VarText(u32),
    /// At most this many bytes; ordered bytewise, a value before those that it is the start of.
    VarBytes(u32),
    /// A [`Decimal`](crate::Decimal) of at most `precision` digits (1 to 38), `scale` of them after
    /// the point (at most `precision`); ordered by value.
    Decimal {
        /// The most digits.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
}

impl Type {
    /// Returns true if the bytes of all values of another type are values of this one.
    pub(crate) fn suits_values_of(self, other: Self) -> bool {
        match (self, other) {
            (Self::VarText(most), Self::VarText(before))
            | (Self::VarBytes(most), Self::VarText(before) | Self::VarBytes(before)) => {
                most >= before
            }
            _ => self == other,
        }
    }

    /// Returns the bytes of a value in the fixed part of a packed record; of a value of variable
    /// length that is not of the key, those of its end.
    pub fn size_bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 | Self::VarText(_) | Self::VarBytes(_) => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::Timestamp => 8,
            Self::Text(size) | Self::Bytes(size) => size as usize,
            Self::Decimal { precision, .. } if precision <= MOST_SHORT_DIGITS => 8,
            Self::Decimal { .. } => 16,
        }
    }

    /// Returns true if a value takes only as many bytes as it has.
    pub fn is_variable(self) -> bool {
        matches!(self, Self::VarText(_) | Self::VarBytes(_))
    }

    /// Checks that a decimal has digits, at most 38, and no more of them after the point.
    pub(crate) fn has_valid_digits(self) -> bool {
        match self {
            Self::Decimal { precision, scale } => {
                (1..=MOST_DECIMAL_DIGITS).contains(&precision) && scale <= precision
            }
            _ => true,
        }
    }

    /// Returns the most bytes of a value.
    pub(crate) fn most_bytes(self) -> usize {
        match self {
            Self::VarText(most) | Self::VarBytes(most) => most as usize,
            fixed => fixed.size_bytes(),
        }
    }
}

/// The types without a size, by their words.
const PLAIN: [(&str, Type); 12] = [
    ("u8", Type::U8),
    ("u16", Type::U16),
    ("u32", Type::U32),
    ("u64", Type::U64),
    ("i8", Type::I8),
    ("i16", Type::I16),
    ("i32", Type::I32),
    ("i64", Type::I64),
    ("f32", Type::F32),
    ("f64", Type::F64),
    ("bool", Type::Bool),
    ("timestamp", Type::Timestamp),
];

/// A function from a size to a type of that size.
type OfSize = fn(u32) -> Type;

/// The types with a size, by their words.
const SIZED: [(&str, OfSize); 4] = [
    ("text", Type::Text),
    ("bytes", Type::Bytes),
    ("vartext", Type::VarText),
    ("varbytes", Type::VarBytes),
];

/// Writes the words for a type: `u64`, `timestamp`, `text(32)`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(size) => write!(f, "text({size})"),
            Self::Bytes(size) => write!(f, "bytes({size})"),
            Self::VarText(most) => write!(f, "vartext({most})"),
            Self::VarBytes(most) => write!(f, "varbytes({most})"),
            Self::Decimal { precision, scale } => write!(f, "decimal({precision},{scale})"),
            plain => {
                let found = PLAIN.iter().find(|(_, kind)| kind == plain);
                f.write_str(found.expect("all other types are plain").0)
            }
        }
    }
}

/// Reads the type of such words.
///
/// ```
/// use lode::Type;
///
/// assert_eq!("vartext(900)".parse(), Ok(Type::VarText(900)));
/// assert_eq!(Type::Timestamp.to_string(), "timestamp");
/// assert_eq!("decimal(12,2)".parse(), Ok(Type::Decimal { precision: 12, scale: 2 }));
/// assert!("text".parse::<Type>().is_err());
/// ```
impl FromStr for Type {
    type Err = UnknownType;

    fn from_str(words: &str) -> Result<Self, UnknownType> {
        if let Some((_, kind)) = PLAIN.iter().find(|(plain, _)| *plain == words) {
            return Ok(*kind);
        }
        let sized = || {
            let (word, size) = words.strip_suffix(')')?.split_once('(')?;
            if word == "decimal" {
                let (precision, scale) = size.split_once(',')?;
                let (precision, scale) =
                    (precision.parse().ok()?, scale.trim_start().parse().ok()?);
                return Some(Type::Decimal { precision, scale });
            }
            let (_, sized) = SIZED.iter().find(|(known, _)| *known == word)?;
            Some(sized(size.parse().ok()?))
        };
        sized().ok_or_else(|| UnknownType { words: words.into() })
    }
}

/// Words that are no type of columns.
///
/// ```
/// let refused = "u65".parse::<lode::Type>().expect_err("there is no such type");
/// assert_eq!(refused.to_string(), "there is no type \"u65\"");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no type {words:?}")]
pub struct UnknownType {
    /// The words.
    pub words: Box<str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_types_are_read_back() {
        let sized = SIZED.iter().flat_map(|(_, sized)| [sized(1), sized(u32::MAX)]);
        let decimals = [(1, 0), (38, 38)];
        let decimals = decimals.map(|(precision, scale)| Type::Decimal { precision, scale });
        for kind in PLAIN.iter().map(|(_, kind)| *kind).chain(sized).chain(decimals) {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for wrong in [
            "",
            "U8",
            "u128",
            "text",
            "text()",
            "text(-1)",
            "text(1",
            "u8(1)",
            "text(x)",
            "decimal",
            "decimal(5)",
            "decimal(5,256)",
            "decimal(5;2)",
        ] {
            let refused = wrong.parse::<Type>().expect_err("no type");
            assert_eq!(refused.to_string(), format!("there is no type {wrong:?}"));
        }
    }
}
