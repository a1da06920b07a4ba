//! Files that are whole or as they were before.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where a file is written to, once it is clear that it can be: to the end of links, and nowhere if
/// there is something else than a file.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::Error::other("it is a directory")),
        Ok(found) if !found.is_file() => Err(io::Error::other("it is a device or a pipe")),
        Ok(_) => fs::canonicalize(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            Err(io::Error::other("it is a link to a file that is not there"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.file_name().is_some() => {
            Ok(path.into())
        }
        Err(error) => Err(error),
    }
}

/// The directory that a file is in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Writes the file that [`target`] answered, under a temporary name beside it until it is whole.
pub fn write(
    target: &Path,
    work: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // A new file is as the user's mask says; one that is replaced is not opened to others.
    let mode = fs::metadata(target).map_or(0o666, |found| found.permissions().mode() & 0o777);
    let mut temporary = tempfile::Builder::new()
        .prefix(".lode-dump")
        .permissions(PermissionsExt::from_mode(mode))
        .tempfile_in(folder_of(target))
        .map_err(|error| without_path(&error))?;
    let mut out = BufWriter::new(temporary.as_file_mut());
    work(&mut out)?;
    out.flush()?;
    drop(out);
    temporary.as_file().sync_all()?;
    temporary.persist(target).map_err(|error| without_path(&error.error))?;
    Ok(())
}

/// What went wrong, without the temporary name, which means nothing to a user.
fn without_path(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.kind().to_string()),
    }
}
