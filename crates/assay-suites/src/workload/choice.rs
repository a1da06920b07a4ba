//! Choosing among places `0..count`, of which the last is the newest.

use assay_core::random::{Bijection, draw, mix};

use super::sizes::open_uniform;
use super::zipf::Zipf;

/// The way in which operations choose among records.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    /// Every record as often.
    Uniform,
    /// By Zipf's law with this exponent; which records are chosen often, is random.
    Zipfian(f64),
    /// By Zipf's law over their age: the newest most often.
    Latest,
    /// A share of the operations choose among a share of the records, the others among the rest;
    /// which records these are, is random.
    Hotspot {
        /// The share of the records.
        keys: f64,
        /// The share of the operations.
        operations: f64,
    },
    /// By age, exponentially distributed with this share of all records as its mean.
    Exponential(f64),
    /// One after another, and again from the first.
    Sequential,
    /// The oldest that is there.
    Oldest,
}

/// The exponent of the latest, which is YCSB's.
const LATEST: f64 = 0.99;

/// The most draws of a place that exists.
const DRAWS: u64 = 64;

/// Chooses places for one thread in one phase.
#[derive(Clone, Debug)]
pub(super) struct Chooser {
    choice: Choice,
    seed: u64,
    spans: Spans,
    /// The order of the places of the first window by how often they are chosen.
    spread: Bijection,
    zipf: Option<Zipf>,
    /// The place from which a thread goes through all.
    start: u64,
}

/// The most places that are expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spans {
    /// In the first window of the phase, over which often chosen ones are spread.
    pub(super) first: u64,
    /// In this window: those that came since are chosen least.
    pub(super) now: u64,
}

/// The seeds of a chooser.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeds {
    /// The phase's, by which all threads have the same often chosen places.
    pub(super) phase: u64,
    /// The thread's own, by which it draws.
    pub(super) draws: u64,
}

impl Chooser {
    /// Returns a chooser of one thread, which goes through all places from `start` on if it takes
    /// them in turn.
    pub(super) fn new(choice: Choice, spans: Spans, seeds: Seeds, start: u64) -> Self {
        let first = spans.first.max(1);
        let spans = Spans { first, now: spans.now.max(first) };
        let zipf = match choice {
            Choice::Zipfian(exponent) => Some(Zipf::new(spans.now, exponent)),
            _ => None,
        };
        let spread = Bijection::new(mix(seeds.phase, 1), first);
        Self { choice, seed: seeds.draws, spans, spread, zipf, start }
    }

    /// Returns a place from `first..count` for the operation at a position; `None` if the range is
    /// empty. The oldest is always the first.
    pub(super) fn place(&self, position: u64, first: u64, count: u64) -> Option<u64> {
        let width = count.checked_sub(first).filter(|width| *width > 0)?;
        let bits = mix(self.seed, position);
        let of_age = |age: u64| count - 1 - age.min(width - 1);
        Some(match self.choice {
            Choice::Uniform => first + draw(self.seed, position, width),
            Choice::Latest => of_age(Zipf::new(width, LATEST).number(bits)),
            Choice::Exponential(mean) => {
                // Truncated at the oldest record, so that no age is drawn that does not exist.
                let all = -libm::expm1(-1.0 / mean);
                let age = -mean * libm::log1p(-open_uniform(bits) * all);
                of_age((age * width as f64) as u64)
            }
            Choice::Sequential => first + self.start.wrapping_add(position) % width,
            Choice::Oldest => first,
            Choice::Zipfian(_) | Choice::Hotspot { .. } => {
                let tries = (0..DRAWS).map(|nth| match nth {
                    0 => self.spread_place(bits),
                    _ => self.spread_place(mix(bits, nth)),
                });
                let found = tries.into_iter().find(|place| (first..count).contains(place));
                found.unwrap_or_else(|| first + draw(bits, position, width))
            }
        })
    }

    /// Returns a place of those that are expected, some of which are chosen often.
    fn spread_place(&self, bits: u64) -> u64 {
        let span = self.spans.now;
        let rank = match (self.choice, &self.zipf) {
            (Choice::Hotspot { keys, operations }, _) => {
                let hot = ((span as f64 * keys) as u64).clamp(1, span);
                let cold = span - hot;
                if open_uniform(bits) < operations || cold == 0 {
                    draw(bits, 1, hot)
                } else {
                    hot + draw(bits, 1, cold)
                }
            }
            (_, Some(zipf)) => zipf.number(bits),
            _ => bits % span,
        };
        if rank < self.spans.first { self.spread.at(rank) } else { rank }
    }
}
