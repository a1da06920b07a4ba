//! Readers in other processes, while one writes. A reader pins the generation of the checkpoint it
//! shows. The writer gives none of its slots to other pages as long as the pin is there, unless
//! they take too much space. Then the reader's moment *expires*: before the writer uses such a
//! slot, it notes in the file which generation is the oldest that can be read.
//!
//! A reader pins the newest generation and then looks whether it is still the newest. The writer
//! looks for pins after it has written a newer one. So one of the two sees the other.
//!
//! A reader never shows wrong data: what it reads has to have the checksum that its page map says.
//! The note says only that a page which has not is no damage.

use std::ops::Range;
use std::sync::{MutexGuard, PoisonError};

use super::{DataFile, SLOT_BYTES, Superblock, checksum};
use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::io::{File, Lock};

/// The most bytes that are kept for readers, unless an option says otherwise.
pub(crate) const DEFAULT_READER_BYTES: u64 = 1 << 30;

/// The offset of the note: in the slot of the first superblock, but in another sector.
const NOTE_AT: u64 = 512;

/// Bytes of the note: a generation and a checksum.
const NOTE_BYTES: usize = 16;

/// The checksum of a note has this seed.
const NOTE_SEED: u64 = u64::MAX;

/// The number of times that a note is read which is just being written.
const NOTE_TRIES: u32 = 100;

/// The number of times that a reader tries to pin the newest checkpoint.
const PIN_TRIES: u32 = 1000;

/// The most generations that are kept for readers at once.
const MOST_PINNED: usize = 1024;

/// A writer's knowledge of its readers.
pub(super) struct Readers {
    /// The oldest generation that can be read, as the file says.
    oldest: u64,
    /// The most slots that are kept for readers only.
    most_slots: u64,
}

impl Default for Readers {
    fn default() -> Self {
        Self { oldest: 0, most_slots: DEFAULT_READER_BYTES / SLOT_BYTES as u64 }
    }
}

/// A data file that is read, and that another process may write.
pub(crate) struct Pinned {
    pub data: DataFile,
    pub superblock: Superblock,
    pub catalogue: Vec<u8>,
    /// Has the writer keep the pages, until it is dropped.
    pub pin: Lock,
}

impl DataFile {
    /// Opens a data file to read its newest checkpoint, whether another process writes to it or
    /// not; `None` where the system cannot pin a checkpoint.
    ///
    /// # Errors
    /// `Locked` if the writer makes checkpoints too fast, or the file system cannot distinguish
    /// locks of bytes from those of files; `UnfinishedBackup`; `Corrupt`, `Version`; `Io`.
    pub(crate) fn open_pinned(file: Box<dyn File>) -> Result<Option<Pinned>> {
        for _ in 0..PIN_TRIES {
            let superblock = Superblock::read(&*file)?;
            let Some(pin) = pin(&*file, superblock.generation)? else { return Ok(None) };
            if Superblock::read(&*file)? != superblock {
                continue;
            }
            if superblock.is_unfinished_backup {
                return Err(Error::UnfinishedBackup);
            }
            let (data, catalogue) = Self::open_at(file, &superblock, Some(superblock.generation))?;
            return Ok(Some(Pinned { data, superblock, catalogue, pin }));
        }
        Err(Error::Locked)
    }

    /// Returns true if another process has the file open to write to it.
    pub(crate) fn has_writer(&self) -> Result<bool> {
        self.file.has_writer().map_err(|error| Error::io("look for a writer", &error))
    }

    /// Returns true if this superblock is still the newest.
    pub(crate) fn is_newest(&self, superblock: &Superblock) -> Result<bool> {
        Ok(Superblock::read(&*self.file)? == *superblock)
    }

    /// Fails if the moment of a reader has expired.
    pub(crate) fn expect_moment(&self) -> Result<()> {
        match self.pinned {
            Some(pinned) if oldest(&*self.file) > pinned => Err(Error::MomentExpired),
            _ => Ok(()),
        }
    }

    /// Returns the error of a read: that the moment has expired, if it has.
    pub(super) fn explained(&self, error: Error) -> Error {
        self.expect_moment().err().unwrap_or(error)
    }

    /// Sets the most bytes of slots that are kept for readers only.
    pub(crate) fn set_most_reader_bytes(&self, bytes: u64) {
        self.readers().most_slots = bytes / SLOT_BYTES as u64;
    }

    /// Expires the readers of checkpoints before the current one, when the file is opened to write
    /// to it: their slots are not known.
    pub(super) fn expire_earlier_readers(&self, current: u64) -> Result<()> {
        let mut readers = self.readers();
        let found = self.file.any_pin(0..current);
        match found.map_err(|error| Error::io("look for readers", &error))? {
            Some(_) => self.expire(&mut readers, current),
            None => {
                readers.oldest = readers.oldest.max(current);
                Ok(())
            }
        }
    }

    /// Frees the slots that the current checkpoint does not need, except those that readers do.
    pub(super) fn settle(&self, current: u64) {
        let mut readers = self.readers();
        let pinned = self.pinned_within(readers.oldest..current).unwrap_or_else(|_| {
            // It is not known who reads. Without the note, their pages would pass for damaged.
            let _ = self.expire(&mut readers, current);
            Vec::new()
        });
        let mut state = self.state();
        if !pinned.is_empty() || state.slots.of_readers().is_some() {
            state.slots.keep_for_readers(&pinned);
        }
        state.slots.settle();
        drop(state);
        self.limit(&mut readers);
    }

    /// Frees the slots that were kept for readers which have gone.
    pub(super) fn look_at_readers(&self) {
        let readers = self.readers();
        let of_readers = self.state().slots.of_readers();
        let Some([_, newest]) = of_readers else { return };
        if let Ok(pinned) = self.pinned_within(readers.oldest..newest + 1) {
            self.state().slots.let_other_readers_go(&pinned);
        }
        drop(readers);
    }

    /// Expires all readers for which slots are kept; returns true if there were any.
    pub(super) fn expire_readers(&self) -> bool {
        let mut readers = self.readers();
        let of_readers = self.state().slots.of_readers();
        let Some([_, newest]) = of_readers else { return false };
        self.expire(&mut readers, newest + 1).is_ok()
    }

    fn readers(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the generations of a range that are pinned; those that have expired are left out.
    ///
    /// # Errors
    /// Those of the system; or there are too many, as if a program has locked all of the file.
    fn pinned_within(&self, among: Range<u64>) -> std::io::Result<Vec<u64>> {
        let mut found = Vec::new();
        let mut ranges: Vec<_> =
            Some(among).filter(|among| !among.is_empty()).into_iter().collect();
        while let Some(among) = ranges.pop() {
            if found.len() > MOST_PINNED {
                return Err(std::io::Error::other("too many moments are read"));
            }
            let Some(generation) = self.file.any_pin(among.clone())? else { continue };
            debug_assert!(among.contains(&generation), "a pin is where it is looked for");
            found.push(generation);
            ranges.extend([among.start..generation, generation + 1..among.end]);
        }
        Ok(found)
    }

    /// Expires the oldest readers until few enough slots are kept. If the note cannot be written,
    /// they stay.
    fn limit(&self, readers: &mut Readers) {
        loop {
            let state = self.state();
            let Some([oldest, _]) = state.slots.of_readers() else { return };
            let is_enough = state.slots.only_for_readers() <= readers.most_slots;
            drop(state);
            if is_enough || self.expire(readers, oldest + 1).is_err() {
                return;
            }
        }
    }

    /// Notes the oldest generation that can be read, and frees the slots that only older ones need.
    ///
    /// It need not be synced: no reader outlives a crash of the machine.
    fn expire(&self, readers: &mut Readers, oldest: u64) -> Result<()> {
        let oldest = oldest.max(readers.oldest);
        let note = note(oldest);
        let written = self.file.write_at(NOTE_AT, &note);
        written.map_err(|error| Error::io("expire readers in file data", &error))?;
        readers.oldest = oldest;
        self.state().slots.let_readers_go(oldest);
        Ok(())
    }
}

fn pin(file: &dyn File, generation: u64) -> Result<Option<Lock>> {
    file.pin(generation).map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => Error::Locked,
        _ => Error::io("pin a checkpoint", &error),
    })
}

/// Returns the bytes of the note of the oldest generation.
fn note(oldest: u64) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.u64(oldest);
    let sum = checksum(&writer.0, NOTE_SEED);
    writer.u64(sum);
    debug_assert_eq!(writer.0.len(), NOTE_BYTES, "a note has two numbers");
    writer.0
}

/// Returns the oldest generation that can be read, as the file says; 0 if it says nothing.
fn oldest(file: &dyn File) -> u64 {
    for _ in 0..NOTE_TRIES {
        let mut bytes = [0; NOTE_BYTES];
        if file.read_at(NOTE_AT, &mut bytes).is_err() || bytes == [0; NOTE_BYTES] {
            return 0;
        }
        let mut reader = Reader::new(&bytes, "the note of the oldest generation");
        if let Ok(oldest) = reader.u64()
            && note(oldest) == bytes
        {
            return oldest;
        }
        std::thread::yield_now();
    }
    0
}
