//! The lines of a file, with their numbers; compressed with zstd or gzip, or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use program_support::exit::{Failure, Outcome};
use program_support::given_file;

use super::line::Broken;

/// The most bytes of a line.
const LINE_MOST: usize = 64 << 10;

/// The most bytes that zstd may keep to unpack, as a power of two.
const WINDOW_LOG_MOST: u32 = 26;

const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const GZIP: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The bytes of a file that are read at once.
const PIECE: usize = 256 << 10;

/// The lines of a file.
pub(super) struct Source {
    text: Box<dyn BufRead>,
    line: Vec<u8>,
    /// The number of the last line, from 1.
    pub(super) number: u64,
}

/// Checks that a trace is a file that can be read more than once.
///
/// # Errors
/// If it is none, or cannot be read.
pub(super) fn check(path: &Path) -> Outcome {
    given_file::check_readable(path, "FILE")?;
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let shown = path.display();
    if !is_file {
        return Err(Failure::Refused(format!(
            "{shown}: is no regular file, and a trace is read more than once; write it to one"
        )));
    }
    File::open(path).map(drop).map_err(|e| Failure::Refused(format!("{shown}: {e}")))
}

impl Source {
    /// Opens a file.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(PIECE, File::open(path)?);
        let front = file.fill_buf()?;
        let text: Box<dyn BufRead> = if front.starts_with(&ZSTD) {
            let mut unpacked = zstd::stream::read::Decoder::with_buffer(file)?;
            unpacked.window_log_max(WINDOW_LOG_MOST)?;
            Box::new(BufReader::with_capacity(PIECE, unpacked))
        } else if front.starts_with(&GZIP) {
            Box::new(BufReader::with_capacity(PIECE, MultiGzDecoder::new(file)))
        } else {
            Box::new(file)
        };
        Ok(Self { text, line: Vec::new(), number: 0 })
    }

    /// Reads the next line, without its end; none behind the last one.
    pub(super) fn next(&mut self) -> io::Result<Option<Result<&[u8], Broken>>> {
        self.line.clear();
        let most = LINE_MOST as u64 + 2;
        if (&mut self.text).take(most).read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let has_end = self.line.ends_with(b"\n");
        if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
        }
        if !has_end && self.line.len() > LINE_MOST {
            self.skip_line()?;
            let what = format!("the line has more than {LINE_MOST} bytes");
            return Ok(Some(Err(Broken::new(LINE_MOST, what))));
        }
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        Ok(Some(Ok(line.strip_suffix(b"\r").unwrap_or(line))))
    }

    /// Reads to the end of a line.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let piece = self.text.fill_buf()?;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(piece.len(), |at| at + 1);
            let is_over = piece.is_empty();
            self.text.consume(used);
            if end.is_some() || is_over {
                return Ok(());
            }
        }
    }
}
