//! Writing the operations of a workload as a trace, in any format.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::format::Format;
use super::line::{Act, Line};
use crate::workload::spec::{Kind, Spec};
use crate::workload::{self, Listed};

/// The digits of a key, and the most bytes of one.
const KEY_DIGITS: usize = 16;
const KEY_MOST: usize = 256;

/// Writes the operations of a workload; with a number, as many as that.
///
/// # Errors
/// If they cannot be written, or the format has no word for one of them.
pub fn generate(
    spec: &Spec,
    format: Format,
    operations: Option<u64>,
    seed: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    if spec.phases.iter().any(|phase| phase.scanned_columns.is_some()) {
        let what = "traces have no word for scans of some columns";
        return Err(io::Error::new(io::ErrorKind::Unsupported, what));
    }
    let key_bytes = spec.records.key.bytes();
    format.write_header(out)?;
    let mut key = [b'0'; KEY_MOST];
    let key_size = (key_bytes as usize).clamp(KEY_DIGITS, KEY_MOST);
    workload::listed(spec, seed, operations, &mut |listed| {
        write_digits(listed.key, &mut key[..key_size]);
        let act = act_of(listed.kind).ok_or_else(|| {
            let what = format!("traces have no word for {}", listed.kind.name());
            io::Error::new(io::ErrorKind::Unsupported, what)
        })?;
        let line = Line {
            time_ns: Some(listed.time_ns),
            act,
            key: &key[..key_size],
            table: 0,
            key_bytes,
            size: size_of(&listed, act),
            count: 1,
        };
        format.write_line(&line, out)
    })
}

/// Lets `work` write a file, compressed if its name ends in `.zst` or `.gz`.
///
/// # Errors
/// If it cannot be written.
pub fn packed(
    name: Option<&Path>,
    out: &mut dyn Write,
    work: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let end = name.and_then(Path::extension).and_then(OsStr::to_str);
    match end {
        Some("zst") => {
            let level = zstd::DEFAULT_COMPRESSION_LEVEL;
            let mut packed = zstd::stream::write::Encoder::new(out, level)?;
            work(&mut packed)?;
            packed.finish().map(drop)
        }
        Some("gz") => {
            let mut packed = GzEncoder::new(out, Compression::default());
            work(&mut packed)?;
            packed.finish().map(drop)
        }
        _ => work(out),
    }
}

/// Returns the operation of a trace that is of a kind; none if traces have none.
fn act_of(kind: Kind) -> Option<Act> {
    Some(match kind {
        Kind::Read | Kind::Missing => Act::Read,
        Kind::Update => Act::Update,
        Kind::Insert => Act::Insert,
        Kind::Delete => Act::Delete,
        Kind::Upsert => Act::Upsert,
        Kind::ReadModifyWrite | Kind::Increment => Act::ReadModifyWrite,
        Kind::Scan => Act::Scan,
        Kind::Find => return None,
    })
}

fn size_of(listed: &Listed, act: Act) -> u64 {
    if act == Act::Scan { listed.wanted } else { listed.size }
}

/// Writes a number in hexadecimal digits at the end of a key.
fn write_digits(number: u64, key: &mut [u8]) {
    let size = key.len();
    for (at, digit) in key[size - KEY_DIGITS..].iter_mut().enumerate() {
        let nibble = number >> (4 * (KEY_DIGITS - 1 - at)) & 15;
        *digit = b"0123456789abcdef"[nibble as usize];
    }
}
