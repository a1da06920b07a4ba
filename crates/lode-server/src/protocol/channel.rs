//! The bytes of a client: those of its connection, or those within TLS on it.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::rc::Rc;
use std::sync::Arc;

use bytes::{Buf, BytesMut};
use rustls::{ServerConfig, ServerConnection};

use crate::protocol::socket::Socket;

/// The most bytes that are encrypted before they are sent: those of a record.
const RECORD_BYTES: usize = 16 << 10;

/// A way to a client, which both directions share.
#[derive(Clone)]
pub(crate) enum Channel {
    Plain(Socket),
    Tls(Rc<RefCell<Tls>>),
}

impl Channel {
    /// Puts TLS on a connection. `early` are bytes of the client that were read before.
    pub(crate) fn encrypted(
        socket: Socket,
        config: &Arc<ServerConfig>,
        early: BytesMut,
    ) -> io::Result<Self> {
        let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        Ok(Self::Tls(Rc::new(RefCell::new(Tls { connection, socket, early }))))
    }

    /// Returns true if TLS is on the connection.
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// Returns true if the handshake has agreed on a protocol (ALPN).
    pub(crate) fn has_agreed_on(&self, protocol: &[u8]) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.borrow().connection.alpn_protocol() == Some(protocol),
        }
    }

    /// Reads what has come. [`ErrorKind::WouldBlock`] says that nothing has, and that the caller is
    /// to look at its limits: after a tick, and after each step of a handshake.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(tls) => tls.borrow_mut().read(buffer),
        }
    }

    /// Sends some bytes, and returns how many of these were taken: none if the client took only
    /// some that it was owed.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => some(socket.write(bytes)?),
            Self::Tls(tls) => tls.borrow_mut().write(bytes),
        }
    }

    /// Returns true if bytes were taken that are not sent yet.
    pub(crate) fn owes(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.borrow().connection.wants_write(),
        }
    }
}

/// Refuses a connection that takes no bytes any more.
fn some(count: usize) -> io::Result<usize> {
    if count == 0 { Err(ErrorKind::WriteZero.into()) } else { Ok(count) }
}

/// TLS on a connection. Dropped, it tells the client that nothing more comes.
pub(crate) struct Tls {
    connection: ServerConnection,
    socket: Socket,
    early: BytesMut,
}

impl Tls {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.decrypted(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            done => return done,
        }
        // One step at a time: the caller has an eye on the clock.
        if self.connection.wants_write() {
            some(self.connection.write_tls(&mut self.socket)?)?;
            return Err(ErrorKind::WouldBlock.into());
        }
        if self.early.is_empty() {
            self.connection.read_tls(&mut self.socket)?;
        } else {
            self.connection.read_tls(&mut (&mut self.early).reader())?;
        }
        if let Err(error) = self.connection.process_new_packets() {
            // The client gets the reason, if it listens.
            let _ = self.connection.write_tls(&mut self.socket);
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        self.decrypted(buffer)
    }

    /// Returns bytes that were decrypted.
    fn decrypted(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.connection.reader().read(buffer) {
            // Messages say themselves how long they are, so none is cut off unseen.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
            read => read,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.connection.is_handshaking() {
            return Err(ErrorKind::NotConnected.into());
        }
        let mut taken = 0;
        if !self.connection.wants_write() {
            let end = bytes.len().min(RECORD_BYTES);
            taken = self.connection.writer().write(&bytes[..end])?;
        }
        match self.connection.write_tls(&mut self.socket) {
            Err(error) if taken == 0 || !is_tick(&error) => Err(error),
            Ok(0) => Err(ErrorKind::WriteZero.into()),
            Ok(_) | Err(_) => Ok(taken),
        }
    }
}

fn is_tick(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

impl Drop for Tls {
    fn drop(&mut self) {
        if !self.connection.is_handshaking() {
            self.connection.send_close_notify();
            // A client that has gone misses it.
            let _ = self.connection.write_tls(&mut self.socket);
        }
    }
}
