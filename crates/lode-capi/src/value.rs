//! Values of columns as C has them.

use std::ffi::c_void;

use lode::{Column, Decimal, KeyPart, Type, Value};

use crate::argument::{address, slice, utf8};
use crate::failure::{Failure, Result};
use crate::status::lode_status;

/// The kind of a value: one of the numbers `LODE_NULL` to `LODE_DECIMAL`.
pub type lode_kind = u32;

/// No value.
pub const LODE_NULL: lode_kind = 0;
/// A whole number without a sign, in `data.u`.
pub const LODE_UNSIGNED: lode_kind = 1;
/// A whole number with a sign, in `data.i`.
pub const LODE_SIGNED: lode_kind = 2;
/// A floating-point number, in `data.f`.
pub const LODE_FLOAT: lode_kind = 3;
/// True (1) or false (0), in `data.b`.
pub const LODE_BOOL: lode_kind = 4;
/// Microseconds since the start of 1970, in `data.i`.
pub const LODE_TIMESTAMP: lode_kind = 5;
/// UTF-8 without a zero at its end, in `data.bytes`.
pub const LODE_TEXT: lode_kind = 6;
/// Bytes, in `data.bytes`; also a stored text that is not UTF-8.
pub const LODE_BYTES: lode_kind = 7;
/// An exact decimal number, in `data.decimal`, with `scale` of its digits after the point.
pub const LODE_DECIMAL: lode_kind = 8;

/// Bytes somewhere in memory. The pointer may be null if there are none.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_bytes {
    /// The first byte.
    pub data: *const c_void,
    /// The number of bytes.
    pub size: usize,
}

impl lode_bytes {
    /// Makes the bytes for C of those of Lode, which it points to; null for none.
    pub(crate) fn of(bytes: Option<&[u8]>) -> Self {
        let none = Self { data: std::ptr::null(), size: 0 };
        bytes.map_or(none, |bytes| Self { data: address(bytes), size: bytes.len() })
    }
}

/// A signed number of 128 bits in two's complement.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_i128 {
    /// The lower 64 bits.
    pub low: u64,
    /// The higher 64 bits, with the sign.
    pub high: i64,
}

/// The content of a value, by its kind.
#[derive(Clone, Copy)]
#[repr(C)]
pub union lode_data {
    /// Of `LODE_UNSIGNED`.
    pub u: u64,
    /// Of `LODE_SIGNED` and `LODE_TIMESTAMP`.
    pub i: i64,
    /// Of `LODE_FLOAT`.
    pub f: f64,
    /// Of `LODE_BOOL`.
    pub b: u8,
    /// Of `LODE_TEXT` and `LODE_BYTES`.
    pub bytes: lode_bytes,
    /// Of `LODE_DECIMAL`: the number without its point, 1230 of 12.30.
    pub decimal: lode_i128,
}

/// A value of a column. The functions `lode_u64`, `lode_i64`, `lode_f64`, `lode_bool`,
/// `lode_timestamp`, `lode_text`, `lode_blob`, `lode_decimal` and `lode_null` make one.
///
/// A column of whole numbers, timestamps or decimals takes signed and unsigned numbers alike if
/// they fit. A text or bytes that a call gives out point to memory of which that call's description
/// says how long it stays; one that is passed in is read during the call only.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_value {
    /// The kind of the value.
    pub kind: lode_kind,
    /// Digits after the point, of a decimal.
    pub scale: u32,
    /// The content.
    pub data: lode_data,
}

impl lode_value {
    /// Reads the value for a column.
    ///
    /// # Errors
    /// `LODE_BAD_ARGUMENT`, `LODE_NOT_UTF8`, `LODE_VALUE_MISFIT`; what does not fit the column is
    /// left to the packing of it.
    pub(crate) fn read(&self, column: &Column) -> Result<Value<'_>> {
        // SAFETY: numbers are valid with any bytes.
        unsafe {
            match self.kind {
                LODE_UNSIGNED => Ok(KeyPart::value(&self.data.u, column)),
                LODE_SIGNED => Ok(KeyPart::value(&self.data.i, column)),
                _ => self.read_other("column", &column.name),
            }
        }
    }

    /// Reads the value for a property.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn read_for_property(&self, name: &str) -> Result<Value<'_>> {
        // SAFETY: numbers are valid with any bytes.
        unsafe {
            match self.kind {
                LODE_UNSIGNED => Ok(Value::Unsigned(self.data.u)),
                LODE_SIGNED => Ok(Value::Signed(self.data.i)),
                _ => self.read_other("property", name),
            }
        }
    }

    /// Reads a value that is no whole number, for a place with a name.
    fn read_other(&self, place: &str, name: &str) -> Result<Value<'_>> {
        // SAFETY: all fields of the union are numbers and pointers, valid with any bytes; what a
        // pointer leads to is checked by `slice`, and promised by C as the header says.
        unsafe {
            match self.kind {
                LODE_NULL => Ok(Value::Null),
                LODE_FLOAT => Ok(Value::Float(self.data.f)),
                LODE_BOOL => Ok(Value::Bool(self.data.b != 0)),
                LODE_TIMESTAMP => Ok(Value::Timestamp(self.data.i)),
                LODE_TEXT => Ok(Value::Text(utf8(read_bytes(self.data.bytes)?, name)?)),
                LODE_BYTES => Ok(Value::Bytes(read_bytes(self.data.bytes)?)),
                LODE_DECIMAL => self.read_decimal(place, name),
                other => Err(Failure::argument(format!(
                    "{place} {name}: there is no value of kind {other}; use lode_u64, lode_text, …"
                ))),
            }
        }
    }

    fn read_decimal(&self, place: &str, name: &str) -> Result<Value<'_>> {
        // SAFETY: numbers are valid with any bytes.
        let lode_i128 { low, high } = unsafe { self.data.decimal };
        let unscaled = i128::from(high) << 64 | i128::from(low);
        let scale = u8::try_from(self.scale).ok();
        let decimal = scale.and_then(|scale| Decimal::new(unscaled, scale));
        decimal.map(Value::Decimal).ok_or_else(|| {
            let message = format!("{place} {name}: a decimal has at most 38 digits");
            Failure::new(lode_status::LODE_VALUE_MISFIT, message)
        })
    }

    /// Has the value of a text or of bytes point to a copy of them.
    pub(crate) fn move_to(&mut self, copy: *const u8) {
        if matches!(self.kind, LODE_TEXT | LODE_BYTES) {
            // SAFETY: of a value of these kinds it is the bytes that were written.
            let size = unsafe { self.data.bytes }.size;
            self.data.bytes = lode_bytes { data: copy.cast(), size };
        }
    }

    /// Makes the value for C of one of Lode, whose bytes it points to.
    pub(crate) fn of(value: Value<'_>) -> Self {
        let none = lode_bytes::of(None);
        let mut made = Self { kind: LODE_NULL, scale: 0, data: lode_data { bytes: none } };
        let bytes = |bytes| lode_data { bytes: lode_bytes::of(Some(bytes)) };
        (made.kind, made.data) = match value {
            Value::Unsigned(number) => (LODE_UNSIGNED, lode_data { u: number }),
            Value::Signed(number) => (LODE_SIGNED, lode_data { i: number }),
            Value::Float(number) => (LODE_FLOAT, lode_data { f: number }),
            Value::Bool(bool) => (LODE_BOOL, lode_data { b: bool.into() }),
            Value::Timestamp(micros) => (LODE_TIMESTAMP, lode_data { i: micros }),
            Value::Text(text) => (LODE_TEXT, bytes(text.as_bytes())),
            Value::Bytes(content) => (LODE_BYTES, bytes(content)),
            Value::Decimal(decimal) => {
                made.scale = decimal.scale().into();
                let unscaled = decimal.unscaled();
                let parts = lode_i128 { low: unscaled as u64, high: (unscaled >> 64) as i64 };
                (LODE_DECIMAL, lode_data { decimal: parts })
            }
            Value::Null => (LODE_NULL, lode_data { bytes: none }),
            // Stopped at the border, rather than to give out something else.
            other => panic!("the header has no kind for {other:?}"),
        };
        made
    }
}

/// Returns the bytes that a value for a column points to.
///
/// # Safety
/// As for [`slice`].
unsafe fn read_bytes<'a>(bytes: lode_bytes) -> Result<&'a [u8]> {
    // SAFETY: as the caller promises.
    unsafe { slice(bytes.data.cast::<u8>(), bytes.size, "a value") }
}

/// The type of a column: one of the numbers `LODE_TYPE_U8` to `LODE_TYPE_DECIMAL`.
pub type lode_type = u32;

/// 8 bits, unsigned.
pub const LODE_TYPE_U8: lode_type = 1;
/// 16 bits, unsigned.
pub const LODE_TYPE_U16: lode_type = 2;
/// 32 bits, unsigned.
pub const LODE_TYPE_U32: lode_type = 3;
/// 64 bits, unsigned.
pub const LODE_TYPE_U64: lode_type = 4;
/// 8 bits, signed.
pub const LODE_TYPE_I8: lode_type = 5;
/// 16 bits, signed.
pub const LODE_TYPE_I16: lode_type = 6;
/// 32 bits, signed.
pub const LODE_TYPE_I32: lode_type = 7;
/// 64 bits, signed.
pub const LODE_TYPE_I64: lode_type = 8;
/// 32 bits, IEEE 754.
pub const LODE_TYPE_F32: lode_type = 9;
/// 64 bits, IEEE 754.
pub const LODE_TYPE_F64: lode_type = 10;
/// False or true, in a byte.
pub const LODE_TYPE_BOOL: lode_type = 11;
/// Microseconds since the start of 1970, in 64 bits with a sign.
pub const LODE_TYPE_TIMESTAMP: lode_type = 12;
/// UTF-8 of at most `size` bytes, filled up with zeros.
pub const LODE_TYPE_TEXT: lode_type = 13;
/// Exactly `size` bytes.
pub const LODE_TYPE_BYTES: lode_type = 14;
/// UTF-8 of at most `size` bytes, stored in its own length.
pub const LODE_TYPE_VAR_TEXT: lode_type = 15;
/// At most `size` bytes.
pub const LODE_TYPE_VAR_BYTES: lode_type = 16;
/// An exact decimal number of `size` digits, 1 to 38, `scale` of them after the point.
pub const LODE_TYPE_DECIMAL: lode_type = 17;

/// The types without a size, by their numbers.
const PLAIN: [(lode_type, Type); 12] = [
    (LODE_TYPE_U8, Type::U8),
    (LODE_TYPE_U16, Type::U16),
    (LODE_TYPE_U32, Type::U32),
    (LODE_TYPE_U64, Type::U64),
    (LODE_TYPE_I8, Type::I8),
    (LODE_TYPE_I16, Type::I16),
    (LODE_TYPE_I32, Type::I32),
    (LODE_TYPE_I64, Type::I64),
    (LODE_TYPE_F32, Type::F32),
    (LODE_TYPE_F64, Type::F64),
    (LODE_TYPE_BOOL, Type::Bool),
    (LODE_TYPE_TIMESTAMP, Type::Timestamp),
];

/// A type in three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeNumbers {
    pub(crate) number: lode_type,
    pub(crate) size: u32,
    pub(crate) scale: u32,
}

impl TypeNumbers {
    /// Returns the type of these numbers; `None` if they name no type.
    pub(crate) fn to_type(self) -> Option<Type> {
        let Self { number, size, scale } = self;
        let plain = PLAIN.iter().find(|(known, _)| *known == number);
        match (number, plain) {
            (_, Some((_, kind))) => (size == 0 && scale == 0).then_some(*kind),
            (LODE_TYPE_DECIMAL, None) => {
                let precision = u8::try_from(size).ok()?;
                let scale = u8::try_from(scale).ok()?;
                Some(Type::Decimal { precision, scale })
            }
            _ if scale != 0 => None,
            (LODE_TYPE_TEXT, None) => Some(Type::Text(size)),
            (LODE_TYPE_BYTES, None) => Some(Type::Bytes(size)),
            (LODE_TYPE_VAR_TEXT, None) => Some(Type::VarText(size)),
            (LODE_TYPE_VAR_BYTES, None) => Some(Type::VarBytes(size)),
            _ => None,
        }
    }

    /// Returns the numbers of a type; zeros for one that has none.
    pub(crate) fn of(kind: Type) -> Self {
        let of = |number, size, scale: u8| Self { number, size, scale: scale.into() };
        match kind {
            Type::Text(size) => of(LODE_TYPE_TEXT, size, 0),
            Type::Bytes(size) => of(LODE_TYPE_BYTES, size, 0),
            Type::VarText(size) => of(LODE_TYPE_VAR_TEXT, size, 0),
            Type::VarBytes(size) => of(LODE_TYPE_VAR_BYTES, size, 0),
            Type::Decimal { precision, scale } => of(LODE_TYPE_DECIMAL, precision.into(), scale),
            plain => {
                let found = PLAIN.iter().find(|(_, known)| *known == plain);
                of(found.map_or(0, |(number, _)| *number), 0, 0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_back_from_their_numbers() {
        let sized = [Type::Text, Type::Bytes, Type::VarText, Type::VarBytes];
        let sized = sized.into_iter().flat_map(|sized| [sized(1), sized(u32::MAX)]);
        let decimal = Type::Decimal { precision: 38, scale: 37 };
        let plain = PLAIN.iter().map(|(_, kind)| *kind);
        let all: Vec<_> = plain.chain(sized).chain([decimal]).collect();
        for kind in &all {
            assert_eq!(TypeNumbers::of(*kind).to_type(), Some(*kind));
        }
        for (number, size, scale) in
            [(0, 0, 0), (18, 0, 0), (4, 8, 0), (4, 0, 1), (13, 9, 1), (17, 256, 0), (17, 9, 256)]
        {
            assert_eq!(TypeNumbers { number, size, scale }.to_type(), None);
        }
    }

    #[test]
    fn values_are_read_back() {
        let decimal = Decimal::new(-123_456_789_012_345_678_901_234, 5).expect("few digits");
        let schema = lode::Schema::build("t").key("id", Type::U8).finish().expect("a schema");
        let column = &schema.columns()[0];
        for value in [
            Value::Null,
            Value::Unsigned(u64::MAX),
            Value::Float(-1.5),
            Value::Bool(true),
            Value::Timestamp(i64::MIN),
            Value::Text("äh"),
            Value::Text(""),
            Value::Bytes(b"\0\xff"),
            Value::Decimal(decimal),
        ] {
            assert_eq!(lode_value::of(value).read(column).expect("a value"), value);
        }
        let signed = lode_value::of(Value::Signed(7));
        assert_eq!(signed.read(column).expect("a value"), Value::Unsigned(7));
        let mut wrong = signed;
        wrong.kind = 9;
        assert_eq!(
            wrong.read(column).expect_err("no kind").status(),
            lode_status::LODE_BAD_ARGUMENT
        );
        wrong.kind = LODE_DECIMAL;
        wrong.scale = 300;
        assert_eq!(
            wrong.read(column).expect_err("no scale").status(),
            lode_status::LODE_VALUE_MISFIT
        );
    }
}
