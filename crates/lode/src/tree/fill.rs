//! Filling sparse nodes from their neighbours, for the compaction of a table.

use super::neighbours::{Beside, Moved, Side};
use super::node::SearchKey;
use super::{Found, Share, Tree};
use crate::error::Result;
use crate::pager::{Pager, Space};

/// The share of a node's bytes in use below which it takes entries from the next one.
const SPARSE: Share = Share { parts: 3, of: 4 };

/// The share of a node's bytes in use once it has taken entries.
const FILLED: Share = Share { parts: 15, of: 16 };

/// A place in a level of the tree, from which compaction continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    level: usize,
    /// A key of the next node; `None` for the first node of the level.
    key: Option<Vec<u8>>,
}

impl Cursor {
    /// Returns the place of the first leaf.
    pub(crate) fn first() -> Self {
        Self { level: 0, key: None }
    }
}

/// The outcome of an attempt to fill a node.
enum Filled {
    /// Another thread has changed the node, or a neighbour.
    Again,
    /// The node has taken all of the next one, and may take more.
    More,
    /// Nothing is left to do up to the upper fence of the node.
    Done(Option<Vec<u8>>),
}

/// Attempts at one node, which other threads may change each time.
const MOST_TRIES: usize = 64;

impl Tree {
    /// Fills one node, if it is sparse, with entries of the next node of the same parent. Frees
    /// that one if no entries are left there. Returns the place to continue from; `None` at the end
    /// of the highest level below the root.
    pub(crate) fn fill(
        &self,
        pager: &Pager,
        space: &Space,
        cursor: Cursor,
    ) -> Result<Option<Cursor>> {
        let Cursor { level, key } = cursor;
        let own = key.clone().unwrap_or_else(|| self.lowest_key());
        for _ in 0..MOST_TRIES {
            let (_, words) = pager.read_optimistic(self.root)?;
            if self.layout.node(words).level() <= level {
                self.lower_root(pager, space)?;
                return Ok(None);
            }
            let found = self.read_optimistic(pager, SearchKey::new(&own), level)?;
            match self.fill_found(pager, space, &found)? {
                Filled::Again => std::thread::yield_now(),
                Filled::More => return Ok(Some(Cursor { level, key })),
                // A fence of a damaged node must not lead back.
                Filled::Done(Some(upper)) if upper > own => {
                    return Ok(Some(Cursor { level, key: Some(upper) }));
                }
                Filled::Done(_) => return Ok(Some(Cursor { level: level + 1, key: None })),
            }
        }
        // Writers are busy here, which leave no node sparse that they fill: the next level follows.
        Ok(Some(Cursor { level: level + 1, key: None }))
    }

    /// Appends the key of each record of a leaf, and the first eight bytes of its payload, if
    /// `wanted` accepts those. Returns where the next leaf starts.
    pub(crate) fn copy_leaf(
        &self,
        pager: &Pager,
        cursor: Cursor,
        wanted: &dyn Fn([u8; 8]) -> bool,
        entries: &mut Vec<(Vec<u8>, [u8; 8])>,
    ) -> Result<Option<Cursor>> {
        let own = cursor.key.unwrap_or_else(|| self.lowest_key());
        let before = entries.len();
        loop {
            let Found { seen, node, .. } = self.read_optimistic(pager, SearchKey::new(&own), 0)?;
            for at in 0..node.count() {
                let mut payload = [0; 8];
                node.read_payload(at, 0, &mut payload);
                if wanted(payload) {
                    entries.push((node.key(at), payload));
                }
            }
            let upper = node.fences().upper;
            if seen.validate() {
                let next = upper.filter(|upper| *upper > own);
                return Ok(next.map(|key| Cursor { level: 0, key: Some(key) }));
            }
            entries.truncate(before);
        }
    }

    fn fill_found(&self, pager: &Pager, space: &Space, found: &Found<'_>) -> Result<Filled> {
        let upper = found.node.fences().upper;
        let used = found.node.used();
        let nothing_to_do =
            || if found.seen.validate() { Filled::Done(upper.clone()) } else { Filled::Again };
        if used >= SPARSE.of_bytes(found.node.capacity()) {
            return Ok(nothing_to_do());
        }
        let both = match self.beside(pager, found, Side::After)? {
            Beside::Latched(both) => both,
            Beside::None => return Ok(nothing_to_do()),
            Beside::Changed => return Ok(Filled::Again),
        };
        let low = both.left(self);
        let high = both.right(self);
        let room = FILLED.of_bytes(low.capacity()).saturating_sub(low.used());
        let count = high.entries_within(room);
        debug_assert!(count <= high.count(), "a node gives entries that it has");
        if count == high.count() {
            both.join(self, pager, space);
            return Ok(Filled::More);
        }
        if count == 0 || !both.has_room_for_separator(self) {
            return Ok(Filled::Done(upper));
        }
        Ok(Filled::Done(Some(both.shift(self, pager.epoch(), Moved::ToLeft { count }))))
    }
}
