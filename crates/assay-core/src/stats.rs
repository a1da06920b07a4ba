//! The statistics that views show.

use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF};

/// A median and, where there are enough values, its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Median {
    /// The middle value (mean of the middle two).
    pub value: f64,
    /// Lower and upper end of an interval that covers the true median with at least 95 %.
    pub interval_95: Option<(f64, f64)>,
}

/// The median of `values`; `None` for no values.
///
/// The interval is between order statistics, so it assumes nothing about the distribution
/// (Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2). It exists from six
/// values on; with ten it runs from the second smallest to the second largest.
pub fn median(values: &[f64]) -> Option<Median> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let value = match sorted.len() {
        0 => return None,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    };
    let below = tail_rank(sorted.len());
    Some(Median {
        value,
        interval_95: below.map(|rank| (sorted[rank], sorted[sorted.len() - 1 - rank])),
    })
}

/// The middle value alone, for which `values` are put in another order; `None` for no values.
pub fn middle(values: &mut [f64]) -> Option<f64> {
    let half = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let is_even = values.len().is_multiple_of(2);
    let (below, middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| is_even);
    Some(lower.map_or(*middle, |lower| f64::midpoint(lower, *middle)))
}

/// The largest `rank` (from 0) of an order statistic that lies above the true median with a chance
/// of at most 2.5 %.
fn tail_rank(count: usize) -> Option<usize> {
    let binomial = Binomial::new(0.5, count as u64).expect("0.5 is a probability");
    // The chance grows with the rank.
    let (mut least, mut most) = (0, count as u64 / 2);
    while least < most {
        let middle = u64::midpoint(least, most);
        match binomial.cdf(middle) <= 0.025 {
            true => least = middle + 1,
            false => most = middle,
        }
    }
    least.checked_sub(1).map(|rank| rank as usize)
}

/// The mean of the `top` largest values (of all, if there are fewer): CrossBench's statistic.
pub fn mean_of_top(values: &[f64], top: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.truncate(top);
    (!sorted.is_empty()).then(|| sorted.iter().sum::<f64>() / sorted.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_ten_values_runs_from_the_second_to_the_ninth() {
        let values: Vec<f64> = [9, 1, 8, 2, 7, 3, 6, 4, 5, 10].map(f64::from).to_vec();
        let median = median(&values).expect("there are values");
        assert_eq!(median.value, 5.5);
        assert_eq!(median.interval_95, Some((2.0, 9.0)));
    }

    #[test]
    fn the_middle_alone_is_the_median() {
        for count in 0..40_u32 {
            let mut values: Vec<_> = (0..count).map(|at| f64::from(at * 17 % 23)).collect();
            let median = median(&values).map(|median| median.value);
            assert_eq!(middle(&mut values), median, "{count}");
        }
    }

    #[test]
    fn the_rank_of_an_interval_is_the_largest_that_covers() {
        for count in 1..200_usize {
            let binomial = Binomial::new(0.5, count as u64).expect("0.5 is a probability");
            let covers = |rank: &u64| binomial.cdf(*rank) <= 0.025;
            let wanted = (0..count as u64 / 2).take_while(covers).last();
            assert_eq!(tail_rank(count), wanted.map(|rank| rank as usize), "{count}");
        }
    }

    #[test]
    fn fewer_than_six_values_have_no_interval() {
        assert_eq!(median(&[1.0, 2.0, 3.0, 4.0, 5.0]).expect("values").interval_95, None);
        let six = median(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).expect("values");
        assert_eq!(six.interval_95, Some((1.0, 6.0)));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_published_sample_gives_the_published_mean() {
        let qps = [
            4_318_852.0,
            4_083_732.0,
            4_159_128.0,
            4_481_350.0,
            4_505_438.0,
            4_107_315.0,
            4_160_166.0,
            4_151_479.0,
            4_364_144.0,
            4_209_817.0,
        ];
        assert_eq!(mean_of_top(&qps, 3).expect("values") as u64, 4_450_310);
    }
}
