//! A server for a database of Lode that speaks PostgreSQL's protocol, version 3.0.
//!
//! One process has the database open, and programs in any language with a driver for PostgreSQL
//! connect to it. The language is SQLite's over the tables of Lode, with PostgreSQL's notation of
//! parameters and casts; `docs/serve.md` says what differs.
//!
//! ```
//! use lode_server::{Access, Address, Limits, Server};
//!
//! let directory = tempfile::tempdir()?;
//! let database = lode::Database::open(directory.path().join("zoo"))?;
//! let address = Address::Unix(directory.path().join(".s.PGSQL.5432"));
//! let server = Server::listen(&database, &address, Access::default(), Limits::default())?;
//! let stopper = server.stopper();
//! let running = std::thread::spawn(|| server.run());
//! stopper.stop();
//! running.join().expect("it has not panicked")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it works
//! - Each client has a thread and a [`lode_sqlite::Console`]: a connection of SQLite on the shared
//!   database. So no client waits for another one, but for the gates of the engine.
//! - Messages are bounded and checked before `pgwire` decodes them. Waiting for a client has a
//!   limit, except between its messages.
//!
//! Each module imports only modules that stand below it:
//!
//! | module | job |
//! |---|---|
//! | `server/` | listening, limits, passwords, the certificate, the end |
//! | `session/` | a client's statements, portals and transaction |
//! | `copy/` | the rows of `COPY` |
//! | `catalogue/` | tables and functions that tools ask for tables with |
//! | `sql/` | the text of statements: notation, types of parameters and results, settings |
//! | `types/` | values of SQLite as values of PostgreSQL's types, and back |
//! | `protocol/`, `refusal.rs`, `error.rs` | messages on a socket, TLS; errors |

#![warn(unreachable_pub)]

mod catalogue;
mod copy;
mod error;
mod protocol;
mod refusal;
mod server;
mod session;
mod sql;
mod types;

pub use error::ServeError;
pub use server::access::Access;
pub use server::address::Address;
pub use server::certificate::Certificate;
pub use server::passwords::Passwords;
pub use server::{Limits, Server, Stopper};
pub use sql::settings::parse_time;
