//! Lines of the text that RocksDB's `trace_analyzer --convert_to_human_readable_trace` makes of a
//! query trace: key in hexadecimal digits, operation, column family, bytes of the value,
//! microsecond.

use std::io::{self, Write};

use super::super::line::{Act, Broken, Line, fields};
use super::text;

/// The most column families.
const MOST_TABLES: u64 = u32::MAX as u64;

const MICROSECOND_NS: u64 = 1_000;

pub(super) fn line(line: &[u8]) -> Result<Line<'_>, Broken> {
    let few = || Broken::new(1, "not the five fields of a line in rocksdb");
    let mut parts = fields(line, b' ');
    let mut next = || parts.next().ok_or_else(few);
    let key = next()?;
    let operation = next()?;
    if operation.text.starts_with(b"0x") {
        return Err(
            operation.fault("the end of a range that is deleted, which engines are not asked for")
        );
    }
    let table = next()?;
    let size = next()?;
    let time = next()?;
    if let Some(more) = parts.next() {
        return Err(more.fault("more than the five fields of a line in rocksdb"));
    }
    let digits = key.text.strip_prefix(b"0x").unwrap_or_default();
    if digits.is_empty()
        || !digits.len().is_multiple_of(2)
        || !digits.iter().all(u8::is_ascii_hexdigit)
    {
        return Err(key.fault("a key must be 0x and an even number of hexadecimal digits"));
    }
    let act = match operation.text {
        b"0" | b"8" => Act::Read,
        b"1" => Act::Upsert,
        b"2" | b"3" => Act::Delete,
        b"5" => Act::ReadModifyWrite,
        b"6" => Act::Scan,
        b"4" => return Err(operation.fault("a delete of a range, which engines are not asked for")),
        b"7" => return Err(operation.fault("a seek backwards, which engines are not asked for")),
        _ => return Err(operation.fault("no operation of a trace in rocksdb")),
    };
    let size = size.value_bytes()?;
    Ok(Line {
        time_ns: Some(time.time_ns(MICROSECOND_NS)?),
        act,
        key: digits,
        table: table.number("a column family", MOST_TABLES)?,
        key_bytes: digits.len() as u64 / 2,
        // A trace has no number of records of a seek.
        size: if act == Act::Scan { 1 } else { size },
        count: 1,
    })
}

pub(super) fn write(line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
    let operation = match line.act {
        Act::Read => 0,
        Act::Insert | Act::Update | Act::Upsert => 1,
        Act::Delete => 2,
        Act::ReadModifyWrite => 5,
        Act::Scan => 6,
    };
    let size = if line.act.has_value() { line.size } else { 0 };
    let microsecond = line.time_ns.unwrap_or(0) / MICROSECOND_NS;
    write!(out, "0x")?;
    text(line.key).bytes().try_for_each(|byte| write!(out, "{byte:02X}"))?;
    writeln!(out, " {operation} 0 {size} {microsecond}")
}
