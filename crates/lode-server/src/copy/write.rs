//! Lines that a client gets.

use bytes::{BufMut, BytesMut};
use rusqlite::types::ValueRef;

use crate::copy::Format;
use crate::refusal::Refusal;
use crate::types::Kind;
use crate::types::encode::{expect_sendable, put_text};

/// Appends a line with fields.
pub(crate) fn put_line<'v>(
    out: &mut BytesMut,
    format: &Format,
    fields: impl Iterator<Item = (Kind, ValueRef<'v>)>,
) -> Result<(), Refusal> {
    let start = out.len();
    let mut text = BytesMut::new();
    for (at, (kind, value)) in fields.enumerate() {
        if at > 0 {
            out.put_u8(format.delimiter);
        }
        if value == ValueRef::Null {
            out.put_slice(format.null.as_bytes());
            continue;
        }
        text.clear();
        put_text(&mut text, kind, value);
        if format.is_csv {
            put_csv(out, format, &text);
        } else {
            put_escaped(out, format, &text);
        }
        expect_sendable(out.len() - start)?;
    }
    out.put_u8(b'\n');
    Ok(())
}

fn put_csv(out: &mut BytesMut, format: &Format, text: &[u8]) {
    let is_special =
        |byte: &u8| *byte == format.delimiter || *byte == format.quote || b"\r\n".contains(byte);
    let needs_quotes =
        text == format.null.as_bytes() || text == b"\\." || text.iter().any(is_special);
    if !needs_quotes {
        out.put_slice(text);
        return;
    }
    out.put_u8(format.quote);
    for byte in text {
        if *byte == format.quote {
            out.put_u8(format.quote);
        }
        out.put_u8(*byte);
    }
    out.put_u8(format.quote);
}

fn put_escaped(out: &mut BytesMut, format: &Format, text: &[u8]) {
    for byte in text {
        let escape = match byte {
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            b'\\' => b'\\',
            byte if *byte == format.delimiter => *byte,
            byte => {
                out.put_u8(*byte);
                continue;
            }
        };
        out.put_slice(&[b'\\', escape]);
    }
}
