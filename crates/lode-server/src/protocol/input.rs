//! Messages from a client.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use pgwire::messages::cancel::CancelRequest;
use pgwire::messages::startup::{GssEncRequest, SslRequest, Startup};
use pgwire::messages::{DecodeContext, Message, PgWireFrontendMessage, ProtocolVersion};
use rustls::ServerConfig;

use crate::protocol::channel::Channel;
use crate::protocol::check::{Fault, check, check_first_answer};
use crate::protocol::socket::Socket;

/// The most bytes of a message before a client is known.
const MOST_STARTUP_BYTES: usize = 10_000;
/// The time in which a client that has started a message must send more of it.
const PATIENCE: Duration = Duration::from_secs(60);
/// The first byte of a handshake of TLS. A message that starts with it would be too long.
const HANDSHAKE: u8 = 0x16;
/// The bytes that are read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// A message after the client is known.
#[derive(Debug)]
pub(crate) enum Incoming {
    Message(PgWireFrontendMessage),
    /// A message of this type with a text that is not UTF-8.
    NotUtf8(u8),
}

/// The first message of a connection.
#[derive(Debug)]
pub(crate) enum First {
    /// A wish for TLS, which is answered with a byte; then comes another first message.
    Tls,
    /// A wish to encrypt by GSSAPI, as well.
    Gss,
    /// The start of a handshake of TLS, without a wish before.
    Handshake,
    Cancel(CancelRequest),
    Startup(Startup),
}

/// The reason why nothing more comes from a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// The client has gone away, or was too slow.
    Gone,
    /// The server is ending.
    Ending,
    /// The client does not keep to the protocol; the text says how.
    Protocol(String),
}

/// The receiving side of a connection.
pub(crate) struct Input {
    channel: Channel,
    buffer: BytesMut,
    piece: Vec<u8>,
    context: DecodeContext,
    most_bytes: usize,
    /// The time until which the first messages must have come.
    startup_until: Option<Instant>,
}

impl Input {
    pub(crate) fn new(channel: Channel, most_bytes: usize, startup: Duration) -> Self {
        let mut context = DecodeContext::new(ProtocolVersion::PROTOCOL3_2);
        context.awaiting_frontend_ssl = false;
        context.awaiting_frontend_startup = false;
        Self {
            channel,
            buffer: BytesMut::new(),
            piece: vec![0; PIECE_BYTES],
            context,
            most_bytes,
            startup_until: Some(Instant::now() + startup),
        }
    }

    /// Notes that the client is known, and may be idle from now on.
    pub(crate) fn started(&mut self) {
        self.startup_until = None;
    }

    /// Returns the most bytes of a message.
    pub(crate) fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    /// Returns true if more than the messages that were returned has come.
    pub(crate) fn has_more(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Returns true if TLS is on the connection.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.channel.is_encrypted()
    }

    /// Returns true if the handshake has agreed on a protocol (ALPN).
    pub(crate) fn has_agreed_on(&self, protocol: &[u8]) -> bool {
        self.channel.has_agreed_on(protocol)
    }

    /// Puts TLS on the connection, of which the client may have sent the start. Returns the way to
    /// answer.
    pub(crate) fn encrypt(
        &mut self,
        socket: Socket,
        config: &Arc<ServerConfig>,
    ) -> io::Result<Channel> {
        self.channel = Channel::encrypted(socket, config, self.buffer.split())?;
        Ok(self.channel.clone())
    }

    /// Waits for the first message.
    pub(crate) fn first(&mut self, is_ending: &dyn Fn() -> bool) -> Result<First, Lost> {
        let wrong = |why: &str| Err(Lost::Protocol(why.into()));
        self.fill(1, is_ending)?;
        if self.buffer[0] == HANDSHAKE && !self.is_encrypted() {
            return Ok(First::Handshake);
        }
        let length = self.length(0, is_ending)?;
        if !(8..=MOST_STARTUP_BYTES).contains(&length) {
            return wrong("the first message is none of PostgreSQL's");
        }
        self.fill(length, is_ending)?;
        let mut message = self.buffer.split_to(length);
        if SslRequest::is_ssl_request_packet(&message) {
            return Ok(First::Tls);
        }
        if GssEncRequest::is_gss_enc_request_packet(&message) {
            return Ok(First::Gss);
        }
        let decoded = if CancelRequest::is_cancel_request_packet(&message) {
            CancelRequest::decode(&mut message, &self.context).map(|it| it.map(First::Cancel))
        } else {
            Startup::decode(&mut message, &self.context).map(|it| it.map(First::Startup))
        };
        match decoded {
            Ok(Some(first)) => Ok(first),
            Ok(None) | Err(_) => wrong("only version 3 of PostgreSQL's protocol is spoken here"),
        }
    }

    /// Waits for the next message.
    pub(crate) fn next(&mut self, is_ending: &dyn Fn() -> bool) -> Result<Incoming, Lost> {
        let length = self.length(1, is_ending)?;
        let kind = self.buffer[0];
        let most = if self.startup_until.is_some() { MOST_STARTUP_BYTES } else { self.most_bytes };
        if length < 4 || length > most {
            return Err(Lost::Protocol(format!(
                "a message says that it has {length} bytes; at most {most} are taken"
            )));
        }
        self.fill(1 + length, is_ending)?;
        let mut message = self.buffer.split_to(1 + length);
        match check(kind, &message[5..]) {
            Err(Fault::Encoding) => return Ok(Incoming::NotUtf8(kind)),
            Err(Fault::Structure) => {
                let kind = kind.escape_ascii();
                return Err(Lost::Protocol(format!("a message of type {kind} makes no sense")));
            }
            Ok(()) => {}
        }
        match PgWireFrontendMessage::decode(&mut message, &self.context) {
            Ok(Some(decoded)) => Ok(Incoming::Message(decoded)),
            Ok(None) => Err(Lost::Protocol("a message is not whole".into())),
            Err(error) => Err(Lost::Protocol(error.to_string())),
        }
    }

    /// Waits for a part of an exchange of passwords, and returns its body. The first names a
    /// method.
    pub(crate) fn answer(
        &mut self,
        is_first: bool,
        is_ending: &dyn Fn() -> bool,
    ) -> Result<BytesMut, Lost> {
        let wrong = || Lost::Protocol("a password was asked for, and another answer came".into());
        let length = self.length(1, is_ending)?;
        if self.buffer[0] != b'p' || !(4..=MOST_STARTUP_BYTES).contains(&length) {
            return Err(wrong());
        }
        self.fill(1 + length, is_ending)?;
        let body = self.buffer.split_to(1 + length).split_off(5);
        if is_first && check_first_answer(&body).is_err() {
            return Err(wrong());
        }
        Ok(body)
    }

    /// Returns the length that a message has by itself, `offset` bytes after its start.
    fn length(&mut self, offset: usize, is_ending: &dyn Fn() -> bool) -> Result<usize, Lost> {
        self.fill(offset + 4, is_ending)?;
        let length = self.buffer[offset..].first_chunk().copied().unwrap_or_default();
        usize::try_from(i32::from_be_bytes(length))
            .map_err(|_| Lost::Protocol("a message has a negative length".into()))
    }

    /// Waits until this many bytes have come.
    fn fill(&mut self, bytes: usize, is_ending: &dyn Fn() -> bool) -> Result<(), Lost> {
        let mut last = Instant::now();
        while self.buffer.len() < bytes {
            if is_ending() {
                return Err(Lost::Ending);
            }
            match self.channel.read(&mut self.piece) {
                Ok(0) if is_ending() => return Err(Lost::Ending),
                Ok(0) => return Err(Lost::Gone),
                Ok(count) => {
                    self.buffer.extend_from_slice(&self.piece[..count]);
                    last = Instant::now();
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        if !self.buffer.is_empty() && last.elapsed() > PATIENCE {
                            return Err(Lost::Gone);
                        }
                    }
                    _ => return Err(Lost::Gone),
                },
            }
            if self.startup_until.is_some_and(|until| Instant::now() > until) {
                return Err(Lost::Gone);
            }
        }
        Ok(())
    }
}
