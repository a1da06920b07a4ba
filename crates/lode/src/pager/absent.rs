//! Pages that are not in memory, or about to leave it: how they come and go.
//!
//! A page that could leave is marked first, in its word. It leaves only if no thread has looked at
//! it when the clock's hand comes round again. (The idea of cooling pages: Leis, Haubenschild,
//! Kemper, Neumann: LeanStore, ICDE 2018, section III-B.) So a look at a page in use costs nothing.

use std::sync::atomic::{AtomicU64, Ordering};

use super::page::PageMut;
use super::{
    COOL, DIRTY, FREE, FrameNumber, LATCH, PAGE_BYTES, PRESENT, PageNumber, Pager, VERSION,
};
use crate::error::{Error, Result};

/// Looks of a reader at a latched page before it lets other threads run.
const SPINS: u32 = 64;

impl Pager {
    /// Returns the word of a page once it is in memory, and is not latched.
    #[cold]
    pub(super) fn bring(&self, page: PageNumber) -> Result<u64> {
        let nowhere =
            |why| Err::<u64, _>(Error::corrupt(format!("page {page}"), format!("there is {why}")));
        if !self.is_of_table(page) {
            return nowhere("no such number");
        }
        let [cell, _] = self.entry(page);
        loop {
            let word = wait_for_latch(cell);
            if word & PRESENT != 0 {
                let warm = word & !COOL;
                let warmed = cell.compare_exchange(word, warm, Ordering::AcqRel, Ordering::Relaxed);
                if word == warm || warmed.is_ok() {
                    return Ok(warm);
                }
                continue;
            }
            if word & FREE != 0 || self.data.is_none() {
                return nowhere("none in use");
            }
            self.fetch(page, word)?;
        }
    }

    /// Returns true if a number can be that of a table's page.
    pub(super) fn is_of_table(&self, page: PageNumber) -> bool {
        page >= super::FIRST_TABLE_PAGE && page.index() < self.entries.count() / 2
    }

    /// Reads an absent page from the data file, unless another thread does.
    fn fetch(&self, page: PageNumber, word: u64) -> Result<()> {
        let Some(data) = &self.data else { return Ok(()) };
        debug_assert!(word & (LATCH | PRESENT | FREE | DIRTY) == 0, "page {page} is absent");
        let [cell, _] = self.entry(page);
        let frame = self.take_frame()?.number;
        let latched = word | LATCH;
        if cell.compare_exchange(word, latched, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            self.pool.give(frame);
            return Ok(());
        }
        let mut bytes = vec![0; PAGE_BYTES];
        if let Err(error) = data.load(page, &mut bytes) {
            cell.store(word, Ordering::Release);
            self.pool.give(frame);
            return Err(error);
        }
        std::sync::atomic::fence(Ordering::Release);
        PageMut::new(self.frames.words(frame)).copy_in(&bytes);
        debug_assert_eq!(cell.load(Ordering::Relaxed), latched, "only its latch was changed");
        self.pool.own(frame, page);
        let word = (word & !(VERSION - 1)).wrapping_add(VERSION);
        cell.store(word | frame.word() | PRESENT, Ordering::Release);
        Ok(())
    }

    /// Latches a page that is not in memory; returns its word without the latch.
    pub(super) fn latch_absent(&self, page: PageNumber) -> u64 {
        let [cell, _] = self.entry(page);
        loop {
            // A thread with an old number may find out here that the page does not exist.
            let word = wait_for_latch(cell);
            let latched = word | LATCH;
            if cell.compare_exchange(word, latched, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                return word;
            }
        }
    }

    /// Takes the frame from a page that has not changed since it was written out, and that no
    /// thread has looked at for a while; looks at `most_steps` frames. Three times the number of
    /// frames will do: one round to mark pages, one more to find them still marked, and some more
    /// for pages that other threads look at.
    pub(super) fn evict(&self, most_steps: u64) -> Option<FrameNumber> {
        debug_assert!(self.data.is_some(), "a page leaves memory only if a file has it");
        for _ in 0..most_steps {
            let (frame, page) = self.pool.advance()?;
            let [cell, _] = self.entry(page);
            let word = cell.load(Ordering::Relaxed);
            let wanted =
                word & (LATCH | PRESENT | DIRTY) == PRESENT && FrameNumber::of_word(word) == frame;
            if !wanted {
                continue;
            }
            if word & COOL == 0 {
                let cool = word | COOL;
                let _ = cell.compare_exchange(word, cool, Ordering::Relaxed, Ordering::Relaxed);
                continue;
            }
            let gone = (word & !(VERSION - 1)).wrapping_add(VERSION);
            if cell.compare_exchange(word, gone, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                debug_assert!(self.is_of_table(page), "frame {frame:?} held page {page}");
                // A thread that does not see the new word does not see later stores to the frame.
                std::sync::atomic::fence(Ordering::Release);
                self.evicted.add(|| 1);
                return Some(frame);
            }
        }
        None
    }
}

pub(super) fn wait_for_latch(cell: &AtomicU64) -> u64 {
    let mut spins = 0;
    loop {
        let word = cell.load(Ordering::Acquire);
        if word & LATCH == 0 {
            return word;
        }
        spins += 1;
        if spins < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}
