//! The steps of a commit in one table, while the gate is closed.

use super::{Kinds, TableCore};
use crate::error::Result;
use crate::heap::{IndexKey, UndoRecord};
use crate::index::{Delete, Record, Upsert};
use crate::pager::Pager;

impl TableCore {
    /// Undoes a step of a commit, after those that came later: gives the record under `key` back
    /// its payload `seen`. It allocates no page.
    pub(crate) fn roll_back(
        &self,
        pager: &Pager,
        key: &[u8],
        seen: Option<&[u8]>,
        undo: Option<&UndoRecord>,
    ) -> Result<()> {
        let context = self.unlogged(pager).of_undo();
        match (&self.heap, seen, undo) {
            (Some(heap), Some(seen), Some(undo)) => {
                heap.roll_back(&self.index, &context, Record { key, payload: seen }, undo)
            }
            (_, Some(seen), _) => self.write(&context, key, Upsert(seen)).map(drop),
            (_, None, _) => self.write(&context, key, Delete).map(drop),
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
