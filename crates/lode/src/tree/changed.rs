//! The leaves of a range as they are now, for a transaction that looks whether its scans would find
//! the same: by their numbers first, since leaves that have not changed need not be read.

use std::ops::Bound;

use super::batch::{Wanted, fill};
use super::{Node, Range, SearchKey, Tree};
use crate::batch::Batch;
use crate::error::Result;
use crate::pager::{PageNumber, Pager};

/// A node whose keys may be in a range, and the bounds of the range that are inside the node.
struct Part {
    page: PageNumber,
    level: usize,
    has_lower: bool,
    has_upper: bool,
}

impl Tree {
    /// Reads a node. No thread may change the tree, but pages may leave memory.
    fn read_now<T>(
        &self,
        pager: &Pager,
        page: PageNumber,
        read: impl Fn(Node<'_>) -> T,
    ) -> Result<T> {
        loop {
            let (seen, words) = pager.read_optimistic(page)?;
            let answer = read(self.layout.node(words));
            if seen.validate() {
                return Ok(answer);
            }
        }
    }

    /// Calls `visit` with the leaves that are responsible for keys of a range, until it returns
    /// false. No thread may change the tree. Leaves are not read.
    ///
    /// # Errors
    /// The fault of a node; the error of `visit`.
    pub(crate) fn each_leaf(
        &self,
        pager: &Pager,
        range: &Range,
        visit: &mut dyn FnMut(PageNumber) -> Result<bool>,
    ) -> Result<()> {
        let mut parts = Vec::new();
        let level_of = |node: Node<'_>| if node.is_leaf() { 0 } else { node.level() };
        let level = self.read_now(pager, self.root(), level_of)?;
        parts.push(Part { page: self.root(), level, has_lower: true, has_upper: true });
        while let Some(part) = parts.pop() {
            if part.level == 0 {
                if !visit(part.page)? {
                    return Ok(());
                }
                continue;
            }
            let first_new = parts.len();
            let children = self.read_now(pager, part.page, |node| {
                if node.level() != part.level {
                    return Err(super::goes_up(part.page));
                }
                Ok(part.children(node, range))
            })?;
            parts.extend(children?);
            parts[first_new..].reverse();
        }
        Ok(())
    }

    /// Copies the records of a leaf, and returns its part of a range. No thread may change it.
    pub(crate) fn copy_leaf_now(
        &self,
        pager: &Pager,
        leaf: PageNumber,
        range: &Range,
        batch: &mut Batch,
    ) -> Result<Range> {
        let wanted = Wanted::all(self.layout.shape.payload_size);
        loop {
            let (seen, words) = pager.read_optimistic(leaf)?;
            let node = self.layout.node(words);
            let entries = super::scan::entries_in(node, range);
            fill(batch, node, entries, &wanted);
            let fences = node.fences();
            if seen.validate() {
                return Ok(range.within(fences.lower, fences.upper));
            }
        }
    }
}

impl Part {
    /// Returns the children of the part that may have keys of a range.
    fn children(&self, node: Node<'_>, range: &Range) -> Vec<Self> {
        let responsible = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => {
                Some(node.responsible(SearchKey::new(key)))
            }
            Bound::Unbounded => None,
        };
        let first = self.has_lower.then(|| responsible(&range.lower)).flatten().unwrap_or(0);
        let end = node.count();
        let last = self.has_upper.then(|| responsible(&range.upper)).flatten();
        let last = last.unwrap_or(end.saturating_sub(1));
        let child = |at: usize| Self {
            page: node.child(at),
            level: self.level - 1,
            has_lower: self.has_lower && at == first,
            has_upper: self.has_upper && at == last,
        };
        (first..(last + 1).min(end)).map(child).collect()
    }
}

impl Range {
    /// Returns the bytes that its bounds take up on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        let bytes = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => key.capacity(),
            Bound::Unbounded => 0,
        };
        bytes(&self.lower) + bytes(&self.upper)
    }

    /// Returns the part of the range between the fences of a node.
    fn within(&self, lower_fence: Option<Vec<u8>>, upper_fence: Option<Vec<u8>>) -> Self {
        let lower = match (&self.lower, lower_fence) {
            (Bound::Included(key) | Bound::Excluded(key), Some(fence)) if *key < fence => {
                Bound::Included(fence)
            }
            (Bound::Unbounded, Some(fence)) => Bound::Included(fence),
            (own, _) => own.clone(),
        };
        let upper = match (&self.upper, upper_fence) {
            (Bound::Included(key) | Bound::Excluded(key), Some(fence)) if *key >= fence => {
                Bound::Excluded(fence)
            }
            (Bound::Unbounded, Some(fence)) => Bound::Excluded(fence),
            (own, _) => own.clone(),
        };
        Self { lower, upper }
    }
}
