//! Volumes as their users see them.

mod batches;
mod expiry;
mod failing;
mod forks;
mod full_disk;
mod json;
mod kill;
mod large;
mod model;
mod names;
mod storage;
mod support;
mod threads;
mod tree;
mod values;
mod watch;
