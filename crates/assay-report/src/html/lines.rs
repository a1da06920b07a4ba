//! The lines of the page's data: the figures of each engine in each workload.

use std::collections::HashMap;

use assay_core::engine::EngineRef;
use assay_core::estimate::Bounds;
use assay_core::plan::PageCache;
use assay_core::run_file::{Latency, NO_TIME, Phase, RunFile, Status};
use assay_driver::{Durability, Storage};
use serde::Serialize;

use super::data::Places;
use crate::ageing::{Aged, Steady, aged, course};
use crate::blocks::{Distinct, Line, blocks, filling_last};
use crate::format::work;
use crate::latencies::{CURVE, Point, curve, p99_points, throughput_points};
use crate::marks::{Mark, Marked, PhaseMarks, of_line as marks_of};
use crate::palette::Look;
use crate::speed_up::{self, SpeedUp, SpeedUps};

/// An engine and a workload, all trials together.
#[derive(Serialize)]
pub(crate) struct LineData {
    pub(crate) run: usize,
    pub(crate) engine: usize,
    pub(crate) suite: String,
    pub(crate) work: String,
    pub(crate) storage: String,
    pub(crate) level: String,
    pub(crate) wanted: String,
    keys: String,
    pub(crate) rows: u64,
    pub(crate) threads: u32,
    #[serde(skip_serializing_if = "is_not")]
    pub(crate) is_cold: bool,
    pub(crate) trials: usize,
    version: String,
    /// The cell's status, unless everything was measured: a word, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<(&'static str, String)>,
    /// The marks of all its figures, each with its text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) marks: Vec<MarkData>,
    /// The crash tests' support for the level: words, and the share that breaks it at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<(usize, f64)>,
    settings: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    written_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    close_ns: Option<u64>,
    pub(crate) phases: Vec<PhaseData>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(super) fn is_not(value: &bool) -> bool {
    !value
}

/// The index of a mark in the list of marks, and those of its text and of its short text.
pub(crate) type MarkData = (usize, usize, usize);

#[derive(Serialize)]
pub(crate) struct PhaseData {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<f64>,
    /// The ends of the rate's interval or range.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<(f64, f64)>,
    /// True if the spread is the 95 % interval; else it is the range of rounds.
    #[serde(skip_serializing_if = "is_not")]
    is_interval: bool,
    /// Threads that worked at once.
    pub(crate) threads: u32,
    /// The marks of the rate, each with its text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) marks: Vec<MarkData>,
    /// The share of the wall time on the clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    timed_share: Option<f64>,
    /// Operations for a second of processor time of the whole process.
    #[serde(skip_serializing_if = "Option::is_none")]
    per_cpu_second: Option<f64>,
    /// The speed-up against the engine's fewest threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    speed_up: Option<SpeedUpData>,
    /// The reason why the rate is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    latencies: Vec<LatencyData>,
    /// Operations per second and 99th percentile in microseconds by seconds; the first trial's.
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline: Option<TimelineData>,
    /// The space that the store took on disk at the end of the phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    aged: Option<AgedData>,
}

#[derive(Serialize)]
struct AgedData {
    store_bytes: u64,
    live_bytes: u64,
    space: Option<f64>,
    written: Option<f64>,
    stall_ns: Option<u64>,
    memory_bytes: u64,
    steady: Option<String>,
    /// Bytes by seconds at the ends of windows, of several; the first trial's.
    disk: Vec<(f64, f64)>,
    memory: Vec<(f64, f64)>,
}

impl AgedData {
    fn of(aged: &Aged, phase: Option<&&Phase>) -> Self {
        let phase = phase.filter(|phase| phase.windows.len() > 1);
        Self {
            store_bytes: aged.store_bytes,
            live_bytes: aged.live_bytes,
            space: aged.space,
            written: aged.written,
            stall_ns: aged.stall_ns,
            memory_bytes: aged.memory_bytes,
            steady: aged.steady.map(Steady::words),
            disk: phase.map_or_else(Vec::new, |phase| {
                course(phase, |window| Some(window.store_bytes? as f64))
            }),
            memory: phase.map_or_else(Vec::new, |phase| {
                course(phase, |window| Some(window.memory_bytes as f64))
            }),
        }
    }
}

#[derive(Serialize)]
struct SpeedUpData {
    fewest: u32,
    times: f64,
    efficiency: f64,
    /// The ends of the 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<(f64, f64)>,
}

impl From<SpeedUp> for SpeedUpData {
    fn from(of: SpeedUp) -> Self {
        let SpeedUp { fewest, times, interval, .. } = of;
        let interval = interval.map(|Bounds { low, high }| (low, high));
        Self { fewest, times, efficiency: of.efficiency(), interval }
    }
}

#[derive(Serialize)]
struct TimelineData {
    rates: Vec<(f64, f64)>,
    p99_us: Vec<(f64, f64)>,
}

#[derive(Serialize)]
struct LatencyData {
    operation: String,
    count: u64,
    /// Shares of the operations, each with its greatest latency: the median over trials and the
    /// range.
    points: Vec<(f64, f64, f64, f64)>,
    max_ns: u64,
}

impl LineData {
    pub(crate) fn has_figures(&self) -> bool {
        self.phases.iter().any(|phase| phase.rate.is_some())
    }

    /// Returns true if crash tests have tested its level.
    pub(crate) fn is_crash_tested(&self) -> bool {
        self.held.is_some() || self.marks.iter().any(|(at, ..)| Mark::ALL[*at] == Mark::Refuted)
    }

    /// Returns true if its level promises anything.
    pub(crate) fn promises(&self) -> bool {
        self.storage != Storage::Memory.to_string() && self.level != Durability::None.to_string()
    }
}

/// Returns the lines of a run.
pub(super) fn of_run(
    run: &RunFile,
    at: usize,
    places: &mut Places,
    looks: &HashMap<&EngineRef, Look>,
) -> Vec<LineData> {
    let mut lines = Vec::new();
    for block in blocks(run) {
        let marks = block.phases().into_iter().map(|name| (name, PhaseMarks::of(&block, name)));
        let marks: AllMarks<'_> = marks.collect();
        let speed_ups = SpeedUps::of(&block);
        for line in &block.lines {
            let of_line = OfLine { marks: &marks, speed_ups: speed_ups.of_line(line), run: at };
            lines.push(line_data(line, &of_line, places, looks));
        }
    }
    lines
}

/// The marks of the figures of each phase of a block.
type AllMarks<'b> = HashMap<&'b str, PhaseMarks<'b>>;

/// The parts of a line's data that need its block and its run.
struct OfLine<'b> {
    marks: &'b AllMarks<'b>,
    speed_ups: speed_up::OfLine<'b>,
    run: usize,
}

fn line_data(
    line: &Line<'_>,
    of_line: &OfLine<'_>,
    places: &mut Places,
    looks: &HashMap<&EngineRef, Look>,
) -> LineData {
    let cell = line.cell();
    let measurement = &line.trials[0].measurement;
    let usage = crate::rows::Usage::of(line);
    let settings = measurement.settings.iter().cloned().map(|text| places.text(text)).collect();
    LineData {
        run: of_line.run,
        engine: places.engine(cell, looks),
        suite: cell.suite.clone(),
        work: work(cell),
        storage: cell.storage.to_string(),
        level: cell.durability.to_string(),
        wanted: cell.durability_wanted.to_string(),
        keys: cell.key_kind.to_string(),
        rows: cell.rows,
        threads: cell.threads,
        is_cold: cell.page_cache == PageCache::Cold,
        trials: line.trials.len(),
        version: measurement.engine_version.clone(),
        trouble: line.trouble().map(trouble),
        marks: mark_data(marks_of(line), places),
        held: line.trials[0].held.clone().map(|held| (places.text(held.words), held.most)),
        settings,
        memory_bytes: usage.memory_bytes,
        disk_bytes: usage.disk_bytes,
        written_bytes: usage.written_bytes,
        close_ns: usage.close_ns,
        phases: phases(line, of_line, places),
    }
}

fn trouble(status: &Status) -> (&'static str, String) {
    match status {
        Status::Measured => ("measured", String::new()),
        Status::Unsupported(why) => ("unsupported", why.clone()),
        Status::Unavailable(why) => ("unavailable", why.clone()),
        Status::Wrong(why) => ("wrong", why.clone()),
        Status::Failed(why) => ("failed", why.clone()),
        Status::Killed(why) => ("killed", why.clone()),
    }
}

fn phases(line: &Line<'_>, of_line: &OfLine<'_>, places: &mut Places) -> Vec<PhaseData> {
    let mut names = Distinct::default();
    for trial in &line.trials {
        trial.measurement.phases.iter().for_each(|phase| names.add(phase.name.as_str()));
        trial.measurement.not_offered.iter().for_each(|left_out| names.add(&left_out.phase));
    }
    let stores = aged(line);
    let phase = |name: &str| {
        let rate = line.rate(name).filter(|_| line.trouble().is_none());
        let estimate = rate.map(|rate| rate.estimate);
        let ends = |bounds: Bounds| (bounds.low, bounds.high);
        let why = match estimate {
            Some(_) => None,
            None if line.is_without_time(name) => Some(NO_TIME),
            None => line.not_offered(name),
        };
        let of_trials: Vec<&Phase> =
            line.trials.iter().filter_map(|trial| trial.measurement.phase(name)).collect();
        PhaseData {
            name: name.into(),
            rate: estimate.map(|estimate| estimate.value),
            spread: estimate.and_then(|estimate| estimate.spread.bounds()).map(ends),
            threads: of_trials.first().map_or(line.cell().threads, |phase| phase.threads),
            marks: rate
                .zip(of_line.marks.get(name))
                .map_or_else(Vec::new, |(rate, of)| mark_data(of.of_figure(line, &rate), places)),
            timed_share: rate.and_then(|rate| rate.timed_share),
            per_cpu_second: rate.and_then(|rate| rate.operations_per_cpu_second),
            is_interval: estimate.is_some_and(|estimate| estimate.interval().is_some()),
            speed_up: of_line.speed_ups.of_phase(name).map(SpeedUpData::from),
            why: why.map(|why| places.text(why.into())),
            latencies: latencies(&of_trials),
            timeline: of_trials.first().and_then(|phase| timeline(phase)),
            aged: stores
                .iter()
                .find(|of| of.phase == name)
                .map(|of| AgedData::of(of, of_trials.first())),
        }
    };
    filling_last(names.in_order).into_iter().map(phase).collect()
}

fn mark_data(marks: Vec<Marked>, places: &mut Places) -> Vec<MarkData> {
    let place = |mark| Mark::ALL.iter().position(|known| *known == mark);
    let data = |marked: Marked| {
        let short = places.text(marked.short().into());
        Some((place(marked.mark)?, places.text(marked.text), short))
    };
    marks.into_iter().filter_map(data).collect()
}

fn timeline(phase: &Phase) -> Option<TimelineData> {
    let timeline = phase.timeline.as_ref().filter(|timeline| timeline.intervals.len() > 1)?;
    Some(TimelineData { rates: throughput_points(timeline), p99_us: p99_points(timeline) })
}

/// Returns the percentiles of each kind of operation, over trials.
fn latencies(trials: &[&Phase]) -> Vec<LatencyData> {
    let mut operations = Distinct::default();
    let all = || trials.iter().flat_map(|phase| &phase.latencies);
    all().for_each(|latency| operations.add(latency.operation.as_str()));
    let of_operation = |operation: &str| {
        let found: Vec<&Latency> = all().filter(|l| l.operation == operation).collect();
        let points = curve(&found, &CURVE);
        let points = points
            .into_iter()
            .map(|Point { share, ns, least_ns, most_ns }| (share, ns, least_ns, most_ns));
        Some(LatencyData {
            operation: operation.to_lowercase(),
            count: found.iter().map(|latency| latency.count).fold(0, u64::saturating_add),
            points: points.collect(),
            max_ns: found.iter().map(|latency| latency.max_ns).max()?,
        })
    };
    operations.in_order.iter().filter_map(|operation| of_operation(operation)).collect()
}
