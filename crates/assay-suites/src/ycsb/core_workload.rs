//! The workload of a cell: one of the files that ship, with YCSB's properties on top of it.

use std::fmt;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::{Serialize, Serializer};

use super::choice::Skew;
use super::options::Options;
use super::properties::{self, Wrong};
use super::users::STAMP_SIZE;
use super::workload::{Distribution, Kind, Lengths, Mix};
use crate::workload::choice::Choice;
use crate::workload::file;
use crate::workload::sizes::Sizes;
use crate::workload::spec::{self, Until};

/// A workload that ships with the program, as a file of the [workload](crate::workload) suite.
#[derive(Clone, Copy)]
pub struct Workload {
    word: &'static str,
    text: &'static str,
}

const WORKLOADS: [Workload; 7] = [
    Workload { word: "a", text: include_str!("files/a.toml") },
    Workload { word: "b", text: include_str!("files/b.toml") },
    Workload { word: "c", text: include_str!("files/c.toml") },
    Workload { word: "d", text: include_str!("files/d.toml") },
    Workload { word: "e", text: include_str!("files/e.toml") },
    Workload { word: "f", text: include_str!("files/f.toml") },
    Workload::CORE,
];

impl Workload {
    /// The workload that YCSB's property files start from.
    pub const CORE: Self = Self { word: "core", text: include_str!("files/core.toml") };

    /// Returns the workload with a letter, in lower case.
    pub fn of(letter: &str) -> Option<Self> {
        WORKLOADS.into_iter().find(|workload| workload.word == letter)
    }

    /// Returns the six workloads that have letters.
    pub fn lettered() -> impl Iterator<Item = Self> {
        WORKLOADS.into_iter().filter(|workload| *workload != Self::CORE)
    }

    /// Returns the text of the file.
    pub fn text(self) -> &'static str {
        self.text
    }
}

impl ValueEnum for Workload {
    fn value_variants<'a>() -> &'a [Self] {
        &WORKLOADS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.word).hide(*self == Self::CORE))
    }
}

impl PartialEq for Workload {
    fn eq(&self, other: &Self) -> bool {
        self.word == other.word
    }
}

impl Eq for Workload {}

impl Serialize for Workload {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.word)
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.word.to_uppercase())
    }
}

impl fmt::Debug for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The settings of YCSB's `CoreWorkload` in a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoreWorkload {
    pub(super) operations: u64,
    pub(super) mix: Mix,
    pub(super) distribution: Distribution,
    pub(super) skew: Skew,
    pub(super) scanned: Lengths,
    pub(super) fields: u32,
    /// The bytes of fields.
    pub(super) field_lengths: Lengths,
    /// True if an update writes all fields of a record.
    pub(super) writes_all: bool,
    /// True if keys have the order in which records are numbered.
    pub(super) in_order: bool,
}

/// A workload while its properties are read.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) shares: [f64; Kind::ALL.len()],
    pub(super) distribution: Distribution,
    pub(super) skew: Skew,
    pub(super) scanned: Lengths,
    pub(super) records: u64,
    pub(super) operations: u64,
    pub(super) fields_vary: FieldLengths,
    pub(super) least_field: u64,
    pub(super) writes_all: bool,
    pub(super) in_order: bool,
    /// The number of records that are to be loaded, if it is said apart.
    pub(super) loaded: Option<u64>,
}

/// YCSB's distributions of the lengths of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldLengths {
    Constant,
    Uniform,
    Zipfian,
}

/// The records of a scan, if nothing says how many: YCSB's default.
const SCANNED: (u64, u64) = (1, 1_000);

impl Draft {
    /// Returns the workload of a file that ships.
    pub(super) fn of(workload: Workload) -> Self {
        let spec = file::parse(workload.text).expect("files that ship are right");
        let phase = &spec.phases[0];
        let shares = Kind::ALL.map(|kind| phase.mix[spec_kind(kind) as usize]);
        let (least, most) = match phase.scanned {
            Sizes::Uniform(least, most) => (least, most),
            _ => SCANNED,
        };
        let distribution = match phase.choose {
            Choice::Latest => Distribution::Latest,
            Choice::Zipfian(_) => Distribution::Zipfian,
            _ => Distribution::Uniform,
        };
        let operations = match phase.until {
            Until::Operations(count) => count,
            _ => 0,
        };
        Self {
            shares,
            distribution,
            skew: Skew::default(),
            scanned: Lengths { least, most, is_zipfian: false },
            records: spec.records.count,
            operations,
            fields_vary: FieldLengths::Constant,
            least_field: 1,
            writes_all: false,
            in_order: false,
            loaded: None,
        }
    }

    /// Returns the finished workload of a cell with these options.
    pub(super) fn finished(self, options: &Options) -> Result<CoreWorkload, Wrong> {
        let mix = Mix::of(|kind| self.shares[kind as usize]).ok_or_else(|| {
            Wrong::new("readproportion", "no operation has a share; give one of them a proportion")
        })?;
        let Lengths { least, most, .. } = self.scanned;
        if least > most {
            return Err(Wrong::new(
                "minscanlength",
                format!("{least} is more than maxscanlength, {most}; lower it"),
            ));
        }
        let records = options.records.unwrap_or(self.records);
        if self.loaded.is_some_and(|loaded| loaded != records) {
            let why = format!("must be recordcount, {records}: a cell loads all its records");
            return Err(Wrong::new("insertcount", why));
        }
        Ok(CoreWorkload {
            operations: options.operations.unwrap_or(self.operations),
            mix,
            distribution: options.distribution.unwrap_or(self.distribution),
            skew: self.skew,
            scanned: self.scanned,
            fields: options.field_count.unwrap_or(FIELDS),
            field_lengths: self.field_lengths(u64::from(options.field_length()))?,
            writes_all: self.writes_all,
            in_order: self.in_order,
        })
    }

    fn field_lengths(&self, most: u64) -> Result<Lengths, Wrong> {
        let is_zipfian = match self.fields_vary {
            FieldLengths::Constant => return Ok(Lengths { least: most, most, is_zipfian: false }),
            FieldLengths::Uniform => false,
            FieldLengths::Zipfian => true,
        };
        let least = self.least_field;
        if least < STAMP_SIZE as u64 || least > most {
            return Err(Wrong::new(
                "minfieldlength",
                format!(
                    "{least} must be between {STAMP_SIZE}, which say who wrote a field, and \
                     fieldlength, {most}"
                ),
            ));
        }
        Ok(Lengths { least, most, is_zipfian })
    }
}

/// YCSB's default number of fields.
pub(super) const FIELDS: u32 = 10;
/// YCSB's default bytes of a field.
pub(super) const FIELD_BYTES: u32 = 100;

fn spec_kind(kind: Kind) -> spec::Kind {
    match kind {
        Kind::Read => spec::Kind::Read,
        Kind::Update => spec::Kind::Update,
        Kind::Insert => spec::Kind::Insert,
        Kind::Scan => spec::Kind::Scan,
        Kind::ReadModifyWrite => spec::Kind::ReadModifyWrite,
    }
}

impl CoreWorkload {
    /// Returns the workload of a cell.
    pub(super) fn of(options: &Options) -> Result<Self, Wrong> {
        let mut draft = Draft::of(options.workload());
        for property in &options.property {
            properties::say(&mut draft, property)?;
        }
        draft.finished(options)
    }

    /// Returns true if an update is one of the operations.
    pub(super) fn updates(&self) -> bool {
        self.mix.has(Kind::Update) || self.mix.has(Kind::ReadModifyWrite)
    }

    /// Returns how many of the operations are inserts, as YCSB expects them in advance: twice as
    /// many as there will be. That is about what the two rounds of a cell insert together.
    pub(super) fn expected_inserts(&self) -> u64 {
        2 * self.mix.expected(Kind::Insert, self.operations)
    }
}
