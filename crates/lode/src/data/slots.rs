//! The used and free slots of the data file.

use std::ops::Range;

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
    /// A bit for each slot of the [kept](Self::keep) checkpoint; empty if none is kept.
    kept: Vec<u64>,
    /// The number of released slots that are kept.
    released_kept: u64,
    /// Slots that only the kept checkpoint needs.
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
            kept: Vec::new(),
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
            && are_used(&self.kept)
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
            self.released_kept += u64::from(self.is_kept(slot));
            self.released.push(before);
        } else if !self.is_kept(slot) {
            self.give_back(before);
        }
    }

    /// Keeps the slots of the last checkpoint: none is given to another page until they are [let
    /// go](Self::let_go), whatever checkpoints follow.
    pub(super) fn keep(&mut self) {
        assert!(self.kept.is_empty(), "one checkpoint is kept at a time");
        self.kept.clone_from(&self.needed);
        self.released_kept = self.released();
    }

    /// Frees the slots that only the kept checkpoint needs.
    pub(super) fn let_go(&mut self) {
        self.kept.clear();
        self.released_kept = 0;
        for slot in std::mem::take(&mut self.only_kept) {
            self.needed[word(slot.0)] &= !bit(slot.0);
            self.give_back(slot);
        }
        debug_assert!(self.is_sound(), "each slot is in one state");
    }

    fn is_kept(&self, slot: u32) -> bool {
        self.kept.get(word(slot)).is_some_and(|kept| kept & bit(slot) != 0)
    }

    /// Returns true if a checkpoint is kept.
    pub(super) fn is_keeping(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Returns the number of released slots that the next checkpoint frees.
    pub(super) fn freed_next(&self) -> u64 {
        debug_assert!(self.released_kept <= self.released(), "some of them are kept");
        self.released() - self.released_kept
    }

    /// Returns the number of slots that only the kept checkpoint needs.
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
        self.needed.clone_from(&self.used);
    }

    /// Frees the released slots: the checkpoint that does not need them is current.
    pub(super) fn settle(&mut self) {
        self.released_kept = 0;
        for slot in std::mem::take(&mut self.released) {
            self.needed[word(slot.0)] &= !bit(slot.0);
            if self.is_kept(slot.0) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_taken_once_and_comes_back_after_the_checkpoint_only() {
        let mut slots = Slots::default();
        slots.extend(200);
        let is_free = |slot: &u32| ![8, 9].contains(slot);
        let free: Vec<_> = (2..200).filter(is_free).map(SlotNumber).collect();
        let mut taken: Vec<_> = free.iter().map(|_| slots.take().expect("one is free")).collect();
        taken.sort_unstable();
        assert_eq!(taken, free);
        assert!(slots.take().is_err());
        slots.begin_to_need();
        slots.release(SlotNumber(70));
        assert!(slots.take().is_err());
        let mut bitmap = Vec::new();
        slots.write_bitmap(&mut bitmap);
        let mut restored = Slots::restore(&bitmap, 200).expect("it fits");
        assert_eq!(restored.take().ok(), Some(SlotNumber(70)));
        slots.settle();
        assert_eq!(slots.take().ok(), Some(SlotNumber(70)));
        assert!(slots.take().is_err());
        slots.release(SlotNumber(199));
        slots.settle();
        assert_eq!(slots.last_used(), 199);
        slots.truncate(199);
        assert!(slots.take().is_err());
        assert!(Slots::restore(&bitmap, 300).is_err());
        assert!(Slots::restore(&[0; 8], 10).is_err());
    }

    /// A page map whose checksums are right may name any slot, and so may the bits of used ones.
    #[test]
    fn a_forged_file_frees_no_superblock_and_uses_no_slot_beyond_its_end() {
        let mut slots = Slots::default();
        for slot in [1, 8, 9, FIRST_END, u32::MAX] {
            slots.release(SlotNumber(slot));
        }
        slots.settle();
        while let Ok(slot) = slots.take() {
            assert!(!has_superblock(slot), "slot {slot} has a superblock");
        }
        let forged = SUPERBLOCK_BITS | 1 << 40;
        assert!(Slots::restore(&forged.to_le_bytes(), 41).is_ok());
        assert!(Slots::restore(&forged.to_le_bytes(), 40).is_err());
    }

    #[test]
    fn slots_in_holes_are_not_taken_until_they_have_space() {
        let mut slots = Slots::default();
        slots.extend(200);
        let take = |slots: &mut Slots| slots.take().map(|SlotNumber(slot)| slot);
        (0..190).for_each(|_| assert!(take(&mut slots).is_ok()));
        // 2 to 7, 10 to 193 are used; 194 to 199 are free.
        [20, 21, 22, 130].into_iter().for_each(|slot| slots.give_back(SlotNumber(slot)));
        assert_eq!((slots.free(), slots.used(), slots.free_before(22)), (10, 190, 2));
        assert_eq!(slots.free_runs(0..200, 4), [20..23, 130..131, 194..198, 198..200]);
        assert!(slots.are_free(&(195..200)) && !slots.are_free(&(195..201)));
        assert!(!slots.are_free(&(130..132)));
        slots.begin_holes(20..22);
        slots.begin_holes(196..200);
        assert_eq!((slots.free(), slots.used(), slots.hole_count), (4, 190, 6));
        assert_eq!(slots.free_runs(0..200, 9), [22..23, 130..131, 194..196]);
        assert!(!slots.are_free(&(195..197)));
        let mut taken: Vec<_> = (0..4).filter_map(|_| take(&mut slots).ok()).collect();
        taken.sort_unstable();
        assert_eq!(taken, [22, 130, 194, 195]);
        assert!(take(&mut slots).is_err());
        assert_eq!(slots.first_holes(1), Some(20..21));
        assert_eq!(slots.first_holes(9), Some(20..22));
        slots.end_holes(20..21);
        assert_eq!(take(&mut slots).ok(), Some(20));
        // On the disk they are not used.
        let mut bitmap = Vec::new();
        slots.write_bitmap(&mut bitmap);
        let mut restored = Slots::restore(&bitmap, 200).expect("it fits");
        assert_eq!((restored.free(), restored.hole_count), (5, 0));
        restored.forget_space();
        assert_eq!((restored.free(), restored.hole_count), (0, 5));
        assert!(take(&mut restored).is_err());
        slots.truncate(198);
        assert_eq!((slots.free(), slots.used(), slots.hole_count), (0, 195, 3));
        slots.extend(200);
        assert_eq!((slots.free(), slots.hole_count), (2, 3), "what is new has space");
        assert_eq!(slots.free_runs(0..200, 9).last(), Some(&(198..200)));
    }

    #[test]
    fn slots_of_a_kept_checkpoint_are_free_when_it_is_let_go() {
        let mut slots = Slots::default();
        slots.extend(100);
        let first = slots.take().expect("one is free");
        slots.begin_to_need();
        slots.settle();
        slots.keep();
        let free = slots.free();
        for round in 0..3 {
            slots.set_being_written(true);
            let second = slots.take().expect("one is free");
            if round == 0 {
                slots.release(first);
            }
            // It is not free after the checkpoint.
            assert_eq!(slots.free_for_next(), slots.free());
            slots.release(second);
            let mut bitmap = Vec::new();
            slots.write_bitmap(&mut bitmap);
            assert_eq!(Slots::restore(&bitmap, 100).map(|slots| slots.free()).ok(), Some(96));
            slots.begin_to_need();
            slots.settle();
            slots.set_being_written(false);
            assert_eq!((slots.only_kept(), slots.free()), (1, free));
        }
        assert_eq!(slots.check(&[]), Ok(()));
        slots.let_go();
        assert_eq!((slots.only_kept(), slots.free()), (0, free + 1));
        assert_eq!(slots.check(&[]), Ok(()));
    }

    #[test]
    fn a_slot_that_no_superblock_names_is_free_at_once() {
        let mut slots = Slots::default();
        slots.extend(100);
        let take = |slots: &mut Slots| slots.take().expect("one is free");
        let first = take(&mut slots);
        let free = slots.free();
        slots.release(first);
        assert_eq!((slots.released(), slots.free()), (0, free + 1));
        let needed = take(&mut slots);
        let free = slots.free();
        // Whatever comes of the superblock.
        slots.begin_to_need();
        slots.release(needed);
        let new = take(&mut slots);
        slots.release(new);
        assert_eq!((slots.released(), slots.free()), (1, free));
        slots.settle();
        assert_eq!((slots.released(), slots.free()), (0, free + 1));
        // A slot is not needed any more when it is taken again.
        let again: Vec<_> = (0..slots.free()).map(|_| take(&mut slots)).collect();
        again.iter().for_each(|slot| slots.release(*slot));
        assert_eq!((slots.released(), slots.free()), (0, free + 1));
    }
}
