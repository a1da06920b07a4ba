//! Seeded, stateless randomness: everything that looks random in Assay is a pure function of a seed
//! and a position. So nothing has to be stored, and every engine sees the same.

/// Mixes a seed and a position into 64 uniform bits. This is the finalizer of SplitMix64
/// (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014, page 459)
/// applied twice, the seed entering between.
#[inline]
pub fn mix(seed: u64, position: u64) -> u64 {
    finalize(finalize(position.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ seed)
}

#[inline]
fn finalize(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A short sequence of random words that starts at a seed: SplitMix64 itself, cheaper than a
/// [`mix`] for each word.
#[derive(Clone, Copy, Debug)]
pub struct Words(u64);

impl Words {
    /// Returns the sequence of a seed, which is itself random.
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next word.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        finalize(self.0)
    }
}

/// Derives the seed of a named part of something seeded.
pub fn derive(seed: u64, part: &str) -> u64 {
    part.bytes().fold(seed, |seed, byte| mix(seed, u64::from(byte)))
}

/// Draws uniformly from `0..bound` (multiply-shift; Lemire, ACM TOMACS 29(1), 2019, without the
/// rejection: the bias is below 2⁻³² for every bound that fits 32 bits).
#[inline]
pub fn draw(seed: u64, position: u64, bound: u64) -> u64 {
    ((u128::from(mix(seed, position)) * u128::from(bound)) >> 64) as u64
}

/// A keyed bijection of `0..len` onto itself, computed and not stored: a four-round Feistel
/// network over the next even number of bits, walked until it lands inside (Black, Rogaway:
/// Ciphers with Arbitrary Finite Domains, CT-RSA 2002, section 3).
#[derive(Clone, Debug)]
pub struct Bijection {
    len: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Bijection {
    /// Returns the bijection of `0..len` that `seed` names.
    pub fn new(seed: u64, len: u64) -> Self {
        let bits = u64::BITS - len.saturating_sub(1).leading_zeros();
        Self {
            len,
            half_bits: bits.div_ceil(2).max(1),
            keys: [0, 1, 2, 3].map(|round| mix(seed, round)),
        }
    }

    /// Returns the number of values.
    pub fn size(&self) -> u64 {
        self.len
    }

    /// Returns the image of `at`, which is less than the length.
    #[inline]
    pub fn at(&self, at: u64) -> u64 {
        debug_assert!(at < self.len, "positions lie inside the domain");
        let mut value = at;
        loop {
            value = self.round_trip(value);
            if value < self.len {
                return value;
            }
        }
    }

    /// Returns the position of an image: `at(position_of(image))` is `image`.
    pub fn position_of(&self, image: u64) -> u64 {
        let mut position = image;
        loop {
            position = self.way_back(position);
            if position < self.len {
                return position;
            }
        }
    }

    fn way_back(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let mut left = value >> self.half_bits;
        let mut right = value & mask;
        for key in self.keys.iter().rev() {
            let mixed = (left ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (left, right) = (right ^ ((mixed ^ (mixed >> 32)) & mask), left);
        }
        left << self.half_bits | right
    }

    #[inline]
    fn round_trip(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let mut left = value >> self.half_bits;
        let mut right = value & mask;
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (left, right) = (right, left ^ ((mixed ^ (mixed >> 32)) & mask));
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bijection_hits_every_value_once(seed: u64, len in 1..3000u64) {
            let bijection = Bijection::new(seed, len);
            let mut seen = vec![false; len as usize];
            for at in 0..len {
                let image = bijection.at(at) as usize;
                prop_assert!(!seen[image]);
                prop_assert_eq!(bijection.position_of(image as u64), at);
                seen[image] = true;
            }
        }

        #[test]
        fn a_bijection_of_the_32_bit_range_stays_inside(seed: u64, at in 0..1u64 << 32) {
            prop_assert!(Bijection::new(seed, 1 << 32).at(at) < 1 << 32);
        }

        #[test]
        fn draws_stay_below_their_bound(seed: u64, at: u64, bound in 1..u64::MAX) {
            prop_assert!(draw(seed, at, bound) < bound);
        }
    }

    #[test]
    fn a_bijection_leaves_no_visible_order() {
        let bijection = Bijection::new(1, 100_000);
        let ascending = (1..100_000).filter(|&at| bijection.at(at) > bijection.at(at - 1)).count();
        assert!((49_000..51_000).contains(&ascending), "{ascending} ascending neighbours");
        let next = (1..100_000).filter(|&at| bijection.at(at) == bijection.at(at - 1) + 1).count();
        assert!(next < 10, "{next} neighbours stayed together");
    }

    #[test]
    fn the_sequences_never_change() {
        assert_eq!(mix(1, 0), 11_385_487_063_155_714_807);
        let images: Vec<_> = (0..5).map(|at| Bijection::new(7, 1000).at(at)).collect();
        assert_eq!(images, [97, 148, 66, 959, 764]);
    }
}
