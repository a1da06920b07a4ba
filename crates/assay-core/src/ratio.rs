//! The ratio of the two sides of a comparison, with a 95 % interval from *t* tests on the
//! logarithms of the trials' figures. Two runs take Welch's (The Generalization of "Student's"
//! Problem when Several Different Population Variances are Involved, Biometrika 34, 1947); trials
//! that took turns take the paired one.
//!
//! The smallest difference that a test could find follows from the error that it saw (Bloom:
//! Minimum Detectable Effects, Evaluation Review 19, 1995): the error, multiplied by the sum of the
//! quantiles at its level and at its power.

use statrs::distribution::ContinuousCDF;

use crate::estimate::{Bounds, CONFIDENCE, Moments, TRIALS_LEAST, student, t_quantile, two_sided};
use crate::stats::median;

/// The share of cases in which a difference must be found to count as one that can be found.
pub const POWER: f64 = 0.8;

/// The largest number of trials that is still suggested.
const TRIALS_MOST: u32 = 100_000;

/// The ratio of the other side to the base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio of the medians, or the median of the ratios of pairs.
    pub value: f64,
    /// The test of the ratio; none with fewer than [`TRIALS_LEAST`] trials on a side.
    pub test: Option<Test>,
}

/// A test of the hypothesis that a ratio is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// The 95 % interval of the ratio.
    pub interval: Bounds,
    /// The probability of such a difference, or a larger one, if the sides do not differ.
    pub probability: f64,
    difference: Difference,
}

/// The figures of a trial in which both sides took their turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The base's figure.
    pub base: f64,
    /// The other side's figure.
    pub new: f64,
}

impl Ratio {
    /// Compares the figures of independent trials.
    pub fn welch(base: &[f64], new: &[f64]) -> Option<Self> {
        let value = median(new)? / median(base)?;
        let enough = base.len().min(new.len()) >= TRIALS_LEAST;
        let sides = Moments::of_logarithms(base).zip(Moments::of_logarithms(new));
        let difference = sides.filter(|_| enough).map(|(b, n)| Difference::between(b, n));
        Some(Self { value, test: difference.map(|difference| difference.test(value)) })
    }

    /// Compares figures that were measured in turns, each of the base with the next of the other
    /// side. A drift between pairs is in both figures of a pair, and not in their ratio.
    pub fn paired(pairs: &[Pair]) -> Option<Self> {
        let ratios: Vec<_> = pairs.iter().map(|pair| pair.new / pair.base).collect();
        let value = median(&ratios)?;
        let moments = Moments::of_logarithms(&ratios).filter(|_| ratios.len() >= TRIALS_LEAST);
        let difference = moments.map(Difference::of_pairs);
        Some(Self { value, test: difference.map(|difference| difference.test(value)) })
    }
}

impl Test {
    /// Returns the ratio of the geometric means: above 1 or below it, as the difference is.
    pub fn mean(&self) -> f64 {
        self.difference.mean.exp()
    }

    /// Returns the smallest slowdown of the other side, as a share, that is found at this level in
    /// [`POWER`] of all cases.
    pub fn smallest_found(&self, level: f64) -> f64 {
        let Difference { error, degrees, .. } = self.difference;
        1.0 - (-reach(level, degrees) * error).exp()
    }

    /// Returns the number of trials (of each side) that find a slowdown by this share, at this
    /// level, in [`POWER`] of all cases; `None` if they are too many to say.
    pub fn trials_to_find(&self, share: f64, level: f64) -> Option<u32> {
        let wanted = -(-share).ln_1p();
        let is_enough = |trials: u32| {
            let (error, degrees) = self.difference.with_trials(f64::from(trials));
            reach(level, degrees) * error <= wanted
        };
        // More trials find more.
        let mut least = TRIALS_LEAST as u32;
        let mut most = TRIALS_MOST;
        if !is_enough(most) {
            return None;
        }
        while least < most {
            let middle = u32::midpoint(least, most);
            if is_enough(middle) { most = middle } else { least = middle + 1 }
        }
        Some(least)
    }
}

/// Returns the number of errors at which a difference is found in [`POWER`] of all cases.
fn reach(level: f64, degrees: f64) -> f64 {
    t_quantile(two_sided(1.0 - level), degrees) + t_quantile(POWER, degrees)
}

/// A difference of logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Difference {
    mean: f64,
    /// The standard error of the difference.
    error: f64,
    /// The degrees of freedom of the standard error.
    degrees: f64,
    /// The variance of the difference, if there were one trial of each side.
    variance: f64,
    /// The degrees of freedom that a trial of each side adds.
    degrees_a_trial: f64,
}

impl Difference {
    /// Returns Welch's difference, with the degrees of freedom after Satterthwaite.
    fn between(base: Moments, new: Moments) -> Self {
        let degrees = |base: Moments, new: Moments| {
            let parts = [base, new].map(|side| side.variance / side.count);
            let sum = parts[0] + parts[1];
            let [of_base, of_new] = [base, new].map(|side| side.count - 1.0);
            if sum > 0.0 {
                // Shares of the sum, since squares of small variances may be 0.
                let [a, b] = parts.map(|part| (part / sum).powi(2));
                1.0 / (a / of_base + b / of_new)
            } else {
                of_base + of_new
            }
        };
        let of_two = |side: Moments| Moments { count: 2.0, ..side };
        Self {
            mean: new.mean - base.mean,
            error: base.error().hypot(new.error()),
            degrees: degrees(base, new),
            variance: base.variance + new.variance,
            degrees_a_trial: degrees(of_two(base), of_two(new)),
        }
    }

    fn of_pairs(ratios: Moments) -> Self {
        Self {
            mean: ratios.mean,
            error: ratios.error(),
            degrees: ratios.count - 1.0,
            variance: ratios.variance,
            degrees_a_trial: 1.0,
        }
    }

    /// Returns the error and its degrees of freedom, had there been `count` trials of each side.
    fn with_trials(&self, count: f64) -> (f64, f64) {
        ((self.variance / count).sqrt(), self.degrees_a_trial * (count - 1.0))
    }

    fn test(self, value: f64) -> Test {
        let reach = t_quantile(two_sided(CONFIDENCE), self.degrees) * self.error;
        let end = |side: f64| (self.mean + side * reach).exp();
        let interval = Bounds { low: end(-1.0), high: end(1.0) }.holding(value);
        let probability = if self.error > 0.0 {
            2.0 * student(self.degrees).cdf(-(self.mean / self.error).abs())
        } else if self.mean == 0.0 {
            1.0
        } else {
            0.0
        };
        Test { interval, probability, difference: self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: [f64; 6] = [100.0, 103.0, 98.0, 101.0, 99.0, 110.0];
    const NEW: [f64; 5] = [90.0, 97.0, 88.0, 93.0, 91.0];

    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    }

    fn pairs(base: &[f64], new: &[f64]) -> Vec<Pair> {
        base.iter().zip(new).map(|(base, new)| Pair { base: *base, new: *new }).collect()
    }

    /// The figures of scipy 1.17: `ttest_ind(…, equal_var=False)` and `ttest_rel` of logarithms.
    #[test]
    fn the_intervals_are_those_of_other_implementations() {
        let welch = Ratio::welch(&BASE, &NEW).expect("figures");
        assert_near(welch.value, 91.0 / 100.5);
        assert_near(welch.test.expect("five trials").probability, 0.0018557357445830455);
        let Bounds { low, high } = welch.test.expect("five trials").interval;
        assert_near(low, 0.8544238081882597);
        assert_near(high, 0.9514755734011848);
        let paired = Ratio::paired(&pairs(&BASE, &NEW)).expect("pairs");
        assert_near(paired.value, 91.0 / 99.0);
        assert_near(paired.test.expect("five pairs").probability, 0.0005386198358358486);
        let Bounds { low, high } = paired.test.expect("five pairs").interval;
        assert_near(low, 0.8939435162573219);
        assert_near(high, 0.9381893018224499);
    }

    #[test]
    fn what_drifts_in_both_is_not_in_a_paired_ratio() {
        let drift: Vec<f64> = (0..6).map(|at| 1.0 + f64::from(at)).collect();
        let slower: Vec<f64> = drift.iter().map(|by| by * 1.1).collect();
        let paired = Ratio::paired(&pairs(&drift, &slower)).expect("pairs");
        let Bounds { low, high } = paired.test.expect("enough pairs").interval;
        assert!(high - low < 1e-9 && (paired.value - 1.1).abs() < 1e-9, "{paired:?}");
        let Bounds { low, high } =
            Ratio::welch(&drift, &slower).expect("figures").test.expect("enough trials").interval;
        assert!(low < 0.5 && high > 2.0, "{low} – {high}");
    }

    #[test]
    fn few_trials_have_no_interval_and_none_no_ratio() {
        let few = Ratio::welch(&BASE, &NEW[..4]).expect("figures");
        assert_eq!(few.test, None);
        assert_eq!(Ratio::paired(&pairs(&BASE, &NEW[..4])).expect("pairs").test, None);
        assert_eq!(Ratio::welch(&[], &NEW), None);
        assert_eq!(Ratio::paired(&[]), None);
    }

    #[test]
    fn figures_without_any_spread_have_an_interval_of_no_width() {
        let same = Ratio::welch(&[2.0; 5], &[4.0; 5]).expect("figures");
        let test = same.test.expect("five trials");
        assert_near(test.interval.low, 2.0);
        assert_near(test.interval.high, 2.0);
        assert_eq!((test.probability, test.smallest_found(0.05)), (0.0, 0.0));
        assert_eq!(test.trials_to_find(0.05, 0.05), Some(5));
        let equal = Ratio::welch(&[2.0; 5], &[2.0; 5]).expect("figures").test;
        assert_eq!(equal.expect("five trials").probability, 1.0);
    }

    /// Student's quantiles at 97.5 % and 80 % for 4 degrees are 2.776 and 0.941.
    #[test]
    fn what_could_have_been_found_follows_from_the_error() {
        let pairs: Vec<_> =
            [0.99, 1.01, 1.0, 0.98, 1.02].map(|new| Pair { base: 1.0, new }).to_vec();
        let test = Ratio::paired(&pairs).expect("pairs").test.expect("five pairs");
        let error = 0.0158 / 5.0_f64.sqrt();
        let expected = 1.0 - (-(2.776 + 0.941) * error).exp();
        assert!((test.smallest_found(0.05) - expected).abs() < 1e-4, "{test:?}");
        assert!(test.smallest_found(0.005) > test.smallest_found(0.05));
    }

    /// The trials that find a share are the fewest whose smallest difference is below it.
    #[test]
    fn more_trials_find_less() {
        let spread: Vec<f64> = (0..20).map(|at| 1.0 + f64::from(at % 5) * 0.03).collect();
        let of = |count: usize| {
            let ratio = Ratio::welch(&spread[..count], &spread[..count]).expect("figures");
            ratio.test.expect("trials")
        };
        for share in (10..60).map(|at| f64::from(at) / 500.0) {
            let finds = |trials: u32| {
                let (error, degrees) = of(20).difference.with_trials(f64::from(trials));
                reach(0.05, degrees) * error <= -(1.0_f64 - share).ln()
            };
            let fewest = (5..1000).find(|trials| finds(*trials));
            assert_eq!(of(20).trials_to_find(share, 0.05), fewest, "{share}");
        }
        assert!(of(20).smallest_found(0.05) < 0.05 && of(5).smallest_found(0.05) > 0.05);
        assert!(of(20).trials_to_find(0.01, 0.05) > Some(100));
        assert_eq!(of(20).trials_to_find(1e-6, 0.05), None);
    }
}
