//! Writes of single records to a leaf.

use std::sync::atomic::AtomicU64;

use super::Tree;
use super::node::{Node, NodeMut, SearchKey};
use crate::index::{AtEntry, EntryMut, Record, Step};
use crate::pager::{Epoch, Latched, Pager, Space};

impl Tree {
    /// Has `work` done at the entry of a key, if no absent or latched page is in the way to it. If
    /// few records are left, joins the leaf with another, and gives a page back to `space`.
    #[inline(always)]
    pub(crate) fn try_at<A: AtEntry>(
        &self,
        pager: &Pager,
        space: &Space,
        key: &[u8],
        mut work: A,
    ) -> Option<Result<Step<A::Done>, A::Error>> {
        let (seen, _) = self.try_read(pager, SearchKey::new(key))?;
        Some(self.at_entry(pager.latch(seen)?, pager, Some(space), key, &mut work))
    }

    /// Does work at the entry of a key in its latched leaf, and unlatches that. Joins it with
    /// another, if few records are left, and there is a space that its page may go back to.
    #[inline(always)]
    pub(super) fn at_entry<A: AtEntry>(
        &self,
        leaf: Latched<'_>,
        pager: &Pager,
        space: Option<&Space>,
        key: &[u8],
        work: &mut A,
    ) -> Result<Step<A::Done>, A::Error> {
        let at = self.layout.node(leaf.words()).search(SearchKey::new(key));
        let mut entry_mut = TreeEntryMut { tree: self, key, leaf, at, is_sparse: false };
        let step = work.work(&mut entry_mut);
        let TreeEntryMut { leaf, is_sparse, .. } = entry_mut;
        drop(leaf);
        if let Some(space) = space.filter(|_| is_sparse) {
            // The record is deleted; a join that fails now is done later.
            let _ = self.merge(pager, space, key);
        }
        step
    }
}

/// The entry of a key in its leaf, or the place where it would be.
struct TreeEntryMut<'t> {
    tree: &'t Tree,
    key: &'t [u8],
    leaf: Latched<'t>,
    /// The position of the entry, or the one that it would have.
    at: Result<usize, usize>,
    /// True if the leaf is left so sparse that it should be joined with another.
    is_sparse: bool,
}

impl TreeEntryMut<'_> {
    #[inline(always)]
    fn entry(&self) -> usize {
        self.at.unwrap_or_else(|at| at)
    }

    #[inline(always)]
    fn node(&self) -> Node<'_> {
        self.tree.layout.node(self.leaf.words())
    }

    #[inline(always)]
    fn node_mut(&mut self, epoch: Epoch) -> NodeMut<'_> {
        self.tree.layout.node_mut(self.leaf.change(epoch))
    }
}

impl EntryMut for TreeEntryMut<'_> {
    #[inline(always)]
    fn is_there(&self) -> bool {
        self.at.is_ok()
    }

    #[inline(always)]
    fn has_room(&self) -> bool {
        self.node().has_room(self.key.len())
    }

    #[inline(always)]
    fn last_frame(&self) -> Option<&AtomicU64> {
        self.leaf.last_frame()
    }

    #[inline(always)]
    fn payload_size(&self) -> usize {
        self.tree.layout.shape.payload_size
    }

    #[inline(always)]
    fn read(&self, payload: &mut [u8]) {
        self.node().read_payload(self.entry(), 0, payload);
    }

    #[inline(always)]
    fn write(&mut self, epoch: Epoch, at: usize, bytes: &[u8]) {
        let entry = self.entry();
        self.node_mut(epoch).write_payload(entry, at, bytes);
    }

    #[inline(always)]
    fn insert(&mut self, epoch: Epoch, Record { key, payload }: Record<'_>) {
        let entry = self.entry();
        self.node_mut(epoch).insert(entry, key, payload);
    }

    #[inline(always)]
    fn remove(&mut self, epoch: Epoch) {
        let entry = self.entry();
        let mut node = self.node_mut(epoch);
        node.remove(entry);
        self.is_sparse = is_sparse(*node);
    }
}

/// Returns true if a node should be joined with another.
pub(super) fn is_sparse(node: Node<'_>) -> bool {
    node.used() < node.capacity() / 4
}
