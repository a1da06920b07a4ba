//! Taking CSV apart into lines of fields.

use std::io::{self, BufRead};

use crate::error::{Error, Result};

/// The most bytes of a line: more than any record has, with all of its bytes in hex.
const MOST_LINE_BYTES: usize = 4 << 20;

/// The fields of a line, as they are without their quotes. It is used again for each line.
#[derive(Default)]
pub(super) struct Line {
    /// The number of its first line in the file, counted from 1.
    pub(super) number: u64,
    bytes: Vec<u8>,
    /// The end of each field, and true if the field had quotes.
    ends: Vec<(usize, bool)>,
}

/// A field of a line.
#[derive(Clone, Copy)]
pub(super) struct FieldText<'l> {
    pub(super) bytes: &'l [u8],
    pub(super) is_quoted: bool,
}

impl Line {
    /// Returns the number of fields.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a field of the line.
    pub(super) fn field(&self, at: usize) -> FieldText<'_> {
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before].0);
        let (end, is_quoted) = self.ends[at];
        FieldText { bytes: &self.bytes[from..end], is_quoted }
    }

    pub(super) fn wrong(&self, why: impl Into<Box<str>>) -> Error {
        Error::Line { line: self.number, why: why.into() }
    }
}

/// A reader's place in a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the start of a field.
    Start,
    /// Inside a field without quotes.
    Plain,
    /// Between quotes.
    Quoted,
    /// After a quote that ends a field, or is the first of two.
    AfterQuote,
    /// After a carriage return, which only a line feed can follow.
    AfterReturn { is_quoted: bool },
}

/// The message for a carriage return without a line feed.
const LONE_RETURN: &str =
    "a carriage return that no line feed follows should be between quotes; lines end in line feeds";

/// Reads lines.
pub(super) struct Lines<R> {
    input: R,
    /// The byte between fields.
    delimiter: u8,
    /// The number of lines that were read.
    passed: u64,
}

impl<R: BufRead> Lines<R> {
    /// Makes a reader of an input's lines, after the mark that some programs put before UTF-8.
    pub(super) fn new(mut input: R, delimiter: u8) -> Result<Self> {
        if input.fill_buf().map_err(damage)?.starts_with("\u{feff}".as_bytes()) {
            input.consume("\u{feff}".len());
        }
        Ok(Self { input, delimiter, passed: 0 })
    }

    /// Reads the next line that is not empty; returns false at the end.
    pub(super) fn next(&mut self, line: &mut Line) -> Result<bool> {
        loop {
            if !self.next_even_empty(line)? {
                return Ok(false);
            }
            let is_empty = line.ends == [(0, false)];
            if !is_empty {
                return Ok(true);
            }
        }
    }

    /// Reads the next line, also an empty one: a null where there is one column. Returns false at
    /// the end.
    pub(super) fn next_even_empty(&mut self, line: &mut Line) -> Result<bool> {
        line.bytes.clear();
        line.ends.clear();
        line.number = self.passed + 1;
        self.read(line)
    }

    /// Reads a line; returns false at the end of the input.
    fn read(&mut self, line: &mut Line) -> Result<bool> {
        let mut place = Place::Start;
        let mut is_some = false;
        loop {
            let buffer = self.input.fill_buf().map_err(damage)?;
            if buffer.is_empty() {
                return match place {
                    Place::Quoted => Err(line.wrong("the file ends between quotes")),
                    Place::AfterReturn { .. } => Err(line.wrong(LONE_RETURN)),
                    _ if is_some => {
                        self.passed += 1;
                        line.end_field(place);
                        Ok(true)
                    }
                    _ => Ok(false),
                };
            }
            is_some = true;
            let mut used = 0;
            let mut is_whole = false;
            for &byte in buffer {
                used += 1;
                self.passed += u64::from(byte == b'\n');
                if let Some(next) = line.take(place, byte, self.delimiter)? {
                    place = next;
                } else {
                    is_whole = true;
                    break;
                }
            }
            self.input.consume(used);
            if is_whole {
                return Ok(true);
            }
            if line.bytes.len() > MOST_LINE_BYTES {
                return Err(line.wrong(format!("it has more than {MOST_LINE_BYTES} bytes")));
            }
        }
    }
}

/// Distinguishes a damaged compressed file from one that cannot be read.
fn damage(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData => Error::Format(error.to_string().into()),
        _ => error.into(),
    }
}

impl Line {
    /// Takes a byte; returns the place after it, and nothing at the end of the line.
    fn take(&mut self, place: Place, byte: u8, delimiter: u8) -> Result<Option<Place>> {
        Ok(Some(match (place, byte) {
            (Place::Quoted, b'"') => Place::AfterQuote,
            (Place::Quoted, byte) => {
                self.bytes.push(byte);
                Place::Quoted
            }
            (Place::Start, b'"') => Place::Quoted,
            (Place::AfterQuote, b'"') => {
                self.bytes.push(b'"');
                Place::Quoted
            }
            (Place::AfterReturn { is_quoted }, b'\n') => {
                self.ends.push((self.bytes.len(), is_quoted));
                return Ok(None);
            }
            (Place::AfterReturn { .. }, _) => return Err(self.wrong(LONE_RETURN)),
            (place, b'\n') => {
                self.end_field(place);
                return Ok(None);
            }
            (place, b'\r') => Place::AfterReturn { is_quoted: place == Place::AfterQuote },
            (place, byte) if byte == delimiter => {
                self.end_field(place);
                Place::Start
            }
            (Place::AfterQuote, _) => {
                let wanted = match delimiter {
                    b',' => "a comma".into(),
                    b'\t' => "a tab".into(),
                    other => format!("{:?}", char::from(other)),
                };
                let why = format!("{wanted} should come after a quote that ends a field");
                return Err(self.wrong(why));
            }
            (_, byte) => {
                self.bytes.push(byte);
                Place::Plain
            }
        }))
    }

    fn end_field(&mut self, place: Place) {
        self.ends.push((self.bytes.len(), place == Place::AfterQuote));
    }
}
