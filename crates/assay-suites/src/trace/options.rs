//! The options of replays.

use std::path::PathBuf;

use clap::Args;
use program_support::exit::{Failure, Outcome};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};

use super::facts::Facts;
use super::format::Format;
use super::line::{Act, MOST_OPERATIONS};
use super::pace::Pace;
use super::reader::Reading;
use super::source;
use super::tape::Tape;
use crate::options::{MEASURING, Part, Threads, count};

/// The options of a replay.
#[derive(Args, Clone, Debug, Serialize)]
pub struct Options {
    /// Trace, which may be compressed with zstd or gzip
    #[arg(value_name = "FILE", required_unless_present = "file")]
    #[serde(skip)]
    pub path: Option<PathBuf>,
    /// Trace, as plan files name it and cells have it
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "path")]
    pub file: Option<PathBuf>,
    /// Format of the trace [default: recognised by its first line]
    #[arg(long, value_name = "FORMAT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_format: Option<Format>,
    /// Numbers of threads, separated by commas; each makes a cell
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',', default_value = "1")]
    pub threads: Vec<Threads>,
    /// Pace: recorded, a factor of that such as 10x, or as-fast-as-possible
    #[arg(long, value_name = "PACE", default_value = "as-fast-as-possible",
          help_heading = MEASURING)]
    pub pace: Pace,
    /// Fill in the records that the trace finds, before it is replayed
    #[arg(long)]
    pub prefill: bool,
    /// Leave out lines that are broken, and say how many
    #[arg(long)]
    pub skip_broken: bool,
    /// Replay only this number of operations, from the first on
    #[arg(long, value_name = "COUNT", value_parser = count::between::<u64>(1, MOST_OPERATIONS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// Figures of the trace, as cells have them
    #[arg(long, value_name = "JSON", hide = true, value_parser = Facts::read)]
    #[serde(serialize_with = "as_text", skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
}

fn as_text<S: Serializer>(facts: &Option<Facts>, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&serde_json::to_string(facts).map_err(S::Error::custom)?)
}

impl Options {
    /// Returns the way to read the trace of a cell.
    pub(super) fn reading(&self) -> Option<Reading<'_>> {
        Some(Reading {
            path: self.file.as_deref()?,
            format: self.trace_format,
            first: self.first,
            skip_broken: self.skip_broken,
        })
    }

    /// Returns the number of threads of a cell.
    pub(super) fn cell_threads(&self) -> u32 {
        Threads::each(&self.threads).first().copied().unwrap_or(1)
    }

    /// Reads the trace, and returns the options of each cell: one for each number of threads.
    pub(super) fn parts(self) -> Outcome<Vec<Part<Self>>> {
        let Some(named) = self.path.clone().or(self.file.clone()) else {
            return Err(Failure::Usage("name a trace".into()));
        };
        let shown = named.display();
        source::check(&named)?;
        let whole = std::fs::canonicalize(&named)
            .map_err(|error| Failure::Refused(format!("{shown}: {error}")))?;
        if whole.to_str().is_none() {
            let why = "not UTF-8, so a run file could not name it; choose another name";
            return Err(Failure::Usage(format!("{shown}: {why}")));
        }
        let reading = Reading {
            path: &named,
            format: self.trace_format,
            first: self.first,
            skip_broken: self.skip_broken,
        };
        let tape = Tape::of(&reading, self.prefill, &mut |_| ())?;
        let facts = tape.facts;
        let threads = Threads::each(&self.threads);
        let usage = |why: &str| Err(Failure::Usage(format!("{shown}: {why}")));
        if self.pace != Pace::Fastest && !facts.has_times {
            return usage("the trace has no times; replay it with --pace as-fast-as-possible");
        }
        if facts.count(Act::Scan) > 0 && threads != [1] {
            return usage(
                "a trace with scans is replayed by one thread, so that each answer is known; \
                 leave --threads out",
            );
        }
        let part = |threads: u32| Part {
            rows: facts.stored,
            threads,
            options: Self {
                path: None,
                file: Some(whole.clone()),
                trace_format: Some(tape.format),
                threads: vec![Threads::one(threads)],
                facts: Some(facts.clone()),
                ..self.clone()
            },
        };
        Ok(threads.into_iter().map(part).collect())
    }
}
