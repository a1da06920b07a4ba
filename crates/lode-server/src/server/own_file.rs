//! Files that a server is started with.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::{ServeError, io_error};

/// The most bytes of a file.
const MOST_FILE_BYTES: u64 = 1 << 20;

/// The users who may be able to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Everybody can read it.
    All,
    /// Its owner can read and write it.
    Owner,
    /// Its owner can; of a file of root's, a group can read it as well.
    OwnerOrGroupOfRoot,
}

impl Readers {
    /// Returns true if no other user can open a file.
    fn allow(self, found: &Metadata) -> bool {
        let others = match self {
            Self::All => 0,
            Self::OwnerOrGroupOfRoot if found.uid() == 0 => 0o037,
            Self::Owner | Self::OwnerOrGroupOfRoot => 0o077,
        };
        found.permissions().mode() & others == 0
    }
}

/// Reads a text, which only `readers` can open.
///
/// # Errors
/// [`ServeError::OpenToOthers`]; those of reading.
pub(crate) fn read(path: &Path, readers: Readers) -> Result<String, ServeError> {
    let failed = || io_error(path.display());
    let mut options = OpenOptions::new();
    // A pipe without a writer would be waited for.
    options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let file = options.open(path).map_err(failed())?;
    let found = file.metadata().map_err(failed())?;
    let wrong = |why: &str| failed()(io::Error::other(why));
    if !found.is_file() {
        return Err(wrong("it is no file"));
    }
    if !readers.allow(&found) {
        return Err(ServeError::OpenToOthers { path: path.into() });
    }
    let mut text = String::new();
    file.take(MOST_FILE_BYTES + 1).read_to_string(&mut text).map_err(failed())?;
    if text.len() as u64 > MOST_FILE_BYTES {
        Err(wrong("it is larger than 1 MiB, which no file of this kind is"))
    } else {
        Ok(text)
    }
}
