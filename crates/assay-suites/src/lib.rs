//! The workloads that Assay runs, one module a suite. A suite knows no engine: it works on a
//! [`Driver`](assay_core::driver::Driver) that somebody hands it.

pub mod cell;
pub mod crossbench;
pub mod verify;
