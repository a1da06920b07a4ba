//! Tables of Lode as Delta tables, on disks and in object stores that speak S3, and back.
//!
//! [`export`] writes a snapshot of a table as a new version of a Delta table: Parquet files, each a
//! range of the keys, and then one entry in `_delta_log`, which makes all of them visible at once.
//! The entry is written only if no entry has its number (put-if-absent). So a reader sees a whole
//! version, whatever becomes of the writer, and of two writers one is refused. [`export_changes`]
//! writes only what has changed since the version before. [`DeltaTable`] reads a version, also of
//! tables that others wrote.
//!
//! ```
//! use lode::{Database, KeyKind, Schema, Type};
//! use lode_arrow::Scan;
//! use lode_delta::{DeltaTable, ExportOptions, Location, export};
//!
//! let db = Database::in_memory()?;
//! let schema = Schema::build("byte").key("id", Type::U8).finish()?;
//! let bytes = db.create_table(&schema, KeyKind::Tree)?;
//! bytes.insert(&[7])?;
//!
//! let folder = tempfile::tempdir()?;
//! let location = Location::parse(folder.path().to_str().expect("a plain name"))?;
//! let options = ExportOptions::default();
//! let done = export(&location, Scan::of(&bytes), &options, &mut |_| false)?;
//! assert_eq!((done.version, done.rows), (0, 1));
//!
//! let table = DeltaTable::open(&location)?;
//! let rows = table.batches().map(|batch| Ok(batch?.num_rows()));
//! assert_eq!(rows.sum::<lode_delta::Result<usize>>()?, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Why not a crate for Delta
//!
//! The few actions of the protocol that this needs are written here, on `object_store` and
//! `parquet`. `deltalake-core` 1.1 was weighed. Without its `datafusion` feature it has 347
//! packages against 237 here, and needs a newer compiler (1.95) than this workspace promises
//! (1.92). It does far more than this: merges, vacuums, constraints, catalogues. The source for all
//! of it is "Delta Transaction Log Protocol", `PROTOCOL.md` of the project delta-io/delta.
//!
//! The tables written here need reader version 1 and writer version 2, which every engine has; with
//! changes 3 and 7, for deletion vectors and a change data feed. Of what other tables need,
//! deletion vectors, column mapping, wider types and checkpoints of all kinds are read; everything
//! else is refused by its name. `docs/delta.md` lists all of it, member by member.

#![warn(unreachable_pub)]

mod actions;
mod checkpoint;
mod checkpoint_file;
mod convert;
mod deletion;
mod entry;
mod error;
mod export;
mod files;
mod id;
mod location;
mod log;
mod protocol;
mod read;
mod schema;
mod stats;

pub use error::{Error, Result};
pub use export::{ChangesExported, ExportOptions, Exported, WhyWhole, export, export_changes};
pub use location::Location;
pub use read::{Batches, DeltaTable};
