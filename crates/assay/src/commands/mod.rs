//! The commands, one file each.

pub mod ladder;
pub mod list;
pub mod plot;
pub mod run;
pub mod show;
pub mod verify;
