//! The options of workloads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use program_support::exit::{Failure, Outcome};
use program_support::{given_file, printable};
use serde::{Serialize, Serializer};

use super::spec::Spec;
use super::{caches, file, kinds};
use crate::options::{Part, Threads};

/// The most bytes of a workload's file.
const MOST_BYTES: u64 = 1 << 20;

/// The options of a workload.
#[derive(Args, Clone, Debug, Serialize)]
pub struct Options {
    /// Workload file, which `assay workload new` writes; or twitter:1 to twitter:54, caches at
    /// Twitter
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

    /// Reads a file, or a workload that ships, such as `twitter:12`.
    ///
    /// # Errors
    /// If it cannot be read, or is wrong: with line and column.
    pub fn of_file(path: &Path) -> Outcome<Self> {
        if let Some(shipped) = path.to_str().and_then(caches::text) {
            return shipped.and_then(|text| Self::read(&text)).map_err(Failure::Usage);
        }
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

    /// Returns the text with another rate in each phase of operations: operations a second; none:
    /// an operation follows another.
    ///
    /// # Errors
    /// If no file can ask for that rate.
    pub fn at_rate(&self, per_second: Option<u64>) -> Result<Self, String> {
        let said = "a text that was read before";
        let mut file: toml::Table = self.text.parse().expect(said);
        let rate = match per_second {
            Some(rate) => i64::try_from(rate).map_or(toml::Value::Integer(i64::MAX), Into::into),
            None => "closed".into(),
        };
        let phases = file.get_mut("phase").and_then(toml::Value::as_array_mut).expect(said);
        let tables = phases.iter_mut().filter_map(toml::Value::as_table_mut);
        for phase in tables.filter(|phase| phase.contains_key("mix")) {
            phase.insert("rate".into(), rate.clone());
        }
        Self::read(&file.to_string())
    }

    /// Returns the options of the cells that do what the file says.
    pub fn options(&self, threads: Vec<Threads>) -> Options {
        Options { path: None, file: None, spec: Some(self.clone()), threads }
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

    /// Returns the bytes of key and value of a record, on average.
    pub fn record_bytes(&self) -> u64 {
        let of = |spec: &Spec| spec.records.value.mean() as u64 + spec.records.key.bytes();
        self.spec().map_or(0, of)
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
        let wanted = if self.threads.is_empty() {
            list
        } else if spec.phases.iter().all(|phase| phase.threads.len() == 1) {
            return Err(Failure::Usage(
                "--threads is for phases with a list of them, and none has one; write threads \
                     = [1, 4] in the file"
                    .into(),
            ));
        } else {
            Threads::each(&self.threads)
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

#[cfg(test)]
mod tests {
    use assay_core::latency::Rates;

    use super::*;
    use crate::workload::Sample;

    #[test]
    fn a_text_at_another_rate_says_nothing_else() {
        let curve = Sample::Documents.text().to_string()
            + "rate = [[1, 100], [2, 300]]\n[[phase]]\nname = \"again\"\ndo = \"reopen\"\n";
        let text = Text::read(&curve).expect("a text");
        let steady = text.at_rate(Some(500)).expect("a rate");
        let closed = text.at_rate(None);
        let closed = closed.expect("no rate");
        assert_eq!(steady.spec().phases[0].rates, Some(Rates::constant(500)));
        assert_eq!(closed.spec().phases[0].rates, None);
        let without_rates = |text: &Text| {
            let mut spec = text.spec().clone();
            spec.phases.iter_mut().for_each(|phase| phase.rates = None);
            spec
        };
        assert_eq!(without_rates(&steady), without_rates(&text));
        assert_eq!(without_rates(&closed), without_rates(&text));
        assert!(text.at_rate(Some(u64::MAX)).is_err());
    }
}
