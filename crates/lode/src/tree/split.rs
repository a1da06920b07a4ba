//! Room in a full node: from its neighbours, or a new page.

use super::neighbours::{Beside, Moved, Side};
use super::node::{Fences, Node, SearchKey};
use super::{Found, Share, Tree};
use crate::error::Result;
use crate::index::WriteContext;
use crate::pager::{Image, Pager, Seen, Space};

/// The least difference in room, as a share of a page, for a full leaf to give a neighbour records.
const LEAST_DIFFERENCE: Share = Share { parts: 1, of: 8 };

impl Tree {
    /// Makes room in the leaf of a key, and first in the nodes above it that are full too.
    pub(super) fn make_room(&self, context: &WriteContext<'_>, key: &[u8]) -> Result<()> {
        let WriteContext { pager, space, .. } = *context;
        let top = pager.read_optimistic(self.root)?.1;
        let top = self.layout.node(top).level();
        for level in (0..=top).rev() {
            let found = self.read_optimistic(pager, SearchKey::new(key), level)?;
            let has_room = match level {
                0 => found.node.has_room(key.len()),
                _ => found.node.has_room_for_any(),
            };
            if has_room || !found.seen.validate() {
                continue;
            }
            // Moving entries to a neighbour would take the room of deleted records there.
            if level == 0 && !context.keeps_room() && self.even_out(pager, &found, key)? {
                return Ok(());
            }
            if !self.split(pager, space, &found, key)? {
                // Another thread was there; the caller looks again.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Moves records of a full leaf to the emptier of its neighbours, so that both have about the
    /// same (Bayer, McCreight: Organization and Maintenance of Large Ordered Indices, Acta
    /// Informatica 1, 1972). Returns false if that is not worth it, or another thread was there.
    fn even_out(&self, pager: &Pager, found: &Found<'_>, key: &[u8]) -> Result<bool> {
        if appends(found.node, key) {
            return Ok(false);
        }
        let Some(side) = self.emptier_side(pager, found) else { return Ok(false) };
        let Beside::Latched(both) = self.beside(pager, found, side)? else { return Ok(false) };
        let low = both.left(self);
        let high = both.right(self);
        let low_size = low.used();
        let high_size = high.used();
        // About half of the difference moves.
        let (entries, moved_size) = match side {
            Side::After => {
                let from = low.entries_within((low_size + high_size) / 2);
                (Moved::ToRight { from }, low.size_of(from..low.count()))
            }
            Side::Before => {
                let count = high.entries_within(high_size.saturating_sub(low_size) / 2);
                (Moved::ToLeft { count }, high.size_of(0..count))
            }
        };
        let more = low_size.max(high_size);
        let less = low_size.min(high_size);
        // Where few records fill a leaf, the neighbour may be no better off afterwards.
        let is_better = moved_size > 0 && less + moved_size < more;
        if is_better && both.has_room_for_separator(self) {
            both.shift(self, pager.epoch(), entries);
            return Ok(true);
        }
        Ok(false)
    }

    /// Returns the side of a leaf's emptier neighbour that is in memory, if one of them has much
    /// more room.
    fn emptier_side(&self, pager: &Pager, found: &Found<'_>) -> Option<Side> {
        let (parent_seen, at) = found.parent?;
        let (seen, words) = pager.try_read(parent_seen.page())?;
        let parent = self.layout.node(words);
        let neighbours = [(at.checked_sub(1), Side::Before), (Some(at + 1), Side::After)];
        let used = neighbours.into_iter().filter_map(|(neighbour, side)| {
            let entry = neighbour.filter(|entry| *entry < parent.count())?;
            let (_, words) = pager.try_read(parent.child(entry))?;
            Some((self.layout.node(words).used(), side))
        });
        let (least, side) = used.min_by_key(|(size, _)| *size)?;
        let difference = LEAST_DIFFERENCE.of_bytes(found.node.capacity());
        // The sizes read count only if the parent was the same all the time.
        (seen.validate() && least + difference <= found.node.used()).then_some(side)
    }

    /// Splits a node whose parent has room; returns false if one of them has changed.
    fn split(&self, pager: &Pager, space: &Space, found: &Found<'_>, key: &[u8]) -> Result<bool> {
        let Some((parent_seen, at)) = found.parent else {
            return self.split_root(pager, space, found.seen);
        };
        let Some(mut parent) = pager.latch(parent_seen) else { return Ok(false) };
        if !self.layout.node(parent.words()).has_room_for_any() {
            return Ok(false);
        }
        let Some(mut left) = pager.latch(found.seen) else { return Ok(false) };
        let mut right = pager.allocate(space)?;
        let epoch = pager.epoch();
        let old = self.layout.node(left.words());
        let was_sound = cfg!(debug_assertions) && old.is_sound();
        let count = old.count();
        // A node above the leaves always has a child.
        let cut = match (appends(old, key), old.is_leaf()) {
            (true, true) => count,
            (true, false) => count - 1,
            (false, _) => old.middle(),
        };
        let separator = if cut == count { key.to_vec() } else { old.key(cut) };
        // Many threads come by the parent. So it changes first; the two stay latched while records
        // move.
        let mut node = self.layout.node_mut(parent.change(epoch));
        node.insert_child(at + 1, &separator, right.page());
        drop(parent);
        let mut high = self.layout.node_mut(right.change(epoch));
        high.clear(
            old.level(),
            &Fences { lower: Some(separator.clone()), upper: old.upper_fence() },
        );
        high.append(old, cut..count);
        right.inherit(&left);
        let mut low = self.layout.node_mut(left.change(epoch));
        low.take_out(cut..count);
        low.set_fences(&Fences { lower: low.lower_fence(), upper: Some(separator.clone()) });
        debug_assert!(!was_sound || low.is_sound(), "the low half of a split is sound");
        debug_assert!(!was_sound || low.count() == cut, "a split loses no entry");
        debug_assert!(
            !was_sound || self.layout.node(right.words()).is_sound(),
            "the high half of a split is sound"
        );
        Ok(true)
    }

    /// Moves the root's content to two nodes below it; returns false if it has changed.
    fn split_root(&self, pager: &Pager, space: &Space, seen: Seen<'_>) -> Result<bool> {
        let Some(mut root) = pager.latch(seen) else { return Ok(false) };
        let mut left = pager.allocate(space)?;
        let mut right = match pager.allocate(space) {
            Ok(right) => right,
            Err(error) => {
                left.free(space, pager.epoch());
                return Err(error);
            }
        };
        let epoch = pager.epoch();
        let old = Image::of(root.words());
        let old = self.layout.node(old.words());
        let count = old.count();
        let level = old.level();
        let cut = old.middle();
        let separator = old.key(cut);
        let low = Fences { lower: None, upper: Some(separator.clone()) };
        let high = Fences { lower: Some(separator.clone()), upper: None };
        let was_sound = cfg!(debug_assertions) && old.is_sound();
        debug_assert!(!was_sound || (1..count).contains(&cut), "both halves have an entry");
        let mut node = self.layout.node_mut(left.change(epoch));
        node.clear(level, &low);
        node.append(old, 0..cut);
        debug_assert!(!was_sound || node.is_sound(), "the low half of the root is sound");
        let mut node = self.layout.node_mut(right.change(epoch));
        node.clear(level, &high);
        node.append(old, cut..count);
        debug_assert!(!was_sound || node.is_sound(), "the high half of the root is sound");
        [&left, &right].into_iter().for_each(|half| half.inherit(&root));
        let mut node = self.layout.node_mut(root.change(epoch));
        node.clear(level + 1, &Fences::default());
        node.insert_child(0, &self.lowest_key(), left.page());
        node.insert_child(1, &separator, right.page());
        debug_assert!(
            !was_sound || node.is_sound() && node.count() == 2,
            "a new root has two children"
        );
        Ok(true)
    }
}

/// Returns true if a key comes after all others of its level: ascending keys fill their nodes.
fn appends(node: Node<'_>, key: &[u8]) -> bool {
    node.is_last() && node.search(SearchKey::new(key)) == Err(node.count())
}
