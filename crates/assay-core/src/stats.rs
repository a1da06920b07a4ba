//! Medians, and the statistics that suites publish of their rounds.

/// Returns the middle value (the mean of the middle two); `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    let half = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let is_even = values.len().is_multiple_of(2);
    let (below, middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let lower = below.iter().copied().max_by(f64::total_cmp).filter(|_| is_even);
    Some(lower.map_or(*middle, |lower| f64::midpoint(lower, *middle)))
}

/// Returns the mean of the `top` largest values (of all, if fewer): CrossBench's statistic.
pub fn mean_of_top(values: &[f64], top: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.truncate(top);
    (!sorted.is_empty()).then(|| sorted.iter().sum::<f64>() / sorted.len() as f64)
}

/// Returns the mean of the fastest tenth (one value at least): work that nothing interrupted.
pub fn mean_of_fastest_tenth(rates: &[f64]) -> Option<f64> {
    mean_of_top(rates, rates.len().div_ceil(10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_of_sorted_values() {
        assert_eq!(median(&[]), None);
        for count in 1..40_u32 {
            let mut values: Vec<_> = (0..count).map(|at| f64::from(at * 17 % 23)).collect();
            let found = median(&values);
            values.sort_by(f64::total_cmp);
            let lower = values[(values.len() - 1) / 2];
            let upper = values[values.len() / 2];
            assert_eq!(found, Some(f64::midpoint(lower, upper)), "{count}");
        }
    }

    #[test]
    fn the_fastest_tenth_is_one_value_at_least() {
        let values: Vec<f64> = (1..=11).map(f64::from).collect();
        assert_eq!(mean_of_fastest_tenth(&values[..1]), Some(1.0));
        assert_eq!(mean_of_fastest_tenth(&values[..10]), Some(10.0));
        assert_eq!(mean_of_fastest_tenth(&values), Some(10.5));
        assert_eq!(mean_of_fastest_tenth(&[]), None);
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
