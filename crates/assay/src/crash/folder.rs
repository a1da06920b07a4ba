//! The folder that the stores of a crash test are in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use program_support::exit::{Failure, Outcome};

/// A folder for the stores of a test, removed with all that is in it.
pub(crate) struct Folder(PathBuf);

/// The name of the file by which a folder is known as one of a crash test.
const SIGNATURE: &str = "assay-crash";

impl Folder {
    /// Makes one, in place of what an earlier test left.
    ///
    /// # Errors
    /// When there is something else, or it cannot be made.
    pub(crate) fn make(path: &Path) -> Outcome<Self> {
        if path.exists() && !path.join(SIGNATURE).exists() {
            return Err(Failure::Refused(format!(
                "{}: there are files here that Assay did not make; choose another directory with \
                 --dir",
                path.display()
            )));
        }
        let folder = Self(path.into());
        folder.empty()?;
        Ok(folder)
    }

    /// Where the store is.
    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    /// Where a copy of it can be: it is not there yet.
    pub(crate) fn copy(&self) -> PathBuf {
        self.0.join("copy")
    }

    /// Removes the store and its copy.
    pub(crate) fn empty(&self) -> Outcome {
        let emptied = [self.store(), self.copy()]
            .iter()
            .try_for_each(|path| removed(path))
            .and_then(|()| fs::create_dir_all(self.store()))
            .and_then(|()| fs::write(self.0.join(SIGNATURE), ""));
        emptied.map_err(|e| Failure::Refused(format!("{}: {e}", self.0.display())))
    }
}

fn removed(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed, the next test replaces or names.
        let _ = fs::remove_dir_all(&self.0);
    }
}
