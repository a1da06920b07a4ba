//! Files that are whole or as they were before.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::{NamedTempFile, PersistError};

use crate::descriptor::descriptor;

/// Writes a file, under a temporary name next to it first, so that it is whole or as it was. A
/// symbolic link stays one, and anything but a regular file is not touched.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    write_with(path, &mut |out| out.write_all(content))
}

/// Writes a file that does not exist yet.
///
/// # Errors
/// `AlreadyExists` if the name is taken.
pub fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    if path.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let unfinished = Unfinished::begin(path)?;
    unfinished.file.as_file().write_all(content)?;
    unfinished.finish_new(path)
}

/// Lets `work` write a file piece by piece; the file is whole or as it was.
pub fn write_with(
    path: &Path,
    work: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write_to_file(path, &mut |file| {
        let mut out = BufWriter::new(file);
        work(&mut out)?;
        out.flush()
    })
}

/// Lets `work` write the file itself, in large pieces; the file is whole or as it was.
pub fn write_to_file(path: &Path, work: &mut dyn FnMut(&File) -> io::Result<()>) -> io::Result<()> {
    let path = target(path)?;
    let unfinished = Unfinished::begin(&path)?;
    work(unfinished.file.as_file())?;
    unfinished.finish(&path)
}

/// The temporary names of the files that are being written, and the names of [`Claim`]s.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes the files that are being written; for a process that ends at once. No other file is
/// started or finished after that.
pub fn remove_unfinished() {
    let names = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for name in names.iter() {
        // The file may have its final name already.
        let _ = fs::remove_file(name);
    }
    // The process ends with the lock held.
    std::mem::forget(names);
}

/// A file under a temporary name next to its final one.
struct Unfinished {
    file: NamedTempFile,
}

impl Unfinished {
    fn begin(path: &Path) -> io::Result<Self> {
        let mut names = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        // A new file has the mode of the user's mask; one that is replaced is not opened to others.
        let mode = fs::metadata(path).map_or(0o666, |found| found.permissions().mode() & 0o777);
        let file = tempfile::Builder::new()
            .prefix(".unfinished-")
            .permissions(PermissionsExt::from_mode(mode))
            .tempfile_in(folder_of(path))
            .map_err(|e| without_path(&e))?;
        names.push(file.path().to_path_buf());
        Ok(Self { file })
    }

    fn finish(self, path: &Path) -> io::Result<()> {
        self.persist(path, NamedTempFile::persist)
    }

    /// Finishes the file, unless its name is taken.
    fn finish_new(self, path: &Path) -> io::Result<()> {
        self.persist(path, NamedTempFile::persist_noclobber)
    }

    fn persist(
        self,
        path: &Path,
        to: fn(NamedTempFile, PathBuf) -> Result<File, PersistError>,
    ) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        let mut names = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let name = self.file.path().to_path_buf();
        to(self.file, path.into()).map_err(|e| without_path(&e.error))?;
        names.retain(|other| *other != name && other != path);
        Ok(())
    }
}

/// A name for a file that is [written](write()) later. No other process can claim it before: an
/// empty file has it. If nothing was written, that file is removed in the end.
#[derive(Debug)]
pub struct Claim(PathBuf);

impl Claim {
    /// Claims a name.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; others if no file can be made there.
    pub fn new(path: &Path) -> io::Result<Self> {
        let mut names = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        File::create_new(path)?;
        let whole = fs::canonicalize(path)?;
        names.push(whole.clone());
        Ok(Self(whole))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut names = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = names.iter().position(|name| *name == self.0) {
            names.remove(at);
            // A file that cannot be removed is empty.
            let _ = fs::remove_file(&self.0);
        }
    }
}

/// Returns the directory of a file.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Returns the file at the end of a path's links; an error if it is anything but a file. A name
/// such as `/dev/stdout` is no file's name, even if standard output is a file.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    if descriptor(path).is_some() {
        return Err(io::Error::other("this is what the program has open; name the file itself"));
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::Error::other("it is a directory")),
        Ok(found) if !found.is_file() => {
            Err(io::Error::other("it is a device or a pipe, not a file"))
        }
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

/// Returns an error without the temporary name, which means nothing to a user.
fn without_path(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => match error.get_ref().and_then(|inner| inner.downcast_ref::<io::Error>()) {
            Some(inner) => without_path(inner),
            None => io::Error::from(error.kind()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_links_and_pipes_stay_pipes() {
        let folder = tempfile::tempdir().expect("a directory");
        let at = |name: &str| folder.path().join(name);
        fs::write(at("real"), "old").expect("write");
        std::os::unix::fs::symlink(at("real"), at("link")).expect("a link");
        write(&at("link"), b"new").expect("through the link");
        assert!(at("link").is_symlink());
        assert_eq!(fs::read(at("real")).expect("read"), b"new");
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let error = write(&at("pipe"), b"new").expect_err("a pipe").to_string();
        assert!(error.contains("not a file"), "{error}");
        assert!(write(folder.path(), b"new").is_err(), "a directory");
        std::os::unix::fs::symlink(at("nowhere"), at("dangling")).expect("a link");
        assert!(write(&at("dangling"), b"new").is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("list").count(), 4, "nothing is left");
    }

    #[test]
    fn a_claimed_name_is_taken_and_not_left_behind() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("file");
        let claim = Claim::new(&path).expect("the first");
        let error = Claim::new(&path).expect_err("it is taken");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        drop(claim);
        assert!(!path.exists(), "nothing was written");
        let claim = Claim::new(&path).expect("it is free again");
        write(&path, b"content").expect("write");
        drop(claim);
        assert_eq!(fs::read(&path).expect("read"), b"content");
        write(&path, b"more").expect("write");
        assert_eq!(fs::read(&path).expect("read"), b"more");
    }

    #[test]
    fn a_failed_write_leaves_what_was_there() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("file");
        write(&path, b"old").expect("write");
        let failed = write_with(&path, &mut |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("no more"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).expect("read"), b"old");
        assert_eq!(fs::read_dir(folder.path()).expect("list").count(), 1);
    }
}
