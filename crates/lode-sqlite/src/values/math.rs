//! SQLite's mathematical functions, which its bundled build leaves out.

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// A function of a number by its name.
type OfOne = (&'static str, fn(f64) -> f64);

/// A function of two numbers by its name.
type OfTwo = (&'static str, fn(f64, f64) -> f64);

/// Functions of a number.
const OF_ONE: [OfOne; 20] = [
    ("acos", f64::acos),
    ("acosh", f64::acosh),
    ("asin", f64::asin),
    ("asinh", f64::asinh),
    ("atan", f64::atan),
    ("atanh", f64::atanh),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("degrees", f64::to_degrees),
    ("exp", f64::exp),
    ("ln", logarithm),
    ("log", logarithm_of_ten),
    ("log10", logarithm_of_ten),
    ("log2", |x| if x > 0.0 { x.log2() } else { f64::NAN }),
    ("radians", f64::to_radians),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
];

/// Functions of two numbers.
const OF_TWO: [OfTwo; 5] = [
    ("atan2", f64::atan2),
    ("log", |base, x| if base > 0.0 && base != 1.0 { logarithm(x) / base.ln() } else { f64::NAN }),
    ("mod", |x, y| x % y),
    ("pow", f64::powf),
    ("power", f64::powf),
];

/// Functions that leave a whole number as it is.
const ROUNDING: [OfOne; 4] =
    [("ceil", f64::ceil), ("ceiling", f64::ceil), ("floor", f64::floor), ("trunc", f64::trunc)];

/// Returns the natural logarithm; NaN, which SQLite has as NULL, of what is not above zero.
fn logarithm(x: f64) -> f64 {
    if x > 0.0 { x.ln() } else { f64::NAN }
}

fn logarithm_of_ten(x: f64) -> f64 {
    if x > 0.0 { x.log10() } else { f64::NAN }
}

/// Returns an argument as a number; `None` for NULL, bytes, and text that looks like no number.
fn number(context: &Context<'_>, at: usize) -> Option<f64> {
    match context.get_raw(at) {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        ValueRef::Text(text) => match crate::values::number::Number::parse(text)? {
            crate::values::number::Number::Whole(number) => Some(number as f64),
            crate::values::number::Number::Real(number) => Some(number),
        },
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// Adds the functions to a connection.
pub(crate) fn add_functions(connection: &Connection) -> Result<()> {
    for (name, function) in OF_ONE {
        connection.create_scalar_function(name, 1, FLAGS, move |context| {
            Ok(number(context, 0).map(function))
        })?;
    }
    for (name, function) in OF_TWO {
        connection.create_scalar_function(name, 2, FLAGS, move |context| {
            Ok(number(context, 0).zip(number(context, 1)).map(|(one, other)| function(one, other)))
        })?;
    }
    for (name, function) in ROUNDING {
        connection.create_scalar_function(name, 1, FLAGS, move |context| {
            Ok(match (context.get_raw(0), number(context, 0)) {
                (ValueRef::Integer(number), _) => Value::Integer(number),
                (_, Some(number)) => Value::Real(function(number)),
                (_, None) => Value::Null,
            })
        })?;
    }
    connection.create_scalar_function("pi", 0, FLAGS, |_| Ok(std::f64::consts::PI))
}
