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

impl Version {
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
        let Protocol { min_reader_version, min_writer_version, .. } = self.protocol;
        if min_reader_version > 1 || min_writer_version > 2 {
            return no(&format!(
                "reader version {min_reader_version} and writer version {min_writer_version}"
            ));
        }
        if self.metadata.format.provider != "parquet" {
            return no(&format!("files of {}", self.metadata.format.provider));
        }
        if !self.metadata.partition_columns.is_empty() {
            return no("partitions");
        }
        if self.property("delta.appendOnly").is_some_and(|is| is.eq_ignore_ascii_case("true")) {
            return no("the property delta.appendOnly");
        }
        // A column's metadata has it; the schema is a text of JSON.
        if self.schema.contains("\"delta.invariants\"") {
            return no("a column with an invariant");
        }
        Ok(())
    }
}
