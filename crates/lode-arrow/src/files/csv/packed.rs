//! CSV that is compressed with gzip or Zstandard, as its first bytes show: no UTF-8 starts so.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use zstd::stream::write::Encoder as ZstdEncoder;

use crate::error::Result;
use crate::files::Compression;

/// The first bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The first bytes of Zstandard.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Reads a file, decompressed if it is compressed.
pub(super) fn unpacked(file: File) -> Result<Box<dyn BufRead + Send>> {
    let mut input = BufReader::new(file);
    let front = input.fill_buf()?;
    let is_gzip = front.starts_with(&GZIP);
    let is_zstd = front.starts_with(&ZSTD);
    Ok(match (is_gzip, is_zstd) {
        (true, _) => Box::new(BufReader::new(Unpacked(MultiGzDecoder::new(input)))),
        (_, true) => {
            let decoder = zstd::stream::read::Decoder::with_buffer(input)?;
            Box::new(BufReader::new(Unpacked(decoder)))
        }
        _ => Box::new(input),
    })
}

/// Says of errors that they are those of the compressed file.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            ErrorKind::UnexpectedEof => damaged("the compressed file is cut off"),
            _ if error.raw_os_error().is_none() => damaged("the compressed file is damaged"),
            _ => error,
        })
    }
}

fn damaged(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// The output for lines, compressed or not.
pub(super) enum Packed<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(ZstdEncoder<'static, W>),
}

impl<W: Write> Packed<W> {
    /// Starts to write; returns `None` if CSV is not compressed that way.
    pub(super) fn new(out: W, compression: Compression) -> Result<Option<Self>> {
        Ok(Some(match compression {
            Compression::None => Self::Plain(out),
            Compression::Gzip => Self::Gzip(GzEncoder::new(out, flate2::Compression::default())),
            Compression::Zstd => {
                let mut encoder = ZstdEncoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
            Compression::Snappy | Compression::Lz4 => return Ok(None),
        }))
    }

    pub(super) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.write_all(bytes),
            Self::Gzip(out) => out.write_all(bytes),
            Self::Zstd(out) => out.write_all(bytes),
        }
    }

    /// Writes what is at the end, and returns what was written to.
    pub(super) fn finish(self) -> io::Result<W> {
        let mut out = match self {
            Self::Plain(out) => out,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        out.flush()?;
        Ok(out)
    }
}
