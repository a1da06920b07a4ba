//! Places: where keys belong, as their hashes say.

/// A place in the directory: of its 64 bits, the highest decide for a segment, further ones for a
/// bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HashPlace(u64);

impl HashPlace {
    /// The lowest place.
    pub(crate) const FIRST: Self = Self(0);

    /// Returns the lowest place whose highest `bits` bits are `high`. `None` if `high` has more
    /// than `bits` bits: that is after the highest place.
    pub(super) fn first_of(high: u128, bits: u32) -> Option<Self> {
        debug_assert!(bits <= 64 && high <= 1 << bits, "a place has 64 bits");
        u64::try_from(high << (64 - bits)).ok().map(Self)
    }

    /// Returns about the share of keys below the place: the inverse of [`Place::of_hash`].
    pub(super) fn share_of_keys(self) -> f64 {
        let place = self.0 as f64 / 2f64.powi(64);
        (1.0 + 3.0 * place).sqrt() - 1.0
    }

    /// Returns the highest `bits` bits as a number; `bits` is below 64.
    #[inline(always)]
    pub(super) fn high_bits(self, bits: u32) -> usize {
        // A shift by all 64 bits would be a shift by 0.
        (self.0 >> 1 >> ((63 - bits) & 63)) as usize
    }

    /// Returns the `bits` bits after the highest `prefix` ones.
    #[inline(always)]
    pub(super) fn bits_after(self, prefix: u32, bits: u32) -> usize {
        Self(self.0 << (prefix & 63)).high_bits(bits & 63)
    }

    /// Returns true if the last one of its highest `depth` bits is set.
    #[inline(always)]
    pub(super) fn is_high(self, depth: u32) -> bool {
        debug_assert!((1..=64).contains(&depth), "a bucket that was split has a bit that decides");
        self.0 >> (64 - depth) & 1 == 1
    }
}

/// The bucket and the slot that a key belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub directory: HashPlace,
    /// The slot of the bucket that is the key's first choice.
    pub home: usize,
}

impl Place {
    /// Returns the place of a key with this hash: high bits for the directory, low ones for the
    /// slot, so that the keys of one bucket are spread over all its slots.
    #[inline(always)]
    pub(super) fn of_hash(hash: u64, slots: usize) -> Self {
        let product = ((u128::from(hash) * u128::from(!hash)) >> 64) as u64;
        let home = ((u64::from(hash as u32) * slots as u64) >> 32) as usize;
        // u − u(1 − u)/3, about: its slope is 2/3 at 0 and 4/3 at 1.
        let third = (product >> 2) + (product >> 4) + (product >> 6);
        debug_assert!(home < slots, "a home is a slot");
        Self { directory: HashPlace(hash - third), home }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_keep_the_order_of_hashes_and_are_denser_below() {
        let of = |hash| Place::of_hash(hash, 100).directory;
        let mut last = HashPlace::FIRST;
        for at in 0..1_000u64 {
            assert!(of(at << 54) >= last, "{at}");
            last = of(at << 54);
        }
        assert_eq!(of(0), HashPlace::FIRST);
        assert!(of(u64::MAX).0 > u64::MAX - 2);
        // Of the hashes, more than half are in the lower half of the places.
        let low = (0..1_000u64).filter(|at| !of(at << 54).is_high(1)).count();
        assert!((570..600).contains(&low), "{low}");
        for at in 0..64u64 {
            let share = of(at << 58).share_of_keys();
            assert!((share - at as f64 / 64.0).abs() < 0.02, "{at}: {share}");
        }
    }

    #[test]
    fn the_bits_of_a_place_are_what_they_are_called() {
        let place = HashPlace(0b1011 << 60);
        assert_eq!([0, 1, 2, 3, 4].map(|bits| place.high_bits(bits)), [0, 1, 2, 5, 11]);
        assert_eq!(place.bits_after(1, 3), 3);
        assert_eq!([1, 2, 3, 4].map(|depth| place.is_high(depth)), [true, false, true, true]);
        assert_eq!(HashPlace::first_of(5, 3), Some(HashPlace(0b101 << 61)));
        assert_eq!(HashPlace::first_of(8, 3), None);
        assert_eq!(HashPlace::first_of(0, 0), Some(HashPlace::FIRST));
        assert_eq!(HashPlace::first_of(1, 0), None);
    }
}
