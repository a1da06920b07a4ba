//! Lines of our own format, which a program can log itself: `docs/traces.md` describes it.

use std::io::{self, Write};

use super::super::line::{Act, Broken, Field, Line, MOST_SCANNED, SECOND_NS, fields};
use super::text;

/// The first line.
pub(super) const HEADER: &str = "time,operation,key,value_bytes,scan_rows";

pub(super) fn line(line: &[u8]) -> Result<Line<'_>, Broken> {
    let few = || Broken::new(1, format!("not the five fields {HEADER}"));
    let mut parts = fields(line, b',');
    let mut next = || parts.next().ok_or_else(few);
    let time = next()?;
    let operation = next()?;
    let key = next()?;
    let value_bytes = next()?;
    let rows = next()?;
    if let Some(more) = parts.next() {
        return Err(more.fault("more than five fields"));
    }
    let named = |act: &Act| act.name().as_bytes() == operation.text;
    let act = Act::ALL
        .into_iter()
        .find(named)
        .ok_or_else(|| operation.fault(&format!("no operation; they are {}", names())))?;
    let size = match act {
        Act::Scan => match rows.number("scan_rows", MOST_SCANNED)? {
            0 => return Err(rows.fault("a scan asks for at least one record")),
            rows => rows,
        },
        act if act.has_value() => value_bytes.value_bytes()?,
        _ => or_none(value_bytes)?,
    };
    let key_bytes = key.text.len() as u64;
    let time_ns = Some(time.decimal_ns()?);
    Ok(Line { time_ns, act, key: key.key()?, table: 0, key_bytes, size, count: 1 })
}

/// Returns the bytes of a value that need not be named.
fn or_none(field: Field<'_>) -> Result<u64, Broken> {
    if field.text.is_empty() { Ok(0) } else { field.value_bytes() }
}

fn names() -> String {
    Act::ALL.map(Act::name).join(", ")
}

pub(super) fn write(line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
    let time_ns = line.time_ns.unwrap_or(0);
    let seconds = time_ns / SECOND_NS;
    let fraction = time_ns % SECOND_NS;
    let (size, rows) = if line.act == Act::Scan { (0, line.size) } else { (line.size, 0) };
    let name = line.act.name();
    let key = text(line.key);
    writeln!(out, "{seconds}.{fraction:09},{name},{key},{size},{rows}")
}
