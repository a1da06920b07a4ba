//! Slots of checkpoints that are kept for a backup, and for readers in other processes.

use std::sync::Arc;

use super::super::SlotNumber;
use super::super::keeps::Keeper;
use super::{Slots, bit, word};

impl Slots {
    /// Keeps the slots of the last checkpoint for a backup: none is given to another page until
    /// they are [let go](Self::let_go), whatever checkpoints follow.
    pub(in crate::data) fn keep(&mut self) {
        let slots = self.of_checkpoint();
        self.keeps.add(Keeper::Backup, slots);
        self.released_kept = self.released();
    }

    /// Frees the slots that only the backup needs.
    pub(in crate::data) fn let_go(&mut self) {
        self.keeps.retain(|keeper| keeper != Keeper::Backup);
        self.free_unkept();
    }

    /// Keeps the slots of the checkpoints that readers have pinned, and of no others, when a new
    /// checkpoint has become current. A reader that was not seen before shows the one before.
    pub(in crate::data) fn keep_for_readers(&mut self, pinned: &[u64]) {
        for &generation in pinned {
            let keeper = Keeper::Readers { generation };
            if !self.keeps.has(keeper) {
                self.keeps.add(keeper, Arc::clone(&self.before));
            }
        }
        self.let_other_readers_go(pinned);
    }

    /// Frees the slots that only readers of other generations need.
    pub(in crate::data) fn let_other_readers_go(&mut self, pinned: &[u64]) {
        self.keeps.retain(|keeper| match keeper {
            Keeper::Readers { generation } => pinned.contains(&generation),
            Keeper::Backup => true,
        });
        self.free_unkept();
    }

    /// Frees the slots that only readers of generations before this one need.
    pub(in crate::data) fn let_readers_go(&mut self, before: u64) {
        self.keeps.retain(|keeper| match keeper {
            Keeper::Readers { generation } => generation >= before,
            Keeper::Backup => true,
        });
        self.free_unkept();
    }

    /// Returns the oldest and the newest generation that is kept for readers.
    pub(in crate::data) fn of_readers(&self) -> Option<[u64; 2]> {
        Some([self.keeps.generations().min()?, self.keeps.generations().max()?])
    }

    /// Returns the number of slots that are kept for readers, and that no checkpoint needs.
    pub(in crate::data) fn only_for_readers(&self) -> u64 {
        let is_for_readers = |slot: &&SlotNumber| self.keeps.is_for_readers(slot.0);
        self.only_kept.iter().filter(is_for_readers).count() as u64
    }

    /// Returns a bit for each slot of the last checkpoint, or of a failed one.
    pub(super) fn of_checkpoint(&self) -> Arc<Vec<u64>> {
        let mut slots = self.needed.clone();
        self.only_kept.iter().for_each(|slot| slots[word(slot.0)] &= !bit(slot.0));
        Arc::new(slots)
    }

    /// Frees the slots that were needed by a kept checkpoint only, which is not kept any more.
    fn free_unkept(&mut self) {
        let keeps = &self.keeps;
        let released_kept = self.released.iter().filter(|slot| keeps.has_slot(slot.0)).count();
        self.released_kept = released_kept as u64;
        let only_kept = std::mem::take(&mut self.only_kept);
        let (kept, free): (Vec<_>, Vec<_>) =
            only_kept.into_iter().partition(|slot| keeps.has_slot(slot.0));
        self.only_kept = kept;
        for slot in free {
            self.needed[word(slot.0)] &= !bit(slot.0);
            self.give_back(slot);
        }
        debug_assert!(self.is_sound(), "each slot is in one state");
    }
}
