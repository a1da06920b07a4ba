//! Bounds of the share of rounds in which something happens.
//!
//! C. J. Clopper, E. S. Pearson: The use of confidence or fiducial limits illustrated in the case
//! of the binomial. Biometrika 26, 1934.

use std::fmt;

use statrs::distribution::{Beta, ContinuousCDF};

/// The confidence of the bounds.
const CONFIDENCE: f64 = 0.95;

/// The bounds of the share of rounds in which something happens, with a confidence of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareBounds {
    /// The lower bound; 0 if it never happened.
    pub low: f64,
    /// The upper bound; 1 if there was no round.
    pub high: f64,
}

impl ShareBounds {
    /// Returns the bounds after `count` of `rounds` independent rounds: Clopper and Pearson's
    /// interval, and if nothing or everything happened the bound of its one side.
    pub fn of(count: u64, rounds: u64) -> Self {
        if rounds == 0 || count > rounds {
            return Self { low: 0.0, high: 1.0 };
        }
        let is_one_sided = count == 0 || count == rounds;
        let outside = (1.0 - CONFIDENCE) / if is_one_sided { 1.0 } else { 2.0 };
        let quantile = |successes: u64, share: f64| {
            // The numbers of the two kinds of rounds, one of them more.
            let a = successes as f64;
            let b = (rounds + 1 - successes) as f64;
            Beta::new(a, b).map_or(0.5, |beta| beta.inverse_cdf(share))
        };
        Self {
            low: if count == 0 { 0.0 } else { quantile(count, outside) },
            high: if count == rounds { 1.0 } else { quantile(count + 1, 1.0 - outside) },
        }
    }
}

impl fmt::Display for ShareBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| match share * 100.0 {
            percent if percent < 9.95 => format!("{percent:.1}"),
            percent => format!("{percent:.0}"),
        };
        match (self.low, self.high) {
            (0.0, high) => write!(f, "at most {} %", percent(high)),
            (low, 1.0) => write!(f, "at least {} %", percent(low)),
            (low, high) => write!(f, "{} to {} %", percent(low), percent(high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds are from tables of the binomial distribution.
    #[test]
    fn bounds_are_those_of_clopper_and_pearson() {
        for (count, rounds, low, high) in [
            (0, 24, 0.0, 0.1173),
            (0, 300, 0.0, 0.00994),
            (1, 24, 0.00105, 0.2112),
            (12, 300, 0.0208, 0.0688),
            (24, 24, 0.8827, 1.0),
            (0, 0, 0.0, 1.0),
        ] {
            let found = ShareBounds::of(count, rounds);
            let is_near = |a: f64, b: f64| (a - b).abs() < 0.0005;
            let fits = is_near(found.low, low) && is_near(found.high, high);
            assert!(fits, "{count} of {rounds}: {found:?}");
        }
    }

    #[test]
    fn bounds_are_read_as_percent() {
        assert_eq!(ShareBounds::of(0, 24).to_string(), "at most 12 %");
        assert_eq!(ShareBounds::of(12, 300).to_string(), "2.1 to 6.9 %");
        assert_eq!(ShareBounds::of(24, 24).to_string(), "at least 88 %");
    }
}
