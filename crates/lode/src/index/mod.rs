//! The interface that both kinds of tables share: keys and payloads as bytes, and the operations on
//! a key's entry.
//!
//! An operation latches what it will change, logs the result ([`WriteContext`]), and then changes
//! it. While it has a latch it waits for nothing: if there is no room, it unlatches, makes room,
//! and starts again.

mod write_context;

pub(crate) use write_context::{Keeps, WriteContext};

use crate::error::Result;
use crate::pager::{Epoch, Pager, ReadEpoch, Space};

/// The sizes of an index's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bytes of a key, in the order of keys; the most, if keys are variable.
    pub key_size: usize,
    /// True if keys may have fewer bytes: in trees. No key is a prefix of another then.
    pub is_variable: bool,
    /// Bytes of the payload under a key: the rest of a packed record, or its location.
    pub payload_size: usize,
}

/// A record as an index has it: its key in the order of keys, and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'r> {
    pub key: &'r [u8],
    pub payload: &'r [u8],
}

/// The records that may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Put {
    /// Only records whose keys are new.
    Insert,
    /// All records.
    Upsert,
}

impl Put {
    /// Returns true if a record may be written, given `is_there`: true if its key has one.
    #[inline(always)]
    pub(crate) fn allows(self, is_there: bool) -> bool {
        self == Self::Upsert || !is_there
    }
}

/// A step of a commit: a record becomes `wanted` if it still is as it was `seen`. `None` stands for
/// no record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swap<'s> {
    pub key: &'s [u8],
    pub seen: Option<&'s [u8]>,
    pub wanted: Option<&'s [u8]>,
}

/// The place of a key in a page that is latched.
pub(crate) trait EntryMut {
    /// Returns true if the record exists.
    fn is_there(&self) -> bool;

    /// Returns true if there is room for one more record.
    fn has_room(&self) -> bool;

    /// Copies the payload of the record, which exists.
    fn read(&self, payload: &mut [u8]);

    /// Overwrites bytes of the payload.
    fn write(&mut self, epoch: Epoch, at: usize, bytes: &[u8]);

    /// Inserts a record, for which there is room, under a key that has none.
    fn insert(&mut self, epoch: Epoch, record: Record<'_>);

    /// Removes the record, which exists.
    fn remove(&mut self, epoch: Epoch);
}

/// An entry that has the latch of its page.
pub(crate) trait LatchedEntry: EntryMut {
    /// Unlatches the page. Joins it with another, if it has few records left, and need not stay.
    fn finish(self, pager: &Pager, space: &Space);
}

/// The outcome of work at an entry.
pub(crate) enum Step<T> {
    Done(T),
    /// The page has no room for one more record.
    Full,
    /// The log has no room.
    Wait,
}

/// Finds the places of keys.
pub(crate) trait Index {
    /// Calls `follow` with the first eight bytes of the payload of a key's record. Returns its
    /// result, if the record has not changed by then; until then it may be called several times.
    /// `None` if the record does not exist.
    fn locate<T>(
        &self,
        pager: &Pager,
        key: &[u8],
        follow: impl FnMut([u8; 8]) -> T,
    ) -> Result<Option<T>>;

    /// Copies the payload that a record had at a moment; returns false if it did not exist.
    fn get_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        key: &[u8],
        payload: &mut [u8],
    ) -> Result<bool>;

    /// Latches the page of a key and calls `work` with the entry until that returns that it is
    /// done. In between, makes the room that was missing.
    fn at<T>(
        &self,
        context: &WriteContext<'_>,
        key: &[u8],
        work: impl FnMut(&mut dyn EntryMut) -> Result<Step<T>>,
    ) -> Result<T>;

    /// Writes a record, as `put` allows. Returns true if there was one with its key.
    fn put(&self, context: &WriteContext<'_>, record: Record<'_>, put: Put) -> Result<bool> {
        self.at(context, record.key, |entry_mut| {
            put_at(entry_mut, record, put, || context.log_put(record))
        })
    }

    /// Reads the payload of a record into `bytes`, which is as long, lets `change` change it, and
    /// writes it if that returns true. Returns true if the record exists.
    fn update(
        &self,
        context: &WriteContext<'_>,
        key: &[u8],
        bytes: &mut Vec<u8>,
        change: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<bool> {
        self.at(context, key, |entry_mut| {
            if !entry_mut.is_there() {
                return Ok(Step::Done(false));
            }
            entry_mut.read(bytes);
            if change(bytes) {
                let record = Record { key, payload: bytes };
                let Some(epoch) = context.log_put(record)? else { return Ok(Step::Wait) };
                entry_mut.write(epoch, 0, bytes);
            }
            Ok(Step::Done(true))
        })
    }

    /// Overwrites bytes of a record's payload; returns false if the record does not exist.
    fn write(
        &self,
        context: &WriteContext<'_>,
        key: &[u8],
        at: usize,
        bytes: &[u8],
    ) -> Result<bool> {
        self.at(context, key, |entry_mut| {
            patch_at(entry_mut, (at, bytes), || context.log_patch(key, at, bytes))
        })
    }

    /// Does a step of a commit. Returns false if the record is not as it was seen.
    fn swap(&self, context: &WriteContext<'_>, swap: Swap<'_>) -> Result<bool> {
        let Swap { key, seen, wanted } = swap;
        let mut found = vec![0; seen.map_or(0, <[u8]>::len)];
        self.at(context, key, |entry_mut| {
            let there = entry_mut.is_there();
            if there != seen.is_some() {
                return Ok(Step::Done(false));
            }
            if let Some(seen) = seen {
                entry_mut.read(&mut found);
                if found != seen {
                    return Ok(Step::Done(false));
                }
            }
            let logged = match wanted {
                Some(_) if !there && !entry_mut.has_room() => return Ok(Step::Full),
                Some(payload) => context.log_put(Record { key, payload })?,
                None if there => context.log_delete(key)?,
                None => return Ok(Step::Done(true)),
            };
            let Some(epoch) = logged else { return Ok(Step::Wait) };
            match wanted {
                Some(payload) if there => entry_mut.write(epoch, 0, payload),
                Some(payload) => entry_mut.insert(epoch, Record { key, payload }),
                None => entry_mut.remove(epoch),
            }
            Ok(Step::Done(true))
        })
    }

    /// Deletes a record; returns false if it does not exist.
    fn delete(&self, context: &WriteContext<'_>, key: &[u8]) -> Result<bool> {
        self.at(context, key, |entry_mut| delete_at(entry_mut, || context.log_delete(key)))
    }
}

/// Writes a record at its entry, as `put` allows, once `log` has logged it. Returns true if there
/// was one.
#[inline(always)]
pub(crate) fn put_at<E>(
    entry_mut: &mut (impl EntryMut + ?Sized),
    record: Record<'_>,
    put: Put,
    log: impl FnOnce() -> Result<Option<Epoch>, E>,
) -> Result<Step<bool>, E> {
    let there = entry_mut.is_there();
    if !put.allows(there) {
        return Ok(Step::Done(there));
    }
    if !there && !entry_mut.has_room() {
        return Ok(Step::Full);
    }
    let Some(epoch) = log()? else { return Ok(Step::Wait) };
    match there {
        true => entry_mut.write(epoch, 0, record.payload),
        false => entry_mut.insert(epoch, record),
    }
    Ok(Step::Done(there))
}

/// Overwrites bytes of the payload from `at` on, once logged. Returns true if there is a record.
#[inline(always)]
pub(crate) fn patch_at<E>(
    entry_mut: &mut (impl EntryMut + ?Sized),
    (at, bytes): (usize, &[u8]),
    log: impl FnOnce() -> Result<Option<Epoch>, E>,
) -> Result<Step<bool>, E> {
    let there = entry_mut.is_there();
    if there {
        let Some(epoch) = log()? else { return Ok(Step::Wait) };
        entry_mut.write(epoch, at, bytes);
    }
    Ok(Step::Done(there))
}

/// Deletes the record of an entry, once `log` has logged it. Returns true if there was one.
#[inline(always)]
pub(crate) fn delete_at<E>(
    entry_mut: &mut (impl EntryMut + ?Sized),
    log: impl FnOnce() -> Result<Option<Epoch>, E>,
) -> Result<Step<bool>, E> {
    let there = entry_mut.is_there();
    if there {
        let Some(epoch) = log()? else { return Ok(Step::Wait) };
        entry_mut.remove(epoch);
    }
    Ok(Step::Done(there))
}
