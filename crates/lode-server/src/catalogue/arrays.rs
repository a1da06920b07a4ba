//! Arrays of the catalogue: texts like `{1,2}`, whose first element is number 1, or like `1 2`,
//! whose first is number 0 (`int2vector`).

use std::fmt::Write;

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Error, Result};

const FLAGS: FunctionFlags = FunctionFlags::SQLITE_UTF8;

/// An array.
struct Array {
    elements: Vec<Option<String>>,
    /// The number of the first element.
    first: i64,
}

impl Array {
    /// Returns the array that an argument is; none for NULL.
    fn of(context: &Context<'_>, at: usize) -> Option<Self> {
        match context.get_raw(at) {
            ValueRef::Text(text) => Some(Self::parse(&String::from_utf8_lossy(text))),
            ValueRef::Integer(number) => Some(Self::parse(&number.to_string())),
            _ => None,
        }
    }

    fn parse(text: &str) -> Self {
        let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let Some(inner) = inner else {
            let words = text.split_ascii_whitespace();
            return Self { elements: words.map(|word| Some(word.into())).collect(), first: 0 };
        };
        let mut elements = Vec::new();
        let mut element = String::new();
        let mut is_quoted = false;
        let mut was_quoted = false;
        let mut letters = inner.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => (is_quoted, was_quoted) = (!is_quoted, true),
                '\\' => element.extend(letters.next()),
                ',' if !is_quoted => {
                    elements.push(finished(&mut element, was_quoted));
                    was_quoted = false;
                }
                letter => element.push(letter),
            }
        }
        if !inner.is_empty() {
            elements.push(finished(&mut element, was_quoted));
        }
        Self { elements, first: 1 }
    }

    /// Returns the array of the elements as text.
    fn text<'e>(elements: impl Iterator<Item = Option<&'e str>>) -> String {
        let mut text = String::from("{");
        for (at, element) in elements.enumerate() {
            if at > 0 {
                text.push(',');
            }
            let is_special = |letter: char| "{},\"\\".contains(letter) || letter.is_whitespace();
            match element {
                None => text += "NULL",
                Some(plain)
                    if !plain.is_empty()
                        && !plain.contains(is_special)
                        && !plain.eq_ignore_ascii_case("NULL") =>
                {
                    text += plain;
                }
                Some(other) => {
                    let other = other.replace('\\', "\\\\").replace('"', "\\\"");
                    // A text takes all.
                    let _ = write!(text, "\"{other}\"");
                }
            }
        }
        text.push('}');
        text
    }

    /// Returns the array as JSON takes it.
    fn json(&self) -> String {
        let mut text = String::from("[");
        for (at, element) in self.elements.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            match element.as_deref() {
                None => text += "null",
                Some(number) if is_number(number) => text += number,
                Some(other) => put_json(&mut text, other),
            }
        }
        text.push(']');
        text
    }
}

/// Returns the element that was read, and starts another one.
fn finished(element: &mut String, was_quoted: bool) -> Option<String> {
    let element = std::mem::take(element);
    (was_quoted || !element.eq_ignore_ascii_case("NULL")).then_some(element)
}

/// Returns true for a whole number as it is written.
fn is_number(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
}

/// Appends a text as JSON takes it.
pub(super) fn put_json(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
}

/// Returns a value of SQLite as an element.
fn element(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            Some(String::from_utf8_lossy(text).into_owned())
        }
    }
}

/// The most bytes of an array that is gathered, with what each element needs besides.
const MOST_BYTES: usize = 16 << 20;

/// `array_agg`
struct Gathering;

/// The elements so far, and their bytes.
#[derive(Default)]
struct Gathered {
    elements: Vec<Option<String>>,
    bytes: usize,
}

impl Aggregate<Gathered, Option<String>> for Gathering {
    fn init(&self, _: &mut Context<'_>) -> Result<Gathered> {
        Ok(Gathered::default())
    }

    fn step(&self, context: &mut Context<'_>, found: &mut Gathered) -> Result<()> {
        let element = element(context.get_raw(0));
        found.bytes += size_of::<Option<String>>() + element.as_ref().map_or(0, String::len);
        if found.bytes > MOST_BYTES {
            let line = format!("array_agg makes arrays of at most {MOST_BYTES} bytes");
            return Err(Error::UserFunctionError(line.into()));
        }
        found.elements.push(element);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, found: Option<Gathered>) -> Result<Option<String>> {
        Ok(found.map(|found| Array::text(found.elements.iter().map(Option::as_deref))))
    }
}

/// Adds functions of arrays to a connection.
pub(super) fn add_arrays(connection: &Connection) -> Result<()> {
    connection.create_scalar_function("array", -1, FLAGS, |context| {
        let elements: Vec<_> = (0..context.len()).map(|at| element(context.get_raw(at))).collect();
        Ok(Array::text(elements.iter().map(Option::as_deref)))
    })?;
    connection.create_scalar_function("array_at", 2, FLAGS, |context| {
        let Some(array) = Array::of(context, 0) else { return Ok(Value::Null) };
        let place = context.get::<Option<i64>>(1)?.and_then(|at| at.checked_sub(array.first));
        let at = place.and_then(|place| usize::try_from(place).ok());
        let found = at.and_then(|at| array.elements.get(at)).cloned().flatten();
        Ok(found.map_or(Value::Null, |text| {
            if is_number(&text) {
                text.parse().map_or(Value::Null, Value::Integer)
            } else {
                Value::Text(text)
            }
        }))
    })?;
    connection.create_scalar_function("array_json", 1, FLAGS, |context| {
        Ok(Array::of(context, 0).map(|array| array.json()))
    })?;
    for name in ["array_length", "array_upper"] {
        connection.create_scalar_function(name, 2, FLAGS, |context| {
            let array = Array::of(context, 0).filter(|array| !array.elements.is_empty());
            let is_first = context.get::<Option<i64>>(1)? == Some(1);
            Ok(array.filter(|_| is_first).map(|array| array.elements.len() as i64))
        })?;
    }
    connection.create_scalar_function("current_schemas", 1, FLAGS, |context| {
        let is_all = context.get::<Option<bool>>(0)?;
        Ok(is_all.map(|is_all| if is_all { "{pg_catalog,public}" } else { "{public}" }))
    })?;
    connection.create_aggregate_function("array_agg", 1, FLAGS, Gathering)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_as_they_are_written() {
        let elements = [Some("1"), None, Some("NULL"), Some(""), Some("a\"b, \\c"), Some("é")];
        let text = Array::text(elements.into_iter());
        assert_eq!(text, "{1,NULL,\"NULL\",\"\",\"a\\\"b, \\\\c\",é}");
        let array = Array::parse(&text);
        assert_eq!(array.elements.iter().map(Option::as_deref).collect::<Vec<_>>(), elements);
        assert_eq!(array.json(), "[1,null,\"NULL\",\"\",\"a\\\"b, \\\\c\",\"é\"]");
        let vector = Array::parse("1 02");
        assert_eq!((vector.json(), vector.first), ("[1,\"02\"]".into(), 0));
        assert_eq!(Array::parse("{}").elements.len() + Array::parse("").elements.len(), 0);
    }
}
