//! A table of keys in their order: a B+tree whose readers latch nothing (optimistic lock coupling:
//! Leis, Haubenschild, Neumann: Optimistic Lock Coupling, IEEE Data Engineering Bulletin 42(1),
//! 2019). The page of the root stays the same; when it is full, its content moves down.
//!
//! An operation that needs room in a node makes it first, from the root down, and then looks again.
//! So none changes more than two levels at a time.

mod batch;
mod changed;
mod estimate;
mod fill;
mod leaf;
mod many;
mod neighbours;
mod node;
mod salvage;
mod scan;
mod split;
mod write;

pub(crate) use batch::Wanted;
pub(crate) use fill::Cursor;
pub(crate) use leaf::First;
use neighbours::{Beside, Side};
use node::{Fences, Layout, Node, SearchKey};
pub(crate) use scan::{Direction, Leaves, Nodes, Range};
use write::is_sparse;

use crate::error::{Error, Result};
use crate::index::{AtEntry, Index, Record, Shape, Step, WriteContext};
use crate::pager::{Image, PageNumber, Pager, ReadEpoch, Seen, Space};
use crate::wal::Touched;

/// The most bytes of a record: a leaf has room for at least three.
pub(crate) const MOST_RECORD_BYTES: usize = 4096;

/// A table of ordered keys.
#[derive(Clone)]
pub(crate) struct Tree {
    root: PageNumber,
    layout: Layout,
}

/// A node as it was found: with its parent, if it has one, and the entry that leads to it.
struct Found<'p> {
    parent: Option<(Seen<'p>, usize)>,
    seen: Seen<'p>,
    node: Node<'p>,
}

impl Tree {
    /// Creates a table without records.
    pub(crate) fn create(pager: &Pager, space: &Space, shape: Shape) -> Result<Self> {
        let layout = Layout::new(shape);
        let mut root = pager.allocate(space)?;
        layout.node_mut(root.first_content()).clear(0, &Fences::default());
        Ok(Self { root: root.page(), layout })
    }

    /// Opens an existing table by the page of its root.
    pub(crate) fn open(root: PageNumber, shape: Shape) -> Self {
        Self { root, layout: Layout::new(shape) }
    }

    /// Returns the page of the root, which stays the same.
    pub(crate) fn root(&self) -> PageNumber {
        self.root
    }

    /// Returns a key that is not greater than any other.
    fn lowest_key(&self) -> Vec<u8> {
        if self.layout.shape.is_variable { Vec::new() } else { vec![0; self.layout.shape.key_size] }
    }

    /// Returns the node of a level that is responsible for a key, as it was seen.
    #[inline]
    fn read_optimistic<'p>(
        &self,
        pager: &'p Pager,
        key: SearchKey<'_>,
        level: usize,
    ) -> Result<Found<'p>> {
        'again: loop {
            let (mut seen, words) = pager.read_optimistic(self.root)?;
            let mut node = self.layout.node(words);
            let mut parent = None;
            while node.level() > level {
                let at = node.responsible(key);
                let child = pager.read_optimistic(node.child(at));
                // The child was looked at while its parent led to it.
                if !seen.validate() {
                    continue 'again;
                }
                let (child_seen, child) = child?;
                let child = self.layout.node(child);
                if child.level() >= node.level() {
                    if child_seen.validate() && seen.validate() {
                        return Err(goes_up(child_seen.page()));
                    }
                    continue 'again;
                }
                parent = Some((seen, at));
                (seen, node) = (child_seen, child);
            }
            return Ok(Found { parent, seen, node });
        }
    }

    /// Copies the record's payload; returns false if the record does not exist.
    #[inline]
    pub(crate) fn get(&self, pager: &Pager, key: &[u8], payload: &mut [u8]) -> Result<bool> {
        let key = SearchKey::new(key);
        loop {
            let Found { seen, node, .. } = self.read_optimistic(pager, key, 0)?;
            let found = node.search(key);
            if let Ok(at) = found {
                node.read_payload(at, 0, payload);
            }
            if seen.validate() {
                return Ok(found.is_ok());
            }
        }
    }

    /// Returns the leaf that is responsible for a key, if the pages on the way are in memory and no
    /// other thread changes them.
    #[inline(always)]
    fn try_read<'p>(&self, pager: &'p Pager, key: SearchKey<'_>) -> Option<(Seen<'p>, Node<'p>)> {
        let (mut seen, words) = pager.try_read(self.root)?;
        let mut node = self.layout.node(words);
        while !node.is_leaf() {
            let (child_seen, words) = pager.try_read(node.child(node.responsible(key)))?;
            let child = self.layout.node(words);
            // The child was looked at while its parent led to it.
            if !seen.validate() || child.level() >= node.level() {
                return None;
            }
            (seen, node) = (child_seen, child);
        }
        Some((seen, node))
    }

    /// Returns the leaf of a key, if it is in memory and no thread changes it.
    pub(crate) fn page_of(&self, pager: &Pager, key: &[u8]) -> Option<PageNumber> {
        let (seen, _) = self.try_read(pager, SearchKey::new(key))?;
        seen.validate().then(|| seen.page())
    }

    /// Does as [`get`](Self::get); returns `None` if an absent or latched page is in the way.
    #[inline(always)]
    pub(crate) fn try_get(&self, pager: &Pager, key: &[u8], payload: &mut [u8]) -> Option<bool> {
        let key = SearchKey::new(key);
        let (seen, leaf) = self.try_read(pager, key)?;
        let found = leaf.search(key);
        if let Ok(at) = found {
            leaf.read_payload(at, 0, payload);
        }
        seen.validate().then_some(found.is_ok())
    }

    /// Returns the leaf that was responsible for a key at a moment.
    fn leaf_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        mut choose: impl FnMut(Node<'_>) -> usize,
    ) -> Result<PageNumber> {
        let mut page = self.root;
        let mut above = usize::MAX;
        loop {
            let (level, child) = pager.at(moment, page, |words| {
                let node = self.layout.node(words);
                (node.level(), (!node.is_leaf()).then(|| node.child(choose(node))))
            })?;
            if level >= above {
                return Err(goes_up(page));
            }
            above = level;
            match child {
                Some(child) => page = child,
                None => return Ok(page),
            }
        }
    }

    /// Inserts the first records of a run whose keys ascend: as many as are adjacent in one leaf.
    /// Returns their number; 0 if the first key has a record.
    pub(crate) fn insert_run(
        &self,
        context: &WriteContext<'_>,
        run: &[Record<'_>],
    ) -> Result<usize> {
        let WriteContext { pager, .. } = *context;
        let records = || run.iter().copied();
        let Some(Record { key: first, .. }) = run.first().copied() else { return Ok(0) };
        loop {
            let found = self.read_optimistic(pager, SearchKey::new(first), 0)?;
            let Some(mut leaf) = pager.latch(found.seen) else { continue };
            let node = self.layout.node(leaf.words());
            let Err(at) = node.search(SearchKey::new(first)) else { return Ok(0) };
            let next = if at < node.count() { Some(node.key(at)) } else { node.fences().upper };
            let comes_here = |key: &&[u8]| next.as_ref().is_none_or(|next| *key < &next[..]);
            let count = node.room_for(records().map(|record| record.key).take_while(comes_here));
            if count == 0 {
                drop(leaf);
                self.make_room(context, first)?;
                continue;
            }
            let touch = || Touched::one(leaf.last_frame());
            let Some(epoch) = context.log_put_all(records().take(count), touch)? else {
                drop(leaf);
                context.make_log_room()?;
                continue;
            };
            let mut node = self.layout.node_mut(leaf.change(epoch));
            let after = node.count() + count;
            let are_in_order = || run[..count].is_sorted_by(|a, b| a.key < b.key);
            debug_assert!(are_in_order(), "the keys of a run ascend");
            for (at, Record { key, payload }) in (at..).zip(records().take(count)) {
                node.insert(at, key, payload);
            }
            debug_assert_eq!(node.count(), after, "the run is in the leaf");
            return Ok(count);
        }
    }

    /// Joins the nodes on the way to a key that have become sparse with a neighbour, if both fit
    /// into one. Nodes that another thread works on are left for the next deletion.
    pub(crate) fn merge(&self, pager: &Pager, space: &Space, key: &[u8]) -> Result<()> {
        let top = pager.read_optimistic(self.root)?.1;
        let top = self.layout.node(top).level();
        for level in 0..top {
            let found = self.read_optimistic(pager, SearchKey::new(key), level)?;
            if !(is_sparse(found.node) && self.join(pager, space, &found)?) {
                break;
            }
        }
        self.lower_root(pager, space)
    }

    /// Joins a node with a neighbour of the same parent; returns true if it did.
    fn join(&self, pager: &Pager, space: &Space, found: &Found<'_>) -> Result<bool> {
        let is_first = found.parent.is_none_or(|(_, at)| at == 0);
        let side = if is_first { Side::After } else { Side::Before };
        let Beside::Latched(both) = self.beside(pager, found, side)? else { return Ok(false) };
        let low = both.left(self);
        let high = both.right(self);
        let fits = low.used() + high.used() <= low.capacity() / 4 * 3;
        if fits {
            both.join(self, pager, space);
        }
        Ok(fits)
    }

    /// Moves the only child of the root up.
    fn lower_root(&self, pager: &Pager, space: &Space) -> Result<()> {
        loop {
            let (seen, words) = pager.read_optimistic(self.root)?;
            let node = self.layout.node(words);
            let only = (!node.is_leaf() && node.count() == 1).then(|| node.child(0));
            let Some(only) = only else { return Ok(()) };
            let child = pager.read_optimistic(only);
            if !seen.validate() {
                return Ok(());
            }
            let (child_seen, _) = child?;
            let latched = (pager.latch(seen), pager.latch(child_seen));
            let (Some(mut root), Some(child)) = latched else { return Ok(()) };
            let epoch = pager.epoch();
            root.change(epoch).copy_from(child.words());
            root.inherit(&child);
            drop(root);
            child.free(space, epoch);
        }
    }

    /// Calls `wrong` with the fault of each node at a moment. Nodes below such a node are not
    /// looked at.
    pub(crate) fn check(&self, pager: &Pager, moment: ReadEpoch, wrong: &mut dyn FnMut(String)) {
        let mut nodes = vec![(self.root, Fences::default(), None)];
        while let Some((page, fences, level)) = nodes.pop() {
            let image = match pager.at(moment, page, Image::of) {
                Ok(image) => image,
                Err(error) => {
                    wrong(error.to_string());
                    continue;
                }
            };
            let node = self.layout.node(image.words());
            let found = match node.check() {
                Ok(()) if level.is_some_and(|level| node.level() != level) => {
                    Err(format!("a node of level {}", node.level()))
                }
                Ok(()) if node.fences() != fences => {
                    Err("its fences are not those of its parent".into())
                }
                other => other,
            };
            if let Err(why) = found {
                wrong(format!("page {page}: {why}"));
                continue;
            }
            for at in 0..if node.is_leaf() { 0 } else { node.count() } {
                let lower = if at == 0 { fences.lower.clone() } else { Some(node.key(at)) };
                let last = at + 1 == node.count();
                let upper = if last { fences.upper.clone() } else { Some(node.key(at + 1)) };
                nodes.push((node.child(at), Fences { lower, upper }, Some(node.level() - 1)));
            }
        }
    }
}

/// A share of a number of bytes.
#[derive(Clone, Copy)]
struct Share {
    parts: usize,
    of: usize,
}

impl Share {
    fn of_bytes(self, bytes: usize) -> usize {
        bytes / self.of * self.parts
    }
}

/// Returns the error of a page that a node leads to whose level is not below the node's.
#[cold]
fn goes_up(page: PageNumber) -> Error {
    Error::corrupt(format!("page {page}"), "it is a node of a tree below one that is not above it")
}

impl Index for Tree {
    #[inline(always)]
    fn shape(&self) -> Shape {
        self.layout.shape
    }

    fn get_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        key: &[u8],
        payload: &mut [u8],
    ) -> Result<bool> {
        let key = SearchKey::new(key);
        let leaf = self.leaf_at(pager, moment, |node| node.responsible(key))?;
        pager.at(moment, leaf, |words| {
            let node = self.layout.node(words);
            let found = node.search(key);
            if let Ok(at) = found {
                node.read_payload(at, 0, payload);
            }
            found.is_ok()
        })
    }

    fn locate<T>(
        &self,
        pager: &Pager,
        key: &[u8],
        mut follow: impl FnMut([u8; 8]) -> T,
    ) -> Result<Option<T>> {
        let key = SearchKey::new(key);
        loop {
            let found = self.read_optimistic(pager, key, 0)?;
            let followed = found.node.search(key).ok().map(|at| {
                let mut bytes = [0; 8];
                found.node.read_payload(at, 0, &mut bytes);
                follow(bytes)
            });
            if found.seen.validate() {
                return Ok(followed);
            }
        }
    }

    fn at<A: AtEntry<Error = Error>>(
        &self,
        context: &WriteContext<'_>,
        key: &[u8],
        mut work: A,
    ) -> Result<A::Done> {
        loop {
            let found = self.read_optimistic(context.pager, SearchKey::new(key), 0)?;
            let Some(leaf) = context.pager.latch(found.seen) else { continue };
            match self.at_entry(leaf, context.pager, context.joins(), key, &mut work)? {
                Step::Done(done) => return Ok(done),
                Step::Wait => context.make_log_room()?,
                Step::Full => self.make_room(context, key)?,
            }
        }
    }
}
