//! The outcomes of an engine's operations.

/// The outcome of an operation that the engine carried out.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The key does not exist; nothing happened.
    Missing = 0,
    /// The record was found, inserted, updated or deleted.
    Done = 1,
    /// The key exists already; nothing happened.
    Duplicate = 2,
}
