//! Pins: locks of single bytes far beyond the end of a file (`F_OFD_SETLK`). Each belongs to what
//! was opened and ends when that is closed, so that no pin outlives its process. A lock changes
//! neither the file nor its times, and needs no permission to write.
//!
//! Numbers of processes play no part, which differ from container to container.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use super::super::home::Home;

/// The byte for number 0.
const PINS_AT: u64 = 1 << 62;

/// The byte that the writer of a file has locked.
const WRITER_AT: u64 = PINS_AT - 1;

/// The most numbers that can be pinned: an offset has a sign.
const MOST_PINS: u64 = (1 << 62) - 1;

/// The kind of a lock.
#[derive(Clone, Copy)]
enum Kind {
    /// Of a reader.
    Shared,
    /// Of a writer.
    Exclusive,
    /// None.
    Unlocked,
}

/// A locked byte. A handle has one lock of a byte at most.
pub(super) struct LockedByte {
    at: u64,
    file: Arc<fs::File>,
    home: Home,
}

impl LockedByte {
    fn new(file: &Arc<fs::File>, kind: Kind, at: u64, home: Home) -> Result<Option<Self>> {
        let is_locked = set(file, kind, at)?;
        Ok(is_locked.then(|| Self { at, file: Arc::clone(file), home }))
    }
}

impl Drop for LockedByte {
    fn drop(&mut self) {
        // A child of the process must not give it back for its parent.
        if self.home.is_here() {
            // If it fails, the lock ends when the file is closed.
            let _ = set(&self.file, Kind::Unlocked, self.at);
        }
    }
}

/// Pins a number; `None` where the system cannot.
pub(super) fn pin(file: &Arc<fs::File>, number: u64, home: Home) -> Result<Option<LockedByte>> {
    assert!(number < MOST_PINS, "number {number} has a byte");
    LockedByte::new(file, Kind::Shared, PINS_AT + number, home)
}

/// Returns a number in a range that another handle has pinned.
pub(super) fn any(file: &fs::File, among: Range<u64>) -> Result<Option<u64>> {
    assert!(among.end <= MOST_PINS, "numbers before {} have bytes", among.end);
    if among.is_empty() {
        return Ok(None);
    }
    let bytes = PINS_AT + among.start..PINS_AT + among.end;
    let found = in_the_way(file, Kind::Exclusive, &bytes)?;
    Ok(found.map(|at| at - PINS_AT))
}

/// Locks the byte of the writer; `None` where the system cannot.
pub(super) fn mark_writer(file: &Arc<fs::File>, home: Home) -> Result<Option<LockedByte>> {
    LockedByte::new(file, Kind::Exclusive, WRITER_AT, home)
}

/// Returns true if another handle has the byte of the writer.
pub(super) fn has_writer(file: &fs::File) -> Result<bool> {
    Ok(in_the_way(file, Kind::Shared, &(WRITER_AT..PINS_AT))?.is_some())
}

/// Returns a lock as the system wants to have it described.
// These types differ from system to system.
#[allow(clippy::unnecessary_cast)]
fn described(kind: Kind, bytes: &Range<u64>) -> libc::flock {
    let kind = match kind {
        Kind::Shared => libc::F_RDLCK,
        Kind::Exclusive => libc::F_WRLCK,
        Kind::Unlocked => libc::F_UNLCK,
    };
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: bytes.start as libc::off_t,
        l_len: (bytes.end - bytes.start) as libc::off_t,
        l_pid: 0,
    }
}

/// Returns true if an error says that the system or the file system has no such locks.
fn is_unknown(error: Errno) -> bool {
    matches!(error, Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::ENOLCK)
}

/// Locks or unlocks a byte; returns false where the system cannot.
fn set(file: &fs::File, kind: Kind, at: u64) -> Result<bool> {
    let lock = described(kind, &(at..at + 1));
    loop {
        match fcntl(file, FcntlArg::F_OFD_SETLK(&lock)) {
            Ok(_) => return Ok(true),
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN | Errno::EACCES) => return Err(ErrorKind::WouldBlock.into()),
            Err(error) if is_unknown(error) => return Ok(false),
            Err(error) => return Err(Error::from(error)),
        }
    }
}

/// Returns the first byte of a lock of another handle that is in the way of one of this kind.
// These types differ from system to system.
#[allow(clippy::unnecessary_cast)]
fn in_the_way(file: &fs::File, kind: Kind, bytes: &Range<u64>) -> Result<Option<u64>> {
    let mut lock = described(kind, bytes);
    loop {
        match fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock)) {
            Ok(_) if i32::from(lock.l_type) == libc::F_UNLCK as i32 => return Ok(None),
            // A lock of the whole file starts before these.
            Ok(_) => return Ok(Some((lock.l_start as u64).max(bytes.start))),
            Err(Errno::EINTR) => {}
            Err(error) if is_unknown(error) => return Ok(None),
            Err(error) => return Err(Error::from(error)),
        }
    }
}
