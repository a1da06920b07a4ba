//! The six workloads: what share of the operations is of which kind, and which records they
//! choose.

use std::fmt;

use assay_core::random::{draw, mix};
use assay_driver::Change;
use serde::{Deserialize, Serialize};

use super::choice::{Chooser, Chosen};

/// One of the core workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Half reads, half reads with an update of what was read.
    F,
}

impl Workload {
    /// All six.
    pub const ALL: [Self; 6] = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F];

    /// How it chooses records unless an option says otherwise.
    pub fn distribution(self) -> Distribution {
        match self {
            Self::D => Distribution::Latest,
            _ => Distribution::Zipfian,
        }
    }

    /// Whether it has operations that need this change of records.
    pub(super) fn needs(self, change: Change) -> bool {
        let mut kinds = (0..100).map(|percent| self.kind(percent));
        change == Change::Update && kinds.any(Kind::writes_a_field)
    }

    /// Whether some of its operations insert records.
    pub(super) fn inserts(self) -> bool {
        (0..100).any(|percent| self.kind(percent) == Kind::Insert)
    }

    /// How many of `operations` are inserts, as YCSB expects them before it knows: twice as many
    /// as there will be. That is about what the two rounds of a cell insert together.
    pub(super) fn expected_inserts(self, operations: u64) -> u64 {
        let percent = (0..100).filter(|&percent| self.kind(percent) == Kind::Insert).count() as u64;
        2 * (u128::from(operations) * u128::from(percent) / 100) as u64
    }

    /// The kind of an operation, from a uniform draw of 0..100.
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

/// How records are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// A few records much more often than others; which ones, is random.
    Zipfian,
    /// Each as often as the others.
    Uniform,
    /// The later inserted, the more often.
    Latest,
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zipfian => "zipfian",
            Self::Uniform => "uniform",
            Self::Latest => "latest",
        })
    }
}

/// What an operation does.
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

    /// The name that YCSB gives it.
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

/// The longest scan.
pub(super) const MOST_SCANNED: u64 = 100;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    /// The record; for an insert, the number of the new one.
    pub(super) row: u64,
    /// The field that is written.
    pub(super) field: u32,
    /// Records that a scan wants.
    pub(super) length: u64,
}

/// The records that a thread can choose among: those that were loaded, and its own.
pub(super) struct Seen<'s> {
    pub(super) chooser: &'s mut Chooser,
    /// How many records were loaded.
    pub(super) loaded: u64,
    /// How many records the thread has inserted.
    pub(super) inserted: u64,
    pub(super) threads: u32,
    pub(super) thread: usize,
}

impl Seen<'_> {
    /// The number of the record that the thread inserts as its `nth`.
    fn own(&self, nth: u64) -> u64 {
        own_row(self.loaded, self.threads, self.thread, nth)
    }

    /// The record for the operation at a position.
    fn choose(&mut self, position: u64) -> u64 {
        let (loaded, inserted, threads) = (self.loaded, self.inserted, u64::from(self.threads));
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

/// The number of the record that a thread inserts as its `nth`: threads take turns.
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
    /// The operations of a round with this seed, with a chooser that any round may have.
    pub(super) fn new(options: &super::Options, chooser: &Chooser, seed: u64) -> Self {
        Self {
            workload: options.workload,
            chooser: chooser.with_seed(mix(seed, 1)),
            fields: options.field_count,
            seed,
        }
    }

    /// Whether the operation at a position is an insert: that does not depend on others.
    pub(super) fn inserts(&self, position: u64) -> bool {
        self.kind(position) == Kind::Insert
    }

    fn kind(&self, position: u64) -> Kind {
        self.workload.kind(draw(mix(self.seed, 0), position, 100))
    }

    /// The operation at a position, by a thread that has seen these records.
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
