//! A checker of isolation: from a history of transactions it says which level of isolation they
//! kept, names each anomaly, and shows it in few operations. It knows no engine.
//!
//! [`check`] looks at lists to which values are appended, at registers, and at ranges of keys.
//! Since each value is written once, a read shows which transaction wrote what it saw; reads of
//! lists show the order of all versions. From these follows which transaction comes before which,
//! and cycles among them are the anomalies. (Adya, Weak Consistency, PhD thesis, MIT 1999;
//! Kingsbury, Alvaro, Elle: Inferring Isolation Anomalies from Experimental Observations, PVLDB
//! 14(3), 2020.)
//!
//! [`drive`] makes histories: it runs seeded transactions on an engine.
//!
//! All that it reports has happened. It can miss some anomalies of:
//! - Registers that are written without reading them first: their versions have no known order,
//!   and none is searched that explains all reads.
//! - Reads without a value of registers that were ever deleted.
//! - More than 16 appends to one list, or writes that replace one version, that follow each other
//!   in no known order: each reader is compared with 16 of them.

#![warn(unreachable_pub)]

mod check;
mod collect;
mod cycles;
pub mod drive;
mod examine;
mod graph;
mod history;
mod random;
mod real_time;
mod shrink;
mod verdict;
mod versions;

pub use check::check;
pub use collect::Malformed;
pub use history::{Operation, Outcome, Row, Transaction};
pub use verdict::{Anomaly, Dependency, Found, Level, Step, Verdict};
