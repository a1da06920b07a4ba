//! Changes of records in the heap.

use std::borrow::Cow;

use super::free_space;
use super::index_key::{Entry, Hint};
use super::long::{Cut, Written};
use super::page::{HeapPage, HeapPageMut, Stored};
use super::plan::{HeapChange, Held, PlanLatches};
use super::{Address, Found, Heap, Home};
use crate::error::Result;
use crate::index::{Change, Decision, EntryMut, Index, Record, Step, Write, WriteContext};
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

/// The outcome of a write.
pub(crate) struct Outcome {
    /// The answer of the write.
    pub answer: bool,
    /// The record that undoes it, if a step of a commit changed an existing record of a heap.
    pub undo: Option<Box<UndoRecord>>,
}

impl Heap {
    /// Writes the record under a key.
    #[inline(never)]
    pub(crate) fn write<W: Write>(
        &self,
        index: &impl Index,
        context: &WriteContext<'_>,
        key: &[u8],
        write: W,
    ) -> Result<Outcome> {
        let mut payload = Vec::new();
        loop {
            let found = if W::READS {
                self.read_consistent(index, context.pager, key, &mut payload)?
            } else {
                self.find(index, context.pager, key)?
            };
            let home = found.home.as_ref();
            let Decision { answer, change } = write.decide(home.map(|_| &mut payload));
            let Some(change) = change else { return Ok(Outcome { answer, undo: None }) };
            let whole = match change {
                Change::Put(payload) => self.index_keys.whole(key, payload),
                Change::Patch { .. } | Change::Delete => Cow::default(),
            };
            let front = self.index_keys.front(key);
            let change = match change {
                Change::Put(_) => HeapChange::Put { whole: &whole, front },
                Change::Patch { at, bytes } => HeapChange::Patch { at, bytes, front },
                Change::Delete => HeapChange::Delete,
            };
            let mut undo = None;
            if let Some(home) = home.filter(|_| context.is_step()) {
                undo = self.undo_record(home)?;
                if undo.is_none() {
                    continue;
                }
            }
            let keep = undo.as_deref_mut();
            let attempt = self.attempt(index, context, key, found, change, keep);
            // After the change: a moment that is taken during it is before this epoch.
            context.pager.epoch().raise(&self.written_in);
            if attempt? == Attempt::Done {
                return Ok(Outcome { answer, undo });
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
        let stored = Stored::of(undo.head.as_deref(), &whole);
        let change = HeapChange::PutBack { stored, page: undo.page };
        loop {
            let found = self.find(index, context.pager, key)?;
            if self.attempt(index, context, key, found, change, None)? == Attempt::Done {
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
        key: &[u8],
        found: Found<'_, '_>,
        change: HeapChange<'_>,
        mut undo: Option<&mut UndoRecord>,
    ) -> Result<Attempt> {
        let pager = context.pager;
        let Found { index_key, home, other, is_beyond } = found;
        if let Some(other) = other {
            self.pass(index, context, index_key.bytes(), other)?;
            return Ok(Attempt::Again);
        }
        if let Some(home) = &home
            && let Some(attempt) = self.attempt_in_place(context, key, home, change)?
        {
            return Ok(attempt);
        }
        let Some(plan) = self.plan(pager, home, change)? else { return Ok(Attempt::Again) };
        let attempt = index.at(context, index_key.bytes(), |entry_mut: &mut dyn EntryMut| {
            if entry_in(entry_mut).map(|entry| entry.address) != plan.found().map(Some) {
                return Ok(Step::Done(Attempt::Again));
            }
            if !entry_mut.is_there() && !entry_mut.has_room() {
                return Ok(Step::Full);
            }
            let Some(latches) = plan.latch(pager) else { return Ok(Step::Done(Attempt::Again)) };
            // Pages for the pieces of a long record: no thread waits for room while it has them.
            let written = match change {
                HeapChange::Put { whole, .. } => Cut::of(whole.len())
                    .map(|cut| Written::new(pager, &self.space, cut, whole))
                    .transpose()?,
                HeapChange::Patch { .. }
                | HeapChange::Delete
                | HeapChange::PutBack { .. }
                | HeapChange::Move { .. } => None,
            };
            let touch = || latches.touched(entry_mut.last_frame(), is_beyond);
            match change.log(context, key, touch) {
                Ok(Some(epoch)) => {
                    if !change.is_logged(context) {
                        latches.carry(entry_mut.last_frame());
                    }
                    let index_key = index_key.bytes();
                    let undo = undo.as_deref_mut();
                    let applying = Applying { context, epoch, index_key, undo };
                    self.apply(applying, entry_mut, latches, change, written);
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
        index.at(context, index_key, |entry_mut: &mut dyn EntryMut| {
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
        entry_mut: &mut dyn EntryMut,
        latches: PlanLatches<'_>,
        change: HeapChange<'_>,
        written: Option<Written<'_>>,
    ) {
        match change {
            HeapChange::Patch { at, bytes, front } => {
                let old = latches.old.into_iter();
                old.for_each(|old| old.overwrite(at + front, bytes, applying.epoch));
            }
            HeapChange::Delete => self.apply_removal(applying, entry_mut, latches.old),
            HeapChange::Put { whole, .. } => {
                let head = written.as_ref().map(|written| &written.head[..]);
                let epoch = applying.epoch;
                self.apply_record(applying, entry_mut, latches, Stored::of(head, whole));
                for mut piece in written.into_iter().flat_map(|written| written.pages) {
                    piece.change(epoch);
                }
            }
            HeapChange::PutBack { stored, .. } | HeapChange::Move { stored, .. } => {
                self.apply_record(applying, entry_mut, latches, stored);
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
        if is_passed {
            let entry = Entry { address: None, hint: Hint::default(), is_passed };
            entry_mut.write(applying.epoch, 0, &entry.bytes());
        } else {
            entry_mut.remove(applying.epoch)
        }
        self.leave(applying, old, None);
    }

    /// Puts a record, or its head if it is long, where the old one was, or into the target page.
    fn apply_record(
        &self,
        applying: Applying<'_>,
        entry_mut: &mut dyn EntryMut,
        latches: PlanLatches<'_>,
        stored: Stored<'_>,
    ) {
        let PlanLatches { old, target } = latches;
        let Some(target) = target else { return self.leave(applying, old, Some(stored)) };
        let is_passed = entry_in(entry_mut).is_some_and(|entry| entry.is_passed);
        let epoch = applying.epoch;
        let (address, hint) = self.move_to(target, stored, epoch);
        let entry = Entry { address: Some(address), hint, is_passed }.bytes();
        if entry_mut.is_there() {
            entry_mut.write(epoch, 0, &entry)
        } else {
            entry_mut.insert(epoch, Record { key: applying.index_key, payload: &entry })
        }
        self.leave(applying, old, None);
    }

    /// Puts a record into a page that has room for it; returns its address.
    fn move_to(
        &self,
        mut target: Latched<'_>,
        stored: Stored<'_>,
        epoch: Epoch,
    ) -> (Address, Hint) {
        let number = target.page();
        let mut page = HeapPageMut::new(target.change(epoch));
        let slot = page.insert(stored);
        let room = page.room();
        let hint = page.hint(slot);
        drop(target);
        self.forget_not(number, room);
        (Address { page: number, slot: slot as u16 }, hint)
    }

    /// Takes an existing record out of its page, or puts another in its place; gives pages back
    /// that are not used any more, or has them kept.
    fn leave(
        &self,
        Applying { context, epoch, undo, .. }: Applying<'_>,
        old: Option<Held<'_>>,
        new: Option<Stored<'_>>,
    ) {
        let Some(mut old) = old else { return };
        let number = old.page.page();
        let before = HeapPage::new(old.page.words()).room();
        match new {
            Some(stored) => old.replace(stored, epoch),
            None => old.remove(epoch),
        }
        let now = HeapPage::new(old.page.words());
        let after = now.room();
        let is_empty = now.is_empty();
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
        if free_space::is_worth_noting(before, after) {
            self.forget_not(number, after);
        }
    }
}

/// A change that is logged, and happens in this epoch.
struct Applying<'a> {
    context: &'a WriteContext<'a>,
    epoch: Epoch,
    /// The record's key in the index.
    index_key: &'a [u8],
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
