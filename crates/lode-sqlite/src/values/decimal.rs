//! Decimals in SQL: a whole number, a REAL or exact text, by the digits that a column is declared
//! with.
//!
//! | column | in SQL |
//! |---|---|
//! | without digits after the point, at most 18 | `INTEGER` |
//! | of at most 15 digits | `REAL`, the nearest double, which no other such decimal has |
//! | of more digits | text with all digits after the point |
//!
//! The text has the affinity of text and the collation `decimal`: SQLite turns a number that the
//! column is compared with into text; it compares, sorts and groups by value.
//! (Datatypes In SQLite, 4.2 and 7.1.) Shorter decimals are no text. Where an expression has no
//! affinity, SQLite finds every text greater than every number: `max(price) > 5` would be true of
//! all. `decimal_sum`, `decimal_add`, `decimal_sub` and `decimal_mul` are exact.

use lode::{Decimal, Type, Value};
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result, ffi, vtab};

use crate::error::error;
use crate::values::collation::{COLLATION, compare, parse};
use crate::values::number::Number;

/// The most digits with which every decimal has a double of its own.
const MOST_REAL_DIGITS: u8 = f64::DIGITS as u8;

/// The most digits of which all whole numbers fit 64 bits.
const MOST_INTEGER_DIGITS: u8 = 18;

/// The form of a column of decimals in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Integer,
    Real,
    Text,
}

impl Form {
    /// Returns the form of a column with these digits, in all and after the point.
    pub(crate) fn of(precision: u8, scale: u8) -> Self {
        match scale {
            0 if precision <= MOST_INTEGER_DIGITS => Self::Integer,
            _ if precision <= MOST_REAL_DIGITS => Self::Real,
            _ => Self::Text,
        }
    }

    /// Returns the type with which such a column is declared.
    pub(crate) fn declared(self) -> &'static str {
        match self {
            Self::Integer => "INTEGER",
            // Of the affinity NUMERIC.
            Self::Real => "DECIMAL",
            Self::Text => "DECIMAL TEXT COLLATE decimal",
        }
    }
}

/// Gives SQLite the value of a decimal.
pub(crate) fn set_result(context: &mut vtab::Context, kind: Type, number: Decimal) -> Result<()> {
    let form = match kind {
        Type::Decimal { precision, scale } => Form::of(precision, scale),
        _ => Form::Text,
    };
    match form {
        Form::Integer => {
            if let Ok(number) = i64::try_from(number.unscaled()) {
                return context.set_result(number);
            }
        }
        Form::Real => {
            if let Some(number) = as_real(number) {
                return context.set_result(number);
            }
        }
        Form::Text => {}
    }
    // Or a caller that packs records itself has put a longer one there.
    context.set_result(number.to_string())
}

/// Powers of ten that are doubles.
const POWERS: [f64; MOST_REAL_DIGITS as usize + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// Returns the double nearest to a decimal of at most 15 digits: the quotient of two whole numbers
/// that are doubles is rounded once.
fn as_real(number: Decimal) -> Option<f64> {
    let power = POWERS.get(usize::from(number.scale()))?;
    let unscaled = number.rescaled(MOST_REAL_DIGITS, number.scale())?;
    Some(unscaled as f64 / power)
}

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// A function of two decimals; `None` if the result has too many digits.
type OfTwo = fn(Decimal, Decimal) -> Option<Decimal>;

/// Makes the collation and the functions for decimals on a connection.
pub(crate) fn add_decimals(connection: &Connection) -> Result<()> {
    connection.create_collation(COLLATION, compare)?;
    let of_two: [(&str, OfTwo); 3] = [
        ("decimal_add", Decimal::checked_add),
        ("decimal_sub", Decimal::checked_sub),
        ("decimal_mul", Decimal::checked_mul),
    ];
    for (name, work) in of_two {
        connection.create_scalar_function(name, 2, FLAGS, move |context| {
            let arguments = [given(context, 0)?, given(context, 1)?];
            let [Some(one), Some(other)] = arguments else { return Ok(None) };
            work(one, other).map(|done| Some(done.to_string())).ok_or_else(too_long)
        })?;
    }
    connection.create_aggregate_function("decimal_sum", 1, FLAGS, Sum)
}

/// Returns the decimal that a value of SQL is; of a REAL, the shortest one that means it.
fn decimal_of(value: ValueRef<'_>) -> Option<Decimal> {
    match value {
        ValueRef::Integer(number) => Some(number.into()),
        ValueRef::Real(number) => format!("{number:e}").parse().ok(),
        ValueRef::Text(text) => parse(str::from_utf8(text).ok()?),
        _ => None,
    }
}

/// Returns an argument of a function, `None` if it is NULL.
fn given(context: &Context<'_>, at: usize) -> Result<Option<Decimal>> {
    match context.get_raw(at) {
        ValueRef::Null => Ok(None),
        value => decimal_of(value).map(Some).ok_or_else(|| {
            error(ffi::SQLITE_MISMATCH, "it takes decimals of at most 38 digits, such as '12.30'")
        }),
    }
}

fn too_long() -> rusqlite::Error {
    error(ffi::SQLITE_TOOBIG, "the result has more than 38 digits")
}

/// Adds decimals exactly; the sum of none is NULL.
struct Sum;

impl Aggregate<Option<Decimal>, Option<String>> for Sum {
    fn init(&self, _: &mut Context<'_>) -> Result<Option<Decimal>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut Option<Decimal>) -> Result<()> {
        if let Some(number) = given(context, 0)? {
            *sum = match *sum {
                None => Some(number),
                Some(sum) => Some(sum.checked_add(number).ok_or_else(too_long)?),
            };
        }
        Ok(())
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        sum: Option<Option<Decimal>>,
    ) -> Result<Option<String>> {
        Ok(sum.flatten().map(|sum| sum.to_string()))
    }
}

/// Returns the value of a column of decimals for a value of SQL: text and integers exactly, and a
/// REAL, which is no exact number, rounded to the digits of the column.
///
/// # Errors
/// Why the column cannot have it.
pub(crate) fn to_column(
    precision: u8,
    scale: u8,
    value: ValueRef<'_>,
) -> Result<Value<'static>, String> {
    let number = match value {
        ValueRef::Real(number) if number.is_finite() => {
            format!("{number:.*}", usize::from(scale)).parse().ok()
        }
        value => decimal_of(value),
    };
    let number = number.ok_or("it takes decimals of at most 38 digits, such as '12.30'")?;
    match number.rescaled(precision, scale) {
        Some(_) => Ok(Value::Decimal(number)),
        None => Err(format!("it takes {precision} digits, {scale} of them after the point")),
    }
}

/// Returns the decimal that a REAL stands for where it is compared: itself, if it is whole. Of
/// others at most one decimal of 15 digits is nearest to it, and that has its shortest digits.
pub(crate) fn of_real(number: f64) -> Option<Decimal> {
    let whole = Number::Real(number).as_whole().and_then(|whole| Decimal::new(whole, 0));
    whole.or_else(|| decimal_of(ValueRef::Real(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_double_is_that_of_the_text() {
        let digits = [1, 7, 10, 99, 12_345, 333_333_333_333_333, 999_999_999_999_999];
        for scale in 0..=MOST_REAL_DIGITS {
            for unscaled in digits.into_iter().chain([0]).flat_map(|number| [number, -number]) {
                let number = Decimal::new(unscaled, scale).expect("it is short");
                let near: f64 = number.to_string().parse().expect("a number");
                assert_eq!(as_real(number).map(f64::to_bits), Some(near.to_bits()), "{number}");
            }
        }
        assert_eq!(as_real(Decimal::from(1_000_000_000_000_000i64)), None);
    }
}
