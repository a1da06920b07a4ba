//! The exponent of Zipf's law that fits how often records are chosen.
//!
//! Two operations are on one record with a chance that the squares of all records' shares add up
//! to. How many pairs are, estimates it without a bias, however few operations a record has (as
//! Simpson's index does: Measurement of Diversity, Nature 163, 1949). By the law it is a function
//! of the exponent, which is found by bisection. So the often chosen records decide.

use super::profile::Counts;

/// The greatest exponent that is looked for.
pub(super) const MOST: f64 = 4.0;

/// The items whose weights are added one by one; the rest is integrated.
const ADDED: u64 = 1_000;

/// Returns the exponent for the numbers of records by how often they are chosen; 0 if all are
/// chosen as often.
pub(super) fn exponent(chosen: &Counts) -> f64 {
    let items: u64 = chosen.values().sum();
    let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
        chosen.iter().map(|(times, records)| of(*times as f64) * *records as f64).sum()
    };
    let all = sum(&|times| times);
    if items < 2 || all < 2.0 {
        return 0.0;
    }
    let found = sum(&|times| times * (times - 1.0)) / (all * (all - 1.0));
    let mut low = 0.0;
    let mut high = MOST;
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        let expected = weights(items, 2.0 * middle) / weights(items, middle).powi(2);
        if expected < found {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Returns the sum of 1/i^exponent for the items from 1 on (by the Euler–Maclaurin formula).
fn weights(items: u64, exponent: f64) -> f64 {
    let weight = |item: f64| libm::exp(-exponent * libm::log(item));
    let added = items.min(ADDED);
    let sum: f64 = (1..=added).map(|item| weight(item as f64)).sum();
    if items == added {
        return sum;
    }
    let from = added as f64;
    let to = items as f64;
    let area = if (exponent - 1.0).abs() < 1e-9 {
        libm::log(to / from)
    } else {
        (to * weight(to) - from * weight(from)) / (1.0 - exponent)
    };
    sum + area + (weight(to) - weight(from)) / 2.0
}

/// Returns the share of the choices that the most often chosen share of the records has.
pub(super) fn share_of(chosen: &Counts, hottest: f64) -> f64 {
    let items: u64 = chosen.values().sum();
    let all: f64 = chosen.iter().map(|(times, records)| *times as f64 * *records as f64).sum();
    let mut left = items as f64 * hottest;
    let mut sum = 0.0;
    for (times, records) in chosen.iter().rev() {
        let taken = (*records as f64).min(left);
        sum += taken * *times as f64;
        left -= taken;
    }
    if all > 0.0 { sum / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_that_are_added_one_by_one() {
        for exponent in [0.0, 0.5, 1.0, 1.3, 2.7] {
            let added: f64 = (1..=50_000_u64).map(|item| (item as f64).powf(-exponent)).sum();
            let found = weights(50_000, exponent);
            assert!((found / added - 1.0).abs() < 1e-7, "{exponent}: {found} and {added}");
        }
    }

    #[test]
    fn the_exponent_of_exact_shares_is_found() {
        for exponent_of in [0.3_f64, 0.8, 1.0, 1.4] {
            let mut chosen = Counts::new();
            for item in 1..=1_000 {
                let times = 1e9 * f64::from(item).powf(-exponent_of);
                *chosen.entry(times as u64).or_default() += 1;
            }
            let found = exponent(&chosen);
            assert!((found - exponent_of).abs() < 0.001, "{exponent_of}: {found}");
        }
        assert!(exponent(&Counts::from([(7, 1_000)])) < 1e-6, "chosen as often");
        assert_eq!(exponent(&Counts::new()), 0.0);
    }

    #[test]
    fn the_hottest_records_have_their_share() {
        let chosen = Counts::from([(1, 90), (91, 10)]);
        assert_eq!((share_of(&chosen, 0.1), share_of(&chosen, 1.0)), (0.91, 1.0));
    }
}
