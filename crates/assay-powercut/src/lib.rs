//! A filesystem that keeps written but unsynchronised data apart. At a simulated power cut it loses
//! that data, whole, in part, or sector by sector.
//!
//! Data flows one way: the kernel's requests (`filesystem`) become operations (`power`), which may
//! meet a [`fault`], and those become changes of a [`Disk`]. It applies them to its live [`volume`]
//! at once, and to its durable one when they are synchronised; a cut lets a [`Loss`] choose which
//! of the others reach the durable one too, and continues from there. [`server`] is the process
//! that serves the filesystem. [`client`] lets another process start it and cut the power.
//! [`mount`] has the kernel's part.
//!
//! The processes: a server owns the disk and the mount, in a separate mount namespace; a process
//! that works on the filesystem enters that namespace first ([`mount::enter`]). It never is the
//! server itself, which could not be ended if it waited for its own replies. The mount ends with
//! the last process of the namespace, so nothing is left behind however they end.

#![warn(unreachable_pub)]

pub mod client;
mod descriptions;
mod disk;
pub mod fault;
mod filesystem;
mod image;
mod loss;
pub mod mount;
mod power;
pub mod server;
mod states;
pub mod volume;

pub use disk::{Directories, Disk};
pub use loss::Loss;
