//! The crate as programs use it.

mod bad_input;
mod other_types;
mod round_trips;
mod scans;
mod strange_files;
mod support;
