//! Records longer than a page: pieces that fill whole pages, and a *head* among the other records.
//! The head has the record's length, the pages of its pieces, and the rest of its bytes.

use super::page;
use crate::error::{Error, Result};
use crate::pager::{Latched, PAGE_BYTES, PageNumber, PageRef, Pager, Space};

/// The offset of a piece's bytes in its page.
pub(super) const PIECE_FROM: usize = 8;

/// Bytes of a piece: all of a page after that.
const PIECE_BYTES: usize = PAGE_BYTES - PIECE_FROM;

const NUMBER: usize = size_of::<PageNumber>();

/// The division of a long record into pieces and a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Bytes of the record.
    pub size: usize,
    /// Pages of its pieces.
    pub pieces: usize,
    /// Bytes that the head has.
    pub rest: usize,
}

impl Cut {
    /// Returns the cut of a record of this size; `None` if it fits in a page with others.
    pub(super) fn of(size: usize) -> Option<Self> {
        if size <= page::MOST_BYTES {
            return None;
        }
        let pieces = size / PIECE_BYTES;
        let rest = size % PIECE_BYTES;
        Some(if NUMBER * (1 + pieces) + rest <= page::MOST_BYTES {
            Self { size, pieces, rest }
        } else {
            Self { size, pieces: pieces + 1, rest: 0 }
        })
    }

    /// Returns the cut that a head has.
    pub(super) fn of_head(head: &[u8]) -> Option<Self> {
        let size = u32::from_le_bytes(*head.first_chunk()?) as usize;
        Self::of(size).filter(|cut| cut.head_size() == head.len())
    }

    /// Returns the bytes of the head.
    pub(super) fn head_size(self) -> usize {
        NUMBER * (1 + self.pieces) + self.rest
    }

    /// Returns the range of the record's bytes that a piece has.
    pub(super) fn piece(self, at: usize) -> std::ops::Range<usize> {
        debug_assert!(at < self.pieces, "the record has {} pieces", self.pieces);
        at * PIECE_BYTES..((at + 1) * PIECE_BYTES).min(self.size - self.rest)
    }
}

/// Returns the number of whole pages that a payload of this size takes up.
pub(crate) fn pages_for(size: usize) -> u64 {
    Cut::of(size).map_or(0, |cut| cut.pieces as u64)
}

/// Returns the pages that a head names.
pub(super) fn pages_of(head: &[u8], cut: Cut) -> impl Iterator<Item = PageNumber> {
    let numbers = head[NUMBER..NUMBER * (1 + cut.pieces)].as_chunks::<NUMBER>().0;
    numbers.iter().map(|number| PageNumber::new(u32::from_le_bytes(*number)))
}

/// Returns the part of the record that its head has.
pub(super) fn rest_of(head: &[u8], cut: Cut) -> &[u8] {
    &head[NUMBER * (1 + cut.pieces)..]
}

/// Reads a piece, from one of its bytes on; returns false if the page is not a piece.
pub(super) fn read_piece(words: PageRef<'_>, from: usize, bytes: &mut [u8]) -> bool {
    words.read(PIECE_FROM + from, bytes);
    words.get(0) == page::PIECE
}

/// Pages that hold the pieces of a record, still latched, and its head.
pub(super) struct Written<'p> {
    pub pages: Vec<Latched<'p>>,
    pub head: Vec<u8>,
}

impl<'p> Written<'p> {
    /// Writes the pieces of a record.
    pub(super) fn new(pager: &'p Pager, space: &Space, cut: Cut, record: &[u8]) -> Result<Self> {
        debug_assert_eq!(record.len(), cut.size, "the cut is that of the record");
        debug_assert!(cut.head_size() <= page::MOST_BYTES, "a head fits in a page");
        let mut head = Vec::with_capacity(cut.head_size());
        head.extend((cut.size as u32).to_le_bytes());
        let mut written = Self { pages: Vec::with_capacity(cut.pieces), head };
        for at in 0..cut.pieces {
            match pager.allocate(space) {
                Ok(page) => written.pages.push(page),
                Err(error) => {
                    written.free(pager, space);
                    return Err(error);
                }
            }
            let own = &mut written.pages[at];
            let mut words = own.first_content();
            words.set(0, page::PIECE);
            words.write(PIECE_FROM, &record[cut.piece(at)]);
            let number = own.page().get().to_le_bytes();
            written.head.extend(number);
        }
        written.head.extend(&record[cut.size - cut.rest..]);
        debug_assert_eq!(written.head.len(), cut.head_size(), "a head has the rest of the record");
        debug_assert_eq!(written.pages.len(), cut.pieces, "each piece has a page");
        Ok(written)
    }

    /// Gives the pages back.
    pub(super) fn free(self, pager: &Pager, space: &Space) {
        self.pages.into_iter().for_each(|page| page.free(space, pager.epoch()));
    }
}

/// Returns the error of a head that says what no head can.
pub(super) fn wrong_head(page: PageNumber) -> Error {
    Error::corrupt(format!("page {page}"), "the head of a long record makes no sense")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::MOST_RECORD_BYTES;

    #[test]
    fn pieces_and_rest_are_the_whole_and_the_head_fits_in_a_page() {
        let sizes = (page::MOST_BYTES - 10..page::MOST_BYTES + 10)
            .chain((1..=64).flat_map(|pieces| {
                let whole = pieces * PIECE_BYTES;
                whole.saturating_sub(600)..whole + 20
            }))
            .chain([MOST_RECORD_BYTES - 1, MOST_RECORD_BYTES]);
        for size in sizes {
            let Some(cut) = Cut::of(size) else {
                assert!(size <= page::MOST_BYTES);
                continue;
            };
            let sum: usize = (0..cut.pieces).map(|at| cut.piece(at).len()).sum();
            assert_eq!(sum + cut.rest, size);
            assert!((0..cut.pieces).all(|at| (1..=PIECE_BYTES).contains(&cut.piece(at).len())));
            assert!(cut.head_size() <= page::MOST_BYTES, "{size}");
        }
    }
}
