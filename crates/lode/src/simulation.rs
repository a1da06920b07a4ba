//! A database on a simulated disk, where nothing happens by itself: for tests and fuzzing, of Lode
//! and of programs built on it. Not part of the promises of this crate's versions.

use std::path::Path;
use std::sync::{Arc, MutexGuard};

pub use crate::io::simulated::{Fault, FaultKind, Mapping, Simulated};

use crate::api::{Database, Loss, Options, Repaired};
use crate::data::Superblock;
use crate::engine::{BackupProgress, Sparse};
use crate::error::Result;
use crate::store::{self, Expected, Store};
use crate::wal::Log;

/// The directory that errors, metrics and events name.
const DISK: &str = "a simulated disk";

/// Opens the database on a disk. The same number gives the same database.
pub fn open(options: &Options, disk: &Simulated, random: u64) -> Result<Database> {
    let engine = options.open_unattended(
        Arc::new(disk.clone()),
        random,
        Expected::Any { directory: Path::new(DISK) },
    )?;
    Ok(Database::new(engine))
}

/// Opens the database on a disk to read it only, as another process would: also while it is open.
pub fn open_read_only(options: &Options, disk: &Simulated, random: u64) -> Result<Database> {
    options.open_to_read_on(Arc::new(disk.clone()), random, Path::new(DISK))
}

/// Copies what is left on a disk to an empty one, which has a closed database then.
///
/// # Errors
/// As [`Options::repair`].
pub fn repair(
    options: &Options,
    damaged: &Simulated,
    to: &Simulated,
    random: u64,
    report: &mut dyn FnMut(&Loss),
) -> Result<Repaired> {
    let directory = Path::new(DISK);
    let create_new = |options: &Options| {
        let expected = Expected::Nothing { directory };
        let engine = options.open_unattended(Arc::new(to.clone()), random, expected)?;
        Ok(Database::new(engine))
    };
    options.repair_on(damaged, directory, create_new, report)
}

/// Backs a database up to a disk; keeps what is copied of a first backup after `stage_pages` pages.
///
/// # Errors
/// As [`Database::backup`].
pub fn back_up(
    db: &Database,
    to: &Simulated,
    stage_pages: u64,
    on_progress: &mut dyn FnMut(BackupProgress),
) -> Result<BackupProgress> {
    db.engine().back_up(|| Ok(Arc::new(to.clone())), stage_pages, on_progress)
}

/// A checkpoint that is made step by step; if it is dropped before its end, it does not happen.
pub struct Checkpoint<'d> {
    store: &'d Store,
    current: MutexGuard<'d, Superblock>,
    checkpoint: Option<store::Checkpoint<'d>>,
}

impl<'d> Checkpoint<'d> {
    /// Starts a checkpoint of the database as it is now. No other may be asked for before its end,
    /// and single operations ask for none; few of them have room for their changes.
    pub fn begin(db: &'d Database) -> Result<Self> {
        let store = db.engine().store().expect("the database is on a disk");
        store.expect_healthy()?;
        let current = store.current();
        let checkpoint = db.engine().begin_checkpoint(store)?;
        store.step_by_step(true);
        Ok(Self { store, current, checkpoint: Some(checkpoint) })
    }

    /// Writes some pages; returns true if there are more.
    pub fn step(&mut self) -> Result<bool> {
        let checkpoint = self.checkpoint.as_mut().expect("it is there until it is finished");
        self.store.step(checkpoint)
    }

    /// Makes the checkpoint current.
    pub fn finish(mut self) -> Result<()> {
        let checkpoint = self.checkpoint.take().expect("it is there until here");
        self.store.finish(checkpoint, &mut self.current, false)
    }
}

impl Drop for Checkpoint<'_> {
    fn drop(&mut self) {
        self.checkpoint = None;
        self.store.forget_room();
        self.store.step_by_step(false);
    }
}

/// Does what the threads of the database would do now and then: they sync the log, make its next
/// segment and the data file longer, and a checkpoint if one is needed.
pub fn look_after(db: &Database) -> Result<()> {
    db.engine().sync_log()?;
    // An error here comes again in the writer that needs it.
    let _ = db.engine().log().map(Log::make_next);
    let _ = db.engine().store().map(|store| store.data.grow_ahead());
    db.engine().checkpoint_ahead()
}

/// Has the log have as many lanes as that, as it does when threads wait for each other. At other
/// levels than `Process`, it has one.
pub fn widen_log(db: &Database, lanes: usize) -> Result<()> {
    db.engine().widen_log(lanes)
}

/// Has this thread append to a lane from now on, in all databases whose logs have more than one.
pub fn choose_lane(lane: usize) {
    crate::wal::set_own_number(lane);
}

/// Returns the number of the last checkpoint: each has a higher one than those before it.
pub fn last_checkpoint(db: &Database) -> u64 {
    let store = db.engine().store().expect("the database is on a disk");
    store.current().generation
}

/// Writes a checkpoint, as the threads of the database do: it gives no space back.
pub fn checkpoint(db: &Database) -> Result<()> {
    db.engine().checkpoint()
}

/// Writes out up to `count` changed pages, without a checkpoint, as the threads of the database do
/// when memory is short.
pub fn clean_pages(db: &Database, count: u64) -> Result<()> {
    let store = db.engine().store().expect("the database is on a disk");
    let _current = store.current();
    db.engine().clean(store, count, &|| true)
}

/// Gives the space of free slots back to the disk, as a checkpoint does if there is much of it.
pub fn give_back(db: &Database) -> Result<()> {
    let store = db.engine().store().expect("the database is on a disk");
    let _current = store.current();
    store.give_back(db.engine().pager())
}

/// Does what the thread of the database would do when nothing has been written for a while: it
/// gives space back.
pub fn rest(db: &Database) -> Result<()> {
    db.engine().compact_while(&|| true).map(drop)
}

/// Does what the thread of the database would do when little has been written for a while: it fills
/// sparse pages of tables, writes a checkpoint and gives space back.
pub fn rest_beside_writers(db: &Database) -> Result<()> {
    db.engine().give_back_while(Sparse::Filled, &|| true).map(drop)
}
