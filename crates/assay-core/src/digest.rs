//! The digest into which the timed loop folds every answer.
//!
//! It must be cheap beside a 4 ns lookup and must change when any bit of an answer, or the
//! order of two answers, changes. Pairs of 64-bit words are multiplied to 128 bits and the
//! halves folded (the mixing step of Wang Yi's wyhash); answers are chained by an odd
//! multiplier. It guards against wrong answers, not against an adversary.

const SECRET: [u64; 4] = [
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
];

/// A running digest of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// Folds one answer, a payload area (a multiple of 8 bytes).
    #[inline(always)]
    pub fn fold(&mut self, payload: &[u8]) {
        let mut pairs = payload.chunks_exact(16);
        let mut hash = 0;
        for (pair, round) in (&mut pairs).zip(0u64..) {
            let secret = SECRET[0].wrapping_add(round.wrapping_mul(SECRET[2]));
            hash ^= multiply_fold(word(&pair[..8]) ^ secret, word(&pair[8..]) ^ SECRET[1]);
        }
        let rest = pairs.remainder();
        if let Some(last) = rest.first_chunk::<8>() {
            hash ^= multiply_fold(u64::from_le_bytes(*last) ^ SECRET[2], SECRET[3]);
        }
        self.fold_word(hash);
    }

    /// Folds one word, such as an operation of a tape.
    #[inline(always)]
    pub fn fold_word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(SECRET[1]);
    }

    /// The digest so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("payload areas are whole words"))
}

#[inline(always)]
fn multiply_fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn digest(answers: &[&[u8]]) -> u64 {
        let mut digest = Digest::default();
        answers.iter().for_each(|answer| digest.fold(answer));
        digest.value()
    }

    proptest! {
        #[test]
        fn any_flipped_bit_changes_the_digest(
            words in prop::collection::vec(any::<u64>(), 1..20),
            at: prop::sample::Index,
        ) {
            let answer: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            let mut wrong = answer.clone();
            let bit = at.index(wrong.len() * 8);
            wrong[bit / 8] ^= 1 << (bit % 8);
            prop_assert_ne!(digest(&[&answer]), digest(&[&wrong]));
        }

        #[test]
        fn exchanged_answers_change_the_digest(a: [u8; 32], b: [u8; 32]) {
            prop_assume!(a != b);
            prop_assert_ne!(digest(&[&a, &b]), digest(&[&b, &a]));
        }
    }
}
