//! Changes of records in the heap.

use super::long::{Cut, Written};
use super::names::Entry;
use super::page::{HeapPage, HeapPageMut};
use super::plan::{Change, Held};
use super::{Address, Found, Heap, Home};
use crate::error::Result;
use crate::index::{EntryMut, Index, Journal, Put, Step};
use crate::pager::{Latched, PageNumber, Pager, Space};

/// What came of an attempt to change a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    Done,
    /// Somebody else has changed something that matters.
    Again,
}

/// Where the outcomes of changes in a table are told, and the pages of its index.
pub(super) type Desk<'d> = (&'d Journal<'d>, &'d Space);

/// What was there before a step of a commit, which has kept all pages: it is put back if another
/// step fails, and given up when the commit is told.
pub(crate) struct UndoRecord {
    page: PageNumber,
    /// The head of a long record.
    head: Option<Vec<u8>>,
    /// The pages of its pieces.
    pieces: Vec<PageNumber>,
}

/// What came of a step of a commit.
pub(crate) enum Swapped {
    /// The record is what it shall be.
    Done(Option<Box<UndoRecord>>),
    /// It is not as it was seen any more.
    Conflict,
}

impl Heap {
    /// Writes a record, as `put` allows. Answers whether it was there.
    pub(crate) fn put(
        &self,
        index: &impl Index,
        desk: Desk<'_>,
        (key, payload): (&[u8], &[u8]),
        put: Put,
    ) -> Result<bool> {
        let whole = self.names.whole(key, payload);
        let change = Change::Put { payload, whole: &whole };
        loop {
            let found = self.find(index, desk.0.pager(), key)?;
            let there = found.home.is_some();
            if !(if there { put.over } else { put.new }) {
                return Ok(there);
            }
            if self.attempt(index, desk, (key, found), change, None)? == Attempt::Done {
                return Ok(there);
            }
        }
    }

    /// Reads the payload of a record into `bytes`, lets `change` change it, and writes it if that
    /// answers true. Answers whether there is such a record.
    pub(crate) fn update(
        &self,
        index: &impl Index,
        desk: Desk<'_>,
        key: &[u8],
        bytes: &mut Vec<u8>,
        change: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<bool> {
        loop {
            let found = self.settled(index, desk.0.pager(), key, bytes)?;
            if found.home.is_none() {
                return Ok(false);
            }
            if !change(bytes) {
                return Ok(true);
            }
            let whole = self.names.whole(key, bytes);
            let change = Change::Put { payload: bytes, whole: &whole };
            if self.attempt(index, desk, (key, found), change, None)? == Attempt::Done {
                return Ok(true);
            }
        }
    }

    /// Overwrites bytes of a record's payload; false if there is no such record.
    pub(crate) fn write(
        &self,
        index: &impl Index,
        desk: Desk<'_>,
        key: &[u8],
        (at, bytes): (usize, &[u8]),
    ) -> Result<bool> {
        let front = self.names.front(key);
        self.change_what_is_there(index, desk, key, Change::Write { at, bytes, front })
    }

    /// Deletes a record; false if there is none.
    pub(crate) fn delete(&self, index: &impl Index, desk: Desk<'_>, key: &[u8]) -> Result<bool> {
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
            let found = self.find(index, desk.0.pager(), key)?;
            if found.home.is_none() {
                return Ok(false);
            }
            if self.attempt(index, desk, (key, found), change, None)? == Attempt::Done {
                return Ok(true);
            }
        }
    }

    /// A step of a commit, by who is alone: makes a record what it shall be, if it is as it was
    /// seen.
    pub(crate) fn swap(
        &self,
        index: &impl Index,
        desk: Desk<'_>,
        key: &[u8],
        (seen, wanted): (Option<&[u8]>, Option<&[u8]>),
    ) -> Result<Swapped> {
        let (pager, mut payload) = (desk.0.pager(), Vec::new());
        let whole = wanted.map(|payload| self.names.whole(key, payload));
        loop {
            let found = self.settled(index, pager, key, &mut payload)?;
            let change = match (wanted, &whole) {
                _ if found.home.as_ref().map(|_| &payload[..]) != seen => {
                    return Ok(Swapped::Conflict);
                }
                (Some(payload), Some(whole)) => Change::Put { payload, whole },
                _ if found.home.is_some() => Change::Remove,
                _ => return Ok(Swapped::Done(None)),
            };
            let mut left = match &found.home {
                Some(home) => match self.left_of(home)? {
                    Some(left) => Some(left),
                    None => continue,
                },
                None => None,
            };
            let keep = left.as_deref_mut();
            if self.attempt(index, desk, (key, found), change, keep)? == Attempt::Done {
                return Ok(Swapped::Done(left));
            }
        }
    }

    /// What a step of a commit leaves of a record where it was found; `None` if it has changed
    /// since.
    fn left_of(&self, home: &Home<'_>) -> Result<Option<Box<UndoRecord>>> {
        let slot = home.page.slot(home.address.slot.into());
        let mut head = None;
        if let Some(slot) = slot.filter(|slot| slot.is_long) {
            let Some((bytes, _)) = self.head_of(home, slot)? else { return Ok(None) };
            head = Some(bytes);
        }
        let left = UndoRecord { page: home.address.page, head, pieces: Vec::new() };
        Ok(home.seen.validate().then(|| Box::new(left)))
    }

    /// Undoes a step of a commit, when those after it are undone: puts the record back where it
    /// was. That needs no page more than there are.
    pub(crate) fn put_back(
        &self,
        index: &impl Index,
        desk: Desk<'_>,
        (key, seen): (&[u8], &[u8]),
        left: &UndoRecord,
    ) -> Result<()> {
        let whole = self.names.whole(key, seen);
        let (stored, is_long) = match &left.head {
            Some(head) => (&head[..], true),
            None => (&whole[..], false),
        };
        let change = Change::PutBack { stored, is_long, page: left.page };
        loop {
            let found = self.find(index, desk.0.pager(), key)?;
            if self.attempt(index, desk, (key, found), change, None)? == Attempt::Done {
                return Ok(());
            }
        }
    }

    /// Gives up what a step of a commit has left, after it was told.
    pub(crate) fn roll_back(&self, pager: &Pager, left: &UndoRecord) {
        let epoch = pager.epoch();
        left.pieces.iter().for_each(|piece| pager.free(*piece, &self.space, epoch));
        // A page that cannot be looked at stays; it is found empty some other time.
        let Ok((seen, words)) = pager.read_optimistic(left.page) else { return };
        if HeapPage::new(words).is_empty()
            && !self.free_space.is_being_filled(left.page)
            && let Some(page) = pager.latch(seen)
        {
            self.free_space.note(left.page, 0);
            page.free(&self.space, epoch);
        }
    }

    /// Changes a record if it is still where it was found, or still not there. If `left` is there,
    /// what was there before is kept for it.
    pub(super) fn attempt(
        &self,
        index: &impl Index,
        (journal, space): Desk<'_>,
        (key, found): (&[u8], Found<'_, '_>),
        change: Change<'_>,
        mut left: Option<&mut UndoRecord>,
    ) -> Result<Attempt> {
        let (pager, Found { name, home, other }) = (journal.pager(), found);
        if let Some(other) = other {
            self.pass(index, (journal, space), name.bytes(), other)?;
            return Ok(Attempt::Again);
        }
        let Some(plan) = self.plan(pager, home, change)? else { return Ok(Attempt::Again) };
        let attempt = index.at(journal, space, name.bytes(), |entry_mut| {
            if entry_in(entry_mut).map(|entry| entry.address) != plan.found().map(Some) {
                return Ok(Step::Done(Attempt::Again));
            }
            if !entry_mut.is_there() && !entry_mut.has_room() {
                return Ok(Step::Full);
            }
            let Some(latches) = plan.latch(pager) else { return Ok(Step::Done(Attempt::Again)) };
            // Pages for the pieces of a long record: nobody waits for room while he has them.
            let written = match change {
                Change::Put { whole, .. } => Cut::of(whole.len())
                    .map(|cut| Written::new(pager, &self.space, cut, whole))
                    .transpose()?,
                Change::Write { .. }
                | Change::Remove
                | Change::PutBack { .. }
                | Change::Move { .. } => None,
            };
            match change.tell(journal, key) {
                Ok(Some(epoch)) => {
                    let what = (change, written, left.as_deref_mut());
                    self.carry_out((journal, epoch), (name.bytes(), entry_mut), latches, what);
                    Ok(Step::Done(Attempt::Done))
                }
                other => {
                    written.into_iter().for_each(|written| written.free(pager, &self.space));
                    other.map(|_| Step::Wait)
                }
            }
        });
        if attempt.as_ref().ok() != Some(&Attempt::Done)
            && let Some((page, room)) = plan.target()
        {
            self.forget_not(page, room);
        }
        attempt
    }

    /// Notes with a record that another key with its name goes beyond it, unless it has changed.
    fn pass(
        &self,
        index: &impl Index,
        (journal, space): Desk<'_>,
        name: &[u8],
        address: Address,
    ) -> Result<()> {
        index.at(journal, space, name, |entry_mut| {
            let entry = Entry { address: Some(address), is_passed: false };
            if entry_in(entry_mut) == Some(entry) {
                // Nobody need be told: whoever does this again passes it again.
                let epoch = journal.pager().epoch();
                entry_mut.write(epoch, 0, &Entry { is_passed: true, ..entry }.bytes());
            }
            Ok(Step::Done(()))
        })
    }

    /// Does what was told.
    fn carry_out(
        &self,
        (journal, epoch): (&Journal<'_>, u64),
        (name, entry_mut): (&[u8], &mut dyn EntryMut),
        (old, target): (Option<Held<'_>>, Option<Latched<'_>>),
        (change, written, left): (Change<'_>, Option<Written<'_>>, Option<&mut UndoRecord>),
    ) {
        let is_passed = entry_in(entry_mut).is_some_and(|entry| entry.is_passed);
        let (stored, is_long) = match (change, &written) {
            (Change::Put { .. }, Some(written)) => (&written.head[..], true),
            (Change::Put { whole, .. }, None) => (whole, false),
            (Change::PutBack { stored, is_long, .. } | Change::Move { stored, is_long, .. }, _) => {
                (stored, is_long)
            }
            (Change::Write { at, bytes, front }, _) => {
                return old.into_iter().for_each(|old| old.overwrite(at + front, bytes, epoch));
            }
            (Change::Remove, _) => {
                match is_passed {
                    true => entry_mut.write(epoch, 0, &Entry { address: None, is_passed }.bytes()),
                    false => entry_mut.remove(epoch),
                }
                return self.leave(journal, old, None, left, epoch);
            }
        };
        match target {
            None => {
                self.leave(journal, old, Some((stored, is_long)), left, epoch);
            }
            Some(target) => {
                let address = Some(self.move_to(target, (stored, is_long), epoch));
                let entry = Entry { address, is_passed }.bytes();
                match entry_mut.is_there() {
                    true => entry_mut.write(epoch, 0, &entry),
                    false => entry_mut.insert(epoch, name, &entry),
                }
                self.leave(journal, old, None, left, epoch);
            }
        }
        for mut piece in written.into_iter().flat_map(|written| written.pages) {
            piece.change(epoch);
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
        let mut page = HeapPageMut::new(target.change(epoch));
        let slot = page.insert(bytes, is_long) as u16;
        let room = page.room();
        drop(target);
        self.forget_not(number, room);
        Address { page: number, slot }
    }

    /// Takes a record that was there, if one was, out of its page, or puts another in its place;
    /// gives pages back that are not used any more, or has them kept.
    fn leave(
        &self,
        journal: &Journal<'_>,
        old: Option<Held<'_>>,
        new: Option<(&[u8], bool)>,
        left: Option<&mut UndoRecord>,
        epoch: u64,
    ) {
        let Some(mut old) = old else { return };
        let (number, before) = (old.page.page(), HeapPage::new(old.page.words()).room());
        match new {
            Some(stored) => old.replace(stored, epoch),
            None => old.remove(epoch),
        }
        let now = HeapPage::new(old.page.words());
        let (after, is_empty) = (now.room(), now.is_empty());
        let Held { page, pages, .. } = old;
        match left {
            None => {
                // While the page of the head is latched, so that a checkpoint that begins now
                // waits.
                let pager = journal.pager();
                pages.into_iter().for_each(|piece| pager.free(piece, &self.space, epoch));
            }
            Some(left) => left.pieces = pages,
        }
        if is_empty && !journal.is_commit() && !self.free_space.is_being_filled(number) {
            self.free_space.note(number, 0);
            page.free(&self.space, epoch);
            return;
        }
        drop(page);
        if after > before {
            self.forget_not(number, after);
        }
    }
}

/// What the index has at the place of a name, if anything.
fn entry_in(entry_mut: &dyn EntryMut) -> Option<Entry> {
    let mut bytes = [0; Entry::BYTES];
    entry_mut.is_there().then(|| {
        entry_mut.read(&mut bytes);
        Entry::of(bytes)
    })
}
