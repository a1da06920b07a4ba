//! The folder for the stores of a crash test.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use program_support::exit::{Failure, Outcome};

/// A folder for the stores of a test, removed with its content when this is dropped.
pub(crate) struct Folder(PathBuf);

/// The file that marks a folder as a crash test's.
const SIGNATURE: &str = "assay-crash";

impl Folder {
    /// Makes the folder, in place of one that an earlier test left.
    ///
    /// # Errors
    /// If something else is there, or the folder cannot be made.
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

    /// Returns the path of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    /// Returns the path for a copy of the store, which does not exist yet.
    pub(crate) fn copy(&self) -> PathBuf {
        self.0.join("copy")
    }

    /// Returns the path for a copy of the copy, which does not exist yet.
    pub(crate) fn kept(&self) -> PathBuf {
        self.0.join("kept")
    }

    /// Removes the store and its copies.
    pub(crate) fn empty(&self) -> Outcome {
        let emptied = [self.store(), self.copy(), self.kept()]
            .iter()
            .try_for_each(|path| removed(path))
            .and_then(|()| fs::create_dir_all(self.store()))
            .and_then(|()| fs::write(self.0.join(SIGNATURE), ""));
        emptied.map_err(|e| Failure::Refused(format!("{}: {e}", self.0.display())))
    }
}

/// Removes a folder with its content, if it exists.
pub(crate) fn removed(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If the folder cannot be removed, the next test replaces or names it.
        let _ = fs::remove_dir_all(&self.0);
    }
}
