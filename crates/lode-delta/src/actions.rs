//! The actions of the log ("Actions" in the protocol): those that this crate reads or writes, with
//! the members that it needs. Others are left out when they are read: `docs/delta.md` says why for
//! each of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One line of an entry of the log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Action {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta_data: Option<Metadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add: Option<Add>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove: Option<Remove>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_info: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_metadata: Option<CheckpointMetadata>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sidecar: Option<Sidecar>,
}

/// The demands of a table on its readers and writers.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Protocol {
    pub min_reader_version: u32,
    pub min_writer_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader_features: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer_features: Option<Vec<String>>,
}

/// The description of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub format: Format,
    /// The schema; missing in versions that have no columns yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_string: Option<String>,
    pub partition_columns: Vec<String>,
    #[serde(default)]
    pub configuration: BTreeMap<String, Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_time: Option<i64>,
}

/// The encoding of the files of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Format {
    pub provider: String,
    #[serde(default)]
    pub options: BTreeMap<String, Option<String>>,
}

/// A file of the table.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Add {
    /// Below the table, percent-encoded.
    pub path: String,
    pub partition_values: BTreeMap<String, Option<String>>,
    pub size: i64,
    pub modification_time: i64,
    pub data_change: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVector>,
}

/// Identifies a file of a version: its path, and which of its rows are deleted.
pub(crate) type FileKey = (String, Option<String>);

impl Add {
    /// Returns what identifies the file.
    pub(crate) fn key(&self) -> FileKey {
        (self.path.clone(), self.deletion_vector.as_ref().map(DeletionVector::unique_id))
    }

    /// Returns how many rows the Parquet file has, with those that are deleted, if the log says so.
    pub(crate) fn stored_rows(&self) -> Option<u64> {
        let stats: serde_json::Value = serde_json::from_str(self.stats.as_deref()?).ok()?;
        stats.get("numRecords")?.as_u64()
    }

    /// Returns how many rows are deleted.
    pub(crate) fn deleted_rows(&self) -> u64 {
        self.deletion_vector.as_ref().map_or(0, |vector| vector.cardinality)
    }
}

/// A file that is of the table no more.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Remove {
    pub path: String,
    #[serde(default)]
    pub deletion_timestamp: Option<i64>,
    pub data_change: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_file_metadata: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_values: Option<BTreeMap<String, Option<String>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVector>,
}

impl Remove {
    /// Returns what identifies the file.
    pub(crate) fn key(&self) -> FileKey {
        (self.path.clone(), self.deletion_vector.as_ref().map(DeletionVector::unique_id))
    }
}

/// Says where the deleted rows of a file are listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeletionVector {
    /// `i`, `u` or `p`.
    pub storage_type: String,
    pub path_or_inline_dv: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u32>,
    pub size_in_bytes: u32,
    pub cardinality: u64,
}

impl DeletionVector {
    /// Returns the id that the protocol derives for it.
    pub(crate) fn unique_id(&self) -> String {
        let Self { storage_type, path_or_inline_dv, offset, .. } = self;
        let offset = offset.map_or(String::new(), |offset| format!("@{offset}"));
        format!("{storage_type}{path_or_inline_dv}{offset}")
    }
}

/// Says that a checkpoint may have sidecars.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CheckpointMetadata {
    pub version: u64,
}

/// Names a file with more of a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sidecar {
    /// Percent-encoded.
    pub path: String,
    pub size_in_bytes: u64,
}
