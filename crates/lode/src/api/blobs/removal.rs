//! Removing blobs, and the chunks of ids that belong to no blob any more.

use super::Blobs;
use super::tables::{Head, chunk_key, id_of, parts_of_chunk};
use crate::api::{ReadTable, Transaction};
use crate::error::{Error, Result, none_if_too_long};

/// The most ids or chunks that are found at a time, before any is removed.
const STEP: u64 = 64;

/// An id whose chunks stay as long as this does.
pub(super) struct Held {
    blobs: Blobs,
    pub(super) id: u64,
}

impl Held {
    /// Holds an id.
    pub(super) fn new(blobs: &Blobs, id: u64) -> Result<Self> {
        // In a forked process, another thread may hold the lock for ever.
        blobs.store.db.engine().expect_here()?;
        blobs.store.ids.hold(id);
        Ok(Self { blobs: blobs.clone(), id })
    }

    /// Holds an id that no blob has.
    pub(super) fn of_new(blobs: &Blobs) -> Result<Self> {
        blobs.store.db.engine().expect_here()?;
        let id = blobs.store.ids.hold_new(|| blobs.tables().last_id())?;
        Ok(Self { blobs: blobs.clone(), id })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let is_here = self.blobs.store.db.engine().expect_here().is_ok();
        if is_here && self.blobs.store.ids.release(self.id) && !std::thread::panicking() {
            // Otherwise the next one that removes a blob tries again.
            let _ = self.blobs.remove_if_left(self.id);
        }
    }
}

impl Blobs {
    /// Notes in a transaction that the chunks of a blob, which is no more, are to be removed.
    pub(super) fn give_up(&self, transaction: &Transaction, head: Option<Head>) -> Result<()> {
        match head.and_then(|head| head.id) {
            Some(id) => transaction.insert(&self.tables().pending, &id.to_le_bytes()).map(drop),
            None => Ok(()),
        }
    }

    /// Removes the head of a blob; returns false if it is missing.
    pub(super) fn unlink(&self, key: &[u8]) -> Result<bool> {
        let tables = self.tables();
        self.store.db.transact(|transaction| {
            let head = tables.head(&tables.blobs.within(transaction), key);
            let Some(head) = none_if_too_long(head)? else { return Ok(false) };
            transaction.delete(&tables.blobs, crate::schema::Value::Bytes(key))?;
            self.give_up(transaction, Some(head))?;
            Ok(true)
        })
    }

    /// Removes the chunks that processes before this one have left, once. In a copy that follows
    /// the changes of another database, they are of blobs that are being written there: so nothing
    /// is removed before a writer comes.
    pub(super) fn remove_left_if_possible(&self) {
        // In a forked process, another thread may hold the lock for ever.
        let is_here = self.store.db.engine().expect_here().is_ok();
        // Without the highest id, nothing is removed, and a writer gets the error.
        if is_here && self.store.ids.know_last(|| self.tables().last_id()) == Ok(true) {
            self.remove_pending_if_possible();
        }
    }

    /// Removes the chunks of all pending ids, unless that fails: the next writer tries again.
    pub(super) fn remove_pending_if_possible(&self) {
        let _ = self.remove_pending();
    }

    /// Removes the chunks of all pending ids that no reader or writer holds.
    fn remove_pending(&self) -> Result<()> {
        let mut from = 0;
        let mut first = Ok(());
        loop {
            let ids = self.pending_from(from)?;
            for id in &ids {
                match self.remove_if_left(*id) {
                    // The chunks of others may be whole.
                    Err(error @ Error::Corrupt { .. }) => first = first.and(Err(error)),
                    removed => removed?,
                }
            }
            match ids.last().and_then(|last| last.checked_add(1)) {
                Some(next) if ids.len() as u64 == STEP => from = next,
                _ => return first,
            }
        }
    }

    /// Removes the chunks of an id that is pending, unless a reader or writer holds it.
    fn remove_if_left(&self, id: u64) -> Result<()> {
        if self.is_left(id)? {
            self.remove_chunks(id)?;
            self.forget(id)?;
        }
        Ok(())
    }

    /// Returns some of the pending ids, in their order.
    fn pending_from(&self, from: u64) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        let mut pending = self.tables().pending.range(from..).limit(STEP);
        while let Some(row) = pending.next_row()? {
            found.push(id_of(row.key()));
        }
        debug_assert!(found.first().is_none_or(|first| *first >= from), "ids ascend");
        Ok(found)
    }

    /// Returns true if no writer or reader holds an id, and no blob has it.
    ///
    /// A writer holds the id until the blob is there. A reader holds it and then looks whether the
    /// blob is still there. So an id that is pending and not held is unused, and stays so.
    fn is_left(&self, id: u64) -> Result<bool> {
        let tables = self.tables();
        self.store
            .ids
            .is_free(id, || Ok(tables.pending.contains(id)? && !tables.has_id(&tables.blobs, id)?))
    }

    /// Removes all chunks of an id, some at a time: a cursor is a snapshot, and they may be many.
    fn remove_chunks(&self, id: u64) -> Result<()> {
        let chunks = &self.tables().chunks;
        let [of_id, number] = [0, 1].map(|at| chunks.schema().columns()[at].id());
        loop {
            let mut found = Vec::new();
            let mut cursor = chunks.range((id, 0_u32)..=(id, u32::MAX)).limit(STEP);
            cursor = cursor.columns([of_id, number]);
            while let Some(row) = cursor.next_row()? {
                found.push(parts_of_chunk(row.bytes()).1);
            }
            drop(cursor);
            debug_assert!(found.len() as u64 <= STEP, "some are removed at a time");
            debug_assert!(found.is_sorted(), "chunks are in the order of their numbers");
            if found.is_empty() {
                return Ok(());
            }
            for number in found {
                chunks.delete_early(&chunk_key(id, number))?;
            }
        }
    }

    /// Removes an id from those that are pending: its chunks are gone. As a commit, this is not
    /// there after a crash unless all before it is.
    fn forget(&self, id: u64) -> Result<()> {
        let transaction = self.store.db.begin();
        transaction.delete(&self.tables().pending, id)?;
        match transaction.commit_early() {
            // Another thread has forgotten it.
            Err(Error::Conflict { .. }) => Ok(()),
            done => done,
        }
    }
}
