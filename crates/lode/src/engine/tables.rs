//! The tables of a database: listing, creating and dropping them.

use std::iter::once;
use std::sync::Arc;

use super::{CheckReport, Engine};
use crate::codec::Writer;
use crate::error::{Error, Result};
use crate::schema::Schema;
use crate::store::MOST_DEFINITION_BYTES;
use crate::table::{Definition, KeyKind, Storage, TableCore};
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

    /// Returns all tables that are not damaged; damaged ones are added to `faults`.
    pub(crate) fn tables(&self, faults: &mut CheckReport) -> Result<Vec<Arc<TableCore>>> {
        self.expect_here()?;
        let catalogue = self.catalogue();
        self.expect_open()?;
        for (name, (.., why)) in catalogue.damaged() {
            faults.add(Some(name), why.to_string());
        }
        Ok(catalogue.tables().map(Arc::clone).collect())
    }

    /// Returns all tables that are not damaged.
    pub(crate) fn whole_tables(&self) -> Vec<Arc<TableCore>> {
        self.catalogue().tables().map(Arc::clone).collect()
    }

    pub(crate) fn create_table(&self, schema: &Schema, kind: KeyKind) -> Result<Arc<TableCore>> {
        let (core, end) = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            // The seed is known in this process only, so no user can choose keys that all have the
            // same hash.
            let seed = self.settings.random();
            let id = catalogue.next_id;
            let full = Error::CatalogueFull { most_bytes: MOST_DEFINITION_BYTES };
            let next_id = id.next().ok_or(full)?;
            let definition = Definition::new(id, kind, seed, schema.clone(), self.storage());
            catalogue.expect_room(&definition)?;
            let _alone = self.gate.close();
            let core = TableCore::create(&self.pager, definition)?;
            let mut writer = Writer::default();
            core.definition().store(&mut writer);
            let logged = self.append(once(LogRecord::CreateTable { definition: &writer.0 }));
            let end = logged.inspect_err(|_| core.drop_pages(&self.pager))?;
            let core = Arc::new(core);
            debug_assert!(catalogue.table(core.schema().name()).is_none(), "names are unique");
            catalogue.next_id = next_id;
            catalogue.insert(Arc::clone(&core));
            Ok((core, end))
        })?;
        self.settle(end)?;
        Ok(core)
    }

    pub(crate) fn drop_table(&self, name: &str) -> Result<()> {
        let end = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            if let Some((definition, location, _)) = catalogue.damaged_table(name).cloned() {
                let _alone = self.gate.close();
                let end = self.append(once(LogRecord::DropTable { table: definition.id }))?;
                catalogue.remove(name);
                location.free(&self.pager);
                return Ok(end);
            }
            let core = catalogue.table(name).map(Arc::clone);
            let core = core.ok_or_else(|| Error::NoTable { table: name.into() })?;
            let _alone = self.gate.close();
            let end = self.append(once(LogRecord::DropTable { table: core.id() }))?;
            catalogue.remove(name);
            core.drop_pages(&self.pager);
            Ok(end)
        })?;
        self.settle(end)
    }

    /// Returns where the pages of tables are kept.
    fn storage(&self) -> Storage {
        match self.store {
            Some(_) => Storage::Directory,
            None => Storage::Memory,
        }
    }

    /// Replaces a table by an empty one like it, in one step: the log has both or neither.
    pub(crate) fn clear_table(&self, name: &str) -> Result<Arc<TableCore>> {
        let (core, end) = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            if let Some((.., why)) = catalogue.damaged_table(name) {
                return Err(why.clone());
            }
            let before = catalogue.table(name).map(Arc::clone);
            let before = before.ok_or_else(|| Error::NoTable { table: name.into() })?;
            let id = catalogue.next_id;
            let seed = self.settings.random();
            let full = Error::CatalogueFull { most_bytes: MOST_DEFINITION_BYTES };
            let next_id = id.next().ok_or(full)?;
            let Definition { kind, schema, .. } = before.definition();
            let definition = Definition::new(id, *kind, seed, schema.clone(), self.storage());
            let _alone = self.gate.close();
            let core = TableCore::create(&self.pager, definition)?;
            let mut writer = Writer::default();
            core.definition().store(&mut writer);
            let records = [
                LogRecord::DropTable { table: before.id() },
                LogRecord::CreateTable { definition: &writer.0 },
            ];
            let logged = self.append(records.into_iter());
            let end = logged.inspect_err(|_| core.drop_pages(&self.pager))?;
            let core = Arc::new(core);
            catalogue.next_id = next_id;
            catalogue.remove(name);
            catalogue.insert(Arc::clone(&core));
            before.drop_pages(&self.pager);
            Ok((core, end))
        })?;
        self.settle(end)?;
        Ok(core)
    }

    /// Makes the creation or removal of a table durable, at every level.
    fn settle(&self, end: LogPosition) -> Result<()> {
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
