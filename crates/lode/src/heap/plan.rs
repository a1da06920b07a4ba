//! The plan of a change in the heap: all pages that it will change, before any is latched.

use std::sync::atomic::AtomicU64;

use super::long::{self, Cut, PIECE_FROM};
use super::page::{HeapPage, HeapPageMut, Slot, Stored};
use super::{Address, Heap, Home};
use crate::error::Result;
use crate::index::{Change, Redo, WriteContext};
use crate::pager::{Epoch, Latched, PageNumber, Pager, Seen};
use crate::wal::{Touched, cover};

/// The change of a record in the heap, which stores `front` bytes, those of its key or none, before
/// its payload.
#[derive(Clone, Copy)]
pub(super) enum HeapChange<'c> {
    /// The record becomes `whole`.
    Put { whole: &'c [u8], front: usize },
    /// The payload gets `bytes` from byte `at` on.
    Patch { at: usize, bytes: &'c [u8], front: usize },
    /// The record is deleted.
    Delete,
    /// The record returns to its page from before a commit that failed: its payload, or its head.
    PutBack { stored: Stored<'c>, page: PageNumber },
    /// The record moves to another page unchanged: its payload, or its head, whose pieces stay.
    Move { stored: Stored<'c>, page: PageNumber },
}

impl HeapChange<'_> {
    /// Returns true if the log has a frame of the change.
    pub(super) fn is_logged(self, context: &WriteContext<'_>) -> bool {
        let moves = matches!(self, Self::PutBack { .. } | Self::Move { .. });
        context.is_logged() && !moves
    }

    /// Logs the change, in the pages that `touch` returns. Returns its epoch; `None` if the log has
    /// no room.
    pub(super) fn log<'p>(
        self,
        context: &WriteContext<'_>,
        key: &[u8],
        touch: impl FnOnce() -> Touched<'p>,
    ) -> Result<Option<Epoch>> {
        let change = match self {
            Self::Put { whole, front } => Change::Put(&whole[front..]),
            Self::Patch { at, bytes, .. } => Change::Patch { at, bytes },
            Self::Delete => Change::Delete,
            // The commit that is undone was not logged; and a record that moves keeps its content.
            Self::PutBack { .. } | Self::Move { .. } => return Ok(Some(context.pager.epoch())),
        };
        context.log(key, change, touch)
    }

    /// Returns the bytes that the record will take up in a shared page, if written as a whole.
    fn stored_size(self) -> Option<usize> {
        match self {
            Self::Put { whole, .. } => {
                Some(Cut::of(whole.len()).map_or(whole.len(), Cut::head_size))
            }
            Self::PutBack { stored, .. } | Self::Move { stored, .. } => Some(stored.bytes.len()),
            Self::Patch { .. } | Self::Delete => None,
        }
    }

    /// Returns true if it changes these bytes of a record in place.
    fn overwrites(self, range: &std::ops::Range<usize>) -> bool {
        match self {
            Self::Patch { at, bytes, front } => {
                at + front < range.end && range.start < at + front + bytes.len()
            }
            Self::Put { .. } | Self::Delete | Self::PutBack { .. } | Self::Move { .. } => false,
        }
    }
}

/// An existing record, before it changes.
struct Old<'p> {
    address: Address,
    seen: Seen<'p>,
    slot: Slot,
    /// The record's cut, if it is long, and the pages of its pieces.
    cut: Option<Cut>,
    pages: Vec<PageNumber>,
    /// The pieces that change in place: their numbers, and their pages.
    pieces: Vec<(usize, Seen<'p>)>,
}

/// The pages that a change will latch.
pub(super) struct Plan<'p> {
    old: Option<Old<'p>>,
    /// The page that the record moves to, if it is another one, and the room there.
    target: Option<(Seen<'p>, usize)>,
}

/// An existing record, with the pages latched that change.
pub(super) struct Held<'p> {
    pub slot: Slot,
    pub page: Latched<'p>,
    /// The pages of its pieces.
    pub pages: Vec<PageNumber>,
    number: usize,
    cut: Option<Cut>,
    pieces: Vec<(usize, Latched<'p>)>,
}

/// The latched pages of a plan.
pub(super) struct PlanLatches<'p> {
    pub old: Option<Held<'p>>,
    pub target: Option<Latched<'p>>,
}

impl PlanLatches<'_> {
    /// Returns the words of the pages, and of the index's page, that name the frames which changed
    /// them last. `is_after_all` is true if a frame of another page may concern the record.
    pub(super) fn touched<'t>(
        &'t self,
        index: Option<&'t AtomicU64>,
        is_after_all: bool,
    ) -> Touched<'t> {
        // The pages of pieces change with that of their head only.
        let old = self.old.as_ref().and_then(|old| old.page.last_frame());
        let target = self.target.as_ref().and_then(Latched::last_frame);
        Touched { lasts: [index, old, target], is_after_all }
    }

    /// Has the pages come after the frames of all of them, where a change is not logged.
    pub(super) fn carry(&self, index: Option<&AtomicU64>) {
        let [index, old, target] = self.touched(index, false).lasts;
        let Some(index) = index else { return };
        old.iter().for_each(|old| cover(index, old));
        target.iter().for_each(|target| cover(target, index));
    }
}

impl<'p> Old<'p> {
    fn latch(&self, pager: &'p Pager) -> Option<Held<'p>> {
        let Self { address, slot, cut, .. } = *self;
        let page = pager.latch(self.seen)?;
        let latch = |(at, seen): &(usize, Seen<'p>)| Some((*at, pager.latch(*seen)?));
        let pieces = self.pieces.iter().map(latch).collect::<Option<_>>()?;
        let number = address.slot.into();
        let pages = self.pages.clone();
        Some(Held { slot, page, pages, number, cut, pieces })
    }
}

impl<'p> Plan<'p> {
    /// Returns the record's address, if it exists.
    pub(super) fn found(&self) -> Option<Address> {
        self.old.as_ref().map(|old| old.address)
    }

    /// Returns the page that the record moves to, if it is another one, and the room there.
    pub(super) fn target(&self) -> Option<(PageNumber, usize)> {
        self.target.map(|(seen, room)| (seen.page(), room))
    }

    /// Latches everything; `None` if something has changed since it was looked at.
    pub(super) fn latch(&self, pager: &'p Pager) -> Option<PlanLatches<'p>> {
        let old = match &self.old {
            Some(old) => Some(old.latch(pager)?),
            None => None,
        };
        let target = match self.target {
            Some((seen, _)) => Some(pager.latch(seen)?),
            None => None,
        };
        Some(PlanLatches { old, target })
    }
}

impl Held<'_> {
    /// Replaces the record with other bytes, which fit there.
    pub(super) fn replace(&mut self, stored: Stored<'_>, epoch: Epoch) {
        HeapPageMut::new(self.page.change(epoch)).replace(self.number, self.slot, stored);
    }

    /// Removes the record from its page.
    pub(super) fn remove(&mut self, epoch: Epoch) {
        HeapPageMut::new(self.page.change(epoch)).remove(self.number, self.slot);
    }

    /// Overwrites bytes of the record from one of them on.
    pub(super) fn overwrite(mut self, at: usize, bytes: &[u8], epoch: Epoch) {
        // Also if only pieces change: readers check the page of the head.
        let mut page = HeapPageMut::new(self.page.change(epoch));
        let Some(cut) = self.cut else { return page.write(self.slot, at, bytes) };
        let end = at + bytes.len();
        for (number, piece) in &mut self.pieces {
            let range = cut.piece(*number);
            let from = at.max(range.start);
            let to = end.min(range.end);
            piece.change(epoch).write(PIECE_FROM + from - range.start, &bytes[from - at..to - at]);
        }
        let rest = cut.size - cut.rest;
        if end > rest {
            let from = at.max(rest);
            let in_head = cut.head_size() - cut.rest + from - rest;
            page.write(self.slot, in_head, &bytes[from - at..]);
        }
    }
}

impl Heap {
    /// Looks at all pages that a change concerns; `None` if something has changed in that time.
    pub(super) fn plan<'p>(
        &self,
        pager: &'p Pager,
        home: Option<Home<'p>>,
        change: HeapChange<'_>,
    ) -> Result<Option<Plan<'p>>> {
        let Some(home) = home else {
            return Ok(Some(Plan { old: None, target: self.new_page(pager, change)? }));
        };
        // An address outside the heap must not be written to, whatever looks like a record there.
        let slot = home.page.slot(home.address.slot.into());
        let Some(slot) = slot.filter(|_| self.space.has(home.address.page)) else {
            return if home.seen.validate() { Err(home.address.wrong()) } else { Ok(None) };
        };
        let mut cut = None;
        let mut pages = Vec::new();
        let mut pieces = Vec::new();
        if slot.is_long && !matches!(change, HeapChange::Move { .. }) {
            let Some((head, its_cut)) = self.head_of(&home, slot)? else { return Ok(None) };
            pages = long::pages_of(&head, its_cut).collect();
            cut = Some(its_cut);
            for (at, page) in pages.iter().enumerate() {
                if change.overwrites(&its_cut.piece(at)) {
                    let looked = pager.read_optimistic(*page);
                    if !home.seen.validate() {
                        return Ok(None);
                    }
                    pieces.push((at, looked?.0));
                }
            }
        }
        if let HeapChange::Patch { at, bytes, front } = change
            && at + front + bytes.len() > cut.map_or(slot.size, |cut| cut.size)
        {
            return if home.seen.validate() { Err(home.address.wrong()) } else { Ok(None) };
        }
        let stays = match change {
            HeapChange::Move { .. } => false,
            HeapChange::PutBack { page, .. } if page != home.address.page => false,
            _ => change.stored_size().is_none_or(|size| home.page.fits_over(slot, size)),
        };
        let target = if stays { None } else { self.new_page(pager, change)? };
        if matches!(change, HeapChange::Move { .. }) && target.is_none() {
            return Ok(None);
        }
        let Home { address, seen, .. } = home;
        Ok(Some(Plan { old: Some(Old { address, seen, slot, cut, pages, pieces }), target }))
    }

    /// Returns the page that a record moves to, if it is written as a whole.
    fn new_page<'p>(
        &self,
        pager: &'p Pager,
        change: HeapChange<'_>,
    ) -> Result<Option<(Seen<'p>, usize)>> {
        if let HeapChange::Move { stored, page, .. } = change {
            let (seen, words) = pager.read_optimistic(page)?;
            let page = HeapPage::new(words);
            return Ok(page.fits(stored.bytes.len()).then(|| (seen, page.room())));
        }
        if let HeapChange::PutBack { stored, page, .. } = change {
            let (seen, words) = pager.read_optimistic(page)?;
            let page = HeapPage::new(words);
            if page.fits(stored.bytes.len()) {
                return Ok(Some((seen, page.room())));
            }
        }
        change.stored_size().map(|size| self.target(pager, size)).transpose()
    }
}
