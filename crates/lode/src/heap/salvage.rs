//! Reads what is left of a damaged heap that has the keys of its records.

use super::page::{self, HeapPage};
use super::{Address, Heap};
use crate::error::{Error, Result};
use crate::index::{Remains, loss};
use crate::pager::ReadEpoch;

/// A record of a heap with its key, or the lack of one.
pub(crate) enum InHeap<'h> {
    /// All bytes of the record: its key, and its payload.
    Record(&'h [u8]),
    /// A record of which a part is damaged.
    Damaged { why: Error },
    /// A page that is damaged, with all that was on it.
    Page { why: Error },
}

impl Heap {
    /// Calls `visit` with every record that the heap has, whether the index leads to it or not.
    ///
    /// # Errors
    /// Those of `visit`; `Full`.
    pub(crate) fn salvage(
        &self,
        remains: &Remains<'_>,
        moment: ReadEpoch,
        visit: &mut dyn FnMut(InHeap<'_>) -> Result<()>,
    ) -> Result<()> {
        debug_assert!(self.has_keys(), "without keys the records are of no use");
        let mut whole = Vec::new();
        let damaged = remains.each(|_| true, &mut |page, words| {
            if words.get(0) == page::PIECE {
                return Ok(Ok(()));
            }
            let content = HeapPage::new(words);
            if let Err(why) = content.check() {
                return Ok(Err(why));
            }
            let slots = (0..content.slots()).filter(|slot| content.slot(*slot).is_some());
            for slot in slots.collect::<Vec<_>>() {
                let address = Address { page, slot: slot as u16 };
                match loss(self.read_at(remains.pager, moment, address, &mut whole))? {
                    Ok(()) => visit(InHeap::Record(&whole))?,
                    Err(why) => visit(InHeap::Damaged { why })?,
                }
            }
            Ok(Ok(()))
        })?;
        damaged.into_iter().try_for_each(|why| visit(InHeap::Page { why }))
    }
}
