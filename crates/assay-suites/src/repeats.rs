//! Repeats of disturbed rounds, if a repeat finds the same state as the first attempt.
//!
//! The decision depends on the machine's share for the round, not on its speed: so the rates of the
//! kept rounds are no better than those of rounds that were not disturbed at all. A second attempt
//! finds the same records as the first. So rounds that insert new records, or delete some, are not
//! repeated, except those that write their own records, as the samples of `tonbo-micro`.

use assay_core::counting;
use assay_core::crew::Taken;
use assay_core::plan::{Cell, PageCache};
use assay_core::usage::Usage;
use assay_driver::error::Result;

use crate::options::MostRepeats;

/// The number of a phase's repeats: the maximum, and those done.
#[derive(Debug)]
pub(crate) struct Repeats {
    most: u32,
    done: u32,
}

impl Repeats {
    /// Returns the repeats of a phase that may have `most`. A cold cell has none, because the first
    /// attempt has warmed the page cache. A counted cell has none, because its clock is not read.
    pub(crate) fn at_most(most: MostRepeats, cell: &Cell) -> Self {
        match cell.page_cache {
            PageCache::Warm if !counting::is_on() => Self { most: most.repeats, done: 0 },
            _ => Self::none(),
        }
    }

    /// Returns no repeats, for a phase whose rounds change what a second attempt would find.
    pub(crate) fn none() -> Self {
        Self { most: 0, done: 0 }
    }

    /// Returns the number of repeats done.
    pub(crate) fn done(&self) -> u32 {
        self.done
    }

    /// Runs a round, and repeats it while it is disturbed and that is allowed; returns the attempt
    /// that lacked least. `attempt` gets its number among the phase's repeats from 1, or 0 for a
    /// first attempt; it returns its result and its figures.
    pub(crate) fn least_disturbed<T>(
        &mut self,
        mut attempt: impl FnMut(u32) -> Result<(T, Taken)>,
    ) -> Result<(T, Taken)> {
        let mut best = attempt(0)?;
        while best.1.usage.is_some_and(|usage| usage.is_disturbed()) && self.done < self.most {
            self.done += 1;
            let again = attempt(self.done)?;
            if lack(again.1.usage) < lack(best.1.usage) {
                best = again;
            }
        }
        Ok(best)
    }
}

/// Returns the share of its time for which a round lacked a processor. For a stopped round it is
/// not known.
fn lack(usage: Option<Usage>) -> f64 {
    usage.map_or(0.0, |usage| match usage.stops {
        0 => usage.lacked_ns() as f64 / usage.wall_ns.max(1) as f64,
        _ => f64::INFINITY,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Returns a round that waited for `waited_ns` of its 100 ns.
    fn round(waited_ns: u64) -> ((), Taken) {
        let usage = Usage { wall_ns: 100, waited_ns, processors: 1, ..Usage::default() };
        ((), Taken { time: Duration::from_nanos(waited_ns), usage: Some(usage) })
    }

    /// Returns the repeats of a phase that may have 5.
    fn five() -> Repeats {
        Repeats { most: 5, done: 0 }
    }

    /// Runs rounds whose attempts wait for these times; returns the kept time of each.
    fn kept(repeats: &mut Repeats, rounds: &[&[u64]]) -> Vec<u64> {
        let keep = |attempts: &&[u64]| {
            let mut waits = attempts.iter();
            let done = repeats.least_disturbed(|_| {
                Ok(round(*waits.next().expect("no more attempts than expected")))
            });
            assert_eq!(waits.next(), None, "as many attempts as expected");
            done.expect("no error").1.usage.expect("a usage").waited_ns
        };
        rounds.iter().map(keep).collect()
    }

    #[test]
    fn a_disturbed_round_is_done_again_until_one_is_not() {
        let mut repeats = five();
        let found = kept(&mut repeats, &[&[0], &[50, 30, 5], &[4]]);
        assert_eq!((found, repeats.done()), (vec![0, 5, 4], 2));
    }

    #[test]
    fn a_phase_has_no_more_attempts_than_its_limit_and_keeps_the_best() {
        let mut repeats = five();
        let found = kept(&mut repeats, &[&[50, 20, 40, 5], &[60, 30, 70], &[90]]);
        assert_eq!((found, repeats.done()), (vec![5, 30, 90], 5));
        let mut none = Repeats::none();
        assert_eq!((kept(&mut none, &[&[50]]), none.done()), (vec![50], 0));
    }

    #[test]
    fn attempts_of_a_phase_have_numbers_of_their_own() {
        let mut repeats = five();
        let mut numbers = Vec::new();
        for _ in 0..4 {
            let done = repeats.least_disturbed(|number| {
                numbers.push(number);
                Ok(round(50))
            });
            done.expect("no error");
        }
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 0, 0, 0]);
    }
}
