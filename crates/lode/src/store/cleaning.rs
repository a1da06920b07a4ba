//! Page cleaning: changed pages are written out before a checkpoint, so that they can leave memory.
//! No superblock names their new slots, so after a crash these pages are as of the last checkpoint,
//! and the log has the rest.

use super::page_writer::PageWriter;
use crate::data::DataFile;
use crate::error::Result;
use crate::pager::{Pager, ReadEpoch};

/// Pages that are being cleaned. No checkpoint may be under way at the same time.
pub(crate) struct Cleaning<'c> {
    writer: PageWriter<'c>,
}

impl<'c> Cleaning<'c> {
    /// Starts to clean the `count` pages whose last change is the longest ago, of those that
    /// changed before `moment`, at which [the epoch ended](Pager::end_epoch). No commit was under
    /// way then: otherwise a checkpoint could name half of its changes. Only while one is replayed,
    /// pages may be cleaned within it, since no checkpoint is made before its end.
    ///
    /// # Errors
    /// `DiskFull` when there is no space for `reserved` pages, these and those of the next
    /// checkpoint.
    pub(crate) fn begin(
        pager: &'c Pager,
        data: &'c DataFile,
        moment: ReadEpoch,
        count: u64,
        reserved: u64,
    ) -> Result<Self> {
        let writer = PageWriter::new(pager, data, moment, |pages| {
            // Each cleaning ends an epoch, so the epochs give the order of changes.
            pages.sort_by_cached_key(|page| pager.changed_in(*page));
            pages.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        })?;
        data.reserve_to_clean(reserved, writer.left())?;
        Ok(Self { writer })
    }

    /// Writes some pages; returns true if there are more.
    pub(crate) fn step(&mut self) -> Result<bool> {
        self.writer.step()
    }
}
