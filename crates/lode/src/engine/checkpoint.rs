//! Writes checkpoints, and changed pages without one.

use std::sync::MutexGuard;

use super::{Engine, idle};
use crate::data::Superblock;
use crate::error::{Error, Result};
use crate::pager::ReadEpoch;
use crate::store::{Checkpoint, Need, Store};
use crate::wal::{Log, Places};

impl Engine {
    /// Writes a checkpoint before a writer has to wait for one, and gives space back that none of
    /// the last ones has needed. It stops early when the database is being closed: closing writes a
    /// checkpoint of the rest.
    pub(crate) fn checkpoint_ahead(&self) -> Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        self.expect_here()?;
        // A database that syncs nothing would not notice.
        store.expect_files()?;
        let needed = || store.need(&self.pager, 0) != Need::Nothing;
        if needed() {
            self.relieve(needed, || !self.worker.is_stopped())?;
        }
        match self.take_turn()? {
            Some((store, _turn)) if store.is_healthy() => store.give_back_unneeded(&self.pager),
            _ => {}
        }
        Ok(())
    }

    /// Cleans pages if that is enough, or makes a checkpoint, so that more pages can change and the
    /// log can grow. Stops between two steps when `goes_on` returns false.
    pub(super) fn relieve(
        &self,
        needed: impl Fn() -> bool,
        goes_on: impl Fn() -> bool,
    ) -> Result<()> {
        let Some((store, current)) = self.take_turn()? else { return Ok(()) };
        if needed() && !store.needs_checkpoint(&self.pager) {
            let count = self.pager.dirty().saturating_sub(self.pager.most_dirty() / 2);
            self.clean(store, count, &goes_on)?;
        }
        drop(current);
        self.checkpoint_while(needed, goes_on)
    }

    /// Writes out up to `count` changed pages, without a checkpoint; for the holder of [the current
    /// superblock](Store::current). If there is space for a checkpoint only, it writes none.
    pub(crate) fn clean(
        &self,
        store: &Store,
        count: u64,
        goes_on: &impl Fn() -> bool,
    ) -> Result<()> {
        let moment = {
            let _inside = self.gate.enter();
            self.pager.end_epoch()
        };
        match store.begin_cleaning(&self.pager, moment, count) {
            Ok(mut cleaning) => {
                while goes_on() && store.clean(&mut cleaning)? {}
                Ok(())
            }
            Err(Error::DiskFull { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Writes a checkpoint, so that recovery has nothing to do that is before it.
    pub(crate) fn checkpoint(&self) -> Result<()> {
        self.checkpoint_while(|| true, || true)
    }

    /// Writes a checkpoint, and gives space back if much of the files is not in use. Stops between
    /// two steps when `goes_on` returns false.
    pub(crate) fn checkpoint_and_give_back(&self, goes_on: &dyn Fn() -> bool) -> Result<()> {
        self.checkpoint_while(|| true, goes_on)?;
        let Some(store) = &self.store else { return Ok(()) };
        if !goes_on() || !idle::has_spare_space(store, store.data.space_bytes()) {
            return Ok(());
        }
        // A checkpoint that is being made has reserved the slots that it needs.
        let turn = self.take_turn()?;
        store.give_back(&self.pager)?;
        drop(turn);
        match self.begin_small_log() {
            // A large file of the log stays for now.
            Err(Error::DiskFull { .. }) => Ok(()),
            other => other,
        }
    }

    /// Continues the log in a small file, and removes all others, which a checkpoint makes useless.
    pub(super) fn begin_small_log(&self) -> Result<()> {
        // Without the turn, the directory could be closed during this.
        let Some((store, turn)) = self.take_turn()? else { return Ok(()) };
        let log = store.log_to_write()?;
        log.remove_spares()?;
        log.begin_small()?;
        drop(turn);
        self.checkpoint()?;
        let _turn = self.take_turn()?;
        log.remove_spares()
    }

    /// Writes a checkpoint; stops between two steps when `goes_on` returns false.
    pub(super) fn checkpoint_while(
        &self,
        needed: impl Fn() -> bool,
        goes_on: impl Fn() -> bool,
    ) -> Result<()> {
        let Some((store, mut current)) = self.take_turn()? else { return Ok(()) };
        if !needed() {
            return Ok(());
        }
        store.expect_healthy()?;
        let mut checkpoint = self.begin_checkpoint(store)?;
        loop {
            match store.step(&mut checkpoint) {
                Ok(true) if goes_on() || !store.can_give_up(&self.pager) => {}
                Ok(false) => {
                    store.finish(checkpoint, &mut current, false)?;
                    self.publish();
                    return Ok(());
                }
                given_up => {
                    // The slots that it has taken are not free before the next one is current.
                    drop(checkpoint);
                    store.forget_room();
                    return given_up.map(|_| ());
                }
            }
        }
    }

    /// Waits until no other thread makes a checkpoint or gives space back. None does, or closes the
    /// database, as long as the guard is held. `None` for a database without a directory.
    ///
    /// # Errors
    /// `Closed`: the directory may belong to another database. `Forked`.
    pub(super) fn take_turn(&self) -> Result<Option<(&Store, MutexGuard<'_, Superblock>)>> {
        self.expect_open()?;
        let Some(store) = &self.store else { return Ok(None) };
        let current = store.current();
        // It may have been closed in the meantime.
        self.expect_open()?;
        Ok(Some((store, current)))
    }

    /// Starts a checkpoint of now; for the holder of [the current superblock](Store::current).
    pub(crate) fn begin_checkpoint<'e>(&'e self, store: &'e Store) -> Result<Checkpoint<'e>> {
        debug_assert!(!store.is_read_only(), "a database that is read is not written");
        let catalogue = self.catalogue();
        let (places, moment) = self.barrier(store.log_to_write()?);
        let catalogue = catalogue.store();
        let begun = Checkpoint::begin(&self.pager, &store.data, &places, moment, catalogue);
        // Pages that change from now on have to be written twice.
        store.forget_room();
        begun
    }

    fn barrier(&self, log: &Log) -> (Places, ReadEpoch) {
        // A commit is before it or after it.
        let _inside = self.gate.enter();
        log.barrier(|| self.pager.checkpoint_moment())
    }
}
