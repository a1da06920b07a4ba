//! The room of a node: the part that its entries and records take up, and the rest.

use std::ops::Range;

use super::{ENTRIES, ENTRY_BYTES, Node};
use crate::pager::PAGE_BYTES;

impl Node<'_> {
    /// Returns the bytes between entries and records.
    pub(super) fn free(self) -> usize {
        self.records_at().saturating_sub((ENTRIES + self.count()) * 8)
    }

    /// Returns true if one more entry with a key of this size fits, if need be after
    /// [`compact`](super::NodeMut::compact).
    #[inline(always)]
    pub(in crate::tree) fn has_room(self, key_size: usize) -> bool {
        self.room() >= ENTRY_BYTES + self.layout.record_size(self.level(), key_size)
    }

    /// Returns true if any one more entry fits.
    pub(in crate::tree) fn has_room_for_any(self) -> bool {
        self.has_room(self.layout.shape.key_size)
    }

    /// Returns the number of these keys that fit one after another.
    pub(in crate::tree) fn room_for<'k>(self, keys: impl Iterator<Item = &'k [u8]>) -> usize {
        let level = self.level();
        let mut room = self.room();
        keys.take_while(|key| {
            let taken = ENTRY_BYTES + self.layout.record_size(level, key.len());
            let left = room.checked_sub(taken);
            room = left.unwrap_or(room);
            left.is_some()
        })
        .count()
    }

    /// Returns the bytes that entries and records can have yet.
    fn room(self) -> usize {
        self.free() + self.garbage()
    }

    /// Returns the bytes that entries and records take up.
    pub(in crate::tree) fn used(self) -> usize {
        let records = self.end() - self.records_at();
        (self.count() * ENTRY_BYTES + records).saturating_sub(self.garbage())
    }

    /// Returns the bytes that a node has for entries and records.
    pub(in crate::tree) fn capacity(self) -> usize {
        PAGE_BYTES - (ENTRIES + 2 * self.layout.fence_words()) * 8
    }

    /// Returns the bytes that an entry and its record take up.
    fn size(self, at: usize) -> usize {
        ENTRY_BYTES + self.record_size(at)
    }

    /// Returns the entry in the middle: those before and after it take up about as much.
    pub(in crate::tree) fn middle(self) -> usize {
        let count = self.count();
        if !self.layout.shape.is_variable {
            return count / 2;
        }
        let half = self.used() / 2;
        let mut size = 0;
        let before = (0..count).take_while(|at| {
            size += self.size(*at);
            size <= half
        });
        before.count().max(1).min(count.saturating_sub(1))
    }

    /// Returns the number of entries, from the first one on, that take up at most `room` bytes.
    pub(in crate::tree) fn entries_within(self, room: usize) -> usize {
        if !self.layout.shape.is_variable {
            return self.count().min(room / self.size(0));
        }
        let mut size = 0;
        let fits = |at: &usize| {
            size += self.size(*at);
            size <= room
        };
        (0..self.count()).take_while(fits).count()
    }

    /// Returns the bytes that entries and their records take up.
    pub(in crate::tree) fn size_of(self, entries: Range<usize>) -> usize {
        if self.layout.shape.is_variable {
            entries.map(|at| self.size(at)).sum()
        } else {
            entries.len() * self.size(0)
        }
    }
}
