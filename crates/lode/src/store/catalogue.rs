//! The catalogue: which tables there are, and where.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::pager::{PageNumber, Pager};
use crate::table::{Definition, Location, TableCore};
use crate::wal::TableId;

/// A table that cannot be read, and why.
pub(super) type Damaged = (Definition, Location, Error);

/// The tables of a database, by their names.
#[derive(Default)]
pub(crate) struct Catalogue {
    pub tables: BTreeMap<String, Arc<TableCore>>,
    /// Those that cannot be read: they stay as they are until they are dropped.
    pub damaged: BTreeMap<String, Damaged>,
    /// The number of the next table.
    pub next_id: TableId,
}

impl Catalogue {
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
        let (next_id, count) = (TableId::read(&mut reader)?, reader.u32()?);
        let mut found = Vec::new();
        for _ in 0..count {
            let definition = Definition::restore(&mut reader)?;
            let (root, extents) = (PageNumber::new(reader.u32()?), restore_extents(&mut reader)?);
            let heap = match definition.has_heap() {
                true => restore_extents(&mut reader)?,
                false => Vec::new(),
            };
            found.push((definition, Location { root, extents, heap }));
        }
        let extents = found.iter().flat_map(|(_, location)| location.all_extents());
        pager.restore_extents(&Vec::<PageNumber>::from_iter(extents))?;
        let mut catalogue = Self { next_id, ..Self::default() };
        for (definition, location) in found {
            let name = definition.schema.name().to_string();
            match TableCore::open(pager, definition.clone(), location.clone()) {
                Ok(core) => drop(catalogue.tables.insert(name, Arc::new(core))),
                Err(error @ Error::Corrupt { .. }) => {
                    catalogue.damaged.insert(name, (definition, location, error));
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
