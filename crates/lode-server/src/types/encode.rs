//! Values of results.

use std::io::Write;

use bytes::{BufMut, BytesMut};
use rusqlite::types::ValueRef;

use crate::refusal::{OUT_OF_RANGE, Refusal, TOO_LARGE};
use crate::types::{Kind, numeric, time};

/// The form of values on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Binary,
}

/// The most bytes of a row: a message says its length in 31 bits.
const MOST_ROW_BYTES: usize = i32::MAX as usize - 4;

/// Refuses a row that has become too long for a message.
pub(crate) fn expect_sendable(row_bytes: usize) -> Result<(), Refusal> {
    if row_bytes <= MOST_ROW_BYTES {
        return Ok(());
    }
    let line = format!("a row can have {MOST_ROW_BYTES} bytes; ask for fewer columns at a time");
    Err(Refusal::new(TOO_LARGE, line))
}

/// Appends a value with its length.
pub(crate) fn put(
    out: &mut BytesMut,
    kind: Kind,
    form: Form,
    value: ValueRef<'_>,
) -> Result<(), Refusal> {
    if value == ValueRef::Null {
        out.put_i32(-1);
        return Ok(());
    }
    let start = out.len();
    out.put_i32(0);
    match form {
        Form::Text => put_text(out, kind, value),
        Form::Binary => put_binary(out, kind, value)?,
    }
    let length = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Appends a value, which is not NULL, as text.
pub(crate) fn put_text(out: &mut BytesMut, kind: Kind, value: ValueRef<'_>) {
    match (kind, value) {
        (Kind::Bool, ValueRef::Integer(number)) => {
            out.put_u8(if number == 0 { b'f' } else { b't' });
        }
        (Kind::Time, ValueRef::Integer(moment)) => out.put_slice(time::text(moment).as_bytes()),
        (_, ValueRef::Integer(number)) => show(out, format_args!("{number}")),
        (_, ValueRef::Real(number)) => put_float(out, number),
        (_, ValueRef::Text(text)) => match str::from_utf8(text) {
            Ok(_) => out.put_slice(text),
            Err(_) => out.put_slice(String::from_utf8_lossy(text).as_bytes()),
        },
        (_, ValueRef::Blob(bytes)) => put_hex(out, bytes),
        (_, ValueRef::Null) => {}
    }
}

fn show(out: &mut BytesMut, arguments: std::fmt::Arguments<'_>) {
    // A buffer takes all.
    let _ = out.writer().write_fmt(arguments);
}

fn put_hex(out: &mut BytesMut, bytes: &[u8]) {
    out.put_slice(b"\\x");
    for byte in bytes {
        show(out, format_args!("{byte:02x}"));
    }
}

/// Appends a float in the fewest digits that mean it, as PostgreSQL does.
fn put_float(out: &mut BytesMut, number: f64) {
    let size = number.abs();
    if number.is_infinite() {
        out.put_slice(if number > 0.0 { b"Infinity" } else { b"-Infinity" });
    } else if number == 0.0 || (1e-4..1e15).contains(&size) {
        show(out, format_args!("{number}"));
    } else {
        show(out, format_args!("{number:e}"));
    }
}

fn put_binary(out: &mut BytesMut, kind: Kind, value: ValueRef<'_>) -> Result<(), Refusal> {
    match (kind, value) {
        (Kind::Bool, ValueRef::Integer(number)) => out.put_u8(u8::from(number != 0)),
        (Kind::Int, ValueRef::Integer(number)) => out.put_i64(number),
        (Kind::Float, ValueRef::Integer(number)) => out.put_f64(number as f64),
        (Kind::Float, ValueRef::Real(number)) => out.put_f64(number),
        (Kind::Time, ValueRef::Integer(moment)) => {
            let beyond = || Refusal::new(OUT_OF_RANGE, format!("no timestamp has {moment} µs"));
            out.put_i64(moment.checked_sub(time::EPOCH_US).ok_or_else(beyond)?);
        }
        (Kind::Numeric, value) => {
            let mut text = BytesMut::new();
            match value {
                // `{}` has no exponent.
                ValueRef::Real(number) => show(&mut text, format_args!("{number}")),
                other => put_text(&mut text, Kind::Numeric, other),
            }
            let text = String::from_utf8_lossy(&text);
            if !numeric::put(&text, out) {
                return Err(misfit(kind, &text));
            }
        }
        (Kind::Bytes, ValueRef::Blob(bytes) | ValueRef::Text(bytes)) => out.put_slice(bytes),
        (Kind::Text, value) => put_text(out, kind, value),
        (kind, value) => {
            let mut text = BytesMut::new();
            put_text(&mut text, kind, value);
            return Err(misfit(kind, &String::from_utf8_lossy(&text)));
        }
    }
    Ok(())
}

fn misfit(kind: Kind, text: &str) -> Refusal {
    let text: String = text.chars().take(80).collect();
    let name = kind.name();
    Refusal::new("42804", format!("a column of type {name} has {text}; cast it to another type"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_no_longer_than_a_message_can_say() {
        assert_eq!(expect_sendable(i32::MAX as usize - 4), Ok(()));
        let refused = expect_sendable(i32::MAX as usize - 3).expect_err("it is too long");
        assert_eq!(refused.code, TOO_LARGE);
    }
}
