//! Eight bytes of a page from any byte on, where slots lie one after another without gaps.
//!
//! On x86-64 and ARM64 they are one instruction, and elsewhere two loads or stores of words
//! (`parts`). A reader may see some bytes of before a change and some of after it. It finds out
//! afterwards that a writer was there, as with words.
//!
//! Rust's memory model does not let atomic accesses of different sizes overlap. So the instruction
//! is assembly, which the compiler does not look into. What it does is what the processor's manual
//! says.

#![allow(unsafe_code)]

use std::sync::atomic::AtomicU64;

use super::page::{PAGE_BYTES, PAGE_WORDS};

type Cells = [AtomicU64; PAGE_WORDS];

/// A place from which on `count` bytes are in the page: the given one, or one before it.
#[inline(always)]
fn within(at: usize, count: usize) -> usize {
    at.min(PAGE_BYTES - count)
}

/// Loads eight bytes.
#[inline(always)]
pub(super) fn load(cells: &Cells, from: usize) -> u64 {
    // SAFETY: they are in the page.
    unsafe { load_eight(cells, within(from, 8)) }
}

/// The place of the eight bytes whose last ones are the `count` at a place, and the bits before
/// those: what lies before them is in a line of the cache that is looked at anyway, as a rule.
#[inline(always)]
fn ending(at: usize, count: usize) -> (usize, usize) {
    let start = within(at.saturating_add(count).saturating_sub(8), 8);
    (start, at.wrapping_sub(start) % 8 * 8)
}

/// Loads `count` bytes, fewer than eight, as the first ones of a word; others may come after them.
#[inline(always)]
pub(super) fn load_few(cells: &Cells, from: usize, count: usize) -> u64 {
    let (start, before) = ending(from, count);
    load(cells, start) >> before
}

/// Copies out at least eight bytes, in `COUNT` parts, of which the last may overlap with the one
/// before.
#[inline(always)]
pub(super) fn copy_out<const COUNT: usize>(cells: &Cells, from: usize, bytes: &mut [u8]) {
    let count = bytes.len().min(COUNT * 8);
    let from = within(from, count);
    for (part, to) in bytes.as_chunks_mut().0.iter_mut().take(COUNT - 1).enumerate() {
        // SAFETY: `count` bytes from `from` on are in the page, and there are that many chunks.
        *to = unsafe { load_eight(cells, from + part * 8) }.to_le_bytes();
    }
    if let Some(to) = bytes.last_chunk_mut() {
        // SAFETY: these are the last eight of them, since there are eight.
        *to = unsafe { load_eight(cells, from + count - 8) }.to_le_bytes();
    }
}

/// Stores eight bytes. The caller has the latch.
#[inline(always)]
pub(super) fn store(cells: &Cells, to: usize, word: u64) {
    // SAFETY: they are in the page.
    unsafe { store_eight(cells, within(to, 8), word) }
}

/// Copies in at least eight bytes, in `COUNT` parts, of which the last may overlap with the one
/// before. The caller has the latch.
#[inline(always)]
pub(super) fn copy_in<const COUNT: usize>(cells: &Cells, to: usize, bytes: &[u8]) {
    let count = bytes.len().min(COUNT * 8);
    let to = within(to, count);
    for (part, from) in bytes.as_chunks().0.iter().take(COUNT - 1).enumerate() {
        // SAFETY: `count` bytes from `to` on are in the page, and there are that many chunks.
        unsafe { store_eight(cells, to + part * 8, u64::from_le_bytes(*from)) }
    }
    if let Some(from) = bytes.last_chunk() {
        // SAFETY: these are the last eight of them, since there are eight.
        unsafe { store_eight(cells, to + count - 8, u64::from_le_bytes(*from)) }
    }
}

/// Stores four bytes. The caller has the latch.
#[inline(always)]
pub(super) fn store_four(cells: &Cells, to: usize, four: u32) {
    let to = within(to, 4);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the bytes are in the page; for the rest see `store_eight`.
    unsafe {
        std::arch::asm!(
            "mov dword ptr [{cells} + {to}], {four:e}",
            four = in(reg) four,
            cells = in(reg) cells.as_ptr(),
            to = in(reg) to,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "str {four:w}, [{cells}, {to}]",
            four = in(reg) four,
            cells = in(reg) cells.as_ptr(),
            to = in(reg) to,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(any(
        all(target_arch = "x86_64", not(miri)),
        all(target_arch = "aarch64", target_endian = "little", not(miri)),
    )))]
    store_few(cells, to, four.into(), 4);
}

/// Stores the first `count` bytes of a word, fewer than eight. The caller has the latch.
#[inline(always)]
pub(super) fn store_few(cells: &Cells, to: usize, word: u64, count: usize) {
    let (start, before) = ending(to, count);
    let bits = !(u64::MAX << (count % 8 * 8)) << before;
    store(cells, start, load(cells, start) & !bits | word << before & bits);
}

/// # Safety
/// There are eight bytes at `from` in the page.
#[inline(always)]
unsafe fn load_eight(cells: &Cells, from: usize) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let word;
        // SAFETY: the bytes are in the page. The compiler assumes nothing about what is loaded, and
        // keeps the order to fences: so the bytes may change meanwhile.
        unsafe {
            std::arch::asm!(
                "mov {word}, qword ptr [{cells} + {from}]",
                word = out(reg) word,
                cells = in(reg) cells.as_ptr(),
                from = in(reg) from,
                options(nostack, preserves_flags, readonly),
            );
        }
        word
    }
    #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
    {
        let word;
        // SAFETY: as above.
        unsafe {
            std::arch::asm!(
                "ldr {word}, [{cells}, {from}]",
                word = out(reg) word,
                cells = in(reg) cells.as_ptr(),
                from = in(reg) from,
                options(nostack, preserves_flags, readonly),
            );
        }
        word
    }
    #[cfg(not(any(
        all(target_arch = "x86_64", not(miri)),
        all(target_arch = "aarch64", target_endian = "little", not(miri)),
    )))]
    parts::load(cells, from)
}

/// # Safety
/// There are eight bytes at `to` in the page.
#[inline(always)]
unsafe fn store_eight(cells: &Cells, to: usize, word: u64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the bytes are in the page, whose cells may be written to through a shared reference.
    // The compiler assumes that any memory may have changed after it.
    unsafe {
        std::arch::asm!(
            "mov qword ptr [{cells} + {to}], {word}",
            word = in(reg) word,
            cells = in(reg) cells.as_ptr(),
            to = in(reg) to,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "str {word}, [{cells}, {to}]",
            word = in(reg) word,
            cells = in(reg) cells.as_ptr(),
            to = in(reg) to,
            options(nostack, preserves_flags),
        );
    }
    #[cfg(not(any(
        all(target_arch = "x86_64", not(miri)),
        all(target_arch = "aarch64", target_endian = "little", not(miri)),
    )))]
    parts::store(cells, to, word);
}

/// The same by the words in which the bytes lie: without assembly, and in tests.
#[cfg_attr(
    any(
        all(target_arch = "x86_64", not(miri)),
        all(target_arch = "aarch64", target_endian = "little", not(miri)),
    ),
    cfg(test)
)]
mod parts {
    use std::sync::atomic::Ordering;

    use super::Cells;

    pub(super) fn load(cells: &Cells, from: usize) -> u64 {
        let (at, shift) = (from / 8, from % 8 * 8);
        let low = cells[at].load(Ordering::Relaxed) >> shift;
        match shift {
            0 => low,
            _ => low | cells[at + 1].load(Ordering::Relaxed) << (64 - shift),
        }
    }

    pub(super) fn store(cells: &Cells, to: usize, word: u64) {
        let (at, shift) = (to / 8, to % 8 * 8);
        if shift == 0 {
            return cells[at].store(word, Ordering::Relaxed);
        }
        let low = cells[at].load(Ordering::Relaxed) & !(u64::MAX << shift);
        let high = cells[at + 1].load(Ordering::Relaxed) & u64::MAX << shift;
        cells[at].store(low | word << shift, Ordering::Relaxed);
        cells[at + 1].store(high | word >> (64 - shift), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use proptest::prelude::*;

    use super::*;

    /// A page, and its bytes.
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
            prop_assert_eq!(parts::load(&cells, at), word_at(&bytes, at));
            store(&cells, at, word);
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            prop_assert!(bytes_of(&cells) == bytes);
            parts::store(&cells, at, !word);
            bytes[at..at + 8].copy_from_slice(&(!word).to_le_bytes());
            prop_assert!(bytes_of(&cells) == bytes);
        }

        #[test]
        fn few_bytes_are_stored_anywhere(
            count in 0..8usize,
            before_end in 0..100usize,
            at in 0..100usize,
            word in any::<u64>(),
        ) {
            for at in [at, PAGE_BYTES - count - before_end] {
                let (cells, mut bytes) = page();
                store_few(&cells, at, word, count);
                bytes[at..at + count].copy_from_slice(&word.to_le_bytes()[..count]);
                prop_assert!(bytes_of(&cells) == bytes);
                if let Some(four) = bytes[at..].first_chunk().filter(|_| count >= 4) {
                    store_four(&cells, at, !u32::from_le_bytes(*four));
                    bytes[at..at + 4].iter_mut().for_each(|byte| *byte = !*byte);
                    prop_assert!(bytes_of(&cells) == bytes);
                }
                let few = load_few(&cells, at, count).to_le_bytes();
                prop_assert_eq!(&few[..count], &bytes[at..at + count]);
            }
        }
    }

    /// Whatever the place, nothing outside of the page is touched.
    #[test]
    fn a_place_beyond_the_page_is_one_in_it() {
        let (cells, bytes) = page();
        let last = word_at(&bytes, PAGE_BYTES - 8);
        for from in [PAGE_BYTES - 8, PAGE_BYTES - 7, PAGE_BYTES, usize::MAX] {
            assert_eq!(load(&cells, from), last);
            let mut copy = [0; 20];
            copy_out::<3>(&cells, from, &mut copy);
            store_few(&cells, from, last, 0);
            store(&cells, from, last);
        }
        assert!(bytes_of(&cells) == bytes);
    }
}
