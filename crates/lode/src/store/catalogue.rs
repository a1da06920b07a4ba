//! The catalogue: the tables of a database, and their locations.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::pager::{Epoch, PageNumber, Pager};
use crate::table::{Definition, Horizon, Location, Secondaries, Secondary, SuccessorOf, TableCore};
use crate::wal::TableId;

/// A table that cannot be read, and the error.
pub(super) type Damaged = (Definition, Location, Error);

/// The most bytes of the definitions of all tables: names, and columns with theirs.
///
/// The catalogue has 65,536 pages at most, which is 1 GiB. Besides the definitions, they have the
/// locations of tables, at most 32 MiB, and the bits of used slots, at most 512 MiB. So a catalogue
/// with such definitions always fits. A checkpoint, which writes all of it, has a copy in memory.
pub(crate) const MOST_DEFINITION_BYTES: usize = 64 << 20;

/// A catalogue as it is stored.
pub(super) struct Stored {
    pub next_id: TableId,
    pub found: Vec<(Definition, Location)>,
    pub horizon: Horizon,
}

/// The name of a table; or the table of a secondary index and its name; or the predecessor of a
/// successor and nothing: indexes have names.
type Name = (Option<TableId>, String);

fn name_of(definition: &Definition) -> Name {
    match definition.predecessor() {
        Some(predecessor) => (Some(predecessor), String::new()),
        None => (definition.owner(), definition.name().into()),
    }
}

/// The tables of a database and their secondary indexes, by their names.
#[derive(Default)]
pub(crate) struct Catalogue {
    tables: BTreeMap<Name, Arc<TableCore>>,
    /// Tables and indexes that cannot be read: they stay as they are until they are dropped.
    damaged: BTreeMap<Name, Damaged>,
    /// Bytes of the definitions of all of them.
    definition_bytes: usize,
    /// The number of the next table.
    pub next_id: TableId,
    /// The time up to which records have expired for good.
    pub horizon: Arc<Horizon>,
    /// True if writes note what was before them, for readers of changes.
    pub notes_changes: bool,
}

impl Catalogue {
    /// Returns the definitions of all tables and indexes, whether they can be read or not.
    pub(crate) fn definitions(&self) -> Vec<Definition> {
        let readable = self.tables().map(|core| core.definition());
        readable.chain(self.damaged().map(|(definition, ..)| definition)).cloned().collect()
    }

    /// Returns the tables and indexes that can be read.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableCore>> {
        self.tables.values()
    }

    /// Returns the tables and indexes that cannot be read.
    pub(crate) fn damaged(&self) -> impl Iterator<Item = &Damaged> {
        self.damaged.values()
    }

    /// Returns the names of all tables, in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.tables.keys().chain(self.damaged.keys());
        let names = names.filter(|(owner, _)| owner.is_none()).map(|(_, name)| name.clone());
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names
    }

    /// Returns the definitions of a table's indexes, whether they can be read or not.
    pub(crate) fn indexes_of(&self, owner: TableId) -> Vec<Definition> {
        let mut all = self.of_table(owner);
        all.retain(|definition| definition.index.is_some());
        all
    }

    /// Returns the definitions that belong to a table: its indexes, and its successor after the
    /// indexes of that, whether they can be read or not.
    pub(crate) fn parts_of(&self, table: TableId) -> Vec<Definition> {
        let mut parts = Vec::new();
        for definition in self.of_table(table) {
            if definition.predecessor().is_some() {
                parts.extend(self.indexes_of(definition.id));
            }
            parts.push(definition);
        }
        parts
    }

    /// Returns the definitions of a table's indexes, and of its successor.
    fn of_table(&self, table: TableId) -> Vec<Definition> {
        let readable = of_owner(&self.tables, table).map(|core| core.definition());
        let damaged = of_owner(&self.damaged, table).map(|(definition, ..)| definition);
        readable.chain(damaged).cloned().collect()
    }

    /// Gives a successor its name, while no thread is at work in it. Its predecessor was dropped.
    pub(crate) fn take_place(&mut self, successor: &Definition, epoch: Epoch) {
        debug_assert!(self.has_place_for(successor), "its predecessor was dropped");
        let before = name_of(successor);
        self.definition_bytes -= successor.size_bytes();
        let core = self.tables.remove(&before);
        let damaged = self.damaged.remove(&before);
        successor.as_successor().into_iter().for_each(SuccessorOf::take_place);
        if let Some(core) = core {
            core.note_created(epoch);
            self.insert(core);
        }
        damaged.into_iter().for_each(|damaged| self.insert_damaged(damaged));
    }

    /// Returns true if no other table or index has the name of a definition that replaces another.
    pub(super) fn is_free_for(&self, before: &Definition, after: &Definition) -> bool {
        let name = name_of(after);
        name == name_of(before) || !self.has(&name)
    }

    /// Gives a table or an index another definition, while no thread is at work in it. Returns its
    /// core from then on; `None` if it cannot be read.
    pub(crate) fn redefine(
        &mut self,
        pager: &Pager,
        before: &Definition,
        after: Definition,
    ) -> Option<Arc<TableCore>> {
        debug_assert!(self.is_free_for(before, &after), "a name is of one table");
        let name = name_of(before);
        self.definition_bytes -= before.size_bytes();
        if let Some((_, location, error)) = self.damaged.remove(&name) {
            self.insert_damaged((after, location, error));
            return None;
        }
        let core = self.tables.remove(&name)?;
        let core = Arc::new(core.redefine(pager, after));
        self.insert(Arc::clone(&core));
        Some(core)
    }

    /// Returns true if a definition is that of a successor, and no table has its name.
    pub(super) fn has_place_for(&self, successor: &Definition) -> bool {
        successor.predecessor().is_some() && !self.has(&(None, successor.name().into()))
    }

    fn has(&self, name: &Name) -> bool {
        self.tables.contains_key(name) || self.damaged.contains_key(name)
    }

    /// Returns the definitions of the indexes and successors that were given up.
    pub(crate) fn given_up(&self) -> Vec<Definition> {
        let readable = self.tables.values().map(|core| core.definition());
        let damaged = self.damaged.values().map(|(definition, ..)| definition);
        let given_up = readable.chain(damaged).filter(|definition| definition.is_given_up());
        given_up.cloned().collect()
    }

    /// Finds a table that can be read.
    pub(crate) fn table(&self, name: &str) -> Option<&Arc<TableCore>> {
        self.tables.get(&(None, name.into()))
    }

    /// Finds a table that cannot be read.
    pub(crate) fn damaged_table(&self, name: &str) -> Option<&Damaged> {
        self.damaged.get(&(None, name.into()))
    }

    /// Checks that tables and indexes can be added in the place of others.
    ///
    /// # Errors
    /// `TableExists`, `IndexExists`; `CatalogueFull`.
    pub(crate) fn expect_room(
        &self,
        definitions: &[Definition],
        dropped: &[Definition],
    ) -> Result<()> {
        let dropped_names: Vec<_> = dropped.iter().map(name_of).collect();
        for definition in definitions {
            let name = name_of(definition);
            if dropped_names.contains(&name) {
                continue;
            }
            if self.has(&name) {
                let owner = definition.owner().and_then(|owner| self.by_id(owner));
                return Err(match owner {
                    None => Error::TableExists { table: name.1 },
                    Some(table) => Error::IndexExists {
                        table: table.schema().name().into(),
                        index: name.1.into(),
                    },
                });
            }
        }
        let bytes_of = |all: &[Definition]| all.iter().map(Definition::size_bytes).sum::<usize>();
        debug_assert!(bytes_of(dropped) <= self.definition_bytes, "what is dropped was counted");
        let left_bytes = self.definition_bytes - bytes_of(dropped);
        if left_bytes + bytes_of(definitions) <= MOST_DEFINITION_BYTES {
            Ok(())
        } else {
            Err(Error::CatalogueFull { most_bytes: MOST_DEFINITION_BYTES })
        }
    }

    /// Returns true if the table or index with a number cannot be read.
    pub(crate) fn is_damaged(&self, id: TableId) -> bool {
        self.damaged().any(|(definition, ..)| definition.id == id)
    }

    /// Finds a table or an index that can be read by its number.
    pub(crate) fn by_id(&self, id: TableId) -> Option<&Arc<TableCore>> {
        self.tables().find(|core| core.id() == id)
    }

    /// Adds a table or an index.
    pub(crate) fn insert(&mut self, core: Arc<TableCore>) {
        self.definition_bytes += core.definition().size_bytes();
        self.tables.insert(name_of(core.definition()), core);
    }

    /// Adds a table or an index that cannot be read.
    fn insert_damaged(&mut self, damaged: Damaged) {
        let (definition, ..) = &damaged;
        self.definition_bytes += definition.size_bytes();
        self.damaged.insert(name_of(definition), damaged);
    }

    /// Removes a table or an index, whether it can be read or not, and frees its pages: no thread
    /// is at work in it.
    pub(crate) fn drop(&mut self, pager: &Pager, definition: &Definition) {
        let name = name_of(definition);
        if let Some(core) = self.tables.remove(&name) {
            core.drop_pages(pager);
        }
        if let Some((_, location, _)) = self.damaged.remove(&name) {
            location.free(pager);
        }
        self.definition_bytes -= definition.size_bytes();
    }

    /// Gives a table the list of its indexes, while no thread is at work in it. Those that were
    /// given up are left out: no write keeps them, and no lookup uses them.
    pub(crate) fn list_indexes(&self, table: &TableCore) {
        let notes_changes = self.notes_changes;
        let mut secondaries = Secondaries { notes_changes, ..Secondaries::default() };
        for core in of_owner(&self.tables, table.id()) {
            let definition = core.definition();
            if definition.index.is_none() || definition.is_given_up() {
                continue;
            }
            match Secondary::new(table.schema(), core) {
                Ok(secondary) => secondaries.all.push(Arc::new(secondary)),
                Err(error) => secondaries.damaged = Some(error),
            }
        }
        for (definition, _, error) in of_owner(&self.damaged, table.id()) {
            if definition.index.is_some() && !definition.is_given_up() {
                secondaries.damaged = Some(error.clone());
            }
        }
        table.set_secondaries(secondaries);
    }

    /// Gives all tables the lists of their indexes.
    pub(crate) fn list_all_indexes(&self) {
        self.tables().filter(|core| core.definition().owner().is_none()).for_each(|table| {
            self.list_indexes(table);
        });
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
        if let Some(horizon_us) = self.horizon.get_us() {
            writer.u64(horizon_us as u64);
        }
        writer.0
    }

    /// Reads a catalogue that was stored: the number of the next table, where the tables are, and
    /// the time up to which records have expired.
    pub(super) fn read(bytes: &[u8]) -> Result<Stored> {
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
        let horizon = Horizon::default();
        if !reader.is_empty() {
            horizon.raise(reader.u64()? as i64);
        }
        Ok(Stored { next_id, found, horizon })
    }

    /// Opens the tables of a catalogue that was stored.
    pub(crate) fn restore(bytes: &[u8], pager: &Pager) -> Result<Self> {
        let Stored { next_id, found, horizon } = Self::read(bytes)?;
        let extents = found.iter().flat_map(|(_, location)| location.all_extents());
        pager.restore_extents(&Vec::<PageNumber>::from_iter(extents))?;
        let horizon = Arc::new(horizon);
        let mut catalogue = Self { next_id, horizon, ..Self::default() };
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

/// Returns the indexes of a table.
fn of_owner<T>(all: &BTreeMap<Name, T>, owner: TableId) -> impl Iterator<Item = &T> {
    let from_first = all.range((Some(owner), String::new())..);
    from_first.take_while(move |((of, _), _)| *of == Some(owner)).map(|(_, found)| found)
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
