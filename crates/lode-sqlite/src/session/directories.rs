//! Databases in directories, which programs of any kind open by SQL.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::{Result, ffi};

use crate::error::error;
use crate::session::Session;
use crate::session::lease::{Access, Lease, Mode, lock};

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
        let place = key(lease.path().to_path_buf());
        let session = Session::leased(db, access, lease);
        sessions.insert(place, Arc::clone(&session));
        Ok(session)
    }
}
