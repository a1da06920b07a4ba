//! A table of keys in their order: a B+tree whose readers latch nothing (optimistic lock coupling:
//! Leis, Haubenschild, Neumann: Optimistic Lock Coupling, IEEE Data Engineering Bulletin 42(1),
//! 2019). The page of the root stays the same; when it is full, its content moves down.
//!
//! Whoever needs room in a node makes it first, from the root down, and then looks again: so no
//! operation changes more than two levels at a time.

mod node;
mod scan;

use node::{Fences, Layout, Node};
pub use scan::{Direction, Range, Span};

use crate::error::Result;
use crate::index::{Put, Shape};
use crate::pager::{Image, Latched, Moment, PageNumber, Pager, Seen, Space};

/// The most bytes of a record: a leaf has room for at least three.
pub const MOST_RECORD_BYTES: usize = 4096;

/// A table of ordered keys.
pub struct Tree {
    root: PageNumber,
    layout: Layout,
}

/// What came of work on a leaf.
enum Step<T> {
    Done(T),
    /// There is no room for one more.
    Full,
}

/// Where a node was found: its parent, if it has one, with the entry that leads to it.
struct Found<'p> {
    parent: Option<(Seen<'p>, usize)>,
    seen: Seen<'p>,
    node: Node<'p>,
}

impl Tree {
    /// A new table.
    pub fn create(pager: &Pager, space: &Space, shape: Shape) -> Result<Self> {
        let layout = Layout { shape };
        let root = pager.allocate(space)?;
        layout.node(root.words()).clear(0, &Fences::default());
        Ok(Self { root: root.page(), layout })
    }

    /// The node of a level that is responsible for a key, as it was seen.
    #[inline]
    fn look<'p>(&self, pager: &'p Pager, key: &[u8], level: usize) -> Found<'p> {
        'again: loop {
            let (mut seen, words) = pager.look(self.root);
            let (mut node, mut parent) = (self.layout.node(words), None);
            while node.level() > level {
                let at = node.responsible(key);
                let (child_seen, child) = pager.look(node.child(at));
                // The child was looked at while its parent led there.
                if !seen.still() {
                    continue 'again;
                }
                parent = Some((seen, at));
                (seen, node) = (child_seen, self.layout.node(child));
            }
            return Found { parent, seen, node };
        }
    }

    /// Copies the record's payload; false if there is none.
    #[inline]
    pub fn get(&self, pager: &Pager, key: &[u8], payload: &mut [u8]) -> bool {
        loop {
            let Found { seen, node, .. } = self.look(pager, key, 0);
            let found = node.search(key);
            if let Ok(at) = found {
                node.read_payload(at, 0, payload);
            }
            if seen.still() {
                return found.is_ok();
            }
        }
    }

    /// The leaf that was responsible for a key at a moment.
    fn leaf_at(
        &self,
        pager: &Pager,
        moment: Moment,
        choose: &dyn Fn(Node<'_>) -> usize,
    ) -> PageNumber {
        let mut page = self.root;
        loop {
            let child = pager.at(moment, page, |words| {
                let node = self.layout.node(words);
                (!node.is_leaf()).then(|| node.child(choose(node)))
            });
            match child {
                Some(child) => page = child,
                None => return page,
            }
        }
    }

    /// Copies the payload that a record had at a moment.
    pub fn get_at(&self, pager: &Pager, moment: Moment, key: &[u8], payload: &mut [u8]) -> bool {
        let leaf = self.leaf_at(pager, moment, &|node| node.responsible(key));
        pager.at(moment, leaf, |words| {
            let node = self.layout.node(words);
            let found = node.search(key);
            if let Ok(at) = found {
                node.read_payload(at, 0, payload);
            }
            found.is_ok()
        })
    }

    /// Latches the leaf of a key and calls `work` with it until that answers.
    fn change<T>(
        &self,
        pager: &Pager,
        space: &Space,
        key: &[u8],
        mut work: impl FnMut(&mut Latched<'_>) -> Step<T>,
    ) -> Result<T> {
        loop {
            let found = self.look(pager, key, 0);
            let Some(mut leaf) = pager.latch(found.seen) else {
                continue;
            };
            match work(&mut leaf) {
                Step::Done(answer) => return Ok(answer),
                Step::Full => {
                    drop(leaf);
                    self.make_room(pager, space, key)?;
                }
            }
        }
    }

    /// Writes a record: one that is there only if `over`, and one that is not there only if `new`.
    /// Answers whether it was there.
    pub fn put(
        &self,
        pager: &Pager,
        space: &Space,
        (key, payload): (&[u8], &[u8]),
        put: Put,
    ) -> Result<bool> {
        self.change(pager, space, key, |leaf| {
            let node = self.layout.node(leaf.words());
            match node.search(key) {
                Ok(at) => {
                    if put.over {
                        self.layout.node(leaf.change(pager.epoch())).write_payload(at, 0, payload);
                    }
                    Step::Done(true)
                }
                Err(_) if !put.new => Step::Done(false),
                Err(at) if node.has_room() => {
                    self.layout.node(leaf.change(pager.epoch())).insert(at, key, payload);
                    Step::Done(false)
                }
                Err(_) => Step::Full,
            }
        })
    }

    /// Reads the payload of a record into `bytes`, lets `change` change it, and writes it if that
    /// answers true. Answers whether there is such a record.
    pub fn update(
        &self,
        pager: &Pager,
        space: &Space,
        key: &[u8],
        bytes: &mut [u8],
        change: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool> {
        self.change(pager, space, key, |leaf| {
            let node = self.layout.node(leaf.words());
            let Ok(entry) = node.search(key) else {
                return Step::Done(false);
            };
            node.read_payload(entry, 0, bytes);
            if change(bytes) {
                self.layout.node(leaf.change(pager.epoch())).write_payload(entry, 0, bytes);
            }
            Step::Done(true)
        })
    }

    /// Overwrites bytes of a record's payload; false if there is no such record.
    pub fn write(
        &self,
        pager: &Pager,
        space: &Space,
        key: &[u8],
        at: usize,
        bytes: &[u8],
    ) -> Result<bool> {
        self.change(pager, space, key, |leaf| {
            let found = self.layout.node(leaf.words()).search(key);
            if let Ok(entry) = found {
                self.layout.node(leaf.change(pager.epoch())).write_payload(entry, at, bytes);
            }
            Step::Done(found.is_ok())
        })
    }

    /// Deletes a record; false if there is none.
    pub fn delete(&self, pager: &Pager, space: &Space, key: &[u8]) -> Result<bool> {
        let mut sparse = false;
        let there = self.change(pager, space, key, |leaf| {
            let found = self.layout.node(leaf.words()).search(key);
            if let Ok(entry) = found {
                let node = self.layout.node(leaf.change(pager.epoch()));
                node.remove(entry);
                sparse = is_sparse(node);
            }
            Step::Done(found.is_ok())
        })?;
        if sparse {
            self.merge(pager, space, key);
        }
        Ok(there)
    }

    /// Splits the leaf of a key, and the nodes above it first that are full too.
    fn make_room(&self, pager: &Pager, space: &Space, key: &[u8]) -> Result<()> {
        let top = pager.look(self.root).1;
        let top = self.layout.node(top).level();
        for level in (0..=top).rev() {
            let found = self.look(pager, key, level);
            let full = !found.node.has_room();
            if full && found.seen.still() && !self.split(pager, space, &found, key)? {
                // Somebody else was there; the caller looks again.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Splits a node whose parent has room; false if one of them has changed.
    fn split(&self, pager: &Pager, space: &Space, found: &Found<'_>, key: &[u8]) -> Result<bool> {
        let Some((parent_seen, at)) = found.parent else {
            return self.split_root(pager, space, found.seen);
        };
        let Some(mut parent) = pager.latch(parent_seen) else { return Ok(false) };
        if !self.layout.node(parent.words()).has_room() {
            return Ok(false);
        }
        let Some(mut left) = pager.latch(found.seen) else { return Ok(false) };
        let mut right = pager.allocate(space)?;
        let epoch = pager.epoch();
        let old = Image::of(left.words());
        let old = self.layout.node(old.words());
        let count = old.count();
        // Ascending keys fill their leaves.
        let appends = old.is_last() && old.search(key) == Err(count);
        let cut = if appends { count } else { count / 2 };
        let separator = if appends { key.to_vec() } else { old.key(cut) };
        let fences = old.fences();
        let low = Fences { lower: fences.lower, upper: Some(separator.clone()) };
        let high = Fences { lower: Some(separator.clone()), upper: fences.upper };
        let (low_node, high_node) =
            (self.layout.node(left.change(epoch)), self.layout.node(right.change(epoch)));
        low_node.clear(old.level(), &low);
        low_node.append(old, 0..cut);
        high_node.clear(old.level(), &high);
        high_node.append(old, cut..count);
        let page = right.page();
        self.layout.node(parent.change(epoch)).insert_child(at + 1, &separator, page);
        Ok(true)
    }

    /// Moves the root's content to two nodes below it; false if it has changed.
    fn split_root(&self, pager: &Pager, space: &Space, seen: Seen<'_>) -> Result<bool> {
        let Some(mut root) = pager.latch(seen) else { return Ok(false) };
        let mut left = pager.allocate(space)?;
        let mut right = match pager.allocate(space) {
            Ok(right) => right,
            Err(error) => {
                left.free(space, pager.epoch());
                return Err(error);
            }
        };
        let epoch = pager.epoch();
        let old = Image::of(root.words());
        let old = self.layout.node(old.words());
        let (count, level) = (old.count(), old.level());
        let cut = count / 2;
        let separator = old.key(cut);
        let first = vec![0; self.layout.shape.key_size];
        let low = Fences { lower: None, upper: Some(separator.clone()) };
        let high = Fences { lower: Some(separator.clone()), upper: None };
        let node = self.layout.node(left.change(epoch));
        node.clear(level, &low);
        node.append(old, 0..cut);
        let node = self.layout.node(right.change(epoch));
        node.clear(level, &high);
        node.append(old, cut..count);
        let node = self.layout.node(root.change(epoch));
        node.clear(level + 1, &Fences::default());
        node.insert_child(0, &first, left.page());
        node.insert_child(1, &separator, right.page());
        Ok(true)
    }

    /// Joins the nodes on the way to a key that have become sparse with a neighbour, if both fit
    /// into one. Where somebody else is at work, it is left for the next deletion.
    fn merge(&self, pager: &Pager, space: &Space, key: &[u8]) {
        let top = pager.look(self.root).1;
        let top = self.layout.node(top).level();
        for level in 0..top {
            let found = self.look(pager, key, level);
            if !(is_sparse(found.node) && self.join(pager, space, &found)) {
                break;
            }
        }
        self.lower_root(pager, space);
    }

    /// Joins a node with a neighbour of the same parent; whether it did.
    fn join(&self, pager: &Pager, space: &Space, found: &Found<'_>) -> bool {
        let Some((parent_seen, at)) = found.parent else { return false };
        let Some(mut parent) = pager.latch(parent_seen) else { return false };
        let parent_node = self.layout.node(parent.words());
        // With the one before it, or for the first one with that after it.
        let left_at = if at == 0 { 0 } else { at - 1 };
        if left_at + 1 >= parent_node.count() {
            return false;
        }
        let (left_seen, _) = pager.look(parent_node.child(left_at));
        let (right_seen, _) = pager.look(parent_node.child(left_at + 1));
        let Some(mut left) = pager.latch(left_seen) else { return false };
        let Some(right) = pager.latch(right_seen) else { return false };
        let old = Image::of(left.words());
        let (old, other) = (self.layout.node(old.words()), self.layout.node(right.words()));
        if old.used_words() + other.used_words() > old.capacity() / 4 * 3 {
            return false;
        }
        let epoch = pager.epoch();
        let fences = Fences { lower: old.fences().lower, upper: other.fences().upper };
        let node = self.layout.node(left.change(epoch));
        node.clear(old.level(), &fences);
        node.append(old, 0..old.count());
        node.append(other, 0..other.count());
        self.layout.node(parent.change(epoch)).remove(left_at + 1);
        drop(parent);
        right.free(space, epoch);
        true
    }

    /// Takes the only child of the root up.
    fn lower_root(&self, pager: &Pager, space: &Space) {
        loop {
            let (seen, words) = pager.look(self.root);
            let node = self.layout.node(words);
            let only = !node.is_leaf() && node.count() == 1;
            let Some(mut root) = only.then(|| pager.latch(seen)).flatten() else { return };
            let (child_seen, _) = pager.look(self.layout.node(root.words()).child(0));
            let Some(child) = pager.latch(child_seen) else { return };
            let epoch = pager.epoch();
            root.change(epoch).copy_from(child.words());
            drop(root);
            child.free(space, epoch);
        }
    }

    /// Calls `visit` with every page of the table at a moment.
    pub fn pages(&self, pager: &Pager, moment: Moment, visit: &mut dyn FnMut(PageNumber)) {
        let mut pages = vec![self.root];
        while let Some(page) = pages.pop() {
            let image = pager.at(moment, page, Image::of);
            let node = self.layout.node(image.words());
            if !node.is_leaf() {
                pages.extend((0..node.count()).map(|at| node.child(at)));
            }
            visit(page);
        }
    }

    /// What is wrong with the table at a moment, if anything.
    pub fn check(&self, pager: &Pager, moment: Moment) -> Result<(), String> {
        let mut nodes = vec![(self.root, Fences::default(), None)];
        while let Some((page, fences, level)) = nodes.pop() {
            let image = pager.at(moment, page, Image::of);
            let node = self.layout.node(image.words());
            let wrong = |why: String| format!("page {page}: {why}");
            node.check().map_err(wrong)?;
            if level.is_some_and(|level| node.level() != level) {
                return Err(wrong(format!("a node of level {}", node.level())));
            }
            if node.fences() != fences {
                return Err(wrong("its fences are not those of its parent".into()));
            }
            for at in 0..if node.is_leaf() { 0 } else { node.count() } {
                let lower = if at == 0 { fences.lower.clone() } else { Some(node.key(at)) };
                let last = at + 1 == node.count();
                let upper = if last { fences.upper.clone() } else { Some(node.key(at + 1)) };
                nodes.push((node.child(at), Fences { lower, upper }, Some(node.level() - 1)));
            }
        }
        Ok(())
    }
}

/// Whether a node should be joined with another.
fn is_sparse(node: Node<'_>) -> bool {
    node.used_words() < node.capacity() / 4
}
