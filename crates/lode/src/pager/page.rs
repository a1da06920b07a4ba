//! The content of a page: 64-bit words, read and written atomically; or eight bytes across two of
//! them (see [`unaligned`]).
//!
//! A reader may look at a page while a writer changes it; it finds out afterwards, by the page's
//! version, and throws away what it saw. With plain memory that would be undefined behaviour; with
//! relaxed atomic words it is not, and on 64-bit machines they are plain loads and stores.

use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::fetch;
use super::unaligned;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: usize = 16 * 1024;

/// Words of a page.
pub(crate) const PAGE_WORDS: usize = PAGE_BYTES / 8;

/// The words of one page, to read.
#[derive(Clone, Copy)]
pub(crate) struct PageRef<'p>(pub(super) &'p [AtomicU64; PAGE_WORDS]);

/// The words of one page, to read and to change.
///
/// Only the pager makes one: of a page whose latch the caller holds, and of a page or an image that
/// no other thread has yet.
pub(crate) struct PageMut<'p>(PageRef<'p>);

impl<'p> std::ops::Deref for PageMut<'p> {
    type Target = PageRef<'p>;

    #[inline(always)]
    fn deref(&self) -> &PageRef<'p> {
        &self.0
    }
}

impl PageRef<'_> {
    /// Returns the word at a place.
    ///
    /// A place that is not in the page is taken modulo the page: a reader can come by one when what
    /// it reads is being changed.
    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.0[at % PAGE_WORDS].load(Ordering::Relaxed)
    }

    /// Has the processor fetch the word at a place, and its neighbours.
    #[inline(always)]
    pub(crate) fn fetch(&self, at: usize) {
        fetch(&self.0[at % PAGE_WORDS]);
    }

    /// Returns eight bytes from a place counted in bytes, aligned or not. If fewer are left in the
    /// page, they are its last ones.
    #[inline(always)]
    pub(crate) fn get_at(&self, from: usize) -> u64 {
        unaligned::load(self.0, from)
    }

    /// Copies bytes out, from a place counted in bytes. Bytes read at a place that is not in the
    /// page are anything.
    #[inline(always)]
    pub(crate) fn read(&self, from: usize, bytes: &mut [u8]) {
        // Without a loop for short records: its preparations would cost more than the copy.
        match bytes.len() {
            0..8 => copy_few(unaligned::load_few(self.0, from, bytes.len()), bytes),
            8 => unaligned::copy_out::<1>(self.0, from, bytes),
            9..=16 => unaligned::copy_out::<2>(self.0, from, bytes),
            17..=24 => unaligned::copy_out::<3>(self.0, from, bytes),
            25..=32 => unaligned::copy_out::<4>(self.0, from, bytes),
            33..=40 => unaligned::copy_out::<5>(self.0, from, bytes),
            41..=48 => unaligned::copy_out::<6>(self.0, from, bytes),
            49..=56 => unaligned::copy_out::<7>(self.0, from, bytes),
            _ => unaligned::copy_many_out(self.0, from, bytes),
        }
    }

    /// Returns `count` bytes from a place counted in bytes, eight at most, as a number. The first
    /// byte is on top, and zeros follow the last.
    #[inline(always)]
    pub(crate) fn get_bytes(&self, from: usize, count: usize) -> u64 {
        let word = if from <= PAGE_BYTES - 8 {
            unaligned::load(self.0, from)
        } else {
            unaligned::load_few(self.0, from, count)
        };
        first_bytes(word.swap_bytes(), count)
    }

    /// Copies all bytes out: as many as a page has.
    pub(crate) fn copy_out(&self, bytes: &mut [u8]) {
        debug_assert_eq!(bytes.len(), PAGE_BYTES, "a page is copied whole");
        unaligned::copy_many_out(self.0, 0, bytes);
    }
}

/// Returns the first `count` bytes of a number, eight at most, and zeros after them.
#[inline(always)]
pub(crate) fn first_bytes(number: u64, count: usize) -> u64 {
    number & !u64::MAX.checked_shr(count as u32 * 8).unwrap_or(0)
}

impl<'p> PageMut<'p> {
    /// Creates it for the pager, which knows that no other thread changes the page.
    #[inline(always)]
    pub(super) fn new(page: PageRef<'p>) -> Self {
        Self(page)
    }

    /// Returns the words, to read.
    #[inline(always)]
    pub(crate) fn page_ref(&self) -> PageRef<'p> {
        self.0
    }

    /// Sets the word at a place.
    #[inline(always)]
    pub(crate) fn set(&mut self, at: usize, word: u64) {
        self.0.0[at % PAGE_WORDS].store(word, Ordering::Relaxed);
    }

    /// Stores eight bytes at a place counted in bytes, aligned or not.
    #[inline(always)]
    pub(crate) fn set_at(&mut self, to: usize, word: u64) {
        unaligned::store(self.0.0, to, word);
    }

    /// Copies bytes in, to a place counted in bytes.
    #[inline(always)]
    pub(crate) fn write(&mut self, to: usize, bytes: &[u8]) {
        // Without a loop for short records, as in reading.
        match bytes.len() {
            0..8 => unaligned::copy_few_in(self.0.0, to, bytes),
            8 => unaligned::copy_in::<1>(self.0.0, to, bytes),
            9..=16 => unaligned::copy_in::<2>(self.0.0, to, bytes),
            17..=24 => unaligned::copy_in::<3>(self.0.0, to, bytes),
            25..=32 => unaligned::copy_in::<4>(self.0.0, to, bytes),
            33..=40 => unaligned::copy_in::<5>(self.0.0, to, bytes),
            41..=48 => unaligned::copy_in::<6>(self.0.0, to, bytes),
            49..=56 => unaligned::copy_in::<7>(self.0.0, to, bytes),
            _ => unaligned::copy_many_in(self.0.0, to, bytes),
        }
    }

    /// Copies bytes of a page, which may be this one, to others with which they do not overlap. (To
    /// and from places in the page, counted in bytes; nothing is copied otherwise.)
    #[inline(always)]
    pub(crate) fn copy_bytes(&mut self, page: PageRef<'_>, from: usize, to: usize, count: usize) {
        unaligned::copy(page.0, from, self.0.0, to, count);
    }

    /// Moves words within the page, which may overlap. Does nothing if they are not in it.
    pub(crate) fn shift(&mut self, from: usize, count: usize, to: usize) {
        unaligned::shift(self.0.0, from, count, to);
    }

    /// Copies another page's content in.
    pub(crate) fn copy_from(&mut self, other: PageRef<'_>) {
        unaligned::copy(other.0, 0, self.0.0, 0, PAGE_BYTES);
    }

    /// Copies all bytes in.
    pub(crate) fn copy_in(&mut self, bytes: &[u8]) {
        debug_assert_eq!(bytes.len(), PAGE_BYTES, "a page is replaced whole");
        unaligned::copy_many_in(self.0.0, 0, bytes);
    }

    /// Fills words with zeros.
    pub(crate) fn clear(&mut self, from: usize, to: usize) {
        (from..to).for_each(|at| self.set(at, 0));
    }
}

/// Returns fewer than eight bytes as a word.
#[inline(always)]
pub(crate) fn few(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        // Two words that overlap.
        let skipped = (bytes.len() - 4) * 8;
        return u64::from(u32::from_le_bytes(*first))
            | u64::from(u32::from_le_bytes(*last)) << skipped;
    }
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Copies the first bytes of a word, fewer than all, without a call.
#[inline(always)]
fn copy_few(word: u64, to: &mut [u8]) {
    let mut word = word;
    let four = to.len() & 4;
    let (front, rest) = to.split_at_mut(four);
    if let Some(front) = front.first_chunk_mut::<4>() {
        *front = (word as u32).to_le_bytes();
        word >>= 32;
    }
    for byte in rest.iter_mut().take(3) {
        *byte = word as u8;
        word >>= 8;
    }
}

/// A page's content in a separate allocation.
pub(crate) struct Image(Box<[AtomicU64; PAGE_WORDS]>);

impl Image {
    /// Copies a page.
    pub(crate) fn of(words: PageRef<'_>) -> Self {
        Self::made(words.0.iter().map(|word| word.load(Ordering::Relaxed)))
    }

    /// Creates an image of bytes, as many as a page has.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self::made(bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)))
    }

    /// Creates an image of zeros.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        Self::made(std::iter::repeat_n(0, PAGE_WORDS))
    }

    fn made(words: impl Iterator<Item = u64>) -> Self {
        let words: Box<[AtomicU64]> = words.map(AtomicU64::new).collect();
        Self(words.try_into().expect("as many words as a page has"))
    }

    /// Returns the words.
    pub(crate) fn words(&self) -> PageRef<'_> {
        PageRef(&self.0)
    }

    /// Returns the words, to change.
    pub(crate) fn words_mut(&mut self) -> PageMut<'_> {
        PageMut(PageRef(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_come_back_from_anywhere(
            (from, bytes) in prop_oneof![
                0..PAGE_BYTES,
                PAGE_BYTES - 100..PAGE_BYTES,
                (0..PAGE_WORDS).prop_map(|word| word * 8),
            ].prop_flat_map(|from| {
                let most = (PAGE_BYTES - from).min(100);
                (Just(from), proptest::collection::vec(any::<u8>(), 0..=most))
            }),
        ) {
            let mut image = Image::empty();
            let mut words = image.words_mut();
            (0..PAGE_WORDS).for_each(|at| words.set(at, u64::MAX));
            words.write(from, &bytes);
            let mut got = vec![0; bytes.len()];
            words.read(from, &mut got);
            prop_assert_eq!(&got, &bytes);
            let mut first = [0; 8];
            let count = bytes.len().min(8);
            first[..count].copy_from_slice(&bytes[..count]);
            prop_assert_eq!(words.get_bytes(from, count), u64::from_be_bytes(first));
            // The bytes before and after them are unchanged.
            let mut all = vec![0; PAGE_BYTES];
            words.read(0, &mut all);
            prop_assert!(all[..from].iter().all(|byte| *byte == 255));
            prop_assert!(all[from + bytes.len()..].iter().all(|byte| *byte == 255));
        }

        /// A reader may look anywhere while a page is changed.
        #[test]
        fn what_lies_beyond_the_page_can_be_read(
            from in prop_oneof![PAGE_BYTES - 150..PAGE_BYTES + 150, usize::MAX - 150..=usize::MAX],
            count in 0usize..=150,
        ) {
            let image = Image::empty();
            let words = image.words();
            let mut got = vec![1; count];
            words.read(from, &mut got);
            // Bytes that are left out are unchanged.
            prop_assert!(got.iter().all(|byte| *byte <= 1));
            prop_assert_eq!((words.get(from), words.get_at(from)), (0, 0));
            prop_assert_eq!(words.get_bytes(from, count.min(8)), 0);
        }
    }
}
