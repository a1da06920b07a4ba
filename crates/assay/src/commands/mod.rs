//! The commands, one file each.

pub(crate) mod advise;
pub(crate) mod age;
pub(crate) mod compare;
pub(crate) mod crash;
pub(crate) mod doctor;
pub(crate) mod gate;
pub(crate) mod generate;
pub(crate) mod isolate;
pub(crate) mod list;
pub(crate) mod manual;
pub(crate) mod plan;
pub(crate) mod plot;
pub(crate) mod plugin;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod site;
pub(crate) mod torture;
pub(crate) mod tour;
pub(crate) mod verify;
pub(crate) mod workload;
