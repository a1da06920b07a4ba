//! The server of a store, in threads of this process, and clients of it.

use std::path::Path;
use std::thread::JoinHandle;

use assay_driver::error::{Error, ErrorKind, Result};
use lode::Database;
use lode_server::{Access, Address, Limits, ServeError, Server, Stopper};
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};
use tempfile::TempDir;

use crate::lode::said as said_by_lode;

/// The name of a socket that clients of PostgreSQL look for in a directory.
const SOCKET: &str = ".s.PGSQL.5432";
/// The most clients at a time: more than a suite has threads.
const MOST_CLIENTS: usize = 10_000;

/// Returns a function that makes an error of one of the client.
pub(super) fn said(what: &'static str) -> impl Fn(postgres::Error) -> Error {
    move |error| {
        let message = match error.as_db_error() {
            Some(refused) => format!("{what}: {}", refused.message()),
            None => format!("{what}: {error}"),
        };
        match error.code() {
            Some(code) if *code == SqlState::T_R_SERIALIZATION_FAILURE => {
                Error::new(ErrorKind::Conflict, message)
            }
            Some(code) if *code == SqlState::DISK_FULL => Error::new(ErrorKind::Full, message),
            _ => Error::new(ErrorKind::Engine, message),
        }
    }
}

/// Returns a function that makes an error of one of the server.
fn not_served(what: &'static str) -> impl Fn(ServeError) -> Error {
    move |error| Error::engine(what, error)
}

/// A database and the server that it is reached through. Dropped, the server ends.
pub(super) struct Serving {
    database: Option<Database>,
    stopper: Stopper,
    running: Option<JoinHandle<std::result::Result<(), ServeError>>>,
    /// The directory of the socket. One of a store may have too long a path for a socket.
    folder: TempDir,
}

impl Serving {
    /// Starts the server of a database.
    pub(super) fn start(database: Database) -> Result<Self> {
        let no_folder = |error| Error::engine("make a directory for the socket", error);
        let folder = tempfile::Builder::new().prefix("assay-lode").tempdir().map_err(no_folder)?;
        let address = Address::Unix(folder.path().join(SOCKET));
        let limits = Limits { connections: MOST_CLIENTS, ..Limits::default() };
        let server = Server::listen(&database, &address, Access::default(), limits);
        let server = server.map_err(not_served("start the server"))?;
        let stopper = server.stopper();
        let running = std::thread::Builder::new().name("server".into()).spawn(|| server.run());
        let running = running.map_err(|error| Error::engine("start the server", error))?;
        Ok(Self { database: Some(database), stopper, running: Some(running), folder })
    }

    /// Connects a client.
    pub(super) fn client(&self) -> Result<Client> {
        let folder: &Path = self.folder.path();
        let mut config = Config::new();
        config.host_path(folder).user("assay").dbname("assay");
        config.connect(NoTls).map_err(said("connect"))
    }

    /// Ends the server, and closes the database.
    pub(super) fn close(mut self) -> Result<()> {
        self.end()?;
        match self.database.take() {
            Some(database) => database.close().map_err(said_by_lode("close")),
            None => Ok(()),
        }
    }

    fn end(&mut self) -> Result<()> {
        self.stopper.stop();
        match self.running.take().map(JoinHandle::join) {
            Some(Err(_)) => Err(Error::engine("end the server", "its thread has panicked")),
            Some(Ok(ended)) => ended.map_err(not_served("end the server")),
            None => Ok(()),
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Whoever wants to know how it ended closes it.
        let _ = self.end();
    }
}
