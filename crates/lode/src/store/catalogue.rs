//! The catalogue: the tables of a database, and their locations.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::pager::{PageNumber, Pager};
use crate::table::{Definition, Location, TableCore};
use crate::wal::TableId;

/// A table that cannot be read, and the error.
pub(super) type Damaged = (Definition, Location, Error);

/// The most bytes of the definitions of all tables: names, and columns with theirs.
///
/// The catalogue has 65,536 pages at most, which is 1 GiB. Besides the definitions, they have the
/// locations of tables, at most 32 MiB, and the bits of used slots, at most 512 MiB. So a catalogue
/// with such definitions always fits. A checkpoint, which writes all of it, has a copy in memory.
pub(crate) const MOST_DEFINITION_BYTES: usize = 64 << 20;

/// The tables of a database, by their names.
#[derive(Default)]
pub(crate) struct Catalogue {
    tables: BTreeMap<String, Arc<TableCore>>,
    /// The tables that cannot be read: they stay as they are until they are dropped.
    damaged: BTreeMap<String, Damaged>,
    /// Bytes of the definitions of all of them.
    definition_bytes: usize,
    /// The number of the next table.
    pub next_id: TableId,
}

impl Catalogue {
    /// Returns the tables that can be read.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableCore>> {
        self.tables.values()
    }

    /// Returns the tables that cannot be read.
    pub(crate) fn damaged(&self) -> impl Iterator<Item = (&String, &Damaged)> {
        self.damaged.iter()
    }

    /// Returns the names of all tables, in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.tables.keys().chain(self.damaged.keys()).cloned().collect();
        names.sort_unstable();
        names
    }

    /// Finds a table that can be read.
    pub(crate) fn table(&self, name: &str) -> Option<&Arc<TableCore>> {
        self.tables.get(name)
    }

    /// Finds a table that cannot be read.
    pub(crate) fn damaged_table(&self, name: &str) -> Option<&Damaged> {
        self.damaged.get(name)
    }

    /// Checks that a table can be added.
    ///
    /// # Errors
    /// `TableExists`; `CatalogueFull`.
    pub(crate) fn expect_room(&self, definition: &Definition) -> Result<()> {
        let name = definition.schema.name();
        if self.tables.contains_key(name) || self.damaged.contains_key(name) {
            return Err(Error::TableExists { table: name.into() });
        }
        if self.definition_bytes + definition.size_bytes() <= MOST_DEFINITION_BYTES {
            Ok(())
        } else {
            Err(Error::CatalogueFull { most_bytes: MOST_DEFINITION_BYTES })
        }
    }

    /// Adds a table.
    pub(crate) fn insert(&mut self, core: Arc<TableCore>) {
        self.definition_bytes += core.definition().size_bytes();
        self.tables.insert(core.schema().name().into(), core);
    }

    /// Adds a table that cannot be read.
    fn insert_damaged(&mut self, damaged: Damaged) {
        let (definition, ..) = &damaged;
        self.definition_bytes += definition.size_bytes();
        self.damaged.insert(definition.schema.name().into(), damaged);
    }

    /// Removes a table, whether it can be read or not.
    pub(crate) fn remove(&mut self, name: &str) {
        let readable = self.tables.remove(name).map(|core| core.definition().size_bytes());
        let damaged = self.damaged.remove(name).map(|(definition, ..)| definition.size_bytes());
        self.definition_bytes -= readable.unwrap_or(0) + damaged.unwrap_or(0);
    }

    pub(crate) fn store(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.u32(self.next_id.0).u32((self.tables.len() + self.damaged.len()) as u32);
        let mut store = |definition: &Definition, location: &Location| {
            definition.store(&mut writer);
            writer.u32(location.root.get());
            store_extents(&location.extents, &mut writer);
            if definition.has_heap() {
                store_extents(&location.heap, &mut writer);
            }
        };
        self.tables.values().for_each(|core| store(core.definition(), &core.location()));
        self.damaged.values().for_each(|(definition, location, _)| store(definition, location));
        writer.0
    }

    /// Opens the tables of a catalogue that was stored.
    pub(crate) fn restore(bytes: &[u8], pager: &Pager) -> Result<Self> {
        let mut reader = Reader::new(bytes, "the catalogue");
        let next_id = TableId::read(&mut reader)?;
        let count = reader.u32()?;
        let mut found = Vec::new();
        for _ in 0..count {
            let definition = Definition::restore(&mut reader)?;
            let root = PageNumber::new(reader.u32()?);
            let extents = restore_extents(&mut reader)?;
            let heap =
                if definition.has_heap() { restore_extents(&mut reader)? } else { Vec::new() };
            found.push((definition, Location { root, extents, heap }));
        }
        let extents = found.iter().flat_map(|(_, location)| location.all_extents());
        pager.restore_extents(&Vec::<PageNumber>::from_iter(extents))?;
        let mut catalogue = Self { next_id, ..Self::default() };
        for (definition, location) in found {
            match TableCore::open(pager, definition.clone(), location.clone()) {
                Ok(core) => catalogue.insert(Arc::new(core)),
                Err(error @ Error::Corrupt { .. }) => {
                    catalogue.insert_damaged((definition, location, error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(catalogue)
    }
}

fn store_extents(extents: &[PageNumber], writer: &mut Writer) {
    writer.u32(extents.len() as u32);
    for extent in extents {
        writer.u32(extent.get());
    }
}

fn restore_extents(reader: &mut Reader<'_>) -> Result<Vec<PageNumber>> {
    let count = reader.u32()?;
    (0..count).map(|_| reader.u32().map(PageNumber::new)).collect()
}
