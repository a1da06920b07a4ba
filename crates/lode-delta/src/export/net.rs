//! The changes of a table since a position, put together: of each record that changed, only the
//! last.

use std::collections::BTreeMap;

use lode::{Change, Changes, Database, Error as LodeError, Position, Schema};

use super::changes::WhyWhole;
use crate::error::{Error, Result};

/// Bytes that a record takes in memory besides its own and those of its key, about.
const ENTRY_BYTES: usize = 96;

/// The records of a table that have changed since a position.
pub(super) struct NetChanges {
    /// The records as they are since, by their packed keys; `None` if they were deleted.
    pub(super) records: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// True if something has changed, in any table.
    has_commits: bool,
    /// The changes, which were read to their end.
    changes: Changes,
}

impl NetChanges {
    /// Reads the changes of a table since a position, or says why they do not lead from there to
    /// the table as it is.
    pub(super) fn read(
        db: &Database,
        schema: &Schema,
        since: Position,
        most_bytes: u64,
        stop: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Result<Self, WhyWhole>> {
        let mut changes = match db.changes(since) {
            Ok(changes) => changes,
            Err(error) => return unknown(error),
        };
        let name = schema.name();
        let mut records = BTreeMap::new();
        let mut bytes = 0;
        let mut has_commits = false;
        for commit in changes.by_ref() {
            let commit = match commit {
                Ok(commit) => commit,
                Err(error) => return unknown(error),
            };
            has_commits = true;
            for change in commit.changes {
                let row = match change {
                    Change::Row(row) if row.table().name() == name => row,
                    Change::CreateTable { table } | Change::DropTable { table }
                        if table.name() == name =>
                    {
                        return Ok(Err(WhyWhole::Redefined));
                    }
                    Change::AlterTable { before, after }
                        if [before.name(), after.name()].contains(&name) =>
                    {
                        return Ok(Err(WhyWhole::Redefined));
                    }
                    _ => continue,
                };
                let key = row.key().to_vec();
                let key_bytes = key.len() + ENTRY_BYTES;
                let record = row.after_bytes().map(<[u8]>::to_vec);
                bytes += key_bytes + record.as_ref().map_or(0, Vec::len);
                if let Some(before) = records.insert(key, record) {
                    bytes -= key_bytes + before.map_or(0, |before| before.len());
                }
                if bytes as u64 > most_bytes {
                    return Ok(Err(WhyWhole::TooMany { most_bytes }));
                }
            }
            if stop(0) {
                return Err(Error::Interrupted);
            }
        }
        Ok(Ok(Self { records, has_commits, changes }))
    }

    /// Returns true if nothing has changed, neither in the table nor elsewhere.
    pub(super) fn has_nothing(&self) -> bool {
        !self.has_commits
    }

    /// Returns the position after the changes.
    pub(super) fn reached(&self) -> Position {
        self.changes.reached()
    }

    /// Makes the changes durable in the database, so that no crash takes back what a copy has.
    pub(super) fn sync(&mut self) -> Result<()> {
        self.changes.sync().map_err(of_lode)
    }

    /// Returns the packed records that are there since.
    pub(super) fn written(&self) -> impl Iterator<Item = &[u8]> {
        self.records.values().flatten().map(Vec::as_slice)
    }
}

/// Says why the changes are not known, or passes on another error.
fn unknown<T>(error: LodeError) -> Result<Result<T, WhyWhole>> {
    match error {
        LodeError::ChangesGone { .. } => Ok(Err(WhyWhole::Gone)),
        LodeError::OtherPosition { .. } => Ok(Err(WhyWhole::OtherPosition)),
        LodeError::Corrupt { .. } => Ok(Err(WhyWhole::Damaged)),
        other => Err(of_lode(other)),
    }
}

/// Turns an error of the engine into one of this crate.
pub(super) fn of_lode(error: LodeError) -> Error {
    Error::Arrow(error.into())
}
