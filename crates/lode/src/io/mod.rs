//! The file layer: no other code touches a file in any other way.
//!
//! A [`Disk`] is one directory with its files. There are two: the operating system's ([`os`]), and
//! one in memory that loses what a crash may lose (`simulated`, for tests).

#[cfg(test)]
pub(crate) mod held;
mod home;
#[cfg(unix)]
mod mapped;
#[cfg(unix)]
pub(crate) mod os;
#[cfg(windows)]
#[path = "windows.rs"]
pub(crate) mod os;
#[cfg(any(test, feature = "simulation"))]
pub(crate) mod simulated;

use std::any::Any;
use std::io::Result;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub(crate) use home::Home;

/// A lock that keeps others out of a directory, for as long as it is kept.
pub(crate) type Lock = Box<dyn Any + Send + Sync>;

/// The access for which files are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reading and writing, by one user alone.
    Write,
    /// Reading only, by any number of users.
    Read,
}

/// A directory. Names have no slashes.
pub(crate) trait Disk: Send + Sync {
    /// Keeps out other processes, and other users in this one; a reader keeps only writers out.
    ///
    /// # Errors
    /// `WouldBlock` if another user has the directory.
    fn lock(&self) -> Result<Lock>;

    /// Opens an existing file.
    fn open(&self, name: &str) -> Result<Box<dyn File>>;

    /// Opens an existing file to read it, whatever becomes of its name while it is open: it is none
    /// of those whose names are [expected](Self::expect_files) to lead to them.
    fn open_passing(&self, name: &str) -> Result<Box<dyn File>> {
        self.open(name)
    }

    /// Creates a file under a name that no file has.
    fn create(&self, name: &str) -> Result<Box<dyn File>>;

    /// Gives a file another name.
    ///
    /// # Errors
    /// `AlreadyExists` if a file has that name; both stay as they are.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> Result<()>;

    /// Returns the names of all files, in their order.
    fn list(&self) -> Result<Vec<String>>;

    /// Makes sure that files created, renamed and removed stay so after a crash.
    fn sync_directory(&self) -> Result<()>;

    /// Returns true if a path leads to the directory or into it, as far as it exists.
    fn holds(&self, _: &Path) -> Result<bool> {
        Ok(false)
    }

    /// Checks that the names of all files that were opened still lead to them.
    ///
    /// # Errors
    /// An error if another program removed, renamed or replaced one.
    fn expect_files(&self) -> Result<()>;
}

/// Returns the place that a path leads to, without links and `..`, as far as it exists.
fn resolved(path: &Path) -> Result<PathBuf> {
    let mut place = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        match part {
            Component::ParentDir => drop(place.pop()),
            part => place.push(part),
        }
        place = place.canonicalize().unwrap_or(place);
    }
    Ok(place)
}

/// An open file.
pub(crate) trait File: Send + Sync {
    /// Returns the length of the file.
    fn size_bytes(&self) -> Result<u64>;

    /// Fills `bytes` from offset `at` on.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file ends before.
    fn read_at(&self, at: u64, bytes: &mut [u8]) -> Result<()>;

    /// Writes all bytes from offset `at` on.
    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<()>;

    /// Makes sure that all written bytes, mapped ones too, survive a crash.
    fn sync(&self) -> Result<()>;

    /// Sets the length of the file.
    fn set_size(&self, size_bytes: u64) -> Result<()>;

    /// Sets space aside for a part of it, so that writing there does not run out of space. The file
    /// becomes as long as that, if it is shorter. New bytes read as zeros. A part that has space
    /// loses nothing; one that was [punched](Self::punch) has nothing to lose.
    ///
    /// # Errors
    /// `StorageFull` if there is not that much; the file is as long as it was then.
    fn preallocate(&self, bytes: Range<u64>) -> Result<()>;

    /// Gives the space of a part of it back. Returns false, and does nothing, where the system
    /// cannot. The part reads as zeros, after a crash perhaps as before.
    fn punch(&self, bytes: Range<u64>) -> Result<bool>;

    /// Returns true if the file has space for all of its bytes, none of them in holes.
    fn has_space(&self) -> Result<bool>;

    /// Returns the first byte from `at` on that is not in a hole, or one before it; `None` if no
    /// such byte exists.
    fn next_data(&self, at: u64) -> Result<Option<u64>>;

    /// Maps the first bytes, which must be [preallocated](Self::preallocate); `None` where writing
    /// to a mapping can fail for want of space, or is not seen by the file's other readers.
    fn map(&self, size_bytes: usize) -> Result<Option<Arc<dyn Mapped>>>;

    /// Keeps out each process that locks the same file, by whatever name and in whatever directory
    /// it is found.
    ///
    /// # Errors
    /// `WouldBlock` if another user has it locked.
    fn lock(&self, access: Access) -> Result<Lock>;

    /// Pins a number below 2^61, once through each handle: writers [see](Self::any_pin) it until
    /// the lock is dropped or the process ends. Returns `None` where the system has no locks of
    /// parts of a file: then a reader has to [lock](Self::lock) it.
    ///
    /// # Errors
    /// `WouldBlock` if a writer's lock of the whole file is in the way.
    fn pin(&self, number: u64) -> Result<Option<Lock>>;

    /// Returns a number in a range that is pinned through another handle, if there is one.
    fn any_pin(&self, among: Range<u64>) -> Result<Option<u64>>;

    /// Returns true if a user has the file [locked](Self::lock) for writing, as far as a system
    /// with [pins](Self::pin) knows.
    fn has_writer(&self) -> Result<bool>;
}

/// The mapped front of a file: bytes written there are in the operating system's hands at once.
pub(crate) trait Mapped: Send + Sync {
    /// Writes bytes from offset `at` on; no other thread may write to them at the same time.
    ///
    /// # Errors
    /// An error in a process that was forked from the one that mapped the file.
    ///
    /// # Panics
    /// If the bytes are not in the mapped part.
    fn write(&self, at: usize, bytes: &[u8]) -> Result<()>;

    /// Returns true if the file has its pages in memory only, so that a sync writes nothing.
    fn is_in_memory(&self) -> bool {
        false
    }

    /// Has the operating system get memory for all of the mapped part that is new, and waits for
    /// that. A write to a part that has its memory need not wait. Where there is no way to ask,
    /// does nothing.
    fn prepare(&self) {}

    /// Unmaps bytes that were written and will not be again for some time. Where a mapping makes a
    /// sync of the file take longer, they leave it until they are written again.
    ///
    /// # Panics
    /// If the bytes are not in the mapped part.
    fn unmap(&self, _: Range<usize>) {}
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    //! Tests of both disks.

    use std::io::ErrorKind;

    use super::os::Directory;
    use super::simulated::Simulated;
    use super::*;

    /// Runs a test on a directory of the operating system, and on a simulated disk.
    fn on_both(test: impl Fn(&dyn Disk)) {
        let path = tempfile::tempdir().unwrap();
        test(&Directory::new(path.path(), Access::Write).unwrap());
        test(&Simulated::new(0));
    }

    fn kind<T>(result: Result<T>) -> ErrorKind {
        result.map(|_| ()).unwrap_err().kind()
    }

    fn all_of(file: &dyn File) -> Vec<u8> {
        let mut bytes = vec![0xEE; file.size_bytes().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read_back_through_every_handle() {
        on_both(|disk| {
            let file = disk.create("data").unwrap();
            file.write_at(0, &[1; 1000]).unwrap();
            file.write_at(500, &[2; 100]).unwrap();
            file.sync().unwrap();
            disk.sync_directory().unwrap();
            let expected = [vec![1; 500], vec![2; 100], vec![1; 400]].concat();
            assert_eq!(all_of(&*file), expected);
            assert_eq!(all_of(&*disk.open("data").unwrap()), expected);
        });
    }

    #[test]
    fn writing_beyond_the_end_leaves_zeros_between() {
        on_both(|disk| {
            let file = disk.create("data").unwrap();
            file.write_at(0, b"ab").unwrap();
            file.write_at(5, b"c").unwrap();
            file.write_at(100, b"").unwrap();
            assert_eq!(all_of(&*file), b"ab\0\0\0c");
        });
    }

    #[test]
    fn a_size_cuts_off_or_adds_zeros() {
        on_both(|disk| {
            let file = disk.create("data").unwrap();
            file.write_at(0, &[7; 600]).unwrap();
            file.set_size(10).unwrap();
            file.set_size(700).unwrap();
            assert_eq!(all_of(&*file), [vec![7; 10], vec![0; 690]].concat());
        });
    }

    #[test]
    fn opening_needs_a_file_and_creating_needs_none() {
        on_both(|disk| {
            assert_eq!(kind(disk.open("data")), ErrorKind::NotFound);
            disk.create("data").unwrap().write_at(0, b"kept").unwrap();
            assert_eq!(kind(disk.create("data")), ErrorKind::AlreadyExists);
            assert_eq!(all_of(&*disk.open("data").unwrap()), b"kept");
        });
    }

    #[test]
    fn renaming_replaces_no_file() {
        on_both(|disk| {
            let file = disk.create("old").unwrap();
            file.write_at(0, b"old").unwrap();
            disk.create("data").unwrap().write_at(0, b"kept").unwrap();
            assert_eq!(kind(disk.rename("old", "data")), ErrorKind::AlreadyExists);
            assert_eq!(disk.list().unwrap(), ["data", "old"]);
            assert_eq!(all_of(&*disk.open("data").unwrap()), b"kept");
            disk.rename("old", "new").unwrap();
            disk.sync_directory().unwrap();
            assert_eq!(disk.list().unwrap(), ["data", "new"]);
            file.write_at(0, b"new").unwrap();
            assert_eq!(all_of(&*disk.open("new").unwrap()), b"new");
            assert_eq!(kind(disk.rename("old", "third")), ErrorKind::NotFound);
        });
    }

    #[test]
    fn removed_files_are_gone_but_stay_open() {
        on_both(|disk| {
            let file = disk.create("data").unwrap();
            disk.remove("data").unwrap();
            disk.sync_directory().unwrap();
            file.write_at(0, b"still").unwrap();
            assert_eq!(all_of(&*file), b"still");
            assert_eq!(kind(disk.open("data")), ErrorKind::NotFound);
            assert_eq!(kind(disk.remove("data")), ErrorKind::NotFound);
        });
    }

    #[test]
    fn names_are_listed_in_their_order() {
        on_both(|disk| {
            for name in ["b", "c", "a", "B"] {
                disk.create(name).unwrap();
            }
            assert_eq!(disk.list().unwrap(), ["B", "a", "b", "c"]);
        });
    }

    #[test]
    fn a_second_lock_would_block_until_the_first_is_given_back() {
        on_both(|disk| {
            let lock = disk.lock().unwrap();
            assert_eq!(kind(disk.lock()), ErrorKind::WouldBlock);
            drop(lock);
            disk.lock().unwrap();
            assert_eq!(disk.list().unwrap(), [""; 0]);
        });
    }

    #[test]
    fn a_pin_is_seen_by_other_handles_until_it_is_dropped() {
        on_both(|disk| {
            let written = disk.create("data").unwrap();
            let [first, second] = [(); 2].map(|()| disk.open("data").unwrap());
            let Some(pin) = first.pin(7).unwrap() else { return };
            let pins = [second.pin(7).unwrap(), second.pin(9).unwrap()];
            assert_eq!(written.any_pin(0..9).unwrap(), Some(7));
            assert_eq!(written.any_pin(8..1 << 61).unwrap(), Some(9));
            drop(pins);
            assert_eq!(written.any_pin(0..1 << 61).unwrap(), Some(7));
            drop(pin);
            assert_eq!(written.any_pin(0..1 << 61).unwrap(), None);
        });
    }

    #[test]
    fn a_reader_sees_that_a_file_has_a_writer() {
        on_both(|disk| {
            let file = disk.create("data").unwrap();
            let reader = disk.open("data").unwrap();
            let Some(_pin) = reader.pin(7).unwrap() else { return };
            assert!(!reader.has_writer().unwrap());
            let locks = (disk.lock().unwrap(), file.lock(Access::Write).unwrap());
            assert!(reader.has_writer().unwrap());
            drop(locks);
            assert!(!reader.has_writer().unwrap());
        });
    }

    #[test]
    fn preallocating_adds_zeros_and_keeps_what_is_there() {
        on_both(|disk| {
            let file = disk.create("data").unwrap();
            file.write_at(0, b"kept").unwrap();
            file.preallocate(0..10_000).unwrap();
            file.preallocate(0..100).unwrap();
            let mut expected = vec![0; 10_000];
            expected[..4].copy_from_slice(b"kept");
            assert_eq!(all_of(&*file), expected);
        });
    }

    #[test]
    fn what_is_written_to_a_mapping_is_read_from_the_file() {
        on_both(|disk| {
            let file = disk.create("data").unwrap();
            file.preallocate(0..10_000).unwrap();
            // If the directory for temporary files cannot be mapped, the test ends here.
            let Some(mapped) = file.map(8_192).unwrap() else { return };
            mapped.write(4_090, &[5; 20]).unwrap();
            mapped.write(8_191, &[6]).unwrap();
            file.write_at(4_100, &[7; 2]).unwrap();
            file.sync().unwrap();
            drop(mapped);
            let mut expected = vec![0; 10_000];
            expected[4_090..4_110].fill(5);
            expected[4_100..4_102].fill(7);
            expected[8_191] = 6;
            assert_eq!(all_of(&*file), expected);
        });
    }

    #[test]
    fn a_file_is_mapped_as_far_as_it_goes() {
        on_both(|disk| {
            let file = disk.create("data").unwrap();
            file.preallocate(0..4_096).unwrap();
            assert_eq!(kind(file.map(4_097)), ErrorKind::InvalidInput);
        });
    }

    #[test]
    fn reading_past_the_end_is_an_unexpected_end() {
        on_both(|disk| {
            let file = disk.create("data").unwrap();
            file.write_at(0, b"abc").unwrap();
            assert_eq!(kind(file.read_at(1, &mut [0; 3])), ErrorKind::UnexpectedEof);
            assert_eq!(kind(file.read_at(100, &mut [0; 1])), ErrorKind::UnexpectedEof);
            file.read_at(100, &mut []).unwrap();
        });
    }
}
