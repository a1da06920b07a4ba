//! The steps of a commit in one table, while the gate is closed.

use super::{Kinds, TableCore};
use crate::error::Result;
use crate::heap::{IndexKey, Swapped, UndoRecord};
use crate::index::{Index, Keeps, Put, Record, Swap, WriteContext};
use crate::pager::Pager;

impl TableCore {
    /// Returns the context for a step of a commit, while the gate is closed. Nothing is logged.
    pub(crate) fn context_of_commit<'w>(
        &'w self,
        pager: &'w Pager,
        keeps: Keeps,
    ) -> WriteContext<'w> {
        WriteContext::of_commit(pager, &self.space, self.id(), keeps)
    }

    /// Does a step of a commit, while the gate is closed: gives a record under a key in order its
    /// wanted payload, if it is as it was seen. The step is not logged.
    pub(crate) fn swap(&self, pager: &Pager, keeps: Keeps, swap: Swap<'_>) -> Result<Swapped> {
        let context = self.context_of_commit(pager, keeps);
        if let Some(heap) = &self.heap {
            return heap.swap(&self.index, &context, swap);
        }
        let inserted = match (&self.index, swap) {
            (Kinds::Hash(hash), Swap { key, seen: None, wanted: Some(payload) }) => {
                hash.try_insert(pager, Record { key, payload })
            }
            _ => None,
        };
        let is_done = match inserted {
            Some(is_new) => is_new,
            None => self.index.swap(&context, swap)?,
        };
        Ok(if is_done { Swapped::Done(None) } else { Swapped::Conflict })
    }

    /// Undoes a step of a commit, after those that came later: gives the record under `key` back
    /// its payload `seen`. It allocates no page.
    pub(crate) fn roll_back(
        &self,
        pager: &Pager,
        (key, seen): (&[u8], Option<&[u8]>),
        undo: Option<&UndoRecord>,
    ) -> Result<()> {
        let context = self.context_of_commit(pager, Keeps::PagesAndRoom);
        let record = seen.map(|payload| Record { key, payload });
        match (&self.heap, record, undo) {
            (Some(heap), Some(record), Some(undo)) => {
                heap.roll_back(&self.index, &context, record, undo)
            }
            (_, Some(record), _) => self.put(&context, record, Put::Upsert).map(drop),
            (_, None, _) => self.remove(&context, key).map(drop),
        }
    }

    /// Gives up pages that a step of a commit has kept, after the commit is logged.
    pub(crate) fn give_up(&self, pager: &Pager, undo: &UndoRecord) {
        if let Some(heap) = &self.heap {
            heap.give_up(pager, undo);
        }
    }

    /// Frees pages of the heap that steps of a commit have left without records, once all are taken
    /// or undone.
    pub(crate) fn free_emptied(&self, pager: &Pager) {
        if let Some(heap) = &self.heap {
            heap.free_emptied(pager);
        }
    }

    /// Joins pages of the index that have become sparse since a record under this key was deleted.
    /// Returns false if those of a hash were not joined.
    pub(crate) fn tidy(&self, pager: &Pager, key: &[u8]) -> bool {
        let index_key = self.heap.as_ref().map(|heap| heap.index_key(key));
        let key = index_key.as_ref().map_or(key, IndexKey::bytes);
        // A join that is not possible now is done later.
        match &self.index {
            Kinds::Tree(tree) => {
                let _ = tree.merge(pager, &self.space, key);
                true
            }
            Kinds::Hash(hash) => hash.merge(pager, &self.space, key).unwrap_or(false),
        }
    }
}
