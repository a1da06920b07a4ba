//! The time of one iteration from samples of many, as Criterion.rs makes them (its
//! book, "Analysis Process"): samples of d, 2d, 3d, … iterations; the time of an iteration is the
//! slope of the line through the origin that fits the samples best; its interval comes from a
//! bootstrap; and samples far from the others are classified by Tukey's fences.

use serde::{Deserialize, Serialize};

use crate::random::draw;

/// A sample: the time of a number of iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The number of iterations.
    pub iterations: u64,
    /// The time of the iterations.
    pub time_ns: u64,
}

/// The time of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slope {
    /// Lower end of the 95 % interval.
    pub low_ns: f64,
    /// The slope.
    pub slope_ns: f64,
    /// Upper end of the interval.
    pub high_ns: f64,
}

/// The number of samples outside the fences: 1.5 (mild) and 3 (severe) times the distance of the
/// quartiles below the first and above the third (Tukey, Exploratory Data Analysis, 1977, section
/// 2D).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outliers {
    /// Far below.
    pub low_severe: usize,
    /// Below.
    pub low_mild: usize,
    /// Above.
    pub high_mild: usize,
    /// Far above.
    pub high_severe: usize,
}

impl Outliers {
    /// Returns the number of all outliers.
    pub fn total(&self) -> usize {
        self.low_severe + self.low_mild + self.high_mild + self.high_severe
    }
}

/// The number of resamples that Criterion.rs takes by default, and their seed.
const RESAMPLES: u64 = 100_000;
const SEED: u64 = 1;

/// Returns the slope with its 95 % interval (percentiles of the bootstrap); none for no samples.
pub fn slope(samples: &[Sample]) -> Option<Slope> {
    if samples.is_empty() {
        return None;
    }
    let products: Vec<(f64, f64)> = samples
        .iter()
        .map(|sample| {
            let x = sample.iterations as f64;
            let y = sample.time_ns as f64;
            (x * y, x * x)
        })
        .collect();
    let quotient = |sums: (f64, f64)| sums.0 / sums.1;
    let add = |a: (f64, f64), b: (f64, f64)| (a.0 + b.0, a.1 + b.1);
    let count = products.len() as u64;
    let mut slopes: Vec<f64> = (0..RESAMPLES)
        .map(|resample| {
            let drawn = (0..count).map(|at| draw(SEED, resample * count + at, count) as usize);
            quotient(drawn.map(|at| products[at]).fold((0.0, 0.0), add))
        })
        .collect();
    slopes.sort_by(f64::total_cmp);
    Some(Slope {
        low_ns: percentile(&slopes, 2.5),
        slope_ns: quotient(products.iter().copied().fold((0.0, 0.0), add)),
        high_ns: percentile(&slopes, 97.5),
    })
}

/// Classifies the samples by their mean time of an iteration.
pub fn outliers(samples: &[Sample]) -> Outliers {
    let mut means: Vec<f64> =
        samples.iter().map(|s| s.time_ns as f64 / s.iterations as f64).collect();
    means.sort_by(f64::total_cmp);
    let mut outliers = Outliers::default();
    if means.is_empty() {
        return outliers;
    }
    let first = percentile(&means, 25.0);
    let third = percentile(&means, 75.0);
    let distance = third - first;
    for mean in means {
        let count = match mean {
            m if m < first - 3.0 * distance => &mut outliers.low_severe,
            m if m < first - 1.5 * distance => &mut outliers.low_mild,
            m if m > third + 3.0 * distance => &mut outliers.high_severe,
            m if m > third + 1.5 * distance => &mut outliers.high_mild,
            _ => continue,
        };
        *count += 1;
    }
    outliers
}

/// Returns a percentile of sorted values, interpolated linearly between the two nearest.
fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = percent / 100.0 * (sorted.len() - 1) as f64;
    let below = rank.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * rank.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(times_ns: impl Iterator<Item = u64>) -> Vec<Sample> {
        (1..).zip(times_ns).map(|(at, time_ns)| Sample { iterations: at * 10, time_ns }).collect()
    }

    #[test]
    fn a_straight_line_has_its_slope_and_no_interval_to_speak_of() {
        let straight = samples((1..=100).map(|at| at * 10 * 42));
        let slope = slope(&straight).expect("samples");
        for value in [slope.low_ns, slope.slope_ns, slope.high_ns] {
            assert!((value - 42.0).abs() < 1e-9, "{value}");
        }
        assert_eq!(outliers(&straight).total(), 0);
    }

    #[test]
    fn the_interval_holds_the_slope_of_a_noisy_line() {
        let noisy = samples((1..=100).map(|at| at * 10 * (40 + draw(7, at, 5))));
        let slope = slope(&noisy).expect("samples");
        assert!(slope.low_ns < 42.0 && 42.0 < slope.high_ns, "{slope:?}");
        assert!(slope.high_ns - slope.low_ns < 1.0, "{slope:?}");
    }

    #[test]
    fn outliers_are_classified_by_their_distance() {
        // Quartiles 105 and 115 with nothing between 80 and 150, so the fences are 90, 130 (mild)
        // and 75, 145 (severe).
        let spread = (1..=97).map(|at| 100 + at % 21);
        let means = spread.chain([85, 20, 135, 500]);
        let samples: Vec<_> =
            means.map(|mean| Sample { iterations: 10, time_ns: mean * 10 }).collect();
        let found = outliers(&samples);
        let expected = Outliers { low_severe: 1, low_mild: 1, high_mild: 1, high_severe: 1 };
        assert_eq!(found, expected);
    }
}
