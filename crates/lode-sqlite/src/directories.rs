//! Databases in directories, which programs of any kind open by SQL.
//!
//! A directory is opened once in a process, however many connections use it: the engine allows no
//! more. The last connection that lets it go closes it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use lode::{Database, Options};
use rusqlite::{Connection, Result, ffi};

use crate::attach::Attached;
use crate::error::{error, of_engine};
use crate::session::{Access, Session};

/// A directory that is open in this process.
struct Open {
    db: Database,
    access: Access,
    users: usize,
}

/// The open databases, by their whole paths.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, Open>>> = LazyLock::new(Mutex::default);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory that a connection uses.
pub(crate) struct Lease {
    path: PathBuf,
}

/// The mode in which a directory is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
    Create,
}

impl Lease {
    fn take(path: &Path, mode: Mode) -> Result<(Self, Database)> {
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

/// The directories of a connection.
#[derive(Default)]
pub(crate) struct Directories {
    sessions: Mutex<HashMap<(PathBuf, Access), Arc<Session>>>,
}

impl Directories {
    /// Opens the database in a directory for the connection. Arguments are the directory, and
    /// perhaps `read_only` or `create`.
    pub(crate) fn session(
        &self,
        connection: *mut ffi::sqlite3,
        arguments: &[String],
    ) -> Result<Arc<Session>> {
        // SAFETY: the connection is open: it is calling.
        #[expect(unsafe_code)]
        let is_read_only = unsafe { ffi::sqlite3_db_readonly(connection, c"main".as_ptr()) } == 1;
        let (path, mode) = match arguments {
            [path] if is_read_only => (path, Mode::Read),
            [path] => (path, Mode::Write),
            [path, word] if word == "read_only" => (path, Mode::Read),
            [path, word] if word == "create" => (path, Mode::Create),
            _ => {
                let why = "name a directory, and then 'read_only' or 'create' if you like";
                return Err(error(ffi::SQLITE_ERROR, why));
            }
        };
        let access = if mode == Mode::Read { Access::Read } else { Access::Write };
        let mut sessions = lock(&self.sessions);
        let key = |path: PathBuf| (path, access);
        if let Ok(whole) = Path::new(path).canonicalize()
            && let Some(session) = sessions.get(&key(whole))
        {
            return Ok(Arc::clone(session));
        }
        let (lease, db) = Lease::take(Path::new(path), mode)?;
        let place = key(lease.path.clone());
        let session = Session::leased(db, access, lease);
        sessions.insert(place, Arc::clone(&session));
        Ok(session)
    }

    /// Makes all tables in a directory visible.
    pub(crate) fn attach(&self, connection: &Connection, arguments: &[String]) -> Result<Attached> {
        // SAFETY: the handle is used only here.
        #[expect(unsafe_code)]
        let session = self.session(unsafe { connection.handle() }, arguments)?;
        let quoted = arguments.iter().map(|text| format!("'{}'", text.replace('\'', "''")));
        let mut attached = Attached::new(session, "lode", quoted.collect());
        attached.all(connection)?;
        Ok(attached)
    }
}
