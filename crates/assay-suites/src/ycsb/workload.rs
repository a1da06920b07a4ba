//! The six workloads: what share of the operations is of which kind, and which records they
//! choose.

use std::fmt;

use assay_core::random::{draw, mix};
use serde::{Deserialize, Serialize};

use super::zipf::Zipf;

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

    /// How it chooses records unless somebody says otherwise.
    pub fn distribution(self) -> Distribution {
        match self {
            Self::D => Distribution::Latest,
            _ => Distribution::Zipfian,
        }
    }

    /// The kind of an operation, from a uniform draw of 0..100.
    fn kind(self, percent: u64) -> Kind {
        match (self, percent) {
            (Self::A, ..50) | (Self::B | Self::D, ..95) | (Self::C, _) | (Self::F, ..50) => {
                Kind::Read
            }
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

/// The operations of a round: those without inserts are a function of their position alone.
#[derive(Clone, Debug)]
pub(super) struct Operations {
    workload: Workload,
    distribution: Distribution,
    zipf: Option<Zipf>,
    records: u64,
    fields: u32,
    seed: u64,
}

impl Operations {
    pub(super) fn new(
        options: &super::Options,
        records: u64,
        zipf: Option<Zipf>,
        seed: u64,
    ) -> Self {
        let (workload, distribution) = (options.workload, options.distribution);
        Self { workload, distribution, zipf, records, fields: options.field_count, seed }
    }

    /// Whether the operation at a position is an insert: that does not depend on others.
    pub(super) fn inserts(&self, position: u64) -> bool {
        self.kind(position) == Kind::Insert
    }

    fn kind(&self, position: u64) -> Kind {
        self.workload.kind(draw(mix(self.seed, 0), position, 100))
    }

    /// The operation at a position. A thread that has inserted so many records chooses among
    /// those that were loaded and its own; `own` tells the number of its next one, and of any
    /// that it has inserted.
    pub(super) fn at(&self, position: u64, inserted: u64, own: impl Fn(u64) -> u64) -> Operation {
        let kind = self.kind(position);
        let row = match kind {
            Kind::Insert => own(inserted),
            _ => {
                let at = self.chosen(position, self.records + inserted);
                if at < self.records { at } else { own(at - self.records) }
            }
        };
        Operation {
            kind,
            row,
            field: draw(mix(self.seed, 2), position, u64::from(self.fields)) as u32,
            length: 1 + draw(mix(self.seed, 3), position, MOST_SCANNED),
        }
    }

    /// A number below `count`, the higher the later inserted.
    fn chosen(&self, position: u64, count: u64) -> u64 {
        let seed = mix(self.seed, 1);
        match (self.distribution, &self.zipf) {
            (Distribution::Latest, Some(zipf)) => count - 1 - zipf.number(mix(seed, position)),
            (Distribution::Zipfian, Some(zipf)) => zipf.number(mix(seed, position)),
            _ => draw(seed, position, count),
        }
    }
}
