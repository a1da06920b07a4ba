//! The kernel's requests, as changes of the disk.
//!
//! Writes come through at once (there is no write-back cache), so operations can be counted and
//! a cut can come before any of them; pages of mapped files stay with the kernel until it writes
//! them, and come with `FUSE_WRITE_CACHE`. Locks stay with the kernel altogether.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use assay_core::durability::Fault;
use fuser::{
    BsdFileFlags, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, KernelConfig,
    LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use nix::errno::Errno;
use nix::libc;

use crate::fault::Operation;
use crate::image::Image;
use crate::power::{BLOCK_BYTES, Shared, Wanted};
use crate::volume::{Change, Kind, Name};

/// The time for which the kernel may keep data: only this filesystem changes its files.
const REMEMBERED: Duration = Duration::from_secs(3600);
/// The free space that the filesystem reports.
const CAPACITY_BYTES: u64 = 64 << 30;
const WRITE_BYTES_MAX: u32 = 1 << 20;

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
        // The filesystem does without features that it cannot have.
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
        answer!(reply, self.create(request, parent, name, kind, mode), entry);
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
        answer!(reply, self.create(request, parent, name, kind, mode), entry);
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
        answer!(reply, self.create(request, parent, name, kind, 0o777), entry);
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
        let from = Name { parent: parent.0, name };
        let to = Name { parent: new_parent.0, name: new_name };
        let renamed = self.rename(from, to, flags);
        answer!(reply, renamed, |(), reply: ReplyEmpty| reply.ok());
    }

    fn link(&self, _: &Request, ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let linked = self
            .change(Operation::Allocate, |disk| {
                let name = name.into();
                disk.change(Change::Enter { parent: parent.0, name, ino: ino.0 })
            })
            .and_then(|()| self.attributes(ino));
        answer!(reply, linked, entry);
    }

    fn open(&self, _: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        // Reads can only fail if the kernel does not answer them from its cache.
        let flags = if self.lock().faults.is(Fault::EioRead) {
            FopenFlags::empty()
        } else {
            FopenFlags::FOPEN_KEEP_CACHE
        };
        answer!(reply, self.attributes(ino), |_, reply: ReplyOpen| {
            reply.opened(FileHandle(self.lock().descriptions.open(ino.0)), flags);
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
        let read = self.read(ino, offset, size as usize);
        answer!(reply, read, |bytes: Vec<u8>, reply: ReplyData| reply.data(&bytes));
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        description: FileHandle,
        offset: u64,
        bytes: &[u8],
        write_flags: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let from_cache = write_flags.contains(WriteFlags::FUSE_WRITE_CACHE);
        // The kernel adds the flag for a single write with RWF_DSYNC.
        let is_synchronous = !from_cache && flags.0 & libc::O_DSYNC != 0;
        let synchronous = is_synchronous.then_some(description);
        let written = self.write(ino, offset, bytes, from_cache, synchronous);
        answer!(reply, written, |len: usize, reply: ReplyWrite| reply.written(len as u32));
    }

    fn fsync(
        &self,
        _: &Request,
        ino: INodeNo,
        description: FileHandle,
        _: bool,
        reply: ReplyEmpty,
    ) {
        let synchronised = self.synchronise(ino, Some(description));
        answer!(reply, synchronised, |(), reply: ReplyEmpty| reply.ok());
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        description: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.lock().descriptions.close(description.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        answer!(reply, self.synchronise(ino, None), |(), reply: ReplyEmpty| reply.ok());
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
        let created = self.create(request, parent, name, Kind::File(Image::default()), mode);
        answer!(reply, created, |attributes: FileAttr, reply: ReplyCreate| {
            let flags = FopenFlags::FOPEN_KEEP_CACHE;
            let description = FileHandle(self.lock().descriptions.open(attributes.ino.0));
            reply.created(&REMEMBERED, &attributes, Generation(0), description, flags);
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
