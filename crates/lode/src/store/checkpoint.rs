//! Checkpoints: all pages as they were at one moment, written to slots that are not needed, and
//! then made current at once. It is a step machine: between steps, its caller and all other threads
//! may do other things.

use super::recovery::start_of;
use crate::data::{DataFile, SLOT_BYTES, Superblock};
use crate::error::Result;
use crate::pager::{Copied, PageNumber, Pager, ReadEpoch};
use crate::wal::Place;

/// Pages that are written in a step.
const STEP: usize = 64;

/// A checkpoint that is being written.
pub(crate) struct Checkpoint<'c> {
    pager: &'c Pager,
    data: &'c DataFile,
    moment: ReadEpoch,
    /// Where the log goes on after it.
    place: Place,
    catalogue: Vec<u8>,
    /// What may have to be written still, the last first.
    pages: Vec<PageNumber>,
    bytes: Vec<u8>,
}

impl<'c> Checkpoint<'c> {
    /// Of a moment that the pager [began](Pager::checkpoint_moment).
    pub(crate) fn begin(
        pager: &'c Pager,
        data: &'c DataFile,
        (place, moment): (Place, ReadEpoch),
        catalogue: Vec<u8>,
    ) -> Result<Self> {
        // From here on it is released when this is dropped.
        let mut checkpoint =
            Self { pager, data, moment, place, catalogue, pages: Vec::new(), bytes: Vec::new() };
        checkpoint.pages = pager.changed_pages();
        checkpoint.pages.reverse();
        // After that: now all pages have been freed that were before the moment.
        let mut freed = pager.take_freed(moment);
        while let Some(page) = freed.pop() {
            if let Err(error) = data.remove(page) {
                freed.push(page);
                pager.give_freed(freed);
                return Err(error);
            }
        }
        let catalogue = checkpoint.catalogue.len().div_ceil(SLOT_BYTES);
        let mut new_pages = 0;
        for page in &checkpoint.pages {
            new_pages += u64::from(!data.has(*page)?);
        }
        data.begin_checkpoint((checkpoint.pages.len() + catalogue) as u64, new_pages)?;
        Ok(checkpoint)
    }

    /// Where the log goes on after it.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Writes some pages; whether there are more.
    pub(crate) fn step(&mut self) -> Result<bool> {
        let (mut numbers, mut words) = (Vec::new(), Vec::new());
        self.bytes.clear();
        while numbers.len() < STEP
            && let Some(page) = self.pages.pop()
        {
            let from = self.bytes.len();
            self.bytes.resize(from + SLOT_BYTES, 0);
            match self.pager.copy_at(self.moment, page, &mut self.bytes[from..]) {
                Copied::Nothing => {
                    self.bytes.truncate(from);
                    continue;
                }
                Copied::Frame(word) => words.push((page, word)),
                Copied::Image => {}
            }
            numbers.push(page);
        }
        if !numbers.is_empty() {
            self.data.write(&numbers, &self.bytes)?;
        }
        words.into_iter().for_each(|(page, word)| self.pager.written(page, word));
        Ok(!self.pages.is_empty())
    }

    /// Makes it current.
    pub(crate) fn publish(self, superblock: Superblock) -> Result<Superblock> {
        let Place { position, chain } = self.place;
        assert!(
            start_of(&superblock).position <= position,
            "recovery begins no earlier than after the last checkpoint"
        );
        self.data.publish(
            &self.catalogue,
            Superblock {
                log_segment: position.segment.get(),
                log_at: position.at,
                log_chain: chain,
                ..superblock
            },
        )
    }
}

impl Drop for Checkpoint<'_> {
    fn drop(&mut self) {
        self.pager.release_checkpoint();
        self.data.end_checkpoint();
    }
}
