//! Lode: an embedded storage engine for typed records, in hashed and in ordered tables.
//!
//! | to … | there is |
//! |---|---|
//! | open a database, in memory or in a directory | [`Database`], [`Options`], [`Durability`] |
//! | describe records by columns, or as structs | [`Schema`], `#[derive(Record)]` |
//! | write records, one by one or many | [`Table`], [`Records`] |
//! | look records up by their keys | [`ReadTable`], [`Key`] |
//! | go through all, a range, or those with a prefix | [`Cursor`] |
//! | keep values of any length, as streams | [`Blobs`] |
//! | change several at once, or none | [`Database::transact`], [`Transaction`] |
//! | read records as of one moment | [`Snapshot`] |
//! | find the cause of an error, and if a retry helps | [`Error`] |
//! | see what a database does, by metrics and events | [`observability`] |
//!
//! A database in a directory can be larger than memory, and its [`Durability`] says what survives a
//! crash. `DESIGN.md` says how it works, and `FORMAT.md` what the files contain. `examples/` has a
//! session store, a time series, and an index of documents.
//!
//! ```
//! use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
//!
//! let db = Database::in_memory()?;
//! let schema = Schema::build("account").key("id", Type::U64).column("cents", Type::I64).finish()?;
//! let accounts = db.create_table(&schema, KeyKind::Hash)?;
//! for id in 0..2 {
//!     accounts.insert(&schema.pack(&[Value::Unsigned(id), Value::Signed(100)])?)?;
//! }
//!
//! // Move ten cents, or nothing; again if another thread was first.
//! let cents = schema.column("cents")?;
//! db.transact(|transaction| {
//!     for (id, sum) in [(0, 90i64), (1, 110)] {
//!         transaction.update(&accounts, id, cents, &sum.to_le_bytes())?;
//!     }
//!     Ok::<_, lode::Error>(())
//! })?;
//!
//! let account = accounts.get(1)?.expect("it was inserted");
//! assert_eq!(account.get("cents"), Some(Value::Signed(110)));
//! for row in accounts.iter().columns([cents]) {
//!     assert!(matches!(row?.at(cents), Value::Signed(90 | 110)));
//! }
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
//! for account in accounts.range(5..) {
//!     owners.extend(account?.owner);
//! }
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
mod batch;
mod codec;
mod data;
mod decimal;
mod engine;
mod error;
mod hash;
mod heap;
mod index;
mod io;
pub mod observability;
mod pager;
mod position;
mod schema;
#[doc(hidden)]
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
mod store;
#[cfg(test)]
mod storeys;
mod table;
mod tree;
mod types;
mod wal;
#[cfg(test)]
#[path = "../tests/support/watched.rs"]
mod watched;

#[doc(hidden)]
pub use api::misfit;
pub use api::{
    Alteration, Batches, BlobCursor, BlobEntry, BlobReader, BlobWriter, Blobs, ByIndex, Change,
    ChangedTable, Changes, Commit, Cursor, DEFAULT_SYNC_INTERVAL, Database, IndexCursor, IndexKeys,
    Key, KeyPart, Loss, MOST_ATTEMPTS as MOST_TRANSACT_ATTEMPTS, MOST_BLOB_BYTES,
    MOST_BLOB_KEY_BYTES, Options, ReadTable, Record, RecordCursor, RecordIndexCursor, Records,
    RecordsAt, RecordsByIndex, RecordsWithin, Repaired, RepairedTable, Row, RowBatch, RowChange,
    Savepoint, Snapshot, Table, TableAt, TableWithin, Transaction,
};
pub use decimal::{Decimal, MOST_DECIMAL_DIGITS, NoDecimal};
pub use engine::{BackupProgress, CheckReport, Compacted, Fault};
pub use error::{
    Cause, Effect, Error, MOST_TRANSACTION_BYTES, PackedFault, PackedPart, Result, SchemaFault,
};
#[cfg(feature = "derive")]
pub use lode_derive::Record;
pub use observability::Statistics;
pub use position::{NoPosition, Position};
pub use schema::{
    Builder, Column, ColumnId, IndexSchema, MOST_FIXED_BYTES, MOST_KEY_BYTES, MOST_NAME_BYTES,
    MOST_RECORD_BYTES, MOST_VARIABLE_BYTES, Packer, RowRef, Schema, Type, Value,
};
pub use store::Durability;
pub use table::KeyKind;
pub use types::UnknownType;
