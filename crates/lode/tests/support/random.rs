//! Numbers in no order that follow from others.

/// The distance of the numbers of a sequence before they are mixed.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes a number as SplitMix64 does its state; no two numbers give one result. (Steele, Lea,
/// Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.)
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(STEP);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
