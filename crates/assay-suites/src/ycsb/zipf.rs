//! Zipfian numbers.

/// Numbers from `0..items`, the smaller the likelier: the chance of number i is proportional to
/// 1/(i+1)^θ. Gray, Sundaresan, Englert, Baclawski, Weinberger: Quickly Generating Billion-Record
/// Synthetic Databases, SIGMOD 1994, section 3, with the θ of YCSB. Powers come from a library of
/// our own build, so that every machine draws the same numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    items: f64,
    most: u64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

const THETA: f64 = 0.99;

impl Zipf {
    /// Takes time in proportion to `items`.
    pub(super) fn new(items: u64) -> Self {
        let zeta_of = |items: u64| (1..=items).map(|i| 1.0 / libm::pow(i as f64, THETA)).sum();
        let (zeta, zeta_2): (f64, f64) = (zeta_of(items), zeta_of(2));
        let count = items as f64;
        Self {
            items: count,
            most: items - 1,
            zeta,
            alpha: 1.0 / (1.0 - THETA),
            eta: (1.0 - libm::pow(2.0 / count, 1.0 - THETA)) / (1.0 - zeta_2 / zeta),
        }
    }

    /// The number that 64 uniform bits stand for.
    pub(super) fn number(&self, bits: u64) -> u64 {
        let uniform = (bits >> 11) as f64 / (1u64 << 53) as f64;
        let scaled = uniform * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + libm::pow(0.5, THETA) {
            return 1.min(self.most);
        }
        let number = self.items * libm::pow(self.eta * uniform - self.eta + 1.0, self.alpha);
        (number as u64).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_core::random::mix;

    #[test]
    fn numbers_are_as_likely_as_zipf_says() {
        const ITEMS: u64 = 1_000;
        const DRAWS: u64 = 1_000_000;
        let zipf = Zipf::new(ITEMS);
        let mut counts = vec![0u64; ITEMS as usize];
        (0..DRAWS).for_each(|at| counts[zipf.number(mix(1, at)) as usize] += 1);
        let share =
            |range: std::ops::Range<usize>| counts[range].iter().sum::<u64>() as f64 / DRAWS as f64;
        let exact = |range: std::ops::Range<usize>| {
            range.map(|i| 1.0 / libm::pow(i as f64 + 1.0, THETA)).sum::<f64>() / zipf.zeta
        };
        for range in [0..1, 1..2, 0..10, 0..100, 500..1_000] {
            let (got, expected) = (share(range.clone()), exact(range.clone()));
            assert!((got / expected - 1.0).abs() < 0.07, "{range:?}: {got} for {expected}");
        }
    }

    #[test]
    fn few_items_are_all_that_come() {
        for items in 1..5 {
            let zipf = Zipf::new(items);
            assert!((0..1_000).all(|at| zipf.number(mix(1, at)) < items));
            assert!(zipf.number(u64::MAX) < items);
        }
    }
}
