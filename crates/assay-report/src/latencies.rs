//! Latencies as curves: by percentile, and over time together with the throughput.

use std::collections::HashMap;

use assay_core::chart::{Axes, Line, LineChart};
use assay_core::engine::EngineRef;
use assay_core::run_file::{CellResult, Interval, Latency, RunFile, Status, Timeline};
use assay_core::stats::median;

use crate::blocks::{Distinct, blocks};
use crate::format::{memory, rows};

/// The percentiles of one kind of operation, with its work and its engine.
#[derive(Debug)]
pub struct Taken {
    /// Suite, storage mode and variant.
    pub work: String,
    /// The engine, with the number of threads if there were several.
    pub label: String,
    /// The engine.
    pub engine: EngineRef,
    /// The kind of operation.
    pub operation: String,
    /// Shares of the operations, each with its greatest latency, the median over trials: from the
    /// whole histogram if there is one.
    pub percentiles_ns: Vec<(f64, f64)>,
}

/// Returns the percentiles that a latency has, each with its share.
pub fn percentiles(latency: &Latency) -> [(f64, Option<u64>); 6] {
    [
        (0.5, Some(latency.p50_ns)),
        (0.9, Some(latency.p90_ns)),
        (0.95, Some(latency.p95_ns)),
        (0.99, Some(latency.p99_ns)),
        (0.999, Some(latency.p999_ns)),
        (0.9999, latency.p9999_ns),
    ]
}

/// The shares of curves of latencies; those of [`percentiles`] are among them.
pub(crate) const CURVE: [f64; 11] =
    [0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999];

/// A point of a curve of latencies, over trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// A share of the operations.
    pub(crate) share: f64,
    /// The greatest latency of that share, the median over the trials that have it.
    pub(crate) ns: f64,
    /// The least value of these trials.
    pub(crate) least_ns: f64,
    /// The greatest value of these trials.
    pub(crate) most_ns: f64,
}

/// Returns the greatest latency of each share, over trials. A share that no trial has is left out.
pub(crate) fn curve(trials: &[&Latency], shares: &[f64]) -> Vec<Point> {
    let of_trials: Vec<_> = trials.iter().map(|latency| at_shares(latency, shares)).collect();
    let point = |(at, &share): (usize, &f64)| {
        let ns: Vec<f64> =
            of_trials.iter().filter_map(|trial| trial[at]).map(|ns| ns as f64).collect();
        let least_ns = ns.iter().copied().fold(f64::INFINITY, f64::min);
        let most_ns = ns.iter().copied().fold(0.0, f64::max);
        Some(Point { share, ns: median(&ns)?, least_ns, most_ns })
    };
    shares.iter().enumerate().filter_map(point).collect()
}

/// Returns the greatest latency of each share: one of the percentiles, or from the histogram.
fn at_shares(latency: &Latency, shares: &[f64]) -> Vec<Option<u64>> {
    let of_histogram = latency.quantiles_ns(shares).unwrap_or_else(|| vec![None; shares.len()]);
    let of_share = |(share, ns): (&f64, Option<u64>)| percentile(latency, *share).or(ns);
    shares.iter().zip(of_histogram).map(of_share).collect()
}

fn percentile(latency: &Latency, share: f64) -> Option<u64> {
    percentiles(latency).into_iter().find(|(known, _)| *known == share)?.1
}

/// Returns the greatest latency of a share of a trial's operations: from its histogram, in which a
/// share that leaves less than one operation has none, or else from the percentiles.
pub(crate) fn latency_ns(latency: &Latency, share: f64) -> Option<u64> {
    match latency.quantiles_ns(&[share]) {
        Some(of_histogram) => of_histogram[0],
        None => percentile(latency, share),
    }
}

/// Returns every tenth of each nine, from half of the operations to 99.999 %: the shares for a
/// curve of the whole histogram.
fn tenths_of_nines() -> Vec<f64> {
    let parts = [10, 100, 1_000, 10_000, 100_000];
    let of_nine =
        |parts: u32| (1..10).rev().map(move |left| f64::from(parts - left) / f64::from(parts));
    parts.into_iter().flat_map(of_nine).filter(|share| *share >= 0.5).collect()
}

/// Returns every latency of a run, over its trials.
pub fn over_trials(run: &RunFile) -> Vec<Taken> {
    let mut all = Vec::new();
    for line in blocks(run).iter().flat_map(|block| &block.lines) {
        let is_measured = |trial: &&CellResult| trial.status == Status::Measured;
        let measured: Vec<_> = line.trials.iter().copied().filter(is_measured).collect();
        all.extend(by_kind(&measured).into_iter().map(|(_, trials)| {
            Taken {
                work: work(line.trials[0]),
                label: engine(line.trials[0]),
                engine: line.cell().engine.clone(),
                percentiles_ns: curve(&trials, &tenths_of_nines())
                    .into_iter()
                    .map(|point| (point.share, point.ns))
                    .collect(),
                operation: trials[0].operation.clone(),
            }
        }));
    }
    all
}

/// Returns the latencies of each kind of operation in each phase, over trials of the same cell.
/// Operations are added up; the least and the greatest latency are those of all trials. Each other
/// figure is the median over the trials that have it.
pub(crate) fn of_trials<'r>(trials: &[&'r CellResult]) -> Vec<(&'r str, Latency)> {
    let all = by_kind(trials).into_iter();
    all.filter_map(|(phase, latencies)| Some((phase, over(&latencies)?))).collect()
}

/// Returns the latencies of trials of the same cell for each phase and kind of operation, each with
/// the name of its phase.
fn by_kind<'r>(trials: &[&'r CellResult]) -> Vec<(&'r str, Vec<&'r Latency>)> {
    let phases = || trials.iter().flat_map(|trial| &trial.measurement.phases);
    let mut kinds = Distinct::default();
    for phase in phases() {
        phase.latencies.iter().for_each(|l| kinds.add((&*phase.name, &*l.operation)));
    }
    let of_kind = |(name, operation): (&'r str, &str)| {
        let of_phase = phases().filter(|phase| phase.name == name);
        let latencies = of_phase.flat_map(|phase| &phase.latencies);
        (name, latencies.filter(|l| l.operation == operation).collect())
    };
    kinds.in_order.into_iter().map(of_kind).collect()
}

fn over(trials: &[&Latency]) -> Option<Latency> {
    let median_of = |of: &dyn Fn(&Latency) -> Option<u64>| {
        let values: Vec<_> = trials.iter().filter_map(|l| of(l)).map(|ns| ns as f64).collect();
        median(&values).map(|ns| ns as u64)
    };
    let means: Vec<_> = trials.iter().map(|latency| latency.mean_ns).collect();
    Some(Latency {
        operation: trials.first()?.operation.clone(),
        count: trials.iter().map(|latency| latency.count).fold(0, u64::saturating_add),
        mean_ns: median(&means)?,
        min_ns: trials.iter().map(|latency| latency.min_ns).min()?,
        p50_ns: median_of(&|latency| Some(latency.p50_ns))?,
        p90_ns: median_of(&|latency| Some(latency.p90_ns))?,
        p95_ns: median_of(&|latency| Some(latency.p95_ns))?,
        p99_ns: median_of(&|latency| Some(latency.p99_ns))?,
        p999_ns: median_of(&|latency| Some(latency.p999_ns))?,
        p9999_ns: median_of(&|latency| latency.p9999_ns),
        max_ns: trials.iter().map(|latency| latency.max_ns).max()?,
        histogram: None,
    })
}

/// Returns for each work a curve of percentiles of each kind of operation, and for each phase the
/// throughput and the 99th percentile over time.
pub fn charts<'r>(runs: impl IntoIterator<Item = &'r RunFile> + Clone) -> Vec<LineChart> {
    let mut charts = Charts::default();
    for taken in runs.clone().into_iter().flat_map(over_trials) {
        let Taken { work, label, engine, operation, percentiles_ns } = taken;
        // 90 % is one nine, 99 % are two.
        let point = |(share, ns): (f64, f64)| (-(1.0 - share).log10(), ns / 1000.0);
        let points = percentiles_ns.into_iter().map(point);
        let sort = Sort {
            kind: "latency",
            of: format!("{} {work}", operation.to_lowercase()),
            title: format!("latency of {} · {work}", operation.to_lowercase()),
            x_label: "of the operations took at most this",
            y_label: "microseconds",
            axes: Axes::Nines,
        };
        charts.add(&sort, Line { label, engine: Some(engine), points: points.collect() });
    }
    for result in runs.into_iter().flat_map(first_trials) {
        for phase in &result.measurement.phases {
            let Some(timeline) = phase.timeline.as_ref().filter(|t| t.intervals.len() > 1) else {
                continue;
            };
            let work = work(result);
            let name = &phase.name;
            let seconds = "seconds since the start of the round";
            let throughput = Sort {
                kind: "throughput",
                of: format!("{name} {work}"),
                title: format!("{name} operations over time · {work}"),
                x_label: seconds,
                y_label: "operations per second",
                axes: Axes::Linear,
            };
            let rare = Sort {
                kind: "p99",
                of: format!("{name} {work}"),
                title: format!("99th percentile of {name} over time · {work}"),
                x_label: seconds,
                y_label: "microseconds",
                axes: Axes::LogarithmicUpward,
            };
            let line = |points| Line {
                label: engine(result),
                engine: Some(result.cell.engine.clone()),
                points,
            };
            charts.add(&throughput, line(throughput_points(timeline)));
            charts.add(&rare, line(p99_points(timeline)));
        }
    }
    charts.all
}

/// The subject of a chart, without its lines.
struct Sort<'s> {
    /// The kind of figures that the chart shows.
    kind: &'s str,
    /// The operations and the work of the chart.
    of: String,
    title: String,
    x_label: &'s str,
    y_label: &'s str,
    axes: Axes,
}

/// Charts, found by their titles.
#[derive(Default)]
struct Charts {
    all: Vec<LineChart>,
    places: HashMap<String, usize>,
}

impl Charts {
    /// Adds a line to the chart of its sort.
    fn add(&mut self, sort: &Sort<'_>, line: Line) {
        let next = self.all.len();
        let at = *self.places.entry(sort.title.clone()).or_insert(next);
        match self.all.get_mut(at) {
            Some(chart) => chart.lines.push(line),
            None => self.all.push(LineChart {
                name: format!("{}-{}", sort.kind, file_name(&sort.of, next + 1)),
                title: sort.title.clone(),
                x_label: sort.x_label.into(),
                y_label: sort.y_label.into(),
                axes: sort.axes,
                lines: vec![line],
            }),
        }
    }
}

/// The most characters of a file name that describe its work.
const MOST_OF_A_NAME: usize = 60;

/// Returns a part of a file's name that describes a picture, in whole words. The picture's number
/// ends it, so that names that are cut stay different.
fn file_name(text: &str, number: usize) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric();
    let mut name = String::new();
    for word in text.split(|c| !is_plain(c)).filter(|word| !word.is_empty()) {
        if name.len() + word.len() > MOST_OF_A_NAME {
            break;
        }
        name += &word.to_lowercase();
        name.push('-');
    }
    format!("{name}{number}")
}

fn first_trials(run: &RunFile) -> impl Iterator<Item = &CellResult> {
    run.results().filter(|result| result.cell.trial == 1 && result.status == Status::Measured)
}

fn work(result: &CellResult) -> String {
    let cell = &result.cell;
    let rows = if cell.rows == 0 { String::new() } else { format!(" · {}", rows(cell.rows)) };
    let variant = std::iter::once(cell.variant.clone()).chain(memory(cell));
    let variant = variant.collect::<Vec<_>>().join(" · ");
    format!("{} · {}{rows} · {variant}", cell.suite, cell.storage)
}

fn engine(result: &CellResult) -> String {
    match result.cell.threads {
        1 => result.cell.engine.to_string(),
        threads => format!("{}, {threads} threads", result.cell.engine),
    }
}

const MOST_NS: u64 = u64::MAX / 4;

/// Returns each interval's middle and length in seconds, with what ended in it. The end of the
/// round is a part of an interval, too short for a rate: a short one joins the one before it.
fn intervals(timeline: &Timeline) -> Vec<(f64, f64, Interval)> {
    // A round of a thousand years leaves room for all sums below.
    let width = timeline.interval_ns.min(MOST_NS);
    let end = timeline.time_ns.min(MOST_NS);
    let mut intervals: Vec<(u64, u64, Interval)> = Vec::new();
    for (at, interval) in timeline.intervals.iter().enumerate() {
        let from = (at as u64).saturating_mul(width).min(MOST_NS);
        let to = end.clamp(from + 1, from + width.max(1));
        match intervals.last_mut() {
            Some((_, before, last)) if to - from < width / 2 => {
                *before = to;
                last.operations = last.operations.saturating_add(interval.operations);
                last.p99_ns = last.p99_ns.max(interval.p99_ns);
                last.max_ns = last.max_ns.max(interval.max_ns);
            }
            _ => intervals.push((from, to, *interval)),
        }
    }
    let seconds =
        |(from, to, interval)| ((from + to) as f64 / 2e9, (to - from) as f64 / 1e9, interval);
    intervals.into_iter().map(seconds).collect()
}

/// Returns operations per second by seconds since the start.
pub(crate) fn throughput_points(timeline: &Timeline) -> Vec<(f64, f64)> {
    let rate =
        |(x, seconds, interval): (f64, f64, Interval)| (x, interval.operations as f64 / seconds);
    intervals(timeline).into_iter().map(rate).collect()
}

/// Returns the 99th percentile in microseconds by seconds since the start.
pub(crate) fn p99_points(timeline: &Timeline) -> Vec<(f64, f64)> {
    let point = |(x, _, interval): (f64, f64, Interval)| Some((x, interval.p99_ns? as f64 / 1e3));
    intervals(timeline).into_iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_interval_ends_with_the_round() {
        let interval = |operations| Interval {
            operations,
            p99_ns: (operations > 0).then_some(2_000),
            max_ns: (operations > 0).then_some(3_000),
        };
        let mut timeline = Timeline {
            offered_per_second: None,
            offered_ns: None,
            time_ns: 2_500_000_000,
            instrument_ns: 0,
            interval_ns: 1_000_000_000,
            intervals: vec![interval(10), interval(0), interval(10)],
        };
        assert_eq!(throughput_points(&timeline), [(0.5, 10.0), (1.5, 0.0), (2.25, 20.0)]);
        assert_eq!(p99_points(&timeline), [(0.5, 2.0), (2.25, 2.0)]);
        // One operation in a microsecond does not make a rate of a million.
        timeline.time_ns = 2_000_001_000;
        assert_eq!(throughput_points(&timeline).len(), 2);
        assert!(throughput_points(&timeline)[1].1 < 20.0);
    }
}
