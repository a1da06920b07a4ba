//! Events around an open database: its directory is moved or taken away, another process
//! comes along, the process forks, the system runs out of something.
//!
//! A test that needs a process of its own runs itself again as a child.

mod addresses;
mod descriptors;
mod forks;
mod images;
mod lengthened;
mod moved;
mod opening;
mod power;
mod read_only;
mod shared_blocks;
mod shut_down;
mod support;
mod taken;
mod twice;
