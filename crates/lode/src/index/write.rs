//! The writes of a record, each under one name from a table to the log.
//!
//! A [`Write`] looks at the record under its key and *decides* on a [`Change`] of it. The change is
//! logged and then applied at the record's entry, or in the heap.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::ops::Range;

use super::{AtEntry, EntryMut, Record, Step};
use crate::error::Result;
use crate::pager::{Epoch, Pager};
use crate::wal::{Keyed, LogRecord, TableId, Touched};

/// A change of the record under a key, as it is logged.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change<'c> {
    /// The record gets this payload; it is new, or replaces the record under its key.
    Put(&'c [u8]),
    /// The record's payload gets `bytes` from byte `at` on. The record exists.
    Patch { at: usize, bytes: &'c [u8] },
    /// The record is deleted. It exists.
    Delete,
}

impl<'c> Change<'c> {
    /// Returns the log record of the change.
    #[inline(always)]
    pub(crate) fn log_record(self, table: TableId, key: &'c [u8]) -> LogRecord<'c> {
        let keyed = |rest| Keyed::Apart { key, rest };
        match self {
            Self::Put(payload) => LogRecord::Put { table, record: keyed(payload) },
            Self::Patch { at, bytes } => {
                LogRecord::Patch { table, at: at as u32, bytes: keyed(bytes) }
            }
            Self::Delete => LogRecord::Delete { table, key: keyed(&[]) },
        }
    }
}

/// The decision of a write about the record that it has found, or has not.
pub(crate) struct Decision<'c> {
    /// The answer of the write, if the change succeeds.
    pub answer: bool,
    /// The change; `None` if everything stays.
    pub change: Option<Change<'c>>,
}

/// A write of the record under a key.
pub(crate) trait Write: Copy {
    /// True if there is a record as a rule.
    const EXPECTS_RECORD: bool = false;

    /// True if the decision depends on the record's payload.
    const READS: bool = false;

    /// True if the record may be there, and stay, with other columns than before.
    const MAY_KEEP_RECORD: bool = true;

    /// Returns the write as a patch, if it is one.
    #[inline(always)]
    fn patch<'c>(self) -> Option<Patch<'c>>
    where
        Self: 'c,
    {
        None
    }

    /// Returns the bytes of the longest payload that it writes as a whole.
    #[inline(always)]
    fn most_bytes(self) -> usize {
        0
    }

    /// Decides on the change, given the payload of the record, if there is one. If it does not
    /// [read](Self::READS), the payload is empty.
    fn decide<'c>(self, found: Option<&'c mut Vec<u8>>) -> Decision<'c>
    where
        Self: 'c;
}

/// Inserts a record with this payload, if its key is new. Answers if it was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Insert<'w>(pub &'w [u8]);

impl Write for Insert<'_> {
    const MAY_KEEP_RECORD: bool = false;

    #[inline(always)]
    fn most_bytes(self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn decide<'c>(self, found: Option<&'c mut Vec<u8>>) -> Decision<'c>
    where
        Self: 'c,
    {
        let answer = found.is_none();
        Decision { answer, change: answer.then_some(Change::Put(self.0)) }
    }
}

/// Writes a record with this payload. Answers if there was one with its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upsert<'w>(pub &'w [u8]);

impl Write for Upsert<'_> {
    #[inline(always)]
    fn most_bytes(self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn decide<'c>(self, found: Option<&'c mut Vec<u8>>) -> Decision<'c>
    where
        Self: 'c,
    {
        Decision { answer: found.is_some(), change: Some(Change::Put(self.0)) }
    }
}

/// Overwrites the bytes of a payload from `at` on. Answers if there is a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patch<'w> {
    pub at: usize,
    pub bytes: &'w [u8],
}

impl Patch<'_> {
    /// Returns the bytes of the payload that it overwrites.
    pub(crate) fn place(&self) -> Range<usize> {
        self.at..self.at + self.bytes.len()
    }
}

impl Write for Patch<'_> {
    const EXPECTS_RECORD: bool = true;

    #[inline(always)]
    fn patch<'c>(self) -> Option<Patch<'c>>
    where
        Self: 'c,
    {
        Some(self)
    }

    #[inline(always)]
    fn decide<'c>(self, found: Option<&'c mut Vec<u8>>) -> Decision<'c>
    where
        Self: 'c,
    {
        let Self { at, bytes } = self;
        let answer = found.is_some();
        Decision { answer, change: answer.then_some(Change::Patch { at, bytes }) }
    }
}

/// A closure that changes a payload, and returns true if it has.
type Modifier<'w> = dyn FnMut(&mut Vec<u8>) -> bool + 'w;

/// Has a closure change a copy of the payload, which is written if that returns true. Answers if
/// there is a record.
#[derive(Clone, Copy)]
pub(crate) struct Modify<'w> {
    pub work: &'w RefCell<Modifier<'w>>,
    /// The bytes of the longest payload that it accepts.
    pub most_bytes: usize,
}

impl Write for Modify<'_> {
    const EXPECTS_RECORD: bool = true;
    const READS: bool = true;

    fn most_bytes(self) -> usize {
        self.most_bytes
    }

    fn decide<'c>(self, found: Option<&'c mut Vec<u8>>) -> Decision<'c>
    where
        Self: 'c,
    {
        let Some(payload) = found else { return Decision { answer: false, change: None } };
        let is_changed = (self.work.borrow_mut())(payload);
        Decision { answer: true, change: is_changed.then_some(Change::Put(payload)) }
    }
}

/// Deletes a record. Answers if there was one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delete;

impl Write for Delete {
    const MAY_KEEP_RECORD: bool = false;

    #[inline(always)]
    fn decide<'c>(self, found: Option<&'c mut Vec<u8>>) -> Decision<'c>
    where
        Self: 'c,
    {
        let answer = found.is_some();
        Decision { answer, change: answer.then_some(Change::Delete) }
    }
}

/// Gives a record the payload `wanted`, if it has the payload `seen`. Answers if it had. `None`
/// stands for no record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swap<'w> {
    pub seen: Option<&'w [u8]>,
    pub wanted: Option<&'w [u8]>,
}

impl<'w> Swap<'w> {
    /// Returns the swap of one payload for another.
    pub(crate) fn of(seen: &'w [u8], wanted: &'w [u8]) -> Self {
        Self { seen: Some(seen), wanted: Some(wanted) }
    }
}

impl Write for Swap<'_> {
    const READS: bool = true;

    fn most_bytes(self) -> usize {
        self.wanted.map_or(0, <[u8]>::len)
    }

    #[inline]
    fn decide<'c>(self, found: Option<&'c mut Vec<u8>>) -> Decision<'c>
    where
        Self: 'c,
    {
        let found = found.map(|payload| &payload[..]);
        let change = match self.wanted {
            Some(payload) => Some(Change::Put(payload)),
            None => found.map(|_| Change::Delete),
        };
        let answer = found == self.seen;
        Decision { answer, change: change.filter(|_| answer) }
    }
}

/// A write that takes a record which has expired for missing.
#[derive(Clone, Copy)]
pub(crate) struct Living<'w, W> {
    pub write: W,
    /// Returns the time at which the record with a payload expired, if it has.
    pub expired_us: &'w dyn Fn(&[u8]) -> Option<i64>,
    /// Set to that time if such a record stays.
    pub left_us: &'w Cell<Option<i64>>,
}

impl<W: Write> Write for Living<'_, W> {
    const EXPECTS_RECORD: bool = W::EXPECTS_RECORD;
    const READS: bool = true;
    const MAY_KEEP_RECORD: bool = W::MAY_KEEP_RECORD;

    #[inline(always)]
    fn patch<'c>(self) -> Option<Patch<'c>>
    where
        Self: 'c,
    {
        self.write.patch()
    }

    fn most_bytes(self) -> usize {
        self.write.most_bytes()
    }

    fn decide<'c>(self, found: Option<&'c mut Vec<u8>>) -> Decision<'c>
    where
        Self: 'c,
    {
        let expired_us = found.as_deref().and_then(|payload| (self.expired_us)(payload));
        let decision = self.write.decide(found.filter(|_| expired_us.is_none()));
        let is_of_missing = matches!(decision.change, None | Some(Change::Put(_)));
        debug_assert!(expired_us.is_none() || is_of_missing, "an expired record is missing");
        self.left_us.set(expired_us.filter(|_| decision.change.is_none()));
        decision
    }
}

/// A log of changes of records.
pub(crate) trait Redo {
    type Error;

    /// Logs the change of the record under a key, in the pages that `touch` returns. Returns its
    /// epoch; `None` if the log has no room.
    fn log<'p>(
        &self,
        key: &[u8],
        change: Change<'_>,
        touch: impl FnOnce() -> Touched<'p>,
    ) -> Result<Option<Epoch>, Self::Error>;
}

/// Logs nothing, in memory.
pub(crate) struct Unlogged<'p>(pub &'p Pager);

impl Redo for Unlogged<'_> {
    type Error = Infallible;

    #[inline(always)]
    fn log<'p>(
        &self,
        _: &[u8],
        _: Change<'_>,
        _: impl FnOnce() -> Touched<'p>,
    ) -> Result<Option<Epoch>, Infallible> {
        Ok(Some(self.0.epoch()))
    }
}

/// A write at the entry of its key.
pub(crate) struct WriteAt<'w, W, R> {
    pub key: &'w [u8],
    pub write: W,
    pub redo: &'w R,
}

impl<W: Write, R: Redo> AtEntry for WriteAt<'_, W, R> {
    /// The answer of the write.
    type Done = bool;
    type Error = R::Error;

    const EXPECTS_RECORD: bool = W::EXPECTS_RECORD;

    #[inline(always)]
    fn work(&mut self, entry_mut: &mut impl EntryMut) -> Result<Step<bool>, R::Error> {
        let is_there = entry_mut.is_there();
        let mut payload = Vec::new();
        if W::READS && is_there {
            payload.resize(entry_mut.payload_size(), 0);
            entry_mut.read(&mut payload);
        }
        let found = is_there.then_some(&mut payload);
        let Decision { answer, change } = self.write.decide(found);
        let Some(change) = change else { return Ok(Step::Done(answer)) };
        if let Change::Put(payload) = change {
            debug_assert_eq!(payload.len(), entry_mut.payload_size(), "payloads have one size");
            if !is_there && !entry_mut.has_room() {
                return Ok(Step::Full);
            }
        }
        // Nothing can fail once it is logged.
        let touch = || Touched::one(entry_mut.last_frame());
        let Some(epoch) = self.redo.log(self.key, change, touch)? else { return Ok(Step::Wait) };
        match change {
            Change::Put(payload) if is_there => entry_mut.write(epoch, 0, payload),
            Change::Put(payload) => entry_mut.insert(epoch, Record { key: self.key, payload }),
            Change::Patch { at, bytes } => {
                debug_assert!(is_there, "only an existing record is patched");
                debug_assert!(at + bytes.len() <= entry_mut.payload_size(), "a payload is patched");
                entry_mut.write(epoch, at, bytes);
            }
            Change::Delete => {
                debug_assert!(is_there, "only an existing record is deleted");
                entry_mut.remove(epoch);
            }
        }
        Ok(Step::Done(answer))
    }
}
