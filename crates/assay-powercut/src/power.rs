//! The disk as the kernel's requests and the server's commands share it: operations are counted,
//! meet its fault, and fail once the power is gone.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::SystemTime;

use assay_core::durability::Fault;
use fuser::{FileAttr, FileHandle, FileType, INodeNo, RenameFlags, Request, TimeOrNow};
use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::descriptions::Descriptions;
use crate::disk::{Disk, WHOLE_FILE, pages};
use crate::fault::{self, Effect, Faults, Injection, Operation, Reserved};
use crate::volume::{Attributes, Change, Ino, Kind, Name, Node};

/// Bytes of a block, as the filesystem describes itself.
pub(crate) const BLOCK_BYTES: u32 = 4096;

/// The disk, and the state of its power.
#[derive(Debug, Default)]
pub(crate) struct Power {
    pub(crate) disk: Disk,
    /// Operations that changed or synchronised something.
    pub(crate) operations: u64,
    /// The operation that is replaced by a power cut, and the process that dies with it; its group,
    /// too, if it leads one.
    pub(crate) armed: Option<(u64, Pid)>,
    /// True if the power is gone: nothing is synchronised any more, and nothing may be changed.
    pub(crate) frozen: bool,
    /// The time at which an operation met the power cut: microseconds since 1970.
    pub(crate) gone_at_us: Option<u64>,
    /// The fault of the disk, and the process that dies if the power goes after it.
    pub(crate) faults: Faults,
    victim: Option<Pid>,
    reserved: Reserved,
    pub(crate) descriptions: Descriptions,
    /// The entries of open directories, as they were when they were opened.
    pub(crate) listings: HashMap<u64, Vec<Entry>>,
    last_listing: u64,
}

/// An entry of a directory.
type Entry = (OsString, Ino, FileType);

impl Power {
    /// Makes the state for this disk.
    pub(crate) fn new(disk: Disk) -> Self {
        Self { disk, ..Self::default() }
    }

    /// Lets operations meet a fault from now on.
    pub(crate) fn inject(&mut self, injection: Injection, victim: Pid) {
        (self.faults, self.victim) = (Faults::new(injection), Some(victim));
    }

    /// Lets an operation meet the fault of the disk. The first that meets it may arm a power cut.
    fn meet(&mut self, operation: Operation) -> Option<Effect> {
        let effect = self.faults.meet(operation)?;
        let after = self.faults.injection.and_then(|injection| injection.power_after);
        if let (1, Some(after), Some(victim)) = (self.faults.met, after, self.victim) {
            self.armed = Some((self.operations + after + 1, victim));
        }
        Some(effect)
    }

    /// Describes a write for the fault of the disk.
    fn write_of(&self, ino: Ino, offset: u64, len: usize, from_cache: bool) -> Operation {
        let needs_space = self.needs_space(ino, pages(offset, len as u64));
        Operation::Write(fault::Write { len, from_cache, needs_space })
    }

    /// Returns true if a full disk has no space for pages of a file.
    fn needs_space(&self, ino: Ino, mut pages: Range<u64>) -> bool {
        let has = |page| match self.disk.live().node(ino).map(|node| &node.kind) {
            Ok(Kind::File(image)) => image.has(page) || self.reserved.has(ino, page),
            _ => true,
        };
        self.faults.is(Fault::Full) && !pages.all(has)
    }

    /// Synchronises a file. Fails if its description has to hear of an earlier failure.
    fn synchronise(&mut self, ino: Ino, description: Option<FileHandle>) -> Result<(), Errno> {
        self.disk.synchronise(ino);
        match description {
            Some(description) if self.descriptions.hear(description.0) => Err(Errno::EIO),
            _ => Ok(()),
        }
    }

    /// Counts an operation; fails without power.
    fn step(&mut self) -> Result<(), Errno> {
        if self.frozen {
            return Err(Errno::EIO);
        }
        self.operations += 1;
        match self.armed {
            Some((at, worker)) if at == self.operations => {
                self.frozen = true;
                self.gone_at_us = Some(assay_core::durability::now_us());
                // The process may have ended by itself, and need not lead a group.
                let _ = (kill(worker, Signal::SIGKILL), killpg(worker, Signal::SIGKILL));
                Err(Errno::EIO)
            }
            _ => Ok(()),
        }
    }
}

/// The disk as the session and the server's commands see it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared(Arc<Mutex<Power>>);

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Power> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out an operation that changes something, unless it meets a fault.
    pub(crate) fn change<T>(
        &self,
        operation: Operation,
        work: impl FnOnce(&mut Disk) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let mut power = self.lock();
        power.step()?;
        if let Some(Effect::Fails(error)) = power.meet(operation) {
            return Err(error);
        }
        work(&mut power.disk)
    }

    /// Reads from a file, unless that meets a fault.
    pub(crate) fn read(&self, ino: INodeNo, offset: u64, len: usize) -> Result<Vec<u8>, Errno> {
        let mut power = self.lock();
        if !power.frozen
            && let Some(Effect::Fails(error)) = power.meet(Operation::Read)
        {
            return Err(error);
        }
        match &power.disk.live().node(ino.0)?.kind {
            Kind::File(image) => Ok(image.read(offset, len)),
            _ => Err(Errno::EISDIR),
        }
    }

    /// Copies the entries of a directory, for a reader that takes them piece by piece while it
    /// changes.
    pub(crate) fn list(&self, directory: INodeNo) -> Result<u64, Errno> {
        let mut power = self.lock();
        let live = power.disk.live();
        let kind = |ino: Ino| match live.node(ino).map(|node| &node.kind) {
            Ok(Kind::Directory(_)) => FileType::Directory,
            Ok(Kind::Symlink(_)) => FileType::Symlink,
            _ => FileType::RegularFile,
        };
        let dots = [".", ".."].map(|dot| (dot.into(), directory.0, FileType::Directory));
        let entries = live.entries(directory.0)?;
        let entries = entries.iter().map(|(name, &ino)| (name.clone(), ino, kind(ino)));
        let listing = dots.into_iter().chain(entries).collect();
        power.last_listing += 1;
        let handle = power.last_listing;
        power.listings.insert(handle, listing);
        Ok(handle)
    }

    pub(crate) fn entry(&self, parent: INodeNo, name: &OsStr) -> Result<FileAttr, Errno> {
        let power = self.lock();
        let ino = power.disk.live().lookup(parent.0, name)?;
        Ok(attributes(ino, power.disk.live().node(ino)?))
    }

    pub(crate) fn attributes(&self, ino: INodeNo) -> Result<FileAttr, Errno> {
        let power = self.lock();
        Ok(attributes(ino.0, power.disk.live().node(ino.0)?))
    }

    pub(crate) fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        kind: Kind,
        mode: u32,
    ) -> Result<FileAttr, Errno> {
        let attributes =
            Attributes { mode: (mode & 0o7777) as u16, uid: request.uid(), gid: request.gid() };
        self.change(Operation::Allocate, |disk| disk.create(parent.0, name, kind, attributes))?;
        self.entry(parent, name)
    }

    pub(crate) fn remove(
        &self,
        parent: INodeNo,
        name: &OsStr,
        directory: bool,
    ) -> Result<(), Errno> {
        self.change(Operation::Other, |disk| {
            let ino = disk.live().lookup(parent.0, name)?;
            match (directory, &disk.live().node(ino)?.kind) {
                (true, Kind::Directory(_)) => {}
                (true, _) => return Err(Errno::ENOTDIR),
                (false, Kind::Directory(_)) => return Err(Errno::EISDIR),
                (false, _) => {}
            }
            disk.change(Change::Leave { parent: parent.0, name: name.into() })
        })
    }

    /// Synchronises a file, or a directory, which has no description.
    pub(crate) fn synchronise(
        &self,
        ino: INodeNo,
        description: Option<FileHandle>,
    ) -> Result<(), Errno> {
        let mut power = self.lock();
        power.step()?;
        if description.is_some_and(|description| power.descriptions.ends_write(description.0)) {
            return power.synchronise(ino.0, description);
        }
        self.meet_sync(power, ino.0, description, WHOLE_FILE)
    }

    /// Synchronises a file, unless that meets a fault, which all its descriptions hear of. If it
    /// does, the data of the range is lost.
    fn meet_sync<'s>(
        &'s self,
        mut power: MutexGuard<'s, Power>,
        ino: Ino,
        description: Option<FileHandle>,
        range: Range<u64>,
    ) -> Result<(), Errno> {
        match power.meet(Operation::Synchronise) {
            Some(Effect::Fails(error)) => {
                power.disk.fail_to_synchronise(ino, range);
                power.descriptions.fail(ino);
                description.map(|description| power.descriptions.hear(description.0));
                return Err(error);
            }
            Some(Effect::Delayed(delay)) => {
                drop(power);
                thread::sleep(delay);
                power = self.lock();
            }
            _ => {}
        }
        power.synchronise(ino, description)
    }

    /// Writes to a file, and synchronises it then if a description with `O_DSYNC` is given. Returns
    /// the number of bytes that were written: fewer than there are, if the write meets that fault.
    pub(crate) fn write(
        &self,
        ino: INodeNo,
        offset: u64,
        mut bytes: &[u8],
        from_cache: bool,
        synchronous: Option<FileHandle>,
    ) -> Result<usize, Errno> {
        let mut power = self.lock();
        let mut effect = None;
        // Data that the kernel writes back after the power went counts as not yet synchronised: the
        // cut decides.
        if !(power.frozen && from_cache) {
            power.step()?;
            let operation = power.write_of(ino.0, offset, bytes.len(), from_cache);
            effect = power.meet(operation);
        }
        match effect {
            Some(Effect::Fails(error)) => return Err(error),
            Some(Effect::Short(len)) => bytes = &bytes[..len],
            Some(Effect::Delayed(delay)) => {
                drop(power);
                thread::sleep(delay);
                power = self.lock();
            }
            None => {}
        }
        power.disk.change(Change::Write { ino: ino.0, offset, bytes: bytes.into() })?;
        if let (Some(description), false) = (synchronous, power.frozen) {
            self.meet_sync(power, ino.0, synchronous, offset..offset + bytes.len() as u64)?;
            self.lock().descriptions.write(description.0);
        }
        Ok(bytes.len())
    }

    pub(crate) fn rename(
        &self,
        from: Name<'_>,
        to: Name<'_>,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        if flags.contains(RenameFlags::RENAME_WHITEOUT) {
            return Err(Errno::EINVAL);
        }
        self.change(Operation::Other, |disk| {
            let there = disk.live().lookup(to.parent, to.name).is_ok();
            if there && flags.contains(RenameFlags::RENAME_NOREPLACE) {
                return Err(Errno::EEXIST);
            }
            let exchange = flags.contains(RenameFlags::RENAME_EXCHANGE);
            disk.rename(from, to, exchange)
        })
    }

    pub(crate) fn allocate(
        &self,
        ino: INodeNo,
        offset: u64,
        len: u64,
        mode: i32,
    ) -> Result<(), Errno> {
        const ZEROS: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
        if mode & !(ZEROS | libc::FALLOC_FL_KEEP_SIZE) != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        let end = offset.checked_add(len).ok_or(Errno::EFBIG)?;
        let allocated = pages(offset, len);
        let punches = mode & libc::FALLOC_FL_PUNCH_HOLE != 0;
        let needs_space = !punches && self.lock().needs_space(ino.0, allocated.clone());
        let operation = if needs_space { Operation::Allocate } else { Operation::Other };
        self.change(operation, |disk| {
            let Kind::File(image) = &disk.live().node(ino.0)?.kind else {
                return Err(Errno::EISDIR);
            };
            let size_bytes = image.size_bytes();
            if mode & ZEROS != 0 {
                disk.change(Change::Zero { ino: ino.0, offset, len })?;
            }
            if mode & libc::FALLOC_FL_KEEP_SIZE == 0 && end > size_bytes {
                disk.resize(ino.0, end)?;
            }
            Ok(())
        })?;
        let reserved = &mut self.lock().reserved;
        if punches {
            let page = u64::from(BLOCK_BYTES);
            reserved.punch(ino.0, &(offset.div_ceil(page)..end / page));
        } else {
            reserved.add(ino.0, allocated);
        }
        Ok(())
    }
}

/// The attributes that `setattr` may set.
pub(crate) struct Wanted {
    pub(crate) mode: Option<u32>,
    pub(crate) uid: Option<u32>,
    pub(crate) gid: Option<u32>,
    pub(crate) size: Option<u64>,
    pub(crate) accessed: Option<TimeOrNow>,
    pub(crate) modified: Option<TimeOrNow>,
}

impl Shared {
    pub(crate) fn set(&self, ino: INodeNo, wanted: &Wanted) -> Result<FileAttr, Errno> {
        if let Some(size_bytes) = wanted.size {
            let first_gone = size_bytes.div_ceil(u64::from(BLOCK_BYTES));
            self.lock().reserved.punch(ino.0, &(first_gone..u64::MAX));
        }
        self.change(Operation::Other, |disk| {
            if let Some(size_bytes) = wanted.size {
                disk.resize(ino.0, size_bytes)?;
            }
            let node = disk.live().node(ino.0)?;
            let old = node.attributes;
            let time = |wanted: Option<TimeOrNow>, old| match wanted {
                Some(TimeOrNow::SpecificTime(time)) => time,
                Some(TimeOrNow::Now) => SystemTime::now(),
                None => old,
            };
            let (modified, accessed) =
                (time(wanted.modified, node.modified), time(wanted.accessed, node.accessed));
            let attributes = Attributes {
                mode: wanted.mode.map_or(old.mode, |mode| (mode & 0o7777) as u16),
                uid: wanted.uid.unwrap_or(old.uid),
                gid: wanted.gid.unwrap_or(old.gid),
            };
            disk.change(Change::Attributes { ino: ino.0, attributes, modified, accessed })
        })?;
        self.attributes(ino)
    }
}

fn attributes(ino: Ino, node: &Node) -> FileAttr {
    let (kind, size) = match &node.kind {
        Kind::File(image) => (FileType::RegularFile, image.size_bytes()),
        Kind::Directory(_) => (FileType::Directory, u64::from(BLOCK_BYTES)),
        Kind::Symlink(target) => (FileType::Symlink, target.len() as u64),
    };
    FileAttr {
        ino: INodeNo(ino),
        size,
        blocks: match &node.kind {
            Kind::File(image) => image.allocated_bytes() / 512,
            _ => 0,
        },
        atime: node.accessed,
        mtime: node.modified,
        ctime: node.modified,
        crtime: node.modified,
        kind,
        perm: node.attributes.mode,
        nlink: if kind == FileType::Directory { 2 } else { node.links },
        uid: node.attributes.uid,
        gid: node.attributes.gid,
        rdev: 0,
        blksize: BLOCK_BYTES,
        flags: 0,
    }
}
