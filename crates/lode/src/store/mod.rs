//! A database's directory: its data file, its log, its checkpoints, and the threads that look after
//! them.
//!
//! | file | content |
//! |---|---|
//! | `data` | pages as of the last checkpoint (`crate::data`) |
//! | `backup-new` | the data file of a backup that was just started |
//! | `log-…` | changes since then (`crate::wal`) |
//! | `creating` | nothing; the others are being created, unless `data` has a superblock |
//! | `lock` | nothing; the process that has it locked has the database open |

mod backup;
mod catalogue;
mod checkpoint;
mod cleaning;
mod clock;
mod open;
mod page_writer;
mod read;
mod recovery;
mod salvage;
mod settings;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub use backup::BackupProgress;
pub(crate) use backup::{STAGE_PAGES, Target};
pub(crate) use catalogue::{Catalogue, MOST_DEFINITION_BYTES};
pub(crate) use checkpoint::Checkpoint;
use cleaning::Cleaning;
pub(crate) use clock::Clock;
pub(crate) use open::{Expected, Opened, open};
use read::Shown;
pub(crate) use read::open_to_read;
pub(crate) use salvage::Remnant;
pub use settings::Durability;
pub(crate) use settings::Settings;

pub(crate) use crate::data::DEFAULT_READER_BYTES;
use crate::data::{DataFile, Left, SLOT_BYTES, Superblock};
use crate::error::{Effect, Error, Result};
use crate::io::Lock;
use crate::observability::{Lack, Observer};
use crate::pager::{Pager, ReadEpoch};
use crate::wal::{Log, LogPosition, Place, Positions};

/// The bytes that the log may always have, even if there is little data.
const LEAST_LOG_BYTES: u64 = 32 << 20;

/// The seconds that light writes take at least to make a checkpoint necessary.
const LIGHT_SECONDS: u64 = 64;

/// Pages that threads which were admitted at the same time may change beyond the reserved room.
const MARGIN: u64 = 64;

/// Returns the number of changed pages at which some are written out, given the most.
fn soon_dirty(most_dirty: u64) -> u64 {
    most_dirty / 8 * 5
}

/// The fewest pages that can be changed before an operation asks again whether there is room.
const LEAST_STEP: u64 = 8;

/// Returns the pages by which the room grows when `dirty` pages have changed. Steps grow, so that a
/// small database takes up little; up to a size, so that no operation waits long for a longer file.
fn step_of(dirty: u64) -> u64 {
    (dirty / 2).clamp(LEAST_STEP, MARGIN)
}

/// The directory of an open database.
pub(crate) struct Store {
    pub data: Arc<DataFile>,
    /// The number of the database.
    pub database: u64,
    /// The log for new records; `None` if the database is only read.
    log: Option<Log>,
    /// The moment that is shown, if the database is only read.
    shown: Option<Shown>,
    pub level: Durability,
    /// The current superblock; held while a checkpoint is made.
    current: Mutex<Superblock>,
    /// The positions at which recovery would start.
    since: Mutex<Positions>,
    /// The most changed pages before an operation [makes room](Store::make_room).
    room: Arc<AtomicU64>,
    /// The number of times that the room was [forgotten](Store::forget_room).
    forgotten: AtomicU64,
    /// Held by the operation that makes room.
    making_room: Mutex<()>,
    most_log_bytes: u64,
    is_step_by_step: AtomicBool,
    unwritable: OnceLock<Unwritable>,
    lock: Mutex<Option<Lock>>,
    observer: Observer,
}

/// The reason why nothing is written any more.
#[derive(Clone, Debug)]
enum Unwritable {
    /// The database was opened to be read only.
    ReadOnly,
    /// The content of the disk is unknown, or a damaged table needs records of the log.
    Poisoned(String),
}

impl Unwritable {
    fn error(&self) -> Error {
        match self {
            Self::ReadOnly => Error::ReadOnly,
            Self::Poisoned(why) => Error::Poisoned { why: why.clone(), effect: Effect::None },
        }
    }
}

/// The need to write pages out before more can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Nothing,
    /// Page cleaning or a checkpoint, soon.
    Soon,
    /// Page cleaning or a checkpoint, now, for want of memory or of room in the log.
    Now(Lack),
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Returns the most [changed pages](Pager::changed) before an operation has to look after the
    /// store.
    #[inline(always)]
    pub(crate) fn room(&self) -> u64 {
        self.room.load(Ordering::Relaxed)
    }

    /// Returns the log, if operations are logged.
    #[inline(always)]
    pub(crate) fn log(&self) -> Option<&Log> {
        self.log.as_ref().filter(|_| self.level != Durability::None)
    }

    /// Returns the log that checkpoints refer to, at every level.
    ///
    /// # Errors
    /// `ReadOnly` if the database is only read; `Poisoned`.
    pub(crate) fn log_to_write(&self) -> Result<&Log> {
        match &self.log {
            Some(log) => Ok(log),
            None => Err(self.expect_healthy().err().unwrap_or(Error::ReadOnly)),
        }
    }

    /// Returns true if nothing is ever written.
    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self.unwritable.get(), Some(Unwritable::ReadOnly))
    }

    /// Returns true if something can still be written.
    #[inline(always)]
    pub(crate) fn is_healthy(&self) -> bool {
        self.unwritable.get().is_none()
    }

    /// Fails if nothing can be written any more.
    #[inline(always)]
    pub(crate) fn expect_healthy(&self) -> Result<()> {
        match self.unwritable.get() {
            None => Ok(()),
            Some(why) => Err(why.error()),
        }
    }

    /// Forbids all writes, since the content of the disk is unknown. Returns the error for them.
    pub(crate) fn poison(&self, error: &Error) -> Error {
        let why = match error {
            Error::Poisoned { why, .. } => why.clone(),
            other => other.to_string(),
        };
        let poisoned = self.unwritable.get_or_init(|| {
            self.observer.poisoned(&why);
            Unwritable::Poisoned(why)
        });
        let why = poisoned.error();
        fence(Ordering::SeqCst);
        self.room.store(0, Ordering::Relaxed);
        why
    }

    /// Waits until an operation that ends at `end` in the log is as durable as it has to be.
    #[inline(always)]
    pub(crate) fn acknowledge(&self, end: LogPosition) -> Result<()> {
        if self.level == Durability::Commit { self.sync(end) } else { Ok(()) }
    }

    /// Makes everything durable in the log up to a position in its first lane, and all of others.
    pub(crate) fn sync(&self, to: LogPosition) -> Result<()> {
        if to == LogPosition::default() {
            // Nothing was written.
            return Ok(());
        }
        self.expect_healthy()?;
        self.log_to_write()?.sync(to).map_err(|error| self.poison(&error))
    }

    /// Checks that the files are still those that will be opened the next time. If not, nothing
    /// more can be promised.
    pub(crate) fn expect_files(&self) -> Result<()> {
        self.log_to_write()?.expect_files().map_err(|error| self.poison(&error))
    }

    /// Sets if a test makes a checkpoint step by step, so that no operation has to.
    #[cfg(any(test, feature = "simulation"))]
    pub(crate) fn step_by_step(&self, is_so: bool) {
        self.is_step_by_step.store(is_so, Ordering::Relaxed);
    }

    /// Returns the most bytes of the log, never more than the user said: recovery replays it.
    /// Little data is soon written out, and is worth less. The copies that a checkpoint is writing
    /// do not count: the log would become longer and longer during it.
    pub(crate) fn most_log_bytes(&self) -> u64 {
        let least = LEAST_LOG_BYTES.min(self.most_log_bytes);
        (self.data.live_bytes() * 2).clamp(least, self.most_log_bytes)
    }

    /// Returns the most bytes by which a second of light writes makes the log longer: a checkpoint
    /// is not needed for a minute then.
    pub(crate) fn light_log_bytes(&self) -> u64 {
        self.checkpoint_log_bytes() / LIGHT_SECONDS
    }

    /// Returns the positions at which recovery would start.
    pub(crate) fn recovered_from(&self) -> Positions {
        *locked(&self.since)
    }

    /// Returns the bytes of the log at which a checkpoint should start.
    fn checkpoint_log_bytes(&self) -> u64 {
        self.most_log_bytes() / 2
    }

    /// Returns the need to write pages out, if `extra_pages` more pages change.
    pub(crate) fn need(&self, pager: &Pager, extra_pages: u64) -> Need {
        if self.is_step_by_step.load(Ordering::Relaxed) {
            return Need::Nothing;
        }
        let dirty = pager.dirty() + extra_pages;
        let most_dirty = pager.most_dirty();
        let log = self.log_bytes();
        if log >= self.most_log_bytes() {
            Need::Now(Lack::Log)
        } else if dirty >= most_dirty / 4 * 3 {
            Need::Now(Lack::Memory)
        } else if dirty >= soon_dirty(most_dirty) || log >= self.checkpoint_log_bytes() {
            Need::Soon
        } else {
            Need::Nothing
        }
    }

    /// Returns true if [page cleaning](Self::begin_cleaning) is not enough: the log has to become
    /// short, or cleaned pages have left many slots that only a checkpoint gives back.
    pub(crate) fn needs_checkpoint(&self, pager: &Pager) -> bool {
        let released = self.data.released();
        let used = self.data.live_bytes() / SLOT_BYTES as u64;
        self.log_bytes() >= self.checkpoint_log_bytes()
            || released >= (used / 4).max(pager.most_dirty())
    }

    /// Returns true if a checkpoint gives space of the data file back: slots that cleaned pages
    /// have left, and space reserved for changed pages, if they are many or it is just enough.
    pub(crate) fn checkpoint_gives_space(&self, pager: &Pager) -> bool {
        let dirty = pager.dirty();
        let has_room = |dirty: u64| self.data.has_room(dirty + 2 * step_of(dirty) + MARGIN);
        let is_enough = || !has_room(dirty) && has_room(0);
        let has_some = self.data.released() > 0 || dirty > pager.most_dirty() / 8 || is_enough();
        has_some && !self.is_step_by_step.load(Ordering::Relaxed)
    }

    /// Starts to clean the `count` changed pages whose last change is the longest ago, as of [a
    /// moment](Cleaning::begin). No checkpoint may be under way: the caller holds [the current
    /// superblock](Self::current).
    ///
    /// # Errors
    /// `DiskFull` when there is space for a checkpoint only.
    pub(crate) fn begin_cleaning<'c>(
        &'c self,
        pager: &'c Pager,
        moment: ReadEpoch,
        count: u64,
    ) -> Result<Cleaning<'c>> {
        self.expect_healthy()?;
        debug_assert!(self.is_making_current(), "no checkpoint is under way");
        Cleaning::begin(pager, &self.data, moment, count, pager.dirty() + MARGIN)
    }

    /// Cleans some pages; returns true if there are more. An operation that changes them again has
    /// to [make room](Self::make_room) again.
    pub(crate) fn clean(&self, cleaning: &mut Cleaning<'_>) -> Result<bool> {
        let has_more = cleaning.step();
        self.forget_room();
        has_more
    }

    /// Makes sure that some pages can be changed, and `extra_pages` more.
    ///
    /// # Errors
    /// `DiskFull` when there is no space for a checkpoint with them; `Poisoned`.
    pub(crate) fn make_room(&self, pager: &Pager, extra_pages: u64) -> Result<()> {
        self.expect_healthy()?;
        let _turn = locked(&self.making_room);
        let forgotten = self.forgotten.load(Ordering::SeqCst);
        let dirty = pager.dirty();
        let most_dirty = pager.most_dirty();
        let images = pager.checkpoint_images();
        if dirty + images + extra_pages < self.room() {
            // Another operation has made it.
            return Ok(());
        }
        debug_assert!(!self.is_read_only(), "pages change where something can be written");
        let step = step_of(dirty) + extra_pages;
        let wanted = dirty + 2 * step + MARGIN;
        let with_more = images + 2 * step + MARGIN;
        match (self.data.reserve(wanted, with_more), self.log()) {
            (Err(Error::DiskFull { .. }), Some(log)) => {
                // The log keeps files for later.
                log.remove_spares()?;
                self.data.reserve(wanted, with_more)?;
            }
            (Ok(Left::Little), Some(log)) => log.ask_ahead(),
            (Err(error), _) => return Err(error),
            (Ok(_), _) => {}
        }
        let soon = soon_dirty(most_dirty);
        let next = if dirty < soon { soon } else { most_dirty / 4 * 3 };
        self.room.store(next.min(dirty + step) + images, Ordering::Relaxed);
        // The room may have been forgotten in the meantime, or the store poisoned: this thread or
        // the other one sees it.
        fence(Ordering::SeqCst);
        if self.forgotten.load(Ordering::SeqCst) != forgotten {
            self.room.store(0, Ordering::Relaxed);
        }
        self.expect_healthy().inspect_err(|_| self.room.store(0, Ordering::Relaxed))
    }

    /// Has the next operation that changes pages [make room](Self::make_room).
    pub(crate) fn forget_room(&self) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
        self.room.store(0, Ordering::SeqCst);
    }

    /// Returns true if a checkpoint that is being written can be given up: the next one finds space
    /// for all pages that may have changed by then, without what this one releases.
    pub(crate) fn can_give_up(&self, pager: &Pager) -> bool {
        self.forget_room();
        self.data.reserve_anew(pager.dirty() + MARGIN).is_ok()
    }

    /// Gives space at the end of the data file back. An operation that changes pages from now on
    /// has to [make room](Self::make_room) again, since it had reserved this space.
    pub(crate) fn shrink(&self, pager: &Pager) -> Result<()> {
        let _turn = locked(&self.making_room);
        self.forget_room();
        let dirty = pager.dirty();
        // Some more pages may be changing now.
        let pages = if dirty > 0 { dirty + MARGIN } else { 0 };
        self.data.shrink(pages)
    }

    /// Gives all free space of the data file back. As after [`shrink`](Self::shrink), an operation
    /// has to make room again. The caller holds [the current superblock](Self::current).
    ///
    /// # Errors
    /// `Poisoned`.
    pub(crate) fn give_back(&self, pager: &Pager) -> Result<()> {
        self.expect_healthy()?;
        debug_assert!(self.is_making_current(), "no checkpoint is under way");
        self.reserve_anew(pager);
        self.data.give_back();
        Ok(())
    }

    /// Gives back some space of the data file that nothing has needed between the last two
    /// checkpoints. The caller holds [the current superblock](Self::current).
    pub(crate) fn give_back_unneeded(&self, pager: &Pager) {
        debug_assert!(self.is_making_current(), "no checkpoint is under way");
        let unneeded = self.data.take_unneeded();
        if unneeded > 0 {
            self.reserve_anew(pager);
            self.data.give_back_some(unneeded);
        }
    }

    /// Has operations make room again, and until then keeps space only for changed pages.
    fn reserve_anew(&self, pager: &Pager) {
        let _turn = locked(&self.making_room);
        self.forget_room();
        self.data.reserve_only(pager.dirty() + MARGIN);
    }

    /// Gives back the space that only writers need, when the database is closed.
    pub(crate) fn shrink_at_end(&self) -> Result<()> {
        self.data.shrink_to_used()?;
        self.log_to_write()?.shrink_at_end()
    }

    /// Has the next checkpoint move the nodes of the page map that are beyond the needed space. The
    /// caller holds [the current superblock](Self::current).
    ///
    /// # Errors
    /// `DiskFull` when there is no space for a checkpoint with them.
    pub(crate) fn move_map(&self, pager: &Pager) -> Result<()> {
        self.expect_healthy()?;
        debug_assert!(self.is_making_current(), "no checkpoint is under way");
        let pages = self.room().max(pager.dirty()) + MARGIN;
        self.data.rewrite_map_beyond_need(pages)
    }

    /// Returns true if a thread holds the current superblock, as the caller should.
    fn is_making_current(&self) -> bool {
        self.current.try_lock().is_err()
    }

    /// Returns the current superblock, for the caller that makes a checkpoint.
    pub(crate) fn current(&self) -> MutexGuard<'_, Superblock> {
        locked(&self.current)
    }

    /// Writes some pages of a checkpoint; returns true if there are more. An operation that changes
    /// them again has to [make room](Self::make_room) again: the room was the slots that they take.
    pub(crate) fn step(&self, checkpoint: &mut Checkpoint<'_>) -> Result<bool> {
        let has_more = checkpoint.step();
        self.forget_room();
        has_more
    }

    /// Makes a checkpoint current whose pages are all written. If that fails, its slots are not
    /// free before the next one is current.
    pub(crate) fn finish(
        &self,
        checkpoint: Checkpoint<'_>,
        current: &mut Superblock,
        is_clean: bool,
    ) -> Result<()> {
        debug_assert!(self.is_making_current(), "one checkpoint at a time is finished");
        let before = *current;
        let work = checkpoint.work();
        let finished = self.make_current(checkpoint, current, is_clean);
        debug_assert!(
            *current == before || current.generation > before.generation,
            "generations count checkpoints"
        );
        self.forget_room();
        finished.inspect(|()| self.observer.checkpointed(work))
    }

    fn make_current(
        &self,
        mut checkpoint: Checkpoint<'_>,
        current: &mut Superblock,
        is_clean: bool,
    ) -> Result<()> {
        // Recovery starts where the log is durable.
        self.sync(checkpoint.places().first())?;
        if is_clean {
            checkpoint.end_log();
        }
        let start = checkpoint.places().positions();
        let next = Superblock { is_clean, is_recovering: false, ..*current };
        // The segments before the start may have recorded this, and they are removed.
        let synced = self.log_to_write()?.synced();
        *current = checkpoint.publish(&next, synced).map_err(|error| match error {
            Error::Poisoned { .. } => self.poison(&error),
            other => other,
        })?;
        self.expect_files()?;
        let since = &mut *locked(&self.since);
        assert!(since.0[0] <= start.0[0], "recovery needs no segment before {since:?} again");
        *since = start;
        // Half of the log until the next checkpoint needs no new files: for more of it, space would
        // be taken up too long.
        self.log_to_write()?.trim(&start, self.checkpoint_log_bytes() / 2)
    }

    /// Makes one more lane of the log, and has the superblock name it. Threads do not use it yet.
    ///
    /// # Errors
    /// `DiskFull`, `Io`: all is as before. `Poisoned`.
    pub(crate) fn prepare_lane(&self, current: &mut Superblock) -> Result<()> {
        self.expect_healthy()?;
        debug_assert!(self.is_making_current(), "no checkpoint is under way");
        let poison = |error| match error {
            Error::Poisoned { .. } => self.poison(&error),
            other => other,
        };
        let (lane, place) = self.log_to_write()?.prepare_lane().map_err(poison)?;
        // Both superblocks: one without the lane would open without its frames.
        for _ in 0..2 {
            *current = self.data.publish_log(&current.with_lane(lane, place)).map_err(poison)?;
        }
        locked(&self.since).0[lane] = place.place.position;
        Ok(())
    }

    /// Returns true if the database is a backup that was not opened for writing.
    pub(crate) fn is_backup(&self) -> bool {
        locked(&self.current).backup_of != 0
    }

    /// Returns the place of the log at which its next record will be, or up to which a database
    /// shows it that is only read.
    pub(crate) fn log_place(&self) -> Result<Place> {
        self.shown.map_or_else(|| Ok(self.log_to_write()?.place()), |shown| Ok(shown.place))
    }

    /// Returns the bytes of the log that would be replayed after a crash.
    pub(crate) fn log_bytes(&self) -> u64 {
        let of_log = |log: &Log| log.bytes_since(&self.recovered_from());
        let replayed_bytes = self.shown.map_or(0, |shown| shown.replayed_bytes);
        self.log.as_ref().map_or(replayed_bytes, of_log)
    }

    /// Lets others open the directory.
    pub(crate) fn unlock(&self) {
        self.data.give_up();
        let lock = locked(&self.lock).take();
        debug_assert!(lock.is_some(), "a directory is unlocked once");
    }
}
