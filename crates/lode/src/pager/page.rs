//! The content of a page: aligned 64-bit words, each read and written atomically.
//!
//! A reader may look at a page while a writer changes it; it finds out afterwards, by the page's
//! version, and throws away what it saw. With plain memory that would be undefined behaviour; with
//! relaxed atomic words it is none, and on 64-bit machines they are plain loads and stores.

use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::fetch;

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
    /// The word at a place.
    ///
    /// A place that is not in the page is taken modulo the page: a reader can come by one when what
    /// it reads is being changed.
    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.0[at % PAGE_WORDS].load(Ordering::Relaxed)
    }

    /// Has the processor fetch the word at a place, and what lies beside it.
    #[inline(always)]
    pub(crate) fn fetch(&self, at: usize) {
        fetch(&self.0[at % PAGE_WORDS]);
    }

    /// Copies bytes out, from a place counted in bytes.
    #[inline(always)]
    pub(crate) fn read(&self, from: usize, bytes: &mut [u8]) {
        let (at, shift) = (from / 8, from % 8 * 8);
        match shift {
            0 => self.read_words(at, bytes),
            _ => self.read_shifted(at, shift, bytes),
        }
    }

    #[inline(always)]
    fn read_words(&self, at: usize, bytes: &mut [u8]) {
        // Without a loop for short records: its preparations would cost more than the copy.
        match bytes.len().div_ceil(8) {
            0 => {}
            1 => copy_word(self.get(at), bytes),
            2 => self.read_array::<2>(at, bytes),
            3 => self.read_array::<3>(at, bytes),
            4 => self.read_array::<4>(at, bytes),
            5 => self.read_array::<5>(at, bytes),
            6 => self.read_array::<6>(at, bytes),
            7 => self.read_array::<7>(at, bytes),
            _ => self.read_many(at, bytes),
        }
    }

    /// Bytes of which the last are in the last of `COUNT` words.
    #[inline(always)]
    fn read_array<const COUNT: usize>(&self, at: usize, bytes: &mut [u8]) {
        // Where that many words are not in the page, any will do.
        let from = if at <= PAGE_WORDS - COUNT { at } else { 0 };
        let unused = COUNT * 8 - bytes.len();
        let Some(cells) = self.0[from..].first_chunk::<COUNT>() else { return };
        let words = cells.each_ref().map(|cell| cell.load(Ordering::Relaxed));
        if let Some((whole, _)) = bytes.split_at_mut_checked(8 * (COUNT - 1)) {
            for (chunk, word) in whole.as_chunks_mut().0.iter_mut().zip(words) {
                *chunk = word.to_le_bytes();
            }
        }
        // The last eight bytes, some of which are there already: one store without a branch.
        if let Some(last) = bytes.last_chunk_mut() {
            *last = last_eight(words[COUNT - 2], words[COUNT - 1], unused).to_le_bytes();
        }
    }

    fn read_many(&self, at: usize, bytes: &mut [u8]) {
        let (chunks, rest) = bytes.as_chunks_mut::<8>();
        if !rest.is_empty() {
            copy_few(self.get(at + chunks.len()), rest);
        }
        if let Some(cells) = self.0.get(at..at + chunks.len()) {
            for (chunk, cell) in chunks.iter_mut().zip(cells) {
                *chunk = cell.load(Ordering::Relaxed).to_le_bytes();
            }
            return;
        }
        for (chunk, at) in chunks.iter_mut().zip(at..) {
            *chunk = self.get(at).to_le_bytes();
        }
    }

    #[inline]
    fn read_shifted(&self, at: usize, shift: usize, bytes: &mut [u8]) {
        let (mut at, mut word) = (at, self.get(at));
        let mut chunks = bytes.chunks_exact_mut(8);
        for chunk in &mut chunks {
            let next = self.get(at + 1);
            chunk.copy_from_slice(&(word >> shift | next << (64 - shift)).to_le_bytes());
            word = next;
            at += 1;
        }
        let rest = chunks.into_remainder();
        if !rest.is_empty() {
            let mut word = word >> shift;
            if shift + rest.len() * 8 > 64 {
                word |= self.get(at + 1) << (64 - shift);
            }
            copy_few(word, rest);
        }
    }

    /// The first `count` bytes from a place counted in bytes, eight at most, as a number with the
    /// first byte on top and zeros after them.
    #[inline(always)]
    pub(crate) fn get_bytes(&self, from: usize, count: usize) -> u64 {
        let (at, shift) = (from / 8, from % 8 * 8);
        let word = match shift {
            0 => self.get(at),
            _ => self.get(at) >> shift | self.get(at + 1) << (64 - shift),
        };
        first_bytes(word.swap_bytes(), count)
    }

    /// Copies all bytes out: as many as a page has.
    pub(crate) fn copy_out(&self, bytes: &mut [u8]) {
        let words = self.0.iter().map(|word| word.load(Ordering::Relaxed));
        for (chunk, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *chunk = word.to_le_bytes();
        }
    }
}

/// The first `count` bytes of a number, eight at most, and zeros after them.
#[inline(always)]
pub(crate) fn first_bytes(number: u64, count: usize) -> u64 {
    number & !u64::MAX.checked_shr(count as u32 * 8).unwrap_or(0)
}

impl<'p> PageMut<'p> {
    /// For the pager, which knows that no other thread changes the page meanwhile.
    #[inline(always)]
    pub(super) fn new(page: PageRef<'p>) -> Self {
        Self(page)
    }

    /// The words, to read.
    #[inline(always)]
    pub(crate) fn page_ref(&self) -> PageRef<'p> {
        self.0
    }

    /// Sets the word at a place.
    #[inline(always)]
    pub(crate) fn set(&mut self, at: usize, word: u64) {
        self.0.0[at % PAGE_WORDS].store(word, Ordering::Relaxed);
    }

    /// Copies a few bytes in, to a place counted in bytes: a number within a word as a rule.
    #[inline(always)]
    pub(crate) fn patch(&mut self, to: usize, bytes: &[u8]) {
        let (at, skip) = (to / 8, to % 8);
        match <[u8; 4]>::try_from(bytes) {
            Ok(four) if skip <= 4 => {
                let shift = skip * 8;
                let others = self.get(at) & !(u64::from(u32::MAX) << shift);
                self.set(at, others | u64::from(u32::from_le_bytes(four)) << shift);
            }
            _ => self.write(to, bytes),
        }
    }

    /// Copies bytes in, to a place counted in bytes.
    #[inline]
    pub(crate) fn write(&mut self, to: usize, bytes: &[u8]) {
        let (at, skip) = (to / 8, to % 8);
        // Without a loop for short records, as in reading.
        if skip == 0 {
            match bytes.len().div_ceil(8) {
                2 => return self.write_array::<2>(at, bytes),
                3 => return self.write_array::<3>(at, bytes),
                4 => return self.write_array::<4>(at, bytes),
                5 => return self.write_array::<5>(at, bytes),
                6 => return self.write_array::<6>(at, bytes),
                7 => return self.write_array::<7>(at, bytes),
                _ => {}
            }
        }
        self.write_any(to, bytes);
    }

    /// Copies bytes in of which the last come into the last of `COUNT` words.
    #[inline(always)]
    fn write_array<const COUNT: usize>(&mut self, at: usize, bytes: &[u8]) {
        let unused = COUNT * 8 - bytes.len();
        for (word, chunk) in bytes.as_chunks().0.iter().take(COUNT - 1).enumerate() {
            self.set(at + word, u64::from_le_bytes(*chunk));
        }
        // The last eight bytes: one store without a branch.
        if let Some(last) = bytes.last_chunk() {
            let shift = unused as u32 * 8;
            let others = self.get(at + COUNT - 1) & !(u64::MAX >> shift);
            self.set(at + COUNT - 1, others | u64::from_le_bytes(*last) >> shift);
        }
    }

    /// Copies words of a page, which may be this one, to a place. (To and from places in the page;
    /// nothing is copied otherwise.)
    #[inline(always)]
    pub(crate) fn copy_words(&mut self, page: PageRef<'_>, from: usize, to: usize, count: usize) {
        let (source, target) = (page.0.get(from..from + count), self.0.0.get(to..to + count));
        if let (Some(source), Some(target)) = (source, target) {
            for (from, to) in source.iter().zip(target) {
                to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    }

    /// Copies bytes into whole words: what is left of the last one is zeros. Reads nothing.
    #[inline(always)]
    pub(crate) fn write_whole(&mut self, at: usize, bytes: &[u8]) {
        // Without a loop for short records, as in reading.
        match bytes.len().div_ceil(8) {
            1 if bytes.len() == 8 => self.write_all_of::<1>(at, bytes),
            2 => self.write_all_of::<2>(at, bytes),
            3 => self.write_all_of::<3>(at, bytes),
            4 => self.write_all_of::<4>(at, bytes),
            5 => self.write_all_of::<5>(at, bytes),
            6 => self.write_all_of::<6>(at, bytes),
            7 => self.write_all_of::<7>(at, bytes),
            _ => self.write_chunks(at, bytes),
        }
    }

    /// Fills `COUNT` words with bytes of which the last come into the last word.
    #[inline(always)]
    fn write_all_of<const COUNT: usize>(&mut self, at: usize, bytes: &[u8]) {
        let unused = COUNT * 8 - bytes.len();
        for (word, chunk) in bytes.as_chunks().0.iter().take(COUNT - 1).enumerate() {
            self.set(at + word, u64::from_le_bytes(*chunk));
        }
        if let Some(last) = bytes.last_chunk() {
            self.set(at + COUNT - 1, u64::from_le_bytes(*last) >> (unused * 8));
        }
    }

    #[inline(never)]
    fn write_chunks(&mut self, at: usize, bytes: &[u8]) {
        for (chunk, at) in bytes.chunks(8).zip(at..) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.set(at, u64::from_le_bytes(word));
        }
    }

    /// Copies bytes in, any number of them, to anywhere.
    #[inline(never)]
    fn write_any(&mut self, to: usize, bytes: &[u8]) {
        let (mut at, mut skip) = (to / 8, to % 8);
        let mut bytes = bytes;
        // Whole words without a branch for each.
        let whole = bytes.as_chunks::<8>().0;
        if skip == 0
            && let Some(cells) = self.0.0.get(at..at + whole.len())
        {
            for (cell, chunk) in cells.iter().zip(whole) {
                cell.store(u64::from_le_bytes(*chunk), Ordering::Relaxed);
            }
            at += whole.len();
            bytes = &bytes[whole.len() * 8..];
        }
        while !bytes.is_empty() {
            let count = bytes.len().min(8 - skip);
            let word = match count {
                8 => u64::from_le_bytes(*bytes.first_chunk().expect("eight bytes")),
                _ => {
                    let mut word = self.get(at).to_le_bytes();
                    word[skip..skip + count].copy_from_slice(&bytes[..count]);
                    u64::from_le_bytes(word)
                }
            };
            self.set(at, word);
            bytes = &bytes[count..];
            (at, skip) = (at + 1, 0);
        }
    }

    /// Moves words within the page, which may overlap. Does nothing if they do not lie in it.
    pub(crate) fn shift(&mut self, from: usize, count: usize, to: usize) {
        let (first, by) = (from.min(to), from.abs_diff(to));
        let Some(cells) = self.0.0.get(first..first + by + count) else { return };
        let (low, high) = (&cells[..count], &cells[by..]);
        let copy = |(to, from): (&AtomicU64, &AtomicU64)| {
            to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
        };
        if to <= from {
            low.iter().zip(high).for_each(copy);
        } else {
            high.iter().zip(low).rev().for_each(copy);
        }
    }

    /// Copies another page's content in.
    pub(crate) fn copy_from(&mut self, other: PageRef<'_>) {
        (0..PAGE_WORDS).for_each(|at| self.set(at, other.get(at)));
    }

    /// Copies all bytes in.
    pub(crate) fn copy_in(&mut self, bytes: &[u8]) {
        for (cell, chunk) in self.0.0.iter().zip(bytes.as_chunks::<8>().0) {
            cell.store(u64::from_le_bytes(*chunk), Ordering::Relaxed);
        }
    }

    /// Fills words with zeros.
    pub(crate) fn clear(&mut self, from: usize, to: usize) {
        (from..to).for_each(|at| self.set(at, 0));
    }
}

/// The last eight bytes of two words of which the last bytes of the second are unused: at most
/// seven.
#[inline(always)]
fn last_eight(before: u64, word: u64, unused: usize) -> u64 {
    let shift = unused * 8;
    // A shift by all 64 bits is none.
    before >> 1 >> ((63 - shift) & 63) | word << (shift & 63)
}

/// Copies the first bytes of a word: some, or all.
#[inline(always)]
fn copy_word(word: u64, to: &mut [u8]) {
    match to.first_chunk_mut() {
        Some(all) => *all = word.to_le_bytes(),
        None => copy_few(word, to),
    }
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

/// A page's content by itself: an image that does not change any more.
pub(crate) struct Image(Box<[AtomicU64; PAGE_WORDS]>);

impl Image {
    /// A copy of a page.
    pub(crate) fn of(words: PageRef<'_>) -> Self {
        Self::made(words.0.iter().map(|word| word.load(Ordering::Relaxed)))
    }

    /// Of bytes, as many as a page has.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self::made(bytes.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)))
    }

    /// All zeros.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        Self::made(std::iter::repeat_n(0, PAGE_WORDS))
    }

    fn made(words: impl Iterator<Item = u64>) -> Self {
        let words: Box<[AtomicU64]> = words.map(AtomicU64::new).collect();
        Self(words.try_into().expect("as many words as a page has"))
    }

    /// The words.
    pub(crate) fn words(&self) -> PageRef<'_> {
        PageRef(&self.0)
    }

    /// The words, to change.
    #[cfg(test)]
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
                (0..PAGE_WORDS).prop_map(|word| word * 8),
            ].prop_flat_map(|from| {
                let most = (PAGE_BYTES - from).min(100);
                (Just(from), proptest::collection::vec(any::<u8>(), 0..=most))
            }),
        ) {
            let mut image = Image::empty();
            let mut words = image.words_mut();
            (0..PAGE_WORDS).for_each(|at| words.set(at, u64::MAX));
            match bytes.len() {
                ..8 => words.patch(from, &bytes),
                8.. => words.write(from, &bytes),
            }
            let mut got = vec![0; bytes.len()];
            words.read(from, &mut got);
            prop_assert_eq!(&got, &bytes);
            let mut first = [0; 8];
            let count = bytes.len().min(8);
            first[..count].copy_from_slice(&bytes[..count]);
            prop_assert_eq!(words.get_bytes(from, count), u64::from_be_bytes(first));
            // What is beside them is as it was.
            let mut all = vec![0; PAGE_BYTES];
            words.read(0, &mut all);
            prop_assert!(all[..from].iter().all(|byte| *byte == 255));
            prop_assert!(all[from + bytes.len()..].iter().all(|byte| *byte == 255));
        }

        #[test]
        fn whole_words_are_written_with_zeros_after_the_bytes(
            at in 0..PAGE_WORDS - 20,
            bytes in proptest::collection::vec(any::<u8>(), 0..=100),
        ) {
            let mut image = Image::empty();
            let mut words = image.words_mut();
            (0..PAGE_WORDS).for_each(|at| words.set(at, u64::MAX));
            words.write_whole(at, &bytes);
            let mut all = vec![0; PAGE_BYTES];
            words.read(0, &mut all);
            let (before, rest) = all.split_at(at * 8);
            let (written, after) = rest.split_at(bytes.len().next_multiple_of(8));
            prop_assert_eq!(&written[..bytes.len()], &bytes[..]);
            prop_assert!(written[bytes.len()..].iter().all(|byte| *byte == 0));
            prop_assert!(before.iter().chain(after).all(|byte| *byte == 255));
        }

        #[test]
        fn what_lies_beyond_the_page_is_taken_modulo(
            from in prop_oneof![
                PAGE_WORDS - 20..PAGE_WORDS + 20,
                usize::MAX / 8 - 40..usize::MAX / 8 - 20,
            ],
            bytes in proptest::collection::vec(any::<u8>(), 57..=150),
        ) {
            let mut image = Image::empty();
            image.words_mut().write(from * 8, &bytes);
            let mut got = vec![0; bytes.len()];
            image.words().read(from * 8, &mut got);
            prop_assert_eq!(&got, &bytes);
            let whole = bytes.as_chunks::<8>().0;
            for (at, chunk) in whole.iter().enumerate() {
                let word = image.words().get((from + at) % PAGE_WORDS);
                prop_assert_eq!(word, u64::from_le_bytes(*chunk));
            }
        }

        #[test]
        fn words_move_as_slices_do(from in 0usize..100, to in 0usize..100, count in 0usize..100) {
            let mut image = Image::empty();
            let mut words = image.words_mut();
            let mut model: Vec<u64> = (0..PAGE_WORDS as u64).collect();
            (0..PAGE_WORDS).for_each(|at| words.set(at, at as u64));
            model.copy_within(from..from + count, to);
            words.shift(from, count, to);
            let got: Vec<u64> = (0..PAGE_WORDS).map(|at| words.get(at)).collect();
            prop_assert_eq!(got, model);
        }
    }
}
