//! A connection of the operating system.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// The time after which a waiting call returns, for its caller to look around.
pub(crate) const TICK: Duration = Duration::from_millis(500);

/// A connection over a Unix socket or TCP.
#[derive(Clone, Debug)]
pub(crate) enum Socket {
    Unix(Arc<UnixStream>),
    Tcp(Arc<TcpStream>),
}

impl Socket {
    /// Makes calls on the connection return after [`TICK`].
    pub(crate) fn set_up(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(TICK))?;
                stream.set_write_timeout(Some(TICK))
            }
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(TICK))?;
                stream.set_write_timeout(Some(TICK))
            }
        }
    }

    /// Ends one direction or both, also for a call that is waiting.
    pub(crate) fn shut(&self, how: Shutdown) {
        // A connection that the client has ended needs no more.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(how),
            Self::Tcp(stream) => stream.shutdown(how),
        };
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => (&**stream).read(buffer),
            Self::Tcp(stream) => (&**stream).read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => (&**stream).write(buffer),
            Self::Tcp(stream) => (&**stream).write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
