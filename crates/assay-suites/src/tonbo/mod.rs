//! The three benches that Tonbo publishes: `tonbo-write`, `tonbo-read` and `tonbo-micro`.
//! `docs/suites/tonbo.md` says where they depart from the originals and why.

mod customers;
pub mod micro;
mod published;
pub mod read;
pub mod tbl;
pub mod write;
