//! Space of the data file: the file gets more before a checkpoint needs more slots, and gives back
//! what it does not need. Slots at its end are cut off; other free ones become *holes*, until they
//! are needed.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::{MutexGuard, PoisonError};

use super::map::PageMap;
use super::{DataFile, PageNumber, SLOT_BYTES, State};
use crate::error::{Error, Result};

/// The most slots by which the file becomes longer at a time, beyond those asked for. A system may
/// take half of a millisecond to set a mebibyte aside.
const MOST_AT_A_TIME: u64 = 64;

/// The most slots that the file has [ahead](DataFile::grow_ahead) of need.
const MOST_AHEAD: u64 = 256;

/// The part of those that stays when space is given back: a sixteenth, enough until the file
/// grows again.
const KEPT_OF_AHEAD: u64 = 16;

/// The most slots whose space is given back at a time.
const MOST_PUNCHED: u32 = 4096;

/// Free slots that are left alone after a checkpoint that the database makes by itself, besides
/// those ahead of need: more operations may be in progress the next time.
const KEPT_UNNEEDED: u64 = 128;

/// The fewest slots that are worth giving back then, and the most: 1 and 64 MiB.
const LEAST_UNNEEDED: u64 = 64;
const MOST_UNNEEDED: u64 = 4096;

/// The fewest of them in a run: to set space aside again takes a call for each run.
const LEAST_RUN: usize = 8;

/// The most slots searched before other threads may take and release some.
const MOST_LOOKED_AT: u32 = 1 << 16;

/// The most holes made each time that space is given back. A system may take a tenth of a
/// millisecond for one, however few slots it has.
const MOST_HOLES: usize = 1024;

/// Returns the bytes of slots in the file.
fn bytes_of(slots: &Range<u32>) -> Range<u64> {
    let byte = |slot: u32| u64::from(slot) * SLOT_BYTES as u64;
    byte(slots.start)..byte(slots.end)
}

/// The space left besides the [reserved](DataFile::reserve) slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Enough,
    /// Little enough that the file is to become longer [ahead of need](DataFile::grow_ahead).
    Little,
}

/// The state of the file's length: if it can become longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    Open,
    /// The file was [cut off](DataFile::shrink_to_used) for good.
    Final,
}

impl DataFile {
    /// Returns the bytes of the file, those in holes too.
    pub(crate) fn length_bytes(&self) -> u64 {
        u64::from(self.state().slots.end()) * SLOT_BYTES as u64
    }

    /// Returns the bytes that the file takes up.
    pub(crate) fn space_bytes(&self) -> u64 {
        self.state().slots.with_space() * SLOT_BYTES as u64
    }

    /// Returns the number of slots that pages have left, and that the next checkpoint frees.
    pub(crate) fn released(&self) -> u64 {
        self.state().slots.freed_next()
    }

    /// Returns the bytes of slots that only a kept checkpoint needs.
    pub(crate) fn only_kept_bytes(&self) -> u64 {
        self.state().slots.only_kept() * SLOT_BYTES as u64
    }

    /// Returns the bytes of slots in use.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.state().slots.used() * SLOT_BYTES as u64
    }

    /// Returns the bytes of slots in use that the next checkpoint still needs. While one is being
    /// written, a page that has changed has another slot, too, which this leaves out.
    pub(crate) fn live_bytes(&self) -> u64 {
        let state = self.state();
        // A forged page map may give up a slot twice.
        let given_up = state.slots.released() + state.slots.only_kept();
        state.slots.used().saturating_sub(given_up) * SLOT_BYTES as u64
    }

    /// Makes sure that the next checkpoint to start can be written if `pages` pages have changed by
    /// then. Of the pages of the checkpoint in progress, `images` have changed since it started:
    /// those without a slot need one for each of the two.
    ///
    /// # Errors
    /// `DiskFull`; `Closed` after the file was cut off for good.
    pub(crate) fn reserve(&self, pages: u64, images: u64) -> Result<Left> {
        let wanted = |state: &State| {
            let overhead = state.overhead(pages);
            // The one in progress frees no slot of a kept checkpoint: it takes all of its own.
            if state.slots.is_keeping() {
                pages + images + 2 * overhead
            } else {
                pages + images.min(state.unwritten_new_pages) + overhead
            }
        };
        let mut state = self.state();
        // A step of a checkpoint may take slots at the same time.
        while state.slots.free_for_next() < wanted(&state) {
            drop(state);
            self.grow(|state| wanted(state).saturating_sub(state.slots.free_for_next()))?;
            state = self.state();
        }
        state.reserved = wanted(&state);
        debug_assert!(state.reserved >= pages, "each changed page has a slot reserved");
        Ok(if state.lacking_ahead() > state.ahead() / 2 { Left::Little } else { Left::Enough })
    }

    /// Returns true if a checkpoint of `pages` pages finds space without a longer file.
    pub(crate) fn has_room(&self, pages: u64) -> bool {
        let state = self.state();
        pages + state.overhead(pages) <= state.slots.free_for_next()
    }

    /// Makes sure of space, without the slots that a checkpoint in progress will release.
    ///
    /// # Errors
    /// `DiskFull`; `Closed` after the file was cut off for good.
    pub(crate) fn reserve_anew(&self, pages: u64) -> Result<()> {
        self.grow(|state| (pages + state.overhead(pages)).saturating_sub(state.slots.free()))
    }

    /// Makes sure of space for a catalogue of some bytes, the bits of used slots, and the page map.
    ///
    /// # Errors
    /// `DiskFull`; `Closed` after the file was cut off for good.
    pub(crate) fn reserve_for_catalogue(&self, catalogue_bytes: usize) -> Result<()> {
        self.grow(|state| {
            let bytes = catalogue_bytes + state.slots.bitmap_bytes();
            let pages = (bytes.div_ceil(SLOT_BYTES) + 2) as u64;
            (2 * pages + state.overhead(pages)).saturating_sub(state.slots.free())
        })
    }

    /// Makes sure that there is space for `pages` pages: those that are written to other slots
    /// before the next checkpoint, which are `cleaned`, and those that it writes.
    ///
    /// # Errors
    /// `DiskFull`; `Closed` after the file was cut off for good.
    pub(crate) fn reserve_to_clean(&self, pages: u64, cleaned: &[PageNumber]) -> Result<()> {
        self.reserve_anew(pages + PageMap::slots_of(cleaned))
    }

    /// Gets space ahead of need, so that no operation has to wait for it.
    ///
    /// # Errors
    /// `DiskFull`; space that is missing then is not needed yet.
    pub(crate) fn grow_ahead(&self) -> Result<()> {
        loop {
            let growth = self.lock_growth();
            let lacking = self.state().lacking_ahead();
            if lacking == 0 {
                return Ok(());
            }
            self.add_space(&growth, lacking.min(MOST_AT_A_TIME))?;
        }
    }

    /// Starts a checkpoint of `pages` changed pages, for which it makes sure that there is space;
    /// `new_pages` of them have no slot yet. Until it [ends](Self::end_checkpoint), space can be
    /// reserved for the next one.
    ///
    /// # Errors
    /// `DiskFull`; `Closed` after the file was cut off for good.
    pub(crate) fn begin_checkpoint(&self, pages: u64, new_pages: u64) -> Result<()> {
        debug_assert!(new_pages <= pages, "new pages are some of those that have changed");
        self.look_at_readers();
        self.reserve_anew(pages)?;
        let mut state = self.state();
        state.slots.set_being_written(true);
        state.unwritten_new_pages = new_pages;
        Ok(())
    }

    /// Ends a checkpoint that is current, or was given up: then the slots that it has written still
    /// take up space when the next one starts.
    pub(crate) fn end_checkpoint(&self) {
        let mut state = self.state();
        state.slots.set_being_written(false);
        state.unwritten_new_pages = 0;
    }

    /// Gets space until `lacking` returns 0.
    fn grow(&self, lacking: impl Fn(&State) -> u64) -> Result<()> {
        let growth = self.lock_growth();
        let lacking = || {
            let state = self.state();
            (lacking(&state), u64::from(state.slots.end()))
        };
        let (least, end) = lacking();
        if least == 0 {
            return Ok(());
        }
        // Some more, so that growth is rare; or as little as will do, if the disk has no more.
        let ample = least + (end / 8).min(MOST_AT_A_TIME);
        let grown = self.add_space(&growth, ample);
        let grown = grown.or_else(|_| self.add_space(&growth, lacking().0));
        match grown {
            // The writer goes before readers.
            Err(Error::DiskFull { .. }) if self.expire_readers() => {
                self.add_space(&growth, lacking().0)
            }
            other => other,
        }
    }

    /// Gets space for `slots` more slots: in holes, and then at the end of the file. Other threads
    /// read and write at the same time.
    fn add_space(&self, growth: &Growth, slots: u64) -> Result<()> {
        if *growth == Growth::Final {
            return Err(Error::Closed);
        }
        let mut lacking = slots;
        while lacking > 0 {
            let most = u32::try_from(lacking).unwrap_or(u32::MAX);
            let Some(holes) = self.state().slots.first_holes(most) else {
                return self.lengthen(lacking);
            };
            self.set_aside(&holes)?;
            debug_assert!((1..=lacking).contains(&(holes.len() as u64)), "holes are some slots");
            lacking -= holes.len() as u64;
            self.state().slots.end_holes(holes);
        }
        Ok(())
    }

    /// Makes the file longer.
    fn lengthen(&self, slots: u64) -> Result<()> {
        let before = self.state().slots.end();
        let most_bytes = (1 << 32) * SLOT_BYTES as u64;
        let end = u32::try_from(u64::from(before) + slots);
        let end = end.map_err(|_| Error::DatabaseFull { most_bytes })?;
        self.set_aside(&(before..end))?;
        let slots = &mut self.state().slots;
        assert_eq!(slots.end(), before, "one thread at a time makes the file longer");
        slots.extend(end);
        Ok(())
    }

    fn set_aside(&self, slots: &Range<u32>) -> Result<()> {
        let set_aside = self.file.preallocate(bytes_of(slots));
        set_aside.map_err(|error| Error::io("extend file data", &error))
    }

    fn lock_growth(&self) -> MutexGuard<'_, Growth> {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the pages of tables whose slots are beyond those that would be enough for all. Later
    /// writes go to the lowest free slots, which have no holes among them.
    ///
    /// # Errors
    /// `DiskFull` if there is no space for those.
    pub(crate) fn pages_beyond_need(&self) -> Result<Vec<PageNumber>> {
        self.fill_holes_within_need()?;
        let mut state = self.state();
        let State { map, slots, .. } = &mut *state;
        let enough = slots.enough();
        slots.rewind();
        let mut pages = map.pages(&*self.file)?;
        let first = PageNumber::FIRST_OF_TABLES;
        pages.retain(|(page, slot)| *page >= first && u64::from(slot.0) >= enough);
        Ok(pages.into_iter().map(|(page, _)| page).collect())
    }

    fn fill_holes_within_need(&self) -> Result<()> {
        let _growth = self.lock_growth();
        loop {
            let state = self.state();
            let enough = state.slots.enough();
            let found = state.slots.first_holes(MOST_AT_A_TIME as u32);
            drop(state);
            let Some(holes) = found.filter(|holes| u64::from(holes.start) < enough) else {
                return Ok(());
            };
            self.set_aside(&holes)?;
            self.state().slots.end_holes(holes);
        }
    }

    /// Has the next checkpoint write the nodes of the page map elsewhere that are beyond the slots
    /// that would be enough for all. Makes sure that there is space for a checkpoint of `pages`
    /// changed pages with them.
    ///
    /// # Errors
    /// `DiskFull`; then no node is concerned.
    pub(crate) fn rewrite_map_beyond_need(&self, pages: u64) -> Result<()> {
        let mut state = self.state();
        let enough = state.slots.enough();
        state.slots.rewind();
        let nodes = state.map.nodes_beyond(&*self.file, enough)?;
        drop(state);
        // Each of them, and those above it, twice.
        let more = pages + 4 * nodes.len() as u64 + 2;
        self.grow(|state| (more + state.overhead(pages)).saturating_sub(state.slots.free()))?;
        let mut state = self.state();
        nodes
            .into_iter()
            .try_for_each(|(level, number)| state.map.rewrite(&*self.file, level, number))
    }

    /// Lets later writes go to the lowest free slots.
    pub(crate) fn rewind(&self) {
        self.state().slots.rewind();
    }

    /// Gives back, for good, all slots after the last one in use and the space of other free ones:
    /// nothing is written after that.
    pub(crate) fn shrink_to_used(&self) -> Result<()> {
        let mut growth = self.lock_growth();
        *growth = Growth::Final;
        let mut state = self.state();
        let last = state.slots.last_used();
        self.cut(&growth, &mut state, last)?;
        drop(state);
        let runs = self.longest_free_runs();
        let _ = runs.into_iter().all(|slots| self.begin_hole(&growth, slots, |_| 0));
        Ok(())
    }

    /// Reserves slots for a checkpoint of `pages` changed pages, and for no more.
    ///
    /// The caller keeps others from [reserving](Self::reserve) more at the same time.
    pub(crate) fn reserve_only(&self, pages: u64) {
        let mut state = self.state();
        state.reserved = state.needed(pages);
    }

    /// Gives back the space of free slots, except the reserved ones and a few ahead of need; if
    /// there are many runs, of the longest. Space that the system cannot take stays. Others get
    /// space at the same time.
    pub(crate) fn give_back(&self) {
        self.give_back_but(1, |state| state.reserved + state.ahead() / KEPT_OF_AHEAD);
    }

    /// Returns the number of slots that are [worth giving back](Self::give_back_some), half of them
    /// at a time. Nothing needed them between the last two checkpoints, nor while the last one was
    /// written. Returns 0 when called again before the next checkpoint.
    pub(crate) fn take_unneeded(&self) -> u64 {
        let mut state = self.state();
        let kept = state.ahead() + KEPT_UNNEEDED;
        let unneeded = state.slots.take_unneeded().saturating_sub(kept) / 2;
        if unneeded < LEAST_UNNEEDED { 0 } else { unneeded.min(MOST_UNNEEDED) }
    }

    /// Gives back the space of up to `most` free slots, of the longest runs of them, but none that
    /// is reserved or ahead of need.
    pub(crate) fn give_back_some(&self, most: u64) {
        let left = self.state().slots.free().saturating_sub(most);
        self.give_back_but(LEAST_RUN, |state| left.max(state.reserved + state.ahead()));
    }

    fn give_back_but(&self, least_run: usize, kept: impl Fn(&State) -> u64) {
        let runs = self.longest_free_runs().into_iter();
        for slots in runs.take_while(|slots| slots.len() >= least_run) {
            if !self.begin_hole(&self.lock_growth(), slots, &kept) {
                return;
            }
        }
    }

    /// Returns the longest runs of free slots. Unlocks often, so that other threads wait less.
    fn longest_free_runs(&self) -> Vec<Range<u32>> {
        let mut runs = Vec::new();
        let mut from = 0u32;
        while u64::from(from) * (SLOT_BYTES as u64) < self.length_bytes() {
            let to = from.saturating_add(MOST_LOOKED_AT);
            runs.extend(self.state().slots.free_runs(from..to, MOST_PUNCHED));
            runs.sort_by_key(|slots| Reverse(slots.len()));
            runs.truncate(MOST_HOLES);
            from = to;
        }
        runs
    }

    /// Gives back the space of free slots, except of `kept` ones; returns true if there may be more
    /// to give back.
    fn begin_hole(&self, _: &Growth, slots: Range<u32>, kept: impl Fn(&State) -> u64) -> bool {
        let mut state = self.state();
        let most = state.slots.free().saturating_sub(kept(&state)).min(slots.len() as u64);
        let slots = slots.end - most as u32..slots.end;
        if slots.is_empty() {
            return false;
        }
        if !state.slots.are_free(&slots) {
            return true;
        }
        // Before it is so: no page may be written there.
        state.slots.begin_holes(slots.clone());
        drop(state);
        match self.file.punch(bytes_of(&slots)) {
            Ok(true) => true,
            Ok(false) => {
                self.state().slots.end_holes(slots);
                false
            }
            // The hole may be made in part. The space is set aside again before it is used.
            Err(_) => false,
        }
    }

    /// Gives back the slots after the last one in use, except those that a checkpoint of `pages`
    /// changed pages needs.
    pub(crate) fn shrink(&self, pages: u64) -> Result<()> {
        let growth = self.lock_growth();
        let mut state = self.state();
        let last = state.slots.last_used();
        let end = state.slots.end();
        let before_last = state.slots.free_before(last);
        let kept =
            state.needed(pages).saturating_sub(before_last).min(u64::from(end - last)) as u32;
        self.cut(&growth, &mut state, last + kept)
    }

    /// Cuts the file off before the slot `end`, unless it is shorter.
    fn cut(&self, _: &MutexGuard<'_, Growth>, state: &mut State, end: u32) -> Result<()> {
        assert!(end >= state.slots.last_used(), "used slots are not cut off");
        if end < state.slots.end() {
            self.file
                .set_size(u64::from(end) * SLOT_BYTES as u64)
                .map_err(|error| Error::io("shorten file data", &error))?;
            state.slots.truncate(end);
            state.reserved = 0;
        }
        Ok(())
    }
}

impl State {
    /// Returns the number of free slots to have besides the reserved ones.
    fn ahead(&self) -> u64 {
        (self.slots.with_space() / 8).min(MOST_AHEAD)
    }

    /// Returns the number of slots ahead of need that are missing.
    fn lacking_ahead(&self) -> u64 {
        (self.reserved + self.ahead()).saturating_sub(self.slots.free_for_next())
    }

    /// Returns the slots that a checkpoint of `pages` pages needs, if the catalogue changes too.
    fn needed(&self, pages: u64) -> u64 {
        let pages = pages + 2 * u64::from(self.catalogue_pages);
        pages + self.overhead(pages)
    }

    /// Returns the slots that a checkpoint of `pages` pages needs besides those of the pages.
    fn overhead(&self, pages: u64) -> u64 {
        // A new table changes pages, and its definition takes up a small part of one.
        let growth = 1 + (pages / 16).min(3);
        let catalogue = u64::from(self.catalogue_pages) * 9 / 8 + growth;
        // Bits of slots that the file gets for these pages.
        let bits = 2 * pages / (8 * SLOT_BYTES as u64);
        self.map.most_slots(pages) + 2 * (catalogue + bits)
    }
}
