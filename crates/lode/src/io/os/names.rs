//! The names of the files that are open, and the check that they still lead there. Another program
//! may remove, rename or replace files of an open database; later writes to them are lost.

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

/// The time of a directory's last change: seconds and nanoseconds since the start of 1970.
type Stamp = (i64, i64);

/// The names of files of a directory.
#[derive(Default)]
pub(super) struct Names {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    files: BTreeMap<String, Identity>,
    /// The time of the directory's last change when all names were looked at.
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

    /// Renames a file by `rename`, and notes its new name.
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

    /// Removes a file by `remove`, and forgets its name.
    pub(super) fn remove(&self, name: &str, remove: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut state = self.state();
        remove()?;
        state.files.remove(name);
        Ok(())
    }

    /// Fails if a name does not lead to the file that was opened by it. As long as the directory
    /// has not changed, that is one call of the system.
    pub(super) fn expect_in(&self, directory: &fs::File) -> Result<()> {
        let stamp = || directory.metadata().map(|found| (found.ctime(), found.ctime_nsec()));
        self.expect(stamp, |name| Identity::at(directory, name))
    }

    /// Checks all names by calls of the system that say when the directory changed and what a name
    /// leads to. Only a change of a name that was seen is one: a call that fails proves nothing,
    /// and the next time all names are looked at.
    fn expect(
        &self,
        stamp: impl FnOnce() -> Result<Stamp>,
        at: impl Fn(&str) -> Result<Identity>,
    ) -> Result<()> {
        let stamp = stamp().ok();
        let mut state = self.state();
        if stamp.is_some() && state.looked == stamp {
            return Ok(());
        }
        state.looked = None;
        let mut are_all_seen = true;
        for (name, identity) in &state.files {
            let is_same = match at(name) {
                Ok(found) => found == *identity,
                Err(error) if is_gone(&error) => false,
                Err(_) => {
                    are_all_seen = false;
                    continue;
                }
            };
            if !is_same {
                return Err(Error::new(
                    ErrorKind::NotFound,
                    format!("file {name} was removed, renamed or replaced while it was open"),
                ));
            }
        }
        state.looked = stamp.filter(|stamp| are_all_seen && is_long_ago(*stamp));
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

/// Returns true if any change of the directory from now on changes its time too.
fn is_long_ago(stamp: Stamp) -> bool {
    let (seconds, nanos) = stamp;
    let (Ok(seconds), Ok(nanos)) = (u64::try_from(seconds), u32::try_from(nanos)) else {
        return false;
    };
    let then = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
    SystemTime::now().duration_since(then).is_ok_and(|age| age > CLOCK_STEP)
}

/// Returns the names of all regular files except the lock, in their order.
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
            // The file is gone.
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

    /// A call of the system may fail in passing: that is no change of a name. A name that leads
    /// elsewhere, or nowhere, is one, whatever else fails.
    #[test]
    fn a_call_that_fails_proves_no_change_and_hides_none() {
        let path = tempfile::tempdir().expect("a directory");
        let directory = fs::File::open(path.path()).expect("it is there");
        let names = Names::default();
        for name in ["a", "b"] {
            let file = fs::File::create(path.path().join(name)).expect("space");
            names.add(name, &file).expect("it can be looked at");
        }
        let fails = || Error::from_raw_os_error(Errno::EIO as i32);
        let long_ago = || Ok((1, 0));
        let look = |name: &str| Identity::at(&directory, name);
        let sometimes = |name: &str| if name == "a" { Err(fails()) } else { look(name) };
        names.expect(|| Err(fails()), look).expect("only the directory cannot be looked at");
        names.expect(|| Err(fails()), |_| Err(fails())).expect("nothing can be looked at");
        names.expect(long_ago, sometimes).expect("one cannot be looked at");
        assert_eq!(names.state().looked, None, "not all have been seen");
        names.expect(long_ago, look).expect("all are there");
        assert_eq!(names.state().looked, Some((1, 0)));
        names.expect(long_ago, |_| Err(fails())).expect("the directory has not changed");
        fs::remove_file(path.path().join("b")).expect("it is there");
        for stamp in [Ok((2, 0)), Err(fails())] {
            let gone = names.expect(|| stamp, sometimes).expect_err("one is gone");
            assert!(gone.to_string().contains("file b was removed"), "{gone}");
        }
    }

    /// A change of a directory in the same moment as the one before may leave its time unchanged.
    #[test]
    fn a_directory_is_trusted_long_after_its_last_change_only() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is later");
        let is_trusted = |age_seconds: i64| {
            is_long_ago((now.as_secs() as i64 - age_seconds, now.subsec_nanos().into()))
        };
        for age_seconds in [2, 3_600, 1 << 30] {
            assert!(is_trusted(age_seconds), "{age_seconds} s ago");
        }
        // A clock was set back, or another machine's is ahead.
        for age_seconds in [-1, -60, -3_600] {
            assert!(!is_trusted(age_seconds), "{age_seconds} s ago");
        }
        assert!(!is_long_ago((-1, 0)) && !is_long_ago((0, -1)), "no time at all");
    }
}
