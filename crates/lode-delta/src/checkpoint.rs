//! Checkpoints of the log: all actions that count up to a version ("Checkpoints" in the protocol).
//! They are in one Parquet file, in several, or in a file that may list others, the sidecars.

use std::collections::BTreeMap;
use std::fs::File;

use percent_encoding::percent_decode_str;

use crate::actions::{Action, Sidecar};
use crate::checkpoint_file::actions_of;
use crate::entry::{LOG, actions_in};
use crate::error::Result;
use crate::files::{Files, Spot};

/// The folder of the sidecars.
const SIDECARS: &str = "_delta_log/_sidecars";

/// The characters of a UUID.
const UUID_LENGTH: usize = 36;

/// A checkpoint.
pub(crate) struct Checkpoint {
    pub(crate) version: u64,
    form: Form,
    /// The names of its files.
    parts: Vec<String>,
}

/// The form of the names of a checkpoint's files. Of one version the last is taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    /// A number of parts.
    Parts(u32),
    Classic,
    /// Named by a UUID.
    Named(String),
}

/// Finds the newest checkpoint of which all files are there.
pub(crate) fn newest(names: &[String]) -> Option<Checkpoint> {
    let mut found: BTreeMap<(u64, Form), Vec<String>> = BTreeMap::new();
    for name in names {
        if let Some(place) = form_of(name) {
            found.entry(place).or_default().push(format!("{LOG}/{name}"));
        }
    }
    let is_whole = |((_, form), parts): &((u64, Form), Vec<String>)| match form {
        Form::Parts(wanted) => parts.len() == *wanted as usize,
        Form::Classic | Form::Named(_) => true,
    };
    let ((version, form), mut parts) = found.into_iter().rev().find(is_whole)?;
    parts.sort();
    Some(Checkpoint { version, form, parts })
}

/// Returns the version of a file of a checkpoint, and what it is of it.
fn form_of(name: &str) -> Option<(u64, Form)> {
    let mut words = name.split('.');
    let version = number_of(words.next()?, 20)?;
    let rest: Vec<_> = words.collect();
    let form = match rest[..] {
        ["checkpoint", "parquet"] => Form::Classic,
        ["checkpoint", part, parts, "parquet"] => {
            let part = number_of(part, 10)?;
            let parts = number_of(parts, 10)?;
            (1..=parts).contains(&part).then_some(Form::Parts(u32::try_from(parts).ok()?))?
        }
        ["checkpoint", id, "parquet" | "json"] if id.len() == UUID_LENGTH => Form::Named(id.into()),
        _ => return None,
    };
    Some((version, form))
}

/// Reads a number of a fixed number of digits.
fn number_of(text: &str, digits: usize) -> Option<u64> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// Calls `take` with all actions of a checkpoint that count for readers. Tombstones do not.
pub(crate) fn read(
    files: &Files,
    checkpoint: &Checkpoint,
    take: &mut dyn FnMut(Action),
) -> Result<()> {
    let mut sidecars = Vec::new();
    let mut said = None;
    for name in &checkpoint.parts {
        each_action(files, name, &mut |mut action| {
            said = action.checkpoint_metadata.take().or(said.take());
            sidecars.extend(action.sidecar.take());
            take(action);
        })?;
    }
    let damaged = |why: &str| Err(files.damaged(format!("{}: {why}", checkpoint.parts[0])));
    match (&checkpoint.form, &said) {
        (_, Some(said)) if said.version != checkpoint.version => {
            return damaged(&format!("it is the checkpoint of version {}", said.version));
        }
        (Form::Parts(_), Some(_)) => {
            return damaged("a part of a checkpoint has checkpointMetadata");
        }
        (Form::Named(_), None) => return damaged("it has no checkpointMetadata"),
        _ => {}
    }
    if said.is_none() && !sidecars.is_empty() {
        return damaged("it has sidecars and no checkpointMetadata");
    }
    for sidecar in sidecars {
        read_sidecar(files, &sidecar, take)?;
    }
    Ok(())
}

/// Calls `take` with the files that a sidecar adds.
fn read_sidecar(files: &Files, sidecar: &Sidecar, take: &mut dyn FnMut(Action)) -> Result<()> {
    let path = percent_decode_str(&sidecar.path).decode_utf8_lossy();
    // Whatever folders it names: sidecars are in this one.
    let name = format!("{SIDECARS}/{}", path.rsplit('/').next().unwrap_or_default());
    let file = fetch(files, &name)?;
    let size_bytes = file.metadata().map_or(0, |found| found.len());
    if size_bytes != sidecar.size_in_bytes {
        let said = sidecar.size_in_bytes;
        return Err(files.damaged(format!("{name}: it has {size_bytes} bytes and not {said}")));
    }
    actions_of(file, &["add"], take).map_err(|why| files.damaged(format!("{name}: {why}")))
}

fn each_action(files: &Files, name: &str, take: &mut dyn FnMut(Action)) -> Result<()> {
    if name.ends_with(".json") {
        let content = files.read(name)?.ok_or_else(|| missing(files, name))?;
        actions_in(files, name, content)?.into_iter().for_each(|mut action| {
            action.remove = None;
            take(action);
        });
        return Ok(());
    }
    let members = ["protocol", "metaData", "add", "checkpointMetadata", "sidecar"];
    let read = actions_of(fetch(files, name)?, &members, take);
    read.map_err(|why| files.damaged(format!("{name}: {why}")))
}

fn fetch(files: &Files, name: &str) -> Result<File> {
    files.fetch(&Spot::Below(name.into()))?.ok_or_else(|| missing(files, name))
}

fn missing(files: &Files, name: &str) -> crate::Error {
    files.damaged(format!("{name}: it is not there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_checkpoint_is_one_that_is_whole() {
        let found = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_string()).collect();
            newest(&names).map(|found| (found.version, found.form, found.parts.len()))
        };
        let classic = "00000000000000000001.checkpoint.parquet";
        let part =
            |part: u32| format!("00000000000000000002.checkpoint.{part:010}.0000000002.parquet");
        let named = "00000000000000000003.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json";
        assert_eq!(found(&[classic, &part(1)]), Some((1, Form::Classic, 1)));
        assert_eq!(found(&[classic, &part(1), &part(3)]), Some((1, Form::Classic, 1)));
        assert_eq!(found(&[classic, &part(1), &part(2)]), Some((2, Form::Parts(2), 2)));
        let id = "80a083e8-7026-4e79-81be-64bd76c43a11".to_string();
        assert_eq!(found(&[classic, named]), Some((3, Form::Named(id), 1)));
        assert_eq!(found(&["00000000000000000001.json", "1.checkpoint.parquet"]), None);
    }
}
