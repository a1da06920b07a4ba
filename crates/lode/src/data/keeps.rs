//! Checkpoints that are kept: their slots are given to no other page, though newer checkpoints do
//! not need them.

use std::sync::Arc;

/// The user for whom a checkpoint is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeper {
    /// A backup that copies it.
    Backup,
    /// Readers that show the checkpoint of a generation.
    Readers { generation: u64 },
}

/// A kept checkpoint.
struct Keep {
    keeper: Keeper,
    /// A bit for each slot that it needs.
    slots: Arc<Vec<u64>>,
}

impl Keep {
    fn has_slot(&self, slot: u32) -> bool {
        let word = self.slots.get(slot as usize / 64);
        word.is_some_and(|word| word >> (slot % 64) & 1 != 0)
    }
}

/// All checkpoints that are kept.
#[derive(Default)]
pub(super) struct Keeps {
    all: Vec<Keep>,
}

impl Keeps {
    /// Keeps a checkpoint that has these slots.
    pub(super) fn add(&mut self, keeper: Keeper, slots: Arc<Vec<u64>>) {
        assert!(!self.has(keeper), "one checkpoint at a time is kept for {keeper:?}");
        self.all.push(Keep { keeper, slots });
    }

    /// Keeps only the checkpoints of these users.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(Keeper) -> bool) {
        self.all.retain(|keep| is_kept(keep.keeper));
    }

    /// Returns true if no checkpoint is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns true if a checkpoint is kept for this user.
    pub(super) fn has(&self, keeper: Keeper) -> bool {
        self.all.iter().any(|keep| keep.keeper == keeper)
    }

    /// Returns true if a kept checkpoint needs a slot.
    pub(super) fn has_slot(&self, slot: u32) -> bool {
        self.all.iter().any(|keep| keep.has_slot(slot))
    }

    /// Returns true if a checkpoint that is kept for readers needs a slot.
    pub(super) fn is_for_readers(&self, slot: u32) -> bool {
        let mut of_readers = self.all.iter().filter(|keep| keep.keeper != Keeper::Backup);
        of_readers.any(|keep| keep.has_slot(slot))
    }

    /// Returns the generations of the checkpoints that are kept for readers.
    pub(super) fn generations(&self) -> impl Iterator<Item = u64> {
        self.all.iter().filter_map(|keep| match keep.keeper {
            Keeper::Readers { generation } => Some(generation),
            Keeper::Backup => None,
        })
    }

    /// Returns the bits of the slots of each kept checkpoint.
    pub(super) fn all_slots(&self) -> impl Iterator<Item = &[u64]> {
        self.all.iter().map(|keep| keep.slots.as_slice())
    }
}
