//! The workloads that the arguments of suites ask for, one module a suite.

pub(crate) mod crossbench;
pub(crate) mod nudb;
pub(crate) mod skvdb;
pub(crate) mod tonbo;
pub(crate) mod ycsb;
