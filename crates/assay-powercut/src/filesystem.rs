//! The kernel's requests, as changes of the disk.
//!
//! Writes come through at once (there is no write-back cache), so operations can be counted and
//! a cut can come before any of them; pages of mapped files stay with the kernel until it writes
//! them, and come with `FUSE_WRITE_CACHE`. Locks stay with the kernel altogether.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    KernelConfig, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::disk::Disk;
use crate::image::Image;
use crate::volume::{Attributes, Change, Ino, Kind, Node};

/// Only this filesystem changes what is on it, so the kernel may remember it.
const REMEMBERED: Duration = Duration::from_secs(3600);
const BLOCK_BYTES: u32 = 4096;
/// What the filesystem says that it has room for.
const CAPACITY_BYTES: u64 = 64 << 30;
const WRITE_BYTES_MAX: u32 = 1 << 20;

/// The disk, and whether there is power.
#[derive(Debug, Default)]
pub(crate) struct Power {
    pub(crate) disk: Disk,
    /// Operations that changed or synchronised something.
    pub(crate) operations: u64,
    /// The operation at which the power goes, instead of being carried out, and the process that
    /// dies of it.
    pub(crate) armed: Option<(u64, Pid)>,
    /// The power is gone: nothing is synchronised any more, and nothing may be changed.
    pub(crate) frozen: bool,
    /// When an operation was what the power went at: microseconds since 1970.
    pub(crate) gone_at_us: Option<u64>,
    /// The entries of open directories, as they were when they were opened.
    listings: HashMap<u64, Vec<Entry>>,
    last_listing: u64,
}

/// An entry of a directory.
type Entry = (OsString, Ino, FileType);

impl Power {
    /// With this disk.
    pub(crate) fn new(disk: Disk) -> Self {
        Self { disk, ..Self::default() }
    }

    /// Counts an operation; without power it fails.
    fn step(&mut self) -> Result<(), Errno> {
        if self.frozen {
            return Err(Errno::EIO);
        }
        self.operations += 1;
        match self.armed {
            Some((at, worker)) if at == self.operations => {
                self.frozen = true;
                self.gone_at_us = Some(assay_core::durability::now_us());
                // It may have ended by itself.
                let _ = kill(worker, Signal::SIGKILL);
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

    /// Carries an operation out that changes something.
    fn change<T>(&self, work: impl FnOnce(&mut Disk) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut power = self.lock();
        power.step()?;
        work(&mut power.disk)
    }

    /// Takes the entries of a directory down, for a reader that takes them piece by piece while it
    /// changes.
    fn list(&self, directory: INodeNo) -> Result<u64, Errno> {
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

    fn entry(&self, parent: INodeNo, name: &OsStr) -> Result<FileAttr, Errno> {
        let power = self.lock();
        let ino = power.disk.live().lookup(parent.0, name)?;
        Ok(attributes(ino, power.disk.live().node(ino)?))
    }

    fn attributes(&self, ino: INodeNo) -> Result<FileAttr, Errno> {
        let power = self.lock();
        Ok(attributes(ino.0, power.disk.live().node(ino.0)?))
    }

    fn create(
        &self,
        request: &Request,
        (parent, name): (INodeNo, &OsStr),
        kind: Kind,
        mode: u32,
    ) -> Result<FileAttr, Errno> {
        let attributes =
            Attributes { mode: (mode & 0o7777) as u16, uid: request.uid(), gid: request.gid() };
        self.change(|disk| disk.create(parent.0, name, kind, attributes))?;
        self.entry(parent, name)
    }

    fn remove(&self, parent: INodeNo, name: &OsStr, directory: bool) -> Result<(), Errno> {
        self.change(|disk| {
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

    fn synchronise(&self, ino: INodeNo) -> Result<(), Errno> {
        self.change(|disk| {
            disk.synchronise(ino.0);
            Ok(())
        })
    }

    fn write(
        &self,
        ino: INodeNo,
        offset: u64,
        bytes: &[u8],
        (from_cache, synchronous): (bool, bool),
    ) -> Result<(), Errno> {
        let mut power = self.lock();
        // What the kernel writes back after the power went is as good as what was not yet
        // synchronised: the cut decides.
        if !(power.frozen && from_cache) {
            power.step()?;
        }
        power.disk.change(Change::Write { ino: ino.0, offset, bytes: bytes.into() })?;
        if synchronous && !power.frozen {
            power.disk.synchronise(ino.0);
        }
        Ok(())
    }

    fn rename(
        &self,
        (parent, name): (INodeNo, &OsStr),
        (new_parent, new_name): (INodeNo, &OsStr),
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        if flags.contains(RenameFlags::RENAME_WHITEOUT) {
            return Err(Errno::EINVAL);
        }
        self.change(|disk| {
            let there = disk.live().lookup(new_parent.0, new_name).is_ok();
            if there && flags.contains(RenameFlags::RENAME_NOREPLACE) {
                return Err(Errno::EEXIST);
            }
            let exchange = flags.contains(RenameFlags::RENAME_EXCHANGE);
            disk.rename((parent.0, name), (new_parent.0, new_name), exchange)
        })
    }

    fn allocate(&self, ino: INodeNo, offset: u64, len: u64, mode: i32) -> Result<(), Errno> {
        const ZEROS: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_ZERO_RANGE;
        if mode & !(ZEROS | libc::FALLOC_FL_KEEP_SIZE) != 0 {
            return Err(Errno::EOPNOTSUPP);
        }
        self.change(|disk| {
            let Kind::File(image) = &disk.live().node(ino.0)?.kind else {
                return Err(Errno::EISDIR);
            };
            let size_bytes = image.size_bytes();
            if mode & ZEROS != 0 {
                disk.change(Change::Zero { ino: ino.0, offset, len })?;
            }
            let end = offset.checked_add(len).ok_or(Errno::EFBIG)?;
            if mode & libc::FALLOC_FL_KEEP_SIZE == 0 && end > size_bytes {
                disk.resize(ino.0, end)?;
            }
            Ok(())
        })
    }
}

/// What `setattr` may set.
#[derive(Default)]
struct Wanted {
    mode: Option<u32>,
    uid: Option<u32>,
    gid: Option<u32>,
    size: Option<u64>,
    accessed: Option<TimeOrNow>,
    modified: Option<TimeOrNow>,
}

impl Shared {
    fn set(&self, ino: INodeNo, wanted: &Wanted) -> Result<FileAttr, Errno> {
        self.change(|disk| {
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

fn code(error: Errno) -> fuser::Errno {
    fuser::Errno::from_i32(error as i32)
}

/// Replies to a request with its result.
macro_rules! answer {
    ($reply:ident, $result:expr, $done:expr) => {
        match $result {
            Ok(value) => {
                let done = $done;
                done(value, $reply)
            }
            Err(error) => $reply.error(code(error)),
        }
    };
}

fn entry(attributes: FileAttr, reply: ReplyEntry) {
    reply.entry(&REMEMBERED, &attributes, Generation(0));
}

impl Filesystem for Shared {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // What it cannot have, it does without.
        let _ = config.set_max_write(WRITE_BYTES_MAX);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        answer!(reply, self.entry(parent, name), entry);
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer!(reply, self.attributes(ino), |attributes: FileAttr, reply: ReplyAttr| {
            reply.attr(&REMEMBERED, &attributes);
        });
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let wanted = Wanted { mode, uid, gid, size, accessed, modified };
        answer!(reply, self.set(ino, &wanted), |attributes: FileAttr, reply: ReplyAttr| {
            reply.attr(&REMEMBERED, &attributes);
        });
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        let power = self.lock();
        match power.disk.live().node(ino.0).map(|node| &node.kind) {
            Ok(Kind::Symlink(target)) => reply.data(target.as_encoded_bytes()),
            Ok(_) => reply.error(code(Errno::EINVAL)),
            Err(error) => reply.error(code(error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        if mode & libc::S_IFMT != libc::S_IFREG {
            return reply.error(code(Errno::EPERM));
        }
        let kind = Kind::File(Image::default());
        answer!(reply, self.create(request, (parent, name), kind, mode), entry);
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let kind = Kind::Directory(BTreeMap::new());
        answer!(reply, self.create(request, (parent, name), kind, mode), entry);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer!(reply, self.remove(parent, name, false), |(), reply: ReplyEmpty| reply.ok());
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer!(reply, self.remove(parent, name, true), |(), reply: ReplyEmpty| reply.ok());
    }

    fn symlink(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let kind = Kind::Symlink(target.into());
        answer!(reply, self.create(request, (parent, name), kind, 0o777), entry);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let renamed = self.rename((parent, name), (new_parent, new_name), flags);
        answer!(reply, renamed, |(), reply: ReplyEmpty| reply.ok());
    }

    fn link(&self, _: &Request, ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let linked = self
            .change(|disk| {
                let name = name.into();
                disk.change(Change::Enter { parent: parent.0, name, ino: ino.0 })
            })
            .and_then(|()| self.attributes(ino));
        answer!(reply, linked, entry);
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        answer!(reply, self.attributes(ino), |_, reply: ReplyOpen| {
            reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
        });
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let power = self.lock();
        match power.disk.live().node(ino.0).map(|node| &node.kind) {
            Ok(Kind::File(image)) => reply.data(&image.read(offset, size as usize)),
            Ok(_) => reply.error(code(Errno::EISDIR)),
            Err(error) => reply.error(code(error)),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let from_cache = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        // The kernel adds the flag for a single write with RWF_DSYNC.
        let synchronous = !from_cache && flags.0 & libc::O_DSYNC != 0;
        let written = self.write(ino, offset, bytes, (from_cache, synchronous));
        answer!(reply, written, |(), reply: ReplyWrite| reply.written(bytes.len() as u32));
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer!(reply, self.synchronise(ino), |(), reply: ReplyEmpty| reply.ok());
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer!(reply, self.synchronise(ino), |(), reply: ReplyEmpty| reply.ok());
    }

    fn opendir(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        answer!(reply, self.list(ino), |handle, reply: ReplyOpen| {
            reply.opened(FileHandle(handle), FopenFlags::empty());
        });
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let power = self.lock();
        let Some(entries) = power.listings.get(&handle.0) else {
            return reply.error(code(Errno::EBADF));
        };
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        for (at, (name, ino, kind)) in (1..).zip(entries).skip(from) {
            if reply.add(INodeNo(*ino), at, *kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.lock().listings.remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = CAPACITY_BYTES / u64::from(BLOCK_BYTES);
        let used = self.lock().disk.live().allocated_bytes() / u64::from(BLOCK_BYTES);
        let free = blocks.saturating_sub(used);
        reply.statfs(blocks, free, free, 1 << 20, 1 << 20, BLOCK_BYTES, 255, BLOCK_BYTES);
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let created = self.create(request, (parent, name), Kind::File(Image::default()), mode);
        answer!(reply, created, |attributes: FileAttr, reply: ReplyCreate| {
            let flags = FopenFlags::FOPEN_KEEP_CACHE;
            reply.created(&REMEMBERED, &attributes, Generation(0), FileHandle(0), flags);
        });
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        len: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let allocated = self.allocate(ino, offset, len, mode);
        answer!(reply, allocated, |(), reply: ReplyEmpty| reply.ok());
    }
}
