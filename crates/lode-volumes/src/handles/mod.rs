//! Handles for users of a volume: the volume itself, entries, batches, snapshots and lists.

pub(crate) mod batch;
pub(crate) mod entry;
mod json;
pub(crate) mod listing;
mod shared;
pub(crate) mod snapshot;
pub(crate) mod volume;
