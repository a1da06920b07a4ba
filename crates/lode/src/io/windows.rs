//! Files of Windows, in a directory that is found by its path. The log is written by calls: what is
//! mapped there is not seen by other readers at once. A file that is removed while it is open has
//! to lose its name at once, as it does since Windows 10 of 2018.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::os::windows::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Access, Disk, File, Lock, Mapped, resolved};

/// The file that is locked while the directory is in use. It is not a file of the database.
const LOCK_NAME: &str = "lock";

/// A directory of the operating system.
pub(crate) struct Directory {
    /// The whole path, from the root: the process may change its own directory.
    path: PathBuf,
    access: Access,
    /// The names of the files that were opened.
    names: Mutex<BTreeSet<String>>,
}

impl Directory {
    /// Opens the directory at this path, which must exist. Files are opened for this access.
    ///
    /// # Errors
    /// An error if nothing is there, or something that is not a directory.
    pub(crate) fn new(path: &Path, access: Access) -> Result<Self> {
        let path = path.canonicalize()?;
        if !path.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(Self { path, access, names: Mutex::default() })
    }

    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path_of(&self, name: &str) -> PathBuf {
        debug_assert!(!name.contains(['/', '\\']), "{name} is a file's plain name");
        self.path.join(name)
    }

    /// Opens a file of this name, if it is no link.
    fn open_as(&self, name: &str, options: &fs::OpenOptions) -> Result<fs::File> {
        let path = self.path_of(name);
        if path.is_symlink() {
            return Err(Error::new(ErrorKind::InvalidInput, format!("file {name} is a link")));
        }
        options.open(path)
    }

    fn handle(&self, name: &str, options: &fs::OpenOptions) -> Result<Box<dyn File>> {
        let file = self.open_as(name, options)?;
        self.names().insert(name.into());
        Ok(Box::new(Handle { file: Arc::new(file) }))
    }
}

/// Returns the options that open an existing file.
fn existing(access: Access) -> fs::OpenOptions {
    let mut options = fs::File::options();
    options.read(true).write(access == Access::Write);
    options
}

/// Makes sure that names in the directory at a path stay after a crash: the file system sees to
/// that in its own log, and has no call for it.
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn sync_directory(_: &Path) -> Result<()> {
    Ok(())
}

/// Returns true if a directory is the root of a file system.
pub(crate) fn is_root(path: &Path) -> Result<bool> {
    Ok(path.canonicalize()?.parent().is_none())
}

impl Disk for Directory {
    fn lock(&self) -> Result<Lock> {
        let options = match self.access {
            Access::Write => existing(Access::Write).create(true).clone(),
            Access::Read => existing(Access::Read),
        };
        match self.open_as(LOCK_NAME, &options) {
            Ok(file) => Ok(Box::new(Locked::new(&Arc::new(file), self.access)?)),
            // A reader creates none.
            Err(error) if self.access == Access::Read && error.kind() == ErrorKind::NotFound => {
                Ok(Box::new(()))
            }
            Err(error) => Err(error),
        }
    }

    fn open(&self, name: &str) -> Result<Box<dyn File>> {
        self.handle(name, &existing(self.access))
    }

    fn open_passing(&self, name: &str) -> Result<Box<dyn File>> {
        let file = self.open_as(name, &existing(Access::Read))?;
        Ok(Box::new(Handle { file: Arc::new(file) }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn File>> {
        self.handle(name, existing(Access::Write).create_new(true))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let mut names = self.names();
        if self.path_of(to).symlink_metadata().is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        fs::rename(self.path_of(from), self.path_of(to))?;
        if names.remove(from) {
            names.insert(to.into());
        }
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        let mut names = self.names();
        fs::remove_file(self.path_of(name))?;
        names.remove(name);
        Ok(())
    }

    fn list(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name != LOCK_NAME && entry.file_type()?.is_file() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn sync_directory(&self) -> Result<()> {
        sync_directory(&self.path)
    }

    fn holds(&self, path: &Path) -> Result<bool> {
        Ok(resolved(path)?.starts_with(&self.path))
    }

    fn expect_files(&self) -> Result<()> {
        let is_gone = |name: &&String| {
            let found = self.path_of(name).symlink_metadata();
            found.is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        match self.names().iter().find(is_gone) {
            None => Ok(()),
            Some(name) => Err(Error::new(
                ErrorKind::NotFound,
                format!("file {name} was removed or renamed while it was open"),
            )),
        }
    }
}

/// A file that is locked, until it is closed in every process that has it.
struct Locked {
    file: Arc<fs::File>,
}

impl Locked {
    fn new(file: &Arc<fs::File>, access: Access) -> Result<Self> {
        match access {
            Access::Write => file.try_lock()?,
            Access::Read => file.try_lock_shared()?,
        }
        Ok(Self { file: Arc::clone(file) })
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // If it fails, the lock ends when the file is closed.
        let _ = self.file.unlock();
    }
}

/// An open file of the operating system.
struct Handle {
    file: Arc<fs::File>,
}

/// Calls `step` with the number of bytes that are done, until it has done all of `count`.
fn each_part(
    count: usize,
    at_end: ErrorKind,
    mut step: impl FnMut(usize) -> Result<usize>,
) -> Result<()> {
    let mut done = 0;
    while done < count {
        match step(done) {
            Ok(0) => return Err(at_end.into()),
            Ok(some) => done += some,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    debug_assert_eq!(done, count, "a call does no more than it is asked for");
    Ok(())
}

impl File for Handle {
    fn size_bytes(&self) -> Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        each_part(bytes.len(), ErrorKind::UnexpectedEof, |done| {
            self.file.seek_read(&mut bytes[done..], at + done as u64)
        })
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        each_part(bytes.len(), ErrorKind::WriteZero, |done| {
            self.file.seek_write(&bytes[done..], at + done as u64)
        })
    }

    fn sync(&self) -> Result<()> {
        self.file.sync_data()
    }

    fn set_size(&self, size_bytes: u64) -> Result<()> {
        self.file.set_len(size_bytes)
    }

    fn preallocate(&self, bytes: Range<u64>) -> Result<()> {
        // A file that is not sparse has space for its length.
        if bytes.end > self.size_bytes()? { self.file.set_len(bytes.end) } else { Ok(()) }
    }

    fn punch(&self, _: Range<u64>) -> Result<bool> {
        Ok(false)
    }

    fn has_space(&self) -> Result<bool> {
        Ok(true)
    }

    fn next_data(&self, at: u64) -> Result<Option<u64>> {
        Ok((at < self.size_bytes()?).then_some(at))
    }

    fn map(&self, size_bytes: usize) -> Result<Option<Arc<dyn Mapped>>> {
        if size_bytes as u64 > self.size_bytes()? {
            return Err(Error::new(ErrorKind::InvalidInput, "the file is not as long as its map"));
        }
        Ok(None)
    }

    fn lock(&self, access: Access) -> Result<Lock> {
        Ok(Box::new(Locked::new(&self.file, access)?))
    }

    fn pin(&self, _: u64) -> Result<Option<Lock>> {
        Ok(None)
    }

    fn any_pin(&self, _: Range<u64>) -> Result<Option<u64>> {
        Ok(None)
    }

    fn has_writer(&self) -> Result<bool> {
        // Whoever asks has the file locked.
        Ok(false)
    }
}
