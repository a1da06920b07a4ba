//! The cells of an Arrow array as values for a column of Lode.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{AnyDictionaryArray, Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use lode::{Decimal, Type, Value};

/// Microseconds of a day.
const DAY_US: i128 = 24 * 60 * 60 * 1_000_000;

/// The values of an array that is not null at a place.
type At<'b, T> = Box<dyn Fn(usize) -> T + 'b>;

/// The cells of an array.
pub(crate) struct Cells<'b> {
    nulls: Option<NullBuffer>,
    rounds_times: bool,
    values: Values<'b>,
}

/// The values of an array.
enum Values<'b> {
    /// No values: all are null.
    Nothing,
    Integers(At<'b, i128>),
    Floats32(At<'b, f32>),
    Floats64(At<'b, f64>),
    Bools(At<'b, bool>),
    /// Nanoseconds since the start of 1970.
    Moments(At<'b, i128>),
    /// Decimals; those that fit none of Lode's are texts.
    Decimals(At<'b, Result<Decimal, String>>),
    Text(At<'b, &'b str>),
    Bytes(At<'b, &'b [u8]>),
}

/// A value that does not fit, in words.
pub(crate) struct Misfit(pub(crate) String);

impl<'b> Cells<'b> {
    /// Returns the cells of an array; `None` if it is of a type that no column of Lode takes.
    pub(crate) fn of(array: &'b dyn Array) -> Option<Self> {
        let nulls = array.logical_nulls();
        Some(Self { nulls, rounds_times: false, values: Values::of(array)? })
    }

    /// Rounds moments to microseconds, instead of refusing those with more digits.
    pub(crate) fn rounding(self, rounds_times: bool) -> Self {
        Self { rounds_times, ..self }
    }

    /// Returns the value at a row, for a column of a type that [takes](takes) the array's.
    pub(crate) fn value(&self, row: usize, kind: Type) -> Result<Value<'b>, Misfit> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(Value::Null);
        }
        match &self.values {
            Values::Nothing => Ok(Value::Null),
            Values::Integers(at) => integer(at(row), kind),
            Values::Floats32(at) => Ok(Value::Float(at(row).into())),
            Values::Floats64(at) => float(at(row), kind),
            Values::Bools(at) => Ok(Value::Bool(at(row))),
            Values::Moments(at) => moment(at(row), self.rounds_times),
            Values::Decimals(at) => decimal(at(row).map_err(Misfit)?, kind),
            Values::Text(at) => Ok(Value::Text(at(row))),
            Values::Bytes(at) => Ok(Value::Bytes(at(row))),
        }
    }

    /// Returns the bits of a 32-bit float at a row, if that is what the array has there and it is
    /// no number: other floats come through 64 bits as they are.
    pub(crate) fn odd_float(&self, row: usize) -> Option<[u8; 4]> {
        let Values::Floats32(at) = &self.values else { return None };
        let float = at(row);
        float.is_nan().then(|| float.to_le_bytes())
    }
}

fn integer(number: i128, kind: Type) -> Result<Value<'static>, Misfit> {
    let misfit = |_| Misfit(number.to_string());
    match kind {
        Type::Decimal { .. } => {
            let number = Decimal::new(number, 0).ok_or_else(|| Misfit(number.to_string()))?;
            decimal(number, kind)
        }
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => {
            let number = u64::try_from(number).map_err(misfit)?;
            let bits = kind.size_bytes() * 8;
            if bits == 64 || number >> bits == 0 {
                Ok(Value::Unsigned(number))
            } else {
                Err(Misfit(number.to_string()))
            }
        }
        _ => {
            let signed = i64::try_from(number).map_err(misfit)?;
            let spare = 64 - kind.size_bytes() * 8;
            if signed << spare >> spare == signed {
                Ok(Value::Signed(signed))
            } else {
                Err(Misfit(number.to_string()))
            }
        }
    }
}

/// Returns a decimal for a column of decimals, or of integers if it has no digits after the point.
fn decimal(number: Decimal, kind: Type) -> Result<Value<'static>, Misfit> {
    let fits = match kind {
        Type::Decimal { precision, scale } => number.rescaled(precision, scale).is_some(),
        _ => return integer(number.unscaled(), kind),
    };
    if fits { Ok(Value::Decimal(number)) } else { Err(Misfit(number.to_string())) }
}

/// Turns a float into a value; it fits 32 bits only if they hold it exactly.
fn float(number: f64, kind: Type) -> Result<Value<'static>, Misfit> {
    let fits = kind == Type::F64 || number.is_nan() || f64::from(number as f32) == number;
    if fits { Ok(Value::Float(number)) } else { Err(Misfit(format!("{number:?}"))) }
}

fn moment(time_ns: i128, rounds: bool) -> Result<Value<'static>, Misfit> {
    let misfit = || Misfit(format!("the moment {time_ns} ns after the beginning of 1970"));
    microseconds(time_ns, rounds).map(Value::Timestamp).ok_or_else(misfit)
}

/// Returns nanoseconds as microseconds, if these hold them exactly. If it `rounds`, they are the
/// nearest ones, and of two that are as near the later.
pub(crate) fn microseconds(time_ns: i128, rounds: bool) -> Option<i64> {
    if time_ns % 1_000 == 0 || rounds {
        i64::try_from((time_ns + 500).div_euclid(1_000)).ok()
    } else {
        None
    }
}

/// Returns true if a column of Lode takes values of an Arrow type; some of them may not fit.
pub(crate) fn takes(kind: Type, found: &DataType) -> bool {
    use DataType as D;
    match (kind, found) {
        (_, D::Null) => true,
        (_, D::Dictionary(_, values)) => takes(kind, values),
        (
            Type::U8
            | Type::U16
            | Type::U32
            | Type::U64
            | Type::I8
            | Type::I16
            | Type::I32
            | Type::I64,
            found,
        ) => found.is_integer() || scale_of(found) == Some(0),
        (Type::Decimal { .. }, found) => {
            found.is_integer() || scale_of(found).is_some_and(|scale| scale >= 0)
        }
        (Type::F32 | Type::F64, D::Float32 | D::Float64)
        | (Type::Bool, D::Boolean)
        | (Type::Timestamp, D::Timestamp(_, _) | D::Date32 | D::Date64)
        | (Type::Text(_) | Type::VarText(_), D::Utf8 | D::LargeUtf8 | D::Utf8View)
        | (
            Type::Bytes(_) | Type::VarBytes(_),
            D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_),
        ) => true,
        _ => false,
    }
}

/// Returns how many digits after the point the decimals of a type have; `None` if it has none.
fn scale_of(found: &DataType) -> Option<i8> {
    use DataType as D;
    match found {
        D::Decimal32(_, scale)
        | D::Decimal64(_, scale)
        | D::Decimal128(_, scale)
        | D::Decimal256(_, scale) => Some(*scale),
        _ => None,
    }
}

/// The decimals of an array of a type whose numbers fit 128 bits.
macro_rules! decimals {
    ($array:expr, $kind:ty, $scale:expr) => {{
        let values = $array.as_primitive::<$kind>().values();
        let scale = u8::try_from(*$scale).ok()?;
        Values::Decimals(Box::new(move |row| {
            let number = i128::from(values[row]);
            Decimal::new(number, scale).ok_or_else(|| format!("{number} ÷ 10^{scale}"))
        }))
    }};
}

/// The integers of a primitive array.
macro_rules! integers {
    ($array:expr, $kind:ty) => {{
        let values = $array.as_primitive::<$kind>().values();
        Values::Integers(Box::new(move |row| values[row].into()))
    }};
}

/// The moments of a primitive array whose values count this many nanoseconds.
macro_rules! moments {
    ($array:expr, $kind:ty, $unit_ns:expr) => {{
        let values = $array.as_primitive::<$kind>().values();
        Values::Moments(Box::new(move |row| i128::from(values[row]) * $unit_ns))
    }};
}

impl<'b> Values<'b> {
    fn of(array: &'b dyn Array) -> Option<Self> {
        use DataType as D;
        Some(match array.data_type() {
            D::Null => Self::Nothing,
            D::UInt8 => integers!(array, UInt8Type),
            D::UInt16 => integers!(array, UInt16Type),
            D::UInt32 => integers!(array, UInt32Type),
            D::UInt64 => integers!(array, UInt64Type),
            D::Int8 => integers!(array, Int8Type),
            D::Int16 => integers!(array, Int16Type),
            D::Int32 => integers!(array, Int32Type),
            D::Int64 => integers!(array, Int64Type),
            D::Decimal32(_, scale) => decimals!(array, Decimal32Type, scale),
            D::Decimal64(_, scale) => decimals!(array, Decimal64Type, scale),
            D::Decimal128(_, scale) => decimals!(array, Decimal128Type, scale),
            D::Decimal256(_, scale) => {
                let values = array.as_primitive::<Decimal256Type>().values();
                let scale = u8::try_from(*scale).ok()?;
                Self::Decimals(Box::new(move |row| {
                    let number = values[row].to_i128();
                    let number = number.and_then(|number| Decimal::new(number, scale));
                    number.ok_or_else(|| format!("{} ÷ 10^{scale}", values[row]))
                }))
            }
            D::Timestamp(TimeUnit::Second, _) => {
                moments!(array, TimestampSecondType, 1_000_000_000)
            }
            D::Timestamp(TimeUnit::Millisecond, _) => {
                moments!(array, TimestampMillisecondType, 1_000_000)
            }
            D::Timestamp(TimeUnit::Microsecond, _) => {
                moments!(array, TimestampMicrosecondType, 1_000)
            }
            D::Timestamp(TimeUnit::Nanosecond, _) => moments!(array, TimestampNanosecondType, 1),
            D::Date32 => moments!(array, Date32Type, DAY_US * 1_000),
            D::Date64 => moments!(array, Date64Type, 1_000_000),
            D::Float32 => {
                let values = array.as_primitive::<Float32Type>().values();
                Self::Floats32(Box::new(|row| values[row]))
            }
            D::Float64 => {
                let values = array.as_primitive::<Float64Type>().values();
                Self::Floats64(Box::new(|row| values[row]))
            }
            D::Boolean => Self::Bools(Box::new(|row| array.as_boolean().value(row))),
            D::Utf8 => Self::Text(Box::new(|row| array.as_string::<i32>().value(row))),
            D::LargeUtf8 => Self::Text(Box::new(|row| array.as_string::<i64>().value(row))),
            D::Utf8View => Self::Text(Box::new(|row| array.as_string_view().value(row))),
            D::Binary => Self::Bytes(Box::new(|row| array.as_binary::<i32>().value(row))),
            D::LargeBinary => Self::Bytes(Box::new(|row| array.as_binary::<i64>().value(row))),
            D::BinaryView => Self::Bytes(Box::new(|row| array.as_binary_view().value(row))),
            D::FixedSizeBinary(_) => {
                Self::Bytes(Box::new(|row| array.as_fixed_size_binary().value(row)))
            }
            D::Dictionary(_, _) => {
                Self::of(array.as_any_dictionary().values())?.by_keys(array.as_any_dictionary())
            }
            _ => return None,
        })
    }

    /// Returns the values that the keys of a dictionary name.
    fn by_keys(self, dictionary: &'b dyn AnyDictionaryArray) -> Self {
        fn by<'b, T: 'b>(at: At<'b, T>, keys: Vec<usize>) -> At<'b, T> {
            Box::new(move |row| at(keys[row]))
        }
        if dictionary.values().is_empty() {
            return Self::Nothing;
        }
        let keys = dictionary.normalized_keys();
        match self {
            Self::Nothing => Self::Nothing,
            Self::Integers(at) => Self::Integers(by(at, keys)),
            Self::Floats32(at) => Self::Floats32(by(at, keys)),
            Self::Floats64(at) => Self::Floats64(by(at, keys)),
            Self::Bools(at) => Self::Bools(by(at, keys)),
            Self::Moments(at) => Self::Moments(by(at, keys)),
            Self::Decimals(at) => Self::Decimals(by(at, keys)),
            Self::Text(at) => Self::Text(by(at, keys)),
            Self::Bytes(at) => Self::Bytes(by(at, keys)),
        }
    }
}
