//! Volumes of a virtual storage: records with typed properties, linked into a tree by name, as
//! SKVDB offers them. The suite of that name drives other engines through an adapter over the
//! record level. An engine with volumes implements [`Volume`] itself and returns it from
//! [`Connection::volume`](crate::Connection::volume).

use crate::error::Result;
use crate::outcome::Outcome;

/// A typed value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Property<'p> {
    /// Unsigned, 1 byte.
    U8(u8),
    /// Unsigned, 4 bytes.
    U32(u32),
    /// Unsigned, 8 bytes.
    U64(u64),
    /// IEEE 754, 4 bytes.
    F32(f32),
    /// IEEE 754, 8 bytes.
    F64(f64),
    /// Text.
    Text(&'p str),
    /// Bytes.
    Blob(&'p [u8]),
}

/// A thread's handle of one volume.
pub trait Volume {
    /// Sets a property of a record. The record may have the property already.
    fn set(&mut self, record: u64, name: &str, value: Property<'_>) -> Result<()>;

    /// Calls `found` with a property, if the record has it.
    fn get(
        &mut self,
        record: u64,
        name: &str,
        found: &mut dyn FnMut(Property<'_>),
    ) -> Result<Outcome>;

    /// Removes a property, if the record has it.
    fn remove(&mut self, record: u64, name: &str) -> Result<Outcome>;

    /// Makes a record the child of another under a name; an existing name is a duplicate.
    fn link(&mut self, parent: u64, name: &str, child: u64) -> Result<Outcome>;

    /// Removes a link.
    fn unlink(&mut self, parent: u64, name: &str) -> Result<Outcome>;
}
