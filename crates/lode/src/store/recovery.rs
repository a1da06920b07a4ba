//! Recovery: replays the changes since the last checkpoint.

use std::collections::HashMap;
use std::sync::Arc;

use super::catalogue::{Catalogue, Damaged};
use super::cleaning::Cleaning;
use super::{Checkpoint, MARGIN};
use crate::codec::Reader;
use crate::data::{self, DataFile, Superblock};
use crate::error::{Error, Result};
use crate::heap;
use crate::io::Access;
use crate::observability::Replay;
use crate::pager::Pager;
use crate::schema::Schema;
use crate::table::{Definition, TableCore};
use crate::wal::{
    Applied, Ending, LanePlace, LogPosition, LogRecord, Place, Places, SegmentNumber, Start,
    TableId,
};

/// Returns the places at which recovery starts.
pub(super) fn start_of(superblock: &Superblock) -> Places {
    let place = |lane: data::LanePlace| {
        let position = LogPosition { segment: SegmentNumber::new(lane.segment), at: lane.at };
        LanePlace { place: Place { position, chain: lane.chain }, order: lane.order }
    };
    Places { lanes: superblock.lanes.map(place) }
}

/// Returns what a superblock says about the log.
pub(super) fn log_of(superblock: &Superblock) -> Start {
    let ending = match superblock {
        Superblock { is_clean: true, .. } => Ending::Clean,
        Superblock { is_recovering: true, .. } => Ending::Anywhere,
        _ => Ending::Open,
    };
    let segment = SegmentNumber::new(superblock.synced_segment);
    let synced = LogPosition { segment, at: superblock.synced_at };
    Start { places: start_of(superblock), ending, synced }
}

/// A database whose log is being replayed.
pub(super) struct Recovery<'r> {
    pager: &'r Pager,
    data: &'r DataFile,
    access: Access,
    pub catalogue: Catalogue,
    by_id: HashMap<TableId, Arc<TableCore>>,
    /// Indexes and successors that records could not be replayed into, with the error. Opening
    /// drops them: their tables have all that they had.
    lost: HashMap<TableId, Error>,
    pub superblock: Superblock,
    /// The places up to which the log was replayed.
    pub done: Places,
    /// The position up to which the first lane of the log is known to be synced.
    pub synced: LogPosition,
    /// The error of records that could not be replayed: their table is damaged. They have to stay
    /// in the log.
    pub skipped: Option<Error>,
    pub replay: Replay,
}

impl<'r> Recovery<'r> {
    /// Starts a recovery into memory; with write access, also into the data file if memory is
    /// short.
    pub(super) fn new(
        pager: &'r Pager,
        data: &'r DataFile,
        access: Access,
        catalogue: Catalogue,
        superblock: &Superblock,
    ) -> Self {
        let tables = catalogue.tables();
        let by_id = tables.map(|core| (core.id(), Arc::clone(core))).collect();
        let Start { places: done, synced, .. } = log_of(superblock);
        let superblock = *superblock;
        let lost = HashMap::new();
        Self {
            pager,
            data,
            access,
            catalogue,
            by_id,
            lost,
            superblock,
            done,
            synced,
            skipped: None,
            replay: Replay::default(),
        }
    }

    /// Replays the records of one frame.
    pub(super) fn apply(&mut self, records: &[LogRecord<'_>], applied: Applied) -> Result<()> {
        // A checkpoint has all of a commit or nothing. So room is made before it, for most of them.
        let dirty = self.pager.dirty();
        let most_dirty = self.pager.most_dirty();
        let pages = |record: &LogRecord<'_>| 3 + heap::pages_for(record.size_bytes());
        let changing = || records.iter().filter(|record| !record.is_of_the_past());
        let needed: u64 = changing().map(pages).sum();
        let is_full = dirty >= most_dirty / 2 || dirty > 0 && dirty + needed >= most_dirty;
        if is_full && self.access == Access::Write {
            self.write_out(needed)?;
        }
        for record in changing() {
            // A commit may change more pages than before: other neighbours are in memory now. And
            // there may be less memory.
            let dirty = self.pager.dirty();
            let needed = pages(record);
            if dirty > 0 && dirty + needed >= most_dirty && self.access == Access::Write {
                self.clean(needed)?;
            }
            // Some frames have to be left, or the pages of the record displace each other.
            if self.pager.dirty() >= most_dirty {
                return Err(Error::Full { budget_bytes: self.pager.budget_bytes() });
            }
            self.apply_one(record)?;
        }
        let done = &mut self.done.lanes[applied.lane];
        assert!(applied.place.place.position > done.place.position, "a lane is replayed forward");
        *done = applied.place;
        self.replay.add(|| records.iter().map(LogRecord::size_bytes).sum());
        Ok(())
    }

    /// Makes room for changes of `needed` pages, between two frames.
    fn write_out(&mut self, needed: u64) -> Result<()> {
        let most_dirty = self.pager.most_dirty();
        // Records of a damaged table have to stay in the log, so there can be no checkpoint.
        let has_few_left = self.data.released() < most_dirty || self.skipped.is_some();
        if most_dirty / 4 + needed < most_dirty && has_few_left {
            match self.clean(needed) {
                Err(Error::DiskFull { .. }) => {}
                other => return other,
            }
        }
        self.checkpoint(true)
    }

    /// Writes pages out until a quarter of those that may have changed is left, or fewer, so that
    /// `needed` pages can change. No superblock names them before the next checkpoint, so this may
    /// be done within a frame.
    fn clean(&mut self, needed: u64) -> Result<()> {
        debug_assert!(self.access == Access::Write, "a database that is read is not written");
        let dirty = self.pager.dirty();
        let most_dirty = self.pager.most_dirty();
        let left = (most_dirty / 4).min(most_dirty.saturating_sub(needed));
        let moment = self.pager.end_epoch();
        let count = dirty.saturating_sub(left);
        // This many may change until the next call.
        let later = most_dirty / 2 + needed + MARGIN;
        let mut cleaning = Cleaning::begin(self.pager, self.data, moment, count, count + later)?;
        while cleaning.step()? {}
        Ok(())
    }

    fn apply_one(&mut self, record: &LogRecord<'_>) -> Result<()> {
        match *record {
            LogRecord::CreateTable { definition } => self.create_table(definition),
            LogRecord::DropTable { table } => self.drop_table(table),
            LogRecord::IndexReady { index } => {
                match &self.definition(index)?.index {
                    Some(of) if !self.lost.contains_key(&index) => {
                        of.make_ready(self.pager.epoch());
                    }
                    _ => {}
                }
                Ok(())
            }
            LogRecord::TakePlace { successor } => {
                if let Some(error) = self.lost.remove(&successor) {
                    return Err(error);
                }
                let definition = self.definition(successor)?;
                if !self.catalogue.has_place_for(&definition) {
                    let why = format!("table {} takes a place that is not free", successor.0);
                    return Err(Error::corrupt("the log", why));
                }
                self.catalogue.take_place(&definition, self.pager.epoch());
                Ok(())
            }
            LogRecord::Redefine { table, schema } => self.redefine(table, schema),
            LogRecord::Expired { until_us } => {
                self.catalogue.horizon.raise(until_us);
                Ok(())
            }
            LogRecord::Before { .. } | LogRecord::Definition { .. } => Ok(()),
            LogRecord::Put { table, .. }
            | LogRecord::Patch { table, .. }
            | LogRecord::Delete { table, .. } => {
                if self.lost.contains_key(&table) {
                    return Ok(());
                }
                if let Some((definition, _, error)) = self.damaged(table) {
                    let definition = definition.clone();
                    let error = error.clone();
                    self.skipped = self.lose(&definition, error).err().or(self.skipped.take());
                    return Ok(());
                }
                let core = self.table(table)?;
                match core.apply(self.pager, record) {
                    Err(error @ Error::Corrupt { .. }) => self.lose(core.definition(), error),
                    applied => applied,
                }
            }
        }
    }

    /// Notes that a record could not be replayed into an index or a successor.
    ///
    /// # Errors
    /// The error of the record, if it is of a table that is needed.
    fn lose(&mut self, definition: &Definition, error: Error) -> Result<()> {
        match &definition.index {
            Some(of) => of.give_up(),
            None if definition.predecessor().is_some() => {}
            None => return Err(error),
        }
        self.lost.insert(definition.id, error);
        Ok(())
    }

    fn create_table(&mut self, definition: &[u8]) -> Result<()> {
        let mut reader = Reader::new(definition, "the definition of a table in the log");
        let definition = Definition::restore(&mut reader)?;
        let id = definition.id;
        let next_id =
            id.next().ok_or_else(|| Error::corrupt("the log", "a table has the last number"))?;
        let core = Arc::new(TableCore::create(self.pager, definition)?);
        self.by_id.insert(id, Arc::clone(&core));
        self.catalogue.next_id = self.catalogue.next_id.max(next_id);
        self.catalogue.insert(core);
        Ok(())
    }

    fn drop_table(&mut self, id: TableId) -> Result<()> {
        let definition = self.definition(id)?;
        self.by_id.remove(&id);
        self.catalogue.drop(self.pager, &definition);
        Ok(())
    }

    fn redefine(&mut self, id: TableId, schema: &[u8]) -> Result<()> {
        let before = self.definition(id)?;
        let schema = Schema::restore(&mut Reader::new(schema, "a schema in the log"))?;
        if !schema.suits_records_of(&before.schema) {
            let why = format!("table {} gets a schema that its records do not suit", id.0);
            return Err(Error::corrupt("the log", why));
        }
        let after = before.redefined(schema);
        if !self.catalogue.is_free_for(&before, &after) {
            let why = format!("table {} gets the name of another one", id.0);
            return Err(Error::corrupt("the log", why));
        }
        let redefined = self.catalogue.redefine(self.pager, &before, after);
        redefined.into_iter().for_each(|core| drop(self.by_id.insert(id, core)));
        Ok(())
    }

    /// Returns the damaged table with a number.
    fn damaged(&self, id: TableId) -> Option<&Damaged> {
        self.catalogue.damaged().find(|(definition, ..)| definition.id == id)
    }

    /// Returns the definition of a table, whether it can be read or not.
    fn definition(&self, id: TableId) -> Result<Definition> {
        match self.damaged(id) {
            Some((definition, ..)) => Ok(definition.clone()),
            None => self.table(id).map(|core| core.definition().clone()),
        }
    }

    fn table(&self, id: TableId) -> Result<Arc<TableCore>> {
        let found = self.by_id.get(&id).map(Arc::clone);
        found.ok_or_else(|| {
            Error::corrupt("the log", format!("it names table {}, and there is none", id.0))
        })
    }

    /// Makes the replayed changes current.
    pub(super) fn checkpoint(&mut self, is_recovering: bool) -> Result<()> {
        if let Some(error) = &self.skipped {
            return Err(error.clone());
        }
        debug_assert!(self.access == Access::Write, "a database that is read is not written");
        let moment = self.pager.checkpoint_moment();
        let catalogue = self.catalogue.store();
        let mut checkpoint =
            Checkpoint::begin(self.pager, self.data, &self.done, moment, catalogue)?;
        while checkpoint.step()? {}
        let next = Superblock { is_clean: false, is_recovering, backup_of: 0, ..self.superblock };
        self.superblock = checkpoint.publish(&next, self.synced)?;
        Ok(())
    }

    /// Has the next recovery start where this one's log does: nothing was replayed.
    pub(super) fn begin_log(&mut self) -> Result<()> {
        assert!(self.skipped.is_none(), "records of a damaged table stay in the log");
        let next = Superblock { is_clean: false, backup_of: 0, ..self.superblock };
        self.superblock = self.data.publish_log(&next.with_log(&self.done, self.synced))?;
        Ok(())
    }
}
