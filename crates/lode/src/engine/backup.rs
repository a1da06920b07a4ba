//! Takes backups while others read and write.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use super::Engine;
use crate::data::LanePlace;
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::observability::Work;
use crate::store::{BackupProgress, Target};

impl Engine {
    /// Refuses the database's own directory, and those in it.
    ///
    /// # Errors
    /// `NoBackup`; `Io`.
    pub(crate) fn expect_outside(&self, path: &Path) -> Result<()> {
        let failed = |error| Error::io(format!("look at {}", path.display()), &error);
        let holds = self.disk.as_ref().map_or(Ok(false), |disk| disk.holds(path));
        if holds.map_err(failed)? {
            return Err(Error::NoBackup { why: "it is the database's own, or in that" });
        }
        Ok(())
    }

    /// Copies the state of now, or a later one, to the directory that `to` opens. Of a first
    /// backup, what is copied is kept after `stage_pages` pages. Calls `on_progress` from time to
    /// time, and returns the last progress.
    ///
    /// # Errors
    /// `NoFiles` for a database in memory; `ReadOnly`, `Poisoned`, `Closed`, `Forked`; and those of
    /// [`Target`].
    pub(crate) fn back_up(
        &self,
        to: impl FnOnce() -> Result<Arc<dyn Disk>>,
        stage_pages: u64,
        on_progress: &mut dyn FnMut(BackupProgress),
    ) -> Result<BackupProgress> {
        self.expect_open()?;
        if self.store.is_none() {
            return Err(Error::NoFiles);
        }
        let _turn = self.turn_to_back_up.lock().unwrap_or_else(PoisonError::into_inner);
        let work = Work::start();
        self.expect_healthy()?;
        let Some((_, current)) = self.take_turn()? else { return Err(Error::NoFiles) };
        let database = current.database;
        drop(current);
        // Nothing waits for the disk of the backup.
        let mut target = Target::open(to()?, database, self.settings.random())?;
        self.checkpoint()?;
        let Some((store, current)) = self.take_turn()? else { return Err(Error::NoFiles) };
        let mut kept = store.data.keep(&current);
        // From a place of a log that has only some of the changes, nothing leads to later ones.
        let place = if self.keeps_changes() { current.lanes[0] } else { LanePlace::default() };
        drop(current);
        let done = target.take(&mut kept, place, stage_pages, on_progress);
        // Closed, it may have been written to by another process.
        let done = done.or_else(|error| self.expect_open().and(Err(error)))?;
        self.observer().backed_up(work, done.copied_bytes, done.total_bytes);
        Ok(done)
    }
}
