//! Assay from the outside, as a user meets it.

mod advise;
mod against;
mod bad_input;
mod compare;
mod continuous;
mod crash;
mod crossbench;
mod crossdb;
mod gate;
mod hostile;
mod isolate;
mod libraries;
mod machine;
mod memory;
mod options;
mod parameters;
mod peers;
mod plans;
mod plugin_build;
mod plugin_folders;
mod plugins;
mod properties;
mod repeats;
mod report;
mod results;
mod schema;
mod site;
mod stopped;
mod suites;
mod support;
#[cfg(feature = "tonbo")]
mod tonbo;
mod torture;
mod tour;
mod traces;
mod workloads;
