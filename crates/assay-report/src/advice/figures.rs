//! The figures of an engine in each trial of a run that answers a question: of a cell in which an
//! operation follows another, and of one in which operations arrive at a rate, if there is one.

use std::collections::BTreeMap;

use assay_core::advice::{Advice, Rank};
use assay_core::run_file::{CellResult, Measurement, Phase};
use assay_core::stats::median;

/// The phase that fills the store.
const FILLING: &str = "load";

const GIB: f64 = (1u64 << 30) as f64;

/// The figures of an engine in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Operations a second over all phases, as many as the engine can do.
    pub throughput: Option<f64>,
    /// Processor seconds of an operation, without those of the instrument.
    pub processor_s: Option<f64>,
    /// Memory, without the instrument's part.
    pub memory_bytes: Option<f64>,
    /// Files of the store at their fullest.
    pub disk_bytes: Option<f64>,
    /// The worst 99.9th percentile of a phase and a kind of operation, at the rate if there is one.
    pub p999_ns: Option<f64>,
    /// The least share of the offered operations that a phase did in time; none without a rate.
    pub kept_up: Option<f64>,
}

impl Figures {
    /// Returns the processors that the rate takes; none if there is no figure. Without a rate it is
    /// the engine's own throughput.
    pub fn processors(&self, advice: &Advice) -> Option<f64> {
        Some(self.processor_s? * advice.rate_per_second.or(self.throughput)?)
    }

    /// Returns the figure by which engines are ranked, of which less is better.
    pub(super) fn ranked(&self, advice: &Advice) -> Option<f64> {
        match advice.rank {
            Rank::Cost => self.cost(advice),
            Rank::Throughput => self.throughput.map(|rate| 1.0 / rate),
            Rank::Latency => self.p999_ns,
            Rank::Memory => self.memory_bytes,
            Rank::Disk => self.disk_bytes,
        }
        .filter(|figure| *figure > 0.0)
    }

    /// Returns the cost in processors.
    fn cost(&self, advice: &Advice) -> Option<f64> {
        let memory = self.memory_bytes? / GIB * advice.weights.memory;
        let disk = self.disk_bytes.unwrap_or(0.0) / GIB * advice.weights.disk;
        Some(self.processors(advice)? + memory + disk)
    }

    /// Returns the median of each figure.
    pub(super) fn median<'f>(trials: impl Iterator<Item = &'f Self> + Clone) -> Self {
        let of = |figure: fn(&Self) -> Option<f64>| {
            median(&trials.clone().filter_map(figure).collect::<Vec<_>>())
        };
        Self {
            throughput: of(|figures| figures.throughput),
            processor_s: of(|figures| figures.processor_s),
            memory_bytes: of(|figures| figures.memory_bytes),
            disk_bytes: of(|figures| figures.disk_bytes),
            p999_ns: of(|figures| figures.p999_ns),
            kept_up: of(|figures| figures.kept_up),
        }
    }
}

/// The instrument's own part of what a worker takes, as the null engine shows it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Instrument {
    /// Processor seconds of an operation.
    pub(super) processor_s: f64,
    /// Memory, besides that before the store was opened.
    pub(super) memory_bytes: u64,
}

impl Instrument {
    /// Returns the least that calibrating cells took: operations that wait for a rate take longer.
    pub(super) fn of<'r>(
        cells: impl Iterator<Item = &'r CellResult> + Clone,
        advice: &Advice,
    ) -> Self {
        let seconds = cells.clone().filter_map(|cell| processor_s(&cell.measurement, advice));
        Self {
            processor_s: seconds.min_by(f64::total_cmp).unwrap_or(0.0),
            memory_bytes: cells.map(|cell| memory_bytes(&cell.measurement)).min().unwrap_or(0),
        }
    }
}

/// Returns the figures by trial, from an engine's results.
pub(super) fn by_trial(
    results: &[&CellResult],
    advice: &Advice,
    instrument: Instrument,
) -> BTreeMap<u32, Figures> {
    let mut trials: BTreeMap<u32, Vec<&Measurement>> = BTreeMap::new();
    for result in results {
        trials.entry(result.cell.trial).or_default().push(&result.measurement);
    }
    let of_trial = |(trial, cells): (u32, Vec<_>)| (trial, of_trial(&cells, advice, instrument));
    trials.into_iter().map(of_trial).collect()
}

fn of_trial(cells: &[&Measurement], advice: &Advice, instrument: Instrument) -> Figures {
    let is_paced = |cell: &&&Measurement| phases(cell).any(|phase| in_time(phase).is_some());
    let paced = cells.iter().find(is_paced);
    let closed = cells.iter().find(|cell| !is_paced(cell));
    let most = |of: &dyn Fn(&Measurement) -> Option<u64>| {
        cells.iter().filter_map(|cell| of(cell)).max().map(|bytes| bytes as f64)
    };
    // With a rate, latencies count that were taken at it, and no others.
    let at_rate = || {
        let cell = if advice.rate_per_second.is_some() { paced } else { closed };
        cell.into_iter().flat_map(|cell| phases(cell))
    };
    Figures {
        throughput: closed.and_then(|cell| throughput(cell, advice)),
        processor_s: closed
            .and_then(|cell| processor_s(cell, advice))
            .map(|seconds| (seconds - instrument.processor_s).max(0.0)),
        memory_bytes: most(&|cell| {
            Some(memory_bytes(cell).saturating_sub(instrument.memory_bytes))
        }),
        disk_bytes: most(&|cell| {
            let used = &cell.resources;
            used.store_peak_bytes.max(used.store_closed_bytes)
        }),
        p999_ns: at_rate()
            .flat_map(|phase| &phase.latencies)
            .map(|latency| latency.p999_ns as f64)
            .max_by(f64::total_cmp),
        kept_up: at_rate().filter_map(in_time).min_by(f64::total_cmp),
    }
}

/// Returns the most memory of a worker, without that before the store was opened.
fn memory_bytes(cell: &Measurement) -> u64 {
    cell.resources.peak_rss_bytes.saturating_sub(cell.resources.rss_before_open_bytes)
}

/// Returns the phases after the filling that do operations.
fn phases(cell: &Measurement) -> impl Iterator<Item = &Phase> {
    let is_of_operations = |phase: &&Phase| phase.name != FILLING && !phase.rounds.is_empty();
    cell.phases.iter().filter(is_of_operations)
}

/// Returns the share of the operations that a phase did while they arrived; none if it waited for
/// each of them.
fn in_time(phase: &Phase) -> Option<f64> {
    let timeline = phase.timeline.as_ref()?;
    Some((timeline.offered_ns? as f64 / timeline.time_ns.max(1) as f64).min(1.0))
}

/// Returns the operations that a phase counts as.
fn weight(phase: &Phase, advice: &Advice) -> f64 {
    let known = advice.phases.iter().find(|weight| weight.phase == phase.name);
    known.map_or(1.0, |weight| weight.operations.max(1) as f64)
}

/// Returns the operations a second over all phases after the filling, each with its weight.
fn throughput(cell: &Measurement, advice: &Advice) -> Option<f64> {
    let mut operations = 0.0;
    let mut seconds = 0.0;
    for phase in phases(cell) {
        operations += weight(phase, advice);
        seconds += weight(phase, advice) / phase.trial_rate()?;
    }
    (operations > 0.0).then(|| operations / seconds)
}

/// Returns the processor seconds of an operation over all phases after the filling, each with its
/// weight.
fn processor_s(cell: &Measurement, advice: &Advice) -> Option<f64> {
    let mut operations = 0.0;
    let mut seconds = 0.0;
    for phase in phases(cell) {
        operations += weight(phase, advice);
        seconds += weight(phase, advice) / phase.operations_per_cpu_second()?;
    }
    (operations > 0.0).then(|| seconds / operations)
}
