//! Writes of records of a table with secondary indexes.
//!
//! A write that leaves the entries of its record as they are takes place next to others, as in any
//! table. Others write record and entries together, with the gate closed: so they are commits, and
//! never meet a conflict.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use super::Table;
use super::writes::{Records, Request};
use crate::api::steps::{Indexed, Step, Steps};
use crate::engine::{CommitSize, LongTurn};
use crate::error::{Error, Result};
use crate::heap::{self, Outcome};
use crate::index::{Change, Decision, Write};
use crate::schema::Schema;
use crate::table::{Secondaries, Secondary, TableCore};
use crate::wal::LogPosition;

/// A write that changes nothing if the entries of its record would change.
#[derive(Clone, Copy)]
struct KeepEntries<'w, W> {
    write: W,
    table: &'w TableCore,
    secondaries: &'w Secondaries,
    /// Set to true when it changes nothing for that reason.
    is_refused: &'w Cell<bool>,
}

impl<W: Write> Write for KeepEntries<'_, W> {
    const EXPECTS_RECORD: bool = true;
    const READS: bool = true;

    fn most_bytes(self) -> usize {
        self.write.most_bytes()
    }

    fn decide<'c>(self, found: Option<&'c mut Vec<u8>>) -> Decision<'c>
    where
        Self: 'c,
    {
        let is_whole = |payload: &Vec<u8>| self.table.expect_stored(payload).is_ok();
        if !found.as_deref().is_none_or(is_whole) {
            self.is_refused.set(true);
            return Decision { answer: false, change: None };
        }
        let (before, decision) = decide(self.write, found);
        let is_kept = match (&before, &decision.change) {
            (_, None) => true,
            (Some(before), Some(Change::Put(after))) => {
                self.secondaries.are_equal(self.table.schema(), before, after)
            }
            (None, Some(_)) | (Some(_), Some(Change::Patch { .. } | Change::Delete)) => false,
        };
        self.is_refused.set(!is_kept);
        Decision { change: decision.change.filter(|_| is_kept), ..decision }
    }
}

/// Decides on a write. Returns the payload that was found, too.
fn decide<'c, W: Write + 'c>(
    write: W,
    found: Option<&'c mut Vec<u8>>,
) -> (Option<Vec<u8>>, Decision<'c>) {
    match found {
        None => (None, write.decide(None)),
        Some(payload) => {
            let before = if W::READS { payload.clone() } else { std::mem::take(payload) };
            (Some(before), write.decide(Some(payload)))
        }
    }
}

/// A write that notes how the record was, and how it is then. It writes records as a whole.
#[derive(Clone, Copy)]
struct Noting<'w, W> {
    write: W,
    table: &'w TableCore,
    noted: &'w RefCell<Noted>,
}

/// The payload of a record before and after a write.
#[derive(Default)]
struct Noted {
    /// `None` if there was no record.
    before: Option<Vec<u8>>,
    /// Empty if there is no record.
    after: Vec<u8>,
    is_there_after: bool,
    is_changed: bool,
    /// The fault of the record that was found.
    damage: Option<Error>,
}

impl Noted {
    fn clear(&mut self) {
        (self.before, self.damage) = (None, None);
        self.after.clear();
        (self.is_there_after, self.is_changed) = (false, false);
    }

    fn after(&self) -> Option<&[u8]> {
        self.is_there_after.then_some(&self.after)
    }

    /// Notes the decision on a write.
    fn note(&mut self, before: Option<Vec<u8>>, change: Option<&Change<'_>>) {
        self.clear();
        self.before = before;
        self.is_changed = change.is_some();
        if let Some(Change::Put(payload)) = change {
            self.after.extend_from_slice(payload);
            self.is_there_after = true;
        }
        let is_patched = matches!(change, Some(Change::Patch { .. }));
        debug_assert!(!is_patched, "what can be undone is written as a whole");
    }
}

impl<W: Write> Write for Noting<'_, W> {
    const EXPECTS_RECORD: bool = W::EXPECTS_RECORD;
    const READS: bool = true;

    fn most_bytes(self) -> usize {
        self.write.most_bytes()
    }

    fn decide<'c>(self, found: Option<&'c mut Vec<u8>>) -> Decision<'c>
    where
        Self: 'c,
    {
        let checked = found.as_deref().map_or(Ok(()), |found| self.table.expect_stored(found));
        if let Err(error) = checked {
            self.noted.borrow_mut().damage = Some(error);
            return Decision { answer: false, change: None };
        }
        let (before, decision) = match (self.write.patch(), found) {
            // As a whole, since pieces of a long record that are patched cannot be put back.
            (Some(patch), Some(payload)) => {
                let before = payload.clone();
                let Decision { answer, change } = self.write.decide(Some(&mut *payload));
                let is_patched = change.is_some();
                if is_patched {
                    payload[patch.place()].copy_from_slice(patch.bytes);
                }
                let change = is_patched.then_some(Change::Put(payload));
                (Some(before), Decision { answer, change })
            }
            (_, found) => decide(self.write, found),
        };
        self.noted.borrow_mut().note(before, decision.change.as_ref());
        decision
    }
}

/// Buffers of a write, which a thread uses again.
#[derive(Default)]
struct Buffers {
    noted: RefCell<Noted>,
    planned: Planned,
    /// The packed key of the record, if it is not in order.
    key: Vec<u8>,
}

impl Buffers {
    /// The most bytes of a payload that a thread keeps room for.
    const MOST_KEPT_BYTES: usize = 1 << 16;

    /// Calls `work` with the buffers of the thread.
    fn with<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        thread_local! {
            static BUFFERS: Cell<Option<Box<Buffers>>> = const { Cell::new(None) };
        }
        // In a thread that is ending they may be gone.
        let mut buffers = BUFFERS.try_with(Cell::take).ok().flatten().unwrap_or_default();
        let done = work(&mut buffers);
        let noted = buffers.noted.get_mut();
        noted.clear();
        if noted.after.capacity() <= Self::MOST_KEPT_BYTES {
            let _ = BUFFERS.try_with(|kept| kept.set(Some(buffers)));
        }
        done
    }
}

/// The entries that a write adds and removes, one after another.
#[derive(Default)]
struct Planned {
    /// Their keys in order, each followed by its payload.
    bytes: Vec<u8>,
    entries: Vec<PlannedEntry>,
    /// The packed key of an entry.
    packed: Vec<u8>,
}

struct PlannedEntry {
    /// The number of the index.
    secondary: usize,
    /// The ends of its key and of its payload.
    ends: [usize; 2],
    is_new: bool,
}

impl Planned {
    /// Plans the changes of the entries of a record, by its packed key, in place of others.
    fn plan(&mut self, secondaries: &Secondaries, table: &Schema, key: &[u8], noted: &Noted) {
        let Self { bytes, entries, packed } = self;
        bytes.clear();
        entries.clear();
        let before = noted.before.as_deref();
        let after = noted.after();
        for (number, secondary) in secondaries.all.iter().enumerate() {
            if let (Some(before), Some(after)) = (before, after)
                && secondary.entries().are_equal(table, before, after)
            {
                continue;
            }
            for (payload, is_new) in [(before, false), (after, true)] {
                let Some(payload) = payload else { continue };
                packed.clear();
                secondary.entries().append_key(table, key, payload, packed);
                let is_key = || secondary.core().expect_key(packed).is_ok();
                debug_assert!(is_key(), "an entry has a packed key");
                secondary.core().in_order(packed, |key| bytes.extend_from_slice(key));
                let key_end = bytes.len();
                secondary.entries().append_payload(table, key, bytes);
                let ends = [key_end, bytes.len()];
                entries.push(PlannedEntry { secondary: number, ends, is_new });
            }
        }
    }

    /// Takes the steps. Returns the unique index that has another record's entry instead, if one
    /// has.
    ///
    /// # Errors
    /// As [`Steps::take`].
    fn take<'c>(&'c self, of: Indexed<'c>, steps: &mut Steps<'c>) -> Result<Option<&'c Secondary>> {
        let mut from = 0;
        for PlannedEntry { secondary, ends: [key_end, end], is_new } in &self.entries {
            let (key, payload) = self.bytes[from..*end].split_at(key_end - from);
            from = *end;
            let secondary = &*of.secondaries.all[*secondary];
            let core = &**secondary.core();
            if !is_new {
                let seen = Some(payload.into());
                steps.take(Step { core, key: key.into(), seen, wanted: None })?;
                continue;
            }
            while steps.put_entry(core, key.into(), payload.into())?.is_some() {
                if !steps.remove_holder(of, secondary, key, &|_| true)? {
                    return Ok(Some(secondary));
                }
            }
        }
        Ok(None)
    }
}

impl Table {
    /// Writes a record next to others, if its entries stay as they are. Returns the answer, and the
    /// end of the write in the log; `None` otherwise, and if it fails.
    #[inline(never)]
    fn write_kept<W: Write>(
        &self,
        records: &impl Records,
        key: &[u8],
        write: W,
    ) -> Option<(bool, LogPosition)> {
        if !W::MAY_KEEP_RECORD {
            return None;
        }
        let _inside = self.db.gate().enter();
        self.db.expect_healthy().ok()?;
        let core = &*self.core;
        let schema = core.schema();
        if !core.is_indexed() {
            return None;
        }
        core.watch().note(key);
        core.with_secondaries(|secondaries| {
            secondaries.expect_whole().ok()?;
            if secondaries.notes_changes {
                return None;
            }
            if write.patch().is_some_and(|patch| secondaries.are_elsewhere(schema, &patch.place()))
            {
                return self.write_logged(records, key, write).ok();
            }
            let is_refused = &Cell::new(false);
            let write = KeepEntries { write, table: core, secondaries, is_refused };
            let written = self.write_logged(records, key, write).ok();
            written.filter(|_| !is_refused.get())
        })
    }

    /// Writes the record under a key in order, and its entries. Returns the answer of the write,
    /// when the change is as durable as the level says. The turn ends before that: long records are
    /// synced together.
    ///
    /// # Errors
    /// `UniqueViolation`, after which nothing has happened; those of [writing](Table#errors).
    #[inline(never)]
    pub(super) fn write_indexed<'w, Q: Request<'w>>(
        &self,
        records: &impl Records,
        key: &[u8],
        write: impl Write,
        turn: LongTurn<'_>,
    ) -> Result<bool> {
        let (answer, end) = match self.write_kept(records, key, write) {
            Some(written) => written,
            None => {
                let size = CommitSize { records: 1, bytes: write.most_bytes() };
                self.db.admitted_alone(size, &mut || {
                    self.core.ensure_open()?;
                    self.core.with_secondaries(|secondaries| {
                        secondaries.expect_whole()?;
                        Buffers::with(|own| self.write_alone(key, write, secondaries, own))
                    })
                })?
            }
        };
        drop(turn);
        if Q::IS_ACKNOWLEDGED {
            self.db.acknowledge(end).map_err(Error::after_effect)?;
        }
        Ok(answer)
    }

    /// Writes a record and its entries, with the gate closed. Returns the answer, and the end of
    /// the commit in the log.
    fn write_alone(
        &self,
        key: &[u8],
        write: impl Write,
        secondaries: &Secondaries,
        buffers: &mut Buffers,
    ) -> Result<(bool, LogPosition)> {
        let core = &*self.core;
        let schema = core.schema();
        let Buffers { noted, planned, key: unpacked } = buffers;
        let packed = core.packed_key(key, unpacked)?;
        // What changes a part of a record writes all of it here.
        let most_bytes = match write.most_bytes() {
            0 if core.definition().has_heap() => {
                core.payload_of(self.db.pager(), key)?.map_or(0, |payload| payload.len())
            }
            most_bytes => most_bytes,
        };
        let extra_pages = heap::pages_for(most_bytes);
        let write = Noting { write, table: core, noted };
        let mut steps = Steps::new(&self.db, 1 + 2 * secondaries.all.len());
        let Outcome { answer, undo } = steps.write(core, key, extra_pages, write)?;
        let noted = noted.get_mut();
        if let Some(error) = noted.damage.take() {
            return Err(error);
        }
        let noted = &*noted;
        if !noted.is_changed {
            return Ok((answer, LogPosition::default()));
        }
        let seen = noted.before.as_deref().map(Cow::Borrowed);
        let wanted = noted.after().map(Cow::Borrowed);
        steps.note(Step { core, key: key.into(), seen, wanted }, undo);
        planned.plan(secondaries, schema, packed, noted);
        let all = match planned.take(Indexed { table: core, secondaries }, &mut steps) {
            Err(error) => Err(error),
            Ok(None) => Ok(answer),
            Ok(Some(secondary)) => {
                let after = noted.after().unwrap_or_default();
                let entry = secondary.entries().entry_of(schema, packed, after);
                Err(secondary.violation(schema, &entry))
            }
        };
        steps.end(all)
    }
}
