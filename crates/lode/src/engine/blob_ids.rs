//! The ids of blobs that this process writes or reads now: their chunks are not removed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Engine;
use crate::error::{Error, Result};
use crate::wal::TableId;

/// The ids of each blob store, by the table that has its blobs.
#[derive(Default)]
pub(super) struct Stores {
    ids: Mutex<HashMap<TableId, Arc<BlobIds>>>,
    /// Held while a store is created or dropped.
    turn: Mutex<()>,
}

/// The ids of a blob store.
#[derive(Default)]
pub(crate) struct BlobIds {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The highest id that there is or was, once an id was asked for.
    last: Option<u64>,
    held: HashMap<u64, Hold>,
}

/// The writers and readers of an id.
#[derive(Default)]
struct Hold {
    count: u32,
    /// True if its chunks would have been removed, were it not held.
    is_awaited: bool,
}

impl Known {
    /// Returns the highest id that there is or was, which `last` finds in the tables.
    fn last(&mut self, last: impl FnOnce() -> Result<u64>) -> Result<u64> {
        if let Some(known) = self.last {
            return Ok(known);
        }
        // One that is held may be in no table any more.
        let held = self.held.keys().copied().max().unwrap_or(0);
        Ok(*self.last.insert(last()?.max(held)))
    }
}

impl BlobIds {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the highest id known, which `last` finds in the tables; returns true if it was not known
    /// before. Before that, no chunk may be removed: the next id would be one that others may still
    /// take for left.
    pub(crate) fn know_last(&self, last: impl FnOnce() -> Result<u64>) -> Result<bool> {
        let mut known = self.known();
        let is_first = known.last.is_none();
        known.last(last).map(|_| is_first)
    }

    /// Holds an id that no blob has or had while the database was open. Calls `last`, for the
    /// highest id in the tables, unless it is known.
    ///
    /// # Errors
    /// Those of `last`; `Corrupt` if there is no higher id.
    pub(crate) fn hold_new(&self, last: impl FnOnce() -> Result<u64>) -> Result<u64> {
        let mut known = self.known();
        let Some(id) = known.last(last)?.checked_add(1) else {
            return Err(Error::corrupt("a blob store", "it has the highest id already"));
        };
        debug_assert!(!known.held.contains_key(&id), "nobody has a new id");
        known.last = Some(id);
        known.held.insert(id, Hold { count: 1, is_awaited: false });
        Ok(id)
    }

    /// Holds an id.
    pub(crate) fn hold(&self, id: u64) {
        self.known().held.entry(id).or_default().count += 1;
    }

    /// Releases an id that was held. Returns true if it is not held any more, and its chunks were
    /// to be removed before.
    pub(crate) fn release(&self, id: u64) -> bool {
        let mut known = self.known();
        let hold = known.held.get_mut(&id).expect("only a held id is released");
        debug_assert!(hold.count > 0, "an id that nobody holds is forgotten");
        hold.count -= 1;
        let is_last = hold.count == 0;
        is_last && known.held.remove(&id).is_some_and(|hold| hold.is_awaited)
    }

    /// Returns true if no reader or writer holds an id, and `is_left` returns true at that moment.
    /// If one holds it, the last one to [release](Self::release) it is told.
    pub(crate) fn is_free(&self, id: u64, is_left: impl FnOnce() -> Result<bool>) -> Result<bool> {
        match self.known().held.get_mut(&id) {
            Some(hold) => {
                hold.is_awaited = true;
                Ok(false)
            }
            None => is_left(),
        }
    }
}

impl Engine {
    /// Returns the ids of the store whose blobs are in a table.
    pub(crate) fn blob_ids(&self, table: TableId) -> Arc<BlobIds> {
        let mut stores = self.blob_stores.ids.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(stores.entry(table).or_default())
    }

    /// Waits for the turn to create or drop a blob store.
    pub(crate) fn turn_for_blobs(&self) -> MutexGuard<'_, ()> {
        self.blob_stores.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_free_when_nobody_holds_it_and_its_chunks_are_left() {
        let ids = BlobIds::default();
        assert_eq!(ids.hold_new(|| Ok(6)), Ok(7));
        assert_eq!(ids.hold_new(|| panic!("the highest id is known")), Ok(8));
        ids.hold(7);
        assert!(!ids.release(7), "another one holds it");
        assert_eq!(ids.is_free(7, || panic!("it is held")), Ok(false));
        ids.hold(7);
        assert!(!ids.release(7), "another one holds it");
        assert!(ids.release(7), "its chunks were to be removed");
        assert!(!ids.release(8), "nobody has asked");
        assert_eq!(ids.is_free(7, || Ok(false)), Ok(false));
        assert_eq!(ids.is_free(7, || Ok(true)), Ok(true));
    }

    #[test]
    fn an_id_is_new_though_the_highest_one_was_removed_before() {
        let ids = BlobIds::default();
        assert_eq!(ids.know_last(|| Ok(9)), Ok(true));
        assert_eq!(ids.know_last(|| panic!("the highest id is known")), Ok(false));
        assert_eq!(ids.hold_new(|| panic!("the highest id is known")), Ok(10));
        // A reader has one that is in no table any more when the first writer comes.
        let ids = BlobIds::default();
        ids.hold(9);
        assert_eq!(ids.hold_new(|| Ok(8)), Ok(10));
        let ids = BlobIds::default();
        let full = ids.hold_new(|| Ok(u64::MAX));
        assert!(matches!(full, Err(Error::Corrupt { .. })), "{full:?}");
    }
}
