//! The options of workloads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use program_support::exit::{Failure, Outcome};
use program_support::{given_file, printable};
use serde::{Serialize, Serializer};

use super::spec::Spec;
use super::{file, kinds};
use crate::options::{Part, Threads};

/// The most bytes of a workload's file.
const MOST_BYTES: u64 = 1 << 20;

/// The options of a workload.
#[derive(Args, Clone, Debug, Serialize)]
pub struct Options {
    /// Workload file; `assay workload new` writes one
    #[arg(value_name = "FILE", required_unless_present_any = ["file", "spec"])]
    #[serde(skip)]
    pub path: Option<PathBuf>,
    /// Workload file, as plan files name it
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "path")]
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// The text of such a file, as cells have it
    #[arg(long, value_name = "TOML", hide = true, value_parser = Text::read,
          conflicts_with_all = ["path", "file"])]
    pub spec: Option<Text>,
    /// Numbers of threads of the phases that have a list of them, separated by commas [default: all
    /// of the list]
    #[arg(short, long, value_name = "THREADS", value_delimiter = ',')]
    pub threads: Vec<Threads>,
}

/// The text of a file, and what it says.
#[derive(Clone, Debug)]
pub struct Text {
    text: String,
    spec: Arc<Spec>,
}

impl Text {
    /// Reads the text of a file.
    fn read(text: &str) -> Result<Self, String> {
        let spec = file::parse(text).map_err(|fault| fault.to_string())?;
        Ok(Self { text: text.into(), spec: Arc::new(spec) })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is wrong: with line and column.
    pub fn of_file(path: &Path) -> Outcome<Self> {
        given_file::check_readable(path, "FILE")?;
        let name = path.display();
        let text = given_file::read_text(path, MOST_BYTES)
            .map_err(|e| Failure::Refused(format!("{name}: {e}; name a workload's file")))?;
        Self::read(&text)
            .map_err(|why| Failure::Usage(format!("{name}, {}", printable::excerpt(&why))))
    }

    /// Returns what the file says.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&self.text)
    }
}

impl Options {
    /// Returns the options of a store that ages: the records to load, the seconds of a window, and
    /// the seconds after which it need not be steady.
    ///
    /// # Errors
    /// If the numbers are none of a workload.
    pub fn ageing(records: Option<u64>, window_s: u64, limit_s: u64) -> Outcome<Self> {
        let text = Text::read(&kinds::ageing([records, Some(window_s), Some(limit_s)]))
            .map_err(|why| Failure::Usage(format!("the workload of these options, {why}")))?;
        Ok(Self { path: None, file: None, spec: Some(text), threads: Vec::new() })
    }

    /// Returns the workload of a cell.
    pub(super) fn spec(&self) -> Option<&Spec> {
        self.spec.as_ref().map(Text::spec)
    }

    /// Returns the number of threads of a cell, in phases that have a list of them.
    pub(super) fn cell_threads(&self) -> u32 {
        Threads::each(&self.threads).first().copied().unwrap_or(1)
    }

    /// Returns the options of each cell: one for each number of threads.
    pub(super) fn parts(self) -> Outcome<Vec<Part<Self>>> {
        let text = match (self.path.as_ref().or(self.file.as_ref()), self.spec) {
            (Some(path), _) => Text::of_file(path)?,
            (None, Some(text)) => text,
            (None, None) => return Err(Failure::Usage("name a workload's file".into())),
        };
        let spec = Arc::clone(&text.spec);
        let list = spec.thread_counts();
        let wanted = match self.threads.is_empty() {
            true => list,
            false if spec.phases.iter().all(|phase| phase.threads.len() == 1) => {
                return Err(Failure::Usage(
                    "--threads is for phases with a list of them, and none has one; write threads \
                     = [1, 4] in the file"
                        .into(),
                ));
            }
            false => Threads::each(&self.threads),
        };
        let part = |threads: u32| Part {
            rows: spec.expected_rows(),
            threads: spec.most_threads(threads),
            options: Self {
                path: None,
                file: None,
                spec: Some(text.clone()),
                threads: vec![Threads::one(threads)],
            },
        };
        Ok(wanted.into_iter().map(part).collect())
    }
}
