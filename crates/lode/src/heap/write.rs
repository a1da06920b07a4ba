//! Changes of records in the heap.

use super::index_key::{Entry, Hint};
use super::long::{Cut, Written};
use super::page::{HeapPage, HeapPageMut};
use super::plan::{Change, Held};
use super::{Address, Found, Heap, Home};
use crate::error::Result;
use crate::index::{EntryMut, Index, Put, Record, Step, Swap, WriteContext};
use crate::pager::{Epoch, Latched, PageNumber, Pager};

/// The outcome of an attempt to change a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    Done,
    /// Another thread has changed something that matters.
    Again,
}

/// A record as it was before a step of a commit, which has kept all pages: it is put back if
/// another step fails, and given up when the commit is logged.
pub(crate) struct UndoRecord {
    page: PageNumber,
    /// The head of a long record.
    head: Option<Vec<u8>>,
    /// The pages of its pieces.
    pieces: Vec<PageNumber>,
}

/// The outcome of a step of a commit.
pub(crate) enum Swapped {
    /// The record is as wanted.
    Done(Option<Box<UndoRecord>>),
    /// The record is not as it was seen any more.
    Conflict,
}

impl Heap {
    /// Writes a record, as `put` allows. Returns true if there was one with its key.
    pub(crate) fn put(
        &self,
        index: &impl Index,
        context: &WriteContext<'_>,
        Record { key, payload }: Record<'_>,
        put: Put,
    ) -> Result<bool> {
        let whole = self.index_keys.whole(key, payload);
        let change = Change::Put { payload, whole: &whole };
        loop {
            let found = self.find(index, context.pager, key)?;
            let there = found.home.is_some();
            if !put.allows(there) {
                return Ok(there);
            }
            if self.attempt(index, context, (key, found), change, None)? == Attempt::Done {
                return Ok(there);
            }
        }
    }

    /// Reads the payload of a record into `bytes`, lets `change` change it, and writes it if that
    /// returns true. Returns true if the record exists.
    pub(crate) fn update(
        &self,
        index: &impl Index,
        context: &WriteContext<'_>,
        key: &[u8],
        bytes: &mut Vec<u8>,
        change: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<bool> {
        loop {
            let found = self.read_consistent(index, context.pager, key, bytes)?;
            if found.home.is_none() {
                return Ok(false);
            }
            if !change(bytes) {
                return Ok(true);
            }
            let whole = self.index_keys.whole(key, bytes);
            let change = Change::Put { payload: bytes, whole: &whole };
            if self.attempt(index, context, (key, found), change, None)? == Attempt::Done {
                return Ok(true);
            }
        }
    }

    /// Overwrites bytes of a record's payload; returns false if the record does not exist.
    pub(crate) fn write(
        &self,
        index: &impl Index,
        context: &WriteContext<'_>,
        key: &[u8],
        (at, bytes): (usize, &[u8]),
    ) -> Result<bool> {
        let front = self.index_keys.front(key);
        self.change_what_is_there(index, context, key, Change::Write { at, bytes, front })
    }

    /// Deletes a record; returns false if it does not exist.
    pub(crate) fn delete(
        &self,
        index: &impl Index,
        context: &WriteContext<'_>,
        key: &[u8],
    ) -> Result<bool> {
        self.change_what_is_there(index, context, key, Change::Remove)
    }

    fn change_what_is_there(
        &self,
        index: &impl Index,
        context: &WriteContext<'_>,
        key: &[u8],
        change: Change<'_>,
    ) -> Result<bool> {
        loop {
            let found = self.find(index, context.pager, key)?;
            if found.home.is_none() {
                return Ok(false);
            }
            if self.attempt(index, context, (key, found), change, None)? == Attempt::Done {
                return Ok(true);
            }
        }
    }

    /// Does a step of a commit, while the gate is closed: a record becomes what is wanted, if it is
    /// as it was seen.
    pub(crate) fn swap(
        &self,
        index: &impl Index,
        context: &WriteContext<'_>,
        Swap { key, seen, wanted }: Swap<'_>,
    ) -> Result<Swapped> {
        let mut payload = Vec::new();
        let whole = wanted.map(|payload| self.index_keys.whole(key, payload));
        loop {
            let found = self.read_consistent(index, context.pager, key, &mut payload)?;
            let change = match (wanted, &whole) {
                _ if found.home.as_ref().map(|_| &payload[..]) != seen => {
                    return Ok(Swapped::Conflict);
                }
                (Some(payload), Some(whole)) => Change::Put { payload, whole },
                _ if found.home.is_some() => Change::Remove,
                _ => return Ok(Swapped::Done(None)),
            };
            let mut undo = match &found.home {
                Some(home) => match self.undo_record(home)? {
                    Some(undo) => Some(undo),
                    None => continue,
                },
                None => None,
            };
            let keep = undo.as_deref_mut();
            if self.attempt(index, context, (key, found), change, keep)? == Attempt::Done {
                return Ok(Swapped::Done(undo));
            }
        }
    }

    /// Returns the record that undoes a change where it was found; `None` if it has changed since.
    fn undo_record(&self, home: &Home<'_>) -> Result<Option<Box<UndoRecord>>> {
        let slot = home.page.slot(home.address.slot.into());
        let mut head = None;
        if let Some(slot) = slot.filter(|slot| slot.is_long) {
            let Some((bytes, _)) = self.head_of(home, slot)? else { return Ok(None) };
            head = Some(bytes);
        }
        let undo = UndoRecord { page: home.address.page, head, pieces: Vec::new() };
        Ok(home.seen.validate().then(|| Box::new(undo)))
    }

    /// Undoes a step of a commit, when those after it are undone: puts the record back where it
    /// was. It allocates no page.
    pub(crate) fn roll_back(
        &self,
        index: &impl Index,
        context: &WriteContext<'_>,
        Record { key, payload }: Record<'_>,
        undo: &UndoRecord,
    ) -> Result<()> {
        let whole = self.index_keys.whole(key, payload);
        let (stored, is_long) = match &undo.head {
            Some(head) => (&head[..], true),
            None => (&whole[..], false),
        };
        let change = Change::PutBack { stored, is_long, page: undo.page };
        loop {
            let found = self.find(index, context.pager, key)?;
            if self.attempt(index, context, (key, found), change, None)? == Attempt::Done {
                return Ok(());
            }
        }
    }

    /// Gives up what a step of a commit has kept, after the commit is logged.
    pub(crate) fn give_up(&self, pager: &Pager, undo: &UndoRecord) {
        let epoch = pager.epoch();
        undo.pieces.iter().for_each(|piece| pager.free(*piece, &self.space, epoch));
    }

    /// Changes a record if it is still where it was found, or still missing: plans which pages
    /// change, latches them, logs the change, and applies it. The record as it was is kept for
    /// `undo`, if given.
    pub(super) fn attempt(
        &self,
        index: &impl Index,
        context: &WriteContext<'_>,
        (key, found): (&[u8], Found<'_, '_>),
        change: Change<'_>,
        mut undo: Option<&mut UndoRecord>,
    ) -> Result<Attempt> {
        let (pager, Found { index_key, home, other }) = (context.pager, found);
        if let Some(other) = other {
            self.pass(index, context, index_key.bytes(), other)?;
            return Ok(Attempt::Again);
        }
        if let Some(home) = &home
            && let Some(attempt) = self.attempt_in_place(context, (key, home), change)?
        {
            return Ok(attempt);
        }
        let Some(plan) = self.plan(pager, home, change)? else { return Ok(Attempt::Again) };
        let attempt = index.at(context, index_key.bytes(), |entry_mut| {
            if entry_in(entry_mut).map(|entry| entry.address) != plan.found().map(Some) {
                return Ok(Step::Done(Attempt::Again));
            }
            if !entry_mut.is_there() && !entry_mut.has_room() {
                return Ok(Step::Full);
            }
            let Some(latches) = plan.latch(pager) else { return Ok(Step::Done(Attempt::Again)) };
            // Pages for the pieces of a long record: no thread waits for room while it has them.
            let written = match change {
                Change::Put { whole, .. } => Cut::of(whole.len())
                    .map(|cut| Written::new(pager, &self.space, cut, whole))
                    .transpose()?,
                Change::Write { .. }
                | Change::Remove
                | Change::PutBack { .. }
                | Change::Move { .. } => None,
            };
            match change.log(context, key) {
                Ok(Some(epoch)) => {
                    let applying = Applying { context, epoch, undo: undo.as_deref_mut() };
                    let entry = (index_key.bytes(), entry_mut);
                    self.apply(applying, entry, latches, (change, written));
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

    /// Notes with a record that another key with its digest goes beyond it, unless it has changed.
    fn pass(
        &self,
        index: &impl Index,
        context: &WriteContext<'_>,
        index_key: &[u8],
        address: Address,
    ) -> Result<()> {
        index.at(context, index_key, |entry_mut| {
            let is_here = |entry: &Entry| entry.address == Some(address) && !entry.is_passed;
            if let Some(entry) = entry_in(entry_mut).filter(is_here) {
                // Passing is not logged: the replay of the insertion passes the record again.
                let epoch = context.pager.epoch();
                entry_mut.write(epoch, 0, &Entry { is_passed: true, ..entry }.bytes());
            }
            Ok(Step::Done(()))
        })
    }

    /// Applies a change that is logged.
    fn apply(
        &self,
        applying: Applying<'_>,
        entry: (&[u8], &mut dyn EntryMut),
        (old, target): (Option<Held<'_>>, Option<Latched<'_>>),
        (change, written): (Change<'_>, Option<Written<'_>>),
    ) {
        match change {
            Change::Write { at, bytes, front } => {
                old.into_iter().for_each(|old| old.overwrite(at + front, bytes, applying.epoch));
            }
            Change::Remove => self.apply_removal(applying, entry.1, old),
            Change::Put { whole, .. } => {
                let (stored, is_long) = match &written {
                    Some(written) => (&written.head[..], true),
                    None => (whole, false),
                };
                let epoch = applying.epoch;
                self.apply_record(applying, entry, (old, target), (stored, is_long));
                for mut piece in written.into_iter().flat_map(|written| written.pages) {
                    piece.change(epoch);
                }
            }
            Change::PutBack { stored, is_long, .. } | Change::Move { stored, is_long, .. } => {
                self.apply_record(applying, entry, (old, target), (stored, is_long));
            }
        }
    }

    /// Removes a record. If other keys have passed it, its entry stays, without an address.
    fn apply_removal(
        &self,
        applying: Applying<'_>,
        entry_mut: &mut dyn EntryMut,
        old: Option<Held<'_>>,
    ) {
        let is_passed = entry_in(entry_mut).is_some_and(|entry| entry.is_passed);
        match is_passed {
            true => {
                let entry = Entry { address: None, hint: Hint::default(), is_passed };
                entry_mut.write(applying.epoch, 0, &entry.bytes());
            }
            false => entry_mut.remove(applying.epoch),
        }
        self.leave(applying, old, None);
    }

    /// Puts a record, or its head if it is long, where the old one was, or into the target page.
    fn apply_record(
        &self,
        applying: Applying<'_>,
        (index_key, entry_mut): (&[u8], &mut dyn EntryMut),
        (old, target): (Option<Held<'_>>, Option<Latched<'_>>),
        stored: (&[u8], bool),
    ) {
        let Some(target) = target else { return self.leave(applying, old, Some(stored)) };
        let is_passed = entry_in(entry_mut).is_some_and(|entry| entry.is_passed);
        let epoch = applying.epoch;
        let (address, hint) = self.move_to(target, stored, epoch);
        let entry = Entry { address: Some(address), hint, is_passed }.bytes();
        match entry_mut.is_there() {
            true => entry_mut.write(epoch, 0, &entry),
            false => entry_mut.insert(epoch, Record { key: index_key, payload: &entry }),
        }
        self.leave(applying, old, None);
    }

    /// Puts a record into a page that has room for it; returns its address.
    fn move_to(
        &self,
        mut target: Latched<'_>,
        (bytes, is_long): (&[u8], bool),
        epoch: Epoch,
    ) -> (Address, Hint) {
        let number = target.page();
        let mut page = HeapPageMut::new(target.change(epoch));
        let slot = page.insert(bytes, is_long);
        let (room, hint) = (page.room(), page.hint(slot));
        drop(target);
        self.forget_not(number, room);
        (Address { page: number, slot: slot as u16 }, hint)
    }

    /// Takes an existing record out of its page, or puts another in its place; gives pages back
    /// that are not used any more, or has them kept.
    fn leave(
        &self,
        Applying { context, epoch, undo }: Applying<'_>,
        old: Option<Held<'_>>,
        new: Option<(&[u8], bool)>,
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
        match undo {
            None => {
                // While the page of the head is latched, so that a checkpoint that starts now
                // waits.
                let free = |piece| context.pager.free(piece, &self.space, epoch);
                pages.into_iter().for_each(free);
            }
            Some(undo) => undo.pieces = pages,
        }
        if is_empty && !self.free_space.is_being_filled(number) {
            if !context.keeps_pages() {
                self.free_space.note(number, 0);
                page.free(&self.space, epoch);
                return;
            }
            self.free_space.note_emptied(number);
        }
        drop(page);
        if after > before {
            self.forget_not(number, after);
        }
    }
}

/// A change that is logged, and happens in this epoch.
struct Applying<'a> {
    context: &'a WriteContext<'a>,
    epoch: Epoch,
    undo: Option<&'a mut UndoRecord>,
}

/// Returns the index's entry at the place of an index key, if it has one.
fn entry_in(entry_mut: &dyn EntryMut) -> Option<Entry> {
    let mut bytes = [0; Entry::BYTES];
    entry_mut.is_there().then(|| {
        entry_mut.read(&mut bytes);
        Entry::of(bytes)
    })
}
