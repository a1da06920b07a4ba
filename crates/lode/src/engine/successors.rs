//! Creates the successor of a table, and has it take the table's place. The steps between, which
//! copy the records, are in `api`.

use std::iter::once;
use std::sync::Arc;

use super::Engine;
use crate::error::{Error, Result};
use crate::schema::{IndexSchema, Schema};
use crate::store::Catalogue;
use crate::table::{Definition, IndexOf, KeyKind, SuccessorOf, TableCore};
use crate::wal::LogRecord;

/// Writers wait while the keys of records that are to be copied again take more bytes: otherwise
/// they could be quicker for ever. It is room for some 1,600 short keys.
const MOST_WATCHED_BYTES: usize = 1 << 16;

impl Engine {
    /// Creates a successor of a table without records, and has writers of the table note the keys
    /// of the records that they write.
    pub(crate) fn begin_successor(
        &self,
        table: &TableCore,
        schema: &Schema,
        kind: KeyKind,
        indexes: &[IndexSchema],
    ) -> Result<Arc<TableCore>> {
        self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            table.ensure_open()?;
            expect_free(&catalogue, table, schema.name())?;
            let of = SuccessorOf::new(table.id());
            let definition = self.next_definition(&catalogue, schema.clone(), kind);
            let definitions = self.with_indexes(definition.of_successor(of), indexes)?;
            let mut given_up = catalogue.parts_of(table.id());
            given_up.retain(|part| part.owner() != Some(table.id()));
            catalogue.expect_room(&definitions, &given_up)?;
            let _alone = self.gate.close();
            let (mut cores, _) = self.create_in_place_of(&mut catalogue, &given_up, definitions)?;
            debug_assert_eq!(cores.len(), 1 + indexes.len(), "a successor has its indexes");
            let successor = cores.swap_remove(0);
            catalogue.list_indexes(&successor);
            table.begin_watch(MOST_WATCHED_BYTES);
            Ok(successor)
        })
    }

    /// Has a successor take the place of its table, which is dropped, in one step: the log has all
    /// of it or nothing. Calls `complete` before, with the gate closed. Returns false, and nothing
    /// has happened, if that does.
    ///
    /// # Errors
    /// Those of `complete`; `Conflict` when the table has other indexes than the successor by now;
    /// `TableExists`, `NoTable`; `Poisoned`.
    pub(crate) fn end_successor(
        &self,
        table: &TableCore,
        successor: &TableCore,
        complete: &mut dyn FnMut() -> Result<bool>,
    ) -> Result<bool> {
        debug_assert_eq!(successor.definition().predecessor(), Some(table.id()));
        let end = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            table.ensure_open()?;
            successor.ensure_open()?;
            expect_free(&catalogue, table, successor.schema().name())?;
            let _alone = self.gate.close();
            self.expect_healthy()?;
            if !complete()? {
                return Ok(None);
            }
            let is_ready = |part: &&Definition| part.index.as_ref().is_some_and(IndexOf::is_ready);
            let ready = |all: &[Definition]| all.iter().filter(is_ready).count();
            let mut dropped = catalogue.indexes_of(table.id());
            if ready(&dropped) != ready(&catalogue.indexes_of(successor.id())) {
                return Err(Error::Conflict { table: table.schema().name().into() });
            }
            dropped.push(table.definition().clone());
            let drops =
                dropped.iter().map(|definition| LogRecord::DropTable { table: definition.id });
            let place = LogRecord::TakePlace { successor: successor.id() };
            let past = self.past_of(&dropped);
            let past = past.iter().map(|definition| LogRecord::Definition { definition });
            let end = self.append(past.chain(drops).chain(once(place)))?;
            let all = &mut *catalogue;
            dropped.iter().for_each(|definition| all.drop(&self.pager, definition));
            all.take_place(successor.definition(), self.pager.epoch());
            table.end_watch();
            Ok(Some(end))
        })?;
        let Some(end) = end else { return Ok(false) };
        self.settle(end).map(|()| true)
    }

    /// Ends the making of a successor that cannot take its place. It is dropped if that is possible
    /// now; if not, another one takes its place, or the next opening drops it.
    pub(crate) fn give_up_successor(&self, table: &TableCore, successor: &TableCore) {
        {
            let _catalogue = self.catalogue_mut();
            let _alone = self.gate.close();
            let of = successor.definition().as_successor();
            of.into_iter().for_each(SuccessorOf::give_up);
            table.end_watch();
        }
        if successor.definition().is_given_up() {
            let _ = self.drop_given_up(successor.definition());
        }
    }
}

/// Refuses a name that another table has.
fn expect_free(catalogue: &Catalogue, table: &TableCore, name: &str) -> Result<()> {
    let other = catalogue.table(name).map(|other| other.id());
    if other.is_none_or(|other| other == table.id()) && catalogue.damaged_table(name).is_none() {
        return Ok(());
    }
    Err(Error::TableExists { table: name.into() })
}
