//! From the arguments of a suite to the work that they ask for, one module a suite.

pub mod crossbench;
pub mod nudb;
pub mod skvdb;
pub mod tonbo;
pub mod ycsb;
