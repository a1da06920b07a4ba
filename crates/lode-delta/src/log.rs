//! The log of a table: what it says together of the files that a version has ("Action
//! Reconciliation" in the protocol).

use std::collections::{BTreeMap, BTreeSet};

use lode::Position;
use serde::Deserialize;

use crate::actions::{Action, Add, FileKey, Metadata, Protocol, Remove};
use crate::checkpoint;
use crate::entry::{LOG, actions_in};
use crate::error::Result;
use crate::files::Files;

/// A version of a table.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) number: u64,
    pub(crate) protocol: Protocol,
    pub(crate) metadata: Metadata,
    /// The text of its schema.
    pub(crate) schema: String,
    /// The version's files, in the order of their paths.
    pub(crate) files: BTreeMap<FileKey, Add>,
}

/// Returns the name of an entry of the log.
pub(crate) fn entry_name(version: u64) -> String {
    format!("{LOG}/{version:020}.json")
}

/// The knowledge of a version while its log is read.
#[derive(Default)]
struct State {
    protocol: Option<Protocol>,
    metadata: Option<Metadata>,
    files: BTreeMap<FileKey, Add>,
}

impl State {
    fn take(&mut self, action: Action) {
        self.protocol = action.protocol.or(self.protocol.take());
        self.metadata = action.meta_data.or(self.metadata.take());
        if let Some(remove) = action.remove {
            self.files.remove(&remove.key());
        }
        if let Some(add) = action.add {
            self.files.insert(add.key(), add);
        }
    }

    /// Takes the actions of an entry, whatever their order is: those that remove come first.
    fn take_entry(&mut self, actions: Vec<Action>) {
        let (added, others): (Vec<_>, Vec<_>) =
            actions.into_iter().partition(|action| action.add.is_some());
        others.into_iter().chain(added).for_each(|action| self.take(action));
    }
}

/// Returns the newest version of a table; `None` if the table is missing.
pub(crate) fn newest(files: &Files) -> Result<Option<Version>> {
    // This file is written after the version that it names, so it is read before the names.
    let last = last_checkpoint(files)?;
    let names = files.list(LOG)?;
    let entries: BTreeSet<u64> = names.iter().filter_map(|name| entry_of(name)).collect();
    let checkpoint = checkpoint::newest(&names);
    let Some(newest) = entries.last().copied().max(checkpoint.as_ref().map(|found| found.version))
    else {
        return if names.is_empty() {
            Ok(None)
        } else {
            Err(files.damaged("its log has neither an entry nor a whole checkpoint"))
        };
    };
    if let Some(last) = last.filter(|last| *last > newest) {
        let why = format!("its log ends with version {newest}; {LAST} names version {last}");
        return Err(files.damaged(why));
    }
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
        let actions = actions_in(files, &name, content)?;
        expect_legal(&actions).map_err(|why| files.damaged(format!("{name}: {why}")))?;
        state.take_entry(actions);
    }
    let none = |what: &str| files.damaged(format!("its log has no {what}"));
    let protocol = state.protocol.ok_or_else(|| none("protocol"))?;
    let mut metadata = state.metadata.ok_or_else(|| none("schema"))?;
    let schema = metadata.schema_string.take().ok_or_else(|| none("schema"))?;
    let version = Version { number: newest, protocol, metadata, schema, files: state.files };
    expect_whole(files, &version)?;
    Ok(Some(version))
}

/// The member of `commitInfo` that has the position in the database of Lode after all changes of
/// the version.
pub(crate) const POSITION: &str = "lodePosition";

/// The member of `commitInfo` that has the name of the table that was exported.
pub(crate) const TABLE: &str = "lodeTable";

/// Returns the position in the database up to which a version has all changes of a table, if an
/// export of it wrote that: this version, or one before, and since then files were only written
/// anew.
pub(crate) fn position(files: &Files, version: u64, table: &str) -> Result<Option<Position>> {
    for version in (0..=version).rev() {
        let name = entry_name(version);
        // Old entries are removed once a checkpoint has what they say.
        let Some(content) = files.read(&name)? else { return Ok(None) };
        let actions = actions_in(files, &name, content)?;
        let info = actions.iter().find_map(|action| action.commit_info.as_ref());
        let text = |member: &str| info?.get(member)?.as_str();
        if let Some(position) = text(POSITION) {
            let is_of_table = text(TABLE) == Some(table);
            return Ok(position.parse().ok().filter(|_| is_of_table));
        }
        let changes_data = |action: &Action| {
            action.add.as_ref().is_some_and(|add| add.data_change)
                || action.remove.as_ref().is_some_and(|remove| remove.data_change)
        };
        if actions.iter().any(changes_data) {
            return Ok(None);
        }
    }
    Ok(None)
}

/// Returns the version of an entry of that name.
fn entry_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    let is_entry = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_entry.then(|| digits.parse().ok())?
}

/// Refuses an entry whose actions contradict each other: which of them counts is not said.
fn expect_legal(actions: &[Action]) -> Result<(), String> {
    if actions.iter().any(|action| action.sidecar.is_some() || action.checkpoint_metadata.is_some())
    {
        return Err("it has actions that only checkpoints have".into());
    }
    for (kind, count) in [
        ("protocol", actions.iter().filter(|action| action.protocol.is_some()).count()),
        ("metaData", actions.iter().filter(|action| action.meta_data.is_some()).count()),
    ] {
        if count > 1 {
            return Err(format!("it has {count} actions {kind}"));
        }
    }
    let mut added = BTreeMap::new();
    let mut removed = BTreeSet::new();
    for action in actions {
        if let Some(add) = &action.add
            && added.insert(&add.path, add.key()).is_some()
        {
            return Err(format!("file {} is added twice", add.path));
        }
        removed.extend(action.remove.as_ref().map(Remove::key));
    }
    match added.values().find(|key| removed.contains(key)) {
        Some((path, _)) => Err(format!("file {path} is both added and removed")),
        None => Ok(()),
    }
}

/// The file that names the last checkpoint.
const LAST: &str = "_last_checkpoint";

/// Returns the version of the last checkpoint that the log names. Its other members only say where
/// to look, and all names are looked at here.
fn last_checkpoint(files: &Files) -> Result<Option<u64>> {
    #[derive(Deserialize)]
    struct Last {
        version: u64,
    }
    let content = files.read(&format!("{LOG}/{LAST}"))?;
    let last = content.and_then(|content| serde_json::from_slice::<Last>(&content).ok());
    Ok(last.map(|last| last.version))
}

/// Refuses a version whose files contradict each other, or what the checksum of the version says
/// ("Version Checksum File" in the protocol). One that is cut off says nothing.
fn expect_whole(files: &Files, version: &Version) -> Result<()> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Checksum {
        num_files: i64,
        table_size_bytes: i64,
        num_deletion_vectors_opt: Option<i64>,
        num_deleted_records_opt: Option<i64>,
    }
    let paths = version.files.keys().map(|(path, _)| path);
    if let Some((path, _)) = paths.clone().zip(paths.skip(1)).find(|(one, next)| one == next) {
        return Err(files.damaged(format!("file {path} is there with two deletion vectors")));
    }
    let name = format!("{LOG}/{:020}.crc", version.number);
    let content = files.read(&name)?;
    let Some(said) = content.and_then(|content| serde_json::from_slice::<Checksum>(&content).ok())
    else {
        return Ok(());
    };
    let all = || version.files.values();
    let vectors = all().filter(|add| add.deletion_vector.is_some()).count() as i64;
    let deleted = all().map(|add| add.deleted_rows() as i64).sum::<i64>();
    for (what, found, said) in [
        ("files", all().count() as i64, Some(said.num_files)),
        ("bytes", all().map(|add| add.size).sum::<i64>(), Some(said.table_size_bytes)),
        ("deletion vectors", vectors, said.num_deletion_vectors_opt),
        ("deleted records", deleted, said.num_deleted_records_opt),
    ] {
        if let Some(said) = said.filter(|said| *said != found) {
            let why = format!("{name} says that there are {said} {what}; its log has {found}");
            return Err(files.damaged(why));
        }
    }
    Ok(())
}
