//! Tables: an index over pages, and a heap for records that do not lie in it.

mod compact;
mod core;
mod definition;
mod kinds;
mod rows;
mod scan;

pub(crate) use self::compact::Progress;
pub(crate) use self::core::TableCore;
pub(crate) use definition::{Definition, Location, Storage};
pub(crate) use kinds::{Kinds, Walk};
pub(crate) use rows::{Needs, Rows};

/// How a table finds its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// By a hash of the key: the fastest for single records, in no order.
    Hash,
    /// In the order of keys: ranges can be scanned.
    Tree,
}
