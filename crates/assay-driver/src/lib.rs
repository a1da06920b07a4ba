//! The traits that an engine implements to be measured by Assay, without measuring and run files.
//! Engines compile against this crate only, so a change of statistics rebuilds none.
//!
//! A [`Driver`] opens a [`Store`]; a thread works on it through a [`Connection`]. The [`Profile`]
//! states the engine's promises and features. Records are packed as [`schema`] says.

#![warn(unreachable_pub)]

mod cache;
pub mod compact;
pub mod control_group;
pub mod error;
pub mod machine;
mod outcome;
mod parameter;
mod profile;
pub mod schema;
mod store;
pub mod volume;

pub use cache::{Cache, MOST_BYTES, binary_size, parse_size};
pub use outcome::Outcome;
pub use parameter::{Parameter, Values};
pub use profile::{
    Change, Concurrency, DeleteRule, Durability, InsertRule, KeyKind, Profile, Reach, Storage,
    Transactions,
};
pub use store::{Connection, Driver, Endpoint, OpenSpec, SERVER, Scan, Store, Work};
