//! Lookups of several keys at once. They go down the tree together, a level at a time: while the
//! memory of one node comes, that of the others is asked for.

use super::Tree;
use super::node::{Node, SearchKey};
use crate::pager::{Pager, Seen};

/// The most leaves that stay in the processor's cache.
const FEW_LEAVES: usize = 64;

/// A lookup of a key: its leaf, as it was seen.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'t> {
    seen: Seen<'t>,
    leaf: Node<'t>,
    /// The entry of the key, if it exists.
    at: Option<usize>,
}

/// The way to a key, down to a node.
struct Descent<'t> {
    key: SearchKey<'t>,
    seen: Seen<'t>,
    node: Node<'t>,
    /// The entry of the child that is responsible for the key.
    at: usize,
}

impl Tree {
    /// Returns true if the tree has more leaves than stay in the processor's cache.
    pub(crate) fn has_many_leaves(&self, pager: &Pager) -> bool {
        pager.try_read(self.root).is_some_and(|(_, words)| {
            let root = self.layout.node(words);
            root.level() > 1 || root.level() == 1 && root.count() > FEW_LEAVES
        })
    }

    /// Looks up keys, and calls `found` with each one, by its number, that can be read at once: the
    /// pages down to its leaf are in memory, and no other thread changes them.
    pub(crate) fn try_read_many<'t, 'k: 't>(
        &'t self,
        pager: &'t Pager,
        keys: impl ExactSizeIterator<Item = &'k [u8]>,
        mut found: impl FnMut(usize, Attempt<'t>),
    ) {
        let Some((seen, words)) = pager.try_read(self.root) else { return };
        let node = self.layout.node(words);
        let begin = |key| Some(Descent { key: SearchKey::new(key), seen, node, at: 0 });
        let mut descents: Vec<_> = keys.map(begin).collect();
        for _ in 0..node.level() {
            for descent in descents.iter().flatten() {
                descent.node.fetch_guess(descent.key);
            }
            for descent in descents.iter_mut().flatten() {
                descent.at = descent.node.responsible(descent.key);
                descent.node.fetch_child(descent.at);
            }
            for descent in &mut descents {
                *descent = descent.take().and_then(|descent| self.go_down(pager, descent));
            }
        }
        for descent in descents.iter().flatten() {
            descent.node.fetch_guess(descent.key);
        }
        for (number, descent) in descents.iter().enumerate() {
            let Some(Descent { key, seen, node: leaf, .. }) = descent else { continue };
            let at = leaf.search(*key).ok();
            at.into_iter().for_each(|at| leaf.fetch_record(at));
            found(number, Attempt { seen: *seen, leaf: *leaf, at });
        }
    }

    fn go_down<'t>(&'t self, pager: &'t Pager, descent: Descent<'t>) -> Option<Descent<'t>> {
        let (seen, words) = pager.try_read(descent.node.child(descent.at))?;
        let node = self.layout.node(words);
        // The child was looked at while its parent led to it.
        let is_child = descent.seen.validate() && node.level() < descent.node.level();
        words.fetch(0);
        is_child.then_some(Descent { seen, node, ..descent })
    }
}

impl Attempt<'_> {
    /// Copies the payload of the key's record, and returns true if the record exists; `None` if the
    /// leaf has changed since.
    pub(crate) fn read(&self, payload: &mut [u8]) -> Option<bool> {
        if let Some(at) = self.at {
            self.leaf.read_payload(at, 0, payload);
        }
        self.seen.validate().then_some(self.at.is_some())
    }
}
