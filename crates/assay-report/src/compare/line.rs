//! A line of a comparison: one quantity of two sides, by one statistic, with one test.

use std::fmt;

use assay_core::estimate::Bounds;
use assay_core::ratio::Ratio;
use assay_core::run_file::{CellResult, Phase};
use assay_core::stats::mean_of_fastest_tenth;

use crate::format::{bytes, duration_ns, quantity};
use crate::latencies::latency_ns;

/// The quantity that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Operations a second of a phase.
    Rate {
        /// The phase.
        phase: String,
    },
    /// Latencies of operations timed one by one.
    Latency {
        /// The phase.
        phase: String,
        /// The kind of operation.
        operation: String,
        /// The percentile of their latencies.
        percentile: Percentile,
    },
    /// Peak memory of the worker.
    Memory,
    /// Disk space of the store at its fullest.
    Space,
    /// Bytes written for the device.
    Written,
    /// The time to close the store.
    Close,
}

/// A percentile of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percentile {
    /// The latency that half of the operations took at most.
    P50,
    /// The latency that 90 % of them took at most.
    P90,
    /// The latency that 99 % of them took at most.
    P99,
    /// The latency that 99.9 % of them took at most.
    P999,
    /// The latency that 99.99 % of them took at most.
    P9999,
}

impl Percentile {
    /// All percentiles that are compared.
    const ALL: [Self; 5] = [Self::P50, Self::P90, Self::P99, Self::P999, Self::P9999];

    /// Returns the share of the operations.
    fn share(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P90 => 0.9,
            Self::P99 => 0.99,
            Self::P999 => 0.999,
            Self::P9999 => 0.9999,
        }
    }

    /// Returns the share of the operations in percent.
    pub(super) fn percent(self) -> f64 {
        match self {
            Self::P50 => 50.0,
            Self::P90 => 90.0,
            Self::P99 => 99.0,
            Self::P999 => 99.9,
            Self::P9999 => 99.99,
        }
    }
}

/// The statistic that makes a trial's figure of its rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The median of the rounds, or the trial's only value.
    Median,
    /// The mean of the fastest tenth of the rounds.
    FastestTenth,
}

/// One quantity of two sides.
#[derive(Clone, Debug)]
pub struct Line {
    /// The differences of the cell's work from others, in words.
    pub work: String,
    /// The engine, or both.
    pub engine: String,
    /// The quantity that is compared.
    pub quantity: Quantity,
    /// The statistic of each trial.
    pub statistic: Statistic,
    /// The base's figure, the median over its trials.
    pub base: f64,
    /// The other side's figure, the median over its trials.
    pub new: f64,
    /// The other side's figure divided by the base's.
    pub ratio: Ratio,
    /// The probability of the test after Holm, over all lines; none without a test.
    pub adjusted: Option<f64>,
}

/// The verdict on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The other side is faster, or takes less.
    Better,
    /// The other side is slower, or takes more.
    Worse,
    /// No difference was found.
    NotFound,
    /// The trials are too few for a test.
    TooFewTrials,
}

/// The level of a whole comparison: the share of comparisons without any difference that find one.
pub const LEVEL: f64 = 0.05;

impl Quantity {
    /// Returns true if more of the quantity is better.
    pub fn is_better_higher(&self) -> bool {
        matches!(self, Self::Rate { .. })
    }

    /// Returns a value in its unit, as people read it.
    pub fn words(&self, value: f64) -> String {
        match self {
            Self::Rate { .. } => quantity(value),
            Self::Latency { .. } | Self::Close => duration_ns(value as u64),
            Self::Memory | Self::Space | Self::Written => bytes(value as u64),
        }
    }

    /// Returns the unit in files that programs read.
    pub fn unit(&self) -> &'static str {
        match self {
            Self::Rate { .. } => "operations_per_second",
            Self::Latency { .. } | Self::Close => "ns",
            Self::Memory | Self::Space | Self::Written => "bytes",
        }
    }

    /// Returns a trial's figure; none if it is missing or says nothing.
    pub(super) fn of_trial(&self, trial: &CellResult, statistic: Statistic) -> Option<f64> {
        self.value(trial, statistic).filter(|&value| value > 0.0)
    }

    /// Returns true if a trial took this figure, even if it is 0.
    pub(super) fn was_taken(&self, trial: &CellResult) -> bool {
        self.value(trial, Statistic::Median).is_some()
    }

    fn value(&self, trial: &CellResult, statistic: Statistic) -> Option<f64> {
        let measurement = &trial.measurement;
        let resources = &measurement.resources;
        let value = match self {
            Self::Rate { phase } => {
                let phase = measurement.phase(phase)?;
                return match statistic {
                    Statistic::Median => phase.trial_rate(),
                    Statistic::FastestTenth => mean_of_fastest_tenth(&phase.rates()),
                };
            }
            Self::Latency { phase, operation, percentile } => {
                let phase = measurement.phase(phase)?;
                let latency = phase.latencies.iter().find(|l| l.operation == *operation)?;
                latency_ns(latency, percentile.share())?
            }
            Self::Memory => resources.peak_rss_bytes,
            Self::Space => resources.store_peak_bytes?,
            Self::Written => resources.store_peak_bytes.and(resources.written_bytes)?,
            Self::Close => resources.close_ns,
        };
        Some(value as f64)
    }
}

/// Returns the quantities that a trial may have: of its phases first, then of its whole worker.
pub(super) fn quantities(trial: &CellResult) -> Vec<(Quantity, Statistic)> {
    let mut all = Vec::new();
    for phase in &trial.measurement.phases {
        all.extend(of_phase(phase));
    }
    let of_worker = [Quantity::Memory, Quantity::Space, Quantity::Written, Quantity::Close];
    all.extend(of_worker.map(|quantity| (quantity, Statistic::Median)));
    all
}

fn of_phase(phase: &Phase) -> Vec<(Quantity, Statistic)> {
    let rate = || Quantity::Rate { phase: phase.name.clone() };
    let mut all = vec![(rate(), Statistic::Median)];
    // Both statistics of a single round are equal.
    if phase.rounds.len() > 1 {
        all.push((rate(), Statistic::FastestTenth));
    }
    for latency in &phase.latencies {
        for percentile in Percentile::ALL {
            let phase = phase.name.clone();
            let operation = latency.operation.clone();
            let quantity = Quantity::Latency { phase, operation, percentile };
            all.push((quantity, Statistic::Median));
        }
    }
    all
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::P9999 => "p99.99",
        })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate { phase } => write!(f, "{phase}/s"),
            Self::Latency { phase, operation, percentile } => {
                let operation = operation.to_lowercase();
                if operation == phase.to_lowercase() {
                    write!(f, "{operation} {percentile}")
                } else {
                    write!(f, "{phase} {operation} {percentile}")
                }
            }
            Self::Memory => f.write_str("memory"),
            Self::Space => f.write_str("on disk"),
            Self::Written => f.write_str("written"),
            Self::Close => f.write_str("close"),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Median => "median",
            Self::FastestTenth => "fastest tenth",
        })
    }
}

impl Line {
    /// Returns the verdict on the line.
    pub fn verdict(&self) -> Verdict {
        match self.adjusted {
            None => Verdict::TooFewTrials,
            Some(probability) if probability >= LEVEL => Verdict::NotFound,
            Some(_) => {
                if (self.direction() > 1.0) == self.quantity.is_better_higher() {
                    Verdict::Better
                } else {
                    Verdict::Worse
                }
            }
        }
    }

    /// Returns a ratio on the side of 1 that the test gives.
    fn direction(&self) -> f64 {
        self.ratio.test.map_or(1.0, |test| test.mean())
    }

    /// Returns the verdict in a word or two.
    pub fn words(&self) -> &'static str {
        match (self.verdict(), &self.quantity) {
            (Verdict::TooFewTrials, _) => "too few trials",
            (Verdict::NotFound, _) => "none found",
            (Verdict::Better, Quantity::Rate { .. }) => "faster",
            (Verdict::Worse, Quantity::Rate { .. }) => "slower",
            (Verdict::Better, Quantity::Latency { .. } | Quantity::Close) => "shorter",
            (Verdict::Worse, Quantity::Latency { .. } | Quantity::Close) => "longer",
            (Verdict::Better, _) => "less",
            (Verdict::Worse, _) => "more",
        }
    }

    /// Returns true if the line is surely worse by this share or more: it was found to be worse,
    /// and even the better end of its interval is that much worse.
    pub fn is_regression(&self, share: f64) -> bool {
        let Some(Bounds { low, high }) = self.ratio.test.map(|test| test.interval) else {
            return false;
        };
        let is_far =
            if self.quantity.is_better_higher() { high < 1.0 - share } else { low > 1.0 + share };
        self.verdict() == Verdict::Worse && is_far
    }

    /// Returns the loss: the share that is lost, or that is taken in addition.
    pub fn loss(&self) -> f64 {
        if self.quantity.is_better_higher() {
            1.0 - self.ratio.value
        } else {
            self.ratio.value - 1.0
        }
    }
}
