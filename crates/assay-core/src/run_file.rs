//! The run file: everything that was measured, and on what. `docs/run-file.md` describes it for
//! readers in other languages; keep the two together.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use program_support::{given_file, printable, whole_file};
use serde::{Deserialize, Serialize};

use crate::advice::Advice;
use crate::ageing::Window;
use crate::doctor::Finding;
use crate::durability::Holding;
use crate::environment::{Build, Environment, Filesystem};
use crate::gzip;
use crate::histogram;
use crate::plan::Cell;
use crate::resources::Resources;
use crate::stats::median;
use crate::usage::Usage;

/// The version of the format that this code writes and reads.
pub const SCHEMA_VERSION: u32 = 3;

const FORMAT: &str = "assay-run";

/// A larger file is not read: a run of years has some hundred megabytes.
pub const MOST_BYTES: u64 = 1 << 30;

/// The mark that some programs put before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A whole run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunFile {
    /// Always `assay-run`.
    pub format: String,
    /// The version of the format.
    pub schema_version: u32,
    /// The time at which the run started.
    pub created: Timestamp,
    /// The command line that repeats the run.
    pub command: Vec<String>,
    /// The build of Assay that ran.
    pub build: Build,
    /// The other build that took turns with it, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<OtherBuild>,
    /// The question of `assay advise`, if the run answers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
    /// The machine and its state.
    pub environment: Environment,
    /// The findings of `assay doctor` at the start.
    pub findings: Vec<Finding>,
    /// The number of cells of the plan.
    pub planned_cells: usize,
    /// The cells, in the order in which they were measured.
    pub cells: Vec<CellResult>,
}

/// The build of the cells whose engines are of [`WhichBuild::Other`](crate::engine::WhichBuild).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherBuild {
    /// The file.
    pub path: PathBuf,
    /// The kind of the file.
    pub kind: OtherKind,
    /// The build of that Assay; absent for a plugin, whose cells have this one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
}

impl OtherBuild {
    /// Returns the path and kind of the build in words.
    pub fn words(&self) -> String {
        let path = self.path.display();
        match &self.build {
            Some(Build { version, rustc, .. }) => format!("{path}, assay {version} by {rustc}"),
            None => format!("the plugin {path}"),
        }
    }
}

/// The kind of another build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OtherKind {
    /// Another Assay.
    Program,
    /// Another build of an engine, as a plugin.
    Plugin,
}

/// The result of a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CellResult {
    /// The cell that was measured.
    pub cell: Cell,
    /// The time at which the cell's worker started.
    pub started: Timestamp,
    /// The time that the cell took in all, untimed work included; absent if nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_ns: Option<u64>,
    /// The end of the cell.
    pub status: Status,
    /// The refutation of the engine's level by a crash test, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuted: Option<String>,
    /// The support of crash tests for that level; absent if they refuted it, or did not test it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Holding>,
    /// The worker's report.
    pub measurement: Measurement,
}

impl CellResult {
    /// Returns the engine's name in published tables, with the ending of its build.
    pub fn published_name(&self) -> String {
        format!("{}{}", self.measurement.engine_name, self.cell.engine.build)
    }
}

/// The outcome of a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "outcome", content = "reason")]
pub enum Status {
    /// Everything was measured and checked.
    Measured,
    /// The engine cannot do the work.
    Unsupported(String),
    /// The engine is not available.
    Unavailable(String),
    /// An answer was wrong.
    Wrong(String),
    /// The engine reported an error, or its worker crashed or hung.
    Failed(String),
    /// The system killed its worker because of the limit of memory.
    Killed(String),
}

impl Status {
    /// Returns true if the run counts as failed because of this cell.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::Failed(_) | Self::Killed(_))
    }

    /// Returns why nothing, or not all, was measured.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Measured => None,
            Self::Unsupported(why)
            | Self::Unavailable(why)
            | Self::Wrong(why)
            | Self::Failed(why)
            | Self::Killed(why) => Some(why),
        }
    }
}

/// The start of a note about a durability stronger than the engine's level.
pub const NOTE_STRONGER: &str = "stronger than ";

/// The start of a note that names the writes which do not check if the key exists.
pub const NOTE_BLIND_WRITES: &str = "blind writes: ";

/// A worker's report about its cell. Phases that were done before a failure are kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// The engine's version.
    pub engine_version: String,
    /// The engine's name in published tables.
    pub engine_name: String,
    /// Settings that the driver applied.
    pub settings: Vec<String>,
    /// Facts that a reader of the figures has to know.
    pub notes: Vec<String>,
    /// Phases that were asked for and left out, since the engine lacks their operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_offered: Vec<NotOffered>,
    /// The file system under the store; absent in memory.
    pub filesystem: Option<Filesystem>,
    /// The timed steps, in order.
    pub phases: Vec<Phase>,
    /// Answers that were compared after another process had opened the closed store; 0 in memory.
    pub reopened: u64,
    /// The resources that the worker used.
    pub resources: Resources,
}

impl Measurement {
    /// Returns the measurement of a cell that two processes measured one after the other.
    pub fn then(mut self, next: Self) -> Self {
        let news = next.notes.into_iter().filter(|note| !self.notes.contains(note));
        let news: Vec<_> = news.collect();
        self.notes.extend(news);
        self.not_offered.extend(next.not_offered);
        self.phases.extend(next.phases);
        self.resources = self.resources.then(next.resources);
        self
    }

    /// Returns the phase with this name.
    pub fn phase(&self, name: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == name)
    }

    /// Returns why the phase with this name was left out, if it was.
    pub fn not_offered(&self, name: &str) -> Option<&str> {
        let left_out = self.not_offered.iter().find(|left_out| left_out.phase == name)?;
        Some(&left_out.why)
    }
}

/// A phase that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotOffered {
    /// The phase's name.
    pub phase: String,
    /// The reason: what the engine does not offer.
    pub why: String,
}

/// One timed step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// The phase's name: load, insert, query, …
    pub name: String,
    /// The phase's rounds, in order.
    pub rounds: Vec<Round>,
    /// The number of fastest rounds whose mean rate the suite publishes.
    pub published_top: usize,
    /// A hash of the operations, the same for every engine (hexadecimal).
    pub tape_hash: String,
    /// Results that were compared with the expected ones.
    pub checked: u64,
    /// Rounds that were repeated because they were disturbed; the attempt that lacked least is the
    /// one that is kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repeats: u32,
    /// Transactions that the engine refused because of others, and that were done again.
    #[serde(default, skip_serializing_if = "is_none")]
    pub conflicts: u64,
    /// Threads that worked at once.
    pub threads: u32,
    /// Latencies by kind of operation, from a separate round; none if they were not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<Latency>,
    /// The course of that round's operations over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
    /// The parts of the phase, one after another: one, or several if it lasts until it is steady.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<Window>,
    /// True if the last windows were steady, false if the limit of time came before; absent if the
    /// phase had another end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<bool>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The latencies of the operations of a kind, one by one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// The kind of operation.
    pub operation: String,
    /// The number of operations.
    pub count: u64,
    /// The mean latency.
    pub mean_ns: f64,
    /// The shortest latency.
    pub min_ns: u64,
    /// Half took at most this.
    pub p50_ns: u64,
    /// 90 % took at most this.
    pub p90_ns: u64,
    /// 95 % took at most this.
    pub p95_ns: u64,
    /// 99 % took at most this.
    pub p99_ns: u64,
    /// 99.9 % took at most this.
    pub p999_ns: u64,
    /// 99.99 % took at most this; `None` in published figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p9999_ns: Option<u64>,
    /// The longest latency.
    pub max_ns: u64,
    /// All latencies, as a histogram of three digits in HdrHistogram's compressed form and base64;
    /// `None` in published figures, and of several trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<String>,
}

impl Latency {
    /// Returns the longest latency of each of these shares of the operations; none without a
    /// readable histogram. A share that leaves less than one operation has none.
    pub fn quantiles_ns(&self, shares: &[f64]) -> Option<Vec<Option<u64>>> {
        let histogram = histogram::decode(self.histogram.as_ref()?)?;
        let left = |share: f64| (1.0 - share) * histogram.len() as f64;
        // Rounding must not take the last operation away.
        let quantile =
            |share: &f64| (left(*share) > 1.0 - 1e-6).then(|| histogram.value_at_quantile(*share));
        Some(shares.iter().map(quantile).collect())
    }
}

/// Operations over time, of all threads and kinds together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Operations a second that arrived, in an open loop; absent in a closed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_per_second: Option<u64>,
    /// The intended start of the last of them, after the start of the round; absent in a closed
    /// loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_ns: Option<u64>,
    /// From the start of the round to the end of its last operation.
    pub time_ns: u64,
    /// The longest time that a thread's clock stood still, because the instrument was at work while
    /// an operation was due.
    pub instrument_ns: u64,
    /// The length of an interval; the last one ends with the round.
    pub interval_ns: u64,
    /// The intervals from the start on.
    pub intervals: Vec<Interval>,
}

/// The operations that ended in an interval of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The number of operations.
    pub operations: u64,
    /// 99 % of them took at most this; null without operations.
    pub p99_ns: Option<u64>,
    /// The longest latency; null without operations.
    pub max_ns: Option<u64>,
}

impl Timeline {
    /// Returns the operations a second over the whole round.
    pub fn rate(&self) -> f64 {
        let operations: f64 =
            self.intervals.iter().map(|interval| interval.operations as f64).sum();
        operations * 1e9 / self.time_ns.max(1) as f64
    }
}

/// One round of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Operations done.
    pub operations: u64,
    /// Time inside the timed spans.
    pub time_ns: u64,
    /// The round's use of the machine; `None` in published figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// The least time of a round that has a rate: reading the clock takes some 30 ns, 3 % of it.
pub const LEAST_ROUND_NS: u64 = 1_000;

/// The reason that every view shows next to the dash of a measured phase without a rate.
pub const NO_TIME: &str = "a round took less than a microsecond, too little for the clock, so \
                           there is no rate; measure more operations";

impl Round {
    /// Returns the operations per second; none if the round was too short for the clock.
    pub fn rate(&self) -> Option<f64> {
        (self.time_ns >= LEAST_ROUND_NS).then(|| self.operations as f64 * 1e9 / self.time_ns as f64)
    }

    /// Returns true if the round had less of a processor than it could have used.
    pub fn is_disturbed(&self) -> bool {
        self.usage.is_some_and(|usage| usage.is_disturbed())
    }
}

impl Phase {
    /// Returns the phase's name without its number of threads: with several numbers in one cell, it
    /// is at the end.
    pub fn work(&self) -> &str {
        let end = format!(" ({} threads)", self.threads);
        self.name.strip_suffix(&end).unwrap_or(&self.name)
    }

    /// Returns the rates of all rounds; empty if one of them was too short for the clock, since the
    /// others would be the slow ones.
    pub fn rates(&self) -> Vec<f64> {
        self.rounds.iter().map(Round::rate).collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns the figure of the trial: the median rate of its rounds.
    pub fn trial_rate(&self) -> Option<f64> {
        median(&self.rates())
    }

    /// Returns the number of disturbed rounds.
    pub fn disturbed(&self) -> usize {
        self.rounds.iter().filter(|round| round.is_disturbed()).count()
    }

    /// Returns the share of the rounds' wall time that was on the clock; `None` of published
    /// figures.
    pub fn timed_share(&self) -> Option<f64> {
        let wall_ns = self.sum_of_usage(|usage| usage.wall_ns)?;
        let timed_ns: f64 = self.rounds.iter().map(|round| round.time_ns as f64).sum();
        (wall_ns > 0).then(|| timed_ns / wall_ns as f64)
    }

    /// Returns the operations for a second of processor time of the whole process. That includes
    /// the engine's own threads and the instrument's work between the spans. `None` of published
    /// figures.
    pub fn operations_per_cpu_second(&self) -> Option<f64> {
        let cpu_ns = self.sum_of_usage(|usage| usage.cpu_ns)?;
        let operations: f64 = self.rounds.iter().map(|round| round.operations as f64).sum();
        (cpu_ns > 0).then(|| operations * 1e9 / cpu_ns as f64)
    }

    /// Returns the sum over the rounds; none if a round has no usage, or there is no round.
    fn sum_of_usage(&self, of: impl Fn(&Usage) -> u64) -> Option<u64> {
        let all: Option<Vec<_>> = self.rounds.iter().map(|round| round.usage).collect();
        all.filter(|all| !all.is_empty()).map(|all| {
            let sum = all.iter().map(|usage| u128::from(of(usage))).sum::<u128>();
            u64::try_from(sum).unwrap_or(u64::MAX)
        })
    }

    /// Returns true if a round was too short for the clock, so that there is no rate.
    pub fn is_without_time(&self) -> bool {
        self.rounds.iter().any(|round| round.time_ns < LEAST_ROUND_NS)
    }
}

/// The reason why a run file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RunFileError {
    /// The operating system reported an error.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The system's error.
        source: io::Error,
    },
    /// The content is not a run file.
    #[error("{path}: not a run file of Assay ({why}); name a file that `assay run` wrote")]
    Foreign {
        /// The file.
        path: String,
        /// The fault of the content.
        why: String,
    },
    /// A version of the format that this Assay does not know.
    #[error(
        "{path}: run file of schema version {found}, this Assay reads version {SCHEMA_VERSION}; \
         use the Assay that wrote it"
    )]
    Version {
        /// The file.
        path: String,
        /// The file's version.
        found: u64,
    },
}

/// The fields by which a run file is recognised; the rest is skipped.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    format: serde_json::Value,
    #[serde(default)]
    schema_version: serde_json::Value,
}

impl RunFile {
    /// Makes a run without cells.
    pub fn new(
        command: Vec<String>,
        build: Build,
        environment: Environment,
        planned_cells: usize,
    ) -> Self {
        Self {
            format: FORMAT.into(),
            schema_version: SCHEMA_VERSION,
            created: Timestamp::now(),
            command,
            build,
            baseline: None,
            advice: None,
            environment,
            findings: Vec::new(),
            planned_cells,
            cells: Vec::new(),
        }
    }

    /// Returns true if the run has every planned cell.
    pub fn is_complete(&self) -> bool {
        self.cells.len() == self.planned_cells
    }

    /// Returns the cells that are results, without those that calibrate the instrument.
    pub fn results(&self) -> impl Iterator<Item = &CellResult> {
        self.cells.iter().filter(|result| !result.cell.calibration)
    }

    /// Writes the file, whole or not at all; compressed if its name ends in `.gz`.
    ///
    /// # Errors
    /// [`RunFileError::Io`].
    pub fn save(&self, path: &Path) -> Result<(), RunFileError> {
        let io = |source| RunFileError::Io { path: path.display().to_string(), source };
        let write = |out: &mut dyn io::Write| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            out.write_all(b"\n")
        };
        whole_file::write_with(path, &mut |out| {
            if gzip::is_named(path) { gzip::write(out, &write) } else { write(out) }
        })
        .map_err(io)
    }

    /// Reads a run file, compressed or not.
    ///
    /// # Errors
    /// If the file cannot be read, is no run file, or is of another version of the format.
    pub fn load(path: &Path) -> Result<Self, RunFileError> {
        let name = path.display().to_string();
        let io = |source| RunFileError::Io { path: name.clone(), source };
        let foreign = |why: String| RunFileError::Foreign { path: name.clone(), why };
        let content = given_file::read(path, MOST_BYTES).map_err(|e| match e.raw_os_error() {
            Some(_) => io(e),
            None => foreign(e.to_string()),
        })?;
        let text = gzip::text(content).map_err(|e| foreign(e.to_string()))?;
        // Editors of other systems put a mark before a text.
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
        let head: Head = serde_json::from_slice(text).map_err(|e| foreign(excerpt(&e)))?;
        if head.format != FORMAT {
            return Err(foreign("its \"format\" is not \"assay-run\"".into()));
        }
        match head.schema_version.as_u64() {
            Some(version) if version == u64::from(SCHEMA_VERSION) => {}
            Some(found) => return Err(RunFileError::Version { path: name, found }),
            None => return Err(foreign("it has no \"schema_version\"".into())),
        }
        serde_json::from_slice(text).map_err(|e| foreign(excerpt(&e)))
    }
}

/// Returns an error's message in a bounded length, since it quotes the text.
fn excerpt(error: &serde_json::Error) -> String {
    printable::excerpt(&error.to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_is_too_short_for_the_clock_has_no_rate() {
        let round = |time_ns| Round { operations: 3, time_ns, usage: None };
        assert_eq!([0, 50, 999].map(|time_ns| round(time_ns).rate()), [None; 3]);
        assert_eq!(round(1_000).rate(), Some(3e6));
        let phase = Phase { rounds: vec![round(5_000), round(50)], ..Phase::default() };
        assert!(phase.is_without_time() && phase.trial_rate().is_none());
    }

    #[test]
    fn a_mark_of_byte_order_is_no_part_of_a_run_file() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("run.json");
        let load = |text: &[u8]| {
            std::fs::write(&path, text).expect("write");
            RunFile::load(&path).expect_err("it is not whole").to_string()
        };
        let text = br#"{"format": "assay-run", "schema_version": 1}"#;
        let marked = [BYTE_ORDER_MARK, text.as_slice()].concat();
        assert!(load(&marked).contains("run file of schema version 1"), "{}", load(&marked));
        assert_eq!(load(&marked), load(text));
        let long = format!(
            r#"{{"format": "assay-run", "schema_version": 3, "created": "{}"}}"#,
            "x".repeat(3_000)
        );
        assert!(load(long.as_bytes()).len() < 600, "{}", load(long.as_bytes()));
    }
}
