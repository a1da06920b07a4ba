//! The index of a table, of either kind.

use std::ops::Bound;

use super::KeyKind;
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::index::{EntryMut, Index, Shape, Step, Visit, WriteContext};
use crate::pager::{PageNumber, Pager, ReadEpoch, Space};
use crate::tree::{self, Direction, Range, Tree, Wanted};

/// A place in an index at which a walk over its pages goes on.
#[derive(Clone, Debug)]
pub(crate) enum Cursor {
    /// A place in the directory of a hash.
    Place(u64),
    Node(tree::Cursor),
}

/// The index of a table.
pub(crate) enum Kinds {
    Hash(Box<Hash>),
    Tree(Tree),
}

impl Kinds {
    /// A new one, with a seed for its hash function.
    pub(crate) fn create(
        pager: &Pager,
        space: &Space,
        (kind, seed): (KeyKind, u64),
        shape: Shape,
    ) -> Result<Self> {
        Ok(match kind {
            KeyKind::Hash => Self::Hash(Box::new(Hash::create(pager, space, shape, seed)?)),
            KeyKind::Tree => Self::Tree(Tree::create(pager, space, shape)?),
        })
    }

    /// One that is there, by the page that it begins at.
    pub(crate) fn open(
        pager: &Pager,
        root: PageNumber,
        (kind, seed): (KeyKind, u64),
        shape: Shape,
    ) -> Result<Self> {
        Ok(match kind {
            KeyKind::Hash => Self::Hash(Box::new(Hash::open(pager, root, shape, seed)?)),
            KeyKind::Tree => Self::Tree(Tree::open(root, shape)),
        })
    }

    /// The page that it begins at.
    pub(crate) fn root(&self) -> PageNumber {
        match self {
            Self::Hash(hash) => hash.root(),
            Self::Tree(tree) => tree.root(),
        }
    }

    /// Copies what it has under a key; false if there is none.
    #[inline(always)]
    pub(crate) fn get(&self, pager: &Pager, key: &[u8], payload: &mut [u8]) -> Result<bool> {
        match self {
            Self::Hash(hash) => hash.get(pager, key, payload),
            Self::Tree(tree) => tree.get(pager, key, payload),
        }
    }

    /// Calls `visit` with every key and what was under it at a moment, until it answers false: in
    /// the order of keys, or of their hashes.
    pub(crate) fn each(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        match self {
            Self::Hash(hash) => hash.scan(pager, moment, visit),
            Self::Tree(tree) => {
                let all = Range { lower: Bound::Unbounded, upper: Bound::Unbounded };
                let wanted = Wanted::all(tree.shape().payload_size);
                tree.scan(pager, moment, (&all, Direction::Forward), &wanted, visit)
            }
        }
    }

    /// Does one step of filling sparse pages from their neighbours. Returns where to go on; `None`
    /// at the end.
    pub(crate) fn fill(&self, pager: &Pager, space: &Space, at: Cursor) -> Result<Option<Cursor>> {
        Ok(match (self, at) {
            (Self::Hash(hash), Cursor::Place(place)) => {
                hash.fill(pager, space, place)?.map(Cursor::Place)
            }
            (Self::Tree(tree), Cursor::Node(node)) => {
                tree.fill(pager, space, node)?.map(Cursor::Node)
            }
            _ => None,
        })
    }

    /// Appends the entries of one page that `wanted` accepts, and their keys. Returns where to go
    /// on; `None` at the end.
    pub(crate) fn copy_entries(
        &self,
        pager: &Pager,
        at: Cursor,
        wanted: &dyn Fn([u8; 8]) -> bool,
        entries: &mut Vec<(Vec<u8>, [u8; 8])>,
    ) -> Result<Option<Cursor>> {
        Ok(match (self, at) {
            (Self::Hash(hash), Cursor::Place(place)) => {
                hash.copy_bucket(pager, place, wanted, entries)?.map(Cursor::Place)
            }
            (Self::Tree(tree), Cursor::Node(node)) => {
                tree.copy_leaf(pager, node, wanted, entries)?.map(Cursor::Node)
            }
            _ => None,
        })
    }

    /// The first page of records.
    pub(crate) fn first(&self) -> Cursor {
        match self {
            Self::Hash(_) => Cursor::Place(0),
            Self::Tree(_) => Cursor::Node(tree::Cursor::first()),
        }
    }

    /// The same for all that can be read; `fault` gets the error of each page that cannot.
    pub(crate) fn each_readable(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        visit: &mut Visit<'_>,
        fault: &mut dyn FnMut(Error),
    ) -> Result<()> {
        match self {
            Self::Hash(hash) => hash.each_readable(pager, moment, visit, fault),
            Self::Tree(tree) => tree.each_readable(pager, moment, visit, fault),
        }
    }

    /// How many keys there were at a moment.
    pub(crate) fn count(&self, pager: &Pager, moment: ReadEpoch) -> Result<u64> {
        match self {
            Self::Hash(hash) => hash.count(pager, moment),
            Self::Tree(tree) => tree.count(pager, moment),
        }
    }

    /// Calls `wrong` with what is wrong with each of its pages at a moment.
    pub(crate) fn check(&self, pager: &Pager, moment: ReadEpoch, wrong: &mut dyn FnMut(String)) {
        match self {
            Self::Hash(hash) => hash.check(pager, moment, wrong),
            Self::Tree(tree) => tree.check(pager, moment, wrong),
        }
    }
}

impl Index for Kinds {
    fn get_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        key: &[u8],
        payload: &mut [u8],
    ) -> Result<bool> {
        match self {
            Self::Hash(hash) => hash.get_at(pager, moment, key, payload),
            Self::Tree(tree) => tree.get_at(pager, moment, key, payload),
        }
    }

    #[inline(always)]
    fn locate<T>(
        &self,
        pager: &Pager,
        key: &[u8],
        follow: impl FnMut([u8; 8]) -> T,
    ) -> Result<Option<T>> {
        match self {
            Self::Hash(hash) => hash.locate(pager, key, follow),
            Self::Tree(tree) => tree.locate(pager, key, follow),
        }
    }

    #[inline(always)]
    fn at<T>(
        &self,
        context: &WriteContext<'_>,
        key: &[u8],
        work: impl FnMut(&mut dyn EntryMut) -> Result<Step<T>>,
    ) -> Result<T> {
        match self {
            Self::Hash(hash) => hash.at(context, key, work),
            Self::Tree(tree) => tree.at(context, key, work),
        }
    }
}
