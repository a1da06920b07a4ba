//! Arrays as SQLite has them: texts like `{1,2}`, whose first element is number 1, or like `1 2`,
//! whose first is number 0 (`int2vector`).

use std::fmt::Write;

use rusqlite::types::Value;

/// An array.
pub(crate) struct Array {
    /// Texts, and whole numbers where they are not in quotes.
    pub elements: Vec<Value>,
    /// The number of the first element.
    pub first: i64,
}

impl Array {
    /// Reads an array.
    pub(crate) fn parse(text: &str) -> Self {
        let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let Some(inner) = inner else {
            let words = text.split_ascii_whitespace();
            return Self { elements: words.map(number_or_text).collect(), first: 0 };
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
                space if !is_quoted && space.is_whitespace() => {
                    if !was_quoted && !element.is_empty() {
                        element.push(space);
                    }
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
    pub(crate) fn text(elements: &[Value]) -> String {
        let is_special = |letter: char| "{},\"\\".contains(letter) || letter.is_whitespace();
        let needs_quotes = |text: &str| {
            let is_null = text.eq_ignore_ascii_case("NULL");
            text.is_empty() || is_null || is_number(text) || text.contains(is_special)
        };
        let texts = elements.iter().map(|element| match element {
            Value::Null => "NULL".into(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Text(text) if needs_quotes(text) => {
                format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
            Value::Text(text) => text.clone(),
            Value::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        });
        format!("{{{}}}", texts.collect::<Vec<_>>().join(","))
    }

    /// Returns the array as JSON takes it.
    pub(crate) fn json(&self) -> String {
        let mut text = String::from("[");
        for (at, element) in self.elements.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            match element {
                Value::Integer(number) => text += &number.to_string(),
                Value::Text(other) => put_json(&mut text, other),
                _ => text += "null",
            }
        }
        text.push(']');
        text
    }
}

/// Returns the element that was read, and starts another one. White space around it is left out.
fn finished(element: &mut String, was_quoted: bool) -> Value {
    let element = std::mem::take(element);
    match element.trim_end() {
        _ if was_quoted => Value::Text(element),
        null if null.eq_ignore_ascii_case("NULL") => Value::Null,
        other => number_or_text(other),
    }
}

fn number_or_text(text: &str) -> Value {
    let number = text.parse().ok().filter(|_| is_number(text));
    number.map_or_else(|| Value::Text(text.into()), Value::Integer)
}

/// Returns true for a whole number as it is written.
fn is_number(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
}

/// Appends a text as JSON takes it.
pub(crate) fn put_json(out: &mut String, text: &str) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_as_they_are_written() {
        let texts = ["NULL", "", "7", "a\"b, \\c", "é"].map(|text| Value::Text(text.into()));
        let elements = [&[Value::Integer(1), Value::Null][..], &texts].concat();
        let text = Array::text(&elements);
        assert_eq!(text, "{1,NULL,\"NULL\",\"\",\"7\",\"a\\\"b, \\\\c\",é}");
        let array = Array::parse(&text);
        assert_eq!(array.elements, elements);
        assert_eq!(array.json(), "[1,null,\"NULL\",\"\",\"7\",\"a\\\"b, \\\\c\",\"é\"]");
        let spaced = Array::parse("{ 1 , \" a \" ,b c, null }");
        assert_eq!(spaced.json(), "[1,\" a \",\"b c\",null]");
        let vector = Array::parse("1 02");
        assert_eq!((vector.json(), vector.first), ("[1,\"02\"]".into(), 0));
        assert_eq!(Array::parse("{}").elements.len() + Array::parse("").elements.len(), 0);
    }
}
