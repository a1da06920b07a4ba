//! Walks over the tree at a moment, one leaf at a time.

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use super::batch::{Wanted, fill};
use super::{Node, SearchKey, Tree};
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::pager::{PageNumber, Pager, ReadEpoch};

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the lowest key up.
    Forward,
    /// From the highest key down.
    Backward,
}

/// Keys between two bounds, as bytes in the order of keys.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    /// The lower bound.
    pub lower: Bound<Vec<u8>>,
    /// The upper bound.
    pub upper: Bound<Vec<u8>>,
}

impl Range {
    /// Returns true if a key is in the range.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let lower = self.lower.as_ref();
        let upper = self.upper.as_ref();
        (lower.map(Vec::as_slice), upper.map(Vec::as_slice)).contains(key)
    }

    /// Returns true if the range may have keys below this one.
    fn has_some_below(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Included(lower) | Bound::Excluded(lower) => &lower[..] < key,
            Bound::Unbounded => true,
        }
    }

    /// Returns the range of all keys.
    pub(crate) fn all() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    fn is_below_upper(&self, key: &[u8]) -> bool {
        is_below(self.upper.as_ref().map(Vec::as_slice), key)
    }
}

/// The place from which a scan continues.
#[derive(Clone)]
enum Next {
    /// The start of its range.
    Start,
    /// The first key from this one on.
    From(Vec<u8>),
    /// The last key before this one.
    Before(Vec<u8>),
}

/// A walk over the leaves of a range, one at a time.
#[derive(Clone)]
pub(crate) struct Leaves {
    range: Arc<Range>,
    direction: Direction,
    /// The most records that are still to come.
    left: u64,
    next: Option<Next>,
    /// The next leaves, as their parent had them at the moment, the nearest one last.
    siblings: Vec<PageNumber>,
}

/// The most leaves that a walk notes at once.
const MOST_SIBLINGS: usize = 32;

impl Leaves {
    /// Creates a walk over at most `limit` records.
    pub(crate) fn new(range: Arc<Range>, direction: Direction, limit: u64) -> Self {
        Self { range, direction, left: limit, next: Some(Next::Start), siblings: Vec::new() }
    }

    /// Has the walk continue at another moment, at which other leaves may come next.
    pub(crate) fn forget_siblings(&mut self) {
        self.siblings.clear();
    }

    /// Returns the keys that the walk has come past.
    pub(crate) fn passed(&self) -> Option<Range> {
        let Range { lower, upper } = (*self.range).clone();
        match &self.next {
            None => Some(Range { lower, upper }),
            Some(Next::From(key)) => Some(Range { lower, upper: Bound::Excluded(key.clone()) }),
            Some(Next::Before(key)) => Some(Range { lower: Bound::Included(key.clone()), upper }),
            Some(Next::Start) => None,
        }
    }

    /// Returns the keys of the range up to one of them, in the direction of the walk.
    pub(crate) fn up_to(&self, key: &[u8]) -> Range {
        let Range { lower, upper } = (*self.range).clone();
        let last = Bound::Included(key.to_vec());
        match self.direction {
            Direction::Forward => Range { lower, upper: last },
            Direction::Backward => Range { lower: last, upper },
        }
    }

    /// Returns the siblings of the leaf that an entry of their parent leads to, as far as the walk
    /// may continue to them. At its start, returns none: most walks end in the first leaf.
    fn siblings_of(&self, start: &Next, parent: Node<'_>, at: usize) -> Vec<PageNumber> {
        if parent.level() != 1 || matches!(start, Next::Start) {
            return Vec::new();
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(MOST_SIBLINGS);
        let child = |at| parent.child(at);
        match self.direction {
            Direction::Forward => {
                let end = parent.count().min((at + 1).saturating_add(most));
                (at + 1..end).rev().map(child).collect()
            }
            Direction::Backward => (at.saturating_sub(most)..at).map(child).collect(),
        }
    }

    /// Returns the entries of a leaf that are to come.
    fn entries_in(&self, node: Node<'_>) -> std::ops::Range<usize> {
        let entries = entries_in(node, &self.range);
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(entries.len());
        match self.direction {
            Direction::Forward => entries.start..entries.start + most,
            Direction::Backward => entries.end - most..entries.end,
        }
    }

    /// Returns the place to continue from after a leaf, of which `passed` records have come.
    fn after(&self, node: Node<'_>, passed: usize) -> Option<Next> {
        if passed as u64 >= self.left {
            return None;
        }
        match self.direction {
            Direction::Forward => {
                let fence = node.upper_fence();
                fence.filter(|fence| self.range.is_below_upper(fence)).map(Next::From)
            }
            Direction::Backward => {
                let fence = node.lower_fence();
                fence.filter(|fence| self.range.has_some_below(fence)).map(Next::Before)
            }
        }
    }

    /// Refuses to continue at a place that has been passed already.
    fn expect_beyond(&self, leaf: PageNumber, start: &Next, next: Option<&Next>) -> Result<()> {
        let (Some(next), Some(start)) = (next.and_then(Next::fence), start.fence()) else {
            return Ok(());
        };
        let goes_on = match self.direction {
            Direction::Forward => next > start,
            Direction::Backward => next < start,
        };
        if goes_on {
            Ok(())
        } else {
            let why = "the fences of its node lead back to where a scan came from";
            Err(Error::corrupt(format!("page {leaf}"), why))
        }
    }
}

/// A walk over all nodes that can be read, one at a time, in the order of their keys.
#[derive(Clone)]
pub(crate) struct Nodes {
    direction: Direction,
    /// The pages to come, the next one last, each with a level that is above its own.
    pages: Vec<(PageNumber, usize)>,
}

impl Tree {
    /// Copies the wanted parts of the records of the next leaf, in the order of keys, as they were
    /// at a moment. Returns false, and copies nothing, at the end.
    ///
    /// # Errors
    /// The fault of a page; `SnapshotTooOld`. The walk stays where it is.
    pub(crate) fn next_leaf(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        leaves: &mut Leaves,
        wanted: &Wanted,
        batch: &mut Batch,
    ) -> Result<bool> {
        let Some(start) = leaves.next.take() else {
            batch.clear();
            return Ok(false);
        };
        let read = self.leaf_from(&start, pager, moment, leaves, wanted, batch);
        let next = match read {
            Ok(next) => next,
            Err(error) => {
                leaves.next = Some(start);
                return Err(error);
            }
        };
        debug_assert!(batch.len() as u64 <= leaves.left, "no more records come than are wanted");
        leaves.left -= (batch.len() as u64).min(leaves.left);
        leaves.next = next;
        Ok(true)
    }

    /// Copies the wanted parts of the records of the leaf at a place. Returns the place to continue
    /// from, if any.
    fn leaf_from(
        &self,
        start: &Next,
        pager: &Pager,
        moment: ReadEpoch,
        leaves: &mut Leaves,
        wanted: &Wanted,
        batch: &mut Batch,
    ) -> Result<Option<Next>> {
        let (leaf, next) = loop {
            let sibling = leaves.siblings.pop();
            let leaf = match sibling {
                Some(leaf) => leaf,
                None => {
                    let mut siblings = Vec::new();
                    let leaf = self.leaf_at(pager, moment, |node| {
                        let at = leaves.child_of(start, node);
                        siblings = leaves.siblings_of(start, node, at);
                        at
                    })?;
                    leaves.siblings = siblings;
                    leaf
                }
            };
            let next = pager.at(moment, leaf, |words| {
                let node = self.layout.node(words);
                if sibling.is_some() && !start.is_at(node) {
                    return None;
                }
                let passed = leaves.entries_in(node);
                fill(batch, node, passed.clone(), wanted);
                Some(leaves.after(node, passed.len()))
            })?;
            match next {
                Some(next) => break (leaf, next),
                // The leaf is found from the root.
                None => leaves.siblings.clear(),
            }
        };
        if let Some(sibling) = leaves.siblings.last().filter(|_| next.is_some()) {
            pager.fetch_ends(*sibling);
        }
        leaves.expect_beyond(leaf, start, next.as_ref())?;
        Ok(next)
    }

    /// Starts a walk over all nodes.
    pub(crate) fn nodes(&self, direction: Direction) -> Nodes {
        Nodes { direction, pages: vec![(self.root(), usize::MAX)] }
    }

    /// Copies key and payload of the records of the next node, in the order of keys, as they were
    /// at a moment. Returns false, and copies nothing, at the end.
    ///
    /// # Errors
    /// The fault of a node. The walk can continue, and leaves the node out.
    pub(crate) fn next_node(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        nodes: &mut Nodes,
        batch: &mut Batch,
    ) -> Result<bool> {
        batch.clear();
        let Some((page, above)) = nodes.pages.pop() else { return Ok(false) };
        let wanted = Wanted::all(self.layout.shape.payload_size);
        let read = pager.at(moment, page, |words| {
            let node = self.layout.node(words);
            let records = if node.is_leaf() { node.count() } else { 0 };
            fill(batch, node, 0..records, &wanted);
            let children = if node.is_leaf() { 0 } else { node.count() };
            (node.level(), (0..children).map(|at| node.child(at)).collect::<Vec<_>>())
        });
        let read = read.and_then(|(level, children)| {
            if level < above { Ok((level, children)) } else { Err(super::goes_up(page)) }
        });
        let (level, mut children) = read.inspect_err(|_| batch.clear())?;
        if nodes.direction == Direction::Forward {
            children.reverse();
        }
        nodes.pages.extend(children.into_iter().map(|child| (child, level)));
        Ok(true)
    }

    /// Counts the records at a moment, by the counts of their leaves.
    pub(crate) fn count(&self, pager: &Pager, moment: ReadEpoch) -> Result<u64> {
        let mut count = 0;
        let mut nodes = vec![(self.root(), usize::MAX)];
        while let Some((page, above)) = nodes.pop() {
            let (level, records, children) = pager.at(moment, page, |words| {
                let node = self.layout.node(words);
                let children = if node.is_leaf() { 0 } else { node.count() };
                let children: Vec<_> = (0..children).map(|at| node.child(at)).collect();
                (node.level(), if node.is_leaf() { node.count() } else { 0 }, children)
            })?;
            if level >= above {
                return Err(super::goes_up(page));
            }
            count += records as u64;
            nodes.extend(children.into_iter().map(|child| (child, level)));
        }
        Ok(count)
    }
}

/// Returns true if a key is below an upper bound, or at it.
pub(super) fn is_below(upper: Bound<&[u8]>, key: &[u8]) -> bool {
    match upper {
        Bound::Included(upper) => key <= upper,
        Bound::Excluded(upper) => key < upper,
        Bound::Unbounded => true,
    }
}

/// Returns the entries of a leaf that are in a range.
pub(super) fn entries_in(node: Node<'_>, range: &Range) -> std::ops::Range<usize> {
    let first = match &range.lower {
        Bound::Included(key) => node.place(key).unwrap_or_else(|at| at),
        Bound::Excluded(key) => node.place(key).map_or_else(|at| at, |at| at + 1),
        Bound::Unbounded => 0,
    };
    let end = match &range.upper {
        Bound::Included(key) => node.place(key).map_or_else(|at| at, |at| at + 1),
        Bound::Excluded(key) => node.place(key).unwrap_or_else(|at| at),
        Bound::Unbounded => node.count(),
    };
    first..end.max(first)
}

impl Next {
    /// Returns the key to continue from after a leaf, if any: each is beyond the one before.
    fn fence(&self) -> Option<&[u8]> {
        match self {
            Self::From(key) | Self::Before(key) => Some(key),
            Self::Start => None,
        }
    }

    /// Returns true if a node is the leaf at which the scan continues.
    fn is_at(&self, node: Node<'_>) -> bool {
        node.is_leaf()
            && match self {
                Self::Start => false,
                Self::From(key) => node.begins_at(key),
                Self::Before(key) => node.ends_at(key),
            }
    }
}

impl Leaves {
    /// Returns the entry of the child to go down to.
    fn child_of(&self, next: &Next, node: Node<'_>) -> usize {
        let before = |key: &[u8]| match node.search(SearchKey::new(key)) {
            Ok(at) | Err(at) => at.saturating_sub(1),
        };
        match (next, self.direction) {
            (Next::From(key), _) => node.responsible(SearchKey::new(key)),
            (Next::Before(key), _) => before(key),
            (Next::Start, Direction::Forward) => match &self.range.lower {
                Bound::Included(key) | Bound::Excluded(key) => {
                    node.responsible(SearchKey::new(key))
                }
                Bound::Unbounded => 0,
            },
            (Next::Start, Direction::Backward) => match &self.range.upper {
                Bound::Included(key) => node.responsible(SearchKey::new(key)),
                Bound::Excluded(key) => before(key),
                Bound::Unbounded => node.count().saturating_sub(1),
            },
        }
    }
}
