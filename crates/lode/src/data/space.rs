//! Space of the data file: it becomes longer before a checkpoint needs more slots, and slots at its
//! end are given back.

use std::sync::{MutexGuard, PoisonError};

use super::map::PageMap;
use super::{DataFile, PageNumber, SLOT_BYTES, State};
use crate::error::{Error, Result};

/// The most slots by which the file becomes longer at a time, beyond those that are asked for. A
/// system may take half of a millisecond to set a mebibyte aside.
const MOST_AT_A_TIME: u64 = 64;

/// The most slots that the file has [ahead](DataFile::grow_ahead) of need.
const MOST_AHEAD: u64 = 256;

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
    /// Bytes of the file.
    pub(crate) fn size_bytes(&self) -> u64 {
        u64::from(self.state().slots.end()) * SLOT_BYTES as u64
    }

    /// Slots that pages have left, and that the last checkpoint needs.
    pub(crate) fn released(&self) -> u64 {
        self.state().slots.released()
    }

    /// Bytes of slots in use.
    pub(crate) fn used_bytes(&self) -> u64 {
        let slots = &self.state().slots;
        (u64::from(slots.end()) - slots.free()) * SLOT_BYTES as u64
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

    /// Makes the file longer before an operation would have to, which waits for that.
    ///
    /// # Errors
    /// `DiskFull`; what cannot be had is not needed yet.
    pub(crate) fn grow_ahead(&self) -> Result<()> {
        loop {
            let growth = self.lock_growth();
            let state = self.state();
            let (end, lacking) = (state.slots.end(), state.lacking_ahead());
            drop(state);
            if lacking == 0 {
                return Ok(());
            }
            self.lengthen(&growth, end, lacking.min(MOST_AT_A_TIME))?;
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

    /// Makes the file longer until no slots are lacking.
    fn grow(&self, lacking: impl Fn(&State) -> u64) -> Result<()> {
        let growth = self.lock_growth();
        let state = self.state();
        let (end, least) = (state.slots.end(), lacking(&state));
        drop(state);
        if least == 0 {
            return Ok(());
        }
        // Some more, so that it is seldom asked for; or as little as will do, if there is no more.
        let ample = least + (u64::from(end) / 8).min(MOST_AT_A_TIME);
        self.lengthen(&growth, end, ample).or_else(|_| self.lengthen(&growth, end, least))
    }

    /// Makes the file longer, which ends at the slot `end`. Other threads read and write meanwhile.
    fn lengthen(&self, growth: &Growth, end: u32, slots: u64) -> Result<()> {
        if *growth == Growth::Final {
            return Err(Error::Closed);
        }
        let end = u32::try_from(u64::from(end) + slots).map_err(|_| Error::TableFull)?;
        let size_bytes = u64::from(end) * SLOT_BYTES as u64;
        let extended = self.file.preallocate(size_bytes);
        extended.map_err(|error| Error::io("extend file data", &error))?;
        self.state().slots.extend(end);
        Ok(())
    }

    fn lock_growth(&self) -> MutexGuard<'_, Growth> {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pages of tables whose slots are beyond those that would be enough for all. What is written
    /// from now on goes to the lowest slots that are free.
    pub(crate) fn pages_beyond_need(&self) -> Result<Vec<PageNumber>> {
        let mut state = self.state();
        let State { map, slots, .. } = &mut *state;
        let enough = slots.enough();
        slots.rewind();
        let mut pages = map.pages(&*self.file)?;
        let first = PageNumber::FIRST_OF_TABLES;
        pages.retain(|(page, slot)| *page >= first && u64::from(slot.0) >= enough);
        Ok(pages.into_iter().map(|(page, _)| page).collect())
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

    /// Gives all slots after the last one in use back, for good: nothing is written after that.
    pub(crate) fn shrink_to_used(&self) -> Result<()> {
        let mut growth = self.lock_growth();
        *growth = Growth::Final;
        let mut state = self.state();
        let last = state.slots.last_used();
        self.cut(&growth, &mut state, last)
    }

    /// Gives the slots after the last one in use back, other than what a checkpoint of `pages`
    /// changed pages needs.
    pub(crate) fn shrink(&self, pages: u64) -> Result<()> {
        let growth = self.lock_growth();
        let mut state = self.state();
        let (last, end) = (state.slots.last_used(), state.slots.end());
        let pages = pages + u64::from(state.catalogue_pages);
        let needed = pages + state.overhead(pages);
        let before_last = state.slots.free() - u64::from(end - last);
        let kept = needed.saturating_sub(before_last).min(u64::from(end - last)) as u32;
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
        (u64::from(self.slots.end()) / 8).min(MOST_AHEAD)
    }

    /// Those of them that there are not.
    fn lacking_ahead(&self) -> u64 {
        (self.reserved + self.ahead()).saturating_sub(self.slots.free_for_next())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Superblock;
    use crate::io::Disk;
    use crate::io::simulated::Simulated;

    const FIRST: PageNumber = PageNumber::FIRST_OF_TABLES;

    fn empty() -> DataFile {
        let file = Simulated::new(0).create("data").expect("an empty disk");
        DataFile::create(file).expect("space")
    }

    #[test]
    fn nodes_of_the_page_map_leave_the_end_of_the_file_though_their_pages_stay() {
        let data = empty();
        // Their nodes come after all of them in the file.
        let numbers: Vec<_> = FIRST.run(400 * 1024).step_by(1024).collect();
        let bytes = vec![1; numbers.len() * SLOT_BYTES];
        data.reserve(400, 0).expect("space");
        data.write(&numbers, &bytes).expect("space");
        data.reserve(0, 0).expect("space");
        let superblock = data.publish(&[], Superblock::default()).expect("space");
        numbers[20..].iter().for_each(|page| data.remove(*page).expect("it is there"));
        data.reserve(0, 0).expect("space");
        let superblock = data.publish(&[], superblock).expect("space");
        assert_eq!(data.pages_beyond_need(), Ok(Vec::new()), "pages lie before their nodes");
        data.rewrite_map_beyond_need(0).expect("space");
        let superblock = data.publish(&[], superblock).expect("space");
        data.rewind();
        data.reserve(0, 0).expect("space");
        data.publish(&[], superblock).expect("space");
        data.shrink(0).expect("nothing is wrong");
        let size = data.size_bytes() / SLOT_BYTES as u64;
        assert!(size < 100, "{size} slots are left for 20 pages and their nodes");
        assert_eq!(data.check(), Ok(()));
        assert!(numbers[..20].iter().all(|page| data.has(*page) == Ok(true)));
        assert!(numbers[20..].iter().all(|page| data.has(*page) == Ok(false)));
    }

    #[test]
    fn what_a_checkpoint_replaces_is_space_for_the_next_one_unless_it_is_given_up() {
        const PAGES: u32 = 300;
        let data = empty();
        let numbers: Vec<_> = FIRST.run(PAGES).collect();
        let bytes = vec![1; numbers.len() * SLOT_BYTES];
        let write = || data.write(&numbers, &bytes).expect("space");
        let mut superblock = Superblock::default();
        let mut checkpoint = |in_between: &dyn Fn()| {
            data.begin_checkpoint(PAGES.into(), 0).expect("space");
            write();
            in_between();
            superblock = data.publish(&[], superblock).expect("space");
            data.end_checkpoint();
        };
        checkpoint(&|| {});
        let reserve = || {
            data.reserve(PAGES.into(), 0).expect("space");
        };
        checkpoint(&reserve);
        let size_bytes = data.size_bytes();
        assert!(
            size_bytes < u64::from(5 * PAGES / 2) * SLOT_BYTES as u64,
            "each page is there twice"
        );
        // It has changed all pages again before the checkpoint ended.
        (0..5).for_each(|_| checkpoint(&reserve));
        assert_eq!(data.size_bytes(), size_bytes);

        data.begin_checkpoint(PAGES.into(), 0).expect("space");
        write();
        data.end_checkpoint();
        reserve();
        let with_left_over = data.size_bytes();
        assert!(with_left_over > size_bytes, "what was written is not free before the next one");
        checkpoint(&|| {});
        assert_eq!(data.size_bytes(), with_left_over, "what was reserved was enough");
        assert_eq!(data.check(), Ok(()));
    }

    #[test]
    fn the_file_grows_ahead_of_need_where_little_is_left() {
        let data = empty();
        data.reserve(2_000, 0).expect("space");
        data.grow_ahead().expect("space");
        assert_eq!(data.reserve(2_000, 0), Ok(Left::Enough));
        let size_bytes = data.size_bytes();
        for (more, left) in [(MOST_AHEAD / 4, Left::Enough), (MOST_AHEAD - 10, Left::Little)] {
            assert_eq!(data.reserve(2_000 + more, 0), Ok(left), "{more} more");
            assert_eq!(data.size_bytes(), size_bytes, "{more} more were there");
        }
        data.grow_ahead().expect("space");
        assert!(data.size_bytes() > size_bytes);
        assert_eq!(data.reserve(2_000 + MOST_AHEAD - 10, 0), Ok(Left::Enough));
        let size_bytes = data.size_bytes();
        data.grow_ahead().expect("space");
        assert_eq!(data.size_bytes(), size_bytes, "there is enough");
        assert_eq!(data.check(), Ok(()));
    }
}
