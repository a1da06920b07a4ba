//! A key that is searched for.

/// Bytes that are at hand as a number.
const FIRST_BYTES: usize = 16;

/// A key in the order of keys, of which pieces are compared as numbers.
#[derive(Clone, Copy, Debug)]
pub(in crate::tree) struct SearchKey<'k> {
    bytes: &'k [u8],
    /// The first of them, the first one on top; if there are fewer, with zeros after them.
    first: u128,
}

impl<'k> SearchKey<'k> {
    #[inline(always)]
    pub(in crate::tree) fn new(bytes: &'k [u8]) -> Self {
        Self { bytes, first: first_of(bytes) }
    }

    #[inline(always)]
    pub(in crate::tree) fn bytes(self) -> &'k [u8] {
        self.bytes
    }

    /// Returns the eight bytes from `from` on as a number with the first byte on top; if there are
    /// fewer, with zeros after them.
    #[inline(always)]
    pub(super) fn eight_from(self, from: usize) -> u64 {
        match self.first.checked_shl(from as u32 * 8) {
            Some(rest) if from + 8 <= FIRST_BYTES || self.bytes.len() <= FIRST_BYTES => {
                (rest >> 64) as u64
            }
            _ => (first_of(self.bytes.get(from..).unwrap_or_default()) >> 64) as u64,
        }
    }
}

/// Whatever is shorter is read in two pieces that overlap, if it can be.
#[inline(always)]
fn first_of(bytes: &[u8]) -> u128 {
    let missing_bits = FIRST_BYTES.saturating_sub(bytes.len()) * 8;
    if let Some(all) = bytes.first_chunk() {
        u128::from_be_bytes(*all)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let first = u64::from_be_bytes(*first);
        let last = u64::from_be_bytes(*last);
        u128::from(first) << 64 | u128::from(last) << missing_bits
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let first = u32::from_be_bytes(*first);
        let last = u32::from_be_bytes(*last);
        u128::from(first) << 96 | u128::from(last) << missing_bits
    } else {
        bytes.iter().rev().fold(0, |number, byte| number >> 8 | u128::from(*byte) << 120)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_eight_bytes_of_any_key_are_those_after_a_place() {
        let all: Vec<u8> = (1..=40).collect();
        for size in 0..=all.len() {
            let key = SearchKey::new(&all[..size]);
            for from in 0..=size + 20 {
                let mut eight = [0; 8];
                let rest = all[..size].get(from..).unwrap_or_default();
                let count = rest.len().min(8);
                eight[..count].copy_from_slice(&rest[..count]);
                assert_eq!(key.eight_from(from), u64::from_be_bytes(eight), "{size}, {from}");
            }
        }
    }
}
