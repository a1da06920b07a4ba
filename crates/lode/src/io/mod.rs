//! The file layer: nothing above touches a file in any other way.
//!
//! A [`Disk`] is one directory with files in it. There are two: the operating system's ([`os`]), and
//! one in memory that loses what a crash may lose ([`simulated`]).

mod mapped;
pub mod os;
pub mod simulated;

use std::any::Any;
use std::io::Result;

/// What keeps others out of a directory, for as long as it is kept.
pub type Lock = Box<dyn Any + Send + Sync>;

/// A directory. Names have no slashes.
pub trait Disk: Send + Sync {
    /// Keeps other processes, and other users in this one, out.
    ///
    /// # Errors
    /// `WouldBlock` when somebody else has the directory.
    fn lock(&self) -> Result<Lock>;

    /// Opens a file that is there, for reading and writing.
    fn open(&self, name: &str) -> Result<Box<dyn File>>;

    /// Creates a file that is not there.
    fn create(&self, name: &str) -> Result<Box<dyn File>>;

    /// Gives a file another name, in place of the file of that name if there is one.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> Result<()>;

    /// The names of all files, in their order.
    fn list(&self) -> Result<Vec<String>>;

    /// Makes sure that what was created, renamed and removed survives a crash.
    fn sync_directory(&self) -> Result<()>;
}

/// An open file.
pub trait File: Send + Sync {
    /// Its length.
    fn size_bytes(&self) -> Result<u64>;

    /// Fills `bytes` from a place on.
    ///
    /// # Errors
    /// `UnexpectedEof` when the file ends before.
    fn read_at(&self, at: u64, bytes: &mut [u8]) -> Result<()>;

    /// Writes all bytes to a place on.
    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()>;

    /// Makes sure that what was written, mapped parts too, survives a crash.
    fn sync(&self) -> Result<()>;

    /// Sets its length.
    fn set_size(&self, size_bytes: u64) -> Result<()>;

    /// Makes it at least so long, with space for all of it, so that writing there does not run out
    /// of space. What is new reads as zeros.
    ///
    /// # Errors
    /// `StorageFull` when there is not that much; the file is as it was then.
    fn preallocate(&self, size_bytes: u64) -> Result<()>;

    /// Maps the first bytes, which must be [preallocated](Self::preallocate); `None` where writing
    /// to a mapping can fail for want of space, or is not what the file's other readers see.
    fn map(&self, size_bytes: usize) -> Result<Option<Box<dyn Mapped>>>;
}

/// The mapped front of a file: what is written there is in the operating system's hands at once.
pub trait Mapped: Send + Sync {
    /// Writes bytes to a place on; nobody else may write to the same bytes at the same time.
    ///
    /// # Panics
    /// If they do not lie in the mapped part.
    fn write(&self, at: usize, bytes: &[u8]);
}
