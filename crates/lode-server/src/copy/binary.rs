//! Rows in binary: after a header, each row is the count of its fields, and each field its length
//! and its bytes (File Formats of `COPY` in PostgreSQL's manual).

use bytes::{BufMut, BytesMut};
use rusqlite::types::ValueRef;

use crate::copy::Field;
use crate::refusal::Refusal;
use crate::types::Kind;
use crate::types::encode::{Form, expect_sendable, put};

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The flags that a reader must know, of which none is.
const CRITICAL: u32 = 0xffff_0000;

/// Appends what comes before the rows.
pub(crate) fn put_header(out: &mut BytesMut) {
    out.put_slice(SIGNATURE);
    // Neither flags nor an extension.
    out.put_u64(0);
}

/// Appends what comes after the rows.
pub(crate) fn put_end(out: &mut BytesMut) {
    out.put_i16(-1);
}

/// Appends a row with `count` fields.
pub(crate) fn put_row<'v>(
    out: &mut BytesMut,
    count: usize,
    fields: impl Iterator<Item = (Kind, ValueRef<'v>)>,
) -> Result<(), Refusal> {
    let start = out.len();
    out.put_u16(count as u16);
    for (kind, value) in fields {
        put(out, kind, Form::Binary, value)?;
        expect_sendable(out.len() - start)?;
    }
    Ok(())
}

/// A reader of rows in pieces.
pub(crate) struct Reader {
    buffer: Vec<u8>,
    most_fields: usize,
    most_bytes: usize,
    /// True if the header has been read.
    has_started: bool,
    /// True after the end of the rows.
    is_over: bool,
}

impl Reader {
    /// Makes a reader of rows with `most_fields` fields and at most `most_bytes` bytes.
    pub(crate) fn new(most_fields: usize, most_bytes: usize) -> Self {
        Self { buffer: Vec::new(), most_fields, most_bytes, has_started: false, is_over: false }
    }

    /// Takes a piece, and calls `each` with the fields of each row that it ends.
    ///
    /// # Errors
    /// Those of `each`, and a text for what is no row.
    pub(crate) fn take<E: From<String>>(
        &mut self,
        piece: &[u8],
        each: &mut dyn FnMut(&[Field]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.buffer.extend_from_slice(piece);
        let mut used = 0;
        while !self.is_over {
            let rest = &self.buffer[used..];
            let taken = if self.has_started { self.row(rest, each)? } else { header(rest)? };
            match taken {
                Taken::Not => break,
                Taken::End => self.is_over = true,
                Taken::Bytes(bytes) => {
                    used += bytes;
                    self.has_started = true;
                }
            }
        }
        self.buffer.drain(..used);
        if self.buffer.len() > self.most_bytes && !self.is_over {
            return Err(format!("it has more than {} bytes", self.most_bytes).into());
        }
        Ok(())
    }

    /// Takes the end, which some clients do not announce by a count of -1.
    ///
    /// # Errors
    /// A text for a row that is not whole.
    pub(crate) fn end(&self) -> Result<(), String> {
        let is_whole = self.has_started && self.buffer.is_empty();
        if self.is_over || is_whole { Ok(()) } else { Err("it is not whole".into()) }
    }

    fn row<E: From<String>>(
        &self,
        rest: &[u8],
        each: &mut dyn FnMut(&[Field]) -> Result<(), E>,
    ) -> Result<Taken, E> {
        let Some(count) = rest.first_chunk().map(|count| i16::from_be_bytes(*count)) else {
            return Ok(Taken::Not);
        };
        if count == -1 {
            return Ok(Taken::End);
        }
        if usize::try_from(count) != Ok(self.most_fields) {
            return Err(format!("it has {count} fields for {} columns", self.most_fields).into());
        }
        let mut at = size_of::<i16>();
        let mut places = Vec::with_capacity(self.most_fields);
        for _ in 0..count {
            let Some(length) = rest.get(at..).and_then(<[u8]>::first_chunk) else {
                return Ok(Taken::Not);
            };
            let length = i32::from_be_bytes(*length);
            at += size_of::<i32>();
            if length == -1 {
                places.push(None);
                continue;
            }
            let bytes = usize::try_from(length).map_err(|_| "a field has a negative length");
            let end = at + bytes.map_err(String::from)?;
            if end > self.most_bytes {
                return Err(format!("it has more than {} bytes", self.most_bytes).into());
            }
            places.push(Some(at..end));
            at = end;
        }
        if rest.len() < at {
            return Ok(Taken::Not);
        }
        let fields: Vec<_> =
            places.into_iter().map(|place| place.map(|place| rest[place].to_vec())).collect();
        each(&fields)?;
        Ok(Taken::Bytes(at))
    }
}

/// The outcome of looking for a part.
enum Taken {
    /// More bytes have to come.
    Not,
    Bytes(usize),
    End,
}

/// Reads the header.
fn header(rest: &[u8]) -> Result<Taken, String> {
    let known = rest.len().min(SIGNATURE.len());
    if rest[..known] != SIGNATURE[..known] {
        return Err("the rows do not start as binary ones do".into());
    }
    let number = |at: usize| rest.get(at..).and_then(<[u8]>::first_chunk).copied();
    let flags = number(SIGNATURE.len()).map(u32::from_be_bytes);
    let extension = number(SIGNATURE.len() + size_of::<u32>()).map(u32::from_be_bytes);
    let (Some(flags), Some(extension)) = (flags, extension) else { return Ok(Taken::Not) };
    if flags & CRITICAL != 0 {
        return Err(format!("the flags {flags:#x} of the header are not known"));
    }
    let bytes = SIGNATURE.len() + 2 * size_of::<u32>() + extension as usize;
    Ok(if rest.len() < bytes { Taken::Not } else { Taken::Bytes(bytes) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], piece: usize) -> Result<Vec<Vec<Field>>, String> {
        let mut reader = Reader::new(2, 100);
        let mut rows = Vec::new();
        for piece in bytes.chunks(piece) {
            reader.take(piece, &mut |fields| {
                rows.push(fields.to_vec());
                Ok::<(), String>(())
            })?;
        }
        reader.end().map(|()| rows)
    }

    #[test]
    fn rows_are_read_in_pieces_of_any_size() {
        let mut bytes = BytesMut::new();
        put_header(&mut bytes);
        for text in ["é", ""] {
            let values =
                [(Kind::Text, ValueRef::Text(text.as_bytes())), (Kind::Int, ValueRef::Null)];
            put_row(&mut bytes, 2, values.into_iter()).expect("it fits");
        }
        put_end(&mut bytes);
        let expected = ["é", ""].map(|text| vec![Some(text.as_bytes().to_vec()), None]);
        for piece in 1..=bytes.len() {
            assert_eq!(read(&bytes, piece).as_deref(), Ok(&expected[..]), "{piece}");
        }
        let whole = [19, 31, bytes.len() - 2];
        for cut in 0..bytes.len() {
            let rows = read(&bytes[..cut], 7);
            assert_eq!(rows.is_ok(), whole.contains(&cut), "{cut}: {rows:?}");
        }
        // A header of flags, another count, lengths that cannot be.
        for (at, byte) in [(0, b'p'), (11, 1), (20, 3), (21, 0x80), (21, 0x7f)] {
            let mut wrong = bytes.to_vec();
            wrong[at] = byte;
            assert!(read(&wrong, 7).is_err(), "{at}");
        }
    }
}
