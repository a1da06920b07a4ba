//! From the arguments of a suite to the workloads that they ask for, one module a suite.

pub mod crossbench;
pub mod nudb;
pub mod skvdb;
pub mod tonbo;
pub mod ycsb;
