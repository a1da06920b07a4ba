//! Space of the data file: it gets more before a checkpoint needs more slots, and what it does not
//! need is given back. Slots at its end are cut off; others that are free lie in *holes* then,
//! until they are needed.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::{MutexGuard, PoisonError};

use super::map::PageMap;
use super::{DataFile, PageNumber, SLOT_BYTES, State};
use crate::error::{Error, Result};

/// The most slots by which the file becomes longer at a time, beyond those that are asked for. A
/// system may take half of a millisecond to set a mebibyte aside.
const MOST_AT_A_TIME: u64 = 64;

/// The most slots that the file has [ahead](DataFile::grow_ahead) of need.
const MOST_AHEAD: u64 = 256;

/// Of those, a sixteenth stays when space is given back: enough until there is more again.
const KEPT_OF_AHEAD: u64 = 16;

/// The most slots whose space is given back at a time.
const MOST_PUNCHED: u32 = 4096;

/// Free slots that are left alone after a checkpoint that the database makes by itself, beside
/// those ahead of need: more operations may be under way the next time.
const KEPT_UNNEEDED: u64 = 128;

/// The fewest slots that are worth it then, and the most: 1 and 64 MiB.
const LEAST_UNNEEDED: u64 = 64;
const MOST_UNNEEDED: u64 = 4096;

/// The fewest of them side by side: to set space aside again takes a call for each run.
const LEAST_RUN: usize = 8;

/// The most slots that are looked at before other threads may take and leave some.
const MOST_LOOKED_AT: u32 = 1 << 16;

/// How often that is done at most when space is given back. A system may take a tenth of a
/// millisecond for it, however few slots there are side by side.
const MOST_HOLES: usize = 1024;

/// The bytes of slots in the file.
fn bytes_of(slots: &Range<u32>) -> Range<u64> {
    let byte = |slot: u32| u64::from(slot) * SLOT_BYTES as u64;
    byte(slots.start)..byte(slots.end)
}

/// How much space is left beside what is [reserved](DataFile::reserve).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Enough,
    /// The file is to become longer [ahead of need](DataFile::grow_ahead).
    Little,
}

/// Whether the file can become longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    Open,
    /// It was [cut off](DataFile::shrink_to_used) for good.
    Final,
}

impl DataFile {
    /// Bytes of the file, those in holes too.
    pub(crate) fn length_bytes(&self) -> u64 {
        u64::from(self.state().slots.end()) * SLOT_BYTES as u64
    }

    /// Bytes that the file takes up.
    pub(crate) fn space_bytes(&self) -> u64 {
        self.state().slots.with_space() * SLOT_BYTES as u64
    }

    /// Slots that pages have left, and that the last checkpoint needs.
    pub(crate) fn released(&self) -> u64 {
        self.state().slots.released()
    }

    /// Bytes of slots in use.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.state().slots.used() * SLOT_BYTES as u64
    }

    /// Returns the bytes of slots in use that the next checkpoint still needs. While one is being
    /// written, a page that has changed has another slot, too, which this leaves out.
    pub(crate) fn live_bytes(&self) -> u64 {
        let state = self.state();
        (state.slots.used() - state.slots.released()) * SLOT_BYTES as u64
    }

    /// Makes sure that the next checkpoint that begins can be written if `pages` pages have changed
    /// by then. Of the pages that one is being written of, `images` have changed since it began:
    /// those without a slot need one for each of the two.
    ///
    /// # Errors
    /// `DiskFull`; `Closed` after the file was cut off for good.
    pub(crate) fn reserve(&self, pages: u64, images: u64) -> Result<Left> {
        let wanted =
            |state: &State| pages + images.min(state.unwritten_new_pages) + state.overhead(pages);
        let mut state = self.state();
        // A step of a checkpoint may take slots meanwhile.
        while state.slots.free_for_next() < wanted(&state) {
            drop(state);
            self.grow(|state| wanted(state).saturating_sub(state.slots.free_for_next()))?;
            state = self.state();
        }
        state.reserved = wanted(&state);
        Ok(if state.lacking_ahead() > state.ahead() / 2 { Left::Little } else { Left::Enough })
    }

    /// The same, without what a checkpoint that is being written will release.
    ///
    /// # Errors
    /// `DiskFull`; `Closed` after the file was cut off for good.
    pub(crate) fn reserve_anew(&self, pages: u64) -> Result<()> {
        self.grow(|state| (pages + state.overhead(pages)).saturating_sub(state.slots.free()))
    }

    /// Makes sure that there is space for `pages` pages: those that are written to other slots
    /// before the next checkpoint, which are `cleaned`, and those that it writes.
    ///
    /// # Errors
    /// `DiskFull`; `Closed` after the file was cut off for good.
    pub(crate) fn reserve_to_clean(&self, pages: u64, cleaned: &[PageNumber]) -> Result<()> {
        self.reserve_anew(pages + PageMap::nodes_of(cleaned))
    }

    /// Gets space before an operation would have to, which waits for that.
    ///
    /// # Errors
    /// `DiskFull`; what cannot be had is not needed yet.
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

    /// Begins a checkpoint of `pages` changed pages, for which it makes sure that there is space;
    /// `new_pages` of them have no slot yet. Until it [ends](Self::end_checkpoint), space can be
    /// reserved for the next one.
    ///
    /// # Errors
    /// `DiskFull`; `Closed` after the file was cut off for good.
    pub(crate) fn begin_checkpoint(&self, pages: u64, new_pages: u64) -> Result<()> {
        self.reserve_anew(pages)?;
        let mut state = self.state();
        state.slots.set_being_written(true);
        state.unwritten_new_pages = new_pages;
        Ok(())
    }

    /// A checkpoint is current, or it was given up: then what it has written still takes up space
    /// when the next one begins.
    pub(crate) fn end_checkpoint(&self) {
        let mut state = self.state();
        state.slots.set_being_written(false);
        state.unwritten_new_pages = 0;
    }

    /// Gets space until no slots are lacking.
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
        // Some more, so that it is seldom asked for; or as little as will do, if there is no more.
        let ample = least + (end / 8).min(MOST_AT_A_TIME);
        self.add_space(&growth, ample).or_else(|_| self.add_space(&growth, lacking().0))
    }

    /// Gets space for `slots` more slots: in holes, and then at the end of the file. Other threads
    /// read and write meanwhile.
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
        self.state().slots.extend(end);
        Ok(())
    }

    fn set_aside(&self, slots: &Range<u32>) -> Result<()> {
        let set_aside = self.file.preallocate(bytes_of(slots));
        set_aside.map_err(|error| Error::io("extend file data", &error))
    }

    fn lock_growth(&self) -> MutexGuard<'_, Growth> {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pages of tables whose slots are beyond those that would be enough for all. What is written
    /// from now on goes to the lowest slots that are free: there are no holes among these.
    ///
    /// # Errors
    /// `DiskFull` when there is no space for those.
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

    /// Has the nodes of the page map that lie beyond the slots that would be enough for all written
    /// elsewhere by the next checkpoint. Makes sure that there is space for a checkpoint of `pages`
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
        // Each of them, and those above it.
        let more = pages + 2 * nodes.len() as u64 + 1;
        self.grow(|state| (more + state.overhead(pages)).saturating_sub(state.slots.free()))?;
        let mut state = self.state();
        nodes
            .into_iter()
            .try_for_each(|(level, number)| state.map.rewrite(&*self.file, level, number))
    }

    /// Lets what is written from now on go to the lowest slots that are free.
    pub(crate) fn rewind(&self) {
        self.state().slots.rewind();
    }

    /// Gives all slots after the last one in use back, and the space of others that are free, for
    /// good: nothing is written after that.
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
    /// The caller keeps others from [reserving](Self::reserve) more meanwhile.
    pub(crate) fn reserve_only(&self, pages: u64) {
        let mut state = self.state();
        state.reserved = state.needed(pages);
    }

    /// Gives the space of free slots back, other than what is reserved, and a little to be ahead of
    /// need; of the longest runs of them if there are many. What the system cannot take stays.
    /// Others get space meanwhile.
    pub(crate) fn give_back(&self) {
        self.give_back_but(1, |state| state.reserved + state.ahead() / KEPT_OF_AHEAD);
    }

    /// Returns how many slots nothing needed between the last two checkpoints, nor while the last
    /// one was written, and are [worth giving back](Self::give_back_some): half of them at a time.
    /// Returns 0 when called again before the next checkpoint.
    pub(crate) fn take_unneeded(&self) -> u64 {
        let mut state = self.state();
        let kept = state.ahead() + KEPT_UNNEEDED;
        let unneeded = state.slots.take_unneeded().saturating_sub(kept) / 2;
        if unneeded < LEAST_UNNEEDED { 0 } else { unneeded.min(MOST_UNNEEDED) }
    }

    /// Gives the space of up to `most` free slots back, of the longest runs of them, but none that
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

    /// Looks at some slots at a time: other threads wait no longer in a large file.
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

    /// Gives the space of free slots back, other than of those that are kept; whether there may be
    /// more that can be given back.
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
            // It may be done in part. It is set aside again before it is used.
            Err(_) => false,
        }
    }

    /// Gives the slots after the last one in use back, other than what a checkpoint of `pages`
    /// changed pages needs.
    pub(crate) fn shrink(&self, pages: u64) -> Result<()> {
        let growth = self.lock_growth();
        let mut state = self.state();
        let (last, end) = (state.slots.last_used(), state.slots.end());
        let before_last = state.slots.free_before(last);
        let kept =
            state.needed(pages).saturating_sub(before_last).min(u64::from(end - last)) as u32;
        self.cut(&growth, &mut state, last + kept)
    }

    /// Cuts the file off before the slot `end`, unless it is shorter.
    fn cut(&self, _: &MutexGuard<'_, Growth>, state: &mut State, end: u32) -> Result<()> {
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
    /// Free slots that there are to be beside those that are reserved.
    fn ahead(&self) -> u64 {
        (self.slots.with_space() / 8).min(MOST_AHEAD)
    }

    /// Those of them that there are not.
    fn lacking_ahead(&self) -> u64 {
        (self.reserved + self.ahead()).saturating_sub(self.slots.free_for_next())
    }

    /// Slots that a checkpoint of `pages` changed pages needs, if the catalogue changes too.
    fn needed(&self, pages: u64) -> u64 {
        let pages = pages + u64::from(self.catalogue_pages);
        pages + self.overhead(pages)
    }

    /// Slots that a checkpoint of `pages` changed pages needs beside those of the pages.
    fn overhead(&self, pages: u64) -> u64 {
        // A new table changes pages, and its definition takes up a small part of one.
        let growth = 2 + (pages / 8).min(6);
        let catalogue = u64::from(self.catalogue_pages) * 9 / 8 + growth;
        // Bits of slots that the file gets for these pages.
        let bits = 2 * pages / (8 * SLOT_BYTES as u64);
        self.map.most_changed(pages) + catalogue + bits
    }
}
