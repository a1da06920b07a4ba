//! The command line of `lode serve`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use lode::Durability;
use lode_server::Address;

use super::bytes;

/// The options of `lode serve`.
#[derive(Args)]
#[command(after_help = "\
Programs connect with any driver for PostgreSQL, and with psql. By default that is a Unix socket \
in the directory of the database, which only its user can open: the host is the directory, and \
user and database have any name. Over TCP each client must know a password of the file: a line \
for each, USER:PASSWORD or PostgreSQL's USER:SCRAM-SHA-256$…. Passwords are never sent; \
statements and rows are encrypted only with a certificate.

With --tls-certificate, connections over TCP have to be encrypted by TLS 1.2 or 1.3: drivers do \
it with sslmode=verify-full. The two files are read at the start: restart the server to renew \
them. Unix sockets take no certificate.

SIGINT, SIGTERM or SIGHUP ends the server: statements are interrupted, open transactions are \
rolled back, and the status is 0. A second signal ends it at once; what was committed is there.

Examples:
  lode serve zoo
  psql -h $PWD/zoo -c 'SELECT count(*) FROM animal'
  lode serve zoo --listen 127.0.0.1:5432 --password-file passwords
  lode serve zoo --listen 0.0.0.0:5432 --password-file passwords \\
    --tls-certificate chain.pem --tls-key key.pem")]
pub(crate) struct ServeArgs {
    /// Directory of the database
    pub dir: PathBuf,
    /// Address: unix:PATH, or IP:PORT with --password-file [default: unix:DIR/.s.PGSQL.5432]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub listen: Option<Address>,
    /// File with the passwords of users, which others must not be able to read
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// PEM file with the certificate that TCP is encrypted with, and those that have signed it
    #[arg(long, value_name = "FILE", requires = "tls_key", requires = "listen")]
    pub tls_certificate: Option<PathBuf>,
    /// PEM file with the certificate's key, unencrypted, which others must not be able to read
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Open the database for reading only: a client sees the moment at which it connects
    #[arg(long, conflicts_with = "create")]
    pub read_only: bool,
    /// Create a missing database
    #[arg(long)]
    pub create: bool,
    /// What a committed transaction survives
    #[arg(long, value_enum, default_value_t = Level::Commit, conflicts_with = "read_only")]
    pub durability: Level,
    /// Most clients at a time
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub connections: u16,
    /// Most time for a statement, in milliseconds or with s, min or h [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = lode_server::parse_time)]
    pub statement_timeout: Option<Duration>,
    /// Most bytes of a message, into which a statement and its parameters must fit
    #[arg(long, value_name = "BYTES", value_parser = message_bytes, default_value = "64M")]
    pub message_bytes: u64,
}

/// The durability of a server's transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// A crash of the machine
    Commit,
    /// A crash of the process; one of the machine but for the last 100 ms
    Periodic,
    /// A crash of the process
    Process,
}

impl From<Level> for Durability {
    fn from(level: Level) -> Self {
        match level {
            Level::Commit => Self::Commit,
            Level::Periodic => Self::Periodic,
            Level::Process => Self::Process,
        }
    }
}

fn address(text: &str) -> Result<Address, String> {
    text.parse().map_err(|error: lode_server::ServeError| error.to_string())
}

/// The bytes that messages can be limited to.
const LEAST: u64 = 10_000;
const MOST: u64 = 1 << 30;

fn message_bytes(text: &str) -> Result<u64, String> {
    let count = bytes(text)?;
    if (LEAST..=MOST).contains(&count) {
        Ok(count)
    } else {
        Err(format!("it can be {LEAST} to {MOST} bytes"))
    }
}
