//! Numbers in no order that follow from a seed. (SplitMix64: Steele, Lea, Flood: Fast Splittable
//! Pseudorandom Number Generators, OOPSLA 2014.)

/// A sequence of numbers.
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next number, which is any of 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a number below another one.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}
