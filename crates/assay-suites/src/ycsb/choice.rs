//! Chooses the record of an operation, as YCSB's `CoreWorkload` does.

use assay_core::random::{draw, mix};

use super::workload::Distribution;
use super::zipf::Zipf;
use crate::workload::sizes::open_uniform;

/// The number of items, 10^10 + 1, from which YCSB draws for any number of records. A hash scatters
/// them over the records, so the hottest one has 1/ζ = 3.8 % of the operations.
const SCRAMBLED_ITEMS: u64 = 10_000_000_001;
/// The ζ for these items: the sum of 1/i^0.99 for i from 1 to 10^10.
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;

/// The record that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// The record with this number, among the records of all threads.
    Row(u64),
    /// The record at this place of a thread's own order: the loaded ones, then those it inserted.
    Nth(u64),
}

/// Chooses records.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chooser {
    seed: u64,
    records: u64,
    rule: Rule,
}

/// The numbers by which two of YCSB's distributions are skewed, with its defaults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Skew {
    /// The share of the records that are hot, and that of the operations that choose among them.
    pub(super) hot_records: f64,
    pub(super) hot_operations: f64,
    /// The percentage of the operations that choose among this share of the newest records.
    pub(super) percentile: f64,
    pub(super) within: f64,
}

impl Default for Skew {
    fn default() -> Self {
        Self { hot_records: 0.2, hot_operations: 0.8, percentile: 95.0, within: 0.857_142_857_1 }
    }
}

/// The most ages that are drawn for an operation; with a mean of all records, three do.
const MOST_DRAWS: u32 = 1_000;

#[derive(Clone, Copy, Debug)]
enum Rule {
    /// Chooses each loaded record as often as the others.
    Uniform,
    /// Chooses among the first `hot` loaded records, or among the others.
    Hotspot { hot: u64, operations: f64 },
    /// Chooses one loaded record after another.
    Sequential,
    /// Chooses by age, with this mean.
    Exponential { mean: f64 },
    /// Chooses by scrambled zipfian numbers below `span`; a missing record is drawn again.
    Zipfian { zipf: Zipf, span: u64 },
    /// Chooses the last record most often.
    Latest(Zipf),
}

impl Chooser {
    /// Returns a chooser among `records` that were loaded and those that are inserted after them.
    /// At most `inserts` are expected; so the zipfian rule keeps its hot records while others come.
    pub(super) fn new(
        distribution: Distribution,
        skew: &Skew,
        records: u64,
        inserts: u64,
        seed: u64,
    ) -> Self {
        let rule = match distribution {
            Distribution::Uniform => Rule::Uniform,
            Distribution::Sequential => Rule::Sequential,
            Distribution::Hotspot => Rule::Hotspot {
                hot: (records as f64 * skew.hot_records) as u64,
                operations: skew.hot_operations,
            },
            // As YCSB's `ExponentialGenerator`: its gamma is the inverse of this mean.
            Distribution::Exponential => Rule::Exponential {
                mean: records as f64 * skew.within / -libm::log1p(-skew.percentile / 100.0),
            },
            Distribution::Zipfian => Rule::Zipfian {
                zipf: Zipf::with_zeta(SCRAMBLED_ITEMS, SCRAMBLED_ZETA),
                span: records + inserts + 1,
            },
            Distribution::Latest => Rule::Latest(Zipf::new(least_latest(records))),
        };
        Self { seed, records, rule }
    }

    /// Returns a chooser with this rule that draws other records.
    pub(super) fn with_seed(&self, seed: u64) -> Self {
        Self { seed, ..*self }
    }

    /// Notes that the last existing record is at this place.
    pub(super) fn reach(&mut self, last: u64) {
        if let Rule::Latest(zipf) = &mut self.rule {
            zipf.grow(least_latest(last + 1));
        }
    }

    /// Returns the record for the operation at a position. `last` is the place of the last existing
    /// record, and never gets less; `is_there` says which rows exist.
    pub(super) fn choose(
        &mut self,
        position: u64,
        last: u64,
        is_there: impl Fn(u64) -> bool,
    ) -> Chosen {
        match &mut self.rule {
            Rule::Uniform => Chosen::Row(draw(self.seed, position, self.records)),
            Rule::Sequential => Chosen::Row(position % self.records),
            Rule::Hotspot { hot, operations } => {
                let bits = mix(self.seed, position);
                let cold = self.records - *hot;
                let is_hot = cold == 0 || open_uniform(bits) < *operations && *hot > 0;
                Chosen::Row(if is_hot { draw(bits, 1, *hot) } else { *hot + draw(bits, 1, cold) })
            }
            Rule::Exponential { mean } => {
                let mut seed = self.seed;
                for _ in 0..MOST_DRAWS {
                    let age = -libm::log(open_uniform(mix(seed, position))) * *mean;
                    if age < (last + 1) as f64 {
                        return Chosen::Nth(last - age as u64);
                    }
                    seed = mix(seed, !position);
                }
                // With so large a mean, all ages that there are are about as likely.
                Chosen::Nth(draw(seed, position, last + 1))
            }
            Rule::Zipfian { zipf, span } => {
                let mut seed = self.seed;
                loop {
                    let number = scattered(zipf.number(mix(seed, position))) % *span;
                    if is_there(number) {
                        return Chosen::Row(number);
                    }
                    seed = mix(seed, !position);
                }
            }
            // As in YCSB, the numbers are those below `last`, so record 0 never comes.
            Rule::Latest(zipf) => {
                zipf.grow(least_latest(last + 1));
                Chosen::Nth(last - zipf.number(mix(self.seed, position)).min(last))
            }
        }
    }
}

/// Returns the number of items from which the rule of the latest draws.
fn least_latest(records: u64) -> u64 {
    (records - 1).max(1)
}

/// Returns FNV-1a of the eight bytes of a number, the lowest first, as a signed number without its
/// sign (Fowler, Noll, Vo; draft-eastlake-fnv).
fn scattered(number: u64) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let hash = number
        .to_le_bytes()
        .iter()
        .fold(BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME));
    hash.cast_signed().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    const RECORDS: u64 = 100_000;
    const DRAWS: u64 = 2_000_000;

    /// Returns the record that is chosen if the records up to `last` exist, by one thread.
    fn chosen(chooser: &mut Chooser, position: u64, last: u64) -> u64 {
        match chooser.choose(position, last, |row| row <= last) {
            Chosen::Row(number) | Chosen::Nth(number) => number,
        }
    }

    /// Returns how often each record is chosen.
    fn counts(distribution: Distribution, inserts: u64) -> Vec<u64> {
        let mut chooser = Chooser::new(distribution, &Skew::default(), RECORDS, inserts, 7);
        let mut counts = vec![0; RECORDS as usize];
        for at in 0..DRAWS {
            let chosen = chosen(&mut chooser, at, RECORDS - 1);
            counts[chosen as usize] += 1;
        }
        counts
    }

    /// Returns the share of the most frequent `top` of all.
    fn share_of_top(mut weights: Vec<f64>, top: usize) -> f64 {
        weights.sort_by(|a, b| b.total_cmp(a));
        weights[..top].iter().sum::<f64>() / weights.iter().sum::<f64>()
    }

    /// Returns the weight of each record by the definition alone: the first items of Zipf's law one
    /// by one, the others of the 10^10 evenly over the records. Nothing here is the generator's.
    fn zipfian_weights(inserts: u64) -> Vec<f64> {
        const ONE_BY_ONE: u64 = 4_000_000;
        let span = RECORDS + inserts + 1;
        let mut weights = vec![0.0; span as usize];
        let mut seen = 0.0;
        for item in 0..ONE_BY_ONE {
            let weight = (-0.99 * ((item + 1) as f64).ln()).exp();
            let mut hash: u128 = 14_695_981_039_346_656_037;
            for place in 0..8 {
                hash ^= u128::from(item >> (8 * place) & 255);
                hash = hash * 1_099_511_628_211 % (1 << 64);
            }
            let positive = if hash >= 1 << 63 { (1 << 64) - hash } else { hash };
            weights[(positive % u128::from(span)) as usize] += weight;
            seen += weight;
        }
        // Euler and Maclaurin's formula for the sum over all 10^10 items.
        let power = |x: f64| x.powf(0.01) / 0.01;
        let first = ONE_BY_ONE as f64;
        let last = 1e10;
        let rest = power(last) - power(first) + (last.powf(-0.99) - first.powf(-0.99)) / 2.0;
        assert!((seen + rest - 26.469_028_2).abs() < 1e-6, "zeta is {}", seen + rest);
        weights.iter_mut().for_each(|weight| *weight += rest / span as f64);
        // A missing record is drawn again.
        weights.truncate(RECORDS as usize);
        weights
    }

    fn drawn(distribution: Distribution, inserts: u64) -> Vec<f64> {
        counts(distribution, inserts).iter().map(|&count| count as f64).collect()
    }

    #[test]
    fn zipfian_shares_are_those_of_ycsb() {
        for inserts in [0, 10_000] {
            let (weights, found) =
                (zipfian_weights(inserts), drawn(Distribution::Zipfian, inserts));
            for (top, of_law) in [(1, 0.0378), (1_000, 0.298)] {
                let expected = share_of_top(weights.clone(), top);
                let got = share_of_top(found.clone(), top);
                // The formula of Gray et al. is 2 % off where the law is steep.
                assert!((got / expected - 1.0).abs() < 0.03, "top {top}: {got} for {expected}");
                assert!((expected / of_law - 1.0).abs() < 0.1, "top {top}: {expected}");
            }
            // Both have the same hottest record.
            let hottest = |of: &[f64]| (0..of.len()).max_by(|a, b| of[*a].total_cmp(&of[*b]));
            assert_eq!(hottest(&found), hottest(&weights));
        }
    }

    #[test]
    fn the_latest_record_is_the_hottest_and_the_first_never_comes() {
        let found = drawn(Distribution::Latest, 0);
        let weights = (1..RECORDS).map(|i| (i as f64).powf(-0.99)).collect::<Vec<_>>();
        for top in [1, 1_000] {
            let expected = share_of_top(weights.clone(), top);
            let last = found.iter().rev().take(top).sum::<f64>() / DRAWS as f64;
            assert!((last / expected - 1.0).abs() < 0.03, "top {top}: {last} for {expected}");
        }
        assert_eq!(found[0], 0.0);
    }

    #[test]
    fn the_latest_record_moves_with_every_insert() {
        let mut chooser = Chooser::new(Distribution::Latest, &Skew::default(), 1_000, 0, 7);
        let mut hits = 0;
        for at in 0..20_000 {
            let last = 999 + at / 10;
            let chosen = chosen(&mut chooser, at, last);
            assert!(chosen <= last);
            hits += u64::from(chosen == last);
        }
        // Between 1/ζ(1000) = 13.0 % and 1/ζ(3000) = 11.3 %.
        assert!((2_150..2_700).contains(&hits), "{hits}");
    }

    #[test]
    fn uniform_draws_take_what_was_loaded() {
        let mut chooser = Chooser::new(Distribution::Uniform, &Skew::default(), 10, 100, 7);
        assert!((0..1_000).all(|at| chosen(&mut chooser, at, 99) < 10));
    }

    #[test]
    fn hot_records_have_their_share_and_sequential_ones_take_turns() {
        let hot = drawn(Distribution::Hotspot, 0).iter().take(RECORDS as usize / 5).sum::<f64>();
        assert!((hot / DRAWS as f64 - 0.8).abs() < 0.002, "{hot}");
        let mut chooser = Chooser::new(Distribution::Sequential, &Skew::default(), 10, 0, 7);
        let chosen = (0..20).map(|at| chosen(&mut chooser, at, 9));
        assert!(chosen.eq((0..10).chain(0..10)));
    }

    #[test]
    fn an_exponential_age_has_the_percentile_that_ycsb_gives_it() {
        let found = drawn(Distribution::Exponential, 0);
        let newest = (RECORDS as f64 * Skew::default().within) as usize;
        let share = found.iter().rev().take(newest).sum::<f64>() / DRAWS as f64;
        // 95 % are that new; of the rest, those older than all records are drawn again.
        let too_old = libm::pow(0.05, 1.0 / Skew::default().within);
        assert!((share - 0.95 / (1.0 - too_old)).abs() < 0.002, "{share}");
    }

    #[test]
    fn one_record_is_always_chosen() {
        for &distribution in Distribution::value_variants() {
            let mut chooser = Chooser::new(distribution, &Skew::default(), 1, 0, 7);
            assert!((0..1_000).all(|at| chosen(&mut chooser, at, 0) == 0));
        }
    }

    #[test]
    fn numbers_are_scattered_by_fnv() {
        // FNV-1a of eight zero bytes is a negative signed number.
        assert_eq!(scattered(0), 0xa8c7_f832_281a_39c5_u64.wrapping_neg());
        assert_eq!(scattered(2), 0xe6bd_8644_3df8_ce07_u64.wrapping_neg());
    }
}
