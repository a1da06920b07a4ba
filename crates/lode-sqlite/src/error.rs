//! Errors of the engine as SQLite has them, and errors of this crate.

use std::ffi::c_int;

use lode::Error as Lode;
use rusqlite::ffi;

/// Makes an error with one of SQLite's codes.
pub(crate) fn error(code: c_int, message: impl Into<String>) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(message.into()))
}

/// Turns an error of the engine into one of SQLite's, with a message of one line.
pub(crate) fn of_engine(cause: &Lode) -> rusqlite::Error {
    let code = match cause {
        // Not plain SQLITE_BUSY: after that SQLite keeps the transaction, to commit it once more.
        Lode::Conflict { .. } | Lode::SnapshotTooOld { .. } | Lode::MomentExpired => {
            ffi::SQLITE_BUSY_SNAPSHOT
        }
        Lode::Locked => ffi::SQLITE_BUSY,
        Lode::Full { .. }
        | Lode::TxnTooLarge { .. }
        | Lode::TableFull
        | Lode::CatalogueFull { .. }
        | Lode::DatabaseFull { .. }
        | Lode::DiskFull { .. } => ffi::SQLITE_FULL,
        // Plain, for SQLite to do what `OR IGNORE` and the like say.
        Lode::UniqueViolation { .. } | Lode::Duplicates { .. } => ffi::SQLITE_CONSTRAINT,
        Lode::Corrupt { .. } => ffi::SQLITE_CORRUPT_VTAB,
        Lode::ReadOnly => ffi::SQLITE_READONLY,
        Lode::NoDatabase { .. } => ffi::SQLITE_CANTOPEN,
        Lode::Io { .. } | Lode::Poisoned { .. } | Lode::NotDurable { .. } => ffi::SQLITE_IOERR,
        Lode::ValueMisfit { .. }
        | Lode::ValueTooLong { .. }
        | Lode::KeyTooLong { .. }
        | Lode::RecordMisfit { .. }
        | Lode::RecordTooLong { .. } => ffi::SQLITE_CONSTRAINT_DATATYPE,
        _ => ffi::SQLITE_ERROR,
    };
    let line = match cause {
        Lode::TxnTooLarge { most_bytes } => format!(
            "a transaction can hold {most_bytes} bytes, and this one needs more, so nothing of it \
             happens; change fewer records at a time: by ranges of the key, each committed by \
             itself"
        ),
        other => other.to_string(),
    };
    error(code, line)
}
