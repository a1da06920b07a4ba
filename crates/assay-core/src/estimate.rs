//! The one estimator of every view: a figure and its spread from the rounds of all trials.
//!
//! The trial is the unit. Its figure is the median of its rounds, and the estimate is the median of
//! its trials' figures. Rounds of one trial share a process, a store and a place in memory, so they
//! are not independent: only from trials does an interval follow. It is a *t* interval on the
//! logarithms of the trials' figures, since times multiply rather than add (Student: The Probable
//! Error of a Mean, Biometrika 6, 1908). Below [`TRIALS_LEAST`] trials there is the range of rounds
//! instead, and nothing is concluded from it.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::stats::median;

/// The number of trials below which a figure has no interval and no verdict.
pub const TRIALS_LEAST: usize = 5;

/// The share of intervals that should hold the true value.
pub const CONFIDENCE: f64 = 0.95;

/// A figure and its spread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The median of the trials' figures.
    pub value: f64,
    /// The spread of the trials.
    pub spread: Spread,
}

/// The spread of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Spread {
    /// The 95 % interval, from [`TRIALS_LEAST`] trials on.
    #[serde(rename = "interval_95")]
    Interval(Bounds),
    /// The smallest and the largest of the rounds, if trials are too few for an interval.
    Range(Bounds),
    /// There was one round, or all are alike and too few.
    Unknown,
}

/// Two values that enclose others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The lower one.
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

impl Bounds {
    /// Returns the smallest bounds that also hold `value`.
    pub fn holding(self, value: f64) -> Self {
        Self { low: self.low.min(value), high: self.high.max(value) }
    }
}

impl Spread {
    /// Returns the ends of the interval or range; none if the spread is unknown.
    pub fn bounds(&self) -> Option<Bounds> {
        match self {
            Self::Interval(bounds) | Self::Range(bounds) => Some(*bounds),
            Self::Unknown => None,
        }
    }

    /// Returns the word for the spread's kind, in files that programs read.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Interval(_) => "interval_95",
            Self::Range(_) => "range",
            Self::Unknown => "",
        }
    }
}

impl Estimate {
    /// Estimates from positive figures by trial; each trial has those of its rounds. Trials without
    /// rounds do not count; `None` if there are no others.
    pub fn of_trials(trials: &[Vec<f64>]) -> Option<Self> {
        let figures: Vec<_> = trials.iter().filter_map(|rounds| median(rounds)).collect();
        let value = median(&figures)?;
        let spread = match t_interval(&figures) {
            Some(bounds) => Spread::Interval(bounds.holding(value)),
            None => range(trials.iter().flatten().copied()),
        };
        Some(Self { value, spread })
    }

    /// Estimates from one figure a trial.
    pub fn of_figures(figures: &[f64]) -> Option<Self> {
        let trials: Vec<_> = figures.iter().map(|figure| vec![*figure]).collect();
        Self::of_trials(&trials)
    }

    /// Returns the interval; none for another kind of spread.
    pub fn interval(&self) -> Option<Bounds> {
        match self.spread {
            Spread::Interval(bounds) => Some(bounds),
            Spread::Range(_) | Spread::Unknown => None,
        }
    }

    /// Returns the interval's wider side as a share of the value.
    pub fn wider_side(&self) -> Option<f64> {
        let Bounds { low, high } = self.interval()?;
        Some((high - self.value).max(self.value - low) / self.value)
    }
}

/// Returns the *t* interval of the median of a distribution whose logarithm is symmetric.
fn t_interval(figures: &[f64]) -> Option<Bounds> {
    if figures.len() < TRIALS_LEAST {
        return None;
    }
    let logarithms = Moments::of_logarithms(figures)?;
    let reach = t_quantile(two_sided(CONFIDENCE), logarithms.count - 1.0) * logarithms.error();
    let end = |side: f64| (logarithms.mean + side * reach).exp();
    Some(Bounds { low: end(-1.0), high: end(1.0) })
}

/// Returns the probability below the upper end of an interval that is open equally on both sides.
pub(crate) fn two_sided(confidence: f64) -> f64 {
    f64::midpoint(confidence, 1.0)
}

/// Returns Student's distribution.
pub(crate) fn student(degrees: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, degrees).expect("there are degrees of freedom")
}

/// Returns the quantile of Student's distribution.
pub(crate) fn t_quantile(probability: f64, degrees: f64) -> f64 {
    student(degrees).inverse_cdf(probability)
}

fn range(rounds: impl Iterator<Item = f64> + Clone) -> Spread {
    let low = rounds.clone().fold(f64::INFINITY, f64::min);
    let high = rounds.fold(f64::NEG_INFINITY, f64::max);
    if low < high { Spread::Range(Bounds { low, high }) } else { Spread::Unknown }
}

/// The mean and the variance of a sample.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// The number of values.
    pub(crate) count: f64,
    /// The mean of the values.
    pub(crate) mean: f64,
    /// The variance of the population, estimated from the values.
    pub(crate) variance: f64,
}

impl Moments {
    /// Returns the moments of the logarithms; `None` below two values, or if any is ≤ 0.
    pub(crate) fn of_logarithms(values: &[f64]) -> Option<Self> {
        let logarithms: Vec<_> = values.iter().map(|value| value.ln()).collect();
        if values.len() < 2 || logarithms.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let count = logarithms.len() as f64;
        let mean = logarithms.iter().sum::<f64>() / count;
        let squares = logarithms.iter().map(|value| (value - mean).powi(2));
        Some(Self { count, mean, variance: squares.sum::<f64>() / (count - 1.0) })
    }

    /// Returns the standard error of the mean.
    pub(crate) fn error(&self) -> f64 {
        (self.variance / self.count).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    }

    /// The figures of scipy 1.17: `exp(t.interval(0.95, n - 1, mean(log x), sem(log x)))`.
    #[test]
    fn the_interval_is_that_of_other_implementations() {
        let estimate = Estimate::of_figures(&[90.0, 100.0, 104.0, 98.0, 110.0]).expect("figures");
        assert_near(estimate.value, 100.0);
        let Bounds { low, high } = estimate.interval().expect("five trials");
        assert_near(low, 91.34455524580405);
        assert_near(high, 109.86900166299756);
        assert_near(estimate.wider_side().expect("an interval"), 0.09869001662997562);
    }

    #[test]
    fn the_trial_is_the_unit() {
        // Of all rounds the median would be 1; of the trials' medians it is 5.
        let trials = [vec![1.0; 99], vec![900.0, 5.0, 5.0], vec![7.0]];
        let estimate = Estimate::of_trials(&trials).expect("rounds");
        assert_near(estimate.value, 5.0);
        assert_eq!(estimate.spread, Spread::Range(Bounds { low: 1.0, high: 900.0 }));
        assert_eq!(estimate.spread.kind(), "range");
    }

    #[test]
    fn few_trials_have_a_range_and_no_interval() {
        for count in 1..8_usize {
            let trials: Vec<_> = (0..count).map(|at| vec![10.0 + at as f64, 20.0]).collect();
            let estimate = Estimate::of_trials(&trials).expect("rounds");
            assert_eq!(estimate.interval().is_some(), count >= TRIALS_LEAST, "{count}");
            assert_eq!(estimate.wider_side().is_some(), count >= TRIALS_LEAST, "{count}");
        }
        let one = Estimate::of_figures(&[5.0]).expect("a figure");
        assert_eq!((one.value, one.spread), (5.0, Spread::Unknown));
        assert_eq!(one.spread.bounds(), None);
        assert_eq!(Estimate::of_trials(&[Vec::new()]), None);
    }

    /// The interval is of the logarithms' mean, which may be far from the median.
    #[test]
    fn the_interval_holds_its_figure() {
        let mut figures = vec![1.0; 40];
        figures.extend([1e9; 30]);
        let estimate = Estimate::of_figures(&figures).expect("figures");
        let bounds = estimate.interval().expect("seventy trials");
        assert!(bounds.low <= estimate.value && estimate.value <= bounds.high, "{estimate:?}");
    }

    #[test]
    fn what_has_no_logarithm_has_no_interval() {
        let estimate = Estimate::of_figures(&[0.0, 1.0, 2.0, 3.0, 4.0]).expect("figures");
        assert_eq!(estimate.spread, Spread::Range(Bounds { low: 0.0, high: 4.0 }));
    }
}
