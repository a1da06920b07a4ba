//! What the two kinds of tables have in common: keys and payloads as bytes of fixed size.

use crate::schema::Schema;

/// The sizes of a table's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a key, in the order of keys.
    pub key_size: usize,
    /// Bytes of the rest of a packed record.
    pub payload_size: usize,
}

impl Shape {
    /// Of the records of a schema.
    pub fn of(schema: &Schema) -> Self {
        Self { key_size: schema.key_size(), payload_size: schema.payload_size() }
    }
}

/// Which records may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// Those that are not there.
    pub new: bool,
    /// Those that are there.
    pub over: bool,
}

impl Put {
    /// Only new ones.
    pub const INSERT: Self = Self { new: true, over: false };
    /// Any.
    pub const UPSERT: Self = Self { new: true, over: true };
}
