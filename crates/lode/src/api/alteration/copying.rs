//! Giving a successor the records of its table, next to readers and writers.
//!
//! Writers of the table note the keys of what they write. Each commit here first removes the
//! records under these keys from the successor, and then adds records as they are at that moment.
//! So after each commit, each record of the successor is as it is in the table. That keeps its
//! unique indexes without violations, too.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use super::Conversion;
use crate::api::Table;
use crate::api::steps::{Indexed, Step, Steps};
use crate::engine::CommitSize;
use crate::error::{Error, Result};
use crate::table::{EntryChange, Secondaries, Watch};

/// The most records that one commit removes.
const MOST_RECORDS: usize = 2048;

/// For as many records that a commit may remove, it copies one.
const COPIED_PART: usize = 8;

/// The bytes of records after which a commit takes no further one.
const ENOUGH_BYTES: usize = 1 << 17;

/// The most records that are left to be copied when the walk continues.
const MOST_LEFT: usize = 512;

/// The most commits with which a successor is completed in one go.
const MOST_AT_LAST: usize = 4;

/// The longest rest after a commit, if there are writers.
const MOST_REST: Duration = Duration::from_millis(5);

/// A key in the order of its table.
type Key = Box<[u8]>;

/// A successor that gets the records of its table.
pub(super) struct Copying<'c> {
    table: &'c Table,
    successor: &'c Table,
    conversion: &'c Conversion<'c>,
    /// The keys of the records that are to be copied next, the last one first.
    left: Vec<Key>,
    /// The most records that the next commit removes.
    most_records: usize,
    /// True if all records were met: then writers wait until the successor is in its place.
    is_last: bool,
}

impl<'c> Copying<'c> {
    pub(super) fn new(
        table: &'c Table,
        successor: &'c Table,
        conversion: &'c Conversion<'c>,
    ) -> Self {
        let left = Vec::new();
        let most_records = MOST_RECORDS;
        Self { table, successor, conversion, left, most_records, is_last: false }
    }

    fn watch(&self) -> &'c Watch {
        self.table.core().watch()
    }

    /// Copies all records, and has the successor take its place.
    pub(super) fn run(mut self) -> Result<()> {
        let core = self.table.core();
        let mut walk = core.index.walk();
        while let Some(keys) = self.table.next_keys(&mut walk)? {
            self.left.extend(keys.into_iter().rev().map(Vec::into_boxed_slice));
            while self.left.len() > MOST_LEFT {
                self.copy_some()?;
            }
        }
        self.is_last = true;
        self.watch().want_gate(true);
        let db = self.table.database();
        let successor = self.successor.core();
        loop {
            // What is left now are these, and what threads write that have passed.
            while !self.left.is_empty() {
                self.copy_some()?;
            }
            let complete = &mut || self.complete();
            if db.end_successor(core, successor, complete)? {
                debug_assert!(self.left.is_empty(), "the successor has all records");
                return Ok(());
            }
            self.copy_some()?;
        }
    }

    /// Copies some of the records that are left, in a commit. What was written since the last one
    /// is left then, too. The commit does not wait for its sync: the one in which the successor
    /// takes its place does.
    fn copy_some(&mut self) -> Result<()> {
        let size = CommitSize { records: self.most_records, bytes: 0 };
        let watch = self.watch();
        let started = Instant::now();
        watch.want_gate(true);
        let committed = self.table.database().admitted_alone(size, &mut || {
            watch.want_gate(self.is_last);
            self.commit()
        });
        watch.want_gate(self.is_last);
        match committed {
            Ok(removed) => {
                if removed > 0 && !self.is_last && !watch.is_crowded() {
                    // Writers have half of the time.
                    std::thread::sleep(started.elapsed().min(MOST_REST));
                }
                self.most_records = (self.most_records * 2).min(MOST_RECORDS);
                Ok(())
            }
            Err(Error::Full { .. }) if self.most_records > 1 => {
                self.most_records /= 2;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Copies what was written since the last commit, if that is little; with the gate closed.
    /// Returns true if the successor has all records then.
    fn complete(&mut self) -> Result<bool> {
        for _ in 0..MOST_AT_LAST {
            match self.commit() {
                Ok(_) if self.left.is_empty() && self.watch().is_empty() => return Ok(true),
                Ok(_) => {}
                Err(Error::Full { .. }) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Removes records that were written since the last commit. If these are all, copies some of
    /// the records that are left. The gate is closed. Returns the number of removed ones.
    fn commit(&mut self) -> Result<usize> {
        self.table.core().ensure_open()?;
        self.successor.core().ensure_open()?;
        let (mut noted, is_all) = self.watch().some(self.most_records);
        let most_copied = if is_all { self.most_records.div_ceil(COPIED_PART) } else { 0 };
        let copied = &self.left[self.left.len().saturating_sub(most_copied)..];
        let secondaries = &self.successor.core().secondaries();
        let steps = Steps::new(self.table.database(), noted.len() + copied.len());
        let mut writing =
            Writing { copying: self, secondaries, steps, buffers: Buffers::default() };
        let all = writing.take(&noted, copied);
        let (Taken { removed, copied }, _) = writing.steps.end(all)?;
        debug_assert!(removed <= noted.len() && copied <= self.left.len());
        debug_assert!(copied == 0 || removed == noted.len(), "removed before others are copied");
        noted.truncate(removed);
        self.watch().forget(&noted);
        self.left.truncate(self.left.len() - copied);
        self.left.extend(noted);
        self.watch().note_left(&self.left);
        Ok(removed)
    }
}

/// The writing of one commit, with the gate closed.
struct Writing<'s> {
    copying: &'s Copying<'s>,
    secondaries: &'s Secondaries,
    steps: Steps<'s>,
    buffers: Buffers,
}

impl Writing<'_> {
    /// Takes steps until there are enough bytes of them: removes records, and then copies those
    /// under the last of the keys `copied`.
    fn take(&mut self, removed: &[Key], copied: &[Key]) -> Result<Taken> {
        let mut taken = Taken::default();
        let mut bytes = 0;
        for key in removed {
            if bytes > ENOUGH_BYTES {
                return Ok(taken);
            }
            bytes += self.remove(key)?;
            taken.removed += 1;
        }
        for key in copied.iter().rev() {
            if bytes > ENOUGH_BYTES {
                break;
            }
            bytes += self.copy(key)?;
            taken.copied += 1;
        }
        Ok(taken)
    }

    /// Removes the record under a key of the table from the successor. Returns its bytes.
    fn remove(&mut self, key: &[u8]) -> Result<usize> {
        let core = self.copying.table.core();
        let Buffers { unpacked, converted } = &mut self.buffers;
        let packed = core.packed_key(key, unpacked)?;
        match self.copying.conversion.key(core.schema(), packed, converted) {
            // The successor has no such record. If the table has, copying it says so.
            Err(Error::RecordMisfit { .. }) => Ok(0),
            converted_key => {
                converted_key?;
                self.write(self.buffers.converted.len(), false)
            }
        }
    }

    /// Copies the record under a key of the table as it is now. Returns its bytes.
    fn copy(&mut self, key: &[u8]) -> Result<usize> {
        let Copying { table, conversion, .. } = self.copying;
        let core = table.core();
        let Some(payload) = core.payload_of(table.database().pager(), key)? else { return Ok(0) };
        core.expect_stored(&payload)?;
        if table.database().expired_us(core, &payload).is_some() {
            return Ok(payload.len());
        }
        let Buffers { unpacked, converted } = &mut self.buffers;
        core.pack(key, &payload, unpacked)?;
        let key_bytes = conversion.record(core.schema(), unpacked, converted)?;
        self.write(key_bytes, true)?;
        Ok(self.buffers.converted.len())
    }

    /// Writes the converted record, whose key has `key_bytes`, to the successor together with its
    /// entries; or deletes the record of that key. Returns the bytes of the payload before.
    fn write(&mut self, key_bytes: usize, is_there: bool) -> Result<usize> {
        let core = &**self.copying.successor.core();
        let (key, payload) = self.buffers.converted.split_at(key_bytes);
        let wanted = is_there.then_some(payload);
        let key = core.in_order(key, <[u8]>::to_vec);
        let seen = core.payload_of(self.copying.table.database().pager(), &key)?;
        let bytes = seen.as_ref().map_or(0, Vec::len);
        if seen.as_deref() == wanted {
            return Ok(bytes);
        }
        let changes = self.secondaries.changes(core, &key, seen.as_deref(), wanted)?;
        let seen = seen.map(Cow::Owned);
        let wanted = wanted.map(|payload| payload.to_vec().into());
        let taken = self.steps.take(Step { core, key: key.into(), seen, wanted })?;
        debug_assert!(taken, "no other thread writes to the successor");
        for EntryChange { secondary, old, new } in changes {
            old.map_or(Ok(()), |entry| self.steps.remove_entry(secondary, entry))?;
            let Some(entry) = new else { continue };
            let of = Indexed { table: core, secondaries: self.secondaries };
            self.steps.add_entry(of, secondary, entry, &|_| true)?;
        }
        Ok(bytes)
    }
}

/// The numbers of records of a commit.
#[derive(Default)]
struct Taken {
    removed: usize,
    /// Also keys without a record.
    copied: usize,
}

/// Buffers of conversions, which are used again.
#[derive(Default)]
struct Buffers {
    /// The packed key or record of the table.
    unpacked: Vec<u8>,
    /// The packed key or record of the successor.
    converted: Vec<u8>,
}
