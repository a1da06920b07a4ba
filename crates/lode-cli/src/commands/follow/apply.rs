//! Has commits of a database happen in its copy.

use std::collections::BTreeMap;

use lode::{
    Alteration, Change, ChangedTable, Changes, Commit, Error, IndexSchema, Position, RowChange,
    Transaction,
};

use super::replica::{NOTE, Replica};

/// Bytes of records that are written together, if no single commit has more.
const MOST_BYTES: usize = 1 << 20;

/// The step after a batch.
pub(super) enum Next {
    /// There may be more.
    More,
    /// All was read.
    Nothing,
    /// A table was altered, and its records with it. The batch has all before that.
    Alteration,
}

/// The last state of a record: what it is, or that it is deleted.
type Rows = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// Commits that happen together in the copy.
#[derive(Default)]
pub(super) struct Batch {
    /// The changed records by their tables and keys.
    rows: BTreeMap<String, Rows>,
    /// The position after them; `None` if there is no commit of records.
    rows_at: Option<Position>,
    bytes: usize,
    /// Changes of tables and indexes, which come after the records; and the position after them.
    definitions: Option<(Vec<Change>, Position)>,
}

impl Batch {
    /// Returns the position after it; `None` if it has no commit.
    pub(super) fn position(&self) -> Option<Position> {
        self.definitions.as_ref().map(|(_, position)| *position).or(self.rows_at)
    }

    /// Reads commits into it, until it has enough of them.
    pub(super) fn fill(&mut self, changes: &mut Changes) -> Result<Next, Error> {
        while self.bytes < MOST_BYTES {
            let Some(commit) = changes.next().transpose()? else { return Ok(Next::Nothing) };
            if commit.changes.iter().any(changes_records) {
                return Ok(Next::Alteration);
            }
            self.add(commit);
            if self.definitions.is_some() {
                break;
            }
        }
        Ok(Next::More)
    }

    /// Adds a commit: it is of records, or of tables and indexes.
    fn add(&mut self, Commit { position, changes, .. }: Commit) {
        let mut definitions = Vec::new();
        for change in changes {
            match change {
                Change::Row(row) => self.add_row(&row),
                other => definitions.push(other),
            }
        }
        if definitions.is_empty() {
            self.rows_at = Some(position);
        } else {
            self.definitions = Some((definitions, position));
        }
    }

    fn add_row(&mut self, row: &RowChange) {
        let table = row.table().name();
        if table == NOTE {
            // The database is a copy itself.
            return;
        }
        let key = row.key().to_vec();
        let after = row.after_bytes().map(<[u8]>::to_vec);
        self.bytes += 2 * key.len() + after.as_ref().map_or(0, Vec::len);
        self.rows.entry(table.into()).or_default().insert(key, after);
    }
}

impl Replica {
    /// Has a batch happen: its records and their position in one commit. What is done after that is
    /// done anew if this process ends before the position of it is noted.
    pub(super) fn apply(&self, batch: Batch) -> Result<(), Error> {
        if let Some(position) = batch.rows_at {
            self.write(&batch.rows, position)?;
        }
        if let Some((changes, position)) = batch.definitions {
            changes.iter().try_for_each(|change| self.define(change))?;
            self.note(position)?;
        }
        Ok(())
    }

    fn write(&self, rows: &BTreeMap<String, Rows>, position: Position) -> Result<(), Error> {
        // A record that expires during the transaction is a conflict.
        self.db().transact(|transaction| self.write_in(transaction, rows, position))
    }

    fn write_in(
        &self,
        transaction: &Transaction,
        rows: &BTreeMap<String, Rows>,
        position: Position,
    ) -> Result<(), Error> {
        for (name, rows) in rows {
            let table = self.db().table(name)?;
            if table.indexes()?.iter().any(IndexSchema::is_unique) {
                // Others may get the values that these have.
                rows.keys().try_for_each(|key| transaction.delete(&table, &key[..]).map(drop))?;
            }
            for (key, after) in rows {
                match after {
                    Some(record) => transaction.upsert(&table, record)?,
                    None => transaction.delete(&table, &key[..])?,
                };
            }
        }
        self.note_in(transaction, position)
    }

    /// Changes a table or an index. It may have been done before.
    fn define(&self, change: &Change) -> Result<(), Error> {
        match change {
            Change::CreateTable { table } if table.name() != NOTE => {
                self.drop_table(table.name())?;
                self.db().create_table(table.schema(), table.key_kind()).map(drop)
            }
            Change::DropTable { table } if table.name() != NOTE => self.drop_table(table.name()),
            Change::AlterTable { before, after } => self.redefine(before, after),
            Change::CreateIndex { table, index } => {
                match self.db().table(table.name())?.create_index(index) {
                    Err(Error::IndexExists { .. }) => Ok(()),
                    created => created,
                }
            }
            Change::DropIndex { table, index } => {
                match self.db().table(table.name())?.drop_index(index.name()) {
                    Err(Error::NoIndex { .. }) => Ok(()),
                    dropped => dropped,
                }
            }
            _ => Ok(()),
        }
    }

    /// Gives a table other names and its columns more room.
    fn redefine(&self, before: &ChangedTable, after: &ChangedTable) -> Result<(), Error> {
        let found = self.db().table(before.name()).or_else(|_| self.db().table(after.name()))?;
        if found.schema() == after.schema() {
            return Ok(());
        }
        self.db().alter_table(before.name(), &alteration(before, after)).map(drop)
    }

    fn drop_table(&self, name: &str) -> Result<(), Error> {
        match self.db().drop_table(name) {
            Err(Error::NoTable { .. }) => Ok(()),
            dropped => dropped,
        }
    }
}

/// Returns true if a change is that of all records of a table, which it does not list.
fn changes_records(change: &Change) -> bool {
    matches!(change, Change::AlterTable { before, after } if !after.keeps_records_of(before))
}

/// Returns the changes of a table that keeps its records.
fn alteration(before: &ChangedTable, after: &ChangedTable) -> Alteration<'static> {
    // No column has such a long name, so columns can exchange theirs.
    let between = |at: usize| format!("{at:>300}");
    let both = || before.schema().columns().iter().zip(after.schema().columns()).enumerate();
    let renamed = || both().filter(|(_, (before, after))| before.name != after.name);
    let mut changes = Alteration::new().rename_table(after.name());
    for (at, (before, _)) in renamed() {
        changes = changes.rename_column(&before.name, &between(at));
    }
    for (at, (_, after)) in renamed() {
        changes = changes.rename_column(&between(at), &after.name);
    }
    for (_, (before, after)) in both() {
        if before.kind != after.kind {
            changes = changes.change_type(&after.name, after.kind);
        }
    }
    changes
}
