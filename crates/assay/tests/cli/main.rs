//! Assay from the outside, as a user meets it.

mod bad_input;
mod crossbench;
mod stopped;
mod suites;
mod support;
