//! Writes of single records to a leaf.

use super::Tree;
use super::node::{Node, NodeMut, SearchKey};
use crate::index::{EntryMut, LatchedEntry, Record};
use crate::pager::{Epoch, Latched, Pager, Space};

impl Tree {
    /// Returns the entry of a key, if no absent or latched page is in the way to it.
    #[inline(always)]
    pub(crate) fn try_entry<'t>(
        &'t self,
        pager: &'t Pager,
        key: &'t [u8],
    ) -> Option<TreeEntryMut<'t>> {
        let (seen, _) = self.try_read(pager, SearchKey::new(key))?;
        Some(TreeEntryMut::new(self, pager.latch(seen)?, key))
    }
}

/// The entry of a key in its leaf, or the place where it would be.
pub(crate) struct TreeEntryMut<'t> {
    tree: &'t Tree,
    key: &'t [u8],
    leaf: Latched<'t>,
    at: Result<usize, usize>,
    /// True if so many records were removed that the leaf should be joined with another.
    is_sparse: bool,
}

impl<'t> TreeEntryMut<'t> {
    #[inline(always)]
    pub(super) fn new(tree: &'t Tree, leaf: Latched<'t>, key: &'t [u8]) -> Self {
        let at = tree.layout.node(leaf.words()).search(SearchKey::new(key));
        Self { tree, key, leaf, at, is_sparse: false }
    }

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

impl LatchedEntry for TreeEntryMut<'_> {
    #[inline(always)]
    fn finish(self, pager: &Pager, space: &Space) {
        let Self { tree, key, leaf, is_sparse, .. } = self;
        drop(leaf);
        if is_sparse {
            // The record is deleted; a join that fails now is done later.
            let _ = tree.merge(pager, space, key);
        }
    }
}

/// Returns true if a node should be joined with another.
pub(super) fn is_sparse(node: Node<'_>) -> bool {
    node.used() < node.capacity() / 4
}
