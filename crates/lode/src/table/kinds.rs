//! The index of a table, of either kind.

use std::ops::Bound;
use std::sync::Arc;

use super::KeyKind;
use super::by_page::ByPage;
use super::definition::Definition;
use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::hash::{Buckets, FirstBuckets, Hash, HashPlace};
use crate::index::{AtEntry, Index, Shape, WriteContext};
use crate::pager::{PageNumber, Pager, ReadEpoch, Space};
use crate::tree::{self, Direction, Leaves, Nodes, Range, Tree, Wanted};

/// A place in an index at which a walk over its pages continues.
#[derive(Clone, Debug)]
pub(crate) enum Cursor {
    /// A place in the directory of a hash.
    Place(HashPlace),
    Node(tree::Cursor),
}

/// A walk over the records of an index at a moment, a page at a time.
#[derive(Clone)]
pub(crate) enum Walk {
    /// All buckets of a hash.
    Buckets(Buckets),
    /// All buckets of a hash, in an order that suits its heap.
    ByPage(Box<ByPage>),
    /// The leaves of a tree that have keys of a range.
    Leaves(Leaves),
    /// All nodes of a tree that can be read.
    Nodes(Nodes),
}

impl Walk {
    /// Has the walk continue at another moment.
    pub(crate) fn change_moment(&mut self) {
        if let Self::Leaves(leaves) = self {
            leaves.forget_siblings();
        }
    }

    /// Returns true if the walk can continue after an error of a page, and leave the page out.
    pub(crate) fn goes_on(&self, error: &Error) -> bool {
        let knows_way = match self {
            Self::Buckets(buckets) => !buckets.is_lost,
            Self::ByPage(by_page) => by_page.knows_way(),
            Self::Nodes(_) => true,
            Self::Leaves(_) => false,
        };
        knows_way && matches!(error, Error::Corrupt { .. })
    }
}

/// The index of a table.
#[derive(Clone)]
pub(crate) enum Kinds {
    Hash(Arc<Hash>),
    Tree(Tree),
}

impl Kinds {
    /// Creates an index.
    pub(crate) fn create(pager: &Pager, space: &Space, definition: &Definition) -> Result<Self> {
        Ok(match definition.kind {
            KeyKind::Hash => {
                let first =
                    if pager.has_memory_to_spare() { FirstBuckets::Few } else { FirstBuckets::One };
                let hash = Hash::create(pager, space, definition.hash_parameters(), first)?;
                Self::Hash(Arc::new(hash))
            }
            KeyKind::Tree => Self::Tree(Tree::create(pager, space, definition.shape())?),
        })
    }

    /// Opens the index that starts at a page.
    pub(crate) fn open(pager: &Pager, root: PageNumber, definition: &Definition) -> Result<Self> {
        Ok(match definition.kind {
            KeyKind::Hash => {
                Self::Hash(Arc::new(Hash::open(pager, root, definition.hash_parameters())?))
            }
            KeyKind::Tree => Self::Tree(Tree::open(root, definition.shape())),
        })
    }

    /// Returns the page at which the index starts.
    pub(crate) fn root(&self) -> PageNumber {
        match self {
            Self::Hash(hash) => hash.root(),
            Self::Tree(tree) => tree.root(),
        }
    }

    /// Copies the payload under a key; returns false if the key is missing.
    #[inline(always)]
    pub(crate) fn get(&self, pager: &Pager, key: &[u8], payload: &mut [u8]) -> Result<bool> {
        match self {
            Self::Hash(hash) => hash.get(pager, key, payload),
            Self::Tree(tree) => tree.get(pager, key, payload),
        }
    }

    /// Starts a walk over all records: in the order of keys, or of their hashes.
    pub(crate) fn walk(&self) -> Walk {
        match self {
            Self::Hash(_) => Walk::Buckets(Buckets::new()),
            Self::Tree(_) => {
                let all = Range { lower: Bound::Unbounded, upper: Bound::Unbounded };
                Walk::Leaves(Leaves::new(Arc::new(all), Direction::Forward, u64::MAX))
            }
        }
    }

    /// Starts a walk over all records that can be read. A walk over hashed keys has no direction.
    pub(crate) fn walk_readable(&self, direction: Direction) -> Walk {
        match self {
            Self::Hash(_) => Walk::Buckets(Buckets::new()),
            Self::Tree(tree) => Walk::Nodes(tree.nodes(direction)),
        }
    }

    /// Copies the records of the next page of a walk as they were at a moment: in a walk over
    /// leaves the `wanted` parts of them, in others keys and payloads. There may be none. Returns
    /// false at the end.
    ///
    /// # Errors
    /// The fault of a page. [`Walk::goes_on`] says if the walk can continue after it.
    pub(crate) fn next_page(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        walk: &mut Walk,
        wanted: &Wanted,
        batch: &mut Batch,
    ) -> Result<bool> {
        match (self, walk) {
            (Self::Hash(hash), Walk::Buckets(buckets)) => {
                hash.next_bucket(pager, moment, buckets, batch)
            }
            (Self::Hash(hash), Walk::ByPage(by_page)) => by_page.next(hash, pager, moment, batch),
            (Self::Tree(tree), Walk::Leaves(leaves)) => {
                tree.next_leaf(pager, moment, leaves, wanted, batch)
            }
            (Self::Tree(tree), Walk::Nodes(nodes)) => tree.next_node(pager, moment, nodes, batch),
            // A walk of the other kind has nothing here.
            _ => Ok(false),
        }
    }

    /// Returns the parts of a whole record, as a walk wants them.
    pub(crate) fn whole(&self) -> Wanted {
        Wanted::all(self.shape().payload_size)
    }

    /// Does one step of filling sparse pages from their neighbours. Returns where to continue;
    /// `None` at the end.
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

    /// Appends the entries of one page that `wanted` accepts, and their keys. Returns where to
    /// continue; `None` at the end.
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

    /// Returns the first page of records.
    pub(crate) fn first(&self) -> Cursor {
        match self {
            Self::Hash(_) => Cursor::Place(HashPlace::FIRST),
            Self::Tree(_) => Cursor::Node(tree::Cursor::first()),
        }
    }

    /// Calls `visit` with every key that a walk comes to, and its payload at a moment. Calls
    /// `fault` with the error of each page that cannot be read.
    pub(crate) fn each_readable(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        mut walk: Walk,
        visit: &mut dyn FnMut(&[u8], &[u8]),
        fault: &mut dyn FnMut(Error),
    ) -> Result<()> {
        let mut batch = Batch::default();
        let wanted = self.whole();
        loop {
            match self.next_page(pager, moment, &mut walk, &wanted, &mut batch) {
                Ok(false) => return Ok(()),
                Ok(true) => {
                    for at in 0..batch.len() {
                        let (key, payload) = batch.record(at);
                        visit(key, payload);
                    }
                }
                Err(error) if walk.goes_on(&error) => fault(error),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the number of keys at a moment.
    pub(crate) fn count(&self, pager: &Pager, moment: ReadEpoch) -> Result<u64> {
        match self {
            Self::Hash(hash) => hash.count(pager, moment),
            Self::Tree(tree) => tree.count(pager, moment),
        }
    }

    /// Estimates the number of keys at a moment.
    pub(crate) fn estimate(&self, pager: &Pager, moment: ReadEpoch) -> Result<u64> {
        match self {
            Self::Hash(hash) => hash.estimate(pager, moment),
            Self::Tree(tree) => tree.estimate(pager, moment),
        }
    }

    /// Calls `wrong` with each fault of its pages at a moment.
    pub(crate) fn check(&self, pager: &Pager, moment: ReadEpoch, wrong: &mut dyn FnMut(String)) {
        match self {
            Self::Hash(hash) => hash.check(pager, moment, wrong),
            Self::Tree(tree) => tree.check(pager, moment, wrong),
        }
    }
}

impl Index for Kinds {
    #[inline(always)]
    fn shape(&self) -> Shape {
        match self {
            Self::Hash(hash) => hash.shape(),
            Self::Tree(tree) => tree.shape(),
        }
    }

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
    fn at<A: AtEntry<Error = Error>>(
        &self,
        context: &WriteContext<'_>,
        key: &[u8],
        work: A,
    ) -> Result<A::Done> {
        match self {
            Self::Hash(hash) => hash.at(context, key, work),
            Self::Tree(tree) => tree.at(context, key, work),
        }
    }
}
