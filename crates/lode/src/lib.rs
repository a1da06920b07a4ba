//! Lode: an embedded storage engine for typed records, in hashed and in ordered tables.
//!
//! A database is in memory, or in a directory: then it can be larger than memory, and a
//! [`Durability`] level says what survives a crash. `DESIGN.md` says how it works, and `FORMAT.md`
//! what is in the files.
//!
//! ```
//! use lode::{Database, KeyKind, Schema, Type, Value};
//!
//! let db = Database::in_memory()?;
//! let schema = Schema::build("account").key("id", Type::U64).column("cents", Type::I64).finish()?;
//! let accounts = db.create_table(&schema, KeyKind::Hash)?;
//! for id in 0..2 {
//!     accounts.insert(&schema.pack(&[Value::Unsigned(id), Value::Signed(100)])?)?;
//! }
//!
//! // Move ten cents, or nothing.
//! let mut transaction = db.begin();
//! for (id, cents) in [(0u64, 90i64), (1, 110)] {
//!     transaction.update(&accounts, &id.to_le_bytes(), 1, &cents.to_le_bytes())?;
//! }
//! transaction.commit()?;
//!
//! let is_110 = |row: lode::Row<'_>| row.get("cents") == Some(Value::Signed(110));
//! let cents = accounts.with(&1u64.to_le_bytes(), is_110)?;
//! assert_eq!(cents, Some(true));
//! # Ok::<(), lode::Error>(())
//! ```
//!
//! # Structs as records
//!
//! `#[derive(Record)]` writes the schema of a struct and packs it; [`Records`] is a table of such
//! structs. The macro is there with the feature `derive`, which is on by default.
//!
//! ```
//! # #[cfg(feature = "derive")] {
//! use lode::{Database, KeyKind, Record};
//!
//! #[derive(Record)]
//! struct Account {
//!     #[record(key)]
//!     id: u64,
//!     cents: i64,
//!     #[record(text = 32)]
//!     owner: Option<String>,
//! }
//!
//! let db = Database::in_memory()?;
//! let accounts = db.create_records::<Account>(KeyKind::Tree)?;
//! for id in 0..10 {
//!     accounts.insert(&Account { id, cents: 100, owner: None })?;
//! }
//! accounts.change(7, |account| account.owner = Some("Ada".into()))?;
//!
//! let mut owners = Vec::new();
//! accounts.scan(5.., 100, |account| {
//!     owners.extend(account.owner);
//!     Ok(true)
//! })?;
//! assert_eq!(owners, ["Ada"]);
//! # }
//! # Ok::<(), lode::Error>(())
//! ```

#![warn(unreachable_pub)]

#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("Lode runs on 64-bit little-endian machines");

mod api;
mod codec;
mod data;
mod engine;
mod error;
mod hash;
mod heap;
mod index;
mod io;
mod pager;
mod schema;
#[doc(hidden)]
pub mod simulation;
mod store;
#[cfg(test)]
mod storeys;
mod table;
mod tree;
mod wal;

#[doc(hidden)]
pub use api::misfit;
pub use api::{
    DEFAULT_SYNC_INTERVAL, Database, MOST_BYTES as MOST_TRANSACTION_BYTES, Options, Record,
    Records, RecordsAt, RecordsWithin, Snapshot, Table, Transaction,
};
pub use engine::{Compacted, Fault, Faults, Statistics};
pub use error::{Cause, Error, Result};
#[cfg(feature = "derive")]
pub use lode_derive::Record;
pub use schema::{
    Builder, Column, MOST_FIXED_BYTES, MOST_KEY_BYTES, MOST_RECORD_BYTES, MOST_VARIABLE_BYTES, Row,
    Schema, Type, Value,
};
pub use store::Durability;
pub use table::{KeyKind, Scan};
