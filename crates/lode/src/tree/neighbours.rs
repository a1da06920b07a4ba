//! Two adjacent nodes of one parent: entries move from one to the other.

use super::node::{Fences, Node};
use super::{Found, Tree};
use crate::error::Result;
use crate::pager::{Epoch, Latched, Pager, Space};

/// The side of a node's neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// The entries that move from a node to its neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) enum Moved {
    /// The entries of the left node from `from` on.
    ToRight { from: usize },
    /// The first ones of the right node.
    ToLeft { count: usize },
}

/// Two nodes and their parent, all latched.
pub(super) struct Neighbours<'p> {
    parent: Latched<'p>,
    left: Latched<'p>,
    right: Latched<'p>,
    /// The entry of the right one in the parent.
    right_at: usize,
}

/// The neighbour of a node to move entries to or from, if it has one.
pub(super) enum Beside<'p> {
    Latched(Neighbours<'p>),
    /// The parent has no such neighbour, as was seen.
    None,
    /// Another thread has changed one of them.
    Changed,
}

impl Tree {
    /// Latches a node, its neighbour and their parent. Waits for no thread, but reads the pages
    /// that are not in memory.
    pub(super) fn beside<'p>(
        &self,
        pager: &'p Pager,
        found: &Found<'p>,
        side: Side,
    ) -> Result<Beside<'p>> {
        let Some((parent_seen, at)) = found.parent else { return Ok(Beside::None) };
        let (seen, words) = pager.read_optimistic(parent_seen.page())?;
        let parent = self.layout.node(words);
        let other_at = match side {
            Side::Before => at.checked_sub(1),
            Side::After => Some(at + 1).filter(|at| *at < parent.count()),
        };
        let other = other_at.map(|at| parent.child(at));
        if !seen.is(&parent_seen) || !seen.validate() {
            return Ok(Beside::Changed);
        }
        let Some(other) = other else { return Ok(Beside::None) };
        let other = pager.read_optimistic(other);
        // The neighbour was looked at while its parent led to it.
        if !parent_seen.validate() {
            return Ok(Beside::Changed);
        }
        let other_seen = other?.0;
        let (left_seen, right_seen, right_at) = match side {
            Side::Before => (other_seen, found.seen, at),
            Side::After => (found.seen, other_seen, at + 1),
        };
        debug_assert!(right_at > 0, "the right one of two nodes is not the first");
        let latched = (pager.latch(parent_seen), pager.latch(left_seen), pager.latch(right_seen));
        Ok(match latched {
            (Some(parent), Some(left), Some(right)) => {
                Beside::Latched(Neighbours { parent, left, right, right_at })
            }
            _ => Beside::Changed,
        })
    }
}

impl<'p> Neighbours<'p> {
    pub(super) fn left(&self, tree: &Tree) -> Node<'_> {
        tree.layout.node(self.left.words())
    }

    pub(super) fn right(&self, tree: &Tree) -> Node<'_> {
        tree.layout.node(self.right.words())
    }

    /// Returns true if both nodes have no fault, and meet at one fence, as do their entries in the
    /// parent. It looks at all of their entries.
    fn are_sound(&self, tree: &Tree) -> bool {
        let parent = tree.layout.node(self.parent.words());
        let fence = self.right(tree).lower_fence();
        self.left(tree).is_sound()
            && self.right(tree).is_sound()
            && parent.is_sound()
            && self.left(tree).upper_fence() == fence
            && fence.is_some_and(|fence| parent.key(self.right_at) == fence)
    }

    /// Returns true if the parent has room for any other key between the two.
    pub(super) fn has_room_for_separator(&self, tree: &Tree) -> bool {
        tree.layout.node(self.parent.words()).has_room_for_any()
    }

    /// Moves all entries to the left node, which must have room, and frees the right one.
    pub(super) fn join(mut self, tree: &Tree, pager: &Pager, space: &Space) {
        let were_sound = cfg!(debug_assertions) && self.are_sound(tree);
        let count = self.left(tree).count() + self.right(tree).count();
        let epoch = pager.epoch();
        tree.layout.node_mut(self.parent.change(epoch)).remove(self.right_at);
        // Many threads come by the parent. So it changes first, and the two stay latched.
        drop(self.parent);
        let high = tree.layout.node(self.right.words());
        let mut low = tree.layout.node_mut(self.left.change(epoch));
        low.set_fences(&Fences { lower: low.lower_fence(), upper: high.upper_fence() });
        low.append(high, 0..high.count());
        self.left.cover(&self.right);
        let low = tree.layout.node(self.left.words());
        debug_assert!(!were_sound || low.is_sound(), "a join leaves a sound node");
        debug_assert!(!were_sound || low.count() == count, "a join loses no entry");
        self.right.free(space, epoch);
    }

    /// Moves the last entries of the left node, or the first ones of the right node. The nodes must
    /// have room, and keep an entry each. Returns the key from which on keys are in the right node.
    pub(super) fn shift(mut self, tree: &Tree, epoch: Epoch, entries: Moved) -> Vec<u8> {
        let low = self.left(tree);
        let high = self.right(tree);
        let were_sound = cfg!(debug_assertions) && self.are_sound(tree);
        let total = low.count() + high.count();
        debug_assert!(
            !were_sound
                || match entries {
                    Moved::ToRight { from } => (1..low.count()).contains(&from),
                    Moved::ToLeft { count } => (1..high.count()).contains(&count),
                },
            "both nodes keep an entry"
        );
        let separator = match entries {
            Moved::ToRight { from } => low.key(from),
            Moved::ToLeft { count } => high.key(count),
        };
        let low_fences = Fences { lower: low.lower_fence(), upper: Some(separator.clone()) };
        let high_fences = Fences { lower: Some(separator.clone()), upper: high.upper_fence() };
        let page = self.right.page();
        let mut parent = tree.layout.node_mut(self.parent.change(epoch));
        parent.remove(self.right_at);
        parent.insert_child(self.right_at, &separator, page);
        debug_assert!(!were_sound || parent.is_sound(), "a shift leaves a sound parent");
        // As in a join.
        drop(self.parent);
        match entries {
            Moved::ToRight { from } => {
                let low = tree.layout.node(self.left.words());
                let moved = from..low.count();
                let mut high = tree.layout.node_mut(self.right.change(epoch));
                high.set_fences(&high_fences);
                high.insert_from(0, low, moved.clone());
                let mut low = tree.layout.node_mut(self.left.change(epoch));
                low.take_out(moved);
                low.set_fences(&low_fences);
                self.right.cover(&self.left);
            }
            Moved::ToLeft { count } => {
                let high = tree.layout.node(self.right.words());
                let mut low = tree.layout.node_mut(self.left.change(epoch));
                low.set_fences(&low_fences);
                low.append(high, 0..count);
                let mut high = tree.layout.node_mut(self.right.change(epoch));
                high.take_out(0..count);
                high.set_fences(&high_fences);
                self.left.cover(&self.right);
            }
        }
        let low = tree.layout.node(self.left.words());
        let high = tree.layout.node(self.right.words());
        debug_assert!(
            !were_sound || low.is_sound() && high.is_sound(),
            "a shift leaves sound nodes"
        );
        debug_assert!(!were_sound || low.count() + high.count() == total, "it loses no entry");
        separator
    }
}
