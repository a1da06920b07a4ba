//! Copies by the instructions of a processor that loads and stores bytes from anywhere.

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod instructions;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod instructions;

use instructions::copy;
pub(super) use instructions::{load, store, store_four, store_one, store_two};

use super::{Cells, PIECE};

/// Copies a piece of one page to another, which may be the same, also where the pieces overlap.
///
/// # Safety
/// The pieces at `from` and at `to` are in their pages.
#[inline(always)]
pub(super) unsafe fn copy_piece(page: &Cells, from: usize, cells: &Cells, to: usize) {
    // SAFETY: as in a load and a store.
    unsafe { copy(page.as_ptr().cast::<u8>().add(from), cells.as_ptr().cast::<u8>().add(to)) }
}

/// # Safety
/// The piece at `from` is in the page.
#[inline(always)]
pub(super) unsafe fn load_piece(cells: &Cells, from: usize, piece: &mut [u8; PIECE]) {
    // SAFETY: as in a load.
    unsafe { copy(cells.as_ptr().cast::<u8>().add(from), piece.as_mut_ptr()) }
}

/// # Safety
/// The piece at `to` is in the page.
#[inline(always)]
pub(super) unsafe fn store_piece(cells: &Cells, to: usize, piece: &[u8; PIECE]) {
    // SAFETY: as in a store.
    unsafe { copy(piece.as_ptr(), cells.as_ptr().cast::<u8>().add(to)) }
}
