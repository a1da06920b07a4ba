//! Messages to a client.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use bytes::{BufMut, BytesMut};
use pgwire::messages::Message;

use crate::protocol::channel::Channel;

/// The bytes after which messages are sent, also if more follow.
const PIECE_BYTES: usize = 32 << 10;
/// The time in which a client must take some bytes.
const PATIENCE: Duration = Duration::from_secs(60);
/// The time in which it must while the server is ending.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// A client that takes no more messages.
#[derive(Debug)]
pub(crate) struct Closed;

/// The sending side of a connection.
pub(crate) struct Output {
    channel: Channel,
    buffer: BytesMut,
}

impl Output {
    pub(crate) fn new(channel: Channel) -> Self {
        Self { channel, buffer: BytesMut::new() }
    }

    /// Sends through another channel from now on. Nothing may wait to be sent.
    pub(crate) fn move_to(&mut self, channel: Channel) {
        debug_assert!(self.buffer.is_empty());
        self.channel = channel;
    }

    /// Adds a message. It is sent later.
    pub(crate) fn put(&mut self, message: &impl Message) -> Result<(), Closed> {
        message.encode(&mut self.buffer).map_err(|_| Closed)
    }

    /// Adds a message whose body `write` appends; nothing if that fails.
    pub(crate) fn put_with<E>(
        &mut self,
        kind: u8,
        write: impl FnOnce(&mut BytesMut) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = self.buffer.len();
        self.buffer.put_u8(kind);
        let start = self.buffer.len();
        self.buffer.put_i32(0);
        let written = write(&mut self.buffer);
        if written.is_err() {
            self.buffer.truncate(before);
            return written;
        }
        let length = (self.buffer.len() - start) as i32;
        self.buffer[start..start + 4].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }

    /// Adds a byte that is a message by itself.
    pub(crate) fn put_byte(&mut self, byte: u8) {
        self.buffer.put_u8(byte);
    }

    /// Sends what was added if that is much.
    pub(crate) fn send_if_much(&mut self, is_ending: &dyn Fn() -> bool) -> Result<(), Closed> {
        if self.buffer.len() < PIECE_BYTES { Ok(()) } else { self.send(is_ending) }
    }

    /// Sends the last message to a client, which may have gone away.
    pub(crate) fn last(&mut self, message: &impl Message, is_ending: &dyn Fn() -> bool) {
        let _ = self.put(message).and_then(|()| self.send(is_ending));
    }

    /// Sends what was added.
    pub(crate) fn send(&mut self, is_ending: &dyn Fn() -> bool) -> Result<(), Closed> {
        let mut last = Instant::now();
        let mut sent = 0;
        while sent < self.buffer.len() || self.channel.owes() {
            match self.channel.write(&self.buffer[sent..]) {
                Ok(count) => {
                    sent += count;
                    last = Instant::now();
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        let patience = if is_ending() { LAST_PATIENCE } else { PATIENCE };
                        if last.elapsed() > patience {
                            return Err(Closed);
                        }
                    }
                    _ => return Err(Closed),
                },
            }
        }
        self.buffer.clear();
        Ok(())
    }
}
