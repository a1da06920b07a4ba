//! Writing a version by what has changed since the one before: files with the new records, and
//! deletion vectors for the old ones.

use std::fmt;

use lode::{Database, Table};
use lode_arrow::{Scan, arrow_schema, batches_of};
use serde_json::json;

use super::net::{NetChanges, of_lode};
use super::old_rows::{self, OldRows};
use super::{ChangesEnd, Export, ExportOptions, Exported, add, info, remove};
use crate::actions::{Action, Add};
use crate::deletion::VectorFile;
use crate::error::{Error, Result};
use crate::files::Files;
use crate::location::Location;
use crate::log::{self, Version};
use crate::read::DeltaTable;
use crate::schema;

/// The result of an export of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangesExported {
    /// A version with the changes since the one before.
    Changes {
        /// The version of the Delta table.
        version: u64,
        /// The number of records that were inserted or replaced.
        written: u64,
        /// The number of records that were deleted.
        deleted: u64,
    },
    /// A version with all records.
    Whole {
        /// The version.
        exported: Exported,
        /// The reason why it has not only the changes; `None` for the first version.
        why: Option<WhyWhole>,
    },
    /// No version: nothing has changed in the database.
    Nothing {
        /// The newest version, which has all records.
        version: u64,
    },
}

/// The reason why an export of changes wrote all records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyWhole {
    /// The version before is not of an export of the changes of this table.
    NoPosition,
    /// The Delta table has no deletion vectors or no change data feed.
    SwitchedOff,
    /// The changes since the version before are not kept any more.
    Gone,
    /// The changes since the version before are damaged.
    Damaged,
    /// The version before is of another database, or has changes that a crash has taken back.
    OtherPosition,
    /// The table was created, cleared, renamed or altered since the version before.
    Redefined,
    /// The changed records have more bytes than [`ExportOptions::changes_bytes`].
    TooMany {
        /// The bytes.
        most_bytes: u64,
    },
}

impl fmt::Display for WhyWhole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPosition => {
                f.write_str("the version before is not of an export of this table's changes")
            }
            Self::SwitchedOff => {
                f.write_str("the Delta table had no deletion vectors or no change data feed")
            }
            Self::Gone => f.write_str("the changes since the version before are not kept any more"),
            Self::Damaged => f.write_str("the changes since the version before are damaged"),
            Self::OtherPosition => f.write_str(
                "the version before is of another database, or of changes that a crash took back",
            ),
            Self::Redefined => f.write_str("the table was created or altered since"),
            Self::TooMany { most_bytes } => {
                write!(f, "the changed records have more than {most_bytes} bytes")
            }
        }
    }
}

/// The columns that readers of a change data feed get besides those of the table.
const FEED_COLUMNS: [&str; 3] = ["_change_type", "_commit_version", "_commit_timestamp"];

/// Writes what has changed in a table since the newest version of a Delta table as its next
/// version. All records are written if there is no version yet, or if the changes since are not
/// known: the result says why. The database has to keep its changes
/// ([`keep_changes`](lode::Options::keep_changes)).
///
/// The table then has deletion vectors and a change data feed, so its readers need version 3 of the
/// protocol. Each export adds a file; `OPTIMIZE` of other programs, or [`export`](super::export),
/// makes few of many. An expired record is deleted in a later version, once the database has
/// removed it. `stop` gets the number of rows so far, and returns true to stop.
///
/// ```
/// use lode::{KeyKind, Options, Schema, Type};
/// use lode_delta::{ChangesExported, ExportOptions, Location, export_changes};
///
/// let folder = tempfile::tempdir()?;
/// let db = Options::new().keep_changes(1 << 20).create_new(folder.path().join("db"))?;
/// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
/// let bytes = db.create_table(&schema, KeyKind::Tree)?;
/// bytes.insert(&[7, 3])?;
/// bytes.insert(&[8, 1])?;
///
/// let target = folder.path().join("bytes");
/// let location = Location::parse(target.to_str().expect("a plain name"))?;
/// let export = || {
///     export_changes(&location, &db, &bytes, &ExportOptions::default(), &mut |_| false)
/// };
/// let whole = export()?;
/// assert!(matches!(whole, ChangesExported::Whole { why: None, .. }));
///
/// bytes.insert(&[9, 2])?;
/// bytes.delete(8)?;
/// assert_eq!(export()?, ChangesExported::Changes { version: 1, written: 1, deleted: 1 });
/// assert_eq!(export()?, ChangesExported::Nothing { version: 1 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`export`](super::export); `ReservedName`; `Arrow` with `ChangesNotKept`, and with the errors
/// of [`changes`](Database::changes).
pub fn export_changes(
    location: &Location,
    db: &Database,
    table: &Table,
    options: &ExportOptions,
    stop: &mut dyn FnMut(u64) -> bool,
) -> Result<ChangesExported> {
    // The scan is of this moment or later. Changes that it has already do no harm: each says what a
    // record is after it.
    let position = db.position().map_err(of_lode)?;
    expect_free_names(location, table)?;
    Export::new(location, options)?.run(|export| {
        let before = log::newest(&export.files)?;
        let net = match &before {
            None => Err(None),
            Some(before) => export.net(before, db, table, stop)?.map_err(Some),
        };
        match (net, before) {
            (Ok(net), Some(before)) => export.changed(location, before, table, net, stop),
            (net, before) => {
                let why = net.err().flatten();
                // The scan may have changes that are not durable.
                let durable = &mut || db.flush().map_err(of_lode);
                let exported =
                    export.whole(before, Scan::of(table), Some(position), durable, stop)?;
                Ok(ChangesExported::Whole { exported, why })
            }
        }
    })
}

/// Refuses columns whose names readers of a change data feed use.
fn expect_free_names(location: &Location, table: &Table) -> Result<()> {
    let is_used = |column: &&lode::Column| {
        FEED_COLUMNS.iter().any(|used| column.name.eq_ignore_ascii_case(used))
    };
    match table.schema().columns().iter().find(is_used) {
        None => Ok(()),
        Some(column) => Err(Error::ReservedName {
            place: location.shown().into(),
            column: column.name.as_str().into(),
        }),
    }
}

impl Export {
    /// Returns the changes since a version, or says why they are not known.
    fn net(
        &self,
        before: &Version,
        db: &Database,
        table: &Table,
        stop: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Result<NetChanges, WhyWhole>> {
        let position = log::position(&self.files, before.number, table.schema().name())?;
        match position {
            None => Ok(Err(WhyWhole::NoPosition)),
            Some(_) if !before.has_changes() => Ok(Err(WhyWhole::SwitchedOff)),
            Some(position) => {
                let most_bytes = self.options.changes_bytes;
                NetChanges::read(db, table.schema(), position, most_bytes, stop)
            }
        }
    }

    /// Writes changes as the version after `before`.
    fn changed(
        &mut self,
        location: &Location,
        before: Version,
        table: &Table,
        mut net: NetChanges,
        stop: &mut dyn FnMut(u64) -> bool,
    ) -> Result<ChangesExported> {
        let stored = schema::stored(&arrow_schema(table.schema()));
        self.expect_same_columns(&before, &stored)?;
        let version = before.number + 1;
        if net.has_nothing() {
            return Ok(ChangesExported::Nothing { version: before.number });
        }
        let keys = old_rows::key_schema(table.schema())?;
        let names: Vec<_> = keys.columns().iter().map(|column| column.name.clone()).collect();
        let no_table = || Error::NoTable { place: location.shown().into() };
        let files = Files::new(location.store()?.ok_or_else(no_table)?)?;
        let stored_table = DeltaTable::of(files, before, Some(&names))?;
        let old = old_rows::find(&stored_table, &keys, &net, stop)?;
        let mut written = 0;
        for batch in batches_of(table.schema(), net.written()) {
            let batch = batch?;
            self.write(&batch, &stored)?;
            written += batch.num_rows() as u64;
            if stop(written) {
                return Err(Error::Interrupted);
            }
        }
        self.end_file(&stored)?;
        let replaced = self.without(&old.files)?;
        let deleted = old.deleted;
        let operation = if replaced.is_empty() { "WRITE" } else { "MERGE" };
        let end = ChangesEnd { table: table.schema().name(), position: net.reached() };
        let mut actions = vec![info(operation, json!({ "mode": "Append" }), Some(&end))];
        actions.extend(replaced);
        actions.extend(self.added.iter().cloned().map(add));
        net.sync()?;
        self.commit(version, &actions)?;
        Ok(ChangesExported::Changes { version, written, deleted })
    }

    /// Returns the actions that delete rows of files, and writes the deletion vectors for them.
    fn without(&mut self, old: &[OldRows<'_>]) -> Result<Vec<Action>> {
        let mut vectors = VectorFile::new();
        let mut actions = Vec::new();
        for OldRows { file, rows, deleted } in old {
            actions.push(remove((*file).clone()));
            if deleted.len() < *rows {
                actions.push(add(Add {
                    data_change: true,
                    deletion_vector: Some(vectors.add(deleted)),
                    stats: Some(wide_stats(file.stats.as_deref(), *rows)),
                    ..(*file).clone()
                }));
            }
        }
        if let Some((name, bytes)) = vectors.finish() {
            self.put(name, bytes)?;
        }
        Ok(actions)
    }
}

/// Returns the statistics of a file some of whose rows are deleted: its bounds are those of all its
/// rows. They have the number of all rows, which a file with a deletion vector must say.
fn wide_stats(stats: Option<&str>, rows: u64) -> String {
    let stats = stats.and_then(|stats| serde_json::from_str::<serde_json::Value>(stats).ok());
    let mut stats = stats.filter(serde_json::Value::is_object).unwrap_or_else(|| json!({}));
    stats["numRecords"] = rows.into();
    stats["tightBounds"] = false.into();
    stats.to_string()
}
