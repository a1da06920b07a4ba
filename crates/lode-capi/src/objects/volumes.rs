//! Volumes, their entries, and storages.

use lode_volumes::{Entry, Result, Storage, StorageEntry, Value, Volume};

use super::{lock, share};

/// A volume: a tree of entries with typed properties, in a database of its own. Any number of
/// threads may use one at the same time. Freed by `lode_close_volume`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_volume {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// An entry of a volume or of a storage: properties, and children under names. Any number of
/// threads may use one at the same time. Freed by `lode_free_entry`.
///
/// All handles of an entry are of one object in memory, where properties are read without a lookup
/// in a table. So keep the handle of an entry that is used often.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_entry {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// Several volumes that are mounted at paths, and read and written as one tree. Any number of
/// threads may use one at the same time. Freed by `lode_free_storage`.
///
/// - Of several volumes at one path, a property is read from the one with the highest priority that
///   has it; of those with one priority, from the one that was mounted first.
/// - Children are those of all of them.
/// - A write goes to all that are mounted for writing. An entry that one of them has not is made
///   there. If some fail, the write returns `LODE_PARTIAL`.
/// - Only the mounts at the longest path that a path starts with count for it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_storage {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// The names of the children of an entry, one after another. One thread at a time may use one;
/// another gets `LODE_BUSY`. Freed by `lode_free_links`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_links {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// The properties of an entry, one after another. One thread at a time may use one; another gets
/// `LODE_BUSY`. Freed by `lode_free_properties`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_properties {
    /// A number that means something to Lode only.
    pub id: u64,
}

/// An entry of a volume, or of a storage.
pub(crate) enum OpenEntry {
    Volume(Entry),
    Storage(Storage, StorageEntry),
}

/// The children of an entry, with the name that was read last.
pub(crate) struct OpenLinks {
    pub(crate) names: Box<dyn Iterator<Item = Result<String>> + Send>,
    pub(crate) last: String,
}

/// The properties of an entry, with the one that was read last.
pub(crate) struct OpenProperties {
    pub(crate) properties: Box<dyn Iterator<Item = Result<(String, Value)>> + Send>,
    pub(crate) last: Option<(String, Value)>,
}

share!(lode_volume: Volume, VOLUME, "volume");
share!(lode_entry: OpenEntry, ENTRY, "entry");
share!(lode_storage: Storage, STORAGE, "storage");
lock!(lode_links: OpenLinks, LINKS, "list of children");
lock!(lode_properties: OpenProperties, PROPERTIES, "list of properties");
