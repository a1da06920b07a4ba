//! The identity of a file, whatever its name.

use std::fs;
use std::io::Result;

use nix::fcntl::AtFlags;
use nix::sys::stat::{FileStat, fstat, fstatat};

use super::uninterrupted;

/// The device of a file, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    number: u64,
}

impl Identity {
    /// Returns the identity of an open file.
    pub(super) fn of(file: &fs::File) -> Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(found) = without_times::identity(file, "")? {
            return Ok(found);
        }
        Ok(Self::found(uninterrupted(|| fstat(file))?))
    }

    /// Returns the identity of the file of a name in a directory; a link is not followed.
    pub(super) fn at(directory: &fs::File, name: &str) -> Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(found) = without_times::identity(directory, name)? {
            return Ok(found);
        }
        let look = || fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW);
        Ok(Self::found(uninterrupted(look)?))
    }

    // These types differ from system to system.
    #[allow(clippy::unnecessary_cast)]
    fn found(stat: FileStat) -> Self {
        Self { device: stat.st_dev as u64, number: stat.st_ino as u64 }
    }
}

/// Looks at files without asking for their times.
///
/// Since Linux 6.13, a time that was asked for has to change with the next write. So the file
/// system writes to its own log too, and a sync of the file takes half as long again.
#[cfg(target_os = "linux")]
mod without_times {
    use std::fs;
    use std::io::Result;

    use rustix::fs::{AtFlags, StatxFlags, makedev, statx};
    use rustix::io::Errno;

    use super::Identity;

    /// Returns the identity of a file in a directory, or of the directory or file itself if the
    /// name is empty; `None` where the system has no such call.
    pub(super) fn identity(at: &fs::File, name: &str) -> Result<Option<Identity>> {
        let flags = match name {
            "" => AtFlags::EMPTY_PATH,
            _ => AtFlags::SYMLINK_NOFOLLOW,
        };
        loop {
            match statx(at, name, flags, StatxFlags::INO) {
                Ok(found) => {
                    let device = makedev(found.stx_dev_major, found.stx_dev_minor);
                    return Ok(Some(Identity { device, number: found.stx_ino }));
                }
                Err(Errno::INTR) => {}
                // An old system, or a sandbox that does not know it.
                Err(Errno::NOSYS | Errno::PERM) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn a_file_is_the_same_by_its_names_and_its_handle_and_another_one_is_not() {
        let path = tempfile::tempdir().unwrap();
        let directory = fs::File::open(path.path()).unwrap();
        let file = fs::File::create(path.path().join("file")).unwrap();
        fs::File::create(path.path().join("another")).unwrap();
        fs::hard_link(path.path().join("file"), path.path().join("second")).unwrap();
        symlink("file", path.path().join("link")).unwrap();
        let own = Identity::of(&file).unwrap();
        let found = file.metadata().unwrap();
        assert_eq!(own, Identity { device: found.dev(), number: found.ino() });
        assert_eq!(own, Identity::found(fstat(&file).unwrap()));
        for (name, is_it) in [("file", true), ("second", true), ("another", false), ("link", false)]
        {
            assert_eq!(Identity::at(&directory, name).unwrap() == own, is_it, "{name}");
        }
        let missing = Identity::at(&directory, "missing").unwrap_err();
        assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    }
}
