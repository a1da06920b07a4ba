//! The operations of a phase: seeded, computed by position, the same for every engine.

use assay_driver::schema::Schema;
use serde::{Deserialize, Serialize};

use crate::random::{Bijection, draw};

/// The records of a suite: everything about them is a pure function of row and version.
pub trait Records {
    /// Returns the shape of the records.
    fn schema(&self) -> &Schema;

    /// Writes the key area of a row.
    fn key(&self, row: u64, key: &mut [u8]);

    /// Writes the payload area of a row in a version (0 as inserted).
    fn payload(&self, row: u64, version: u32, payload: &mut [u8]);
}

/// The order in which a phase visits rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// 0, 1, 2, … and again from 0.
    Sequential,
    /// Every row once, in the order of a keyed bijection.
    Permutation,
    /// Drawn uniformly, with replacement.
    Draws,
}

/// Positions to rows.
#[derive(Clone, Debug)]
pub struct Tape {
    order: Order,
    seed: u64,
    rows: u64,
    bijection: Bijection,
}

impl Tape {
    /// Makes a tape over `rows` rows (at least one).
    pub fn new(order: Order, seed: u64, rows: u64) -> Self {
        assert!(rows > 0, "a tape needs rows");
        Self { order, seed, rows, bijection: Bijection::new(seed, rows) }
    }

    /// Returns the row at a position. Permutations start again after the last row.
    #[inline]
    pub fn row(&self, position: u64) -> u64 {
        match self.order {
            Order::Sequential => position % self.rows,
            Order::Permutation => self.bijection.at(position % self.rows),
            Order::Draws => draw(self.seed, position, self.rows),
        }
    }
}

/// A hash of the rows that a phase visits, in order: two engines with the same hash did the
/// same operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapeHash(u64);

impl TapeHash {
    /// Adds the next row.
    #[inline]
    pub fn add(&mut self, row: u64) {
        self.0 = (self.0.rotate_left(5) ^ row).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Returns the hash so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

/// The rows that a store holds: all of `0..rows`, less those that earlier phases deleted.
///
/// A delete phase removes the first rows of an order; the rest of that order is left. So the living
/// rows are found by composing the orders, newest first, without a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Population {
    rows: u64,
    deletions: Vec<Deletion>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Deletion {
    order: Order,
    seed: u64,
    among: u64,
    count: u64,
}

impl Population {
    /// Returns the population of rows `0..rows`.
    pub fn all(rows: u64) -> Self {
        Self { rows, deletions: Vec::new() }
    }

    /// Returns the number of living rows.
    pub fn live(&self) -> u64 {
        self.rows - self.deletions.iter().map(|deletion| deletion.count).sum::<u64>()
    }

    /// Records that the first `count` rows of a tape over the living rows were deleted.
    pub fn delete(&mut self, order: Order, seed: u64, count: u64) {
        let among = self.live();
        assert!(count <= among && order != Order::Draws, "each row is deleted once");
        self.deletions.push(Deletion { order, seed, among, count });
    }

    /// Makes the map from `0..live` to rows.
    pub fn rows(&self) -> Rows {
        Rows {
            steps: self
                .deletions
                .iter()
                .map(|d| (Tape::new(d.order, d.seed, d.among), d.count))
                .collect(),
        }
    }
}

/// The map from `0..live` to the rows of a [`Population`].
#[derive(Clone, Debug)]
pub struct Rows {
    steps: Vec<(Tape, u64)>,
}

impl Rows {
    /// Returns the living row with number `at`.
    #[inline]
    pub fn row(&self, at: u64) -> u64 {
        self.steps.iter().rev().fold(at, |at, (tape, skipped)| tape.row(at + skipped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_lives_and_what_was_deleted_make_up_all_rows() {
        let mut population = Population::all(1000);
        let mut gone = BTreeSet::new();
        for (order, seed, count) in [
            (Order::Permutation, 5, 300),
            (Order::Sequential, 0, 200),
            (Order::Permutation, 9, 100),
        ] {
            let rows = population.rows();
            let tape = Tape::new(order, seed, population.live());
            for position in 0..count {
                assert!(gone.insert(rows.row(tape.row(position))), "deleted twice");
            }
            population.delete(order, seed, count);
        }
        let rows = population.rows();
        let living: BTreeSet<_> = (0..population.live()).map(|at| rows.row(at)).collect();
        assert_eq!(living.len(), 400);
        assert_eq!(gone.union(&living).copied().collect::<BTreeSet<_>>().len(), 1000);
    }

    #[test]
    fn the_hash_knows_the_order() {
        let hash = |rows: &[u64]| {
            let mut hash = TapeHash::default();
            rows.iter().for_each(|&row| hash.add(row));
            hash
        };
        assert_eq!(hash(&[1, 2, 3]), hash(&[1, 2, 3]));
        assert_ne!(hash(&[1, 2, 3]), hash(&[2, 1, 3]));
    }

    #[test]
    fn sequential_tapes_begin_again() {
        let tape = Tape::new(Order::Sequential, 1, 3);
        let rows: Vec<_> = (0..7).map(|at| tape.row(at)).collect();
        assert_eq!(rows, [0, 1, 2, 0, 1, 2, 0]);
    }
}
