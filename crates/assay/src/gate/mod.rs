//! The gate: counts that do not drift, instead of times.
//!
//! `counter` has workers count cells, `readings` reads what their counters wrote, `counts` keeps
//! it, `judge` compares two sides, and `show` prints it.

mod allocations;
pub(crate) mod counter;
pub(crate) mod counts;
pub(crate) mod judge;
mod readings;
pub(crate) mod show;
pub(crate) mod tools;
