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
use crate::api::steps::{Step, Steps};
use crate::engine::CommitSize;
use crate::error::{Error, Result};
use crate::table::{EntryChange, Secondaries};

/// The most records that one commit removes.
const MOST_RECORDS: usize = 2048;

/// For as many records that a commit may remove, it copies one.
const COPIED_PART: usize = 8;

/// The bytes of records after which a commit takes no further one.
const ENOUGH_BYTES: usize = 1 << 17;

/// The most records that are left for the commit in which the successor takes its place.
const MOST_AT_LAST: usize = 4096;

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
}

impl<'c> Copying<'c> {
    pub(super) fn new(
        table: &'c Table,
        successor: &'c Table,
        conversion: &'c Conversion<'c>,
    ) -> Self {
        Self { table, successor, conversion, left: Vec::new(), most_records: MOST_RECORDS }
    }

    /// Copies all records, and has the successor take its place.
    pub(super) fn run(mut self) -> Result<()> {
        let core = self.table.core();
        let mut walk = core.index.walk();
        while let Some(keys) = self.table.next_keys(&mut walk)? {
            self.left.extend(keys.into_iter().rev().map(Vec::into_boxed_slice));
            self.copy_left()?;
        }
        loop {
            let complete = &mut || self.complete();
            core.watch().want_gate(true);
            let is_in_place =
                self.table.database().end_successor(core, self.successor.core(), complete);
            core.watch().want_gate(false);
            if is_in_place? {
                return Ok(());
            }
            // At least once: it takes the keys of what others have written.
            self.copy_some()?;
            self.copy_left()?;
        }
    }

    fn copy_left(&mut self) -> Result<()> {
        while !self.left.is_empty() {
            self.copy_some()?;
        }
        Ok(())
    }

    /// Copies some of the records that are left, in a commit. What was written since the last one
    /// is left then, too. The commit does not wait for its sync: the one in which the successor
    /// takes its place does.
    fn copy_some(&mut self) -> Result<()> {
        let size = CommitSize { records: self.most_records, bytes: 0 };
        let (watch, started) = (self.table.core().watch(), Instant::now());
        watch.want_gate(true);
        let copied = self.table.database().admitted_alone(size, &mut || {
            watch.want_gate(false);
            self.commit(&self.left, self.most_records, self.most_records.div_ceil(COPIED_PART))
        });
        watch.want_gate(false);
        match copied {
            Ok(Committed { copied, removed }) => {
                if !removed.is_empty() && !watch.is_crowded() {
                    // Writers have half of the time.
                    std::thread::sleep(started.elapsed().min(MOST_REST));
                }
                self.left.truncate(self.left.len() - copied);
                self.left.extend(removed);
                watch.note_left(&self.left);
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
    fn complete(&self) -> Result<bool> {
        debug_assert!(self.left.is_empty(), "it has all others");
        let watch = self.table.core().watch();
        let (keys, is_all) = watch.some(MOST_AT_LAST);
        if !is_all {
            return Ok(false);
        }
        match self.commit(&keys, MOST_AT_LAST, usize::MAX) {
            Ok(Committed { copied, .. }) if copied < keys.len() => {
                // Some were removed, and nobody would copy them.
                keys.iter().for_each(|key| watch.note(key));
                Ok(false)
            }
            Ok(_) => Ok(true),
            Err(Error::Full { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes up to `most_removed` records that were written since the last commit. If these are
    /// all, copies up to `most_copied` records under the last of these keys. The gate is closed.
    fn commit(&self, keys: &[Key], most_removed: usize, most_copied: usize) -> Result<Committed> {
        self.table.core().ensure_open()?;
        self.successor.core().ensure_open()?;
        let watch = self.table.core().watch();
        let (removed, is_all) = watch.some(most_removed);
        let secondaries = self.successor.core().secondaries();
        let mut steps = Steps::new(self.table.database(), 2 * most_removed.min(keys.len()));
        let keys = &keys[keys.len() - keys.len().min(if is_all { most_copied } else { 0 })..];
        let all = self.take(&removed, keys, &secondaries, &mut steps);
        let (copied, _) = steps.end(all)?;
        watch.forget(&removed);
        Ok(Committed { copied, removed })
    }

    /// Takes the steps of a commit. Returns the number of the keys at the end of `copied` that were
    /// copied, or have no record.
    fn take<'s>(
        &'s self,
        removed: &[Key],
        copied: &[Key],
        secondaries: &'s Secondaries,
        steps: &mut Steps<'s>,
    ) -> Result<usize> {
        let mut buffers = Buffers::default();
        for key in removed {
            self.remove(key, secondaries, steps, &mut buffers)?;
        }
        let mut bytes = 0;
        for (number, key) in copied.iter().rev().enumerate() {
            if bytes > ENOUGH_BYTES {
                return Ok(number);
            }
            bytes += self.copy(key, secondaries, steps, &mut buffers)?;
        }
        Ok(copied.len())
    }

    /// Removes the record under a key of the table from the successor.
    fn remove<'s>(
        &'s self,
        key: &[u8],
        secondaries: &'s Secondaries,
        steps: &mut Steps<'s>,
        Buffers { unpacked, converted }: &mut Buffers,
    ) -> Result<()> {
        let core = self.table.core();
        let packed = core.packed_key(key, unpacked)?;
        self.conversion.key(core.schema(), packed, converted)?;
        self.write(converted, None, secondaries, steps)
    }

    /// Copies the record under a key of the table as it is now. Returns its bytes.
    fn copy<'s>(
        &'s self,
        key: &[u8],
        secondaries: &'s Secondaries,
        steps: &mut Steps<'s>,
        Buffers { unpacked, converted }: &mut Buffers,
    ) -> Result<usize> {
        let core = self.table.core();
        let Some(payload) = core.payload_of(self.table.database().pager(), key)? else {
            return Ok(0);
        };
        core.expect_stored(&payload)?;
        core.pack(key, &payload, unpacked)?;
        let key_bytes = self.conversion.record(core.schema(), unpacked, converted)?;
        let (key, payload) = converted.split_at(key_bytes);
        self.write(key, Some(payload), secondaries, steps)?;
        Ok(converted.len())
    }

    /// Gives the record of the successor under a packed key a payload, or deletes it, together with
    /// its entries.
    fn write<'s>(
        &'s self,
        key: &[u8],
        wanted: Option<&[u8]>,
        secondaries: &'s Secondaries,
        steps: &mut Steps<'s>,
    ) -> Result<()> {
        let core = &**self.successor.core();
        let key = core.in_order(key, <[u8]>::to_vec);
        let seen = core.payload_of(self.table.database().pager(), &key)?;
        if seen.as_deref() == wanted {
            return Ok(());
        }
        let changes = secondaries.changes(core, &key, seen.as_deref(), wanted)?;
        let (seen, wanted) = (seen.map(Cow::Owned), wanted.map(|payload| payload.to_vec().into()));
        let taken = steps.take(Step { core, key: key.into(), seen, wanted })?;
        debug_assert!(taken, "nobody else writes to the successor");
        for EntryChange { secondary, old, new } in changes {
            old.map_or(Ok(()), |entry| steps.remove_entry(secondary, entry))?;
            new.map_or(Ok(()), |entry| steps.add_entry(core.schema(), secondary, entry))?;
        }
        Ok(())
    }
}

/// The work of a commit.
struct Committed {
    /// The number of keys that are done.
    copied: usize,
    /// The keys of records that were removed.
    removed: Vec<Key>,
}

/// Buffers of conversions, which are used again.
#[derive(Default)]
struct Buffers {
    /// The packed key or record of the table.
    unpacked: Vec<u8>,
    /// That of the successor.
    converted: Vec<u8>,
}
