//! Emptying sparse pages: their records move to the room of other pages, for the compaction of a
//! table.

use hashbrown::HashSet;

use super::page::{self, HeapPage, Stored};
use super::plan::HeapChange;
use super::target::room_of;
use super::write::Attempt;
use super::{Entry, Found, Heap, Home, IndexKey};
use crate::error::{Error, Result};
use crate::index::{Index, WriteContext};
use crate::pager::{PageNumber, Pager};

/// Attempts at one record, which other threads may change each time.
const MOST_TRIES: usize = 16;

/// Pages of a heap that take no records, while their own move elsewhere, until it is dropped.
pub(crate) struct Evacuation<'h> {
    heap: &'h Heap,
    pages: HashSet<PageNumber>,
    /// The page that took the last record.
    target: Option<PageNumber>,
}

impl Drop for Evacuation<'_> {
    fn drop(&mut self) {
        self.heap.free_space.open_closed();
    }
}

impl Heap {
    /// Finds out the room of the pages of one more extent of a database that was opened; returns
    /// false if the room of all is known.
    pub(crate) fn survey(&self, pager: &Pager) -> Result<bool> {
        if self.free_space.is_surveyed() {
            return Ok(false);
        }
        let more = self.space.survey(pager)?;
        for (number, note) in self.space.take_notes() {
            self.free_space.note(number, page::noted_room(note));
        }
        if !more {
            self.free_space.end_survey();
        }
        Ok(more)
    }

    /// Chooses the pages to be emptied, among those whose room is known; `None` if there are none.
    pub(crate) fn evacuation(&self, pager: &Pager) -> Option<Evacuation<'_>> {
        let pages = self.free_space.close_emptiest(|page| room_of(pager, page));
        let evacuation = Evacuation { heap: self, pages, target: None };
        (!evacuation.pages.is_empty()).then_some(evacuation)
    }
}

impl Evacuation<'_> {
    /// Visits a few of the pages once no more records move: frees those without records, and notes
    /// the room of the others. Returns false after the last one.
    pub(crate) fn look_at_rest(&mut self, pager: &Pager) -> bool {
        /// Pages that a step of a compaction looks at.
        const A_FEW: usize = 16;
        let few: Vec<_> = self.pages.iter().take(A_FEW).copied().collect();
        for number in &few {
            self.pages.remove(number);
            if let Some(room) = self.heap.free_if_empty(pager, *number) {
                self.heap.forget_not(*number, room);
            }
        }
        !few.is_empty()
    }

    /// Returns true if an entry of the index leads to one of the pages.
    pub(crate) fn concerns(&self, entry: [u8; Entry::BYTES]) -> bool {
        Entry::of(entry).address.is_some_and(|address| self.pages.contains(&address.page))
    }

    /// Moves the record that the index has under an index key, if it is in one of the pages and
    /// another page has room.
    pub(crate) fn move_out(
        &mut self,
        index: &impl Index,
        context: &WriteContext<'_>,
        index_key: &[u8],
    ) -> Result<()> {
        let heap = self.heap;
        let pager = context.pager;
        for _ in 0..MOST_TRIES {
            let led = index.locate(pager, index_key, |bytes| {
                let address = Entry::of(bytes).address;
                let address = address.filter(|address| self.pages.contains(&address.page));
                address.map(|address| (address, pager.read_optimistic(address.page)))
            })?;
            let Some((address, looked)) = led.flatten() else { return Ok(()) };
            let (seen, words) = looked?;
            let from = HeapPage::new(words);
            let Some(slot) = from.slot(address.slot.into()) else {
                if seen.validate() {
                    return Err(address.wrong());
                }
                continue;
            };
            let mut stored = vec![0; slot.size];
            from.read(slot, 0, &mut stored);
            if !seen.validate() {
                continue;
            }
            let room = page::room_for(stored.len());
            let target = self.target.take().or_else(|| heap.take_room(pager, room));
            let Some(target) = target else { return Ok(()) };
            let stored = Stored { bytes: &stored, is_long: slot.is_long };
            let change = HeapChange::Move { stored, page: target };
            let home = Some(Home { address, seen, page: from });
            let found =
                Found { index_key: IndexKey::Key(index_key), home, other: None, is_beyond: false };
            match heap.attempt(index, context, &[], found, change, None) {
                Ok(Attempt::Done) => {
                    self.target = Some(target);
                    return Ok(());
                }
                Ok(Attempt::Again) => heap.look_again(pager, target)?,
                // The target was freed, or cannot be read: no record goes there.
                Err(Error::Corrupt { .. }) => {}
                Err(error) => {
                    heap.forget_not(target, room);
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

impl Heap {
    /// Notes the room of a page that was to take a record and did not.
    fn look_again(&self, pager: &Pager, number: PageNumber) -> Result<()> {
        let (seen, words) = match pager.read_optimistic(number) {
            Ok(looked) => looked,
            Err(Error::Corrupt { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let room = HeapPage::new(words).room();
        if seen.validate() {
            self.forget_not(number, room);
        }
        Ok(())
    }
}
