//! Measures the cost of Assay: the C++ containers through Assay, against plain hand-written loops
//! over the same containers ([`plain`] and [`assay`]), on the same keys.
//!
//! Another measurement counts how often its verdicts are right: [`verdicts`].
//!
//! `cargo bench -p assay-benches` prints the ratios. Each measurement runs in a process of its
//! own, so that both find a fresh heap; the two take turns.

pub mod assay;
pub mod plain;
pub mod verdicts;

use assay_core::random::{derive, mix};
use assay_core::tape::{Order, Tape};

/// The four operations, in the order in which times are given.
pub const OPERATIONS: [&str; 4] = ["insert", "query", "update", "delete"];

/// A measured operation.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// `stl-map` or `stl-hashmap` (or `null`, through Assay only).
    pub engine: &'static str,
    /// Rows in the container.
    pub rows: u64,
    /// Lookups, and updates, in a round.
    pub count: u64,
    /// Rounds of each.
    pub rounds: usize,
}

/// Nanoseconds an operation: for each of [`OPERATIONS`] its rounds.
pub type Times = [Vec<f64>; 4];

const SEED: u64 = 1;

/// The tape of a phase's round, the same for both sides.
fn tape(setup: &Setup, operation: &str, round: u64) -> Tape {
    let order = match operation {
        "insert" | "delete" => Order::Permutation,
        _ => Order::Draws,
    };
    Tape::new(order, mix(derive(SEED, operation), round), setup.rows)
}

fn per_operation(time_ns: u64, operations: u64) -> f64 {
    time_ns as f64 / operations as f64
}
