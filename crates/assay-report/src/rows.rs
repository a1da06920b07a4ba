//! The results of runs as plain rows: one for each engine and phase. What tables that are sorted,
//! filtered or read by other programs are made of.

use assay_core::estimate::{Bounds, Estimate, Spread};
use assay_core::plan::Cell;
use assay_core::resources::Resources;
use assay_core::run_file::{NO_TIME, RunFile, Status};

use crate::blocks::{Line, blocks};
use crate::format::{bytes, duration_ns, quantity, rows, work};

/// One phase of one engine.
#[derive(Clone, Debug)]
pub struct Row {
    /// The suite's id.
    pub suite: String,
    /// How else the work differs from others, in words.
    pub work: String,
    /// Where the data lived.
    pub storage: String,
    /// Records in the store.
    pub rows: u64,
    /// Threads that worked at once.
    pub threads: u32,
    /// The engine, with chosen settings.
    pub engine: String,
    /// Its version.
    pub engine_version: String,
    /// The level at which it ran.
    pub durability: String,
    /// What a crash test found against that level; empty if nothing.
    pub refuted: String,
    /// The phase.
    pub phase: String,
    /// `measured`, or how the cell ended.
    pub status: String,
    /// Operations a second.
    pub rate: Option<Estimate>,
    /// How many rounds there were, and how many of them were disturbed.
    pub rounds: Option<Rounds>,
    /// What share of the wall time was on the clock.
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
}

/// The rounds of a phase, of all trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// All of them.
    pub all: usize,
    /// Those in which the worker had less than 95 % of a processor.
    pub disturbed: usize,
}

/// The names of the columns, as CSV has them.
pub const COLUMNS: [&str; 24] = [
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
];

impl Row {
    /// The values, in the order of [`COLUMNS`]; what is not known is empty.
    pub fn values(&self) -> [String; 24] {
        let number = |value: Option<f64>| value.map_or_else(String::new, |v| format!("{v:.1}"));
        let bounds = self.rate.and_then(|rate| rate.spread.bounds());
        let count = |value: Option<u64>| value.map_or_else(String::new, |v| v.to_string());
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
            self.timed_share.map_or_else(String::new, |share| format!("{share:.3}")),
            number(self.rate_of_cpu),
            self.trials.to_string(),
            count(self.memory_bytes),
            count(self.disk_bytes),
            count(self.written_bytes),
            count(self.close_ns),
        ]
    }
}

/// The rows of a run, in its order.
pub fn of_run(run: &RunFile) -> Vec<Row> {
    let mut all = Vec::new();
    for block in blocks(run) {
        let phases = block.phases();
        for line in &block.lines {
            match line.trouble() {
                Some(trouble) => all.push(row(line, "", Some(trouble))),
                None => all.extend(
                    phases
                        .iter()
                        .filter(|phase| {
                            line.rate(phase).is_some()
                                || line.is_without_time(phase)
                                || line.not_offered(phase).is_some()
                        })
                        .map(|phase| row(line, phase, None)),
                ),
            }
        }
    }
    all
}

fn row(line: &Line<'_>, phase: &str, trouble: Option<&Status>) -> Row {
    let cell = line.cell();
    let first = line.trials[0];
    let usage = Usage::of(line);
    let rate = line.rate(phase).filter(|_| trouble.is_none());
    Row {
        suite: cell.suite.clone(),
        work: work(cell),
        storage: cell.storage.to_string(),
        rows: cell.rows,
        threads: cell.threads,
        engine: engine(cell),
        engine_version: first.measurement.engine_version.clone(),
        durability: cell.durability.to_string(),
        refuted: first.refuted.clone().unwrap_or_default(),
        phase: phase.into(),
        status: match trouble {
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
        },
        rate: rate.map(|rate| rate.estimate),
        rounds: rate.map(|rate| Rounds { all: rate.rounds, disturbed: rate.disturbed }),
        timed_share: rate.and_then(|rate| rate.timed_share),
        rate_of_cpu: rate.and_then(|rate| rate.operations_per_cpu_second),
        trials: line.trials.len(),
        memory_bytes: usage.memory_bytes,
        disk_bytes: usage.disk_bytes,
        written_bytes: usage.written_bytes,
        close_ns: usage.close_ns,
    }
}

/// The engine's name with its chosen settings.
pub(crate) fn engine(cell: &Cell) -> String {
    let mut engine = cell.engine.clone();
    for (name, value) in cell.engine_options.iter().chain(&cell.engine_parameters) {
        engine += &format!(" {name}={value}");
    }
    engine
}

/// What a line took beside time: medians over its trials.
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

/// A run as CSV (RFC 4180), with a header.
///
/// # Errors
/// Never but for want of memory.
pub fn csv(run: &RunFile) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for row in of_run(run) {
        writer.write_record(row.values().map(no_formula))?;
    }
    let bytes = writer.into_inner().map_err(|e| csv::Error::from(e.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A text that a spreadsheet takes for a text: one that begins like a formula gets an apostrophe.
fn no_formula(text: String) -> String {
    match text.starts_with(['=', '+', '-', '@']) {
        true => format!("'{text}"),
        false => text,
    }
}

/// A text without what Markdown and HTML would take for markup.
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

/// A rate, with its interval or the range of its rounds.
fn with_spread(rate: &Estimate) -> String {
    let value = quantity(rate.value);
    let between = |Bounds { low, high }| format!("{} – {}", quantity(low), quantity(high));
    match rate.spread {
        Spread::Interval(bounds) => format!("{value} (95 %: {})", between(bounds)),
        Spread::Range(bounds) => format!("{value} (range: {})", between(bounds)),
        Spread::Unknown => value,
    }
}

/// A run as Markdown: a table for each kind of work.
pub fn markdown(run: &RunFile) -> String {
    let dash = || "–".to_string();
    let cell = plain_markdown;
    let mut out = String::new();
    for block in blocks(run) {
        let first = block.cell;
        let size = match first.rows {
            0 => String::new(),
            count => format!(" · {} rows", rows(count)),
        };
        let (suite, what) = (cell(&first.suite), cell(&work(first)));
        out += &format!("\n### {suite} · {}{size} · {what}\n\n", first.storage);
        let phases = block.phases();
        let heads: Vec<_> = phases.iter().map(|phase| format!("{}/s", cell(phase))).collect();
        let heads = heads.join(" | ");
        out += &format!("| engine | threads | durability | {heads} | memory | on disk | close |\n");
        out += &format!("|---|---:|---|{}---:|---:|---:|\n", "---:|".repeat(phases.len()));
        let mut no_time = false;
        for line in &block.lines {
            let plain = row(line, "", line.trouble());
            let rates = phases.iter().map(|phase| match line.rate(phase) {
                Some(rate) if line.trouble().is_none() => with_spread(&rate.estimate),
                _ => dash(),
            });
            let rates = rates.collect::<Vec<_>>().join(" | ");
            no_time |= phases.iter().any(|phase| line.is_without_time(phase));
            let mark = if plain.refuted.is_empty() { "" } else { " (refuted)" };
            out += &format!(
                "| {} | {} | {}{mark} | {rates} | {} | {} | {} |\n",
                cell(&plain.engine),
                plain.threads,
                plain.durability,
                plain.memory_bytes.map_or_else(dash, bytes),
                plain.disk_bytes.map_or_else(dash, bytes),
                plain.close_ns.map_or_else(dash, duration_ns),
            );
        }
        if no_time {
            out += &format!("\n- –: {NO_TIME}\n");
        }
        for line in block.lines.iter().filter(|line| line.trouble().is_none()) {
            for phase in &phases {
                for mark in line.rate(phase).map_or_else(Vec::new, |rate| rate.marks()) {
                    let (engine, words) = (cell(&line.cell().engine), mark.words());
                    out += &format!("\n- {engine}, {}: {words}\n", cell(phase));
                }
            }
        }
        for line in &block.lines {
            let plain = row(line, "", line.trouble());
            if line.trouble().is_some() {
                out += &format!("\n- {}: {}\n", cell(&plain.engine), cell(&plain.status));
            }
            if !plain.refuted.is_empty() {
                out += &format!("\n- {}\n", cell(&plain.refuted));
            }
        }
    }
    out
}
