//! Checkpoints of the log: Parquet files with all actions that count up to a version ("Checkpoints"
//! in the protocol). Those in one file and in several are read, those with sidecars are not: the
//! entries of the log are read instead.

use std::collections::BTreeMap;

use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::actions::Action;
use crate::error::Result;
use crate::files::Files;
use crate::log::LOG;

/// A checkpoint.
pub(crate) struct Checkpoint {
    pub(crate) version: u64,
    /// The names of its files.
    parts: Vec<String>,
}

/// The newest checkpoint of which all files are there.
pub(crate) fn newest(names: &[String]) -> Option<Checkpoint> {
    let mut found: BTreeMap<(u64, usize), Vec<String>> = BTreeMap::new();
    for name in names {
        if let Some((version, parts)) = parts_of(name) {
            found.entry((version, parts)).or_default().push(format!("{LOG}/{name}"));
        }
    }
    let is_whole = |((_, wanted), parts): &((u64, usize), Vec<String>)| parts.len() == *wanted;
    let ((version, _), parts) = found.into_iter().rev().find(is_whole)?;
    Some(Checkpoint { version, parts })
}

/// The version of a file of a checkpoint, and how many files that has.
fn parts_of(name: &str) -> Option<(u64, usize)> {
    let mut words = name.split('.');
    let version = words.next().filter(|digits| digits.len() == 20)?.parse().ok()?;
    let rest: Vec<_> = words.collect();
    match rest[..] {
        ["checkpoint", "parquet"] => Some((version, 1)),
        ["checkpoint", part, parts, "parquet"] if part.len() == 10 => {
            Some((version, parts.parse().ok()?))
        }
        _ => None,
    }
}

/// Calls `take` with all actions of a checkpoint.
pub(crate) fn read(
    files: &Files,
    checkpoint: &Checkpoint,
    take: &mut dyn FnMut(Action),
) -> Result<()> {
    for name in &checkpoint.parts {
        let damaged = |why: String| files.damaged(format!("{name}: {why}"));
        let file = files.fetch(name)?.ok_or_else(|| damaged("it is not there".into()))?;
        let reader = SerializedFileReader::new(file).map_err(|error| damaged(error.to_string()))?;
        let rows = reader.get_row_iter(None).map_err(|error| damaged(error.to_string()))?;
        for row in rows {
            let row = row.map_err(|error| damaged(error.to_string()))?;
            let action = serde_json::from_value(row.to_json_value());
            take(action.map_err(|error| damaged(error.to_string()))?);
        }
    }
    Ok(())
}
