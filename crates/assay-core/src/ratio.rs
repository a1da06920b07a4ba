//! How many times one side of a comparison is the other, with a 95 % interval from *t* tests on the
//! logarithms of the trials' figures: Welch's for two runs (The Generalization of "Student's"
//! Problem when Several Different Population Variances are Involved, Biometrika 34, 1947), the
//! paired one for trials that took turns.

use crate::estimate::{Bounds, Moments, TRIALS_LEAST, t_quantile};
use crate::stats::median;

/// How many times the base the other side is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// The ratio of the medians, or the median of the ratios of pairs.
    pub value: f64,
    /// Its 95 % interval; none with fewer than [`TRIALS_LEAST`] trials on a side.
    pub interval: Option<Bounds>,
}

impl Ratio {
    /// Compares the figures of independent trials.
    pub fn welch(base: &[f64], new: &[f64]) -> Option<Self> {
        let value = median(new)? / median(base)?;
        let enough = base.len().min(new.len()) >= TRIALS_LEAST;
        let sides = Moments::of_logarithms(base).zip(Moments::of_logarithms(new));
        let interval = sides.filter(|_| enough).map(|(base, new)| {
            let difference = Difference::between(base, new);
            difference.bounds().holding(value)
        });
        Some(Self { value, interval })
    }

    /// Compares figures that were measured in turns, each of the base beside that of the other
    /// side. What drifts between pairs is in both figures of one, and not in their ratio.
    pub fn paired(pairs: &[Pair]) -> Option<Self> {
        let ratios: Vec<_> = pairs.iter().map(|pair| pair.new / pair.base).collect();
        let value = median(&ratios)?;
        let moments = Moments::of_logarithms(&ratios).filter(|_| ratios.len() >= TRIALS_LEAST);
        let interval = moments.map(|m| Difference::of_pairs(m).bounds().holding(value));
        Some(Self { value, interval })
    }
}

/// The figures of a trial in which both sides took their turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The base's.
    pub base: f64,
    /// The other side's.
    pub new: f64,
}

/// A difference of logarithms.
#[derive(Clone, Copy, Debug)]
struct Difference {
    mean: f64,
    /// Its standard error.
    error: f64,
    /// The degrees of freedom of that.
    degrees: f64,
}

impl Difference {
    /// Welch's, with the degrees of freedom after Satterthwaite.
    fn between(base: Moments, new: Moments) -> Self {
        let squares = [base, new].map(|side| side.variance / side.count);
        let [of_base, of_new] = squares;
        let sum = of_base + of_new;
        let parts = of_base.powi(2) / (base.count - 1.0) + of_new.powi(2) / (new.count - 1.0);
        let degrees = match parts > 0.0 {
            true => sum.powi(2) / parts,
            false => base.count + new.count - 2.0,
        };
        Self { mean: new.mean - base.mean, error: sum.sqrt(), degrees }
    }

    fn of_pairs(ratios: Moments) -> Self {
        Self { mean: ratios.mean, error: ratios.error(), degrees: ratios.count - 1.0 }
    }

    fn bounds(&self) -> Bounds {
        let reach = t_quantile(self.degrees) * self.error;
        Bounds { low: (self.mean - reach).exp(), high: (self.mean + reach).exp() }
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
        let Bounds { low, high } = welch.interval.expect("five trials");
        assert_near(low, 0.8544238081882597);
        assert_near(high, 0.9514755734011848);
        let paired = Ratio::paired(&pairs(&BASE, &NEW)).expect("pairs");
        assert_near(paired.value, 91.0 / 99.0);
        let Bounds { low, high } = paired.interval.expect("five pairs");
        assert_near(low, 0.8939435162573219);
        assert_near(high, 0.9381893018224499);
    }

    #[test]
    fn what_drifts_in_both_is_not_in_a_paired_ratio() {
        let drift: Vec<f64> = (0..6).map(|at| 1.0 + f64::from(at)).collect();
        let slower: Vec<f64> = drift.iter().map(|by| by * 1.1).collect();
        let paired = Ratio::paired(&pairs(&drift, &slower)).expect("pairs");
        let Bounds { low, high } = paired.interval.expect("enough pairs");
        assert!(high - low < 1e-9 && (paired.value - 1.1).abs() < 1e-9, "{paired:?}");
        let Bounds { low, high } =
            Ratio::welch(&drift, &slower).expect("figures").interval.expect("enough trials");
        assert!(low < 0.5 && high > 2.0, "{low} – {high}");
    }

    #[test]
    fn few_trials_have_no_interval_and_none_no_ratio() {
        let few = Ratio::welch(&BASE, &NEW[..4]).expect("figures");
        assert_eq!(few.interval, None);
        assert_eq!(Ratio::paired(&pairs(&BASE, &NEW[..4])).expect("pairs").interval, None);
        assert_eq!(Ratio::welch(&[], &NEW), None);
        assert_eq!(Ratio::paired(&[]), None);
    }

    #[test]
    fn figures_without_any_spread_have_an_interval_of_no_width() {
        let same = Ratio::welch(&[2.0; 5], &[4.0; 5]).expect("figures");
        let Bounds { low, high } = same.interval.expect("five trials");
        assert_near(low, 2.0);
        assert_near(high, 2.0);
    }
}
