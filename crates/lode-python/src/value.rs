//! Values of columns as Python has them.

use std::ops::RangeInclusive;

use lode::{Column, Decimal, KeyPart, Type, Value};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};

use crate::failure::{Failure, Result};

/// A value of a column, with bytes of its own.
#[derive(Clone, Debug)]
pub(crate) enum OwnedValue {
    Null,
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Bool(bool),
    Timestamp(i64),
    Text(String),
    Bytes(Vec<u8>),
    Decimal(Decimal),
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Unsigned(number) => Self::Unsigned(number),
            Value::Signed(number) => Self::Signed(number),
            Value::Float(number) => Self::Float(number),
            Value::Bool(bool) => Self::Bool(bool),
            Value::Timestamp(micros) => Self::Timestamp(micros),
            Value::Text(text) => Self::Text(text.into()),
            Value::Bytes(bytes) => Self::Bytes(bytes.into()),
            Value::Decimal(decimal) => Self::Decimal(decimal),
            Value::Null => Self::Null,
            // Stopped at the border, rather than to give out something else.
            other => panic!("Python has no value for {other:?}"),
        }
    }
}

impl OwnedValue {
    /// Returns the value for a column.
    pub(crate) fn value(&self, column: &Column) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Unsigned(number) => KeyPart::value(number, column),
            Self::Signed(number) => KeyPart::value(number, column),
            Self::Float(number) => Value::Float(*number),
            Self::Bool(bool) => Value::Bool(*bool),
            Self::Timestamp(micros) => Value::Timestamp(*micros),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
            Self::Decimal(decimal) => Value::Decimal(*decimal),
        }
    }

    /// Reads an object of Python as a value for a column.
    ///
    /// # Errors
    /// `value_misfit` when columns of that type have no such objects. Whether it has room is left
    /// to the packing of it.
    pub(crate) fn take(object: &Bound<'_, PyAny>, column: &Column) -> Result<Self> {
        if object.is_none() {
            return Ok(Self::Null);
        }
        let taken = match column.kind {
            Type::F32 | Type::F64 => take_float(object),
            Type::Bool => object.extract().ok().map(Self::Bool),
            Type::Timestamp => return take_moment(object, column),
            Type::Text(_) | Type::VarText(_) => return take_text(object, column),
            Type::Bytes(_) | Type::VarBytes(_) => take_bytes(object)?,
            Type::Decimal { .. } => return take_decimal(object, column),
            _ => take_integer(object),
        };
        taken.ok_or_else(|| misfit(object, column))
    }

    /// Makes an object of Python.
    pub(crate) fn give<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Null => Ok(py.None().into_bound(py)),
            Self::Unsigned(number) => Ok(number.into_pyobject(py)?.into_any()),
            Self::Signed(number) => Ok(number.into_pyobject(py)?.into_any()),
            Self::Float(number) => Ok(PyFloat::new(py, *number).into_any()),
            Self::Bool(bool) => Ok(PyBool::new(py, *bool).to_owned().into_any()),
            Self::Timestamp(micros) => give_moment(py, *micros),
            Self::Text(text) => Ok(PyString::new(py, text).into_any()),
            Self::Bytes(bytes) => Ok(PyBytes::new(py, bytes).into_any()),
            Self::Decimal(decimal) => {
                Classes::of(py)?.decimal.bind(py).call1((decimal.to_string(),))
            }
        }
    }
}

/// Classes of Python's library, imported once.
struct Classes {
    datetime: Py<PyAny>,
    timedelta: Py<PyAny>,
    decimal: Py<PyAny>,
    /// The start of 1970 in UTC.
    epoch: Py<PyAny>,
}

impl Classes {
    fn of(py: Python<'_>) -> PyResult<&Self> {
        static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();
        CLASSES.get_or_try_init(py, || {
            let module = py.import("datetime")?;
            let datetime = module.getattr("datetime")?;
            let utc = module.getattr("timezone")?.getattr("utc")?;
            let epoch = datetime.call1((1970, 1, 1, 0, 0, 0, 0, utc))?;
            Ok(Self {
                datetime: datetime.unbind(),
                timedelta: module.getattr("timedelta")?.unbind(),
                decimal: py.import("decimal")?.getattr("Decimal")?.unbind(),
                epoch: epoch.unbind(),
            })
        })
    }
}

/// Makes the failure of an object that a column cannot have.
#[cold]
fn misfit(object: &Bound<'_, PyAny>, column: &Column) -> Failure {
    if object.is_instance_of::<PyInt>()
        && is_of_numbers(column.kind)
        && !object.is_instance_of::<PyBool>()
    {
        let name = &column.name;
        let kind = column.kind;
        return Failure::value(format!("column {name} of type {kind} has no room for this number"));
    }
    let class = object.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
    let expected = match column.kind {
        Type::F32 | Type::F64 => "a float",
        Type::Bool => "a bool",
        Type::Timestamp => "a datetime with a time zone",
        Type::Text(_) | Type::VarText(_) => "a str",
        Type::Bytes(_) | Type::VarBytes(_) => "bytes",
        Type::Decimal { .. } => "a Decimal or an int",
        _ => "an int",
    };
    Failure::value(format!(
        "column {} of type {} takes {expected}, not {class}",
        column.name, column.kind
    ))
}

/// Returns true if columns of a type take an `int`.
fn is_of_numbers(kind: Type) -> bool {
    !matches!(
        kind,
        Type::Bool
            | Type::Timestamp
            | Type::Text(_)
            | Type::VarText(_)
            | Type::Bytes(_)
            | Type::VarBytes(_)
    )
}

/// Reads an integer, also one of NumPy. A `bool` is none.
fn take_integer(object: &Bound<'_, PyAny>) -> Option<OwnedValue> {
    if object.is_instance_of::<PyBool>() {
        return None;
    }
    let signed = object.extract().map(OwnedValue::Signed);
    signed.or_else(|_| object.extract().map(OwnedValue::Unsigned)).ok()
}

fn take_float(object: &Bound<'_, PyAny>) -> Option<OwnedValue> {
    let is_other = object.is_instance_of::<PyBool>() || object.is_instance_of::<PyString>();
    if is_other { None } else { object.extract().ok().map(OwnedValue::Float) }
}

/// Reads bytes, or what has them in memory: a `bytearray`, a `memoryview`, an array of NumPy.
fn take_bytes(object: &Bound<'_, PyAny>) -> Result<Option<OwnedValue>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Some(OwnedValue::Bytes(bytes.as_bytes().to_vec())));
    }
    let view = object.py().import("builtins")?.getattr("memoryview")?.call1((object,));
    let Ok(view) = view else { return Ok(None) };
    let format: String = view.getattr("format")?.extract()?;
    if !matches!(format.as_str(), "B" | "b" | "c") {
        return Ok(None);
    }
    Ok(Some(OwnedValue::Bytes(view.call_method0("tobytes")?.extract()?)))
}

fn take_text(object: &Bound<'_, PyAny>, column: &Column) -> Result<OwnedValue> {
    let text = object.cast::<PyString>().map_err(|_| misfit(object, column))?;
    let text = text.extract().map_err(|_| {
        let message = "has a surrogate, which UTF-8 does not; encode it to bytes, or leave it out";
        Failure::value(format!("column {}: the text {message}", column.name))
    })?;
    Ok(OwnedValue::Text(text))
}

fn take_decimal(object: &Bound<'_, PyAny>, column: &Column) -> Result<OwnedValue> {
    /// The most digits before and after the point of what is looked at further.
    const DIGITS: i64 = 80;
    let decimal = Classes::of(object.py())?.decimal.bind(object.py());
    let is_int = object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>();
    if !is_int && !object.is_instance(decimal)? {
        return Err(misfit(object, column));
    }
    let no_room = || {
        let name = &column.name;
        let kind = column.kind;
        Failure::value(format!("column {name} of type {kind} has no room for this number"))
    };
    if is_int && object.call_method0("bit_length")?.extract::<i64>()? > 3 * DIGITS {
        return Err(no_room());
    }
    let number = decimal.call1((object,))?;
    if !number.call_method0("is_finite")?.extract::<bool>()? {
        return Err(misfit(object, column));
    }
    // A short text can be a number of very many digits, such as 1E+900000000.
    let exponent: i64 = number.call_method0("as_tuple")?.getattr("exponent")?.extract()?;
    let highest: i64 = number.call_method0("adjusted")?.extract()?;
    if exponent < -DIGITS || highest > DIGITS {
        return Err(no_room());
    }
    let text: String = number.call_method1("__format__", ("f",))?.extract()?;
    text.parse().map(OwnedValue::Decimal).map_err(|_| no_room())
}

/// The first and the last microsecond that Python has a moment for, since 1970.
const MOMENTS: RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;

fn take_moment(object: &Bound<'_, PyAny>, column: &Column) -> Result<OwnedValue> {
    let py = object.py();
    let classes = Classes::of(py)?;
    let datetime = classes.datetime.bind(py);
    if !object.is_instance(datetime)? || object.call_method0("utcoffset")?.is_none() {
        return Err(misfit(object, column));
    }
    // A subclass may subtract in another way.
    let since = datetime.getattr("__sub__")?.call1((object, classes.epoch.bind(py)))?;
    let part = |name| -> PyResult<i64> { since.getattr(name)?.extract() };
    let seconds = part("days")? * 86_400 + part("seconds")?;
    let micros = seconds * 1_000_000 + part("microseconds")?;
    if !MOMENTS.contains(&micros) {
        let message = "takes moments that are in the years 1 to 9999 in UTC";
        return Err(Failure::value(format!("column {} {message}", column.name)));
    }
    Ok(OwnedValue::Timestamp(micros))
}

/// Makes a moment in UTC.
///
/// # Errors
/// `value_misfit` if Python has none that early or late; other programs may have written one.
fn give_moment(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyAny>> {
    if !MOMENTS.contains(&micros) {
        let message = "microseconds since 1970 are no moment of the years 1 to 9999";
        return Err(Failure::value(format!("{micros} {message}")).into());
    }
    let classes = Classes::of(py)?;
    let since = classes.timedelta.bind(py).call1((0, 0, micros))?;
    classes.epoch.bind(py).add(since)
}
