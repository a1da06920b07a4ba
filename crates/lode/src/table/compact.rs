//! Compaction of a table: sparse pages are filled from others, and those that become empty are
//! freed. It works in steps, each a change of few pages, next to readers and writers.

use super::core::TableCore;
use super::kinds::Cursor;
use crate::error::Result;
use crate::heap::Evacuation;
use crate::pager::Pager;

/// The rest of a table's compaction.
pub(crate) enum Compaction<'c> {
    /// Fill pages of the index from their neighbours.
    Index(Cursor),
    /// Find the free room of the heap's pages.
    Survey,
    /// Move records out of sparse pages of the heap.
    Heap {
        evacuation: Evacuation<'c>,
        /// The keys of the index whose records are to be moved.
        index_keys: Vec<Vec<u8>>,
        /// The place in the index at which the search for more continues.
        next: Option<Cursor>,
    },
}

impl TableCore {
    /// Returns the first step.
    pub(crate) fn begin_compaction(&self) -> Compaction<'_> {
        Compaction::Index(self.index.first())
    }

    /// Does a step, and updates what is left. When it fails, it has changed nothing and can be
    /// repeated.
    pub(crate) fn compact<'c>(
        &'c self,
        pager: &Pager,
        left: &mut Compaction<'c>,
    ) -> Result<Progress> {
        match left {
            Compaction::Index(cursor) => {
                match self.index.fill(pager, &self.space, cursor.clone())? {
                    Some(next) => *cursor = next,
                    None if self.heap.is_some() => *left = Compaction::Survey,
                    None => return Ok(Progress::Done),
                }
            }
            Compaction::Survey => {
                let Some(heap) = &self.heap else { return Ok(Progress::Done) };
                if heap.survey(pager)? {
                    return Ok(Progress::More);
                }
                let Some(evacuation) = heap.evacuation(pager) else { return Ok(Progress::Done) };
                let next = Some(self.index.first());
                *left = Compaction::Heap { evacuation, index_keys: Vec::new(), next };
            }
            Compaction::Heap { evacuation, index_keys, next } => {
                match (index_keys.last(), next.clone()) {
                    (Some(index_key), _) => {
                        evacuation.move_out(&self.index, &self.unlogged(pager), index_key)?;
                        index_keys.pop();
                    }
                    (None, Some(cursor)) => {
                        let mut entries = Vec::new();
                        let wanted = |entry| evacuation.concerns(entry);
                        *next = self.index.copy_entries(pager, cursor, &wanted, &mut entries)?;
                        index_keys
                            .extend(entries.into_iter().rev().map(|(index_key, _)| index_key));
                    }
                    (None, None) if evacuation.look_at_rest(pager) => {}
                    (None, None) => return Ok(Progress::Done),
                }
            }
        }
        Ok(Progress::More)
    }
}

/// The state of a compaction: with more steps, or done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}
