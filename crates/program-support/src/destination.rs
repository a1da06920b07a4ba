//! The destination of output that a path names: a file, which is whole or as it was, or an open
//! file, device or pipe, which gets it piece by piece.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::descriptor::{DESCRIPTORS, descriptor};
use crate::whole_file;

/// A destination of output.
#[derive(Debug)]
pub enum Destination {
    /// A file, under a temporary name until it is whole.
    File(PathBuf),
    /// An open file, device or pipe: bytes go there as they come.
    Stream {
        /// The open file.
        file: File,
        /// The name in messages.
        name: String,
    },
}

impl Destination {
    /// Finds a path's destination. A device or a pipe is opened, which waits for the reader of a
    /// named pipe. `/dev/stdout` and its like are open files of this process, even if regular.
    ///
    /// # Errors
    /// Those of opening; others if the path is one of a directory, of a disk, or of a link to a
    /// missing file.
    pub fn of(path: &Path) -> io::Result<Self> {
        if let Some(descriptor) = descriptor(path) {
            return of_descriptor(descriptor, path.display().to_string());
        }
        match fs::metadata(path) {
            Ok(found) if found.file_type().is_block_device() => {
                Err(io::Error::other("it is a disk, not a file"))
            }
            Ok(found) if !found.is_file() && !found.is_dir() => {
                let file = OpenOptions::new().write(true).open(path)?;
                Ok(Self::Stream { file, name: path.display().to_string() })
            }
            _ => whole_file::target(path).map(Self::File),
        }
    }

    /// Finds standard output.
    ///
    /// # Errors
    /// If it is closed.
    pub fn standard_output() -> io::Result<Self> {
        let file = io::stdout().as_fd().try_clone_to_owned()?.into();
        Ok(Self::Stream { file, name: "standard output".into() })
    }

    /// Returns the destination's name in messages.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stream { name, .. } => name.clone(),
        }
    }

    /// Lets `work` write output in large pieces. If it fails, a file is as it was.
    ///
    /// # Errors
    /// Those of `work` and of writing. A stream whose reader has gone away is no error.
    pub fn write_to_file(&self, work: &mut dyn FnMut(&File) -> io::Result<()>) -> io::Result<()> {
        match self {
            Self::File(path) => whole_file::write_to_file(path, work),
            Self::Stream { file, .. } => match work(file) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                other => other,
            },
        }
    }

    /// Lets `work` write output piece by piece. If it fails, a file is as it was.
    ///
    /// # Errors
    /// Those of [`write_to_file`](Self::write_to_file).
    pub fn write_with(
        &self,
        work: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.write_to_file(&mut |file| {
            let mut out = BufWriter::new(file);
            work(&mut out)?;
            out.flush()
        })
    }
}

fn of_descriptor(number: u32, name: String) -> io::Result<Destination> {
    let file = match number {
        1 => io::stdout().as_fd().try_clone_to_owned()?.into(),
        2 => io::stderr().as_fd().try_clone_to_owned()?.into(),
        // The present content of a file stays.
        _ => OpenOptions::new().append(true).open(format!("{DESCRIPTORS}/{number}"))?,
    };
    Ok(Destination::Stream { file, name })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_open_is_written_to_and_not_replaced() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("file");
        let mut file = File::create(&path).expect("a file");
        file.write_all(b"first ").expect("it is written");
        let link = folder.path().join("link");
        symlink(format!("/dev/fd/{}", file.as_raw_fd()), &link).expect("a link");
        assert_eq!(descriptor(&link), u32::try_from(file.as_raw_fd()).ok());
        let destination = Destination::of(&link).expect("it is open");
        destination.write_with(&mut |out| out.write_all(b"second")).expect("it is written");
        assert_eq!(fs::read(&path).expect("it is there"), b"first second");
        let refused = whole_file::write(&link, b"third").expect_err("it would be replaced");
        assert!(refused.to_string().contains("has open"), "{refused}");
        assert_eq!(descriptor(&path), None);
    }

    #[test]
    fn devices_take_all_and_directories_nothing() {
        let destination = Destination::of(Path::new("/dev/null")).expect("a device");
        destination.write_with(&mut |out| out.write_all(b"all")).expect("it is written");
        let full = Destination::of(Path::new("/dev/full")).expect("a device");
        full.write_with(&mut |out| out.write_all(b"all")).expect_err("it has no room");
        let folder = tempfile::tempdir().expect("a directory");
        Destination::of(folder.path()).expect_err("a directory");
    }
}
