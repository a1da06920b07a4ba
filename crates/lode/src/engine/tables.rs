//! The tables of a database: listing, creating and dropping them.

use std::sync::Arc;

use super::{CheckReport, Engine};
use crate::codec::Writer;
use crate::error::{Error, Result};
use crate::schema::{IndexSchema, Schema};
use crate::store::{Catalogue, MOST_DEFINITION_BYTES};
use crate::table::{Definition, KeyKind, Secondary, Storage, TableCore};
use crate::wal::{LogPosition, LogRecord};

impl Engine {
    pub(crate) fn table(&self, name: &str) -> Result<Arc<TableCore>> {
        self.expect_here()?;
        let catalogue = self.catalogue();
        self.expect_open()?;
        if let Some((.., why)) = catalogue.damaged_table(name) {
            return Err(why.clone());
        }
        let core = catalogue.table(name).map(Arc::clone);
        core.ok_or_else(|| Error::NoTable { table: name.into() })
    }

    pub(crate) fn table_names(&self) -> Vec<String> {
        if self.expect_here().is_err() {
            return Vec::new();
        }
        self.catalogue().names()
    }

    /// Returns all tables and indexes that are not damaged; damaged ones are added to `faults`.
    pub(crate) fn tables(&self, faults: &mut CheckReport) -> Result<Vec<Arc<TableCore>>> {
        self.expect_here()?;
        let catalogue = self.catalogue();
        self.expect_open()?;
        let is_left = |definition: &Definition| {
            definition.predecessor().is_some() && definition.is_given_up()
        };
        let damaged = catalogue.damaged().filter(|(definition, ..)| !is_left(definition));
        for (definition, _, why) in damaged {
            faults.add(Some(definition.schema.name()), why.to_string());
        }
        for index in catalogue.tables().filter(|core| !core.definition().is_given_up()) {
            let Some(owner) = index.definition().owner() else { continue };
            let fault = match catalogue.by_id(owner) {
                Some(table) => Secondary::new(table.schema(), index).err(),
                None if catalogue.is_damaged(owner) => None,
                None => Some(index.corrupt("it is an index of no table")),
            };
            if let Some(why) = fault {
                faults.add(Some(index.schema().name()), why.to_string());
            }
        }
        let checked = catalogue.tables().filter(|core| !is_left(core.definition()));
        Ok(checked.map(Arc::clone).collect())
    }

    /// Returns all tables and indexes that are not damaged.
    pub(crate) fn whole_tables(&self) -> Vec<Arc<TableCore>> {
        self.catalogue().tables().map(Arc::clone).collect()
    }

    /// Creates a table with indexes, in one step.
    pub(crate) fn create_table(
        &self,
        schema: &Schema,
        kind: KeyKind,
        indexes: &[IndexSchema],
    ) -> Result<Arc<TableCore>> {
        let (core, end) = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            let definition = self.next_definition(&catalogue, schema.clone(), kind);
            let definitions = self.with_indexes(definition, indexes)?;
            catalogue.expect_room(&definitions, &[])?;
            let _alone = self.gate.close();
            let (mut cores, end) = self.create_in_place_of(&mut catalogue, &[], definitions)?;
            let core = cores.swap_remove(0);
            catalogue.list_indexes(&core);
            Ok((core, end))
        })?;
        self.settle(end)?;
        Ok(core)
    }

    /// Returns the definition of the next table, which is empty.
    pub(super) fn next_definition(
        &self,
        catalogue: &Catalogue,
        schema: Schema,
        kind: KeyKind,
    ) -> Definition {
        // The seed is known in this process only, so no user can choose keys that all have the same
        // hash.
        let seed = self.settings.random();
        Definition::new(catalogue.next_id, kind, seed, schema, self.storage())
    }

    /// Creates tables with consecutive numbers, and drops others, in one step: the log has all of
    /// it or nothing. The gate is closed. Returns what was created, and the end in the log.
    pub(super) fn create_in_place_of(
        &self,
        catalogue: &mut Catalogue,
        dropped: &[Definition],
        created: Vec<Definition>,
    ) -> Result<(Vec<Arc<TableCore>>, LogPosition)> {
        let full = Error::CatalogueFull { most_bytes: MOST_DEFINITION_BYTES };
        let next_id = match created.last() {
            Some(last) => last.id.next().ok_or(full)?,
            None => catalogue.next_id,
        };
        let mut cores = Vec::with_capacity(created.len());
        let mut stored = Vec::with_capacity(created.len());
        let undo = |cores: &[Arc<TableCore>]| {
            cores.iter().for_each(|core: &Arc<TableCore>| core.drop_pages(&self.pager));
        };
        for definition in created {
            let mut writer = Writer::default();
            definition.store(&mut writer);
            stored.push(writer.0);
            let core = TableCore::create(&self.pager, definition).inspect_err(|_| undo(&cores))?;
            cores.push(Arc::new(core));
        }
        let drops = dropped.iter().map(|definition| LogRecord::DropTable { table: definition.id });
        let creates = stored.iter().map(|definition| LogRecord::CreateTable { definition });
        let past = self.past_of(dropped);
        let past = past.iter().map(|definition| LogRecord::Definition { definition });
        let end = self.append(past.chain(drops).chain(creates)).inspect_err(|_| undo(&cores))?;
        dropped.iter().for_each(|definition| catalogue.drop(&self.pager, definition));
        cores.iter().for_each(|core| catalogue.insert(Arc::clone(core)));
        catalogue.next_id = next_id;
        Ok((cores, end))
    }

    pub(crate) fn drop_table(&self, name: &str) -> Result<()> {
        let end = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            let table = match (catalogue.damaged_table(name), catalogue.table(name)) {
                (Some((definition, ..)), _) => definition.clone(),
                (None, Some(core)) => core.definition().clone(),
                (None, None) => return Err(Error::NoTable { table: name.into() }),
            };
            // Its parts first: recovery finds the table of each.
            let mut dropped = catalogue.parts_of(table.id);
            dropped.push(table);
            let _alone = self.gate.close();
            let (_, end) = self.create_in_place_of(&mut catalogue, &dropped, Vec::new())?;
            Ok(end)
        })?;
        self.settle(end)
    }

    /// Returns where the pages of tables are kept.
    pub(super) fn storage(&self) -> Storage {
        match self.store {
            Some(_) => Storage::Directory,
            None => Storage::Memory,
        }
    }

    /// Replaces a table by an empty one like it, with indexes like those of its own that are ready,
    /// in one step: the log has all of it or nothing.
    pub(crate) fn clear_table(&self, name: &str) -> Result<Arc<TableCore>> {
        let (core, end) = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            if let Some((.., why)) = catalogue.damaged_table(name) {
                return Err(why.clone());
            }
            let before = catalogue.table(name).map(|core| core.definition().clone());
            let before = before.ok_or_else(|| Error::NoTable { table: name.into() })?;
            let indexes = catalogue.indexes_of(before.id);
            let Definition { kind, schema, .. } = &before;
            let table = self.next_definition(&catalogue, schema.clone(), *kind);
            let described = indexes.iter().filter_map(|definition| definition.index.as_ref());
            // Who builds one that is not ready finds that its table is gone.
            let described = described.filter(|index| index.is_ready());
            let described = described.map(|index| index.described(schema));
            let created = self.with_indexes(table, &described.collect::<Result<Vec<_>>>()?)?;
            let parts = catalogue.parts_of(before.id);
            let dropped: Vec<_> = parts.into_iter().chain([before]).collect();
            let _alone = self.gate.close();
            let (mut cores, end) = self.create_in_place_of(&mut catalogue, &dropped, created)?;
            let core = cores.swap_remove(0);
            catalogue.list_indexes(&core);
            Ok((core, end))
        })?;
        self.settle(end)?;
        Ok(core)
    }

    /// Makes the creation or removal of a table durable, at every level.
    pub(super) fn settle(&self, end: LogPosition) -> Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        if store.log().is_some() {
            return store.sync(end).map_err(Error::after_effect);
        }
        // Without a log, this is as much as can be done: it promises nothing.
        match self.checkpoint() {
            Err(error @ Error::Poisoned { .. }) => Err(error.after_effect()),
            _ => Ok(()),
        }
    }
}
