//! The formats of traces: how a line is read, how one is written, and how a trace is recognised by
//! its first line.

mod csv;
mod metakv;
mod rocksdb;
mod twitter;

use std::io::{self, Write};

use super::line::{Broken, Line};
use crate::options::words;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// CSV of caches at Twitter: second, key, bytes of key and value, client, operation, time to
    /// live.
    Twitter,
    /// CSV of CacheLib's key-value caches at Meta, with a header.
    Metakv,
    /// The text that RocksDB's `trace_analyzer` makes of a query trace.
    Rocksdb,
    /// Our own, with a header: time, operation, key, bytes of the value, records of a scan.
    Csv,
}

words!(Format { Twitter = "twitter", Metakv = "metakv", Rocksdb = "rocksdb", Csv = "csv", });

/// The names of the formats, as messages have them.
const NAMES: &str = "twitter, metakv, rocksdb or csv";

/// The way to read the lines of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parser {
    Twitter,
    Metakv(metakv::Columns),
    Rocksdb,
    Csv,
}

impl Parser {
    /// Returns the parser of a trace with this first line, and whether that line is a header.
    pub(super) fn of(named: Option<Format>, first: &[u8]) -> Result<(Self, bool), Broken> {
        match named.or_else(|| recognised(first)) {
            Some(Format::Twitter) => Ok((Self::Twitter, false)),
            Some(Format::Rocksdb) => Ok((Self::Rocksdb, false)),
            Some(Format::Metakv) => Ok((Self::Metakv(metakv::Columns::of(first)?), true)),
            Some(Format::Csv) if first == csv::HEADER.as_bytes() => Ok((Self::Csv, true)),
            Some(Format::Csv) => {
                Err(Broken::new(1, format!("a trace in csv starts with {}", csv::HEADER)))
            }
            None => Err(Broken::new(
                1,
                format!("no known format; name one with --trace-format: {NAMES}"),
            )),
        }
    }

    /// Reads a line.
    pub(super) fn line<'l>(&self, line: &'l [u8]) -> Result<Line<'l>, Broken> {
        match self {
            Self::Twitter => twitter::line(line),
            Self::Metakv(columns) => columns.line(line),
            Self::Rocksdb => rocksdb::line(line),
            Self::Csv => csv::line(line),
        }
    }

    /// Returns the format.
    pub(super) fn format(&self) -> Format {
        match self {
            Self::Twitter => Format::Twitter,
            Self::Metakv(_) => Format::Metakv,
            Self::Rocksdb => Format::Rocksdb,
            Self::Csv => Format::Csv,
        }
    }
}

/// Returns the format that a first line is of.
fn recognised(first: &[u8]) -> Option<Format> {
    if first == csv::HEADER.as_bytes() {
        Some(Format::Csv)
    } else if metakv::Columns::of(first).is_ok() {
        Some(Format::Metakv)
    } else if first.starts_with(b"0x") {
        Some(Format::Rocksdb)
    } else {
        twitter::line(first).is_ok().then_some(Format::Twitter)
    }
}

impl Format {
    /// Returns true if times are whole seconds, in which many operations share one.
    pub(super) fn has_whole_seconds(self) -> bool {
        matches!(self, Self::Twitter | Self::Metakv)
    }

    /// Returns true if it has a word for scans.
    pub fn has_scans(self) -> bool {
        matches!(self, Self::Rocksdb | Self::Csv)
    }

    /// Writes what is before the first line.
    pub(crate) fn write_header(self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Csv => writeln!(out, "{}", csv::HEADER),
            Self::Metakv => writeln!(out, "{}", metakv::HEADER),
            Self::Twitter | Self::Rocksdb => Ok(()),
        }
    }

    /// Writes a line, which is a scan only if the format [has](Self::has_scans) a word for it.
    pub(crate) fn write_line(self, line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Twitter => twitter::write(line, out),
            Self::Metakv => metakv::write(line, out),
            Self::Rocksdb => rocksdb::write(line, out),
            Self::Csv => csv::write(line, out),
        }
    }
}

/// Returns a text of a key, which has no separator in it.
fn text(key: &[u8]) -> &str {
    str::from_utf8(key).unwrap_or("key")
}
