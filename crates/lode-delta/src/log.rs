//! The log of a table: what it says together of the files that a version has ("Action
//! Reconciliation" in the protocol).

use std::collections::{BTreeMap, BTreeSet};

use crate::actions::{Action, Add, Metadata, Protocol};
use crate::checkpoint;
use crate::error::{Error, Result};
use crate::files::Files;

/// The folder of the log.
pub(crate) const LOG: &str = "_delta_log";

/// A version of a table.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) number: u64,
    pub(crate) protocol: Protocol,
    pub(crate) metadata: Metadata,
    /// Its files, by their paths.
    pub(crate) files: BTreeMap<String, Add>,
}

/// The name of an entry of the log.
pub(crate) fn entry_name(version: u64) -> String {
    format!("{LOG}/{version:020}.json")
}

/// What is known of a version while its log is read.
#[derive(Default)]
struct State {
    protocol: Option<Protocol>,
    metadata: Option<Metadata>,
    files: BTreeMap<String, Add>,
}

impl State {
    fn take(&mut self, action: Action) {
        self.protocol = action.protocol.or(self.protocol.take());
        self.metadata = action.meta_data.or(self.metadata.take());
        if let Some(remove) = action.remove {
            self.files.remove(&remove.path);
        }
        if let Some(add) = action.add {
            self.files.insert(add.path.clone(), add);
        }
    }
}

/// The newest version of a table; `None` if there is no table.
pub(crate) fn newest(files: &Files) -> Result<Option<Version>> {
    let names = files.list(LOG)?;
    let entries: BTreeSet<u64> = names.iter().filter_map(|name| entry_of(name)).collect();
    let checkpoint = checkpoint::newest(&names);
    let Some(newest) = entries.last().copied().max(checkpoint.as_ref().map(|found| found.version))
    else {
        return match names.is_empty() {
            true => Ok(None),
            false => Err(files.damaged("its log has neither an entry nor a whole checkpoint")),
        };
    };
    let mut state = State::default();
    let first = match &checkpoint {
        None => 0,
        Some(found) => {
            checkpoint::read(files, found, &mut |action| state.take(action))?;
            found.version + 1
        }
    };
    for version in first..=newest {
        let name = entry_name(version);
        let missing = || files.damaged(format!("entry {version} of its log is not there"));
        let content = files.read(&name)?.ok_or_else(missing)?;
        let content =
            String::from_utf8(content).map_err(|_| files.damaged(format!("{name} is no UTF-8")))?;
        // In one entry a file may be removed and added; those that are added count.
        let actions = content.lines().filter(|line| !line.trim().is_empty());
        let actions = actions.map(|line| {
            serde_json::from_str(line).map_err(|error| files.damaged(format!("{name}: {error}")))
        });
        let actions: Vec<Action> = actions.collect::<Result<_>>()?;
        let (added, others): (Vec<_>, Vec<_>) =
            actions.into_iter().partition(|action| action.add.is_some());
        others.into_iter().chain(added).for_each(|action| state.take(action));
    }
    let none = |what: &str| files.damaged(format!("its log has no {what}"));
    Ok(Some(Version {
        number: newest,
        protocol: state.protocol.ok_or_else(|| none("protocol"))?,
        metadata: state.metadata.ok_or_else(|| none("schema"))?,
        files: state.files,
    }))
}

/// The version of an entry of that name.
fn entry_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    let is_entry = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_entry.then(|| digits.parse().ok())?
}

/// Features that a table may name and that change nothing for a reader of tables whose files have
/// none of it. What files may have is looked at file by file.
const HARMLESS: [&str; 6] = [
    "appendOnly",
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "vacuumProtocolCheck",
    "v2Checkpoint",
];

impl Version {
    /// Refuses what this crate does not read.
    pub(crate) fn expect_readable(&self, place: &str) -> Result<()> {
        let no = |what: &str| {
            Err(Error::Unsupported { place: place.into(), what: what.into(), verb: "read" })
        };
        if self.protocol.min_reader_version > 3 {
            return no(&format!("reader version {}", self.protocol.min_reader_version));
        }
        let features = self.protocol.reader_features.iter().flatten();
        if let Some(other) = features.into_iter().find(|name| !HARMLESS.contains(&&name[..])) {
            return no(&format!("the feature {other}"));
        }
        let mapping = self.metadata.configuration.get("delta.columnMapping.mode");
        if mapping.and_then(Option::as_deref).is_some_and(|mode| mode != "none") {
            return no("columns that have other names in its files (column mapping)");
        }
        if self.metadata.format.provider != "parquet" {
            return no(&format!("files of {}", self.metadata.format.provider));
        }
        if self.files.values().any(|file| file.deletion_vector.is_some()) {
            return no("deletion vectors (REORG TABLE … APPLY (PURGE) removes them)");
        }
        Ok(())
    }

    /// Refuses what this crate does not replace: a table that asks more of a writer than it does.
    pub(crate) fn expect_replaceable(&self, place: &str) -> Result<()> {
        let no = |what: &str| {
            Err(Error::Unsupported { place: place.into(), what: what.into(), verb: "replace" })
        };
        let Protocol { min_reader_version, min_writer_version, .. } = self.protocol;
        if (min_reader_version, min_writer_version) > (1, 2) {
            return no(&format!(
                "reader version {min_reader_version} and writer version {min_writer_version}"
            ));
        }
        if !self.metadata.partition_columns.is_empty() {
            return no("partitions");
        }
        let append_only = self.metadata.configuration.get("delta.appendOnly");
        if append_only.and_then(Option::as_deref) == Some("true") {
            return no("the property delta.appendOnly");
        }
        Ok(())
    }
}
