//! The operations of a round: their kinds, and the records that they choose.

use std::fmt;

use assay_core::random::{draw, mix};

use super::choice::{Chooser, Chosen};
use super::core_workload::CoreWorkload;
use super::zipf::Zipf;
use crate::options::words;

/// The distribution by which records are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// A few records are chosen much more often than others; which ones, is random.
    Zipfian,
    /// Each record is chosen as often as the others.
    Uniform,
    /// Records are chosen the more often, the later they were inserted.
    Latest,
    /// Most operations choose among few records.
    Hotspot,
    /// Records are chosen one after another, and again from the first.
    Sequential,
    /// Records are chosen by age, exponentially distributed.
    Exponential,
}

words!(Distribution {
    Zipfian = "zipfian",
    Uniform = "uniform",
    Latest = "latest",
    Hotspot = "hotspot",
    Sequential = "sequential",
    Exponential = "exponential",
});

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zipfian => "zipfian",
            Self::Uniform => "uniform",
            Self::Latest => "latest",
            Self::Hotspot => "hotspot",
            Self::Sequential => "sequential",
            Self::Exponential => "exponential",
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

/// The kinds in the order in which a draw decides between them.
const DRAWN: [Kind; 5] =
    [Kind::Read, Kind::Update, Kind::Scan, Kind::Insert, Kind::ReadModifyWrite];

/// The parts of a whole mix.
const WHOLE: u64 = 1_000_000_000;

/// The share of each kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mix {
    /// The parts of each kind in the order of [`DRAWN`], with those before it.
    upto: [u64; DRAWN.len()],
}

impl Mix {
    /// Returns the mix with these shares of kinds, which need not add up to one; none if no kind
    /// has a share.
    pub(super) fn of(share: impl Fn(Kind) -> f64) -> Option<Self> {
        let all: f64 = DRAWN.into_iter().map(&share).sum();
        let mut sum = 0.0;
        let upto = DRAWN.map(|kind| {
            sum += share(kind);
            (sum / all * WHOLE as f64).round() as u64
        });
        (all > 0.0 && all.is_finite()).then_some(Self { upto })
    }

    /// Returns the parts of a billion that are of a kind.
    pub(super) fn parts(&self, kind: Kind) -> u64 {
        let at = DRAWN.into_iter().position(|drawn| drawn == kind).unwrap_or_default();
        self.upto[at] - at.checked_sub(1).map_or(0, |before| self.upto[before])
    }

    /// Returns true if some operations are of a kind.
    pub(super) fn has(&self, kind: Kind) -> bool {
        self.parts(kind) > 0
    }

    /// Returns about how many of `operations` are of a kind.
    pub(super) fn expected(&self, kind: Kind, operations: u64) -> u64 {
        (u128::from(operations) * u128::from(self.parts(kind)) / u128::from(WHOLE)) as u64
    }

    /// Returns the kind that a draw decides for.
    fn kind(&self, seed: u64, position: u64) -> Kind {
        let drawn = draw(seed, position, self.upto[DRAWN.len() - 1]);
        let at = self.upto.iter().position(|upto| drawn < *upto).unwrap_or_default();
        DRAWN[at]
    }
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

/// The number of records that a scan asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) least: u64,
    pub(super) most: u64,
    /// True if short ones are more likely, by Zipf's law.
    pub(super) is_zipfian: bool,
}

impl Lengths {
    /// Returns how these lengths are drawn.
    pub(super) fn drawn(self) -> Drawn {
        let Self { least, most, is_zipfian } = self;
        let count = most - least + 1;
        Drawn { least, count, zipf: is_zipfian.then(|| Zipf::new(count)) }
    }
}

/// Lengths that are drawn: of scans, or of fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    least: u64,
    count: u64,
    zipf: Option<Zipf>,
}

impl Drawn {
    /// Returns the length at a position.
    pub(super) fn at(&self, seed: u64, position: u64) -> u64 {
        let above = match &self.zipf {
            Some(zipf) => zipf.number(mix(seed, position)),
            None => draw(seed, position, self.count),
        };
        self.least + above
    }
}

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
    mix: Mix,
    scanned: Drawn,
    pub(super) chooser: Chooser,
    fields: u32,
    seed: u64,
}

impl Operations {
    /// Returns the operations of a round with this seed, with a chooser that any round may have.
    pub(super) fn new(core: &CoreWorkload, chooser: &Chooser, seed: u64) -> Self {
        Self {
            mix: core.mix,
            scanned: core.scanned.drawn(),
            chooser: chooser.with_seed(mix(seed, 1)),
            fields: core.fields,
            seed,
        }
    }

    /// Returns true if the operation at a position is an insert: that does not depend on others.
    pub(super) fn inserts(&self, position: u64) -> bool {
        self.kind(position) == Kind::Insert
    }

    fn kind(&self, position: u64) -> Kind {
        self.mix.kind(mix(self.seed, 0), position)
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
            length: self.scanned.at(mix(self.seed, 3), position),
        }
    }
}
