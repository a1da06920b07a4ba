//! The suites and `verify`, on an engine made for testing them.

mod clock;
mod crash;
mod engine;
mod faults;
mod liar;
mod others;
mod planted;
mod published;
mod teaching;
mod traces;
mod workloads;
