//! The demands of a version on readers and on writers ("Table Features" in the protocol).

use crate::actions::Protocol;
use crate::error::{Error, Result};
use crate::log::Version;

/// The demands on readers that this crate meets.
const READ: [&str; 7] = [
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
];

/// The property that says how columns are found in files.
const MAPPING: &str = "delta.columnMapping.mode";

/// The feature of that property.
const MAPPING_FEATURE: &str = "columnMapping";

/// The way to find the columns of a table in its files ("Column Mapping" in the protocol).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapping {
    /// Columns found by the names that they have in the table.
    None,
    /// Columns found by other names, which the schema has.
    Name,
    /// Columns found by the numbers of the fields of Parquet.
    Id,
}

/// The features of a table whose versions may be written by what changed, for readers and for
/// writers.
const CHANGES_READ: [&str; 1] = ["deletionVectors"];
const CHANGES_WRITTEN: [&str; 4] =
    ["appendOnly", "changeDataFeed", "deletionVectors", "invariants"];

/// The properties that switch these features on.
const CHANGES_PROPERTIES: [&str; 2] = ["delta.enableChangeDataFeed", "delta.enableDeletionVectors"];

/// Returns the properties of a table whose versions may be written by what changed.
pub(crate) fn changes_properties() -> impl Iterator<Item = (String, Option<String>)> {
    CHANGES_PROPERTIES.into_iter().map(|name| (name.into(), Some("true".into())))
}

impl Protocol {
    /// Returns what Lode asks of readers and writers of a table: what all of them have.
    pub(crate) fn plain() -> Self {
        let (reader_features, writer_features) = Default::default();
        Self { min_reader_version: 1, min_writer_version: 2, reader_features, writer_features }
    }

    /// Returns what Lode asks if versions may be written by what changed.
    pub(crate) fn with_changes() -> Self {
        let texts = |names: &[&str]| Some(names.iter().copied().map(String::from).collect());
        Self {
            min_reader_version: 3,
            min_writer_version: 7,
            reader_features: texts(&CHANGES_READ),
            writer_features: texts(&CHANGES_WRITTEN),
        }
    }
}

impl Version {
    /// Returns true if the next version may be written by what changed.
    pub(crate) fn has_changes(&self) -> bool {
        let has = |found: &Option<Vec<String>>, wanted: &[&str]| {
            let found = found.iter().flatten();
            wanted.iter().all(|wanted| found.clone().any(|found| found == wanted))
        };
        let Protocol { reader_features, writer_features, .. } = &self.protocol;
        has(reader_features, &CHANGES_READ)
            && has(writer_features, &CHANGES_WRITTEN)
            && CHANGES_PROPERTIES.iter().all(|name| self.is_true(name))
    }

    /// Returns true if a property of the table is switched on.
    fn is_true(&self, name: &str) -> bool {
        self.property(name).is_some_and(|is| is.eq_ignore_ascii_case("true"))
    }

    /// Returns the value of a property of the table.
    fn property(&self, name: &str) -> Option<&str> {
        self.metadata.configuration.get(name)?.as_deref()
    }

    /// Refuses what this crate does not read.
    pub(crate) fn expect_readable(&self, place: &str) -> Result<()> {
        let no = |what: &str| {
            Err(Error::Unsupported { place: place.into(), what: what.into(), verb: "read" })
        };
        let Protocol { min_reader_version, reader_features, .. } = &self.protocol;
        if *min_reader_version > 3 {
            return no(&format!("reader version {min_reader_version}"));
        }
        if *min_reader_version == 3 && reader_features.is_none() {
            let why = "its protocol has reader version 3 and no readerFeatures";
            return Err(Error::Damaged { place: place.into(), why: why.into() });
        }
        let features = reader_features.iter().flatten();
        if let Some(other) = features.into_iter().find(|name| !READ.contains(&&name[..])) {
            return no(&format!("the feature {other}"));
        }
        if self.metadata.format.provider != "parquet" {
            return no(&format!("files of {}", self.metadata.format.provider));
        }
        self.mapping(place).map(drop)
    }

    /// Returns how columns are found in files. The property counts only if the protocol has it.
    pub(crate) fn mapping(&self, place: &str) -> Result<Mapping> {
        let Protocol { min_reader_version, reader_features, .. } = &self.protocol;
        let mut features = reader_features.iter().flatten();
        let counts = match min_reader_version {
            0 | 1 => false,
            2 => true,
            _ => features.any(|name| name == MAPPING_FEATURE),
        };
        let mode = self.property(MAPPING).filter(|_| counts).map(str::to_ascii_lowercase);
        match mode.as_deref() {
            None | Some("none") => Ok(Mapping::None),
            Some("name") => Ok(Mapping::Name),
            Some("id") => Ok(Mapping::Id),
            Some(other) => Err(Error::Unsupported {
                place: place.into(),
                what: format!("the property {MAPPING} with {other:?}").into(),
                verb: "read",
            }),
        }
    }

    /// Refuses what this crate does not replace: a table that asks more of a writer than it does.
    pub(crate) fn expect_replaceable(&self, place: &str) -> Result<()> {
        let no = |what: &str| {
            Err(Error::Unsupported { place: place.into(), what: what.into(), verb: "replace" })
        };
        let Protocol { min_reader_version: reader, min_writer_version: writer, .. } = self.protocol;
        match (reader, writer) {
            (..=1, ..=2) => {}
            (1 | 3, 7) => {
                let Protocol { reader_features, writer_features, .. } = &self.protocol;
                let mut features = reader_features.iter().chain(writer_features).flatten();
                let is_other = |name: &&String| !CHANGES_WRITTEN.contains(&name.as_str());
                if let Some(other) = features.find(is_other) {
                    return no(&format!("the feature {other}"));
                }
            }
            _ => return no(&format!("reader version {reader} and writer version {writer}")),
        }
        if self.metadata.format.provider != "parquet" {
            return no(&format!("files of {}", self.metadata.format.provider));
        }
        if !self.metadata.partition_columns.is_empty() {
            return no("partitions");
        }
        if self.is_true("delta.appendOnly") {
            return no("the property delta.appendOnly");
        }
        // A column's metadata has it; the schema is a text of JSON.
        if self.schema.contains("\"delta.invariants\"") {
            return no("a column with an invariant");
        }
        Ok(())
    }
}
