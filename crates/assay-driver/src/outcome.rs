//! What an engine answers.

/// What became of an operation that the engine carried out.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is no such key; nothing happened.
    Missing = 0,
    /// Found, inserted, updated or deleted.
    Done = 1,
    /// The key is there already; nothing happened.
    Duplicate = 2,
}
