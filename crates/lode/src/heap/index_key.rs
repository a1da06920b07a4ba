//! The keys that the index has for the records of a heap: the records' keys, or, if those are long,
//! *digests* of them. With digests the heap has the keys, each before its payload.
//!
//! Two keys may have the same digest. The second one takes another: that of the next *probe*, for
//! which the hash starts with another seed. It *passes* the first one, which notes that, so that a
//! search continues there; and if the first one is deleted then, its entry stays, without an
//! address. An entry passed once stays passed, so a new key has only one possible location.

use std::borrow::Cow;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Address;
use crate::pager::{PAGE_WORDS, PageNumber};

/// Bytes of a digest: in a bucket a word, with the byte before it.
pub(crate) const DIGEST_BYTES: usize = 7;

/// The bits of a digest. In unit tests there are few, so that many keys have the same
/// one.
const DIGEST_BITS: u32 = if cfg!(test) { 11 } else { 8 * DIGEST_BYTES as u32 };

/// Probes after which something must be wrong.
pub(super) const MOST_PROBES: u64 = 1_000;

/// The kind of keys under which an index has its records.
pub(crate) enum IndexKeys {
    Keys,
    /// By a hash with a seed. No key is a prefix of another.
    Digests {
        seed: u64,
    },
}

/// The key under which the index has a record.
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
    /// Returns the bytes of a key that are stored before its payload in the heap.
    #[inline(always)]
    pub(crate) fn front(&self, key: &[u8]) -> usize {
        match self {
            Self::Keys => 0,
            Self::Digests { .. } => key.len(),
        }
    }

    /// Returns the index key of a key in the probe of this number.
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

    /// Returns the bytes that the heap stores for a record.
    pub(crate) fn whole<'p>(&self, key: &[u8], payload: &'p [u8]) -> Cow<'p, [u8]> {
        match self {
            Self::Keys => payload.into(),
            Self::Digests { .. } => [key, payload].concat().into(),
        }
    }
}

/// The entry of a record in the index: its address.
///
/// | bits | content |
/// |---|---|
/// | 0…31 | the page |
/// | 32…47 | the slot |
/// | 48…62 | the [hint](Hint) |
/// | 63 | set if it was passed |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The record's address; `None` if it was deleted after others had passed it.
    pub address: Option<Address>,
    /// The position of the record in its page when the entry was written.
    pub hint: Hint,
    /// True if a later probe may have another key with this digest.
    pub is_passed: bool,
}

/// The word at which a record was put in its page: the processor fetches it with its slot, instead
/// of after it. It may have moved, or have another size. Older stores have no hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint(u16);

impl Hint {
    const BITS: u32 = 15;
    /// The bits for the word.
    const AT_BITS: u32 = PAGE_WORDS.ilog2();
    const AT_MASK: u16 = (1 << Self::AT_BITS) - 1;

    /// Returns the hint for a record that starts at a word of its page, and touches this many lines
    /// of the processor's cache.
    pub(super) fn new(at: usize, lines: usize) -> Self {
        let most = (1 << (Self::BITS - Self::AT_BITS)) - 1;
        Self(at as u16 & Self::AT_MASK | (lines.min(most) as u16) << Self::AT_BITS)
    }

    /// Returns the word at which the record started, and its lines, 15 at most; 0 without a hint.
    #[inline(always)]
    pub(super) fn lines(self) -> (usize, usize) {
        ((self.0 & Self::AT_MASK).into(), (self.0 >> Self::AT_BITS).into())
    }
}

const HINT_SHIFT: u32 = 48;
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
            hint: Hint((word >> HINT_SHIFT) as u16 & !(1 << Hint::BITS)),
            is_passed: word & PASSED != 0,
        }
    }

    /// Returns true if both records are in the same page.
    #[inline(always)]
    pub(crate) fn is_beside(self, other: Self) -> bool {
        let page_of = |entry: Self| entry.address.map(|address| address.page);
        page_of(self) == page_of(other)
    }

    /// Returns the record's rank in the order of the heap; entries without an address come first.
    pub(crate) fn order_in_heap(self) -> u64 {
        self.address.map_or(0, |Address { page, slot }| page.word() << 16 | u64::from(slot))
    }

    pub(crate) fn bytes(self) -> [u8; Self::BYTES] {
        let address =
            self.address.map_or(0, |Address { page, slot }| page.word() | u64::from(slot) << 32);
        debug_assert!(self.address.is_none() == (address as u32 == 0), "no record is in page 0");
        debug_assert!(self.hint.0 >> Hint::BITS == 0, "a hint leaves a bit to the mark");
        let passed = if self.is_passed { PASSED } else { 0 };
        (address | u64::from(self.hint.0) << HINT_SHIFT | passed).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_what_its_bytes_say_with_a_hint_or_without() {
        let page = PageNumber::new(u32::MAX);
        let addresses = [(page, 0), (page, u16::MAX), (PageNumber::FIRST_OF_TABLES, 7)];
        for (page, slot) in addresses {
            for hint in [(0, 0), (1, 1), (1_000, 5), (2_047, 15)] {
                for is_passed in [false, true] {
                    let (at, lines) = hint;
                    let address = Some(Address { page, slot });
                    let entry = Entry { address, hint: Hint::new(at, lines), is_passed };
                    assert_eq!(Entry::of(entry.bytes()), entry);
                    assert_eq!(Entry::of(entry.bytes()).hint.lines(), hint);
                }
            }
        }
        let of_older_store = u64::from(page.get()) | 3 << 32 | PASSED;
        let entry = Entry::of(of_older_store.to_le_bytes());
        assert_eq!((entry.hint, entry.is_passed), (Hint::default(), true));
        assert_eq!(Hint::new(9, 1_000).lines(), (9, 15));
    }
}
