//! The clients of a server: how many there are, and who may cancel what.

use std::collections::{HashMap, VecDeque};
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::protocol::socket::Socket;
use crate::session::switches::Switches;

/// The most connections that are not known yet. Beyond, the oldest of them is closed.
const MOST_STARTING: usize = 64;

/// A client that is known.
struct Client {
    secret: i32,
    switches: Arc<Switches>,
    socket: Socket,
}

#[derive(Default)]
struct Inner {
    /// Connections that are not known yet, the oldest first.
    starting: VecDeque<(i32, Socket)>,
    known: HashMap<i32, Client>,
    last_number: i32,
    threads: usize,
}

/// All clients of a server.
pub(crate) struct Clients {
    most: usize,
    inner: Mutex<Inner>,
    has_left: Condvar,
}

/// The place of a client, which it gives up when this is dropped.
pub(crate) struct Place {
    clients: Arc<Clients>,
    pub number: i32,
}

impl Clients {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let inner = Mutex::default();
        let has_left = Condvar::new();
        Arc::new(Self { most, inner, has_left })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a connection a number. Waits while more threads are about to end than to start.
    pub(crate) fn enter(self: &Arc<Self>, socket: Socket) -> Place {
        let mut inner = self.lock();
        while inner.threads >= self.most + 2 * MOST_STARTING {
            inner = self.has_left.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        if inner.starting.len() >= MOST_STARTING
            && let Some((_, oldest)) = inner.starting.pop_front()
        {
            oldest.shut(Shutdown::Both);
        }
        inner.last_number = inner.last_number.checked_add(1).unwrap_or(1);
        let number = inner.last_number;
        inner.starting.push_back((number, socket));
        inner.threads += 1;
        Place { clients: Arc::clone(self), number }
    }

    /// Asks the statement of a client to end, if whoever asks knows the client's secret.
    pub(crate) fn cancel(&self, number: i32, secret: i32) {
        let inner = self.lock();
        if let Some(client) = inner.known.get(&number).filter(|client| client.secret == secret) {
            client.switches.cancel();
        }
    }

    /// Ends the statements of all clients, and wakes those that wait for messages.
    pub(crate) fn end_all(&self) {
        let inner = self.lock();
        inner.starting.iter().for_each(|(_, socket)| socket.shut(Shutdown::Read));
        for client in inner.known.values() {
            client.switches.end_all();
            client.socket.shut(Shutdown::Read);
        }
    }

    /// Waits until no client is left.
    pub(crate) fn wait(&self) {
        let mut inner = self.lock();
        while inner.threads > 0 {
            inner = self.has_left.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Place {
    /// Makes the client a known one. Returns false if there are as many as may be.
    pub(crate) fn admit(&self, secret: i32, switches: &Arc<Switches>) -> bool {
        let mut inner = self.clients.lock();
        let at = inner.starting.iter().position(|(number, _)| *number == self.number);
        let Some((_, socket)) = at.and_then(|at| inner.starting.remove(at)) else { return false };
        if inner.known.len() >= self.clients.most {
            return false;
        }
        let client = Client { secret, switches: Arc::clone(switches), socket };
        inner.known.insert(self.number, client);
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inner = self.clients.lock();
        inner.starting.retain(|(number, _)| *number != self.number);
        inner.known.remove(&self.number);
        inner.threads -= 1;
        drop(inner);
        self.clients.has_left.notify_all();
    }
}
