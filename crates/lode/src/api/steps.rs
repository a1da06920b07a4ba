//! Changes of records that happen together: readers see all of them or none, also after a crash.

use std::borrow::Cow;
use std::cell::Cell;

use crate::engine::Handle;
use crate::error::Result;
use crate::heap::{Outcome, UndoRecord, pages_for};
use crate::index::{Change, Decision, Keeps, Record, Swap, Write, WriteContext};
use crate::schema::Entry;
use crate::table::{EntryChange, Secondaries, Secondary, TableCore};
use crate::tree::Tree;
use crate::wal::{LogPosition, LogRecord};

/// The change of one record, whose key is in order.
pub(super) struct Step<'c> {
    pub core: &'c TableCore,
    pub key: Cow<'c, [u8]>,
    /// The payload that was read, if there was a record.
    pub seen: Option<Cow<'c, [u8]>>,
    /// The new payload; `None` if the record is to be deleted.
    pub wanted: Option<Cow<'c, [u8]>>,
}

impl Step<'_> {
    /// Returns the log record of the step; `None` if there was no record, and will be none.
    fn log_record(&self) -> Option<LogRecord<'_>> {
        let change = match &self.wanted {
            Some(payload) => Change::Put(payload),
            None => self.seen.as_ref().map(|_| Change::Delete)?,
        };
        Some(change.log_record(self.core.id(), &self.key))
    }

    /// Returns the log records of the step where changes are kept: with what was before, unless
    /// the step is of an entry of an index.
    fn log_records(&self) -> impl Iterator<Item = LogRecord<'_>> + Clone {
        let table = self.core.id();
        let is_entry = self.core.definition().index.is_some();
        let seen = self.seen.as_deref().filter(|_| !is_entry);
        let before = seen.map(|payload| LogRecord::Before { table, payload });
        before.into_iter().chain(self.log_record())
    }
}

/// A table and its secondary indexes.
#[derive(Clone, Copy)]
pub(super) struct Indexed<'c> {
    pub table: &'c TableCore,
    pub secondaries: &'c Secondaries,
}

/// Inserts an entry of an index. Answers if its key was new.
#[derive(Clone, Copy)]
struct AddEntry<'w> {
    payload: &'w [u8],
    /// Set to true if there is an entry with another payload.
    is_other: &'w Cell<bool>,
}

impl Write for AddEntry<'_> {
    const READS: bool = true;

    fn decide<'c>(self, found: Option<&'c mut Vec<u8>>) -> Decision<'c>
    where
        Self: 'c,
    {
        let answer = found.is_none();
        self.is_other.set(found.is_some_and(|found| found[..] != *self.payload));
        Decision { answer, change: answer.then_some(Change::Put(self.payload)) }
    }
}

/// The steps that were taken, while the gate is closed.
pub(super) struct Steps<'c> {
    db: &'c Handle,
    taken: Vec<(Step<'c>, Option<Box<UndoRecord>>)>,
    keeps: Keeps,
}

impl<'c> Steps<'c> {
    /// Bytes that each step takes up, besides the data that it refers to.
    pub(super) const BYTES_OF_ONE: usize =
        size_of::<(Step<'c>, Option<Box<UndoRecord>>)>() + size_of::<UndoRecord>();

    /// Makes an empty list with room for `count` steps.
    pub(super) fn new(db: &'c Handle, count: usize) -> Self {
        Self { db, taken: Vec::with_capacity(count), keeps: Keeps::Pages }
    }

    /// Returns the context of the next step.
    fn context<'w>(&'w self, core: &'w TableCore) -> WriteContext<'w> {
        core.unlogged(self.db.pager()).of_step(self.keeps)
    }

    /// Writes a record, of which [`note`](Self::note) has to be told if that changed it.
    ///
    /// # Errors
    /// `Full` when memory has no room for it; `DiskFull`; `Poisoned`; `Corrupt`.
    pub(super) fn write(
        &self,
        core: &TableCore,
        key: &[u8],
        extra_pages: u64,
        write: impl Write,
    ) -> Result<Outcome> {
        self.db.make_room_for_step(extra_pages)?;
        core.write(&self.context(core), key, write)
    }

    /// Notes a step that was taken.
    pub(super) fn note(&mut self, step: Step<'c>, undo: Option<Box<UndoRecord>>) {
        step.core.watch().note(&step.key);
        // A record that is deleted may have to be put back.
        if step.wanted.is_none() {
            self.keeps = Keeps::PagesAndRoom;
        }
        self.taken.push((step, undo));
    }

    /// Changes a record, unless it is not as it was seen. Returns true if it did.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(super) fn take(&mut self, step: Step<'c>) -> Result<bool> {
        let extra_pages = step.wanted.as_ref().map_or(0, |payload| pages_for(payload.len()));
        let swap = Swap { seen: step.seen.as_deref(), wanted: step.wanted.as_deref() };
        let outcome = self.write(step.core, &step.key, extra_pages, swap)?;
        if outcome.answer {
            self.note(step, outcome.undo);
        }
        Ok(outcome.answer)
    }

    /// Inserts records from the front of `run`, whose keys ascend, into one leaf of a tree. Returns
    /// the number inserted; 0 if there is a record with the first key.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(super) fn take_run(
        &mut self,
        core: &'c TableCore,
        tree: &Tree,
        run: &[Record<'c>],
    ) -> Result<usize> {
        self.db.make_room_for_step(0)?;
        debug_assert!(!core.is_indexed(), "the entries of its records are not written here");
        let count = tree.insert_run(&self.context(core), run)?;
        let step = |record: &Record<'c>| {
            let Record { key, payload } = *record;
            let wanted = Some(Cow::Borrowed(payload));
            (Step { core, key: Cow::Borrowed(key), seen: None, wanted }, None)
        };
        self.taken.extend(run[..count].iter().map(step));
        Ok(count)
    }

    /// Removes an entry from an index. One that is being built need not have it yet; a unique one
    /// may have that of another record instead, which stays.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(super) fn remove_entry(&mut self, secondary: &'c Secondary, entry: Entry) -> Result<()> {
        let core = &**secondary.core();
        let key = core.in_order(&entry.key, |key| Cow::Owned(key.to_vec()));
        self.take(Step { core, key, seen: Some(entry.payload.into()), wanted: None }).map(drop)
    }

    /// Adds an entry to an index, unless it has it. A record in its way goes if it has expired, and
    /// `may_go` accepts its key.
    ///
    /// # Errors
    /// As [`take`](Self::take); `UniqueViolation`, after which the step is not taken.
    pub(super) fn add_entry(
        &mut self,
        of: Indexed<'c>,
        secondary: &'c Secondary,
        Entry { key, payload }: Entry,
        may_go: &dyn Fn(&[u8]) -> bool,
    ) -> Result<()> {
        let core = &**secondary.core();
        let in_order = core.in_order(&key, <[u8]>::to_vec);
        let mut payload = Cow::Owned(payload);
        while let Some(refused) = self.put_entry(core, in_order.clone().into(), payload)? {
            if !self.remove_holder(of, secondary, &in_order, may_go)? {
                let payload = refused.into_owned();
                return Err(secondary.violation(of.table.schema(), &Entry { key, payload }));
            }
            payload = refused;
        }
        Ok(())
    }

    /// Adds an entry, by its key in order, to an index, unless it has it. Returns the payload if it
    /// has that of another record instead.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(super) fn put_entry(
        &mut self,
        core: &'c TableCore,
        key: Cow<'c, [u8]>,
        payload: Cow<'c, [u8]>,
    ) -> Result<Option<Cow<'c, [u8]>>> {
        let is_other = &Cell::new(false);
        let add = AddEntry { payload: &payload, is_other };
        let Outcome { answer, undo } = self.write(core, &key, 0, add)?;
        if answer {
            self.note(Step { core, key, seen: None, wanted: Some(payload) }, undo);
            return Ok(None);
        }
        Ok(is_other.get().then_some(payload))
    }

    /// Removes a record and its entries.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(super) fn remove_record(
        &mut self,
        of: Indexed<'c>,
        key: Vec<u8>,
        payload: Vec<u8>,
    ) -> Result<()> {
        let Indexed { table, secondaries } = of;
        for change in secondaries.changes(table, &key, Some(&payload), None)? {
            let EntryChange { secondary, old, .. } = change;
            old.map_or(Ok(()), |entry| self.remove_entry(secondary, entry))?;
        }
        let seen = Some(payload.into());
        let is_taken = self.take(Step { core: table, key: key.into(), seen, wanted: None })?;
        debug_assert!(is_taken, "nobody has written in between");
        Ok(())
    }

    /// Removes a record that has expired and whose entry, under a key in order, is in the way of
    /// another in a unique index. `may_go` must accept its key. Returns true if it was removed.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(super) fn remove_holder(
        &mut self,
        of: Indexed<'c>,
        secondary: &Secondary,
        entry_key: &[u8],
        may_go: &dyn Fn(&[u8]) -> bool,
    ) -> Result<bool> {
        let table = of.table;
        if !table.has_expiry() {
            return Ok(false);
        }
        let pager = self.db.pager();
        let Some(entry) = secondary.core().payload_of(pager, entry_key)? else { return Ok(false) };
        let packed = secondary.key_in_payload(table.schema(), &entry)?;
        let key = table.in_order(packed, <[u8]>::to_vec);
        let payload = table.payload_of(pager, &key)?;
        let expired = payload.filter(|payload| self.db.expired_us(table, payload).is_some());
        let Some(payload) = expired.filter(|_| may_go(&key)) else { return Ok(false) };
        self.remove_record(of, key, payload)?;
        Ok(true)
    }

    /// Ends the steps: logs all as one, or undoes them if one has failed, or the log does. Returns
    /// `all`, and where the steps end in the log.
    ///
    /// # Errors
    /// The error of the failed step, or of the log; `Poisoned` when a step could not be undone.
    pub(super) fn end<T>(self, all: Result<T>) -> Result<(T, LogPosition)> {
        let logged = all.and_then(|all| Ok((all, self.log()?)));
        match logged {
            Ok(_) => self.give_up(),
            Err(_) => self.undo()?,
        }
        logged
    }

    fn log(&self) -> Result<LogPosition> {
        if self.db.keeps_changes() {
            return self.db.append(self.taken.iter().flat_map(|(step, _)| step.log_records()));
        }
        self.db.append(self.taken.iter().filter_map(|(step, _)| step.log_record()))
    }

    /// Undoes the steps, the last one first. It has room: all pages still exist, and so does the
    /// room of deleted records. Pages that the steps took, and that are empty again, are given up
    /// then.
    ///
    /// # Errors
    /// `Poisoned` when a step could not be undone.
    pub(super) fn undo(self) -> Result<()> {
        for (Step { core, key, seen, .. }, undo) in self.taken.iter().rev() {
            let undone = core.roll_back(self.db.pager(), key, seen.as_deref(), undo.as_deref());
            if let Err(error) = undone {
                // Half of it has happened. The disk has nothing of it: a directory that is opened
                // again is as before.
                let Some(store) = self.db.store() else {
                    unreachable!("undoing needs no room, and no file in memory: {error}")
                };
                return Err(store.poison(&error).after_effect());
            }
        }
        self.give_up_undone();
        Ok(())
    }

    /// Gives up pages that undone steps have left, as far as there is room for it.
    fn give_up_undone(&self) {
        /// Keys in no order whose buckets were not joined, after which the others are not tried.
        const MOST_IN_VAIN: usize = 256;
        self.free_emptied();
        let mut table = None;
        let mut in_vain = 0;
        for (Step { core, key, .. }, _) in self.taken.iter().filter(|(step, _)| step.seen.is_none())
        {
            if table.replace(core.id()) != Some(core.id()) {
                in_vain = 0;
            }
            if in_vain == MOST_IN_VAIN {
                continue;
            }
            if !self.db.may_tidy() {
                return;
            }
            if core.tidy(self.db.pager(), key) { in_vain = 0 } else { in_vain += 1 }
        }
    }

    /// Gives up pages that were kept for a rollback, as far as there is room for it.
    fn give_up(&self) {
        for (Step { core, key, wanted, .. }, undo) in &self.taken {
            let pager = self.db.pager();
            if let Some(undo) = undo {
                core.give_up(pager, undo);
            }
            if wanted.is_none() && self.db.make_room_for_step(0).is_ok() {
                core.tidy(pager, key);
            }
        }
        self.free_emptied();
    }

    /// Frees the pages of heaps that the steps have left without records.
    fn free_emptied(&self) {
        let mut table = None;
        for (Step { core, .. }, _) in &self.taken {
            if table.replace(core.id()) != Some(core.id()) {
                core.free_emptied(self.db.pager());
            }
        }
    }
}
