//! The server: where it listens, whom it lets in, and how it ends.

pub(crate) mod access;
pub(crate) mod address;
pub(crate) mod certificate;
mod client;
mod clients;
mod own_file;
pub(crate) mod passwords;

use std::io::ErrorKind;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lode::Database;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{ServeError, io_error};
use crate::protocol::socket::Socket;
use crate::server::access::Access;
use crate::server::address::{Address, Listener};
use crate::server::client::{Front, welcome};
use crate::server::clients::Clients;
use crate::session::Common;

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most clients at a time.
    pub connections: usize,
    /// The most bytes of a message, which a statement and its parameters have to fit into.
    pub message_bytes: usize,
    /// The most time that a statement may take. A session can set less.
    pub statement_timeout: Option<Duration>,
    /// The time in which a client must have said who it is.
    pub startup: Duration,
    /// True if the database was opened for reading only: a client sees the moment at which it
    /// connects.
    pub reads_only: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 100,
            message_bytes: 64 << 20,
            statement_timeout: None,
            startup: Duration::from_secs(30),
            reads_only: false,
        }
    }
}

/// The time after which the server looks whether it is to end.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
/// The pause after a connection that could not be taken.
const PAUSE: Duration = Duration::from_millis(50);
/// The stack of a client's thread: SQLite's parser is recursive.
const STACK_BYTES: usize = 8 << 20;

/// A server that listens.
pub struct Server {
    listener: Listener,
    front: Arc<Front>,
}

/// A handle that ends a server.
#[derive(Clone)]
pub struct Stopper {
    front: Arc<Front>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("listener", &self.listener).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Stopper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stopper").finish_non_exhaustive()
    }
}

impl Server {
    /// Listens at an address.
    ///
    /// # Errors
    /// Those of [`Access::check`]; [`ServeError::InUse`], [`ServeError::NoSocket`]; those of the
    /// system.
    pub fn listen(
        database: &Database,
        address: &Address,
        access: Access,
        limits: Limits,
    ) -> Result<Self, ServeError> {
        access.check(address)?;
        let listener = Listener::at(address)?;
        let front = Arc::new(Front {
            database: Mutex::new(database.clone()),
            access,
            limits,
            clients: Clients::new(limits.connections),
            common: Common::default(),
        });
        Ok(Self { listener, front })
    }

    /// Returns the address, with the port that the system has chosen for port 0.
    ///
    /// # Errors
    /// Those of the system.
    pub fn address(&self) -> Result<Address, ServeError> {
        self.listener.address().map_err(io_error("the socket"))
    }

    /// Returns a handle that ends the server.
    pub fn stopper(&self) -> Stopper {
        Stopper { front: Arc::clone(&self.front) }
    }

    /// Serves clients, each in a thread of its own, until a [`Stopper`] ends it. Then running
    /// statements are interrupted, open transactions are rolled back, and this returns when all
    /// clients have gone.
    ///
    /// # Errors
    /// Those of the system on waiting for connections.
    pub fn run(self) -> Result<(), ServeError> {
        let waited = self.accept_all();
        // No further client gets in from here on.
        let Self { listener, front } = self;
        drop(listener);
        front.stop();
        front.clients.wait();
        waited
    }

    fn accept_all(&self) -> Result<(), ServeError> {
        while !self.front.common.is_ending() {
            let mut ready = [PollFd::new(&self.listener, PollFlags::IN)];
            match poll(&mut ready, Some(&TICK)) {
                Ok(0) => continue,
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(io_error("the socket")(error.into())),
            }
            match self.listener.accept() {
                Ok(socket) => {
                    // A client that cannot be served is gone.
                    let _ = self.take(socket);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // Too many files are open, or the client has gone: the next one may be served.
                Err(_) => thread::sleep(PAUSE),
            }
        }
        Ok(())
    }

    /// Serves a connection in a thread of its own.
    fn take(&self, socket: Socket) -> std::io::Result<()> {
        socket.set_up()?;
        let place = self.front.clients.enter(socket.clone());
        let front = Arc::clone(&self.front);
        let thread = thread::Builder::new().name("client".into()).stack_size(STACK_BYTES);
        thread.spawn(move || welcome(&front, &place, socket)).map(drop)
    }
}

impl Stopper {
    /// Asks the server to end.
    pub fn stop(&self) {
        self.front.stop();
    }
}

impl Front {
    fn stop(&self) {
        self.common.is_ending.store(true, Ordering::SeqCst);
        self.clients.end_all();
    }
}
