//! The lines that are loaded: one at a time, from a file or from standard input.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use program_support::exit::{Failure, Outcome};

use crate::progress::Progress;
use crate::record::Fault;

/// The most bytes of a line: more than the longest record takes, if each of its bytes is escaped.
const MOST_LINE_BYTES: u64 = 16 << 20;

/// The mark that some programs put before UTF-8.
const MARK: &str = "\u{feff}";

/// Lines between two updates of the progress.
const LINES_PER_LOOK: u64 = 1024;

/// Lines that are being read.
pub(super) struct Lines {
    name: String,
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
    bytes: u64,
    progress: Progress,
    /// True if bytes are shown, of a file whose size is known; false if lines are shown.
    shows_bytes: bool,
}

impl Lines {
    /// Opens the lines of a file, or of standard input.
    pub(super) fn of(file: Option<&Path>) -> Outcome<Self> {
        let Some(path) = file else {
            let name = "standard input".into();
            let reader = Box::new(io::stdin().lock());
            return Ok(Self::new(name, reader, Progress::of_records("loading"), false));
        };
        let name = path.display().to_string();
        let opened = File::open(path).and_then(|file| Ok((file.metadata()?, file)));
        let (found, file) = opened.map_err(|error| Failure::Refused(format!("{name}: {error}")))?;
        if found.is_dir() {
            return Err(Failure::Refused(format!("{name}: this is a directory; name a file")));
        }
        let progress = if found.is_file() {
            Progress::of_bytes("loading", found.len())
        } else {
            Progress::of_records("loading")
        };
        Ok(Self::new(name, Box::new(BufReader::new(file)), progress, found.is_file()))
    }

    fn new(name: String, reader: Box<dyn BufRead>, progress: Progress, shows_bytes: bool) -> Self {
        Self { name, reader, line: Vec::new(), number: 0, bytes: 0, progress, shows_bytes }
    }

    /// Waits until there is something to read, or the end.
    ///
    /// A program that writes to this one may read the same database: it has to be first to lock it,
    /// so that this one fails. Otherwise the other one would, and this one find nothing to load.
    pub(super) fn wait(&mut self) -> Outcome {
        match self.reader.fill_buf() {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::Refused(format!("{}: {error}", self.name))),
        }
    }

    /// Returns the name of the source in errors.
    pub(super) fn name(&self) -> String {
        self.name.clone()
    }

    /// Returns the next line that is not blank, with its number; `None` at the end.
    pub(super) fn next(&mut self) -> Outcome<Option<(u64, &str)>> {
        loop {
            self.line.clear();
            let mut limited = self.reader.by_ref().take(MOST_LINE_BYTES);
            let read = limited.read_until(b'\n', &mut self.line);
            let read = read.map_err(|error| Failure::Refused(format!("{}: {error}", self.name)))?;
            if read == 0 {
                return Ok(None);
            }
            if self.number == 0 && self.line.starts_with(MARK.as_bytes()) {
                self.line.drain(..MARK.len());
            }
            self.number += 1;
            self.bytes += read as u64;
            if self.number.is_multiple_of(LINES_PER_LOOK) {
                self.progress.at(if self.shows_bytes { self.bytes } else { self.number });
            }
            if read as u64 == MOST_LINE_BYTES && !self.line.ends_with(b"\n") {
                let most = MOST_LINE_BYTES >> 20;
                return Err(self.fault(0, format!("a line can have at most {most} MiB")));
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        match str::from_utf8(self.line.trim_ascii_end()) {
            Ok(line) => Ok(Some((self.number, line))),
            Err(error) => Err(self.fault(error.valid_up_to(), "this is no UTF-8".into())),
        }
    }

    /// Makes the failure of the line that was just read, which is text up to `at`.
    fn fault(&self, at: usize, why: String) -> Failure {
        let text = str::from_utf8(&self.line[..at]).unwrap_or_default();
        wrong(&self.name, self.number, text, &Fault { at, why })
    }
}

/// Makes the failure of a line that cannot be loaded: its place, up to the character, and why.
pub(super) fn wrong(source: &str, number: u64, line: &str, fault: &Fault) -> Failure {
    let before = line.char_indices().take_while(|(at, _)| *at < fault.at).count();
    Failure::Wrong(format!("{source}:{number}:{}: {}", before + 1, fault.why))
}
