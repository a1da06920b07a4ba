//! Lines of the traces of caches at Twitter (github.com/twitter/cache-trace): second, key, bytes of
//! the key, bytes of the value, client, operation, time to live.
//!
//! Keys may have commas, so the fields behind a key are found from the end of the line.

use std::io::{self, Write};

use super::super::line::{Act, Broken, Field, Line, SECOND_NS, fields};
use super::text;

/// The number of fields behind the key.
const BEHIND: usize = 5;

/// The most bytes of a key, for its count.
const MOST_KEY_BYTES: u64 = 1 << 20;

pub(super) fn line(line: &[u8]) -> Result<Line<'_>, Broken> {
    let few = || Broken::new(1, "not the seven fields of a line in twitter");
    let comma = |byte: &u8| *byte == b',';
    let first = line.iter().position(comma).ok_or_else(few)?;
    let mut end = line.len();
    for _ in 0..BEHIND {
        end = line[..end].iter().rposition(comma).ok_or_else(few)?;
    }
    if end <= first {
        return Err(few());
    }
    let time = Field { column: 1, text: &line[..first] };
    let key = Field { column: first + 2, text: &line[first + 1..end] };
    let mut behind = fields(&line[end + 1..], b',')
        .map(|field| Field { column: field.column + end + 1, ..field });
    let mut next = || behind.next().ok_or_else(few);
    let key_bytes = next()?;
    let value_bytes = next()?;
    let _ = next()?;
    let operation = next()?;
    let _ = next()?;
    let act = match operation.text {
        b"get" | b"gets" => Act::Read,
        b"set" => Act::Upsert,
        b"add" => Act::Insert,
        b"replace" => Act::Update,
        b"cas" | b"append" | b"prepend" | b"incr" | b"decr" => Act::ReadModifyWrite,
        b"delete" => Act::Delete,
        _ => return Err(operation.fault("no operation of a trace in twitter")),
    };
    Ok(Line {
        time_ns: Some(time.time_ns(SECOND_NS)?),
        act,
        key: key.key()?,
        table: 0,
        key_bytes: key_bytes.number("bytes of a key", MOST_KEY_BYTES)?,
        size: value_bytes.value_bytes()?,
        count: 1,
    })
}

pub(super) fn write(line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
    let operation = match line.act {
        Act::Read | Act::Scan => "get",
        Act::Upsert => "set",
        Act::Insert => "add",
        Act::Update => "replace",
        Act::ReadModifyWrite => "cas",
        Act::Delete => "delete",
    };
    let second = line.time_ns.unwrap_or(0) / SECOND_NS;
    writeln!(out, "{second},{},{},{},1,{operation},0", text(line.key), line.key_bytes, line.size)
}
