//! Numbers in no order that follow from a seed.

/// A sequence of numbers. (SplitMix64: Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, OOPSLA 2014.)
pub struct Random(pub u64);

impl Random {
    /// Returns a number below another one.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % end
    }

    /// Returns true once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
