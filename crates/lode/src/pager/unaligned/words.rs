//! Loads and stores by the words that hold the bytes, without assembly: elsewhere, and in tests.

use std::sync::atomic::Ordering;

use super::{Cells, PIECE};

pub(super) fn load(cells: &Cells, from: usize) -> u64 {
    let at = from / 8;
    let shift = from % 8 * 8;
    let low = cells[at].load(Ordering::Relaxed) >> shift;
    match shift {
        0 => low,
        _ => low | cells[at + 1].load(Ordering::Relaxed) << (64 - shift),
    }
}

/// Stores those bits of a number that are in a mask, at a place.
fn store_bits(cells: &Cells, to: usize, number: u64, mask: u64) {
    let at = to / 8;
    let shift = to % 8 * 8;
    let put = |at: usize, number: u64, mask: u64| {
        let beside = cells[at].load(Ordering::Relaxed) & !mask;
        cells[at].store(beside | number & mask, Ordering::Relaxed);
    };
    put(at, number << shift, mask << shift);
    if shift > 0 && mask >> (64 - shift) != 0 {
        put(at + 1, number >> (64 - shift), mask >> (64 - shift));
    }
}

pub(super) fn store(cells: &Cells, to: usize, number: u64) {
    if to.is_multiple_of(8) {
        cells[to / 8].store(number, Ordering::Relaxed)
    } else {
        store_bits(cells, to, number, u64::MAX)
    }
}

pub(super) fn store_four(cells: &Cells, to: usize, number: u32) {
    store_bits(cells, to, number.into(), u32::MAX.into());
}

pub(super) fn store_two(cells: &Cells, to: usize, number: u16) {
    store_bits(cells, to, number.into(), u16::MAX.into());
}

pub(super) fn store_one(cells: &Cells, to: usize, number: u8) {
    store_bits(cells, to, number.into(), u8::MAX.into());
}

/// Copies a piece of one page to another, which may be the same, also where the pieces overlap.
pub(super) fn copy_piece(page: &Cells, from: usize, cells: &Cells, to: usize) {
    let mut piece = [0; PIECE];
    load_piece(page, from, &mut piece);
    store_piece(cells, to, &piece);
}

pub(super) fn load_piece(cells: &Cells, from: usize, piece: &mut [u8; PIECE]) {
    for (part, bytes) in piece.as_chunks_mut().0.iter_mut().enumerate() {
        *bytes = load(cells, from + part * 8).to_le_bytes();
    }
}

pub(super) fn store_piece(cells: &Cells, to: usize, piece: &[u8; PIECE]) {
    for (part, bytes) in piece.as_chunks().0.iter().enumerate() {
        store(cells, to + part * 8, u64::from_le_bytes(*bytes));
    }
}
