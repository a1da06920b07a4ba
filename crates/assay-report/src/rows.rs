//! The results of runs as plain rows: one for each engine and phase, and one for each kind of
//! operation whose latencies were taken. Tables that are sorted, filtered or read by other programs
//! are made of them.

use assay_core::estimate::Estimate;
use assay_core::plan::PageCache;
use assay_core::resources::Resources;
use assay_core::run_file::{Latency, NO_TIME, RunFile, Status};

use crate::ageing::{Aged, aged};
use crate::blocks::{Line, blocks};
use crate::format::{engine, work};
use crate::latencies::of_trials;
use crate::marks::{self, Marked, PhaseMarks};
use crate::speed_up::{SpeedUp, SpeedUps};

/// One phase of one engine, or the latencies of one kind of operation in it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The suite's id.
    pub suite: String,
    /// Further differences of the work from others, in words.
    pub work: String,
    /// The storage mode of the data.
    pub storage: String,
    /// Records in the store.
    pub rows: u64,
    /// Threads that worked at once.
    pub threads: u32,
    /// The engine, with chosen settings.
    pub engine: String,
    /// The engine's version.
    pub engine_version: String,
    /// The level at which the engine ran.
    pub durability: String,
    /// The level that was asked for.
    pub durability_wanted: String,
    /// The organisation of the primary key.
    pub keys: String,
    /// The part of the store's files in the page cache.
    pub page_cache: String,
    /// A crash test's finding against that level; empty if none.
    pub refuted: String,
    /// The greatest share of crashes that breaks that level, if tests ran and refuted nothing.
    pub held_most: Option<f64>,
    /// The marks of the engine and of the figure.
    pub marks: Vec<Marked>,
    /// The phase.
    pub phase: String,
    /// The kind of operation of a latency; empty in the row of a rate.
    pub operation: String,
    /// `measured`, or how the cell ended.
    pub status: String,
    /// Operations a second.
    pub rate: Option<Estimate>,
    /// The rounds, and the disturbed ones among them.
    pub rounds: Option<Rounds>,
    /// The share of the wall time on the clock.
    pub timed_share: Option<f64>,
    /// Operations for a second of processor time of the whole process.
    pub rate_of_cpu: Option<f64>,
    /// Trials.
    pub trials: usize,
    /// Peak memory of the worker.
    pub memory_bytes: Option<u64>,
    /// Disk space at the fullest.
    pub disk_bytes: Option<u64>,
    /// Bytes written to the device.
    pub written_bytes: Option<u64>,
    /// Time to close the store.
    pub close_ns: Option<u64>,
    /// The speed-up against the engine's fewest threads.
    pub speed_up: Option<SpeedUp>,
    /// The latencies of the operations of one kind.
    pub latency: Option<Latency>,
    /// The space that the store took on disk at the end of the phase.
    pub aged: Option<Aged>,
}

/// The rounds of a phase, of all trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// The number of all rounds.
    pub all: usize,
    /// The number of rounds in which the worker had less than 95 % of a processor.
    pub disturbed: usize,
}

/// The names of the columns, as CSV has them.
pub const COLUMNS: [&str; 51] = [
    "suite",
    "work",
    "storage",
    "rows",
    "threads",
    "engine",
    "engine_version",
    "durability",
    "refuted",
    "phase",
    "status",
    "ops_per_s",
    "ops_per_s_low",
    "ops_per_s_high",
    "ops_per_s_spread",
    "rounds",
    "disturbed_rounds",
    "timed_share",
    "ops_per_cpu_s",
    "trials",
    "memory_bytes",
    "disk_bytes",
    "written_bytes",
    "close_ns",
    "keys",
    "durability_wanted",
    "page_cache",
    "held_most",
    "marks",
    "marks_say",
    "speed_up",
    "speed_up_low",
    "speed_up_high",
    "fewest_threads",
    "efficiency",
    "operation",
    "latency_count",
    "mean_ns",
    "min_ns",
    "p50_ns",
    "p90_ns",
    "p95_ns",
    "p99_ns",
    "p999_ns",
    "p9999_ns",
    "max_ns",
    "store_bytes",
    "live_bytes",
    "space_amplification",
    "write_amplification",
    "steady",
];

impl Row {
    /// Returns the values, in the order of [`COLUMNS`]; unknown values are empty.
    pub fn values(&self) -> [String; 51] {
        let number = |value: Option<f64>| value.map_or_else(String::new, |v| format!("{v:.1}"));
        let bounds = self.rate.and_then(|rate| rate.spread.bounds());
        let count = |value: Option<u64>| value.map_or_else(String::new, |v| v.to_string());
        let share = |value: Option<f64>| value.map_or_else(String::new, |v| format!("{v:.3}"));
        let speed_up = |of: fn(&SpeedUp) -> Option<f64>| share(self.speed_up.as_ref().and_then(of));
        let latency = |of: fn(&Latency) -> Option<u64>| count(self.latency.as_ref().and_then(of));
        let marks = |of: fn(&Marked) -> &str| self.marks.iter().map(of).collect::<Vec<_>>();
        [
            self.suite.clone(),
            self.work.clone(),
            self.storage.clone(),
            self.rows.to_string(),
            self.threads.to_string(),
            self.engine.clone(),
            self.engine_version.clone(),
            self.durability.clone(),
            self.refuted.clone(),
            self.phase.clone(),
            self.status.clone(),
            number(self.rate.map(|rate| rate.value)),
            number(bounds.map(|bounds| bounds.low)),
            number(bounds.map(|bounds| bounds.high)),
            self.rate.map_or("", |rate| rate.spread.kind()).into(),
            count(self.rounds.map(|rounds| rounds.all as u64)),
            count(self.rounds.map(|rounds| rounds.disturbed as u64)),
            share(self.timed_share),
            number(self.rate_of_cpu),
            self.trials.to_string(),
            count(self.memory_bytes),
            count(self.disk_bytes),
            count(self.written_bytes),
            count(self.close_ns),
            self.keys.clone(),
            self.durability_wanted.clone(),
            self.page_cache.clone(),
            self.held_most.map_or_else(String::new, |most| format!("{most:.4}")),
            marks(|marked| marked.mark.id()).join(" "),
            marks(|marked| &marked.text).join("; "),
            speed_up(|of| Some(of.times)),
            speed_up(|of| Some(of.interval?.low)),
            speed_up(|of| Some(of.interval?.high)),
            count(self.speed_up.map(|of| of.fewest.into())),
            speed_up(|of| Some(of.efficiency())),
            self.operation.clone(),
            latency(|latency| Some(latency.count)),
            number(self.latency.as_ref().map(|latency| latency.mean_ns)),
            latency(|latency| Some(latency.min_ns)),
            latency(|latency| Some(latency.p50_ns)),
            latency(|latency| Some(latency.p90_ns)),
            latency(|latency| Some(latency.p95_ns)),
            latency(|latency| Some(latency.p99_ns)),
            latency(|latency| Some(latency.p999_ns)),
            latency(|latency| latency.p9999_ns),
            latency(|latency| Some(latency.max_ns)),
            count(self.aged.as_ref().map(|of| of.store_bytes)),
            count(self.aged.as_ref().map(|of| of.live_bytes)),
            share(self.aged.as_ref().and_then(|of| of.space)),
            share(self.aged.as_ref().and_then(|of| of.written)),
            self.aged
                .as_ref()
                .and_then(|of| of.steady)
                .map_or_else(String::new, |of| of.is_steady.to_string()),
        ]
    }
}

/// Returns the rows of a run, in its order.
pub fn of_run(run: &RunFile) -> Vec<Row> {
    let mut all = Vec::new();
    for block in blocks(run) {
        let phases = block.phases();
        let marks: Vec<_> = phases.iter().map(|phase| PhaseMarks::of(&block, phase)).collect();
        let speed_ups = SpeedUps::of(&block);
        for line in &block.lines {
            let speed_ups = speed_ups.of_line(line);
            let mut aged = aged(line);
            if line.trouble().is_some() {
                all.push(Row::of(line, ""));
                continue;
            }
            for (phase, marks) in phases.iter().zip(&marks) {
                let rate = line.rate(phase);
                let is_told = line.is_without_time(phase) || line.not_offered(phase).is_some();
                let of_phase = aged.iter().position(|of| of.phase == *phase);
                let of_phase = of_phase.map(|at| aged.swap_remove(at));
                if rate.is_some() || is_told || of_phase.is_some() {
                    let of_figure = rate.map(|rate| marks.of_figure(line, &rate));
                    let speed_up = speed_ups.of_phase(phase);
                    let mut row = Row { speed_up, aged: of_phase, ..Row::of(line, phase) };
                    row.marks.extend(of_figure.unwrap_or_default());
                    all.push(row);
                }
            }
            // Phases without operations have no rate.
            all.extend(aged.into_iter().map(|of| Row {
                phase: of.phase.clone(),
                aged: Some(of),
                ..Row::of(line, "")
            }));
            all.extend(of_trials(&line.trials).into_iter().map(|(phase, latency)| Row {
                phase: phase.into(),
                operation: latency.operation.to_lowercase(),
                latency: Some(latency),
                ..Row::of(line, "")
            }));
        }
    }
    all
}

impl Row {
    /// Returns the row of a phase, or the common part of a line's rows if the phase has no name.
    fn of(line: &Line<'_>, phase: &str) -> Self {
        let cell = line.cell();
        let first = line.trials[0];
        let usage = Usage::of(line);
        let rate = line.rate(phase).filter(|_| line.trouble().is_none());
        Self {
            suite: cell.suite.clone(),
            work: work(cell),
            storage: cell.storage.to_string(),
            rows: cell.rows,
            threads: cell.threads,
            engine: engine(cell),
            engine_version: first.measurement.engine_version.clone(),
            durability: cell.durability.to_string(),
            durability_wanted: cell.durability_wanted.to_string(),
            keys: cell.key_kind.to_string(),
            page_cache: match cell.page_cache {
                PageCache::Warm => "warm".into(),
                PageCache::Cold => "cold".into(),
            },
            refuted: first.refuted.clone().unwrap_or_default(),
            held_most: first.held.as_ref().map(|held| held.most),
            marks: marks::of_line(line),
            phase: phase.into(),
            operation: String::new(),
            status: status(line, phase),
            rate: rate.map(|rate| rate.estimate),
            rounds: rate.map(|rate| Rounds { all: rate.rounds, disturbed: rate.disturbed }),
            timed_share: rate.and_then(|rate| rate.timed_share),
            rate_of_cpu: rate.and_then(|rate| rate.operations_per_cpu_second),
            trials: line.trials.len(),
            memory_bytes: usage.memory_bytes,
            disk_bytes: usage.disk_bytes,
            written_bytes: usage.written_bytes,
            close_ns: usage.close_ns,
            speed_up: None,
            latency: None,
            aged: None,
        }
    }
}

/// Returns how a phase of a line ended, in words.
pub(crate) fn status(line: &Line<'_>, phase: &str) -> String {
    match line.trouble() {
        None if line.rate(phase).is_none() && line.not_offered(phase).is_some() => {
            format!("unsupported: {}", line.not_offered(phase).unwrap_or_default())
        }
        _ if line.is_without_time(phase) => format!("no rate: {NO_TIME}"),
        None | Some(Status::Measured) => "measured".into(),
        Some(Status::Unsupported(why)) => format!("unsupported: {why}"),
        Some(Status::Unavailable(why)) => format!("unavailable: {why}"),
        Some(Status::Wrong(why)) => format!("wrong: {why}"),
        Some(Status::Failed(why)) => format!("failed: {why}"),
        Some(Status::Killed(why)) => why.clone(),
    }
}

/// A line's use of resources: medians over its trials.
pub(crate) struct Usage {
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) disk_bytes: Option<u64>,
    pub(crate) written_bytes: Option<u64>,
    pub(crate) close_ns: Option<u64>,
}

impl Usage {
    pub(crate) fn of(line: &Line<'_>) -> Self {
        let resources = |of: fn(&Resources) -> Option<u64>| {
            line.figure(|trial| of(&trial.measurement.resources))
        };
        Self {
            memory_bytes: resources(|used| Some(used.peak_rss_bytes).filter(|&bytes| bytes > 0)),
            disk_bytes: resources(|used| used.store_peak_bytes),
            written_bytes: resources(|used| used.store_peak_bytes.and(used.written_bytes)),
            close_ns: resources(|used| Some(used.close_ns).filter(|&ns| ns > 0)),
        }
    }
}

/// Returns a run as CSV (RFC 4180), with a header.
///
/// # Errors
/// Only if memory runs out.
pub fn csv(run: &RunFile) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for row in of_run(run) {
        writer.write_record(row.values().map(no_formula))?;
    }
    let bytes = writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns a text that a spreadsheet takes for no formula: an apostrophe precedes one.
fn no_formula(text: String) -> String {
    if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text }
}

/// Returns a text without markup of Markdown and HTML.
pub(crate) fn plain_markdown(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => plain += "&lt;",
            '>' => plain += "&gt;",
            '&' => plain += "&amp;",
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '#' | '~' => plain.extend(['\\', character]),
            '\n' => plain.push(' '),
            other => plain.push(other),
        }
    }
    plain
}
