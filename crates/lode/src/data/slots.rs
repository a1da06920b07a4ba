//! The used and free slots of the data file.

mod keeping;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use super::keeps::Keeps;
use super::superblock::COPIES_AT;
use super::{SLOT_BYTES, SlotNumber};
use crate::error::{Error, Result};

/// Slots of the superblocks: two, and their copies.
const SUPERBLOCKS: u32 = 4;

/// The first slot after a superblock.
const FIRST: u32 = 2;

/// The fewest slots that a file has: those of the superblocks, and those between.
const FIRST_END: u32 = COPIES_AT[1] + 2;

/// The slots from one copy of metadata to the other, at least: 64 KiB.
const APART: u32 = 4;

/// The bits of superblocks' slots among the first 64 slots.
const SUPERBLOCK_BITS: u64 = 0b11 << COPIES_AT[0] | 0b11 << COPIES_AT[1];

const _: () = assert!(SUPERBLOCK_BITS.count_ones() == SUPERBLOCKS, "superblocks have own slots");
const _: () = assert!(FIRST_END <= 64, "the first word has the bits of all superblocks");

/// Returns true if a slot is that of a superblock, or of the copy of one.
pub(super) fn has_superblock(SlotNumber(slot): SlotNumber) -> bool {
    slot < 64 && SUPERBLOCK_BITS >> slot & 1 != 0
}

/// Returns the index of the word that has a slot's bit.
fn word(slot: u32) -> usize {
    slot as usize / 64
}

/// Returns the bit of a slot in its word.
fn bit(slot: u32) -> u64 {
    1 << (slot % 64)
}

/// Returns the bits of the slots before `end` in the word of the last of them.
fn below(end: u32) -> u64 {
    u64::MAX >> ((64 - end % 64) % 64)
}

/// The slots of a file: a bit for each.
pub(super) struct Slots {
    used: Vec<u64>,
    /// Slots of the file.
    end: u32,
    /// Slots that are not used, and have space.
    free: u32,
    /// The fewest of these since the last checkpoint.
    least_free: u32,
    /// The fewest between the last two checkpoints: nothing needed these.
    unneeded: u32,
    /// A bit for each slot that is not used and has no space.
    holes: Vec<u64>,
    hole_count: u32,
    /// The slot where the search for a free one continues, so that pages are written in sequence.
    cursor: u32,
    /// A bit for each slot that the last checkpoint may need, or a failed one.
    needed: Vec<u64>,
    /// Slots needed by the last checkpoint, but not by the next one.
    released: Vec<SlotNumber>,
    /// The slots of the checkpoint before, between two steps of a new one that becomes current.
    before: Arc<Vec<u64>>,
    /// The [kept](Self::keep) checkpoints.
    keeps: Keeps,
    /// The number of released slots that are kept.
    released_kept: u64,
    /// Slots that only kept checkpoints need.
    only_kept: Vec<SlotNumber>,
    /// True while the next checkpoint is being written.
    is_being_written: bool,
}

impl Default for Slots {
    fn default() -> Self {
        let used = vec![SUPERBLOCK_BITS];
        let free = FIRST_END - SUPERBLOCKS;
        Self {
            needed: used.clone(),
            holes: vec![0; used.len()],
            used,
            end: FIRST_END,
            free,
            least_free: free,
            unneeded: 0,
            hole_count: 0,
            cursor: FIRST,
            released: Vec::new(),
            before: Arc::default(),
            keeps: Keeps::default(),
            released_kept: 0,
            only_kept: Vec::new(),
            is_being_written: false,
        }
    }
}

impl Slots {
    /// Restores the slots from the bits as they were written.
    pub(super) fn restore(bitmap: &[u8], end: u32) -> Result<Self> {
        let (words, rest) = bitmap.as_chunks::<8>();
        let used: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let count: u32 = used.iter().map(|word| word.count_ones()).sum();
        let fits = used.len() == (end as usize).div_ceil(64)
            && rest.is_empty()
            && used.last().is_none_or(|last| last & !below(end) == 0);
        let has_superblocks =
            used.first().is_some_and(|word| word & SUPERBLOCK_BITS == SUPERBLOCK_BITS);
        if fits && end >= FIRST_END && has_superblocks {
            let needed = used.clone();
            let holes = vec![0; used.len()];
            let free = end - count;
            Ok(Self { used, needed, holes, end, free, least_free: free, ..Self::default() })
        } else {
            Err(Error::corrupt("the list of used slots", "it does not fit the file"))
        }
    }

    /// Returns true if each slot of the file is in one state, all are counted, and no needed one is
    /// free. It looks at all of them.
    fn is_sound(&self) -> bool {
        let count = |bits: &[u64]| bits.iter().map(|word| word.count_ones()).sum::<u32>();
        let are_apart = self.used.iter().zip(&self.holes).all(|(used, hole)| used & hole == 0);
        let are_used =
            |some: &[u64]| self.used.iter().zip(some).all(|(used, some)| some & !used == 0);
        let is_below = |bits: &[u64]| bits.last().is_none_or(|last| last & !below(self.end) == 0);
        are_apart
            && are_used(&self.needed)
            && self.keeps.all_slots().all(are_used)
            && is_below(&self.used)
            && is_below(&self.holes)
            && self.used[0] & SUPERBLOCK_BITS == SUPERBLOCK_BITS
            && count(&self.holes) == self.hole_count
            && count(&self.used) + self.hole_count + self.free == self.end
    }

    /// Returns the number of slots that are free and have space.
    pub(super) fn free(&self) -> u64 {
        self.free.into()
    }

    /// Returns the number of slots that have space.
    pub(super) fn with_space(&self) -> u64 {
        u64::from(self.end - self.hole_count)
    }

    /// Returns the number of slots that are used, or needed still.
    pub(super) fn used(&self) -> u64 {
        u64::from(self.end - self.free - self.hole_count)
    }

    /// Returns the number of slots that are free when the next checkpoint starts, except those that
    /// changed pages take: slots that the one in progress releases are free after it.
    pub(super) fn free_for_next(&self) -> u64 {
        self.free() + if self.is_being_written { self.freed_next() } else { 0 }
    }

    /// Records that the next checkpoint is being written, or is not any more.
    pub(super) fn set_being_written(&mut self, is_so: bool) {
        assert!(!(is_so && self.is_being_written), "one checkpoint is written at a time");
        self.is_being_written = is_so;
    }

    /// Returns the number of slots enough for all that is used, and for the superblocks in place.
    pub(super) fn enough(&self) -> u64 {
        self.used().max(FIRST_END.into())
    }

    pub(super) fn end(&self) -> u32 {
        self.end
    }

    pub(super) fn extend(&mut self, end: u32) {
        assert!(end >= self.end, "a file gets longer by new slots");
        self.free += end - self.end;
        self.end = end;
        self.used.resize((end as usize).div_ceil(64), 0);
        self.needed.resize(self.used.len(), 0);
        self.holes.resize(self.used.len(), 0);
    }

    fn is_free(&self, slot: u32) -> bool {
        (self.used[word(slot)] | self.holes[word(slot)]) & bit(slot) == 0
    }

    fn is_hole(&self, slot: u32) -> bool {
        self.holes[word(slot)] & bit(slot) != 0
    }

    /// Returns the number of free slots with space before a slot.
    pub(super) fn free_before(&self, end: u32) -> u64 {
        (0..end).filter(|slot| self.is_free(*slot)).count() as u64
    }

    /// Returns the runs of free slots with space among some slots, each of at most `most`.
    pub(super) fn free_runs(&self, among: Range<u32>, most: u32) -> Vec<Range<u32>> {
        let mut runs: Vec<Range<u32>> = Vec::new();
        let among = among.start..among.end.min(self.end);
        for slot in among.filter(|slot| self.is_free(*slot)) {
            match runs.last_mut() {
                Some(run) if run.end == slot && slot - run.start < most => run.end = slot + 1,
                _ => runs.push(slot..slot + 1),
            }
        }
        runs
    }

    /// Returns true if all `slots` are free and have space.
    pub(super) fn are_free(&self, slots: &Range<u32>) -> bool {
        slots.end <= self.end && slots.clone().all(|slot| self.is_free(slot))
    }

    /// Returns the first run of holes; of at most `most` slots.
    pub(super) fn first_holes(&self, most: u32) -> Option<Range<u32>> {
        let at = self.holes.iter().position(|word| *word != 0)?;
        let first = (at * 64) as u32 + self.holes[at].trailing_zeros();
        let slots = (first..self.end).take(most as usize);
        let last = slots.take_while(|slot| self.is_hole(*slot)).last()?;
        Some(first..last + 1)
    }

    /// Marks free slots with space as holes.
    pub(super) fn begin_holes(&mut self, slots: Range<u32>) {
        assert!(self.are_free(&slots), "only free slots lose their space");
        let count = slots.len() as u32;
        slots.for_each(|slot| self.holes[word(slot)] |= bit(slot));
        (self.hole_count, self.free) = (self.hole_count + count, self.free - count);
        self.least_free = self.least_free.min(self.free);
    }

    /// Marks holes as slots with space.
    pub(super) fn end_holes(&mut self, slots: Range<u32>) {
        debug_assert!(slots.clone().all(|slot| self.is_hole(slot)), "each of them is a hole");
        let count = slots.len() as u32;
        slots.for_each(|slot| self.holes[word(slot)] &= !bit(slot));
        (self.hole_count, self.free) = (self.hole_count - count, self.free + count);
    }

    /// Marks all free slots as holes, since it is not known if they have space.
    pub(super) fn forget_space(&mut self) {
        self.free_runs(0..self.end, u32::MAX).into_iter().for_each(|slots| self.begin_holes(slots));
    }

    /// Takes a free slot, the next one after the last that was taken.
    pub(super) fn take(&mut self) -> Result<SlotNumber> {
        let full = || Error::DiskFull { what: "find room in file data".into() };
        if self.free == 0 {
            return Err(full());
        }
        let words = self.used.len();
        let first = self.cursor as usize / 64;
        let low = (1u64 << (self.cursor % 64)) - 1;
        for step in 0..=words {
            let at = (first + step) % words;
            // In the first word only what is not before the cursor.
            let taken = self.used[at] | self.holes[at] | if step == 0 { low } else { 0 };
            let slot = (at * 64) as u32 + taken.trailing_ones();
            if taken != u64::MAX && slot < self.end {
                assert!(!has_superblock(SlotNumber(slot)), "no page gets a superblock's slot");
                assert!(self.needed[at] & bit(slot) == 0, "a checkpoint needs slot {slot}");
                debug_assert!(slot >= FIRST, "slot 0 stands for no slot");
                self.used[at] |= bit(slot);
                self.free -= 1;
                self.least_free = self.least_free.min(self.free);
                self.cursor = if slot + 1 < self.end { slot + 1 } else { FIRST };
                return Ok(SlotNumber(slot));
            }
        }
        Err(full())
    }

    /// Takes two free slots, far enough from each other that damage around one spares the other, if
    /// the file has such ones.
    pub(super) fn take_two(&mut self) -> Result<[SlotNumber; 2]> {
        let first = self.take()?;
        let mut passed = Vec::new();
        let second = loop {
            match self.take() {
                Ok(slot) if slot.0.abs_diff(first.0) >= APART => break Ok(slot),
                Ok(slot) => passed.push(slot),
                Err(error) => break passed.pop().ok_or(error),
            }
        };
        if let Some(SlotNumber(passed)) = passed.first() {
            self.cursor = *passed;
        }
        passed.into_iter().for_each(|slot| self.give_back(slot));
        if second.is_err() {
            self.give_back(first);
        }
        second.map(|second| [first, second])
    }

    /// Gives back a slot that was taken and that nothing on the disk names.
    pub(super) fn give_back(&mut self, SlotNumber(slot): SlotNumber) {
        assert!(!has_superblock(SlotNumber(slot)), "superblocks keep their slots");
        assert!(self.needed[word(slot)] & bit(slot) == 0, "a checkpoint needs slot {slot}");
        debug_assert!(!self.is_hole(slot), "a hole is not in use");
        let at = slot as usize / 64;
        let bit = 1 << (slot % 64);
        if self.used[at] & bit != 0 {
            self.used[at] &= !bit;
            self.free += 1;
        }
    }

    /// Releases a slot that the next checkpoint does not need: at once, if no other one does.
    pub(super) fn release(&mut self, before: SlotNumber) {
        let SlotNumber(slot) = before;
        // A forged page map may name any slot.
        if !before.is_some() || slot >= self.end || has_superblock(before) {
            return;
        }
        if self.needed[word(slot)] & bit(slot) != 0 {
            self.released_kept += u64::from(self.keeps.has_slot(slot));
            self.released.push(before);
        } else if !self.keeps.has_slot(slot) {
            self.give_back(before);
        }
    }

    /// Returns true if a checkpoint is kept.
    pub(super) fn is_keeping(&self) -> bool {
        !self.keeps.is_empty()
    }

    /// Returns the number of released slots that the next checkpoint frees.
    pub(super) fn freed_next(&self) -> u64 {
        debug_assert!(self.released_kept <= self.released(), "some of them are kept");
        self.released() - self.released_kept
    }

    /// Returns the number of slots that only kept checkpoints need.
    pub(super) fn only_kept(&self) -> u64 {
        self.only_kept.len() as u64
    }

    /// Returns the number of slots that the last checkpoint needs, and the next one does not.
    pub(super) fn released(&self) -> u64 {
        self.released.len() as u64
    }

    /// Marks all slots in use as needed: a superblock that needs them is about to be written.
    pub(super) fn begin_to_need(&mut self) {
        debug_assert!(self.is_sound(), "each slot is in one state");
        self.before = self.of_checkpoint();
        self.needed.clone_from(&self.used);
    }

    /// Frees the released slots: the checkpoint that does not need them is current.
    pub(super) fn settle(&mut self) {
        self.released_kept = 0;
        self.before = Arc::default();
        for slot in std::mem::take(&mut self.released) {
            self.needed[word(slot.0)] &= !bit(slot.0);
            if self.keeps.has_slot(slot.0) {
                self.only_kept.push(slot);
            } else {
                self.give_back(slot);
            }
        }
        debug_assert!(self.is_sound(), "each slot is in one state");
        (self.unneeded, self.least_free) = (self.least_free, self.free);
    }

    /// Takes the number of free slots that stayed free between the last two checkpoints, and while
    /// the last one was written.
    pub(super) fn take_unneeded(&mut self) -> u64 {
        std::mem::take(&mut self.unneeded).into()
    }

    /// Takes up lower slots first from now on.
    pub(super) fn rewind(&mut self) {
        self.cursor = FIRST;
    }

    /// Returns the first slot after all that are used.
    pub(super) fn last_used(&self) -> u32 {
        let last = self.used.iter().rposition(|word| *word != 0).unwrap_or(0);
        (last * 64) as u32 + 64 - self.used[last].leading_zeros()
    }

    /// Removes the slots from `end` on; none of them may be in use.
    pub(super) fn truncate(&mut self, end: u32) {
        assert!(end >= self.last_used(), "a file keeps its used slots");
        assert!(end <= self.end, "a file is cut off where it was longer");
        let holes = (end..self.end).filter(|slot| self.is_hole(*slot)).count() as u32;
        self.free -= self.end - end - holes;
        self.hole_count -= holes;
        self.least_free = self.least_free.min(self.free);
        self.end = end;
        self.used.truncate((end as usize).div_ceil(64));
        self.needed.truncate(self.used.len());
        self.holes.truncate(self.used.len());
        if let Some(last) = self.holes.last_mut() {
            *last &= below(end);
        }
        self.cursor = FIRST;
        debug_assert!(self.is_sound(), "each slot is in one state");
    }

    pub(super) fn bitmap_bytes(&self) -> usize {
        (self.end as usize).div_ceil(64) * 8
    }

    /// Appends the bits as they are once the checkpoint is current.
    pub(super) fn write_bitmap(&self, bytes: &mut Vec<u8>) {
        let mut used = self.used.clone();
        for SlotNumber(slot) in self.released.iter().chain(&self.only_kept) {
            debug_assert!(self.used[word(*slot)] & bit(*slot) != 0, "slot {slot} was in use");
            used[word(*slot)] &= !bit(*slot);
        }
        bytes.extend(used.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// Checks that the used slots are exactly `wanted`, in order, and those of the superblocks.
    pub(super) fn check(&self, wanted: &[SlotNumber]) -> Result<(), String> {
        if let Some(slot) = wanted.iter().find(|SlotNumber(slot)| {
            *slot >= self.end || self.used[*slot as usize / 64] >> (*slot % 64) & 1 == 0
        }) {
            return Err(format!("slot {slot} of file data is used, but listed as free"));
        }
        let used = self.used() as usize;
        let others = self.released.len() + self.only_kept.len();
        if used == wanted.len() + SUPERBLOCKS as usize + others {
            Ok(())
        } else {
            Err(format!(
                "{used} slots of {SLOT_BYTES} bytes are listed as used, and {} are",
                wanted.len() + SUPERBLOCKS as usize
            ))
        }
    }
}
