//! Changes of records in the heap.

use super::long::{self, Cut, PIECE_FROM, Written};
use super::page::{self, EMPTY, Page, Slot};
use super::{Address, Heap, Home, head_of};
use crate::error::{Error, Result};
use crate::index::{Index, Journal, Put, Spot, Step};
use crate::pager::{Latched, PAGE_BYTES, PageNumber, Pager, Seen, Space};

/// The longest record that is put beside others in the page that a thread is filling.
const MOST_BESIDE: usize = PAGE_BYTES / 4;

/// What becomes of a record.
#[derive(Clone, Copy)]
enum Change<'c> {
    /// It has this payload.
    Put(&'c [u8]),
    /// The bytes of its payload from one on are these.
    Write(usize, &'c [u8]),
    /// It is no more.
    Remove,
}

impl Change<'_> {
    /// Tells the log of it; answers its epoch, or `None` if there is no room.
    fn tell(self, journal: &Journal<'_>, key: &[u8]) -> Result<Option<u64>> {
        match self {
            Self::Put(payload) => journal.put(key, payload),
            Self::Write(at, bytes) => journal.patch(key, at, bytes),
            Self::Remove => journal.delete(key),
        }
    }
}

/// What came of an attempt to change a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Done,
    /// Somebody else has changed something that matters.
    Again,
}

/// A record that is there, before it changes.
struct Old<'p> {
    address: Address,
    seen: Seen<'p>,
    slot: Slot,
    /// How it is cut, if it is long, and those of its pieces that change: which, and their pages.
    cut: Option<Cut>,
    pieces: Vec<(usize, Seen<'p>)>,
}

/// What a change will latch.
struct Plan<'p> {
    old: Option<Old<'p>>,
    /// The page that the record comes to, if it is another one.
    target: Option<Seen<'p>>,
}

/// A record that is there, with its pages latched.
struct Held<'p> {
    address: Address,
    slot: Slot,
    cut: Option<Cut>,
    page: Latched<'p>,
    pieces: Vec<(usize, Latched<'p>)>,
}

impl<'p> Old<'p> {
    fn latch(&self, pager: &'p Pager) -> Option<Held<'p>> {
        let Self { address, slot, cut, .. } = *self;
        let page = pager.latch(self.seen)?;
        let latch = |(at, seen): &(usize, Seen<'p>)| Some((*at, pager.latch(*seen)?));
        let pieces = self.pieces.iter().map(latch).collect::<Option<_>>()?;
        Some(Held { address, slot, cut, page, pieces })
    }
}

impl<'p> Plan<'p> {
    /// Latches everything; `None` if something has changed since it was looked at.
    fn latch(&self, pager: &'p Pager) -> Option<(Option<Held<'p>>, Option<Latched<'p>>)> {
        let old = match &self.old {
            Some(old) => Some(old.latch(pager)?),
            None => None,
        };
        let target = match self.target {
            Some(seen) => Some(pager.latch(seen)?),
            None => None,
        };
        Some((old, target))
    }
}

impl Held<'_> {
    fn number(&self) -> usize {
        self.address.slot.into()
    }

    /// Overwrites bytes of the record from one of them on.
    fn overwrite(mut self, at: usize, bytes: &[u8], epoch: u64) {
        // Also if only pieces change: readers go by the page of the head.
        let page = Page::new(self.page.change(epoch));
        let Some(cut) = self.cut else { return page.write(self.slot, at, bytes) };
        let end = at + bytes.len();
        for (number, piece) in &mut self.pieces {
            let range = cut.piece(*number);
            let (from, to) = (at.max(range.start), end.min(range.end));
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

/// Where the outcomes of changes in a table are told, and the pages of its index.
pub type Desk<'d> = (&'d Journal<'d>, &'d Space);

impl Heap {
    /// Writes a record, as `put` allows. Answers whether it was there.
    pub fn put(
        &self,
        index: &impl Index,
        desk: Desk<'_>,
        (key, payload): (&[u8], &[u8]),
        put: Put,
    ) -> Result<bool> {
        loop {
            let home = self.find(index, desk.0.pager(), key)?;
            let there = home.is_some();
            if !(if there { put.over } else { put.new }) {
                return Ok(there);
            }
            if self.attempt(index, desk, (key, home), Change::Put(payload))? == Attempt::Done {
                return Ok(there);
            }
        }
    }

    /// Reads the payload of a record into `bytes`, lets `change` change it, and writes it if that
    /// answers true. Answers whether there is such a record.
    pub fn update(
        &self,
        index: &impl Index,
        desk: Desk<'_>,
        key: &[u8],
        bytes: &mut Vec<u8>,
        change: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<bool> {
        loop {
            let Some(home) = self.find(index, desk.0.pager(), key)? else { return Ok(false) };
            if !self.read(desk.0.pager(), &home, bytes)? {
                continue;
            }
            if !change(bytes) {
                return Ok(true);
            }
            let change = Change::Put(bytes);
            if self.attempt(index, desk, (key, Some(home)), change)? == Attempt::Done {
                return Ok(true);
            }
        }
    }

    /// Makes a record what it shall be, if it is as it was seen; answers whether it was.
    pub fn swap(
        &self,
        index: &impl Index,
        desk: Desk<'_>,
        key: &[u8],
        (seen, wanted): (Option<&[u8]>, Option<&[u8]>),
    ) -> Result<bool> {
        let mut found = Vec::new();
        loop {
            let home = self.find(index, desk.0.pager(), key)?;
            if home.is_some() != seen.is_some() {
                return Ok(false);
            }
            if let (Some(home), Some(seen)) = (&home, seen) {
                if !self.read(desk.0.pager(), home, &mut found)? {
                    continue;
                }
                if found != seen {
                    return Ok(false);
                }
            }
            let change = match wanted {
                Some(payload) => Change::Put(payload),
                None if home.is_some() => Change::Remove,
                None => return Ok(true),
            };
            if self.attempt(index, desk, (key, home), change)? == Attempt::Done {
                return Ok(true);
            }
        }
    }

    /// Overwrites bytes of a record's payload; false if there is no such record.
    pub fn write(
        &self,
        index: &impl Index,
        desk: Desk<'_>,
        key: &[u8],
        (at, bytes): (usize, &[u8]),
    ) -> Result<bool> {
        self.change_what_is_there(index, desk, key, Change::Write(at, bytes))
    }

    /// Deletes a record; false if there is none.
    pub fn delete(&self, index: &impl Index, desk: Desk<'_>, key: &[u8]) -> Result<bool> {
        self.change_what_is_there(index, desk, key, Change::Remove)
    }

    fn change_what_is_there(
        &self,
        index: &impl Index,
        desk: Desk<'_>,
        key: &[u8],
        change: Change<'_>,
    ) -> Result<bool> {
        loop {
            let Some(home) = self.find(index, desk.0.pager(), key)? else { return Ok(false) };
            if self.attempt(index, desk, (key, Some(home)), change)? == Attempt::Done {
                return Ok(true);
            }
        }
    }

    /// Changes a record if it is still where it was found, or still not there.
    fn attempt(
        &self,
        index: &impl Index,
        (journal, space): Desk<'_>,
        (key, home): (&[u8], Option<Home<'_>>),
        change: Change<'_>,
    ) -> Result<Attempt> {
        let pager = journal.pager();
        let Some(plan) = self.plan(pager, home, change)? else { return Ok(Attempt::Again) };
        let found = plan.old.as_ref().map(|old| old.address);
        let attempt = index.at(journal, space, key, |spot| {
            if address_in(spot) != found {
                return Ok(Step::Done(Attempt::Again));
            }
            if found.is_none() && !spot.has_room() {
                return Ok(Step::Full);
            }
            let Some(latches) = plan.latch(pager) else { return Ok(Step::Done(Attempt::Again)) };
            // Pages for the pieces of a long record: nobody waits for room while he has them.
            let written = match change {
                Change::Put(payload) => Cut::of(payload.len())
                    .map(|cut| Written::new(pager, &self.space, cut, payload))
                    .transpose()?,
                Change::Write(..) | Change::Remove => None,
            };
            match change.tell(journal, key) {
                Ok(Some(epoch)) => {
                    self.carry_out((key, spot), latches, (change, written), epoch);
                    Ok(Step::Done(Attempt::Done))
                }
                other => {
                    written.into_iter().for_each(|written| written.free(pager, &self.space));
                    other.map(|_| Step::Wait)
                }
            }
        });
        if let Some(target) = plan.target
            && attempt != Ok(Attempt::Done)
        {
            self.leave_to_others(pager, target.page());
        }
        attempt
    }

    /// Notes how much room a page has that a record was to come to, but did not.
    fn leave_to_others(&self, pager: &Pager, number: PageNumber) {
        // Whoever is told too much or too little finds out when he looks at it.
        if !self.rooms.is_being_filled(number)
            && let Ok((_, words)) = pager.look(number)
        {
            self.rooms.note(number, Page::new(words).class());
        }
    }

    /// Looks at all pages that a change concerns; `None` if something has changed meanwhile.
    fn plan<'p>(
        &self,
        pager: &'p Pager,
        home: Option<Home<'p>>,
        change: Change<'_>,
    ) -> Result<Option<Plan<'p>>> {
        let Some(home) = home else {
            let target = match change {
                Change::Put(payload) => Some(self.target(pager, stored_size(payload))?),
                Change::Write(..) | Change::Remove => None,
            };
            return Ok(Some(Plan { old: None, target }));
        };
        let Some(slot) = home.page.slot(home.address.slot.into()) else {
            return if home.seen.still() { Err(home.address.wrong()) } else { Ok(None) };
        };
        let (mut pieces, mut cut) = (Vec::new(), None);
        if slot.is_long {
            let Some((head, its_cut)) = head_of(&home, slot)? else { return Ok(None) };
            for (at, page) in long::pages_of(&head, its_cut).enumerate() {
                let concerned = match change {
                    Change::Write(from, bytes) => {
                        let piece = its_cut.piece(at);
                        from < piece.end && piece.start < from + bytes.len()
                    }
                    Change::Put(_) | Change::Remove => true,
                };
                if concerned {
                    let looked = pager.look(page);
                    if !home.seen.still() {
                        return Ok(None);
                    }
                    pieces.push((at, looked?.0));
                }
            }
            cut = Some(its_cut);
        }
        if let Change::Write(at, bytes) = change
            && at + bytes.len() > cut.map_or(slot.size, |cut| cut.size)
        {
            return if home.seen.still() { Err(home.address.wrong()) } else { Ok(None) };
        }
        let target = match change {
            Change::Put(payload) => {
                let size = stored_size(payload);
                let stays = home.page.fits_over(slot, size);
                (!stays).then(|| self.target(pager, size)).transpose()?
            }
            Change::Write(..) | Change::Remove => None,
        };
        let Home { address, seen, .. } = home;
        Ok(Some(Plan { old: Some(Old { address, seen, slot, pieces, cut }), target }))
    }

    /// A page with room for a record that takes up so many bytes there.
    fn target<'p>(&self, pager: &'p Pager, size: usize) -> Result<Seen<'p>> {
        let beside = size <= MOST_BESIDE;
        loop {
            let current = if beside { self.rooms.current() } else { None };
            let open = || self.rooms.take(page::class_for(size));
            let Some(number) = current.or_else(open) else {
                self.find_room(pager, beside)?;
                continue;
            };
            match pager.look(number) {
                Ok((seen, words)) => {
                    let page = Page::new(words);
                    let (fits, class) = (page.fits(size), page.class());
                    let still = seen.still();
                    if fits && still {
                        if beside {
                            self.rooms.fill(Some(number));
                        }
                        return Ok(seen);
                    }
                    if current.is_none() || still {
                        self.rooms.note(number, class);
                    }
                    if current.is_some() && still {
                        self.rooms.fill(None);
                    }
                }
                // It was given back, or cannot be read: no room there.
                Err(Error::Corrupt { .. }) => {
                    if current.is_some() {
                        self.rooms.fill(None);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Finds out which of some more pages of a database that was opened have room; or, when all are
    /// known, takes a new page.
    fn find_room(&self, pager: &Pager, beside: bool) -> Result<()> {
        let known = |number, class| {
            if (1..=EMPTY).contains(&class) {
                self.rooms.note(number, class);
            }
        };
        if self.space.survey(pager, &mut { known })? {
            return Ok(());
        }
        let new = pager.allocate(&self.space)?;
        Page::new(new.words()).clear();
        let number = new.page();
        drop(new);
        match beside {
            true => self.rooms.fill(Some(number)),
            false => self.rooms.note(number, EMPTY),
        }
        Ok(())
    }

    /// Does what was told.
    fn carry_out(
        &self,
        (key, spot): (&[u8], &mut dyn Spot),
        (old, target): (Option<Held<'_>>, Option<Latched<'_>>),
        (change, written): (Change<'_>, Option<Written<'_>>),
        epoch: u64,
    ) {
        match (change, old) {
            (Change::Write(at, bytes), Some(old)) => old.overwrite(at, bytes, epoch),
            (Change::Remove, Some(old)) => {
                spot.remove(epoch);
                self.leave(old, epoch);
            }
            (Change::Put(payload), old) => {
                let (head, pieces) = match written {
                    Some(Written { head, pages }) => (Some(head), pages),
                    None => (None, Vec::new()),
                };
                let stored = (head.as_deref().unwrap_or(payload), head.is_some());
                match target {
                    None => {
                        old.into_iter().for_each(|old| self.replace(old, stored, epoch));
                    }
                    Some(target) => {
                        let address = self.move_to(target, stored, epoch).bytes();
                        match old {
                            None => spot.insert(epoch, key, &address),
                            Some(old) => {
                                spot.write(epoch, 0, &address);
                                self.leave(old, epoch);
                            }
                        }
                    }
                }
                for mut piece in pieces {
                    piece.change(epoch);
                }
            }
            // There is nothing to change.
            (Change::Write(..) | Change::Remove, None) => {}
        }
    }

    /// Puts a record into a page that has room for it.
    fn move_to(
        &self,
        mut target: Latched<'_>,
        (bytes, is_long): (&[u8], bool),
        epoch: u64,
    ) -> Address {
        let number = target.page();
        let page = Page::new(target.change(epoch));
        let slot = page.insert(bytes, is_long) as u16;
        let class = page.class();
        drop(target);
        if !self.rooms.is_being_filled(number) {
            self.rooms.note(number, class);
        }
        Address { page: number, slot }
    }

    /// Puts other bytes, which fit, in the place of a record.
    fn replace(&self, mut old: Held<'_>, (bytes, is_long): (&[u8], bool), epoch: u64) {
        let (slot, number) = (old.number(), old.page.page());
        let page = Page::new(old.page.change(epoch));
        let before = page.class();
        page.replace(slot, old.slot, bytes, is_long);
        let after = page.class();
        drop(old.page);
        old.pieces.into_iter().for_each(|(_, piece)| piece.free(&self.space, epoch));
        if after > before {
            self.rooms.note(number, after);
        }
    }

    /// Takes a record out of its page; gives the page back if it was the last one.
    fn leave(&self, mut old: Held<'_>, epoch: u64) {
        let (slot, number) = (old.number(), old.page.page());
        let page = Page::new(old.page.change(epoch));
        let before = page.class();
        page.remove(slot, old.slot);
        let after = page.class();
        old.pieces.into_iter().for_each(|(_, piece)| piece.free(&self.space, epoch));
        if after == EMPTY && !self.rooms.is_being_filled(number) {
            self.rooms.note(number, 0);
            old.page.free(&self.space, epoch);
        } else {
            drop(old.page);
            if after > before {
                self.rooms.note(number, after);
            }
        }
    }
}

/// Bytes that a payload takes up beside others.
fn stored_size(payload: &[u8]) -> usize {
    Cut::of(payload.len()).map_or(payload.len(), Cut::head_size)
}

/// The address at the place of a key, if it has one.
fn address_in(spot: &dyn Spot) -> Option<Address> {
    let mut bytes = [0; Address::BYTES];
    spot.is_there().then(|| {
        spot.read(&mut bytes);
        Address::of(bytes)
    })
}
