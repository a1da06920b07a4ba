//! Admission: an operation starts when there is room for its changes. That is room in memory for
//! changed pages, which may not leave before a checkpoint; in the data file, for a checkpoint of
//! them; and in the log, which a checkpoint makes short again.
//!
//! Most operations change few pages, for which room is made ahead; `extra_pages` are the pages that
//! an operation changes beyond that: those of a long record.

use std::cell::Cell;
use std::sync::{MutexGuard, PoisonError};

use super::Engine;
use crate::error::{Error, Result};
use crate::observability::Lack;
use crate::pager::Passed;
use crate::store::{Need, Store};

/// The most repeats of an operation that found no room.
const MOST_TRIES: usize = 1000;

/// The size of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommitSize {
    /// Records that are written or deleted.
    pub records: usize,
    /// Bytes of the payloads that records will have.
    pub bytes: usize,
}

impl CommitSize {
    /// The sizes from which on readers pass a commit: in a directory, where pages may have to come
    /// from the disk, and in memory. For shorter ones, keeping page images would take longer than
    /// waiting.
    const LONG: Self = Self { records: 1 << 13, bytes: 4 << 20 };
    const LONG_IN_MEMORY: Self = Self { records: 1 << 16, bytes: 16 << 20 };

    /// The size of a commit that looks again at what was scanned: that may take long, however
    /// little it writes.
    pub(crate) const WITH_SCANS: Self = Self { records: usize::MAX, bytes: usize::MAX };

    fn is_long(self, is_in_directory: bool) -> bool {
        let long = if is_in_directory { Self::LONG } else { Self::LONG_IN_MEMORY };
        self.records >= long.records || self.bytes >= long.bytes
    }
}

/// The turn of an operation that changes many pages, which ends when this is dropped: several of
/// them could together need more room than each was admitted for.
pub(crate) struct LongTurn<'e> {
    _turn: Option<MutexGuard<'e, ()>>,
}

impl Engine {
    /// Waits for the turn of an operation; one without extra pages does not wait.
    #[inline(always)]
    pub(crate) fn turn_for(&self, extra_pages: u64) -> LongTurn<'_> {
        let turn = || self.turn_for_long.lock().unwrap_or_else(PoisonError::into_inner);
        LongTurn { _turn: (extra_pages > 0).then(turn) }
    }

    /// Calls `work`, which changes pages, once there is room for it. It may be called several
    /// times, and must have changed nothing when it returns `Full` or `DiskFull`.
    ///
    /// # Errors
    /// Those of `work`; `Full` when there is no room after a checkpoint either; `DiskFull`.
    pub(crate) fn admitted<T>(
        &self,
        extra_pages: u64,
        work: &mut dyn FnMut() -> Result<T>,
    ) -> Result<T> {
        self.admit(extra_pages)?;
        work().or_else(|error| self.try_again(extra_pages, error, work))
    }

    /// Waits until an operation that changes pages has room. Its work is tried, and if that fails,
    /// [again](Self::try_again).
    #[inline(always)]
    pub(crate) fn admit(&self, extra_pages: u64) -> Result<()> {
        self.expect_here()?;
        match &self.store {
            Some(store) if self.pager.changed() + extra_pages >= store.room() => {
                self.make_room(store, extra_pages)
            }
            _ => Ok(()),
        }
    }

    /// Tries work again that has failed, if it may have found room by then.
    ///
    /// # Errors
    /// As [`admitted`](Self::admitted).
    #[cold]
    pub(crate) fn try_again<T>(
        &self,
        extra_pages: u64,
        error: Error,
        work: &mut dyn FnMut() -> Result<T>,
    ) -> Result<T> {
        self.try_while(extra_pages, error, work, &|was_crowded| was_crowded || self.is_crowded())
    }

    /// Calls `work` with the gate closed, once there is room. Its own changes do not count as those
    /// of others, so a commit that does not fit is soon refused. Readers pass a long one.
    pub(crate) fn admitted_alone<T>(
        &self,
        size: CommitSize,
        work: &mut dyn FnMut() -> Result<T>,
    ) -> Result<T> {
        let was_crowded = Cell::new(false);
        let mut alone = || {
            // The page images for readers are given back when the gate is open again.
            let mut passed = None;
            let _alone = self.gate().close();
            self.expect_healthy()?;
            was_crowded.set(self.is_crowded());
            if size.is_long(self.store.is_some()) {
                passed = Some(self.pager.let_readers_pass());
            }
            let done = work();
            passed.iter_mut().for_each(Passed::end);
            done
        };
        self.admit(0)?;
        alone().or_else(|error| self.try_while(0, error, &mut alone, &|_| was_crowded.get()))
    }

    /// Makes a checkpoint if that gives space of the data file back. Returns true if it did.
    #[cold]
    fn checkpoint_for_space(&self, store: &Store) -> Result<bool> {
        let is_of_use = store.checkpoint_gives_space(&self.pager);
        if is_of_use {
            let _stall = self.observer().stalls(Lack::Space);
            self.checkpoint()?;
        }
        Ok(is_of_use)
    }

    fn checkpoint_for_memory(&self) -> Result<()> {
        let _stall = self.observer().stalls(Lack::Memory);
        self.checkpoint()
    }

    /// Returns true if over an eighth of the pages that may change have: others may have no room.
    fn is_crowded(&self) -> bool {
        self.pager.changed() > self.pager.most_dirty() / 8
    }

    /// Tries `work` again, which has failed with `error`, if that was a lack of room that a
    /// checkpoint can end. Others may be quicker and change pages before or during it. But if there
    /// is no room though few pages have changed, there never will be: `is_worth_it` decides, given
    /// whether there were many before.
    #[cold]
    fn try_while<T>(
        &self,
        extra_pages: u64,
        error: Error,
        work: &mut dyn FnMut() -> Result<T>,
        is_worth_it: &dyn Fn(bool) -> bool,
    ) -> Result<T> {
        let Some(store) = &self.store else { return Err(error) };
        match error {
            Error::Full { .. } => {}
            Error::DiskFull { .. } if self.checkpoint_for_space(store)? => {
                self.make_room(store, extra_pages)?;
                return work();
            }
            other => return Err(other),
        }
        for _ in 0..MOST_TRIES {
            self.checkpoint_for_memory()?;
            self.make_room(store, extra_pages)?;
            let was_crowded = self.is_crowded();
            match work() {
                Err(Error::Full { .. }) if is_worth_it(was_crowded) => {}
                other => return other,
            }
        }
        Err(error)
    }

    /// Makes room for some operations and one with extra pages, if need be by a checkpoint.
    ///
    /// # Errors
    /// `DiskFull`; `Poisoned`.
    #[cold]
    pub(crate) fn make_room(&self, store: &Store, extra_pages: u64) -> Result<()> {
        self.expect_open()?;
        store.expect_healthy()?;
        match store.need(&self.pager, extra_pages) {
            Need::Nothing => {}
            Need::Soon => self.worker.wake(),
            Need::Now(lack) => {
                let is_needed = || matches!(store.need(&self.pager, extra_pages), Need::Now(_));
                let _stall = self.observer().stalls(lack);
                self.relieve(is_needed, || true)?
            }
        }
        match store.make_room(&self.pager, extra_pages) {
            Err(Error::DiskFull { .. }) if self.checkpoint_for_space(store)? => {
                store.make_room(&self.pager, extra_pages)
            }
            other => other,
        }
    }

    /// Makes room for one more step of a commit. The gate is closed, so there can be no checkpoint.
    ///
    /// # Errors
    /// `Full` when memory has no room for it; `DiskFull`; `Poisoned`.
    pub(crate) fn make_room_for_step(&self, extra_pages: u64) -> Result<()> {
        if !self.pager.has_room_for_change(extra_pages) {
            return Err(Error::Full { budget_bytes: self.pager.budget_bytes() });
        }
        self.make_room_in_file(extra_pages)
    }

    /// Returns true if pages that steps of a commit have emptied may be freed, with the gate
    /// closed.
    pub(crate) fn may_tidy(&self) -> bool {
        self.pager.has_room_to_tidy() && self.make_room_in_file(0).is_ok()
    }

    fn make_room_in_file(&self, extra_pages: u64) -> Result<()> {
        match &self.store {
            Some(store) if self.pager.changed() + extra_pages >= store.room() => {
                store.make_room(&self.pager, extra_pages)
            }
            _ => Ok(()),
        }
    }
}
