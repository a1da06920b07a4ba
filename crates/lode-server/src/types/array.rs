//! Arrays as SQLite has them: texts like `{1,2}`, whose first element is number 1, or like `1 2`,
//! whose first is number 0 (`int2vector`).

use std::fmt::Write;

/// An array.
pub(crate) struct Array {
    pub elements: Vec<Option<String>>,
    /// The number of the first element.
    pub first: i64,
}

impl Array {
    /// Reads an array.
    pub(crate) fn parse(text: &str) -> Self {
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
    pub(crate) fn text<'e>(elements: impl Iterator<Item = Option<&'e str>>) -> String {
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
    pub(crate) fn json(&self) -> String {
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

/// Returns the element that was read, and starts another one. White space around it is left out.
fn finished(element: &mut String, was_quoted: bool) -> Option<String> {
    let mut element = std::mem::take(element);
    if !was_quoted {
        element.truncate(element.trim_end().len());
    }
    (was_quoted || !element.eq_ignore_ascii_case("NULL")).then_some(element)
}

/// Returns true for a whole number as it is written.
pub(crate) fn is_number(text: &str) -> bool {
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
        let elements = [Some("1"), None, Some("NULL"), Some(""), Some("a\"b, \\c"), Some("é")];
        let text = Array::text(elements.into_iter());
        assert_eq!(text, "{1,NULL,\"NULL\",\"\",\"a\\\"b, \\\\c\",é}");
        let array = Array::parse(&text);
        assert_eq!(array.elements.iter().map(Option::as_deref).collect::<Vec<_>>(), elements);
        assert_eq!(array.json(), "[1,null,\"NULL\",\"\",\"a\\\"b, \\\\c\",\"é\"]");
        let spaced = Array::parse("{ 1 , \" a \" ,b c, null }").elements;
        assert_eq!(spaced, [Some("1".into()), Some(" a ".into()), Some("b c".into()), None]);
        let vector = Array::parse("1 02");
        assert_eq!((vector.json(), vector.first), ("[1,\"02\"]".into(), 0));
        assert_eq!(Array::parse("{}").elements.len() + Array::parse("").elements.len(), 0);
    }
}
