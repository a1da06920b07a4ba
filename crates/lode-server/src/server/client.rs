//! The start of a connection: the identity of the client, and the first messages to it.

use std::sync::{Arc, Mutex, PoisonError};

use lode::Database;
use lode_sqlite::Console;
use pgwire::messages::response::{ReadyForQuery, TransactionStatus};
use pgwire::messages::startup::{
    Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey, Startup,
};
use rusqlite::limits::Limit;

use crate::catalogue::{About, Catalogue};
use crate::protocol::channel::Channel;
use crate::protocol::input::{First, Input, Lost};
use crate::protocol::output::{Closed, Output};
use crate::protocol::socket::Socket;
use crate::refusal::{self, Refusal};
use crate::server::Limits;
use crate::server::access::Access;
use crate::server::certificate::{Certificate, PROTOCOL};
use crate::server::clients::{Clients, Place};
use crate::session::switches::{STEPS, Switches};
use crate::session::{Common, Session};
use crate::sql::settings::{Bounds, Settings};

/// The state that clients meet.
pub(crate) struct Front {
    pub database: Mutex<Database>,
    pub access: Access,
    pub limits: Limits,
    pub clients: Arc<Clients>,
    pub common: Common,
}

/// The reason why a client is not let in.
enum Rejected {
    Gone,
    Refused(Refusal),
}

impl From<Refusal> for Rejected {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Closed> for Rejected {
    fn from(_: Closed) -> Self {
        Self::Gone
    }
}

impl From<Lost> for Rejected {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Protocol(why) => Self::Refused(Refusal::new(refusal::PROTOCOL, why)),
            Lost::Gone => Self::Gone,
            Lost::Ending => Self::Refused(ending()),
        }
    }
}

fn ending() -> Refusal {
    Refusal::new(refusal::ENDING, "the server is ending")
}

/// The version of the protocol that is spoken: 3.0.
const VERSION: i32 = 3 << 16;
/// The statements that SQLite keeps prepared for a client.
const STATEMENTS: usize = 256;
/// Values can have as many bytes, also where messages are shorter.
const LEAST_VALUE_BYTES: usize = 64 << 20;
/// The most wishes to encrypt before a client says who it is: one for each way.
const MOST_WISHES: usize = 2;

/// Serves a connection from its first message to its end.
pub(crate) fn welcome(front: &Front, place: &Place, socket: Socket) {
    let limits = front.limits;
    let channel = Channel::Plain(socket.clone());
    let mut input = Input::new(channel.clone(), limits.message_bytes, limits.startup);
    let mut output = Output::new(channel);
    match enter(front, place, socket, &mut input, &mut output) {
        Ok(Some(client)) => client.serve(front, input, output),
        Ok(None) | Err(Rejected::Gone) => {}
        Err(Rejected::Refused(refusal)) => {
            output.last(&refusal.message(true), &|| front.common.is_ending());
        }
    }
}

/// A client that is let in.
struct Client {
    switches: Arc<Switches>,
    settings: Settings,
    user: String,
    number: i32,
    secret: i32,
}

/// Finds out who a client is. Returns `None` for a request to cancel, which was passed on.
fn enter(
    front: &Front,
    place: &Place,
    socket: Socket,
    input: &mut Input,
    output: &mut Output,
) -> Result<Option<Client>, Rejected> {
    let is_ending = || front.common.is_ending();
    let startup = match secure(front, socket, input, output)? {
        First::Startup(startup) => startup,
        First::Cancel(request) => {
            if let Some(secret) = request.secret_key.as_i32() {
                front.clients.cancel(request.pid, secret);
            }
            return Ok(None);
        }
        First::Tls | First::Gss | First::Handshake => return Err(Rejected::Gone),
    };
    let certificate = front.access.certificate.as_ref();
    if certificate.is_some() && !input.is_encrypted() {
        let line = "connections to this server must be encrypted; connect with sslmode=verify-full";
        return Err(Refusal::new(refusal::NOT_AUTHORIZED, line).into());
    }
    negotiate(&startup, output)?;
    let settings = settings(front, &startup)?;
    let user = startup.parameters.get("user").map_or("", String::as_str);
    if let Some(passwords) = &front.access.passwords {
        let binding = certificate.and_then(Certificate::binding);
        let checked = passwords.check(user, input, output, binding, &is_ending);
        checked.map_err(|refusal| refusal.map_or(Rejected::Gone, Rejected::Refused))?;
    }
    let failed = |_| Refusal::new(refusal::INTERNAL, "the system has no random numbers");
    let secret = getrandom::u32().map_err(failed)?.cast_signed();
    let switches = Arc::new(Switches::default());
    if !place.admit(secret, &switches) {
        let most = front.limits.connections;
        let line = format!("there are {most} clients already, which is the most; try again later");
        return Err(Refusal::new(refusal::TOO_MANY, line).into());
    }
    // One that came in while the server was asked to end was not woken.
    if is_ending() {
        return Err(ending().into());
    }
    input.started();
    let user = user.to_string();
    Ok(Some(Client { switches, settings, user, number: place.number, secret }))
}

/// Answers wishes to encrypt, and returns the first message that is none. A client may ask twice,
/// once for each way, and says nothing more before it has its answer.
fn secure(
    front: &Front,
    socket: Socket,
    input: &mut Input,
    output: &mut Output,
) -> Result<First, Rejected> {
    let is_ending = || front.common.is_ending();
    for wishes in 0..=MOST_WISHES {
        let first = input.first(&is_ending)?;
        match first {
            First::Handshake if wishes == 0 => return direct(front, socket, input, output),
            First::Tls | First::Gss if wishes < MOST_WISHES && !input.has_more() => {}
            First::Tls | First::Gss | First::Handshake => break,
            First::Cancel(_) | First::Startup(_) => return Ok(first),
        }
        let is_tls = matches!(first, First::Tls);
        let certificate = front.access.certificate.as_ref().filter(|_| is_tls);
        output.put_byte(if certificate.is_some() { b'S' } else { b'N' });
        output.send(&is_ending)?;
        if let Some(certificate) = certificate {
            encrypt(certificate, socket, input, output)?;
            return Ok(input.first(&is_ending)?);
        }
    }
    Err(Rejected::Gone)
}

/// Takes the first message of a client that has started with TLS.
fn direct(
    front: &Front,
    socket: Socket,
    input: &mut Input,
    output: &mut Output,
) -> Result<First, Rejected> {
    let wrong = |line: &str| Rejected::Refused(Refusal::new(refusal::PROTOCOL, line));
    let certificate = front.access.certificate.as_ref();
    let certificate = certificate.ok_or_else(|| wrong("this server has no certificate for TLS"))?;
    encrypt(certificate, socket, input, output)?;
    let first = input.first(&|| front.common.is_ending())?;
    if input.has_agreed_on(PROTOCOL) {
        Ok(first)
    } else {
        Err(wrong("a client that starts with TLS must name the protocol postgresql (ALPN)"))
    }
}

/// Puts TLS on a connection. The handshake is done by waiting for the next message.
fn encrypt(
    certificate: &Certificate,
    socket: Socket,
    input: &mut Input,
    output: &mut Output,
) -> Result<(), Rejected> {
    let channel = input.encrypt(socket, certificate.config()).map_err(|_| Rejected::Gone)?;
    output.move_to(channel);
    Ok(())
}

/// Answers a client that wants a newer protocol with the one that is spoken.
fn negotiate(startup: &Startup, output: &mut Output) -> Result<(), Closed> {
    let unknown = startup.parameters.keys().filter(|name| name.starts_with("_pq_."));
    let unknown: Vec<_> = unknown.cloned().collect();
    if startup.protocol_number_minor > 0 || !unknown.is_empty() {
        output.put(&NegotiateProtocolVersion::new(VERSION, unknown))?;
    }
    Ok(())
}

/// Returns the settings that a client asks for at the start.
fn settings(front: &Front, startup: &Startup) -> Result<Settings, Refusal> {
    let most = front.limits.statement_timeout;
    // A limit of no time would be none.
    let most_ms = most.map(|most| u64::try_from(most.as_millis()).unwrap_or(u64::MAX).max(1));
    let bounds = Bounds { most_ms, reads_only: front.limits.reads_only };
    let mut settings = Settings::within(bounds);
    for (name, value) in &startup.parameters {
        match &name[..] {
            // There is one database. The client is told that times are in UTC.
            "user" | "database" | "TimeZone" | "timezone" => {}
            "options" => {
                for (name, value) in options(value) {
                    settings.set(&name, Some(&value))?;
                }
            }
            "replication" if matches!(&value[..], "false" | "off" | "no" | "0") => {}
            "replication" => {
                let line = "replication is not supported; lode backup copies a database";
                return Err(Refusal::new(refusal::NOT_SUPPORTED, line));
            }
            name if name.starts_with("_pq_.") => {}
            // asyncpg quotes it, as in a statement.
            "client_encoding" => drop(settings.set(name, Some(value.trim_matches('\'')))?),
            name => drop(settings.set(name, Some(value))?),
        }
    }
    settings.start();
    Ok(settings)
}

/// Returns the settings of `-c name=value` and `--name=value`.
fn options(text: &str) -> Vec<(String, String)> {
    let words = text.split_ascii_whitespace().filter(|word| *word != "-c");
    let pairs = words.filter_map(|word| {
        let word = word.trim_start_matches("--").trim_start_matches("-c");
        word.split_once('=')
    });
    pairs.map(|(name, value)| (name.replace('-', "_"), value.into())).collect()
}

impl Client {
    /// Opens a session and carries it on.
    fn serve(self, front: &Front, input: Input, mut output: Output) {
        let is_ending = || front.common.is_ending();
        let (console, catalogue) = match self.console(front) {
            Ok(made) => made,
            Err(refusal) => return output.last(&refusal.message(true), &is_ending),
        };
        if self.greet(&mut output).and_then(|()| output.send(&is_ending)).is_err() {
            return;
        }
        let Self { switches, settings, .. } = self;
        let common = &front.common;
        Session::new(&console, common, switches, settings, catalogue, input, output).run();
    }

    /// Makes the client's connection of SQLite, and the catalogue on it.
    fn console(&self, front: &Front) -> Result<(Console, Catalogue), Refusal> {
        let failed = |error: lode::Error| Refusal::new(refusal::INTERNAL, error.to_string());
        let database = {
            let mut database = front.database.lock().unwrap_or_else(PoisonError::into_inner);
            if front.limits.reads_only {
                database.refresh().map_err(failed)?;
            }
            database.clone()
        };
        let mut console = Console::confined(&database)?;
        let [progress, functions] = [(); 2].map(|()| Arc::clone(&self.switches));
        console.on_progress(STEPS, move || progress.is_off())?;
        let made = console.unguarded(|connection| {
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            let most = front.limits.message_bytes.max(LEAST_VALUE_BYTES);
            let most = i32::try_from(most).unwrap_or(i32::MAX);
            connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, most)?;
            let about = About {
                user: self.user.clone(),
                number: self.number,
                settings: self.settings.changed(),
            };
            Catalogue::new(connection, about, move || functions.is_off())
        });
        Ok((console, made?))
    }

    fn greet(&self, output: &mut Output) -> Result<(), Closed> {
        output.put(&Authentication::Ok)?;
        for (name, value) in self.settings.reported() {
            output.put(&ParameterStatus::new(name.into(), value))?;
        }
        output.put(&BackendKeyData::new(self.number, SecretKey::I32(self.secret)))?;
        output.put(&ReadyForQuery::new(TransactionStatus::Idle))
    }
}
