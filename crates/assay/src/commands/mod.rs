//! The commands, one file each.

pub mod crash;
pub mod generate;
pub mod ladder;
pub mod list;
pub mod plot;
pub mod run;
pub mod show;
pub mod verify;
