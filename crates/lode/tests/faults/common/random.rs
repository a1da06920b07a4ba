//! A sequence of numbers that follows from a seed.

use crate::random::{STEP, mix};

/// SplitMix64, from this state on.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
