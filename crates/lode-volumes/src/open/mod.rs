//! Entries that are open: one object in memory for each, with its properties.

pub(crate) mod cells;
pub(crate) mod kept;
pub(crate) mod node;
pub(crate) mod registry;
