//! Compaction of a table: sparse pages are filled from others, and those that become empty are
//! freed. It goes in steps, each a change of few pages, beside readers and writers.

use super::core::TableCore;
use super::kinds::Cursor;
use crate::error::Result;
use crate::heap::Evacuation;
use crate::pager::Pager;

/// What is left to do in a table.
pub(crate) enum Compaction<'c> {
    /// Pages of the index are filled from their neighbours.
    Index(Cursor),
    /// The room of the heap's pages is found out.
    Survey,
    /// Records move out of sparse pages of the heap.
    Heap {
        evacuation: Evacuation<'c>,
        /// What the index has records under that are to be moved.
        index_keys: Vec<Vec<u8>>,
        /// Where the index is searched on for more.
        next: Option<Cursor>,
    },
}

impl TableCore {
    /// The first step.
    pub(crate) fn begin_compaction(&self) -> Compaction<'_> {
        Compaction::Index(self.index.first())
    }

    /// Does a step, and returns what is left. It has changed nothing when it fails, and can be done
    /// again.
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
                let Some(evacuation) = heap.evacuation() else { return Ok(Progress::Done) };
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

/// Whether there are more steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}
