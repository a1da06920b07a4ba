//! Lines of the traces of CacheLib's key-value caches (cachelib.org, cachebench): a header names
//! the columns, of which key, op, size, op_count and key_size are read, and op_time if it is there.

use std::io::{self, Write};

use super::super::line::{Act, Broken, Field, Line, MOST_OPERATIONS, SECOND_NS, fields};
use super::text;

/// The header of the traces of 2022, with the seconds of later ones.
pub(super) const HEADER: &str = "op_time,key,key_size,op,op_count,size";

/// The most columns.
const MOST: usize = 16;

/// The places of the columns that are read.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Columns {
    count: usize,
    key: usize,
    operation: usize,
    size: usize,
    times: usize,
    key_size: usize,
    time: Option<usize>,
}

impl Columns {
    /// Returns the columns that a header names.
    pub(super) fn of(header: &[u8]) -> Result<Self, Broken> {
        let names: Vec<_> = fields(header, b',').map(|field| field.text).collect();
        let place = |name: &str| names.iter().position(|text| *text == name.as_bytes());
        let needed = |name: &str| {
            let what = || {
                format!(
                    "a header of metakv names key, op, size, op_count, key_size, and not {name:?}"
                )
            };
            place(name).ok_or_else(|| Broken::new(1, what()))
        };
        if names.len() > MOST {
            return Err(Broken::new(1, format!("more than {MOST} columns")));
        }
        Ok(Self {
            count: names.len(),
            key: needed("key")?,
            operation: needed("op")?,
            size: needed("size")?,
            times: needed("op_count")?,
            key_size: needed("key_size")?,
            time: place("op_time"),
        })
    }

    /// Reads a line.
    pub(super) fn line<'l>(&self, line: &'l [u8]) -> Result<Line<'l>, Broken> {
        let mut all = [Field { column: 1, text: b"" }; MOST];
        let mut count = 0;
        for field in fields(line, b',') {
            let Some(place) = all.get_mut(count).filter(|_| count < self.count) else {
                return Err(field.fault("more fields than the header names"));
            };
            *place = field;
            count += 1;
        }
        if count < self.count {
            let what = format!("{count} fields, and the header names {}", self.count);
            return Err(Broken::new(1, what));
        }
        let operation = all[self.operation];
        let act = match operation.text {
            b"GET" | b"GET_LEASE" => Act::Read,
            b"SET" | b"SET_LEASE" => Act::Upsert,
            b"DELETE" => Act::Delete,
            _ => return Err(operation.fault("no operation of a trace in metakv")),
        };
        let times = all[self.times].number("op_count", MOST_OPERATIONS)?;
        if times == 0 {
            return Err(all[self.times].fault("op_count must be at least 1"));
        }
        Ok(Line {
            time_ns: self.time.map(|at| all[at].time_ns(SECOND_NS)).transpose()?,
            act,
            key: all[self.key].key()?,
            table: 0,
            key_bytes: all[self.key_size].number("bytes of a key", 1 << 20)?,
            size: all[self.size].value_bytes()?,
            count: times,
        })
    }
}

pub(super) fn write(line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
    let operation = match line.act {
        Act::Delete => "DELETE",
        act if act.writes() => "SET",
        _ => "GET",
    };
    let second = line.time_ns.unwrap_or(0) / SECOND_NS;
    let key = text(line.key);
    let count = line.count;
    writeln!(out, "{second},{key},{},{operation},{count},{}", line.key_bytes, line.size)
}
