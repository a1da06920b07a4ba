//! Lines that a client sends, piece by piece.

use std::mem;

use crate::copy::{Field, Format};

/// The place in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Plain,
    /// In quotes of CSV.
    Quotes,
    /// After a quote in quotes, which is the end or the first of two.
    Quote,
    /// After a backslash of the text format.
    Backslash,
}

/// A reader of lines in pieces.
pub(crate) struct Reader {
    format: Format,
    inside: Inside,
    field: Vec<u8>,
    /// True if the field has been in quotes: then it is not NULL.
    is_quoted: bool,
    fields: Vec<Field>,
    most_fields: usize,
    line_bytes: usize,
    most_bytes: usize,
    /// True after a carriage return, which is dropped before a line feed.
    after_return: bool,
    /// True after the line `\.`, which ends the data.
    is_over: bool,
}

impl Reader {
    /// Makes a reader of lines with at most `most_fields` fields and `most_bytes` bytes.
    pub(crate) fn new(format: Format, most_fields: usize, most_bytes: usize) -> Self {
        Self {
            format,
            inside: Inside::Plain,
            field: Vec::new(),
            is_quoted: false,
            fields: Vec::new(),
            most_fields,
            line_bytes: 0,
            most_bytes,
            after_return: false,
            is_over: false,
        }
    }

    /// Takes a piece, and calls `each` with the fields of each line that it ends.
    ///
    /// # Errors
    /// Those of `each`, and a text for a line with too many bytes or fields.
    pub(crate) fn take<E: From<String>>(
        &mut self,
        piece: &[u8],
        each: &mut dyn FnMut(&[Field]) -> Result<(), E>,
    ) -> Result<(), E> {
        for byte in piece {
            if self.is_over {
                return Ok(());
            }
            self.line_bytes += 1;
            if self.line_bytes > self.most_bytes {
                return Err(format!("a line has more than {} bytes", self.most_bytes).into());
            }
            if self.take_byte(*byte) {
                self.end_line(each)?;
            }
            // Fields may be empty: so there could be many in a line that is not long.
            if self.fields.len() > self.most_fields {
                return Err(format!("it has more than {} fields", self.most_fields).into());
            }
        }
        Ok(())
    }

    /// Takes the end, which may be that of a line without a line feed.
    ///
    /// # Errors
    /// Those of `each`, and a text for a quote that is not closed.
    pub(crate) fn end<E: From<String>>(
        &mut self,
        each: &mut dyn FnMut(&[Field]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.inside == Inside::Quotes {
            return Err(String::from("the last line has a quote that is not closed").into());
        }
        if self.is_over || self.line_bytes == 0 {
            return Ok(());
        }
        self.end_line(each)
    }

    fn end_line<E>(&mut self, each: &mut dyn FnMut(&[Field]) -> Result<(), E>) -> Result<(), E> {
        let is_end = self.fields.is_empty() && !self.is_quoted && self.field == b"\\.";
        self.end_field();
        let fields = mem::take(&mut self.fields);
        (self.inside, self.line_bytes, self.after_return) = (Inside::Plain, 0, false);
        if is_end {
            self.is_over = true;
            return Ok(());
        }
        each(&fields)?;
        // Its memory is for the next line.
        self.fields = fields;
        self.fields.clear();
        Ok(())
    }

    fn end_field(&mut self) {
        let bytes = mem::take(&mut self.field);
        let is_null = !self.is_quoted && bytes == self.format.null.as_bytes();
        let field = match (is_null, self.format.is_csv) {
            (true, _) => None,
            (false, true) => Some(bytes),
            (false, false) => Some(without_escapes(&bytes)),
        };
        self.fields.push(field);
        self.is_quoted = false;
    }

    /// Takes a byte; returns true if it ends a line.
    fn take_byte(&mut self, byte: u8) -> bool {
        let Format { is_csv, delimiter, quote, .. } = self.format;
        if mem::take(&mut self.after_return) && byte != b'\n' {
            self.field.push(b'\r');
        }
        match self.inside {
            Inside::Backslash => {
                // The escape is looked at when the field is whole.
                self.field.push(byte);
                self.inside = Inside::Plain;
            }
            Inside::Quotes if byte == quote => self.inside = Inside::Quote,
            Inside::Quotes => self.field.push(byte),
            Inside::Quote if byte == quote => {
                self.field.push(byte);
                self.inside = Inside::Quotes;
            }
            Inside::Quote | Inside::Plain => {
                self.inside = Inside::Plain;
                return self.plain(byte, is_csv, delimiter, quote);
            }
        }
        false
    }

    fn plain(&mut self, byte: u8, is_csv: bool, delimiter: u8, quote: u8) -> bool {
        match byte {
            b'\n' => return true,
            b'\r' => self.after_return = true,
            _ if byte == delimiter => self.end_field(),
            _ if is_csv && byte == quote => {
                self.inside = Inside::Quotes;
                self.is_quoted = true;
            }
            b'\\' if !is_csv => {
                self.field.push(byte);
                self.inside = Inside::Backslash;
            }
            _ => self.field.push(byte),
        }
        false
    }
}

/// Returns a field of the text format without its backslashes.
fn without_escapes(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let Some((next, after)) = rest.split_first().filter(|_| *first == b'\\') else {
            bytes.push(*first);
            continue;
        };
        rest = after;
        match next {
            b'b' => bytes.push(8),
            b'f' => bytes.push(12),
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'v' => bytes.push(11),
            b'0'..=b'7' => {
                let (value, used) = number([&[*next], rest].concat().as_slice(), 3, 8);
                bytes.push(value);
                rest = &rest[used - 1..];
            }
            b'x' if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
                let (value, used) = number(rest, 2, 16);
                bytes.push(value);
                rest = &rest[used..];
            }
            other => bytes.push(*other),
        }
    }
    bytes
}

/// Returns the number of at most `most` digits at the start, and how many these are.
fn number(text: &[u8], most: usize, radix: u32) -> (u8, usize) {
    let digits = text.iter().take(most).map_while(|byte| char::from(*byte).to_digit(radix));
    let digits: Vec<_> = digits.collect();
    let value = digits.iter().fold(0_u32, |value, digit| value * radix + digit);
    ((value & 0xff) as u8, digits.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(
        format: &Format,
        text: &str,
        piece: usize,
    ) -> Result<Vec<Vec<Option<String>>>, String> {
        let mut found = Vec::new();
        let mut reader = Reader::new(format.clone(), 3, 100);
        let mut each = |fields: &[Field]| {
            let text = |field: &Field| {
                field.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            };
            found.push(fields.iter().map(text).collect());
            Ok::<(), String>(())
        };
        for piece in text.as_bytes().chunks(piece) {
            reader.take(piece, &mut each)?;
        }
        reader.end(&mut each)?;
        Ok(found)
    }

    #[test]
    fn lines_are_read_in_pieces_of_any_size() {
        let some = |text: &str| Some(text.to_string());
        for piece in 1..9 {
            let text = "1\ta\\tb\\\\\\N\r\n\\N\t\\x41\\102\\\nc\n\\.\nmore\n";
            let expected = vec![vec![some("1"), some("a\tb\\N")], vec![None, some("AB\nc")]];
            assert_eq!(lines(&Format::of(false), text, piece), Ok(expected));
            let text = "1,\"a\"\"b,\nc\",\r\n\"\",\\N,x\"y\"z";
            let expected = vec![
                vec![some("1"), some("a\"b,\nc"), None],
                vec![some(""), some("\\N"), some("xyz")],
            ];
            assert_eq!(lines(&Format::of(true), text, piece), Ok(expected));
        }
        assert!(lines(&Format::of(true), "\"open", 3).is_err());
        assert!(lines(&Format::of(true), &"a".repeat(101), 3).is_err());
        let many = lines(&Format::of(true), "1,2,3\n1,2,3,4,", 3).expect_err("no end is needed");
        assert_eq!(many, "it has more than 3 fields");
        assert_eq!(lines(&Format::of(true), "", 3), Ok(vec![]));
    }
}
