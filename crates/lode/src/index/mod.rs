//! The interface that both kinds of tables share: keys and payloads as bytes, and the operations on
//! a key's entry.
//!
//! An operation latches what it will change, logs the result ([`WriteContext`]), and then changes
//! it. While it has a latch it waits for nothing: if there is no room, it unlatches, makes room,
//! and starts again.

mod salvage;
mod write;
mod write_context;

pub(crate) use salvage::{Remains, Salvaged, Visit, loss};
pub(crate) use write::{
    Change, Decision, Delete, Insert, Living, Modify, Patch, Redo, Swap, Unlogged, Upsert, Write,
    WriteAt,
};
pub(crate) use write_context::{Keeps, WriteContext};

use std::sync::atomic::AtomicU64;

use crate::error::{Error, Result};
use crate::pager::{Epoch, Pager, ReadEpoch};

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

impl Shape {
    /// Splits a packed record into key and payload, if all records have one size, and it has that.
    #[inline(always)]
    pub(crate) fn split(self, record: &[u8]) -> Option<(&[u8], &[u8])> {
        let Self { is_variable, key_size, payload_size } = self;
        let has_size = !is_variable && record.len() == key_size + payload_size;
        has_size.then(|| record.split_at_checked(key_size))?
    }
}

/// A record as an index has it: its key in the order of keys, and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'r> {
    pub key: &'r [u8],
    pub payload: &'r [u8],
}

/// The place of a key in a page that is latched.
pub(crate) trait EntryMut {
    /// Returns true if the record exists.
    fn is_there(&self) -> bool;

    /// Returns true if there is room for one more record.
    fn has_room(&self) -> bool;

    /// Returns the bytes of each payload.
    fn payload_size(&self) -> usize;

    /// Returns the word of the page that names the frame of the log which changed it last, where
    /// pages have such words.
    fn last_frame(&self) -> Option<&AtomicU64>;

    /// Copies the payload of the record, which exists.
    fn read(&self, payload: &mut [u8]);

    /// Overwrites bytes of the payload.
    fn write(&mut self, epoch: Epoch, at: usize, bytes: &[u8]);

    /// Inserts a record, for which there is room, under a key that has none.
    fn insert(&mut self, epoch: Epoch, record: Record<'_>);

    /// Removes the record, which exists.
    fn remove(&mut self, epoch: Epoch);
}

/// The outcome of work at an entry.
pub(crate) enum Step<T> {
    Done(T),
    /// The page has no room for one more record.
    Full,
    /// The log has no room.
    Wait,
}

/// Work at the entry of a key.
pub(crate) trait AtEntry {
    /// The result.
    type Done;
    type Error;

    /// True if there is a record as a rule.
    const EXPECTS_RECORD: bool = false;

    /// Does the work, unless room is missing; then it has changed nothing.
    fn work(&mut self, entry_mut: &mut impl EntryMut) -> Result<Step<Self::Done>, Self::Error>;
}

impl<T, W: FnMut(&mut dyn EntryMut) -> Result<Step<T>>> AtEntry for W {
    type Done = T;
    type Error = Error;

    fn work(&mut self, entry_mut: &mut impl EntryMut) -> Result<Step<T>> {
        self(entry_mut)
    }
}

/// Finds the places of keys.
pub(crate) trait Index {
    /// Returns the sizes of the index's records.
    fn shape(&self) -> Shape;

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

    /// Latches the page of a key and has `work` done at the key's entry until it is done. In
    /// between, makes the room that was missing.
    fn at<A: AtEntry<Error = Error>>(
        &self,
        context: &WriteContext<'_>,
        key: &[u8],
        work: A,
    ) -> Result<A::Done>;

    /// Writes the record under a key. Returns the answer of the write.
    #[inline(always)]
    fn write(&self, context: &WriteContext<'_>, key: &[u8], write: impl Write) -> Result<bool> {
        self.at(context, key, WriteAt { key, write, redo: context })
    }
}
