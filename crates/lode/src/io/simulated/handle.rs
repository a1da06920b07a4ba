//! The handles that users of the disk hold: open files, mappings, the lock.

use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::{Arc, MutexGuard};

use super::faults::{Operation, Refusal};
use super::file::{Content, SECTOR_BYTES};
use super::names::Inode;
use super::random::Random;
use super::{Mapping, Simulated, State};
use crate::io::{Access, File, Lock, Mapped};

/// An open file, until the next crash.
#[derive(Clone)]
pub(super) struct Handle {
    disk: Simulated,
    inode: Inode,
    /// The number of crashes when it was opened.
    crashes: u64,
    /// Keeps the file there while it has no name.
    _open: Arc<()>,
}

/// The disk, while an operation on a file happens.
struct Busy<'a> {
    state: MutexGuard<'a, State>,
    inode: Inode,
}

impl Handle {
    /// Creates a handle of a file, which has the share of its `open`.
    pub(super) fn new(disk: Simulated, inode: Inode, crashes: u64, open: Arc<()>) -> Self {
        Self { disk, inode, crashes, _open: open }
    }

    /// Starts an operation, of a kind that depends on the file's content. If it is refused, calls a
    /// function for the effect on the file.
    fn begin(
        &self,
        operation: impl FnOnce(&Content) -> Operation,
        refused: impl FnOnce(&mut Busy<'_>, &Refusal),
    ) -> Result<Busy<'_>> {
        let mut state = self.disk.state();
        let number = state.faults.count();
        if state.crashes != self.crashes {
            return Err(Error::other("the file was opened before a simulated crash"));
        }
        let mut busy = Busy { state, inode: self.inode };
        let operation = operation(busy.content());
        if let Err(refusal) = busy.state.faults.check(number, operation) {
            refused(&mut busy, &refusal);
            return Err(refusal.into());
        }
        Ok(busy)
    }

    /// Starts an operation that has no effect if it is refused.
    fn begin_plain(&self, operation: Operation) -> Result<Busy<'_>> {
        self.begin(|_| operation, |_, _| ())
    }
}

impl Busy<'_> {
    fn content(&mut self) -> &mut Content {
        self.content_and_random().0
    }

    fn content_and_random(&mut self) -> (&mut Content, &mut Random) {
        let State { files, random, .. } = &mut *self.state;
        let stored = files.get_mut(&self.inode).expect("a file is kept while it is open");
        (&mut stored.content, random)
    }

    /// Checks that there is space for a part of the file that is written to.
    fn check_room(&mut self, bytes: &Range<u64>) -> Result<()> {
        match self.content().space_for(bytes) {
            0 => Ok(()),
            more => self.state.check_room(self.inode, bytes.end, more),
        }
    }
}

impl File for Handle {
    fn size_bytes(&self) -> Result<u64> {
        let mut busy = self.begin_plain(Operation::Read)?;
        Ok(busy.content().bytes().len() as u64)
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        let mut busy = self.begin_plain(Operation::Read)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let end = at.checked_add(bytes.len() as u64).ok_or(ErrorKind::InvalidInput)?;
        busy.state.expect_readable(self.inode, &(at..end))?;
        let all = busy.content().bytes();
        let found = all.get(at as usize..end as usize).ok_or(ErrorKind::UnexpectedEof)?;
        bytes.copy_from_slice(found);
        Ok(())
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        // A write of no bytes makes nothing longer, at any offset.
        let end = if bytes.is_empty() { 0 } else { at.saturating_add(bytes.len() as u64) };
        let part = at.min(end)..end;
        let sector = |at: u64| at / SECTOR_BYTES as u64;
        let several = end > 0 && sector(at) < sector(end - 1);
        let cut = |busy: &mut Busy<'_>, refusal: &_| {
            if matches!(refusal, Refusal::Cut) && several && busy.check_room(&part).is_ok() {
                let (content, random) = busy.content_and_random();
                content.write_some(at as usize, bytes, random);
            }
        };
        let grows = |content: &Content| content.space_for(&part) > 0;
        let mut busy = self.begin(|content| Operation::Write { grows: grows(content) }, cut)?;
        busy.check_room(&part)?;
        if end > 0 {
            busy.content().write(at as usize, bytes);
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let failed = |busy: &mut Busy<'_>, refusal: &_| {
            if matches!(refusal, Refusal::Fails(_)) {
                busy.content().fail_sync();
            }
        };
        self.begin(|_| Operation::Sync, failed)?.content().sync();
        Ok(())
    }

    fn set_size(&self, size_bytes: u64) -> Result<()> {
        let part = |content: &Content| size_bytes.min(content.bytes().len() as u64)..size_bytes;
        let grows = |content: &Content| content.space_for(&part(content)) > 0;
        let mut busy =
            self.begin(|content| Operation::Write { grows: grows(content) }, |_, _| ())?;
        let part = part(busy.content());
        busy.check_room(&part)?;
        busy.content().set_size(size_bytes as usize);
        Ok(())
    }

    fn preallocate(&self, bytes: Range<u64>) -> Result<()> {
        let grows = |content: &Content| content.space_for(&bytes) > 0;
        let mut busy =
            self.begin(|content| Operation::Write { grows: grows(content) }, |_, _| ())?;
        busy.check_room(&bytes)?;
        let content = busy.content();
        if bytes.end > content.bytes().len() as u64 {
            content.set_size(bytes.end as usize);
        }
        content.set_aside(&bytes);
        Ok(())
    }

    fn punch(&self, bytes: Range<u64>) -> Result<bool> {
        let mut busy = self.begin_plain(Operation::Write { grows: false })?;
        busy.content().punch(&bytes);
        Ok(true)
    }

    fn has_space(&self) -> Result<bool> {
        let mut busy = self.begin_plain(Operation::Read)?;
        Ok(!busy.content().has_holes())
    }

    fn next_data(&self, at: u64) -> Result<Option<u64>> {
        let mut busy = self.begin_plain(Operation::Read)?;
        Ok((at < busy.content().bytes().len() as u64).then_some(at))
    }

    fn map(&self, size_bytes: usize) -> Result<Option<Arc<dyn Mapped>>> {
        let mut busy = self.begin_plain(Operation::Other)?;
        if size_bytes > busy.content().bytes().len() {
            return Err(Error::new(ErrorKind::InvalidInput, "the file is not as long as its map"));
        }
        let is_in_memory = match busy.state.mapping {
            Mapping::None => return Ok(None),
            Mapping::OnDisk => false,
            Mapping::InMemory => true,
        };
        Ok(Some(Arc::new(Front { handle: self.clone(), size_bytes, is_in_memory })))
    }

    /// Locks nothing: files have no other names, and the disk's lock covers them all.
    fn lock(&self, _: Access) -> Result<Lock> {
        Ok(Box::new(()))
    }

    fn pin(&self, number: u64) -> Result<Option<Lock>> {
        let mut state = self.disk.state();
        if state.crashes != self.crashes {
            return Err(Error::other("the file was opened before a simulated crash"));
        }
        if !state.has_pins {
            return Ok(None);
        }
        let at = state.next_pin;
        state.next_pin += 1;
        state.pins.insert(at, (self.inode, number));
        Ok(Some(Box::new(Pin { disk: self.disk.clone(), at })))
    }

    /// Returns any such number: a writer has pinned none itself.
    fn any_pin(&self, among: Range<u64>) -> Result<Option<u64>> {
        let state = self.disk.state();
        let mut pins = state.pins.values();
        let found = pins.find(|(inode, number)| *inode == self.inode && among.contains(number));
        Ok(found.map(|(_, number)| *number))
    }

    /// Returns true if the disk is locked, which only writers do where there are pins.
    fn has_writer(&self) -> Result<bool> {
        let state = self.disk.state();
        Ok(state.has_pins && state.locked)
    }
}

/// A pinned number, until this is dropped or the disk crashes.
struct Pin {
    disk: Simulated,
    at: u64,
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.disk.state().pins.remove(&self.at);
    }
}

/// The mapped front of a file.
struct Front {
    handle: Handle,
    size_bytes: usize,
    is_in_memory: bool,
}

impl Mapped for Front {
    fn write(&self, at: usize, bytes: &[u8]) -> Result<()> {
        assert!(
            at.checked_add(bytes.len()).is_some_and(|end| end <= self.size_bytes),
            "{} bytes from byte {at} on lie in the {} that are mapped",
            bytes.len(),
            self.size_bytes
        );
        // A failure is not reported: the memory was written, but not the disk.
        let Ok(mut busy) = self.handle.begin_plain(Operation::Other) else { return Ok(()) };
        assert!(
            bytes.is_empty() || at + bytes.len() <= busy.content().bytes().len(),
            "the mapped part of the file was cut off, which would end the process"
        );
        busy.content().write(at, bytes);
        Ok(())
    }

    fn is_in_memory(&self) -> bool {
        self.is_in_memory
    }

    fn unmap(&self, bytes: Range<usize>) {
        let is_mapped = bytes.start <= bytes.end && bytes.end <= self.size_bytes;
        assert!(is_mapped, "the bytes {bytes:?} are mapped");
    }
}

/// The lock, free again when this is dropped or the disk crashes.
pub(super) struct Held {
    disk: Simulated,
    /// The number of crashes when it was taken.
    crashes: u64,
}

impl Held {
    /// Creates the lock, which was just taken.
    pub(super) fn new(disk: Simulated, crashes: u64) -> Self {
        Self { disk, crashes }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if state.crashes == self.crashes {
            state.locked = false;
        }
    }
}
