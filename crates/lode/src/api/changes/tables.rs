//! The tables of a database at a position among its changes.

use std::collections::{HashMap, HashSet};

use super::change::{Change, ChangedTable};
use crate::codec::Reader;
use crate::error::{Error, Result};
use crate::schema::{IndexSchema, Schema};
use crate::table::{Definition, IndexOf};
use crate::wal::{Feed, Keyed, LogPosition, LogRecord, TableId};

/// The tables and indexes at a position, by their numbers.
pub(super) struct Tables(HashMap<TableId, Known>);

/// A table or an index.
enum Known {
    Table(ChangedTable),
    /// A successor that has not taken its place.
    Successor(ChangedTable),
    Index {
        of: IndexOf,
        is_ready: bool,
    },
}

/// Later facts of the log about tables that exist before.
#[derive(Default)]
struct Later {
    /// Definitions that tables and indexes have until they are dropped or redefined.
    past: Vec<Definition>,
    taking_place: HashSet<TableId>,
    becoming_ready: HashSet<TableId>,
}

fn restored(definition: &[u8]) -> Result<Definition> {
    Definition::restore(&mut Reader::new(definition, "the definition of a table in the log"))
}

fn corrupt(why: String) -> Error {
    Error::corrupt("a record of the log", why)
}

impl Later {
    /// Looks through the log up to a position, or to its end. Writers may append for ever.
    fn find(mut ahead: Feed, until: LogPosition) -> Result<Self> {
        let mut later = Self::default();
        while ahead.place().position < until
            && ahead
                .next(|records| records.iter().try_for_each(|record| later.note(record)))?
                .is_some()
        {}
        Ok(later)
    }

    fn note(&mut self, record: &LogRecord<'_>) -> Result<()> {
        match *record {
            LogRecord::Definition { definition } => self.past.push(restored(definition)?),
            LogRecord::TakePlace { successor } => drop(self.taking_place.insert(successor)),
            LogRecord::IndexReady { index } => drop(self.becoming_ready.insert(index)),
            _ => {}
        }
        Ok(())
    }
}

impl Tables {
    /// Returns the tables at the position of a reader, given the definitions of a later moment, and
    /// a position `after` it. It may have some that are created after the position of the reader.
    pub(super) fn at(feed: &Feed, defined: Vec<Definition>, after: LogPosition) -> Result<Self> {
        let later = Later::find(feed.ahead()?, after)?;
        let mut tables = Self(HashMap::new());
        // The first one of a table in the log is the one at the position.
        for definition in defined.into_iter().chain(later.past.into_iter().rev()) {
            let id = definition.id;
            let is_successor =
                later.taking_place.contains(&id) || definition.predecessor().is_some();
            let is_ready = !later.becoming_ready.contains(&id);
            tables.define(definition, is_successor, is_ready);
        }
        Ok(tables)
    }

    fn define(&mut self, definition: Definition, is_successor: bool, may_be_ready: bool) {
        let id = definition.id;
        let known = match &definition.index {
            Some(of) => {
                let is_ready = may_be_ready && of.is_ready();
                Known::Index { of: of.clone(), is_ready }
            }
            None if is_successor => Known::Successor(ChangedTable::new(definition)),
            None => Known::Table(ChangedTable::new(definition)),
        };
        self.0.insert(id, known);
    }

    /// Returns the changes of the records of a frame that a user of the database sees.
    pub(super) fn take(&mut self, records: &[LogRecord<'_>]) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        let mut before = None;
        for record in records {
            match *record {
                LogRecord::Before { payload, .. } => {
                    before = Some(payload);
                    continue;
                }
                LogRecord::Put { table, record } => {
                    changes.extend(self.row(table, record, before, true)?);
                }
                LogRecord::Delete { table, key } => {
                    changes.extend(self.row(table, key, before, false)?);
                }
                LogRecord::Patch { table, bytes, .. } => {
                    if self.row(table, bytes, None, false)?.is_some() {
                        let why = format!("it does not say what was before, in table {}", table.0);
                        return Err(corrupt(why));
                    }
                }
                LogRecord::CreateTable { definition } => {
                    changes.extend(self.create(restored(definition)?));
                }
                LogRecord::DropTable { table } => self.drop(table, &mut changes)?,
                LogRecord::IndexReady { index } => changes.extend(self.make_ready(index)?),
                LogRecord::TakePlace { successor } => self.take_place(successor, &mut changes)?,
                LogRecord::Redefine { table, schema } => {
                    let mut reader = Reader::new(schema, "a schema in the log");
                    self.redefine(table, Schema::restore(&mut reader)?, &mut changes)?;
                }
                LogRecord::Expired { .. } | LogRecord::Definition { .. } => {}
            }
            before = None;
        }
        Ok(changes)
    }

    fn known(&self, id: TableId) -> Result<&Known> {
        let known = self.0.get(&id);
        known.ok_or_else(|| corrupt(format!("it names table {}, and there is none", id.0)))
    }

    /// Returns the change of a record; `None` if it is of no table that users see.
    fn row(
        &self,
        id: TableId,
        record: Keyed<'_>,
        before: Option<&[u8]>,
        is_put: bool,
    ) -> Result<Option<Change>> {
        let Known::Table(table) = self.known(id)? else { return Ok(None) };
        let (key, payload) = record.split(|bytes| table.split(bytes))?;
        let change = table.row_change(key, before, is_put.then_some(payload));
        if before.is_none() && !is_put {
            return Err(corrupt(format!("it deletes a record that table {} has not", id.0)));
        }
        Ok(Some(Change::Row(change?)))
    }

    fn create(&mut self, definition: Definition) -> Option<Change> {
        let id = definition.id;
        let is_successor = definition.predecessor().is_some();
        self.define(definition, is_successor, true);
        match self.0.get(&id)? {
            Known::Table(table) => Some(Change::CreateTable { table: table.clone() }),
            Known::Index { .. } => self.created_index(id),
            Known::Successor(_) => None,
        }
    }

    /// Returns the index with a number and its table, if it is ready and users see that.
    fn index(&self, id: TableId) -> Option<(ChangedTable, IndexSchema)> {
        let Known::Index { of, is_ready: true } = self.0.get(&id)? else { return None };
        let Known::Table(table) = self.0.get(&of.owner)? else { return None };
        Some((table.clone(), of.described(table.schema()).ok()?))
    }

    fn created_index(&self, id: TableId) -> Option<Change> {
        self.index(id).map(|(table, index)| Change::CreateIndex { table, index })
    }

    fn make_ready(&mut self, id: TableId) -> Result<Option<Change>> {
        self.known(id)?;
        if let Some(Known::Index { is_ready, .. }) = self.0.get_mut(&id) {
            *is_ready = true;
        }
        Ok(self.created_index(id))
    }

    fn drop(&mut self, id: TableId, changes: &mut Vec<Change>) -> Result<()> {
        self.known(id)?;
        changes.extend(self.index(id).map(|(table, index)| Change::DropIndex { table, index }));
        if let Some(Known::Table(dropped)) = self.0.remove(&id) {
            // Its indexes were dropped before it.
            changes.retain(
                |change| !matches!(change, Change::DropIndex { table, .. } if *table == dropped),
            );
            changes.push(Change::DropTable { table: dropped });
        }
        Ok(())
    }

    fn take_place(&mut self, id: TableId, changes: &mut Vec<Change>) -> Result<()> {
        let (Some(Known::Successor(after)), Some(Change::DropTable { table: before })) =
            (self.0.remove(&id), changes.pop())
        else {
            return Err(corrupt(format!("table {} takes the place of none", id.0)));
        };
        self.0.insert(id, Known::Table(after.clone()));
        self.alter(before, after, changes);
        Ok(())
    }

    /// Gives a table or an index another schema.
    fn redefine(&mut self, id: TableId, schema: Schema, changes: &mut Vec<Change>) -> Result<()> {
        // The schema of an index follows from that of its table.
        let Known::Table(before) = self.known(id)? else { return Ok(()) };
        let before = before.clone();
        let after = before.redefined(schema)?;
        self.0.insert(id, Known::Table(after.clone()));
        self.alter(before, after, changes);
        Ok(())
    }

    /// Adds the change of an altered table, and those of its indexes.
    fn alter(&self, before: ChangedTable, after: ChangedTable, changes: &mut Vec<Change>) {
        let id = after.id();
        changes.push(Change::AlterTable { before, after });
        let mut indexes: Vec<_> = self.0.keys().copied().collect();
        indexes.sort_unstable();
        let own = indexes.into_iter().filter_map(|index| self.index(index));
        let own = own.filter(|(table, _)| table.id() == id);
        changes.extend(own.map(|(table, index)| Change::CreateIndex { table, index }));
    }
}
