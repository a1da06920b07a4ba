//! The secondary indexes of a table: creating and dropping them. The steps between, in which one
//! that is created gets the entries of the records, are in `api`.

use std::iter::once;
use std::sync::Arc;

use super::Engine;
use crate::error::{Error, Result};
use crate::schema::{Entries, IndexSchema};
use crate::store::MOST_DEFINITION_BYTES;
use crate::table::{Definition, IndexOf, KeyKind, Secondary, TableCore};
use crate::wal::LogRecord;

/// Returns the error that a table has no index of a name.
pub(crate) fn no_index(table: &TableCore, name: &str) -> Error {
    Error::NoIndex { table: table.schema().name().into(), index: name.into() }
}

impl Engine {
    /// Creates an index that has no entries yet. From then on, writes of records write its entries.
    /// It takes the place of one of its name that was given up.
    pub(crate) fn begin_index(
        &self,
        table: &TableCore,
        index: &IndexSchema,
    ) -> Result<Arc<Secondary>> {
        let entries = Entries::new(table.schema(), index)?;
        let (secondary, end) = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            table.ensure_open()?;
            let of = IndexOf::new(table.id(), index, &entries);
            let schema = entries.schema().clone();
            let definition = self.next_definition(&catalogue, schema, KeyKind::Tree);
            let definitions = vec![definition.of_index(of)];
            let mut given_up = catalogue.indexes_of(table.id());
            given_up.retain(|other| other.is_given_up() && other.name() == index.name());
            catalogue.expect_room(&definitions, &given_up)?;
            let _alone = self.gate.close();
            let (_, end) = self.create_in_place_of(&mut catalogue, &given_up, definitions)?;
            catalogue.list_indexes(table);
            let listed = table.secondaries();
            let secondary = listed.find(index.name()).ok_or_else(|| no_index(table, index.name()));
            Ok((Arc::clone(secondary?), end))
        })?;
        self.settle(end)?;
        Ok(secondary)
    }

    /// Returns what the definitions of a table's indexes say, whether these can be read or not.
    pub(crate) fn indexes_of(&self, table: &TableCore) -> Vec<IndexOf> {
        let all = self.catalogue().indexes_of(table.id());
        all.into_iter().filter_map(|definition| definition.index).collect()
    }

    /// Makes an index ready that has an entry for each record: lookups find them from then on.
    pub(crate) fn end_index(&self, table: &TableCore, secondary: &Secondary) -> Result<()> {
        let end = self.admitted(0, &mut || {
            let _catalogue = self.catalogue_mut();
            self.expect_open()?;
            self.expect_there(table, secondary)?;
            let _alone = self.gate.close();
            let ready = LogRecord::IndexReady { index: secondary.core().id() };
            let end = self.append(once(ready))?;
            secondary.of().make_ready(self.pager.epoch());
            Ok(end)
        })?;
        self.settle(end)
    }

    /// Fails if an index or its table was dropped since.
    pub(crate) fn expect_there(&self, table: &TableCore, secondary: &Secondary) -> Result<()> {
        table.ensure_open()?;
        match secondary.core().ensure_open() {
            Err(Error::NoTable { .. }) => Err(no_index(table, &secondary.of().name)),
            open => open,
        }
    }

    /// Drops an index, whether it can be read or not, whether it is ready or not.
    pub(crate) fn drop_index(&self, table: &TableCore, name: &str) -> Result<()> {
        let end = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            table.ensure_open()?;
            let mut indexes = catalogue.indexes_of(table.id()).into_iter();
            let index = indexes.find(|index| index.name() == name);
            let index = index.ok_or_else(|| no_index(table, name))?;
            let _alone = self.gate.close();
            let (_, end) = self.create_in_place_of(&mut catalogue, &[index], Vec::new())?;
            catalogue.list_indexes(table);
            Ok(end)
        })?;
        self.settle(end)
    }

    /// Ends the building of an index that cannot become ready: from then on no write keeps it. It
    /// is dropped if that is possible now; if not, another of its name takes its place, or the next
    /// opening drops it.
    pub(crate) fn give_up_index(&self, table: &TableCore, secondary: &Secondary) {
        {
            let catalogue = self.catalogue_mut();
            let _alone = self.gate.close();
            secondary.of().give_up();
            catalogue.list_indexes(table);
        }
        let _ = self.drop_given_up(secondary.core().definition());
    }

    /// Drops the indexes and successors that were given up before the database was opened, as far
    /// as that is possible.
    ///
    /// # Errors
    /// `Poisoned`: nothing can be written any more.
    pub(crate) fn drop_unfinished(&self) -> Result<()> {
        let given_up = self.catalogue().given_up();
        for definition in &given_up {
            // After another error it stays, and is in the way of nothing.
            if let Err(error @ Error::Poisoned { .. }) = self.drop_given_up(definition) {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Drops an index or a successor that was given up, unless it is gone: another may have its
    /// name by now.
    pub(super) fn drop_given_up(&self, definition: &Definition) -> Result<()> {
        debug_assert!(definition.is_given_up(), "others are dropped by their names");
        let end = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            if !catalogue.given_up().iter().any(|other| other.id == definition.id) {
                return Ok(None);
            }
            let mut dropped = catalogue.parts_of(definition.id);
            dropped.push(definition.clone());
            let _alone = self.gate.close();
            self.create_in_place_of(&mut catalogue, &dropped, Vec::new()).map(|(_, end)| Some(end))
        })?;
        end.map_or(Ok(()), |end| self.settle(end))
    }

    /// Returns the definitions of an empty table and its indexes, which are ready.
    pub(super) fn with_indexes(
        &self,
        table: Definition,
        indexes: &[IndexSchema],
    ) -> Result<Vec<Definition>> {
        let mut defined = vec![table];
        for index in indexes {
            let full = Error::CatalogueFull { most_bytes: MOST_DEFINITION_BYTES };
            let id = defined[defined.len() - 1].id.next().ok_or(full)?;
            let table = &defined[0];
            let entries = Entries::new(&table.schema, index)?;
            if defined[1..].iter().any(|other| other.name() == index.name()) {
                let table = table.schema.name().into();
                return Err(Error::IndexExists { table, index: index.name().into() });
            }
            let of = IndexOf::new(table.id, index, &entries);
            of.make_ready(self.pager.epoch());
            let seed = self.settings.random();
            let schema = entries.schema().clone();
            let definition = Definition::new(id, KeyKind::Tree, seed, schema, self.storage());
            defined.push(definition.of_index(of));
        }
        Ok(defined)
    }
}
