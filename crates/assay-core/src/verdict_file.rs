//! Files of verdicts: what tests found out about engines, kept next to the run files.

use std::fmt;
use std::io;
use std::path::Path;

use program_support::given_file;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A larger file is not read: a verdict has a few kilobytes.
const MOST_BYTES: u64 = 64 << 20;

/// A verdict that is kept in a file.
pub trait Kept: Serialize + DeserializeOwned {
    /// The name of the file's format.
    const FORMAT: &'static str;
    /// The version of the format that this Assay writes and reads.
    const SCHEMA_VERSION: u32;
    /// The command that writes such files.
    const COMMAND: &'static str;
}

/// A file of verdicts of one kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct VerdictFile<V> {
    format: String,
    schema_version: u32,
    /// The verdicts.
    pub verdicts: Vec<V>,
}

impl<V: Kept> Default for VerdictFile<V> {
    fn default() -> Self {
        let format = V::FORMAT.into();
        let schema_version = V::SCHEMA_VERSION;
        Self { format, schema_version, verdicts: Vec::new() }
    }
}

impl<V: Kept> VerdictFile<V> {
    /// Returns true if a file is of this kind, of this schema version or another.
    pub fn is_at(path: &Path) -> bool {
        let front = given_file::read(path, MOST_BYTES).ok();
        let front = front.and_then(|text| serde_json::from_slice::<Front>(&text).ok());
        front.is_some_and(|front| front.format == V::FORMAT)
    }

    /// Reads a file of verdicts; a missing file gives an empty list.
    ///
    /// # Errors
    /// In one line: if the file cannot be read, or is not of this kind and version.
    pub fn load(path: &Path) -> Result<Self, String> {
        let said = |why: &dyn fmt::Display| format!("{}: {why}", path.display());
        let text = match given_file::read(path, MOST_BYTES) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            other => other.map_err(|e| said(&e))?,
        };
        let foreign = format!("not a file of verdicts that `{}` wrote; move it away", V::COMMAND);
        let front: Front = serde_json::from_slice(&text).map_err(|_| said(&foreign))?;
        if front.format != V::FORMAT {
            return Err(said(&foreign));
        }
        if front.schema_version != V::SCHEMA_VERSION {
            return Err(said(&format!(
                "verdicts of schema version {}, this Assay reads version {}; move them away",
                front.schema_version,
                V::SCHEMA_VERSION
            )));
        }
        serde_json::from_slice(&text).map_err(|_| said(&foreign))
    }
}

/// The fields of a file of every kind and schema version.
#[derive(Deserialize)]
struct Front {
    format: String,
    schema_version: u32,
}
