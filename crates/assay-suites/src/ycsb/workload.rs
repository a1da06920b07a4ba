//! The six workloads: the share of each kind of operation, and the records that they choose.

use std::fmt;

use assay_core::random::{draw, mix};
use assay_driver::Change;

use super::choice::{Chooser, Chosen};
use crate::options::words;

/// A core workload of YCSB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Half reads, half updates.
    A,
    /// 95 % reads, 5 % updates.
    B,
    /// Reads.
    C,
    /// 95 % reads of late records, 5 % inserts.
    D,
    /// 95 % scans of up to 100 records, 5 % inserts.
    E,
    /// Half reads, half reads with an update of the record.
    F,
}

words!(Workload { A = "a", B = "b", C = "c", D = "d", E = "e", F = "f", });

impl Workload {
    /// Returns the default distribution of the workload.
    pub fn distribution(self) -> Distribution {
        match self {
            Self::D => Distribution::Latest,
            _ => Distribution::Zipfian,
        }
    }

    /// Returns true if it has operations that need this change of records.
    pub(super) fn needs(self, change: Change) -> bool {
        let mut kinds = (0..100).map(|percent| self.kind(percent));
        change == Change::Update && kinds.any(Kind::writes_a_field)
    }

    /// Returns true if some of its operations insert records.
    pub(super) fn inserts(self) -> bool {
        (0..100).any(|percent| self.kind(percent) == Kind::Insert)
    }

    /// Returns how many of `operations` are inserts, as YCSB expects them in advance: twice as many
    /// as there will be. That is about what the two rounds of a cell insert together.
    pub(super) fn expected_inserts(self, operations: u64) -> u64 {
        let percent = (0..100).filter(|&percent| self.kind(percent) == Kind::Insert).count() as u64;
        2 * (u128::from(operations) * u128::from(percent) / 100) as u64
    }

    /// Returns the kind of an operation, from a uniform draw of 0..100.
    fn kind(self, percent: u64) -> Kind {
        match (self, percent) {
            (Self::A | Self::F, ..50) | (Self::B | Self::D, ..95) | (Self::C, _) => Kind::Read,
            (Self::A | Self::B, _) => Kind::Update,
            (Self::D, _) => Kind::Insert,
            (Self::E, ..95) => Kind::Scan,
            (Self::E, _) => Kind::Insert,
            (Self::F, _) => Kind::ReadModifyWrite,
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The distribution by which records are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// A few records are chosen much more often than others; which ones, is random.
    Zipfian,
    /// Each record is chosen as often as the others.
    Uniform,
    /// Records are chosen the more often, the later they were inserted.
    Latest,
}

words!(Distribution { Zipfian = "zipfian", Uniform = "uniform", Latest = "latest", });

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zipfian => "zipfian",
            Self::Uniform => "uniform",
            Self::Latest => "latest",
        })
    }
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

impl Kind {
    pub(super) const ALL: [Self; 5] =
        [Self::Read, Self::Update, Self::Insert, Self::Scan, Self::ReadModifyWrite];

    /// Returns the name that YCSB gives the kind.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Update => "UPDATE",
            Self::Insert => "INSERT",
            Self::Scan => "SCAN",
            Self::ReadModifyWrite => "READ-MODIFY-WRITE",
        }
    }

    pub(super) fn writes_a_field(self) -> bool {
        matches!(self, Self::Update | Self::ReadModifyWrite)
    }
}

/// The most records of a scan.
pub(super) const MOST_SCANNED: u64 = 100;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    /// The record; for an insert, the number of the new one.
    pub(super) row: u64,
    /// The field that is written.
    pub(super) field: u32,
    /// The number of records that a scan wants.
    pub(super) length: u64,
}

/// The records that a thread can choose among: the loaded ones, and its own.
pub(super) struct Seen<'s> {
    pub(super) chooser: &'s mut Chooser,
    /// The number of loaded records.
    pub(super) loaded: u64,
    /// The number of records that the thread has inserted.
    pub(super) inserted: u64,
    pub(super) threads: u32,
    pub(super) thread: usize,
}

impl Seen<'_> {
    /// Returns the number of the record that the thread inserts as its `nth`.
    fn own(&self, nth: u64) -> u64 {
        own_row(self.loaded, self.threads, self.thread, nth)
    }

    /// Returns the record for the operation at a position.
    fn choose(&mut self, position: u64) -> u64 {
        let loaded = self.loaded;
        let inserted = self.inserted;
        let threads = u64::from(self.threads);
        let thread = self.thread as u64;
        let is_there = |row: u64| {
            let after = row.wrapping_sub(loaded);
            row < loaded || (after % threads == thread && after / threads < inserted)
        };
        match self.chooser.choose(position, loaded + inserted - 1, is_there) {
            Chosen::Row(row) => row,
            Chosen::Nth(nth) if nth < loaded => nth,
            Chosen::Nth(nth) => self.own(nth - loaded),
        }
    }
}

/// Returns the number of the record that a thread inserts as its `nth`: threads take turns.
pub(super) fn own_row(loaded: u64, threads: u32, thread: usize, nth: u64) -> u64 {
    loaded + nth * u64::from(threads) + thread as u64
}

/// The operations of a round: those without inserts are a function of their position alone.
#[derive(Clone, Debug)]
pub(super) struct Operations {
    workload: Workload,
    pub(super) chooser: Chooser,
    fields: u32,
    seed: u64,
}

impl Operations {
    /// Returns the operations of a round with this seed, with a chooser that any round may have.
    pub(super) fn new(options: &super::Options, chooser: &Chooser, seed: u64) -> Self {
        Self {
            workload: options.workload(),
            chooser: chooser.with_seed(mix(seed, 1)),
            fields: options.field_count,
            seed,
        }
    }

    /// Returns true if the operation at a position is an insert: that does not depend on others.
    pub(super) fn inserts(&self, position: u64) -> bool {
        self.kind(position) == Kind::Insert
    }

    fn kind(&self, position: u64) -> Kind {
        self.workload.kind(draw(mix(self.seed, 0), position, 100))
    }

    /// Returns the operation at a position, by a thread that has seen these records.
    pub(super) fn at(&self, position: u64, seen: &mut Seen<'_>) -> Operation {
        let kind = self.kind(position);
        let row = match kind {
            Kind::Insert => seen.own(seen.inserted),
            _ => seen.choose(position),
        };
        Operation {
            kind,
            row,
            field: draw(mix(self.seed, 2), position, u64::from(self.fields)) as u32,
            length: 1 + draw(mix(self.seed, 3), position, MOST_SCANNED),
        }
    }
}
