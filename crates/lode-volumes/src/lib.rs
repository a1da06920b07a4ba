//! Volumes on [Lode](lode): a tree of entries that carry typed properties, in memory or in a
//! directory; and several of them mounted into one storage.
//!
//! | to … | there is |
//! |---|---|
//! | open a volume | [`Volume`], [`Options`], [`Durability`] |
//! | link, unlink and find entries, read and set properties | [`Entry`], [`Value`], [`ValueRef`] |
//! | list children and properties, walk a subtree | [`Links`], [`Properties`], [`Walk`] |
//! | change several properties at once, or none | [`Volume::update`], [`Batch`] |
//! | read a subtree as it was at one moment | [`Snapshot`], [`EntryAt`] |
//! | let properties expire | [`Entry::expire_property`], [`Clock`] |
//! | watch changes | [`Volume::watch`], [`Watch`], [`Event`] |
//! | move data in and out as lines of JSON | [`EntryAt::export`], [`Volume::import`] |
//! | read and write several volumes as one | [`Storage`], [`Mount`], [`StorageEntry`] |
//! | know what went wrong | [`Error`] |
//!
//! Each change of a property is an operation of the database below, as durable as the volume's
//! [`Durability`] says. An entry that is open is one object in memory, whatever the number of its
//! handles: its properties are read there, without a lookup in a table.
//!
//! Each module imports only modules that stand below it:
//!
//! | module | job |
//! |---|---|
//! | `storage/` | several volumes as one tree |
//! | `handles/` | volumes, entries, batches, snapshots, lists, lines of JSON |
//! | `core/` | the operations: links, properties, expiry, removal |
//! | `open/` | entries in memory, with their properties |
//! | `tables.rs`, `watch.rs`, `options.rs` | records of the database; watches; options |
//! | `value.rs`, `name.rs`, `clock.rs` | typed values, names and paths, time |
//! | `error.rs`, `kind.rs`, `lock.rs` | errors, types of values, locks |
//!
//! ```
//! use lode_volumes::{Value, Volume};
//!
//! let volume = Volume::in_memory()?;
//! let ui = volume.create_entry("/app/ui")?;
//! ui.set("theme", "dark")?;
//! ui.set("scale", 1.5f64)?;
//!
//! for entry in volume.root().walk()? {
//!     let entry = entry?;
//!     for property in entry.properties() {
//!         let (name, value) = property?;
//!         println!("{} {name} = {value}", entry.path());
//!     }
//! }
//! assert_eq!(ui.property("scale")?, Some(Value::F64(1.5)));
//! # Ok::<(), lode_volumes::Error>(())
//! ```

#![warn(unreachable_pub)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

mod clock;
mod core;
#[cfg(test)]
mod counted;
mod error;
mod handles;
mod kind;
mod lock;
mod name;
mod open;
mod options;
mod storage;
mod tables;
mod value;
mod watch;

pub use clock::Clock;
pub use error::{Error, NameFault, Result};
pub use handles::batch::{Batch, EntryBatch};
pub use handles::entry::Entry;
pub use handles::listing::{Links, Properties};
pub use handles::snapshot::{EntryAt, Snapshot, Walk};
pub use handles::volume::Volume;
pub use kind::Kind;
pub use lode::Durability;
pub use name::{MOST_NAME_BYTES, expect_path};
pub use options::Options;
pub use storage::{Access, Mount, Storage, StorageEntry};
pub use value::{MOST_VALUE_BYTES, Value, ValueRef};
pub use watch::{Event, Watch, Watching, What};
