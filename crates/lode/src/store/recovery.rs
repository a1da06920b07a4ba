//! What happened since the last checkpoint is done again.

use std::collections::HashMap;
use std::sync::Arc;

use super::Checkpoint;
use super::catalogue::{Catalogue, Damaged};
use crate::codec::Reader;
use crate::data::{DataFile, Superblock};
use crate::error::{Error, Result};
use crate::heap;
use crate::io::Access;
use crate::pager::Pager;
use crate::table::{Definition, TableCore};
use crate::wal::{Ending, Entry, Kind, Place, Position};

/// Where recovery begins.
pub(super) fn start_of(superblock: &Superblock) -> Place {
    Place {
        position: Position { segment: superblock.log_segment, at: superblock.log_at },
        chain: superblock.log_chain,
    }
}

/// What is known about the end of the log.
pub(super) fn ending_of(superblock: &Superblock) -> Ending {
    match superblock {
        Superblock { is_clean: true, .. } => Ending::Clean,
        Superblock { is_recovering: true, .. } => Ending::Anywhere,
        _ => Ending::Open,
    }
}

/// A database whose log is being replayed.
pub(super) struct Recovery<'r> {
    pager: &'r Pager,
    data: &'r DataFile,
    access: Access,
    pub catalogue: Catalogue,
    by_id: HashMap<u32, Arc<TableCore>>,
    pub superblock: Superblock,
    /// Up to where the log was replayed.
    pub done: Place,
    /// Why outcomes could not be replayed: their table is damaged. They have to stay in the log.
    pub skipped: Option<Error>,
}

impl<'r> Recovery<'r> {
    /// To be replayed into memory, and for writing also to the data file if memory is too little.
    pub(super) fn new(
        (pager, data): (&'r Pager, &'r DataFile),
        access: Access,
        catalogue: Catalogue,
        superblock: Superblock,
    ) -> Self {
        let tables = catalogue.tables.values();
        let by_id = tables.map(|core| (core.id(), Arc::clone(core))).collect();
        let done = start_of(&superblock);
        Self { pager, data, access, catalogue, by_id, superblock, done, skipped: None }
    }

    /// Does again what happened in one frame.
    pub(super) fn apply(&mut self, entry: Entry<'_>, end: Place) -> Result<()> {
        let parts = entry.parts()?;
        // A checkpoint has all of a commit or nothing, so there has to be room for all of it.
        let (dirty, most_dirty) = (self.pager.dirty(), self.pager.most_dirty());
        let needed: u64 = parts.iter().map(|part| 3 + heap::pages_for(part.body.len())).sum();
        let is_full = dirty >= most_dirty / 2 || dirty > 0 && dirty + needed >= most_dirty;
        if is_full && self.access == Access::Write {
            self.checkpoint(true)?;
        }
        parts.into_iter().try_for_each(|part| self.apply_part(part))?;
        self.done = end;
        Ok(())
    }

    fn apply_part(&mut self, entry: Entry<'_>) -> Result<()> {
        let mut reader = Reader::new(entry.body, "an outcome in the log");
        match entry.kind {
            Kind::Create => {
                let definition = Definition::restore(&mut reader)?;
                let name = definition.schema.name().to_string();
                let id = definition.id;
                let next_id = id.checked_add(1);
                let next_id = next_id
                    .ok_or_else(|| Error::corrupt("the log", "a table has the last number"))?;
                let core = Arc::new(TableCore::create(self.pager, definition)?);
                self.by_id.insert(id, Arc::clone(&core));
                self.catalogue.next_id = self.catalogue.next_id.max(next_id);
                self.catalogue.tables.insert(name, core);
                Ok(())
            }
            Kind::Drop => {
                let id = reader.u32()?;
                if let Some((_, (_, location, _))) = self.damaged(id) {
                    let location = location.clone();
                    location.free(self.pager);
                    self.catalogue.damaged.retain(|_, (definition, ..)| definition.id != id);
                    return Ok(());
                }
                let core = self.table(id)?;
                core.drop_pages(self.pager);
                self.by_id.remove(&core.id());
                self.catalogue.tables.remove(core.schema().name());
                Ok(())
            }
            kind => {
                let id = reader.u32()?;
                if let Some((_, (.., error))) = self.damaged(id) {
                    self.skipped = Some(error.clone());
                    return Ok(());
                }
                self.table(id)?.apply(self.pager, kind, reader.rest())
            }
        }
    }

    /// The damaged table with a number.
    fn damaged(&self, id: u32) -> Option<(&String, &Damaged)> {
        self.catalogue.damaged.iter().find(|(_, (definition, ..))| definition.id == id)
    }

    fn table(&self, id: u32) -> Result<Arc<TableCore>> {
        let found = self.by_id.get(&id).map(Arc::clone);
        found.ok_or_else(|| Error::corrupt("the log", format!("it names a table {id} of none")))
    }

    /// Writes out what has been replayed, so that there is room for more.
    pub(super) fn checkpoint(&mut self, is_recovering: bool) -> Result<()> {
        if let Some(error) = &self.skipped {
            return Err(error.clone());
        }
        let moment = self.pager.checkpoint_moment();
        let place = (self.done, moment);
        let mut checkpoint =
            Checkpoint::begin(self.pager, self.data, place, self.catalogue.store())?;
        while checkpoint.step(self.data)? {}
        let next = Superblock { is_clean: false, is_recovering, ..self.superblock };
        self.superblock = checkpoint.publish(self.data, next)?;
        Ok(())
    }
}
