//! The operations of a trace, in their order, and the faults of its lines.

use std::io;
use std::path::{Path, PathBuf};

use program_support::exit::Failure;
use program_support::printable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::format::{Format, Parser};
use super::line::{Act, Broken, MOST_OPERATIONS, SECOND_NS};
use super::source::Source;

/// The way in which a trace is read.
#[derive(Clone, Debug)]
pub(super) struct Reading<'r> {
    pub(super) path: &'r Path,
    pub(super) format: Option<Format>,
    /// The most operations; the rest is left out.
    pub(super) first: Option<u64>,
    pub(super) skip_broken: bool,
}

/// An operation of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    /// The time from the first operation on, in whole units.
    pub(super) time_ns: u64,
    /// The unit of times in the trace's format.
    pub(super) unit_ns: u64,
    pub(super) act: Act,
    /// The hash of the key.
    pub(super) key: u64,
    pub(super) key_bytes: u64,
    /// The bytes of the value; of a scan, the number of records.
    pub(super) size: u64,
}

/// The outcome of reading a trace.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) format: Format,
    pub(super) has_times: bool,
    pub(super) operations: u64,
    /// The number of lines that were skipped, and the fault of the first of them.
    pub(super) broken: u64,
    pub(super) first_broken: Option<String>,
}

/// The reason why a trace cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// The file cannot be read.
    #[error("{path}{}: {error}", place(*line, None))]
    Io { path: PathBuf, line: u64, error: io::Error },
    /// A temporary file cannot be written or read.
    #[error(
        "{}: a temporary file for {path} cannot be written or read: {error}; set TMPDIR to a \
         folder with room",
        std::env::temp_dir().display()
    )]
    Spool { path: PathBuf, error: io::Error },
    /// A line is none of its format.
    #[error("{path}{}: {}", place(*line, Some(broken.column)), printable::excerpt(&broken.what))]
    Broken { path: PathBuf, line: u64, broken: Broken },
    /// The trace as a whole is none that can be replayed.
    #[error("{path}: {what}")]
    Whole { path: PathBuf, what: String },
}

fn place(line: u64, column: Option<usize>) -> String {
    match column {
        Some(column) => format!(", line {line}, column {column}"),
        None if line == 0 => String::new(),
        None => format!(", after line {line}"),
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        match &fault {
            Fault::Io { .. } | Fault::Spool { .. } => Self::Refused(fault.to_string()),
            Fault::Broken { .. } => {
                Self::Usage(format!("{fault}; --skip-broken leaves such lines out"))
            }
            Fault::Whole { .. } => Self::Usage(fault.to_string()),
        }
    }
}

impl Reading<'_> {
    pub(super) fn spool(&self, error: io::Error) -> Fault {
        Fault::Spool { path: self.path.into(), error }
    }

    fn io(&self, line: u64, error: io::Error) -> Fault {
        Fault::Io { path: self.path.into(), line, error }
    }

    pub(super) fn whole(&self, what: impl Into<String>) -> Fault {
        Fault::Whole { path: self.path.into(), what: what.into() }
    }

    /// Calls `work` for each operation.
    ///
    /// # Errors
    /// The first fault; an error of `work` is one of a temporary file.
    pub(super) fn each(
        &self,
        work: &mut dyn FnMut(Operation) -> io::Result<()>,
    ) -> Result<Read, Fault> {
        let mut source = Source::open(self.path).map_err(|error| self.io(0, error))?;
        let limit = self.first.unwrap_or(u64::MAX);
        let mut state = State::default();
        let mut parser = None;
        while state.operations < limit {
            let number = source.number;
            let line = match source.next() {
                Err(error) => return Err(self.io(number, error)),
                Ok(None) => break,
                Ok(Some(line)) => line,
            };
            let known = match (&parser, line) {
                (_, Err(broken)) => Err(broken),
                (Some(parser), Ok(line)) => state.operation(parser, line),
                (None, Ok(line)) => match Parser::of(self.format, line) {
                    // Without its format none of the lines has a meaning.
                    Err(broken) => {
                        return Err(Fault::Broken { path: self.path.into(), line: 1, broken });
                    }
                    Ok((found, is_header)) => {
                        let parser = parser.insert(found);
                        if is_header {
                            continue;
                        }
                        state.operation(parser, line)
                    }
                },
            };
            let (operation, count) = match known {
                Ok(known) => known,
                Err(broken) => {
                    let line = number + 1;
                    if !self.skip_broken {
                        return Err(Fault::Broken { path: self.path.into(), line, broken });
                    }
                    state.broken += 1;
                    state.first_broken.get_or_insert_with(|| {
                        let Broken { column, what } = &broken;
                        format!("line {line}, column {column}: {}", printable::excerpt(what))
                    });
                    continue;
                }
            };
            for _ in 0..count.min(limit - state.operations) {
                state.operations += 1;
                if state.operations > MOST_OPERATIONS {
                    return Err(self.whole(format!(
                        "more than {MOST_OPERATIONS} operations; take its first ones with --first"
                    )));
                }
                work(operation).map_err(|error| self.spool(error))?;
            }
        }
        let Some(parser) = parser.filter(|_| state.operations > 0) else {
            return Err(self.whole(match state.broken {
                0 => "the trace is empty".to_string(),
                broken => format!("none of its lines is an operation; {broken} were skipped"),
            }));
        };
        Ok(Read {
            format: parser.format(),
            has_times: state.has_times,
            operations: state.operations,
            broken: state.broken,
            first_broken: state.first_broken,
        })
    }
}

/// The state after the lines so far.
#[derive(Default)]
struct State {
    operations: u64,
    broken: u64,
    first_broken: Option<String>,
    has_times: bool,
    start_ns: Option<u64>,
    last_ns: u64,
}

impl State {
    /// Returns the operation of a line, and how often it was done.
    fn operation(&mut self, parser: &Parser, line: &[u8]) -> Result<(Operation, u64), Broken> {
        let line = parser.line(line)?;
        let mut time_ns = 0;
        if let Some(at_ns) = line.time_ns {
            if at_ns < self.last_ns {
                let what = "the time is before that of the line before";
                return Err(Broken::new(1, what));
            }
            self.last_ns = at_ns;
            self.has_times = true;
            time_ns = at_ns - *self.start_ns.get_or_insert(at_ns);
        }
        let operation = Operation {
            time_ns,
            unit_ns: if parser.format().has_whole_seconds() { SECOND_NS } else { 1 },
            act: line.act,
            key: xxh3_64_with_seed(line.key, line.table),
            key_bytes: line.key_bytes,
            size: line.size,
        };
        Ok((operation, line.count))
    }
}
