//! Errors of starting a server.

use std::io;
use std::path::PathBuf;

/// An error of starting a server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is neither a Unix socket nor an address of TCP.
    #[error("{text}: this is no address; write unix:PATH, or 127.0.0.1:5432")]
    Address {
        /// The text.
        text: String,
    },
    /// A server listens at the Unix socket.
    #[error("{}: another server listens there; end it, or choose another path", path.display())]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// The path of the Unix socket is that of something else.
    #[error("{}: this is no socket, so it stays; choose another path", path.display())]
    NoSocket {
        /// The path.
        path: PathBuf,
    },
    /// TCP was asked for, and no password.
    #[error("{address}: whoever reaches this address could read and write; add a password file")]
    NoPassword {
        /// The address.
        address: String,
    },
    /// A certificate was given for a Unix socket.
    #[error("{address}: a Unix socket is not encrypted; leave the certificate out, or use TCP")]
    NotEncrypted {
        /// The address.
        address: String,
    },
    /// A file has no certificate or key that can be used.
    #[error("{}: {why}", path.display())]
    TlsFile {
        /// The file.
        path: PathBuf,
        /// The fault, and what to do.
        why: String,
    },
    /// A file with passwords or a key can be read by others.
    #[error("{}: others can read or write this file; chmod 600 it", path.display())]
    OpenToOthers {
        /// The file.
        path: PathBuf,
    },
    /// A line of the password file makes no sense.
    #[error("{}:{line}: {why}", path.display())]
    PasswordLine {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1 on.
        line: usize,
        /// The fault, and what to write.
        why: String,
    },
    /// A file or a socket cannot be used.
    #[error("{what}: {source}")]
    Io {
        /// The file or the address.
        what: String,
        /// The error of the system.
        source: io::Error,
    },
}

/// Returns a function that makes an error of an error of the system.
pub(crate) fn io_error(what: impl ToString) -> impl FnOnce(io::Error) -> ServeError {
    let what = what.to_string();
    |source| ServeError::Io { what, source }
}
