//! The entries that are open, by their ids, and the paths that were looked up last.
//!
//! An id has at most one node, so all handles of an entry see the same properties. A node that only
//! the registry holds may be closed. So nothing else keeps nodes but handles, open children, and
//! cells that the table has yet to catch up with.

use std::collections::HashMap;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use crate::lock::{lock, read, try_lock, write};
use crate::open::cells::Growth;
use crate::open::node::{Node, Place};
use crate::tables::Id;

const SHARDS: usize = 16;

/// The most paths that are remembered.
const MOST_PATHS: usize = 4096;

/// The most entries that a thread closes before it continues with its own call.
const MOST_CLOSED: usize = 16;

/// Bytes that an open entry takes up besides its cells, about.
const NODE_BYTES: usize = 256;

/// The open entries of a volume.
pub(crate) struct Registry {
    shards: [Mutex<HashMap<Id, Arc<Node>>>; SHARDS],
    root: Arc<Node>,
    count: AtomicUsize,
    most_entries: usize,
    kept_bytes: AtomicIsize,
    most_bytes: isize,
    /// Numbers above which the registry is trimmed: the most that there should be, or twice what
    /// could not be closed when all shards had been trimmed the last time.
    trim_above_entries: AtomicUsize,
    trim_above_bytes: AtomicIsize,
    /// The shard that is trimmed next; held while entries are closed.
    trimming: Mutex<usize>,
    paths: RwLock<HashMap<Box<str>, Known>>,
}

/// The entry that was found under a path.
#[derive(Clone, Copy)]
struct Known {
    /// The number of unlinks and renames before.
    version: u64,
    id: Id,
}

impl Registry {
    pub(crate) fn new(root: Arc<Node>, most_entries: usize, most_bytes: usize) -> Self {
        let most_bytes = isize::try_from(most_bytes).unwrap_or(isize::MAX);
        Self {
            shards: Default::default(),
            root,
            count: AtomicUsize::new(0),
            most_entries,
            kept_bytes: AtomicIsize::new(0),
            most_bytes,
            trim_above_entries: AtomicUsize::new(most_entries),
            trim_above_bytes: AtomicIsize::new(most_bytes),
            trimming: Mutex::default(),
            paths: RwLock::default(),
        }
    }

    pub(crate) fn root(&self) -> &Arc<Node> {
        &self.root
    }

    fn shard(&self, id: Id) -> &Mutex<HashMap<Id, Arc<Node>>> {
        &self.shards[id as usize % SHARDS]
    }

    /// Returns the node of an entry, if it is open.
    pub(crate) fn find(&self, id: Id) -> Option<Arc<Node>> {
        if id == self.root.id {
            Some(Arc::clone(&self.root))
        } else {
            lock(self.shard(id)).get(&id).map(Arc::clone)
        }
    }

    /// Returns the node of an entry, and opens it if it is not open.
    pub(crate) fn find_or_open(&self, id: Id, place: impl FnOnce() -> Place) -> Arc<Node> {
        self.find_or_add(id, || Node::new(id, Some(place())))
    }

    /// Returns the node of an entry; if it is not open, adds the one that `make` makes.
    pub(crate) fn find_or_add(&self, id: Id, make: impl FnOnce() -> Node) -> Arc<Node> {
        let node = {
            let mut shard = lock(self.shard(id));
            if let Some(node) = shard.get(&id) {
                return Arc::clone(node);
            }
            let node = Arc::new(make());
            shard.insert(id, Arc::clone(&node));
            node
        };
        self.count.fetch_add(1, Ordering::Relaxed);
        self.grow(NODE_BYTES as Growth);
        node
    }

    /// Closes an entry that is gone.
    pub(crate) fn forget(&self, id: Id) {
        let found = lock(self.shard(id)).remove(&id);
        if let Some(node) = found {
            self.count.fetch_sub(1, Ordering::Relaxed);
            self.grow(-(bytes_of(&node) as Growth));
        }
    }

    /// Returns all open entries except the root.
    pub(crate) fn all(&self) -> Vec<Arc<Node>> {
        let nodes = |shard: &Mutex<HashMap<_, Arc<Node>>>| -> Vec<_> {
            lock(shard).values().map(Arc::clone).collect()
        };
        self.shards.iter().flat_map(nodes).collect()
    }

    /// Takes note that cells keep more bytes, or fewer.
    pub(crate) fn grow(&self, growth: Growth) {
        if growth != 0 {
            self.kept_bytes.fetch_add(growth, Ordering::Relaxed);
        }
    }

    /// Returns true if more is kept than should be.
    #[inline]
    pub(crate) fn is_over_full(&self) -> bool {
        self.count.load(Ordering::Relaxed) > self.trim_above_entries.load(Ordering::Relaxed)
            || self.kept_bytes.load(Ordering::Relaxed)
                > self.trim_above_bytes.load(Ordering::Relaxed)
    }

    /// Closes some entries that nothing else holds, all of which the tables have. When all shards
    /// have been trimmed and too many bytes are kept still, it drops properties of the others, too.
    /// To close all at once would take a tenth of a second, in which a caller waits.
    pub(crate) fn trim(&self) {
        let Some(mut shard) = try_lock(&self.trimming) else { return };
        if *shard == 0 {
            self.trim_above(0, 0);
        }
        let is_unheld = |_: &Id, node: &mut Arc<Node>| Arc::strong_count(node) == 1;
        let unheld: Vec<_> =
            lock(&self.shards[*shard]).extract_if(is_unheld).take(MOST_CLOSED).collect();
        self.count.fetch_sub(unheld.len(), Ordering::Relaxed);
        let bytes: usize = unheld.iter().map(|(_, node)| bytes_of(node)).sum();
        self.grow(-(bytes as Growth));
        if unheld.len() < MOST_CLOSED {
            *shard += 1;
        }
        // Here, without the lock, their parents may become unheld, too.
        drop(unheld);
        if *shard < SHARDS {
            return;
        }
        *shard = 0;
        if self.kept_bytes.load(Ordering::Relaxed) > self.most_bytes {
            let open = self.all();
            let trimmed = open.iter().chain([&self.root]).map(|node| node.cells.trim());
            self.grow(-(trimmed.sum::<usize>() as Growth));
        }
        let entries = &self.count;
        let bytes = &self.kept_bytes;
        let entries = entries.load(Ordering::Relaxed);
        let bytes = bytes.load(Ordering::Relaxed);
        self.trim_above(2 * entries, bytes.saturating_mul(2));
    }

    /// Has the registry trimmed only above these numbers, or above its limits.
    fn trim_above(&self, entries: usize, bytes: isize) {
        self.trim_above_entries.store(self.most_entries.max(entries), Ordering::Relaxed);
        self.trim_above_bytes.store(self.most_bytes.max(bytes), Ordering::Relaxed);
    }

    /// Returns the id found under a path since entries were unlinked or renamed last.
    pub(crate) fn known(&self, path: &str, version: u64) -> Option<Id> {
        let known = read(&self.paths).get(path).copied();
        known.filter(|known| known.version == version).map(|known| known.id)
    }

    /// Remembers what was found under a path.
    pub(crate) fn remember(&self, path: &str, version: u64, id: Id) {
        let mut paths = write(&self.paths);
        if paths.len() >= MOST_PATHS {
            paths.clear();
        }
        paths.insert(path.into(), Known { version, id });
    }
}

fn bytes_of(node: &Node) -> usize {
    NODE_BYTES + node.cells.size_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::ROOT;

    const MOST: usize = 100;

    fn registry() -> Registry {
        Registry::new(Arc::new(Node::new(ROOT, None)), MOST, usize::MAX)
    }

    fn open(registry: &Registry, id: Id) -> Arc<Node> {
        let place = || Place { parent: Arc::clone(registry.root()), name: id.to_string().into() };
        registry.find_or_open(id, place)
    }

    #[test]
    fn entries_are_closed_a_few_at_a_time() {
        let registry = registry();
        let held: Vec<_> = (1_000..1_050).map(|id| open(&registry, id)).collect();
        (2_000..3_000).for_each(|id| drop(open(&registry, id)));
        let count = || registry.all().len();
        while registry.is_over_full() {
            let before = count();
            registry.trim();
            assert!(before - count() <= MOST_CLOSED, "{before} entries, then {}", count());
        }
        assert!((50..=MOST).contains(&count()), "{} entries", count());
        assert!(held.iter().all(|node| registry.find(node.id).is_some()));
    }

    #[test]
    fn what_cannot_be_closed_is_not_looked_at_again_and_again() {
        let registry = registry();
        let held: Vec<_> = (1_000..1_200).map(|id| open(&registry, id)).collect();
        (0..SHARDS).for_each(|_| registry.trim());
        assert!(!registry.is_over_full());
        // With twice as many it is tried again.
        let more: Vec<_> = (2_000..2_201).map(|id| open(&registry, id)).collect();
        assert!(registry.is_over_full());
        drop((held, more));
        while registry.is_over_full() {
            registry.trim();
        }
        assert!(registry.all().len() <= MOST, "{} entries", registry.all().len());
    }
}
