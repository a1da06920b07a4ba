//! Scans of the tree at a moment, one leaf at a time.

use std::ops::Bound;

use super::batch::{Batch, Wanted};
use super::{Node, Tree};
use crate::error::{Error, Result};
use crate::index::Visit;
use crate::pager::{Pager, ReadEpoch};

/// Which way a scan goes.
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
    /// From here on.
    pub lower: Bound<Vec<u8>>,
    /// Up to here.
    pub upper: Bound<Vec<u8>>,
}

impl Range {
    /// Whether there can be keys of the range below this one.
    fn has_some_below(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Included(lower) | Bound::Excluded(lower) => &lower[..] < key,
            Bound::Unbounded => true,
        }
    }

    fn is_below_upper(&self, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Included(upper) => key <= &upper[..],
            Bound::Excluded(upper) => key < &upper[..],
            Bound::Unbounded => true,
        }
    }
}

/// Where a scan goes on.
enum Next {
    /// At the first key from this one on.
    From(Vec<u8>),
    /// At the first key of all.
    First,
    /// At the last key before this one.
    Before(Vec<u8>),
    /// At the last key up to this one.
    UpTo(Vec<u8>),
    /// At the last key of all.
    Last,
}

impl Tree {
    /// Calls `visit` with what is wanted of each record in a range as it was at a moment, its key
    /// and bytes of its payload, until it answers false. Only that is copied out of the pages.
    pub(crate) fn scan(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        (range, direction): (&Range, Direction),
        wanted: &Wanted,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let mut batch = Batch::default();
        let mut next = Some(match (direction, &range.lower, &range.upper) {
            (Direction::Forward, Bound::Unbounded, _) => Next::First,
            (Direction::Forward, Bound::Included(key) | Bound::Excluded(key), _) => {
                Next::From(key.clone())
            }
            (Direction::Backward, _, Bound::Unbounded) => Next::Last,
            (Direction::Backward, _, Bound::Included(key)) => Next::UpTo(key.clone()),
            (Direction::Backward, _, Bound::Excluded(key)) => Next::Before(key.clone()),
        });
        while let Some(start) = next.take() {
            let leaf = self.leaf_at(pager, moment, &|node| start.child_of(node))?;
            let more = pager.at(moment, leaf, |words| {
                let node = self.layout.node(words);
                batch.fill(node, entries_in(node, range), wanted);
                let fences = node.fences();
                match direction {
                    Direction::Forward => {
                        fences.upper.filter(|fence| range.is_below_upper(fence)).map(Next::From)
                    }
                    Direction::Backward => {
                        fences.lower.filter(|fence| range.has_some_below(fence)).map(Next::Before)
                    }
                }
            })?;
            if !batch.each(direction, visit)? {
                return Ok(());
            }
            if let (Some(more), Some(start)) = (more.as_ref().and_then(Next::fence), start.fence())
            {
                let goes_on = match direction {
                    Direction::Forward => more > start,
                    Direction::Backward => more < start,
                };
                if !goes_on {
                    let why = "the fences of its node lead back to where a scan came from";
                    return Err(Error::corrupt(format!("page {leaf}"), why));
                }
            }
            next = more;
        }
        Ok(())
    }
}

impl Tree {
    /// Calls `visit` with key and payload of all records at a moment that can be read, in the order
    /// of keys, until it returns false, and `fault` with each error of a node that cannot.
    pub(crate) fn each_readable(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        visit: &mut Visit<'_>,
        fault: &mut dyn FnMut(Error),
    ) -> Result<()> {
        let wanted = Wanted::all(self.layout.shape.payload_size);
        let (mut batch, mut nodes) = (Batch::default(), vec![(self.root(), usize::MAX)]);
        while let Some((page, above)) = nodes.pop() {
            let read = pager.at(moment, page, |words| {
                let node = self.layout.node(words);
                let records = if node.is_leaf() { node.count() } else { 0 };
                batch.fill(node, 0..records, &wanted);
                let children = if node.is_leaf() { 0 } else { node.count() };
                (node.level(), (0..children).map(|at| node.child(at)).collect::<Vec<_>>())
            });
            match read {
                Ok((level, children)) if level < above => {
                    nodes.extend(children.into_iter().rev().map(|child| (child, level)));
                    if !batch.each(Direction::Forward, visit)? {
                        return Ok(());
                    }
                }
                Ok(_) => fault(super::goes_up(page)),
                Err(error @ Error::Corrupt { .. }) => fault(error),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// How many records there were at a moment, as the leaves count them.
    pub(crate) fn count(&self, pager: &Pager, moment: ReadEpoch) -> Result<u64> {
        let (mut count, mut nodes) = (0, vec![(self.root(), usize::MAX)]);
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

/// The entries of a leaf that are in a range.
fn entries_in(node: Node<'_>, range: &Range) -> std::ops::Range<usize> {
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
    /// The key that a scan goes on at after a leaf, if it is at one: each is beyond the one before.
    fn fence(&self) -> Option<&[u8]> {
        match self {
            Self::From(key) | Self::Before(key) => Some(key),
            Self::UpTo(_) | Self::First | Self::Last => None,
        }
    }

    /// The entry of the child to go down to.
    fn child_of(&self, node: Node<'_>) -> usize {
        match self {
            Self::First => 0,
            Self::Last => node.count().saturating_sub(1),
            Self::From(key) | Self::UpTo(key) => node.responsible(key),
            Self::Before(key) => match node.search(key) {
                Ok(at) | Err(at) => at.saturating_sub(1),
            },
        }
    }
}
