//! Files of the operating system.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::mapped::{Ahead, Front};
use super::{Disk, File, Lock, Mapped};

/// The file that whoever has the directory keeps locked. It is not a file of the database.
const LOCK_NAME: &str = "lock";

/// A directory of the operating system's.
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The directory at this place, which must be there.
    ///
    /// # Errors
    /// When there is nothing, or something that is not a directory.
    pub fn new(path: &Path) -> Result<Self> {
        if !fs::metadata(path)?.is_dir() {
            return Err(Error::new(ErrorKind::NotADirectory, "the path is not a directory's"));
        }
        Ok(Self { path: path.to_path_buf() })
    }

    /// Where a file of this name is.
    fn path(&self, name: &str) -> PathBuf {
        debug_assert!(!name.contains('/') && name != LOCK_NAME, "{name} is a file's plain name");
        self.path.join(name)
    }
}

impl Disk for Directory {
    fn lock(&self) -> Result<Lock> {
        let path = self.path.join(LOCK_NAME);
        let file = fs::File::options().create(true).truncate(false).write(true).open(path)?;
        // The system gives the lock back when the handle is closed, however the process ends.
        file.try_lock()?;
        Ok(Box::new(file))
    }

    fn open(&self, name: &str) -> Result<Box<dyn File>> {
        let file = fs::File::options().read(true).write(true).open(self.path(name))?;
        Ok(Box::new(Handle { file }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn File>> {
        let path = self.path(name);
        let file = fs::File::options().read(true).write(true).create_new(true).open(path)?;
        Ok(Box::new(Handle { file }))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> Result<()> {
        fs::remove_file(self.path(name))
    }

    fn list(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if !entry.file_type()?.is_file() {
                continue;
            }
            // All names that a database gives its files are text; others are not its files.
            if let Ok(name) = entry.file_name().into_string()
                && name != LOCK_NAME
            {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_directory(&self) -> Result<()> {
        fs::File::open(&self.path)?.sync_all()
    }
}

/// A file of the operating system's.
struct Handle {
    file: fs::File,
}

impl File for Handle {
    fn size_bytes(&self) -> Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(bytes, at)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn sync(&self) -> Result<()> {
        // The length is written too when it changed, as nothing could be read back without it. What
        // was written to a mapping lies in the same pages of the cache as what `write_at` wrote.
        self.file.sync_data()
    }

    fn set_size(&self, size_bytes: u64) -> Result<()> {
        self.file.set_len(size_bytes)
    }

    fn preallocate(&self, size_bytes: u64) -> Result<()> {
        let former = self.size_bytes()?;
        if size_bytes <= former {
            return Ok(());
        }
        extend(&self.file, former, size_bytes).inspect_err(|_| {
            // Some of it may be there. The first error is the one that says what is wrong.
            let _ = self.file.set_len(former);
        })
    }

    fn map(&self, size_bytes: usize) -> Result<Option<Arc<dyn Mapped>>> {
        if size_bytes as u64 > self.size_bytes()? {
            return Err(Error::new(ErrorKind::InvalidInput, "the file is not as long as its map"));
        }
        let Some(ahead) = writes_in_place(&self.file)? else { return Ok(None) };
        Ok(Some(Arc::new(Front::new(&self.file, size_bytes, ahead)?)))
    }
}

/// Makes a file longer, with space for what is new.
#[cfg(target_os = "linux")]
fn extend(file: &fs::File, from: u64, to: u64) -> Result<()> {
    use nix::errno::Errno;
    use nix::fcntl::{FallocateFlags, fallocate};

    let offset = |at: u64| i64::try_from(at).map_err(|_| Error::from(ErrorKind::FileTooLarge));
    let (start, size) = (offset(from)?, offset(to)? - offset(from)?);
    loop {
        match fallocate(file, FallocateFlags::empty(), start, size) {
            Ok(()) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => return fill(file, from, to),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Makes a file longer, with space for what is new.
#[cfg(not(target_os = "linux"))]
fn extend(file: &fs::File, from: u64, to: u64) -> Result<()> {
    fill(file, from, to)
}

/// Writes zeros, which is what takes up space where the file system cannot set space aside.
fn fill(file: &fs::File, from: u64, to: u64) -> Result<()> {
    const PIECE_BYTES: u64 = 1 << 20;
    let zeros = vec![0; PIECE_BYTES.min(to - from) as usize];
    let mut at = from;
    while at < to {
        let size = PIECE_BYTES.min(to - at);
        file.write_all_at(&zeros[..size as usize], at)?;
        at += size;
    }
    Ok(())
}

/// Whether writing to a mapped part of a file, for which there is space already, always succeeds:
/// on file systems that write where the data lies, or set aside enough to write it elsewhere. Where
/// it can fail it ends the process, so file systems that are not known count as such. If it does, answers how memory
/// for the mapping is to be had ahead of need.
#[cfg(target_os = "linux")]
fn writes_in_place(file: &fs::File) -> Result<Option<Ahead>> {
    use nix::sys::statfs::{
        EXT2_SUPER_MAGIC, EXT3_SUPER_MAGIC, EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC, TMPFS_MAGIC,
        XFS_SUPER_MAGIC, fstatfs,
    };

    let kind = fstatfs(file)?.filesystem_type();
    // The three versions of ext have the same number now, which is not for us to rely on.
    let kinds =
        [EXT2_SUPER_MAGIC, EXT3_SUPER_MAGIC, EXT4_SUPER_MAGIC, F2FS_SUPER_MAGIC, XFS_SUPER_MAGIC];
    Ok(match kind {
        TMPFS_MAGIC => Some(Ahead::Map),
        kind => kinds.contains(&kind).then_some(Ahead::Read),
    })
}

/// Elsewhere it is not known, so no.
#[cfg(not(target_os = "linux"))]
fn writes_in_place(_: &fs::File) -> Result<Option<Ahead>> {
    Ok(None)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_must_be_there() {
        let parent = tempfile::tempdir().unwrap();
        let kind = |path: &Path| Directory::new(path).map(|_| ()).unwrap_err().kind();
        assert_eq!(kind(&parent.path().join("none")), ErrorKind::NotFound);
        fs::write(parent.path().join("file"), "").unwrap();
        assert_eq!(kind(&parent.path().join("file")), ErrorKind::NotADirectory);
    }

    #[test]
    fn only_regular_files_other_than_the_lock_are_listed() {
        let path = tempfile::tempdir().unwrap();
        let directory = Directory::new(path.path()).unwrap();
        let _lock = directory.lock().unwrap();
        fs::create_dir(path.path().join("below")).unwrap();
        directory.create("data").unwrap();
        assert_eq!(directory.list().unwrap(), ["data"]);
    }

    #[test]
    fn filling_with_zeros_goes_exactly_as_far_as_it_should() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"kept", 0).unwrap();
        let size = (1 << 20) + 4321;
        fill(&file, 4, size).unwrap();
        assert_eq!(file.metadata().unwrap().len(), size);
        let mut bytes = vec![1; size as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes[..4], b"kept");
        assert!(bytes[4..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn a_preallocation_that_fails_leaves_the_file_as_it_was() {
        let path = tempfile::tempdir().unwrap();
        let file = Directory::new(path.path()).unwrap().create("data").unwrap();
        file.write_at(0, b"kept").unwrap();
        file.preallocate(1 << 62).unwrap_err();
        assert_eq!(file.size_bytes().unwrap(), 4);
        file.preallocate(u64::MAX).unwrap_err();
        assert_eq!(file.size_bytes().unwrap(), 4);
    }
}
