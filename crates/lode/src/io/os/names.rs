//! The names of the files that are open, and whether they still lead there. Another program may
//! remove, rename or replace files of an open database; what is written to them then is lost.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag};
use nix::sys::stat::{Mode, SFlag, fstatat};

use super::identity::Identity;
use super::{LOCK_NAME, uninterrupted};

/// A change of a directory this long after another one certainly has another time.
const CLOCK_STEP: Duration = Duration::from_secs(1);

/// When a directory was last changed: seconds and nanoseconds since the beginning of 1970.
type Stamp = (i64, i64);

/// The names of files of a directory.
#[derive(Default)]
pub(super) struct Names {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, Identity>,
    /// The directory had not changed since then when all names were looked at.
    looked: Option<Stamp>,
}

impl Names {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a file that was just opened or created.
    pub(super) fn add(&self, name: &str, file: &fs::File) -> Result<()> {
        let identity = Identity::of(file)?;
        self.state().files.insert(name.into(), identity);
        Ok(())
    }

    /// Notes what `rename` does.
    pub(super) fn rename(
        &self,
        from: &str,
        to: &str,
        rename: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let mut state = self.state();
        rename()?;
        if let Some(identity) = state.files.remove(from) {
            state.files.insert(to.into(), identity);
        }
        Ok(())
    }

    /// Notes what `remove` does.
    pub(super) fn remove(&self, name: &str, remove: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut state = self.state();
        remove()?;
        state.files.remove(name);
        Ok(())
    }

    /// Fails if a name does not lead to the file that was opened by it. As long as the directory
    /// has not changed, that is one call of the system.
    pub(super) fn expect_in(&self, directory: &fs::File) -> Result<()> {
        let found = directory.metadata()?;
        let stamp = (found.ctime(), found.ctime_nsec());
        let mut state = self.state();
        if state.looked == Some(stamp) {
            return Ok(());
        }
        for (name, identity) in &state.files {
            let is_same = match Identity::at(directory, name) {
                Ok(found) => found == *identity,
                Err(error) if is_gone(&error) => false,
                // That it cannot be looked at proves nothing.
                Err(_) => return Ok(()),
            };
            if !is_same {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!("file {name} was removed, renamed or replaced while it was open"),
                ));
            }
        }
        state.looked = is_long_ago(stamp).then_some(stamp);
        Ok(())
    }
}

/// Gives a file another name, which no file has.
pub(super) fn rename(directory: &fs::File, from: &str, to: &str) -> Result<()> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use nix::fcntl::{RenameFlags, renameat2};
        let flags = RenameFlags::RENAME_NOREPLACE;
        match uninterrupted(|| renameat2(directory, from, directory, to, flags)) {
            // Some file systems cannot look and rename at once.
            Err(error) if is_one_of(&error, [Errno::EINVAL, Errno::ENOSYS]) => {}
            other => return other,
        }
    }
    match uninterrupted(|| fstatat(directory, to, AtFlags::AT_SYMLINK_NOFOLLOW)) {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(error) if is_one_of(&error, [Errno::ENOENT]) => {
            uninterrupted(|| nix::fcntl::renameat(directory, from, directory, to))
        }
        Err(error) => Err(error),
    }
}

fn is_one_of<const N: usize>(error: &Error, numbers: [Errno; N]) -> bool {
    numbers.iter().any(|number| error.raw_os_error() == Some(*number as i32))
}

fn is_gone(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::StaleNetworkFileHandle)
}

/// Returns true if what changes the directory from now on changes its time too.
fn is_long_ago((seconds, nanos): Stamp) -> bool {
    let (Ok(seconds), Ok(nanos)) = (u64::try_from(seconds), u32::try_from(nanos)) else {
        return false;
    };
    let then = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
    SystemTime::now().duration_since(then).is_ok_and(|age| age > CLOCK_STEP)
}

/// The names of all regular files but the lock, in their order.
pub(super) fn list(directory: &fs::File) -> Result<Vec<String>> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut entries = uninterrupted(|| Dir::openat(directory, ".", flags, Mode::empty()))?;
    let mut names = Vec::new();
    for entry in entries.iter() {
        let entry = entry?;
        // All names that a database gives its files are text; others are not its files.
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name == LOCK_NAME {
            continue;
        }
        match uninterrupted(|| fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW)) {
            Ok(found) if is_regular(found.st_mode) => names.push(name.into()),
            Ok(_) => {}
            // It is gone since.
            Err(error) if is_one_of(&error, [Errno::ENOENT]) => {}
            Err(error) => return Err(error),
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn is_regular(mode: nix::libc::mode_t) -> bool {
    SFlag::from_bits_truncate(mode) & SFlag::S_IFMT == SFlag::S_IFREG
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What changes a directory in the same moment as before may leave its time as it was.
    #[test]
    fn a_directory_is_trusted_long_after_its_last_change_only() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is later");
        let is_trusted = |age_seconds: i64| {
            is_long_ago((now.as_secs() as i64 - age_seconds, now.subsec_nanos().into()))
        };
        for age_seconds in [2, 3_600, 1 << 30] {
            assert!(is_trusted(age_seconds), "{age_seconds} s ago");
        }
        // A clock was set back, or another machine's goes ahead.
        for age_seconds in [-1, -60, -3_600] {
            assert!(!is_trusted(age_seconds), "{age_seconds} s ago");
        }
        assert!(!is_long_ago((-1, 0)) && !is_long_ago((0, -1)), "no time at all");
    }
}
