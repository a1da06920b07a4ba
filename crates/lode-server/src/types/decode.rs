//! Values of parameters.

use lode::Decimal;
use rusqlite::types::Value;

use crate::refusal::{BAD_TIME, INVALID_BINARY, INVALID_TEXT, NOT_SUPPORTED, Refusal};
use crate::types::array::Array;
use crate::types::encode::Form;
use crate::types::{Kind, Taken, numeric, time};

/// Returns the value of a parameter, which is not NULL. An array becomes a text.
pub(crate) fn value(taken: Taken, form: Form, bytes: &[u8]) -> Result<Value, Refusal> {
    match form {
        Form::Text => {
            let text = str::from_utf8(bytes)
                .map_err(|_| Refusal::new(crate::refusal::NOT_UTF8, "a parameter is not UTF-8"))?;
            if taken.is_array { array_of_text(taken.kind, text) } else { of_text(taken.kind, text) }
        }
        Form::Binary if taken.is_array => array_of_binary(bytes),
        Form::Binary => of_binary(taken.oid, bytes),
    }
}

/// Returns the array that a text like `{1,NULL}` means.
fn array_of_text(kind: Kind, text: &str) -> Result<Value, Refusal> {
    let text = text.trim();
    let inner = text.strip_prefix('{').filter(|inner| inner.ends_with('}'));
    if inner.is_none_or(|inner| inner.starts_with('{')) {
        let shown: String = text.chars().take(80).collect();
        let line = format!("\"{shown}\" is no array of one dimension, such as {{1,2}}");
        return Err(Refusal::new(INVALID_TEXT, line));
    }
    let elements = Array::parse(text).elements.into_iter();
    array(elements.map(|element| match element {
        Value::Integer(number) => of_text(kind, &number.to_string()),
        Value::Text(text) => of_text(kind, &text),
        other => Ok(other),
    }))
}

/// Returns an array in binary form: how many dimensions it has, if there is a NULL, and the type of
/// the elements; for each dimension its length and the number of its first element; the elements,
/// each after its length, which is −1 for NULL.
fn array_of_binary(bytes: &[u8]) -> Result<Value, Refusal> {
    let wrong = || {
        let line = format!("a parameter of {} bytes is no array of one dimension", bytes.len());
        Refusal::new(INVALID_BINARY, line)
    };
    let mut rest = bytes;
    let number = |rest: &mut &[u8]| {
        let (first, after) = rest.split_first_chunk().ok_or_else(wrong)?;
        *rest = after;
        Ok::<_, Refusal>(i32::from_be_bytes(*first))
    };
    let dimensions = number(&mut rest)?;
    number(&mut rest)?;
    let oid = number(&mut rest)? as u32;
    let count = match dimensions {
        0 => 0,
        1 => {
            let count = number(&mut rest)?;
            number(&mut rest)?;
            count
        }
        _ => return Err(wrong()),
    };
    let mut elements = Vec::new();
    for _ in 0..count {
        let size = number(&mut rest)?;
        let Ok(size) = usize::try_from(size) else {
            elements.push(Ok(Value::Null));
            continue;
        };
        let (element, after) = rest.split_at_checked(size).ok_or_else(wrong)?;
        rest = after;
        elements.push(of_binary(oid, element));
    }
    if rest.is_empty() { array(elements.into_iter()) } else { Err(wrong()) }
}

/// Returns the array of values as SQLite has it.
fn array(values: impl Iterator<Item = Result<Value, Refusal>>) -> Result<Value, Refusal> {
    let elements = values.collect::<Result<Vec<_>, _>>()?;
    if elements.iter().any(|element| matches!(element, Value::Blob(_))) {
        let line = "arrays of bytea are not supported as parameters; write IN ($1, $2)";
        return Err(Refusal::new(NOT_SUPPORTED, line));
    }
    Ok(Value::Text(Array::text(&elements)))
}

/// Returns the value that a text means for a type.
pub(crate) fn of_text(kind: Kind, text: &str) -> Result<Value, Refusal> {
    let wrong = || {
        let shown: String = text.chars().take(80).collect();
        let code = if kind == Kind::Time { BAD_TIME } else { INVALID_TEXT };
        Refusal::new(code, format!("invalid input for type {}: \"{shown}\"", kind.name()))
    };
    let trimmed = text.trim();
    Ok(match kind {
        Kind::Text => Value::Text(text.into()),
        Kind::Int => Value::Integer(trimmed.parse().map_err(|_| wrong())?),
        Kind::Bool => match &trimmed.to_ascii_lowercase()[..] {
            "t" | "true" | "1" | "on" | "y" | "yes" => Value::Integer(1),
            "f" | "false" | "0" | "off" | "n" | "no" => Value::Integer(0),
            _ => return Err(wrong()),
        },
        Kind::Float => float(trimmed.parse().map_err(|_| wrong())?)?,
        Kind::Time => Value::Integer(time::parse(trimmed).ok_or_else(wrong)?),
        Kind::Bytes => Value::Blob(bytes_of(text).ok_or_else(wrong)?),
        Kind::Numeric => decimal(trimmed).ok_or_else(wrong)?,
    })
}

fn float(number: f64) -> Result<Value, Refusal> {
    if number.is_nan() {
        Err(Refusal::new("22000", "SQLite has no NaN; it would be NULL"))
    } else {
        Ok(Value::Real(number))
    }
}

/// The most digits that a double has of any decimal.
const EXACT_DIGITS: usize = 15;

/// Returns a decimal as a whole number, as a double that means no other one, or as text.
fn decimal(text: &str) -> Option<Value> {
    if let Ok(whole) = text.parse() {
        return Some(Value::Integer(whole));
    }
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
    let front = text.split(['e', 'E']).next()?;
    if front.bytes().filter(u8::is_ascii_digit).count() <= EXACT_DIGITS {
        return Some(Value::Real(number));
    }
    // Without the exponent; a number with more digits than columns have stays as it is.
    let plain = text.parse::<Decimal>().map(|number| number.to_string());
    Some(Value::Text(plain.unwrap_or_else(|_| text.into())))
}

/// Returns the bytes that a text means: `\x` and hexadecimal digits, or characters and escapes as
/// PostgreSQL had them earlier.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    if let Some(hex) = text.strip_prefix("\\x") {
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let pairs = hex.as_bytes().chunks(2);
        return pairs.map(|two| Some(digit(two[0])? << 4 | digit(*two.get(1)?)?)).collect();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
        } else if let Some(after) = rest.strip_prefix(b"\\") {
            bytes.push(b'\\');
            rest = after;
        } else {
            let (octal, after) = rest.split_at_checked(3)?;
            bytes.push(u8::from_str_radix(str::from_utf8(octal).ok()?, 8).ok()?);
            rest = after;
        }
    }
    Some(bytes)
}

/// Returns the value of a parameter in binary form.
fn of_binary(oid: u32, bytes: &[u8]) -> Result<Value, Refusal> {
    let wrong = || {
        let count = bytes.len();
        Refusal::new(INVALID_BINARY, format!("no parameter of type {oid} has these {count} bytes"))
    };
    fn number<const BYTES: usize>(bytes: &[u8]) -> Option<[u8; BYTES]> {
        bytes.try_into().ok()
    }
    let since_2000 = |us: i64| us.checked_add(time::EPOCH_US).map(Value::Integer);
    let value = match oid {
        16 => number(bytes).map(|[byte]| Value::Integer(i64::from(byte != 0))),
        20 => number(bytes).map(|bytes| Value::Integer(i64::from_be_bytes(bytes))),
        21 => number(bytes).map(|bytes| Value::Integer(i16::from_be_bytes(bytes).into())),
        23 => number(bytes).map(|bytes| Value::Integer(i32::from_be_bytes(bytes).into())),
        26 => number(bytes).map(|bytes| Value::Integer(u32::from_be_bytes(bytes).into())),
        700 => return float(f32::from_be_bytes(number(bytes).ok_or_else(wrong)?).into()),
        701 => return float(f64::from_be_bytes(number(bytes).ok_or_else(wrong)?)),
        17 => Some(Value::Blob(bytes.into())),
        1082 => number(bytes).and_then(|bytes| {
            since_2000(i64::from(i32::from_be_bytes(bytes)).checked_mul(time::DAY_US)?)
        }),
        1114 | 1184 => number(bytes).and_then(|bytes| since_2000(i64::from_be_bytes(bytes))),
        1700 => numeric::text(bytes).and_then(|text| decimal(&text)),
        18 | 19 | 25 | 114 | 142 | 705 | 1042 | 1043 => {
            let text = str::from_utf8(bytes).ok();
            text.map(|text| Value::Text(text.into()))
        }
        _ => {
            let line = format!("parameters of type {oid} are taken as text only");
            return Err(Refusal::new(NOT_SUPPORTED, line));
        }
    };
    value.ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_mean_what_postgresql_takes_them_for() {
        let blob = |text: &str| of_text(Kind::Bytes, text).ok();
        assert_eq!(blob("\\x00fF"), Some(Value::Blob(vec![0, 255])));
        assert_eq!(blob("a\\\\\\001"), Some(Value::Blob(vec![b'a', b'\\', 1])));
        for wrong in ["\\x0", "\\xzz", "\\9", "\\400"] {
            assert_eq!(blob(wrong), None, "{wrong}");
        }
        assert_eq!(of_text(Kind::Bool, "TRUE"), Ok(Value::Integer(1)));
        assert_eq!(of_text(Kind::Numeric, "12.30"), Ok(Value::Real(12.3)));
        let long = "1234567890123456.7";
        assert_eq!(of_text(Kind::Numeric, long), Ok(Value::Text(long.into())));
        let scientific = of_text(Kind::Numeric, "-1.23456789012345678901e5");
        assert_eq!(scientific, Ok(Value::Text("-123456.789012345678901".into())));
        assert_eq!(of_text(Kind::Numeric, "1.5e300"), Ok(Value::Real(1.5e300)));
        let refused = of_text(Kind::Int, "1.5").expect_err("no whole number");
        assert_eq!(refused.code, INVALID_TEXT);
        let taken = |oid| Taken::of_oid(oid).expect("a type");
        let value = |oid, bytes| value(taken(oid), Form::Binary, bytes);
        assert_eq!(value(23, &[0, 0, 1, 0]), Ok(Value::Integer(256)));
        assert!(value(23, &[0; 8]).is_err());
        assert!(value(2950, &[0; 16]).is_err());
    }

    #[test]
    fn arrays_become_texts() {
        let of_text = |kind, text: &str| {
            value(Taken::array_of(kind), Form::Text, text.as_bytes()).map_err(|why| why.code)
        };
        let text = |text: &str| Ok(Value::Text(text.into()));
        assert_eq!(of_text(Kind::Int, " {1, NULL,-3} "), text("{1,NULL,-3}"));
        assert_eq!(of_text(Kind::Bool, "{t,f}"), text("{1,0}"));
        assert_eq!(of_text(Kind::Time, "{\"1970-01-01 00:00:01Z\"}"), text("{1000000}"));
        assert_eq!(of_text(Kind::Text, "{\"a,b\",\"NULL\"}"), text("{\"a,b\",\"NULL\"}"));
        assert_eq!(of_text(Kind::Text, "{}"), text("{}"));
        for wrong in ["", "{", "1", "{1", "{{1}}", "{a}"] {
            assert_eq!(of_text(Kind::Int, wrong), Err(INVALID_TEXT), "{wrong}");
        }
        assert_eq!(of_text(Kind::Bytes, "{a}"), Err(NOT_SUPPORTED));

        let binary = |numbers: &[i32]| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
            let taken = Taken::array_of(Kind::Int);
            value(taken, Form::Binary, &bytes).map_err(|why| why.code)
        };
        assert_eq!(binary(&[1, 1, 23, 3, 1, 4, 7, -1, 4, -8]), text("{7,NULL,-8}"));
        assert_eq!(binary(&[0, 0, 23]), text("{}"));
        assert_eq!(binary(&[1, 0, 17, 1, 1, 4, 7]), Err(NOT_SUPPORTED));
        for wrong in [
            &[][..],
            &[1, 0, 23, 1, 1],
            &[1, 0, 23, 1, 1, 4],
            &[1, 0, 23, 1, 1, 8, 7],
            &[1, 0, 23, 1, 1, 4, 7, 8],
            &[1, 0, 23, i32::MAX, 1, 4, 7],
            &[2, 0, 23, 1, 1, 1, 1, 4, 7],
            &[-1, 0, 23],
        ] {
            assert_eq!(binary(wrong), Err(INVALID_BINARY), "{wrong:?}");
        }
    }
}
