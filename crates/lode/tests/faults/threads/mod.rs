//! Many threads in few records: in memory, and in a directory of the real file system, where
//! another thread pushes pages out and makes checkpoints.

mod accounts;
mod filled;
mod passing;
mod support;
mod upkeep;
mod wide;
