//! The commands, one file each.

pub mod compare;
pub mod crash;
pub mod doctor;
pub mod generate;
pub mod ladder;
pub mod list;
pub mod manual;
pub mod plot;
pub mod plugin;
pub mod report;
pub mod run;
pub mod show;
pub mod suite;
pub mod verify;
