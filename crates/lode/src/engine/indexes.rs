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
            catalogue.expect_room(&definitions)?;
            let _alone = self.gate.close();
            let (_, end) = self.create_in_place_of(&mut catalogue, &[], definitions)?;
            catalogue.list_indexes(table);
            let listed = table.secondaries();
            let secondary = listed.find(index.name()).ok_or_else(|| no_index(table, index.name()));
            Ok((Arc::clone(secondary?), end))
        })?;
        self.settle(end)?;
        Ok(secondary)
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

    /// Drops the indexes whose building was not ended before the database was opened. If that is
    /// not possible, they stay as they are: writes keep them, and no lookup uses them.
    pub(crate) fn drop_unfinished_indexes(&self) {
        for core in self.whole_tables() {
            let secondaries = core.secondaries();
            for secondary in secondaries.all.iter().filter(|secondary| !secondary.of().is_ready()) {
                if self.drop_index(&core, &secondary.of().name).is_err() {
                    return;
                }
            }
        }
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
