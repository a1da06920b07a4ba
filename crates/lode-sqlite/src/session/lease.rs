//! Directories that are open in this process.
//!
//! A directory is opened once in a process, however many connections use it: the engine allows no
//! more. The last connection that lets it go closes it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use lode::{Database, Options};
use rusqlite::{Result, ffi};

use crate::error::{error, of_engine};

/// The access that a connection has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Access {
    Read,
    Write,
}

/// A directory that is open in this process.
struct Open {
    db: Database,
    access: Access,
    users: usize,
}

/// The open databases, by their whole paths.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Open>>> = LazyLock::new(Mutex::default);

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory that a connection uses.
pub(crate) struct Lease {
    path: PathBuf,
}

/// The mode in which a directory is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    Write,
    Create,
}

impl Lease {
    pub(crate) fn take(path: &Path, mode: Mode) -> Result<(Self, Database)> {
        if mode == Mode::Create && !path.exists() {
            let created = Options::new().create_new(path).map_err(|cause| of_engine(&cause))?;
            created.close().map_err(|cause| of_engine(&cause))?;
        }
        let whole = path
            .canonicalize()
            .map_err(|cause| error(ffi::SQLITE_CANTOPEN, format!("{}: {cause}", path.display())))?;
        let mut open = lock(&OPEN);
        if let Some(found) = open.get_mut(&whole) {
            if mode != Mode::Read && found.access == Access::Read {
                let why = "it is open for reading only in this process; close that first";
                return Err(error(ffi::SQLITE_BUSY, format!("{}: {why}", path.display())));
            }
            found.users += 1;
            return Ok((Self { path: whole }, found.db.clone()));
        }
        let (opened, access) = match mode {
            Mode::Read => (Options::new().open_read_only(&whole), Access::Read),
            Mode::Write | Mode::Create => (Options::new().open_existing(&whole), Access::Write),
        };
        let db = opened.map_err(|cause| match of_engine(&cause) {
            rusqlite::Error::SqliteFailure(code, Some(why)) => {
                error(code.extended_code, format!("{}: {why}", path.display()))
            }
            other => other,
        })?;
        open.insert(whole.clone(), Open { db: db.clone(), access, users: 1 });
        Ok((Self { path: whole }, db))
    }

    /// Returns the whole path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut open = lock(&OPEN);
        if let Some(found) = open.get_mut(&self.path) {
            found.users -= 1;
            if found.users == 0 {
                // Closed while the lock is held, so that it can be opened again at once.
                if let Some(last) = open.remove(&self.path) {
                    let _ = last.db.close();
                }
            }
        }
    }
}
