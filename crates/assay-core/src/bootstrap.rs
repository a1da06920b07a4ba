//! Confidence intervals by resampling: the percentile bootstrap (Efron, Tibshirani: An Introduction
//! to the Bootstrap, 1993, chapter 13).
//!
//! The values are those of whole trials. The rounds inside a trial share its process, its store and
//! its place in memory, so they differ less than trials do.

use crate::random::draw;
use crate::stats::middle;

/// Fewer trials have no interval.
pub const TRIALS_LEAST: usize = 3;

const RESAMPLES: u64 = 10_000;
const SEED: u64 = 0xb007;

/// A figure and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure itself.
    pub value: f64,
    /// Its interval; none with fewer than [`TRIALS_LEAST`] trials.
    pub interval_95: Option<(f64, f64)>,
}

impl Estimate {
    /// Half the width of the interval, as a share of the value.
    pub fn half_width(&self) -> Option<f64> {
        self.interval_95.map(|(low, high)| (high - low) / 2.0 / self.value)
    }
}

/// The median of positive values, one for each trial.
pub fn location(values: &[f64]) -> Option<Estimate> {
    let mut room = values.to_vec();
    let value = middle(&mut room)?;
    let interval_95 = (values.len() >= TRIALS_LEAST).then(|| {
        let estimate = |at| resampled(values, at, 0, &mut room).unwrap_or(value);
        interval((0..RESAMPLES).map(estimate))
    });
    Some(Estimate { value, interval_95 })
}

/// How many times `base` the median of `new` is, for values of independent trials.
pub fn ratio(base: &[f64], new: &[f64]) -> Option<Estimate> {
    let mut room = new.to_vec();
    let numerator = middle(&mut room)?;
    room.clear();
    room.extend(base);
    let value = numerator / middle(&mut room)?;
    let interval_95 = (base.len().min(new.len()) >= TRIALS_LEAST).then(|| {
        interval((0..RESAMPLES).map(|at| {
            let base = resampled(base, at, 0, &mut room);
            resampled(new, at, 1, &mut room).zip(base).map_or(value, |(new, base)| new / base)
        }))
    });
    Some(Estimate { value, interval_95 })
}

/// The same for trials that were taken in pairs, one after the other: what drifts between pairs
/// is in both values of one, and not in their ratio.
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Estimate> {
    let ratios: Vec<_> = pairs.iter().map(|(base, new)| new / base).collect();
    location(&ratios)
}

/// The median of a resample.
fn resampled(values: &[f64], number: u64, which: u64, room: &mut Vec<f64>) -> Option<f64> {
    let len = values.len() as u64;
    let seed = SEED ^ number << 8 ^ which;
    room.clear();
    room.extend((0..len).map(|at| values[draw(seed, at, len) as usize]));
    middle(room)
}

fn interval(estimates: impl Iterator<Item = f64>) -> (f64, f64) {
    let mut sorted: Vec<_> = estimates.collect();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    (at(0.025), at(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values spread by some percent around a middle.
    fn trials(middle: f64, count: u64, seed: u64) -> Vec<f64> {
        let spread = |at| (draw(seed, at, 2001) as f64 - 1000.0) / 1000.0 * 0.03;
        (0..count).map(|at| middle * (1.0 + spread(at))).collect()
    }

    #[test]
    fn the_interval_holds_the_truth_about_as_often_as_it_says() {
        let mut held = 0;
        for seed in 0..200 {
            let estimate = ratio(&trials(100.0, 12, seed), &trials(120.0, 12, seed + 1000));
            let (low, high) = estimate.expect("values").interval_95.expect("enough trials");
            held += u32::from(low <= 1.2 && 1.2 <= high);
        }
        assert!((176..=200).contains(&held), "{held} of 200");
    }

    #[test]
    fn what_drifts_in_both_is_not_in_a_paired_ratio() {
        let drift: Vec<f64> = (0..6).map(|at| 1.0 + f64::from(at)).collect();
        let pairs: Vec<_> = drift.iter().map(|by| (100.0 * by, 110.0 * by)).collect();
        let estimate = paired_ratio(&pairs).expect("pairs");
        let (low, high) = estimate.interval_95.expect("enough trials");
        assert!(high - low < 1e-9 && (estimate.value - 1.1).abs() < 1e-9, "{estimate:?}");
    }

    #[test]
    fn few_trials_have_no_interval_and_none_no_value() {
        assert_eq!(ratio(&[1.0, 1.0], &[2.0, 2.0]).expect("values").interval_95, None);
        assert_eq!(ratio(&[], &[2.0]), None);
        assert_eq!(location(&[]), None);
        assert_eq!(location(&[5.0, 5.0, 5.0]).expect("values").half_width(), Some(0.0));
    }
}
