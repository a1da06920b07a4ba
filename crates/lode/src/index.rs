//! What the two kinds of tables have in common: keys and payloads as bytes, and what operations do
//! at the place of a key.
//!
//! An operation latches what it will change, tells the log what comes of it ([`Journal`]), and then
//! changes it. While it has a latch it waits for nothing: if there is no room, it lets go, makes
//! some, and begins again.

use std::cell::Cell;

use crate::error::Result;
use crate::pager::{Pager, ReadEpoch, Space};
use crate::wal::{Entry, Kind, Log, Position};

/// The sizes of what an index has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bytes of a key, in the order of keys; the most, if keys are variable.
    pub key_size: usize,
    /// Whether keys may have fewer bytes: in trees. No key is the beginning of another then.
    pub is_variable: bool,
    /// Bytes of what is under a key: the rest of a packed record, or where that is.
    pub payload_size: usize,
}

/// What a scan calls with key and payload of each record; it answers whether to go on.
pub(crate) type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> Result<bool> + 'v;

/// Which records may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Put {
    /// Those that are not there.
    pub new: bool,
    /// Those that are there.
    pub over: bool,
}

impl Put {
    /// Only new ones.
    pub(crate) const INSERT: Self = Self { new: true, over: false };
    /// Any.
    pub(crate) const UPSERT: Self = Self { new: true, over: true };
}

/// Where the outcomes of operations on a table are told.
pub(crate) struct Journal<'j> {
    pager: &'j Pager,
    log: Option<&'j Log>,
    /// The table, as the log has it.
    table: [u8; 4],
    /// Whether what it does may be undone, so that all pages have to stay.
    is_commit: bool,
    /// Where the last outcome ends in the log.
    end: Cell<Position>,
    /// Bytes of an outcome that had no room.
    wanted: Cell<usize>,
}

impl<'j> Journal<'j> {
    /// In a log, or nowhere.
    #[inline]
    pub(crate) fn new(pager: &'j Pager, log: Option<&'j Log>, table: u32) -> Self {
        let (end, wanted) = (Cell::default(), Cell::new(0));
        Self { pager, log, table: table.to_le_bytes(), is_commit: false, end, wanted }
    }

    /// Nowhere, for a step of a commit, which may be undone if another one fails.
    pub(crate) fn of_commit(pager: &'j Pager, table: u32) -> Self {
        Self { is_commit: true, ..Self::new(pager, None, table) }
    }

    /// Whether pages have to stay even if they become empty.
    pub(crate) fn is_commit(&self) -> bool {
        self.is_commit
    }

    #[inline(always)]
    pub(crate) fn pager(&self) -> &'j Pager {
        self.pager
    }

    /// Where the last outcome ends in the log; the beginning of all if there was none.
    pub(crate) fn end(&self) -> Position {
        self.end.get()
    }

    /// Tells an outcome; answers the epoch of the operation, or `None` if the log has no room.
    #[inline(always)]
    fn append(&self, kind: Kind, parts: &[&[u8]]) -> Result<Option<u64>> {
        match self.log {
            None => Ok(Some(self.pager.epoch())),
            Some(log) => self.append_to(log, kind, parts),
        }
    }

    fn append_to(&self, log: &Log, kind: Kind, parts: &[&[u8]]) -> Result<Option<u64>> {
        let Some((epoch, end)) = log.append(kind, parts, || self.pager.epoch())? else {
            self.wanted.set(parts.iter().map(|part| part.len()).sum());
            return Ok(None);
        };
        self.end.set(end);
        Ok(Some(epoch))
    }

    /// Makes the room that was missing; not for those who hold a latch.
    #[cold]
    pub(crate) fn make_room(&self) -> Result<()> {
        self.log.map_or(Ok(()), |log| log.make_room(self.wanted.get()))
    }

    /// A record is there.
    pub(crate) fn put(&self, key: &[u8], payload: &[u8]) -> Result<Option<u64>> {
        self.append(Kind::Put, &[&self.table, key, payload])
    }

    /// Several records are there at once.
    pub(crate) fn put_all<'r>(
        &self,
        records: impl Iterator<Item = (&'r [u8], &'r [u8])>,
    ) -> Result<Option<u64>> {
        let mut body = Vec::new();
        if self.log.is_some() {
            for (key, payload) in records {
                let size = self.table.len() + key.len() + payload.len();
                body.extend_from_slice(&Entry::head(Kind::Put, size));
                [&self.table, key, payload].iter().for_each(|part| body.extend_from_slice(part));
            }
        }
        self.append(Kind::Commit, &[&body])
    }

    /// Bytes of a record's payload are others.
    pub(crate) fn patch(&self, key: &[u8], at: usize, bytes: &[u8]) -> Result<Option<u64>> {
        let at = (at as u32).to_le_bytes();
        self.append(Kind::Patch, &[&self.table, &at, key, bytes])
    }

    /// A record is not there.
    pub(crate) fn delete(&self, key: &[u8]) -> Result<Option<u64>> {
        self.append(Kind::Delete, &[&self.table, key])
    }
}

/// The place of a key in a page that is latched.
pub(crate) trait EntryMut {
    /// Whether there is a record.
    fn is_there(&self) -> bool;

    /// Whether there is room for one that is not there.
    fn has_room(&self) -> bool;

    /// Copies the payload of the record that is there.
    fn read(&self, payload: &mut [u8]);

    /// Overwrites bytes of its payload.
    fn write(&mut self, epoch: u64, at: usize, bytes: &[u8]);

    /// Puts a record where there is none, but room.
    fn insert(&mut self, epoch: u64, key: &[u8], payload: &[u8]);

    /// Takes the record out that is there.
    fn remove(&mut self, epoch: u64);
}

/// What came of work at a entry.
pub(crate) enum Step<T> {
    Done(T),
    /// There is no room for one more record.
    Full,
    /// There is no room in the log.
    Wait,
}

/// Finds the places of keys.
pub(crate) trait Index {
    /// Calls `follow` with the first eight bytes of the payload of a key's record, and answers what
    /// that does, if the record has not changed when it returns; until then it may be called
    /// several times. `None` if there is no such record.
    fn locate<T>(
        &self,
        pager: &Pager,
        key: &[u8],
        follow: impl FnMut([u8; 8]) -> T,
    ) -> Result<Option<T>>;

    /// Copies the payload that a record had at a moment; false if there was none.
    fn get_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        key: &[u8],
        payload: &mut [u8],
    ) -> Result<bool>;

    /// Latches the page of a key and calls `work` with the entry until that answers that it is
    /// done; between, it makes the room that was missing.
    fn at<T>(
        &self,
        journal: &Journal<'_>,
        space: &Space,
        key: &[u8],
        work: impl FnMut(&mut dyn EntryMut) -> Result<Step<T>>,
    ) -> Result<T>;

    /// Writes a record, as `put` allows. Answers whether it was there.
    fn put(
        &self,
        journal: &Journal<'_>,
        space: &Space,
        (key, payload): (&[u8], &[u8]),
        put: Put,
    ) -> Result<bool> {
        self.at(journal, space, key, |entry_mut| {
            let there = entry_mut.is_there();
            if !(if there { put.over } else { put.new }) {
                return Ok(Step::Done(there));
            }
            if !there && !entry_mut.has_room() {
                return Ok(Step::Full);
            }
            let Some(epoch) = journal.put(key, payload)? else { return Ok(Step::Wait) };
            match there {
                true => entry_mut.write(epoch, 0, payload),
                false => entry_mut.insert(epoch, key, payload),
            }
            Ok(Step::Done(there))
        })
    }

    /// Reads the payload of a record, which has so many bytes, into `bytes`, lets `change` change
    /// it, and writes it if that answers true. Answers whether there is such a record.
    fn update(
        &self,
        journal: &Journal<'_>,
        space: &Space,
        (key, size): (&[u8], usize),
        bytes: &mut Vec<u8>,
        change: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<bool> {
        self.at(journal, space, key, |entry_mut| {
            if !entry_mut.is_there() {
                return Ok(Step::Done(false));
            }
            bytes.resize(size, 0);
            entry_mut.read(bytes);
            if change(bytes) {
                let Some(epoch) = journal.put(key, bytes)? else { return Ok(Step::Wait) };
                entry_mut.write(epoch, 0, bytes);
            }
            Ok(Step::Done(true))
        })
    }

    /// Overwrites bytes of a record's payload; false if there is no such record.
    fn write(
        &self,
        journal: &Journal<'_>,
        space: &Space,
        key: &[u8],
        at: usize,
        bytes: &[u8],
    ) -> Result<bool> {
        self.at(journal, space, key, |entry_mut| {
            let there = entry_mut.is_there();
            if there {
                let Some(epoch) = journal.patch(key, at, bytes)? else { return Ok(Step::Wait) };
                entry_mut.write(epoch, at, bytes);
            }
            Ok(Step::Done(there))
        })
    }

    /// Makes a record what it shall be, if it is as it was seen; answers whether it was.
    fn swap(
        &self,
        journal: &Journal<'_>,
        space: &Space,
        key: &[u8],
        (seen, wanted): (Option<&[u8]>, Option<&[u8]>),
    ) -> Result<bool> {
        let mut found = vec![0; seen.map_or(0, <[u8]>::len)];
        self.at(journal, space, key, |entry_mut| {
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
            let told = match wanted {
                Some(_) if !there && !entry_mut.has_room() => return Ok(Step::Full),
                Some(payload) => journal.put(key, payload)?,
                None if there => journal.delete(key)?,
                None => return Ok(Step::Done(true)),
            };
            let Some(epoch) = told else { return Ok(Step::Wait) };
            match wanted {
                Some(payload) if there => entry_mut.write(epoch, 0, payload),
                Some(payload) => entry_mut.insert(epoch, key, payload),
                None => entry_mut.remove(epoch),
            }
            Ok(Step::Done(true))
        })
    }

    /// Deletes a record; false if there is none.
    fn delete(&self, journal: &Journal<'_>, space: &Space, key: &[u8]) -> Result<bool> {
        self.at(journal, space, key, |entry_mut| {
            let there = entry_mut.is_there();
            if there {
                let Some(epoch) = journal.delete(key)? else { return Ok(Step::Wait) };
                entry_mut.remove(epoch);
            }
            Ok(Step::Done(there))
        })
    }
}
