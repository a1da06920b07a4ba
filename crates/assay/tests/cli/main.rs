//! Assay from the outside, as a user meets it.

mod bad_input;
mod crash;
mod crossbench;
mod stopped;
mod suites;
mod support;
