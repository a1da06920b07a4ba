//! Checkpoints: all pages as they were at one moment, written to unused slots, and then made
//! current together. It is a step machine: between steps, its caller and all other threads may do
//! other things.

use super::page_writer::PageWriter;
use super::recovery::start_of;
use crate::data::{self, DataFile, SLOT_BYTES, Superblock};
use crate::error::Result;
use crate::observability::Work;
use crate::pager::{Pager, ReadEpoch};
use crate::wal::{LanePlace, LogPosition, Place, Places};

/// A checkpoint that is being written.
pub(crate) struct Checkpoint<'c> {
    writer: PageWriter<'c>,
    held: Held<'c>,
    /// The places at which the log continues after it.
    places: Places,
    catalogue: Vec<u8>,
    work: Work,
}

/// The moment of a checkpoint, and the space for it, which are released when this is dropped.
struct Held<'c> {
    pager: &'c Pager,
    data: &'c DataFile,
}

impl<'c> Checkpoint<'c> {
    /// Starts a checkpoint of a moment that the pager [took](Pager::checkpoint_moment).
    pub(crate) fn begin(
        pager: &'c Pager,
        data: &'c DataFile,
        places: &Places,
        moment: ReadEpoch,
        catalogue: Vec<u8>,
    ) -> Result<Self> {
        let held = Held { pager, data };
        let writer = PageWriter::new(pager, data, moment, |_| {})?;
        // Each of its pages is there twice.
        let catalogue_slots = 2 * catalogue.len().div_ceil(SLOT_BYTES);
        let mut new_pages = 0;
        for page in writer.left() {
            new_pages += u64::from(!data.has(*page)?);
        }
        debug_assert!(!moment.sees(held.pager.epoch()), "a checkpoint is of a moment that is over");
        data.begin_checkpoint((writer.left().len() + catalogue_slots) as u64, new_pages)?;
        let work = Work::start_of(|| writer.left().len());
        Ok(Self { writer, held, places: *places, catalogue, work })
    }

    /// Returns the work of writing its pages.
    pub(super) fn work(&self) -> Work {
        self.work
    }

    /// Returns the places at which the log continues after it.
    pub(crate) fn places(&self) -> Places {
        self.places
    }

    /// Leaves all lanes of the log out but the first: nothing is appended any more.
    pub(crate) fn end_log(&mut self) {
        self.places = self.places.only_first();
    }

    /// Writes some pages; returns true if there are more.
    pub(crate) fn step(&mut self) -> Result<bool> {
        self.writer.step()
    }

    /// Makes the checkpoint current, and stores up to where the log is known to be synced.
    pub(crate) fn publish(
        self,
        superblock: &Superblock,
        synced: LogPosition,
    ) -> Result<Superblock> {
        assert!(
            start_of(superblock).first() <= self.places.first(),
            "recovery begins no earlier than after the last checkpoint"
        );
        assert!(self.writer.left().is_empty(), "a checkpoint is published with all its pages");
        assert!(
            synced >= self.places.first() || superblock.is_recovering,
            "recovery begins where the log is synced"
        );
        self.held.data.publish(&self.catalogue, &superblock.with_log(&self.places, synced))
    }
}

/// Returns a place as a superblock has it.
fn in_superblock(LanePlace { place, order }: LanePlace) -> data::LanePlace {
    let Place { position, chain } = place;
    data::LanePlace { segment: position.segment.get(), at: position.at, chain, order }
}

impl Superblock {
    /// Returns the superblock with one more lane of the log, which starts at a place.
    pub(super) fn with_lane(mut self, lane: usize, start: LanePlace) -> Self {
        let start = in_superblock(start);
        // It has that place if the superblock was written once, and not for the second time.
        let expected = [data::LanePlace::default(), start];
        assert!(expected.contains(&self.lanes[lane]), "a lane begins once, at one place");
        self.lanes[lane] = start;
        self
    }

    /// Returns the superblock with the places at which recovery starts, and with `synced`: the
    /// first lane is known to be synced up to there.
    pub(super) fn with_log(self, places: &Places, synced: LogPosition) -> Self {
        Self {
            lanes: places.lanes.map(in_superblock),
            synced_segment: synced.segment.get(),
            synced_at: synced.at,
            ..self
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.pager.release_checkpoint();
        self.data.end_checkpoint();
    }
}
