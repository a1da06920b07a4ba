//! Many tests at once: Holm's procedure (A Simple Sequentially Rejective Multiple Test Procedure,
//! Scandinavian Journal of Statistics 6, 1979). If no test has anything to find, the chance that
//! one of them finds something is at most the level, however the tests hang together.

/// Adjusts the probabilities of tests in place. A test whose probability is below the level
/// afterwards is significant at that level, for all tests together.
pub fn adjust(probabilities: &mut [f64]) {
    let count = probabilities.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut least = 0.0_f64;
    for (rank, at) in order.into_iter().enumerate() {
        least = least.max(probabilities[at] * (count - rank) as f64).min(1.0);
        probabilities[at] = least;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of R's `p.adjust(…, "holm")`.
    #[test]
    fn the_probabilities_are_those_of_other_implementations() {
        let mut found = [0.01, 0.04, 0.03, 0.005, 0.9];
        adjust(&mut found);
        for (found, expected) in found.into_iter().zip([0.04, 0.09, 0.09, 0.025, 0.9]) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    #[test]
    fn one_test_stays_as_it_is_and_none_is_above_one() {
        let mut one = [0.03];
        adjust(&mut one);
        assert_eq!(one, [0.03]);
        let mut all = [0.6, 0.7];
        adjust(&mut all);
        assert_eq!(all, [1.0, 1.0]);
        adjust(&mut []);
    }
}
