//! The marker next to a store's files: the content of the store, and its differences from what a
//! run expects.

use std::collections::BTreeMap;
use std::fmt;

use assay_driver::KeyKind;
use serde::{Deserialize, Serialize};

use crate::tape::Population;

const VERSION: u32 = 1;

/// The content of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    version: u32,
    /// The engine that wrote the store.
    pub engine: String,
    /// The engine's version.
    pub engine_version: String,
    /// The engine's settings that shape its files.
    pub engine_options: BTreeMap<String, String>,
    /// The suite that filled the store.
    pub suite: String,
    /// The shape of the records ([`assay_driver::schema::Schema::fingerprint`]).
    pub schema: String,
    /// The rest that decides the records, in the suite's words.
    pub records: String,
    /// The kind of the primary key.
    pub key_kind: KeyKind,
    /// The seed of the records.
    pub seed: u64,
    /// The rows of the store.
    pub population: Population,
    /// True if records were updated since they were inserted.
    pub updated: bool,
    /// True if a run is changing the store, or was when it was stopped.
    pub in_progress: bool,
}

impl Marker {
    /// Makes the marker of a store that is being filled.
    #[expect(clippy::too_many_arguments, reason = "each is a field of its own")]
    pub fn new(
        engine: &str,
        engine_version: &str,
        engine_options: &BTreeMap<String, String>,
        suite: &str,
        schema: String,
        records: String,
        key_kind: KeyKind,
        seed: u64,
    ) -> Self {
        Self {
            version: VERSION,
            engine: engine.into(),
            engine_version: engine_version.into(),
            engine_options: engine_options.clone(),
            suite: suite.into(),
            schema,
            records,
            key_kind,
            seed,
            population: Population::all(0),
            updated: false,
            in_progress: true,
        }
    }

    /// Returns the first difference of `found` from the expected `self`; rows are not compared.
    pub(super) fn difference(&self, found: &Self) -> Option<Difference> {
        if found.version != VERSION {
            return Some(Difference::MarkerVersion(found.version));
        }
        if found.in_progress {
            return Some(Difference::InProgress);
        }
        let differs = [
            (Part::Engine, self.engine != found.engine),
            (Part::Suite, self.suite != found.suite),
            (Part::Schema, self.schema != found.schema),
            (Part::Records, self.records != found.records),
            (Part::KeyType, self.key_kind != found.key_kind),
            (Part::Seed, self.seed != found.seed),
            (Part::EngineSettings, self.engine_options != found.engine_options),
            (Part::EngineVersion, self.engine_version != found.engine_version),
        ];
        let (part, _) = differs.into_iter().find(|(_, differs)| *differs)?;
        Some(Difference::Part { part, expected: self.shown(part), found: found.shown(part) })
    }

    /// Returns a part as messages show it.
    fn shown(&self, part: Part) -> String {
        match part {
            Part::Engine => self.engine.clone(),
            Part::Suite => self.suite.clone(),
            Part::Schema => self.schema.clone(),
            Part::Records => self.records.clone(),
            Part::KeyType => self.key_kind.to_string(),
            Part::Seed => self.seed.to_string(),
            Part::EngineSettings if self.engine_options.is_empty() => "the defaults".into(),
            Part::EngineSettings => {
                let options = self.engine_options.iter();
                let settings: Vec<_> =
                    options.map(|(name, value)| format!("{name}={value}")).collect();
                settings.join(", ")
            }
            Part::EngineVersion => self.engine_version.clone(),
        }
    }
}

/// The difference that a run finds in the store that it is to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The format of the store's marker.
    MarkerVersion(u32),
    /// A run that was stopped has left it half-changed.
    InProgress,
    /// A part that decides the store's files or its records.
    Part {
        /// The part that differs.
        part: Part,
        /// The part's value that the run expects.
        expected: String,
        /// The part's value in the store.
        found: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MarkerVersion(version) => {
                write!(f, "the store here was made by another Assay (marker {version})")
            }
            Self::InProgress => {
                f.write_str("the store here was left half-changed by a run that was stopped")
            }
            Self::Part { part, expected, found } => {
                let other = match part {
                    Part::Records | Part::EngineSettings => "other",
                    _ => "another",
                };
                write!(f, "the store here has {other} {part}: {found}, not {expected}")
            }
        }
    }
}

/// A part of a store that decides its files or its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The engine that wrote the store.
    Engine,
    /// The suite that filled the store.
    Suite,
    /// The shape of the records.
    Schema,
    /// The content of the records.
    Records,
    /// The kind of the primary key.
    KeyType,
    /// The seed of the records.
    Seed,
    /// The engine's settings.
    EngineSettings,
    /// The engine's version.
    EngineVersion,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Engine => "engine",
            Self::Suite => "suite",
            Self::Schema => "schema",
            Self::Records => "records",
            Self::KeyType => "key type",
            Self::Seed => "seed",
            Self::EngineSettings => "engine settings",
            Self::EngineVersion => "engine version",
        })
    }
}
