//! The types of columns.

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
    /// Microseconds since the beginning of 1970, signed, in 64 bits.
    Timestamp,
    /// UTF-8 of at most this many bytes, filled up with zeros; ordered bytewise.
    Text(u32),
    /// Exactly this many bytes; ordered bytewise.
    Bytes(u32),
    /// UTF-8 of at most this many bytes, in as many as it has; ordered bytewise.
    VarText(u32),
    /// At most this many bytes; ordered bytewise, what begins like another but is shorter before
    /// it.
    VarBytes(u32),
}

impl Type {
    /// Bytes of a value in the fixed part of a packed record; of one of variable length that is not
    /// of the key, those that say where it ends.
    pub fn size_bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 | Self::VarText(_) | Self::VarBytes(_) => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::Timestamp => 8,
            Self::Text(size) | Self::Bytes(size) => size as usize,
        }
    }

    /// Whether values are stored as long as they are.
    pub fn is_variable(self) -> bool {
        matches!(self, Self::VarText(_) | Self::VarBytes(_))
    }

    /// The most bytes of a value.
    pub(crate) fn most_bytes(self) -> usize {
        match self {
            Self::VarText(most) | Self::VarBytes(most) => most as usize,
            fixed => fixed.size_bytes(),
        }
    }
}
