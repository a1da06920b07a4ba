//! The place of a value of SQL among the values of a column of a key.
//!
//! SQLite compares a column with anything: a column of whole numbers with 2.5, with text that looks
//! like a number, or with bytes. Numbers are below text, text is below bytes; a column of numbers
//! turns text that looks like a number into one first (Datatypes In SQLite, 4.2).
//!
//! So a value becomes two *cuts* between the values of the column: what equals it is between them.

use lode::{Decimal, Type, Value};
use rusqlite::types::ValueRef;

use crate::values::collation::parse;
use crate::values::decimal::{Form, of_real};
use crate::values::number::Number;

/// A place between two neighbouring values of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cut<'v> {
    /// The cut before all values.
    Lowest,
    Before(Value<'v>),
    After(Value<'v>),
    /// The cut after all values.
    Highest,
}

/// The place of a value among those of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Position<'v> {
    /// NULL, which compares with nothing.
    Null,
    /// Two cuts: what equals the value is between them, what is less before `start`, what is
    /// greater after `end`.
    Span { start: Cut<'v>, end: Cut<'v> },
    /// A value that no value of the column equals. Its place is not known.
    Absent,
    /// A value of which it is not known how SQLite compares it.
    Unknown,
}

/// Returns true if the cuts of every value say exactly what SQLite's comparison does, so that it
/// need not compare again.
pub(crate) fn is_exact(kind: Type) -> bool {
    bounds(kind).is_some() || is_float(kind)
}

/// Returns true if a type has two zeros, which are one to SQLite.
pub(crate) fn is_float(kind: Type) -> bool {
    matches!(kind, Type::F32 | Type::F64)
}

/// Returns true if at most one value of a column equals any value. (Text that is compared with a
/// number may be compared as a number; and there are two zeros.)
pub(crate) fn is_single(kind: Type) -> bool {
    !matches!(kind, Type::Text(_) | Type::VarText(_) | Type::F32 | Type::F64)
}

/// Finds the place of a value among those of a type.
pub(crate) fn position(kind: Type, value: ValueRef<'_>) -> Position<'_> {
    match (kind, value) {
        (_, ValueRef::Null) => Position::Null,
        (Type::Decimal { precision, scale }, value) => of_decimal(precision, scale, value),
        (Type::Text(most) | Type::VarText(most), ValueRef::Text(text)) => {
            let is_padded = matches!(kind, Type::Text(_)) && text.ends_with(b"\0");
            match str::from_utf8(text) {
                Ok(text) if text.len() <= most as usize && !is_padded => at(Value::Text(text)),
                Ok(_) => Position::Absent,
                Err(_) => Position::Unknown,
            }
        }
        (Type::Text(_) | Type::VarText(_), ValueRef::Blob(_)) => all_less(),
        (Type::Text(_) | Type::VarText(_), _) => Position::Unknown,
        (Type::Bytes(size), ValueRef::Blob(bytes)) => {
            if bytes.len() == size as usize {
                at(Value::Bytes(bytes))
            } else {
                Position::Absent
            }
        }
        (Type::VarBytes(most), ValueRef::Blob(bytes)) => match bytes.get(..most as usize) {
            Some(front) if bytes.len() > front.len() => after(Value::Bytes(front)),
            _ => at(Value::Bytes(bytes)),
        },
        // `GLOB 'a*'` finds bytes that start like that, too; but SQLite passes it on as a range of
        // text, in which no bytes are.
        (Type::Bytes(_) | Type::VarBytes(_), ValueRef::Text(_)) => Position::Absent,
        (Type::Bytes(_) | Type::VarBytes(_), _) => all_greater(),
        (_, ValueRef::Blob(_)) => all_less(),
        (_, ValueRef::Integer(number)) => of_number(kind, Number::Whole(number)),
        (_, ValueRef::Real(number)) => of_number(kind, Number::Real(number)),
        (_, ValueRef::Text(text)) => match Number::parse(text) {
            Some(number) => of_number(kind, number),
            None => all_less(),
        },
    }
}

/// Returns the position of a value that exactly one value equals.
pub(crate) fn at(value: Value<'_>) -> Position<'_> {
    Position::Span { start: Cut::Before(value), end: Cut::After(value) }
}

/// Returns the position between this value and the next one.
pub(crate) fn after(value: Value<'_>) -> Position<'_> {
    Position::Span { start: Cut::After(value), end: Cut::After(value) }
}

pub(crate) fn all_less() -> Position<'static> {
    Position::Span { start: Cut::Highest, end: Cut::Highest }
}

pub(crate) fn all_greater() -> Position<'static> {
    Position::Span { start: Cut::Lowest, end: Cut::Lowest }
}

/// Finds where a value of SQL stands among those of a key column of decimals.
fn of_decimal(precision: u8, scale: u8, value: ValueRef<'_>) -> Position<'static> {
    let number = match Form::of(precision, scale) {
        Form::Text => match value {
            ValueRef::Integer(number) => Some(Decimal::from(number)),
            ValueRef::Text(text) => str::from_utf8(text).ok().and_then(parse),
            // SQLite makes a text of it first, which may have fewer digits.
            _ => None,
        },
        Form::Integer | Form::Real => {
            let number = match value {
                ValueRef::Integer(number) => Some(Number::Whole(number)),
                ValueRef::Real(number) => Some(Number::Real(number)),
                ValueRef::Text(text) => Number::parse(text),
                _ => None,
            };
            match number {
                // Numbers are below text, and text is below bytes.
                None => return all_less(),
                Some(Number::Whole(number)) => Some(Decimal::from(number)),
                Some(Number::Real(number)) => match of_real(number) {
                    None if number >= 1.0 => return all_less(),
                    None if number <= -1.0 => return all_greater(),
                    near => near,
                },
            }
        }
    };
    let Some(number) = number else { return Position::Unknown };
    if number.rescaled(precision, scale).is_some() {
        return at(Value::Decimal(number));
    }
    match number.floor_to(scale).filter(|floor| floor.rescaled(precision, scale).is_some()) {
        Some(floor) => after(Value::Decimal(floor)),
        None if number < Decimal::from(0i64) => all_greater(),
        None => all_less(),
    }
}

fn of_number(kind: Type, number: Number) -> Position<'static> {
    match kind {
        Type::F32 | Type::F64 => match number.floor_float(kind == Type::F32) {
            (0.0, true) => Position::Span {
                start: Cut::Before(Value::Float(-0.0)),
                end: Cut::After(Value::Float(0.0)),
            },
            (floor, true) => at(Value::Float(floor)),
            (floor, false) => after(Value::Float(floor)),
        },
        _ => {
            let Some((least, most)) = bounds(kind) else { return Position::Unknown };
            match number.floor() {
                (floor, _) if floor < least => all_greater(),
                (floor, _) if floor > most => all_less(),
                (floor, true) => at(whole(kind, floor)),
                (floor, false) => after(whole(kind, floor)),
            }
        }
    }
}

/// Returns the least and the greatest value of a type of whole numbers.
pub(crate) fn bounds(kind: Type) -> Option<(i128, i128)> {
    Some(match kind {
        Type::U8 => (0, u8::MAX.into()),
        Type::U16 => (0, u16::MAX.into()),
        Type::U32 => (0, u32::MAX.into()),
        Type::U64 => (0, u64::MAX.into()),
        Type::I8 => (i8::MIN.into(), i8::MAX.into()),
        Type::I16 => (i16::MIN.into(), i16::MAX.into()),
        Type::I32 => (i32::MIN.into(), i32::MAX.into()),
        Type::I64 | Type::Timestamp => (i64::MIN.into(), i64::MAX.into()),
        Type::Bool => (0, 1),
        _ => return None,
    })
}

/// Turns a whole number within the bounds of a type into its value.
pub(crate) fn whole(kind: Type, number: i128) -> Value<'static> {
    match kind {
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Value::Unsigned(number as u64),
        Type::Timestamp => Value::Timestamp(number as i64),
        Type::Bool => Value::Bool(number != 0),
        _ => Value::Signed(number as i64),
    }
}

/// Turns a whole number into a value of a type of whole numbers; `None` if it has no such value.
/// Most numbers are found so, without a look at what else a value could be.
pub(crate) fn same_number(kind: Type, number: i64) -> Option<Value<'static>> {
    let unsigned = |most: u64| u64::try_from(number).ok().filter(|number| *number <= most);
    let signed = |most: i64| (-most - 1 <= number && number <= most).then_some(number);
    match kind {
        Type::U8 => unsigned(u8::MAX.into()).map(Value::Unsigned),
        Type::U16 => unsigned(u16::MAX.into()).map(Value::Unsigned),
        Type::U32 => unsigned(u32::MAX.into()).map(Value::Unsigned),
        Type::U64 => unsigned(u64::MAX).map(Value::Unsigned),
        Type::I8 => signed(i8::MAX.into()).map(Value::Signed),
        Type::I16 => signed(i16::MAX.into()).map(Value::Signed),
        Type::I32 => signed(i32::MAX.into()).map(Value::Signed),
        Type::I64 => Some(Value::Signed(number)),
        Type::Timestamp => Some(Value::Timestamp(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_value_of_a_column_lies_between_two() {
        let int = |number| position(Type::U8, ValueRef::Integer(number));
        assert_eq!(int(7), at(Value::Unsigned(7)));
        assert_eq!((int(-1), int(256)), (all_greater(), all_less()));
        let real = |number| position(Type::I8, ValueRef::Real(number));
        assert_eq!((real(7.0), real(-7.5)), (at(Value::Signed(7)), after(Value::Signed(-8))));
        assert_eq!((real(1e300), real(f64::NEG_INFINITY)), (all_less(), all_greater()));
        let text = |text: &'static str| position(Type::I8, ValueRef::Text(text.as_bytes()));
        assert_eq!((text(" 7 "), text("7x")), (at(Value::Signed(7)), all_less()));
        assert_eq!(position(Type::I8, ValueRef::Blob(b"")), all_less());
        assert_eq!(position(Type::VarBytes(2), ValueRef::Blob(b"abc")), after(Value::Bytes(b"ab")));
        assert_eq!(position(Type::VarBytes(2), ValueRef::Integer(7)), all_greater());
        assert_eq!(position(Type::VarBytes(2), ValueRef::Text(b"a")), Position::Absent);
        assert_eq!(position(Type::Text(2), ValueRef::Text(b"a\0")), Position::Absent);
        assert_eq!(position(Type::VarText(2), ValueRef::Integer(5)), Position::Unknown);
    }

    #[test]
    fn what_is_found_quickly_is_what_is_found() {
        let kinds = [Type::U8, Type::U16, Type::U32, Type::U64, Type::I8, Type::I16, Type::I32];
        let kinds = [&kinds[..], &[Type::I64, Type::Timestamp]].concat();
        let near = |number: i128| (-2..=2).map(move |off| number + off);
        for kind in kinds {
            let (least, most) = bounds(kind).expect("whole numbers");
            let numbers = near(least).chain(near(most)).chain(near(0));
            for number in numbers.filter_map(|number| i64::try_from(number).ok()) {
                let is_value = (least..=most).contains(&number.into());
                let value = is_value.then(|| whole(kind, number.into()));
                assert_eq!(same_number(kind, number), value, "{kind:?} {number}");
            }
        }
        assert_eq!(same_number(Type::F64, 1), None);
    }

    #[test]
    fn floats_are_compared_exactly() {
        let whole = |number| position(Type::F64, ValueRef::Integer(number));
        let most = (1i64 << 53) as f64;
        assert_eq!(whole(1 << 53), at(Value::Float(most)));
        assert_eq!(whole((1 << 53) + 1), after(Value::Float(most)));
        let real = |number| position(Type::F32, ValueRef::Real(number));
        assert_eq!(real(0.5), at(Value::Float(0.5)));
        assert_eq!(real(0.1), after(Value::Float(0.1f32.next_down().into())));
        assert_eq!(real(1e39), after(Value::Float(f32::MAX.into())));
        assert_eq!(
            real(0.0),
            Position::Span {
                start: Cut::Before(Value::Float(-0.0)),
                end: Cut::After(Value::Float(0.0))
            }
        );
    }
}
