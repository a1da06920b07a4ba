//! Sources of databases for a module of virtual tables.

use std::sync::Arc;

use rusqlite::{Result, ffi};

use crate::error::error;
use crate::session::Session;
use crate::session::directories::Directories;

/// The databases of a module.
pub(crate) enum Source {
    /// The only one: the argument is the table.
    Attached(Arc<Session>),
    /// Databases in directories: the arguments are the directory, the table, and how it is opened.
    Directories(Arc<Directories>),
}

impl Source {
    /// Returns the database and the table that the arguments of `CREATE VIRTUAL TABLE` name.
    pub(crate) fn find(
        &self,
        connection: *mut ffi::sqlite3,
        arguments: &[String],
    ) -> Result<(Arc<Session>, String)> {
        match (self, arguments) {
            (Self::Attached(session), [table]) => Ok((Arc::clone(session), table.clone())),
            (Self::Directories(directories), [directory, table, how @ ..]) => {
                let directory = [std::slice::from_ref(directory), how].concat();
                Ok((directories.session(connection, &directory)?, table.clone()))
            }
            _ => Err(error(ffi::SQLITE_ERROR, "write lode('DIR', 'TABLE')")),
        }
    }
}
