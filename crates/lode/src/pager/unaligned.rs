//! Bytes of a page from any place on, where records are stored one after another without gaps.
//!
//! On x86-64 and ARM64 an instruction loads or stores them, and elsewhere two that load or store
//! words. A reader may see some bytes of before a change and some of after it. It finds out
//! afterwards that a writer was there, as with words.
//!
//! Rust's memory model does not let atomic accesses of different sizes overlap. So the instruction
//! is assembly, which the compiler does not look into. Its effect is the one that the processor's
//! manual states.

#![allow(unsafe_code)]
// Where there is no assembly, nothing is unsafe.
#![allow(unused_unsafe)]

#[cfg(all(
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")),
    not(miri)
))]
#[path = "unaligned/assembly.rs"]
mod processor;
#[cfg(not(all(
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")),
    not(miri)
)))]
#[path = "unaligned/words.rs"]
mod processor;
#[cfg(test)]
mod words;

use std::sync::atomic::{AtomicU64, Ordering};

use super::page::{PAGE_BYTES, PAGE_WORDS};

type Cells = [AtomicU64; PAGE_WORDS];

/// Bytes that are copied together.
const PIECE: usize = 32;

/// Words of those.
const PIECE_WORDS: usize = PIECE / 8;

/// Returns a place from which on `count` bytes are in the page: the given one, or one before it.
#[inline(always)]
fn within(at: usize, count: usize) -> usize {
    at.min(PAGE_BYTES - count)
}

/// Loads eight bytes.
#[inline(always)]
pub(super) fn load(cells: &Cells, from: usize) -> u64 {
    // SAFETY: they are in the page.
    unsafe { processor::load(cells, within(from, 8)) }
}

/// Loads `count` bytes, at most eight, as the first ones of a word; others may come after them.
///
/// They are the last ones of the eight bytes that are loaded: the bytes before them are usually in
/// a line of the cache that is looked at anyway.
#[inline(always)]
pub(super) fn load_few(cells: &Cells, from: usize, count: usize) -> u64 {
    debug_assert!(count <= 8, "no more bytes than a word has");
    let start = within(from.saturating_add(count).saturating_sub(8), 8);
    load(cells, start) >> (from.wrapping_sub(start) % 8 * 8)
}

/// Copies out at least eight bytes, in `COUNT` parts, of which the last may overlap with the one
/// before.
#[inline(always)]
pub(super) fn copy_out<const COUNT: usize>(cells: &Cells, from: usize, bytes: &mut [u8]) {
    debug_assert!(bytes.len() >= 8 && bytes.len().div_ceil(8) == COUNT, "its parts cover it");
    let count = bytes.len().min(COUNT * 8);
    let from = within(from, count);
    for (part, to) in bytes.as_chunks_mut().0.iter_mut().take(COUNT - 1).enumerate() {
        // SAFETY: `count` bytes from `from` on are in the page, and there are that many chunks.
        *to = unsafe { processor::load(cells, from + part * 8) }.to_le_bytes();
    }
    if let Some(to) = bytes.last_chunk_mut() {
        // SAFETY: these are the last eight of them, since there are eight.
        *to = unsafe { processor::load(cells, from + count - 8) }.to_le_bytes();
    }
}

/// Copies out at least 32 bytes. Those that are not in the page are left out, and all if fewer than
/// 32 are.
#[inline(never)]
pub(super) fn copy_many_out(cells: &Cells, from: usize, bytes: &mut [u8]) {
    let count = PAGE_BYTES.saturating_sub(from).min(bytes.len());
    let bytes = &mut bytes[..count];
    for (number, piece) in bytes.as_chunks_mut().0.iter_mut().enumerate() {
        // SAFETY: `count` bytes from `from` on are in the page.
        unsafe { processor::load_piece(cells, from + number * PIECE, piece) }
    }
    if let Some(piece) = bytes.last_chunk_mut() {
        // SAFETY: these are the last ones of them.
        unsafe { processor::load_piece(cells, from + count - PIECE, piece) }
    }
}

/// Stores eight bytes. The caller has the latch.
#[inline(always)]
pub(super) fn store(cells: &Cells, to: usize, word: u64) {
    // SAFETY: they are in the page.
    unsafe { processor::store(cells, within(to, 8), word) }
}

/// Copies in at least eight bytes, in `COUNT` parts, of which the last may overlap with the one
/// before. The caller has the latch.
#[inline(always)]
pub(super) fn copy_in<const COUNT: usize>(cells: &Cells, to: usize, bytes: &[u8]) {
    debug_assert!(bytes.len() >= 8 && bytes.len().div_ceil(8) == COUNT, "its parts cover it");
    let count = bytes.len().min(COUNT * 8);
    let to = within(to, count);
    for (part, from) in bytes.as_chunks().0.iter().take(COUNT - 1).enumerate() {
        // SAFETY: `count` bytes from `to` on are in the page, and there are that many chunks.
        unsafe { processor::store(cells, to + part * 8, u64::from_le_bytes(*from)) }
    }
    if let Some(from) = bytes.last_chunk() {
        // SAFETY: these are the last eight of them, since there are eight.
        unsafe { processor::store(cells, to + count - 8, u64::from_le_bytes(*from)) }
    }
}

/// Copies in fewer than eight bytes; of more, the first seven. Where the processor can, it does not
/// load the bytes before and after them: a column that is changed need not come from memory first.
/// The caller has the latch.
#[inline(always)]
pub(super) fn copy_few_in(cells: &Cells, to: usize, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(7)];
    let count = bytes.len();
    let to = within(to, count);
    // SAFETY: `count` bytes from `to` on are in the page, and each piece is of those.
    unsafe {
        if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            processor::store_four(cells, to, u32::from_le_bytes(*first));
            if count > 4 {
                processor::store_four(cells, to + count - 4, u32::from_le_bytes(*last));
            }
        } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
            processor::store_two(cells, to, u16::from_le_bytes(*first));
            if count > 2 {
                processor::store_two(cells, to + count - 2, u16::from_le_bytes(*last));
            }
        } else if let Some(byte) = bytes.first() {
            processor::store_one(cells, to, *byte);
        }
    }
}

/// Copies in at least 32 bytes. Those that would not be in the page are left out, and all if fewer
/// than 32 would. The caller has the latch.
#[inline(never)]
pub(super) fn copy_many_in(cells: &Cells, to: usize, bytes: &[u8]) {
    let count = PAGE_BYTES.saturating_sub(to).min(bytes.len());
    let bytes = &bytes[..count];
    for (number, piece) in bytes.as_chunks().0.iter().enumerate() {
        // SAFETY: `count` bytes from `to` on are in the page.
        unsafe { processor::store_piece(cells, to + number * PIECE, piece) }
    }
    if let Some(piece) = bytes.last_chunk() {
        // SAFETY: these are the last ones of them.
        unsafe { processor::store_piece(cells, to + count - PIECE, piece) }
    }
}

/// Copies bytes of a page, which may be this one, to others with which they do not overlap. Does
/// nothing if they are not in the pages. The caller has the latch.
#[inline(always)]
pub(super) fn copy(page: &Cells, from: usize, cells: &Cells, to: usize, count: usize) {
    if from.max(to).saturating_add(count) > PAGE_BYTES {
        return;
    }
    // The last piece, or word, may overlap with the one before.
    if let Some(last) = count.checked_sub(PIECE) {
        for at in (0..last).step_by(PIECE).chain([last]) {
            // SAFETY: `count` bytes from both places on are in the pages.
            unsafe { processor::copy_piece(page, from + at, cells, to + at) }
        }
    } else if let Some(last) = count.checked_sub(8) {
        for at in (0..last).step_by(8).chain([last]) {
            store(cells, to + at, load(page, from + at));
        }
    } else {
        let few = load_few(page, from, count).to_le_bytes();
        copy_few_in(cells, to, &few[..count]);
    }
}

/// Moves words, which may overlap. Does nothing if they are not in the page. The caller has the
/// latch.
#[inline]
pub(super) fn shift(cells: &Cells, from: usize, count: usize, to: usize) {
    if from.max(to).saturating_add(count) > PAGE_WORDS {
        return;
    }
    let copy = |at: usize| {
        cells[to + at].store(cells[from + at].load(Ordering::Relaxed), Ordering::Relaxed);
    };
    let rest = count % PIECE_WORDS;
    let copy_piece = |at: usize| {
        // SAFETY: `count` words from both places on are in the page, and these are of them.
        unsafe { processor::copy_piece(cells, (from + at) * 8, cells, (to + at) * 8) }
    };
    // Words that are written over have been moved before.
    if to <= from {
        (0..count - rest).step_by(PIECE_WORDS).for_each(copy_piece);
        (count - rest..count).for_each(copy);
    } else {
        (rest..count).step_by(PIECE_WORDS).rev().for_each(copy_piece);
        (0..rest).rev().for_each(copy);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns a page, and its bytes.
    fn page() -> (Box<Cells>, Vec<u8>) {
        let words = (1..=PAGE_WORDS as u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let bytes = words.clone().flat_map(u64::to_le_bytes).collect();
        let cells: Box<[AtomicU64]> = words.map(AtomicU64::new).collect();
        (cells.try_into().expect("as many words as a page has"), bytes)
    }

    fn bytes_of(cells: &Cells) -> Vec<u8> {
        cells.iter().flat_map(|cell| cell.load(Ordering::Relaxed).to_le_bytes()).collect()
    }

    fn word_at(bytes: &[u8], from: usize) -> u64 {
        u64::from_le_bytes(*bytes[from..].first_chunk().expect("eight bytes"))
    }

    proptest! {
        #[test]
        fn the_processor_and_the_words_say_the_same(
            at in prop_oneof![0..100usize, PAGE_BYTES - 100..=PAGE_BYTES - 8],
            word in any::<u64>(),
        ) {
            let (cells, mut bytes) = page();
            prop_assert_eq!(load(&cells, at), word_at(&bytes, at));
            prop_assert_eq!(words::load(&cells, at), word_at(&bytes, at));
            store(&cells, at, word);
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            prop_assert!(bytes_of(&cells) == bytes);
            words::store(&cells, at, !word);
            bytes[at..at + 8].copy_from_slice(&(!word).to_le_bytes());
            prop_assert!(bytes_of(&cells) == bytes);
        }

        #[test]
        fn few_bytes_are_stored_anywhere(
            few in prop::collection::vec(any::<u8>(), 0..8),
            before_end in 0..100usize,
            at in 0..100usize,
        ) {
            let count = few.len();
            for at in [at, PAGE_BYTES - count - before_end] {
                let (cells, mut bytes) = page();
                copy_few_in(&cells, at, &few);
                bytes[at..at + count].copy_from_slice(&few);
                prop_assert!(bytes_of(&cells) == bytes);
                prop_assert_eq!(&load_few(&cells, at, count).to_le_bytes()[..count], &few[..]);
                let zeros = |bytes: &mut [u8]| bytes.fill(0);
                if count >= 4 {
                    words::store_four(&cells, at, 0);
                    zeros(&mut bytes[at..at + 4]);
                }
                if count >= 2 {
                    words::store_two(&cells, at + count - 2, 0);
                    zeros(&mut bytes[at + count - 2..at + count]);
                }
                if count >= 1 {
                    words::store_one(&cells, at + count / 2, 0);
                    zeros(&mut bytes[at + count / 2..at + count / 2 + 1]);
                }
                prop_assert!(bytes_of(&cells) == bytes);
            }
        }

        #[test]
        fn words_move_as_slices_do(
            from in prop_oneof![0..100usize, PAGE_WORDS - 100..=PAGE_WORDS],
            by in 0..30usize,
            is_up in any::<bool>(),
            count in 0..100usize,
        ) {
            let to = if is_up { from + by } else { from.saturating_sub(by) };
            let (cells, bytes) = page();
            let mut model: Vec<_> = bytes.as_chunks::<8>().0.to_vec();
            if from.max(to) + count <= PAGE_WORDS {
                model.copy_within(from..from + count, to);
            }
            shift(&cells, from, count, to);
            prop_assert!(bytes_of(&cells) == model.concat());
        }

        #[test]
        fn bytes_are_copied_from_anywhere_to_anywhere(
            count in prop_oneof![0..70usize, 500..600usize],
            from in prop_oneof![0..100usize, PAGE_BYTES - 700..PAGE_BYTES],
            to in prop_oneof![1_000..1_100usize, PAGE_BYTES - 1_400..PAGE_BYTES - 1_300],
        ) {
            let (cells, mut bytes) = page();
            copy(&cells, from, &cells, to, count);
            if from + count <= PAGE_BYTES {
                bytes.copy_within(from..from + count, to);
            }
            prop_assert!(bytes_of(&cells) == bytes);
        }

        #[test]
        fn many_bytes_are_copied_out_and_in(
            more in prop::collection::vec(any::<u8>(), PIECE..200),
            at in prop_oneof![0..100usize, PAGE_BYTES - 250..PAGE_BYTES + 10],
        ) {
            let (cells, mut bytes) = page();
            let count = PAGE_BYTES.saturating_sub(at).min(more.len());
            let mut out = vec![0; more.len()];
            copy_many_out(&cells, at, &mut out);
            if count >= PIECE {
                prop_assert_eq!(&out[..count], &bytes[at..at + count]);
                bytes[at..at + count].copy_from_slice(&more[..count]);
            }
            copy_many_in(&cells, at, &more);
            prop_assert!(bytes_of(&cells) == bytes);
        }

        #[test]
        fn pieces_of_the_processor_and_of_words_are_the_same(from in 0..99usize, to in 0..99usize) {
            let ((cells, mut bytes), (other, _)) = (page(), page());
            bytes.copy_within(from..from + PIECE, to);
            words::copy_piece(&cells, from, &cells, to);
            prop_assert!(bytes_of(&cells) == bytes);
            copy(&other, from, &other, to, PIECE);
            prop_assert!(bytes_of(&other) == bytes);
        }
    }

    /// At any place, nothing outside of the page is touched.
    #[test]
    fn a_place_beyond_the_page_is_one_in_it() {
        let (cells, bytes) = page();
        let last = word_at(&bytes, PAGE_BYTES - 8);
        for from in [PAGE_BYTES - 8, PAGE_BYTES - 7, PAGE_BYTES, usize::MAX] {
            assert_eq!(load(&cells, from), last);
            let mut copy = [0; 20];
            copy_out::<3>(&cells, from, &mut copy);
            copy_few_in(&cells, from, &[]);
            store(&cells, from, last);
        }
        assert!(bytes_of(&cells) == bytes);
    }
}
