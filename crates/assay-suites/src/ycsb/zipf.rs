//! Zipfian numbers.

/// YCSB's constant θ.
const THETA: f64 = 0.99;

/// Numbers from `0..items`, the smaller the likelier: the chance of number i is proportional to
/// 1/(i+1)^θ.
///
/// Gray, Sundaresan, Englert, Baclawski, Weinberger: Quickly Generating Billion-Record Synthetic
/// Databases, SIGMOD 1994, section 3. Powers come from a library of our own build, so that every
/// machine draws the same numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Zipf {
    items: u64,
    /// The sum of 1/i^θ over all items.
    zeta: f64,
    eta: f64,
    /// The numerator of η, from the first number of items: YCSB never renews it.
    spread: f64,
}

impl Zipf {
    /// Returns numbers below `items`, which is at least one. Takes time in proportion to `items`.
    pub(super) fn new(items: u64) -> Self {
        Self::with_zeta(items, zeta_between(0, items))
    }

    /// Returns numbers below `items`, whose ζ is known.
    pub(super) fn with_zeta(items: u64, zeta: f64) -> Self {
        let spread = 1.0 - libm::pow(2.0 / items as f64, 1.0 - THETA);
        Self { items, zeta, eta: eta(spread, zeta), spread }
    }

    /// Raises the limit of the numbers to `items`. Takes time in proportion to the new ones.
    pub(super) fn grow(&mut self, items: u64) {
        if items > self.items {
            // Term by term, so that it does not matter in how many steps it grows.
            self.zeta = (self.items + 1..=items).fold(self.zeta, |zeta, i| zeta + term(i));
            self.items = items;
            self.eta = eta(self.spread, self.zeta);
        }
    }

    /// Returns the number that 64 uniform bits stand for.
    pub(super) fn number(&self, bits: u64) -> u64 {
        let uniform = (bits >> 11) as f64 / (1u64 << 53) as f64;
        let scaled = uniform * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        let most = self.items - 1;
        if scaled < 1.0 + libm::pow(0.5, THETA) {
            return 1.min(most);
        }
        let share = libm::pow(self.eta * uniform - self.eta + 1.0, 1.0 / (1.0 - THETA));
        ((self.items as f64 * share) as u64).min(most)
    }
}

fn eta(spread: f64, zeta: f64) -> f64 {
    spread / (1.0 - zeta_between(0, 2) / zeta)
}

/// Returns the sum of 1/i^θ over i from `after` + 1 to `last`.
fn zeta_between(after: u64, last: u64) -> f64 {
    (after + 1..=last).map(term).sum()
}

/// Returns 1/i^θ.
fn term(i: u64) -> f64 {
    1.0 / libm::pow(i as f64, THETA)
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
        let weight = |i: usize| ((i + 1) as f64).powf(-THETA);
        let all: f64 = (0..ITEMS as usize).map(weight).sum();
        for range in [0..1, 1..2, 0..10, 0..100, 500..1_000] {
            let got = share(range.clone());
            let exact = range.clone().map(weight).sum::<f64>();
            let expected = exact / all;
            assert!((got / expected - 1.0).abs() < 0.07, "{range:?}: {got} for {expected}");
        }
    }

    #[test]
    fn more_items_take_their_share() {
        let mut zipf = Zipf::new(1_000);
        zipf.grow(1_100);
        assert!((zipf.zeta - Zipf::new(1_100).zeta).abs() < 1e-9);
        let numbers: Vec<_> = (0..200_000).map(|at| zipf.number(mix(1, at))).collect();
        assert!(numbers.iter().any(|number| *number >= 1_000));
        assert!(numbers.iter().all(|number| *number < 1_100));
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
