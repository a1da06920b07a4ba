//! Files of the operating system, in a directory that is kept open. Nothing is found by a path
//! again: the directory may be renamed, and the process may change its own.

mod identity;
mod names;
#[cfg(target_os = "linux")]
mod pins;
#[cfg(not(target_os = "linux"))]
#[path = "no_pins.rs"]
mod pins;
mod space;

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

use super::home::Home;
use super::mapped::Front;
use super::{Access, Disk, File, Lock, Mapped, resolved};
use names::Names;

/// The file that is locked while the directory is in use. It is not a file of the database.
const LOCK_NAME: &str = "lock";

/// A directory of the operating system.
pub(crate) struct Directory {
    /// The open directory.
    directory: Arc<fs::File>,
    access: Access,
    home: Home,
    names: Names,
}

impl Directory {
    /// Opens the directory at this path, which must exist. Files are opened for this access.
    ///
    /// # Errors
    /// An error if nothing is there, or something that is not a directory.
    pub(crate) fn new(path: &Path, access: Access) -> Result<Self> {
        let mut options = fs::File::options();
        let directory = options.read(true).custom_flags(OFlag::O_DIRECTORY.bits()).open(path)?;
        let directory = Arc::new(directory);
        let names = Names::default();
        Ok(Self { directory, access, home: Home::here(), names })
    }

    /// Opens a file of this name, if it is no link.
    fn open_at(&self, name: &str, flags: OFlag) -> Result<fs::File> {
        self.home.expect_here()?;
        let flags = flags | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        let mode = Mode::from_bits_truncate(0o666);
        let open = || nix::fcntl::openat(&*self.directory, name, flags, mode);
        Ok(fs::File::from(uninterrupted(open)?))
    }

    fn handle(&self, name: &str, flags: OFlag) -> Result<Box<dyn File>> {
        debug_assert!(!name.contains('/') && name != LOCK_NAME, "{name} is a file's plain name");
        let file = self.open_at(name, flags)?;
        self.names.add(name, &file)?;
        Ok(Box::new(Handle { file: Arc::new(file), home: self.home }))
    }

    /// Locks the directory itself, where the file system can lock one.
    fn lock_directory(&self) -> Result<Option<Locked>> {
        match Locked::new(&self.directory, self.access, self.home) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Ok(None),
            other => other.map(Some),
        }
    }

    /// Locks the directory's lock file. A reader creates none.
    fn lock_file(&self) -> Result<Option<Locked>> {
        let flags = match self.access {
            Access::Write => OFlag::O_RDWR | OFlag::O_CREAT,
            Access::Read => OFlag::O_RDONLY,
        };
        match self.open_at(LOCK_NAME, flags) {
            Ok(file) => Locked::new(&Arc::new(file), self.access, self.home).map(Some),
            Err(error) if self.access == Access::Read && error.kind() == ErrorKind::NotFound => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Makes sure that names in the directory at a path stay after a crash.
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    fs::File::open(path).and_then(|directory| directory.sync_all())
}

/// Returns true if a directory is the root of a file system.
pub(crate) fn is_root(path: &Path) -> Result<bool> {
    let device = |path: &Path| path.metadata().map(|found| found.dev());
    Ok(device(path)? != device(&path.join(".."))?)
}

impl Disk for Directory {
    fn lock(&self) -> Result<Lock> {
        Ok(Box::new((self.lock_directory()?, self.lock_file()?)))
    }

    fn open(&self, name: &str) -> Result<Box<dyn File>> {
        let flags = match self.access {
            Access::Write => OFlag::O_RDWR,
            Access::Read => OFlag::O_RDONLY,
        };
        self.handle(name, flags)
    }

    fn open_passing(&self, name: &str) -> Result<Box<dyn File>> {
        let file = self.open_at(name, OFlag::O_RDONLY)?;
        Ok(Box::new(Handle { file: Arc::new(file), home: self.home }))
    }

    fn create(&self, name: &str) -> Result<Box<dyn File>> {
        self.handle(name, OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.home.expect_here()?;
        self.names.rename(from, to, || names::rename(&self.directory, from, to))
    }

    fn remove(&self, name: &str) -> Result<()> {
        use nix::unistd::{UnlinkatFlags, unlinkat};
        self.home.expect_here()?;
        let directory = &*self.directory;
        self.names.remove(name, || {
            uninterrupted(|| unlinkat(directory, name, UnlinkatFlags::NoRemoveDir))
        })
    }

    fn list(&self) -> Result<Vec<String>> {
        names::list(&self.directory)
    }

    fn sync_directory(&self) -> Result<()> {
        self.home.expect_here()?;
        self.directory.sync_all()
    }

    fn holds(&self, path: &Path) -> Result<bool> {
        let identity = |found: fs::Metadata| (found.dev(), found.ino());
        let own = identity(self.directory.metadata()?);
        let whole = resolved(path)?;
        let found = whole.ancestors().filter_map(|at| at.metadata().ok());
        Ok(found.map(identity).any(|found| found == own))
    }

    fn expect_files(&self) -> Result<()> {
        self.names.expect_in(&self.directory)
    }
}

/// Repeats a call of the system as long as a signal interrupts it.
fn uninterrupted<T>(mut call: impl FnMut() -> nix::Result<T>) -> Result<T> {
    loop {
        match call() {
            Err(Errno::EINTR) => {}
            other => return Ok(other?),
        }
    }
}

/// A file or directory that is locked. The lock belongs to what was opened: it ends when that is
/// closed, in every process that has it.
struct Locked {
    file: Arc<fs::File>,
    home: Home,
}

impl Locked {
    fn new(file: &Arc<fs::File>, access: Access, home: Home) -> Result<Self> {
        match access {
            Access::Write => file.try_lock()?,
            Access::Read => file.try_lock_shared()?,
        }
        Ok(Self { file: Arc::clone(file), home })
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // A child of the process has the lock too, until it starts another program; and it must not
        // give it back for its parent.
        if self.home.is_here() {
            // If it fails, the lock ends when the file is closed.
            let _ = self.file.unlock();
        }
    }
}

/// An open file of the operating system.
struct Handle {
    file: Arc<fs::File>,
    home: Home,
}

impl File for Handle {
    fn size_bytes(&self) -> Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        // A child does not look for what the parent has written since a fork.
        self.home.expect_here()?;
        self.file.read_exact_at(bytes, at)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.home.expect_here()?;
        self.file.write_all_at(bytes, at)
    }

    fn sync(&self) -> Result<()> {
        self.home.expect_here()?;
        // The length is written too if it changed, as nothing could be read back without it. Bytes
        // written to a mapping are in the same pages of the cache as those that `write_at` wrote.
        self.file.sync_data()
    }

    fn set_size(&self, size_bytes: u64) -> Result<()> {
        self.home.expect_here()?;
        self.file.set_len(size_bytes)
    }

    fn preallocate(&self, bytes: Range<u64>) -> Result<()> {
        self.home.expect_here()?;
        let former = self.size_bytes()?;
        space::set_aside(&self.file, former, bytes).inspect_err(|_| {
            // Some of the space may be set aside. The first error is the cause.
            let _ = self.file.set_len(former);
        })
    }

    fn punch(&self, bytes: Range<u64>) -> Result<bool> {
        self.home.expect_here()?;
        space::punch(&self.file, bytes)
    }

    fn has_space(&self) -> Result<bool> {
        /// Bytes of a block, as `stat` counts them.
        const BLOCK_BYTES: u64 = 512;
        let found = self.file.metadata()?;
        Ok(found.blocks() >= found.len() / BLOCK_BYTES)
    }

    fn next_data(&self, at: u64) -> Result<Option<u64>> {
        space::next_data(&self.file, at)
    }

    fn map(&self, size_bytes: usize) -> Result<Option<Arc<dyn Mapped>>> {
        if size_bytes as u64 > self.size_bytes()? {
            return Err(Error::new(ErrorKind::InvalidInput, "the file is not as long as its map"));
        }
        let Some(ahead) = space::writes_in_place(&self.file)? else { return Ok(None) };
        match Front::new(&self.file, size_bytes, ahead) {
            // The process may have no more addresses. The file can be written to by calls.
            Err(error) if error.kind() == ErrorKind::OutOfMemory => Ok(None),
            mapped => Ok(Some(Arc::new(mapped?))),
        }
    }

    fn lock(&self, access: Access) -> Result<Lock> {
        let whole = Locked::new(&self.file, access, self.home)?;
        let mark = match access {
            Access::Write => pins::mark_writer(&self.file, self.home)?,
            Access::Read => None,
        };
        Ok(Box::new((mark, whole)))
    }

    fn pin(&self, number: u64) -> Result<Option<Lock>> {
        self.home.expect_here()?;
        let pin = pins::pin(&self.file, number, self.home)?;
        Ok(pin.map(|pin| Box::new(pin) as Lock))
    }

    fn any_pin(&self, among: Range<u64>) -> Result<Option<u64>> {
        pins::any(&self.file, among)
    }

    fn has_writer(&self) -> Result<bool> {
        pins::has_writer(&self.file)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_must_be_there() {
        let parent = tempfile::tempdir().unwrap();
        let kind =
            |path: &Path| Directory::new(path, Access::Write).map(|_| ()).unwrap_err().kind();
        assert_eq!(kind(&parent.path().join("none")), ErrorKind::NotFound);
        fs::write(parent.path().join("file"), "").unwrap();
        assert_eq!(kind(&parent.path().join("file")), ErrorKind::NotADirectory);
    }

    #[test]
    fn only_regular_files_other_than_the_lock_are_listed() {
        let path = tempfile::tempdir().unwrap();
        let directory = Directory::new(path.path(), Access::Write).unwrap();
        let _lock = directory.lock().unwrap();
        fs::create_dir(path.path().join("below")).unwrap();
        directory.create("data").unwrap();
        assert_eq!(directory.list().unwrap(), ["data"]);
    }

    #[test]
    fn a_preallocation_that_fails_leaves_the_file_as_it_was() {
        let path = tempfile::tempdir().unwrap();
        let file = Directory::new(path.path(), Access::Write).unwrap().create("data").unwrap();
        file.write_at(0, b"kept").unwrap();
        file.preallocate(0..1 << 62).unwrap_err();
        assert_eq!(file.size_bytes().unwrap(), 4);
        file.preallocate(0..u64::MAX).unwrap_err();
        assert_eq!(file.size_bytes().unwrap(), 4);
    }
}
