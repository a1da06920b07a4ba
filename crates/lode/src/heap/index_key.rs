//! What the index has the records of a heap under: their keys, or, if those are long, *digests* of
//! them. With digests the heap has the keys, each before its payload.
//!
//! Two keys may have the same digest. The second one takes another: that of the next *probe*, for
//! which the hash begins with another seed. It *passes* the first one, which notes that, so that a
//! search goes on there; and if the first one is deleted then, its entry stays, without an address.
//! What has been passed once stays passed, so there is only one place where a new key can go.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Address;
use crate::pager::PageNumber;

/// Bytes of a digest: in a bucket a word, with the byte before it.
pub(crate) const DIGEST_BYTES: usize = 7;

/// The bits of a digest. In unit tests there are few, so that many keys have the same
/// one.
const DIGEST_BITS: u32 = if cfg!(test) { 11 } else { 8 * DIGEST_BYTES as u32 };

/// Probes after which something must be wrong.
pub(super) const MOST_PROBES: u64 = 1_000;

/// What an index has all its records under.
pub(crate) enum IndexKeys {
    Keys,
    /// By a hash that begins with a seed. No key is the beginning of another.
    Digests {
        seed: u64,
    },
}

/// What the index has a record under.
#[derive(Clone, Copy)]
pub(crate) enum IndexKey<'k> {
    Key(&'k [u8]),
    Digest([u8; DIGEST_BYTES]),
}

impl IndexKey<'_> {
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Key(key) => key,
            Self::Digest(digest) => digest,
        }
    }
}

impl IndexKeys {
    /// Bytes of a key that lie before its payload in the heap.
    #[inline(always)]
    pub(crate) fn front(&self, key: &[u8]) -> usize {
        match self {
            Self::Keys => 0,
            Self::Digests { .. } => key.len(),
        }
    }

    /// What the index has a key under, in the probe of this number.
    #[inline(always)]
    pub(crate) fn index_key<'k>(&self, key: &'k [u8], probe: u64) -> IndexKey<'k> {
        match self {
            Self::Keys => IndexKey::Key(key),
            Self::Digests { seed } => {
                let hash = xxh3_64_with_seed(key, seed.wrapping_add(probe + 1));
                let digest = hash >> (64 - DIGEST_BITS);
                IndexKey::Digest(*digest.to_le_bytes().first_chunk().expect("eight bytes"))
            }
        }
    }

    /// What the heap has of a record.
    pub(crate) fn whole<'p>(&self, key: &[u8], payload: &'p [u8]) -> Cow<'p, [u8]> {
        match self {
            Self::Keys => payload.into(),
            Self::Digests { .. } => [key, payload].concat().into(),
        }
    }
}

/// What the index has of a record: its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where the record is; none if it was deleted after others had passed it.
    pub address: Option<Address>,
    /// Whether there may be another key with this digest, in a later probe.
    pub is_passed: bool,
}

const PASSED: u64 = 1 << 63;

impl Entry {
    /// Bytes of an entry.
    pub(crate) const BYTES: usize = 8;

    #[inline(always)]
    pub(crate) fn of(bytes: [u8; Self::BYTES]) -> Self {
        let word = u64::from_le_bytes(bytes);
        let address = Address { page: PageNumber::of_word(word), slot: (word >> 32) as u16 };
        Self {
            address: (address.page != PageNumber::default()).then_some(address),
            is_passed: word & PASSED != 0,
        }
    }

    /// Whether both records are in the same page.
    #[inline(always)]
    pub(crate) fn is_beside(self, other: Self) -> bool {
        let page_of = |entry: Self| entry.address.map(|address| address.page);
        page_of(self) == page_of(other)
    }

    pub(crate) fn bytes(self) -> [u8; Self::BYTES] {
        let address =
            self.address.map_or(0, |Address { page, slot }| page.word() | u64::from(slot) << 32);
        let passed = if self.is_passed { PASSED } else { 0 };
        (address | passed).to_le_bytes()
    }
}
