//! Where a module of virtual tables finds databases.

use std::sync::Arc;

use rusqlite::{Result, ffi};

use crate::error::error;
use crate::session::Session;

/// The databases of a module.
pub(crate) enum Source {
    /// The only one: the argument is the table.
    Attached(Arc<Session>),
}

impl Source {
    /// The database and the table that the arguments of `CREATE VIRTUAL TABLE` name.
    pub(crate) fn find(
        &self,
        _connection: *mut ffi::sqlite3,
        arguments: &[String],
    ) -> Result<(Arc<Session>, String)> {
        match (self, arguments) {
            (Self::Attached(session), [table]) => Ok((Arc::clone(session), table.clone())),
            (Self::Attached(_), _) => Err(error(ffi::SQLITE_ERROR, "name one table")),
        }
    }
}
