//! A database on a simulated disk, where nothing happens by itself: for tests and fuzzing, of Lode
//! and of what is built on it. Not part of the promises of this crate's versions.

use std::sync::{Arc, MutexGuard};

pub use crate::io::simulated::{Fault, FaultKind, Simulated};

use crate::data::Superblock;
use crate::db::{Database, Options};
use crate::error::Result;
use crate::store::{self, Store};

/// Opens the database on a disk. The same number gives the same database.
pub fn open(options: &Options, disk: &Simulated, random: u64) -> Result<Database> {
    options.open_on(Arc::new(disk.clone()), random, false)
}

/// A checkpoint that is made step by step; dropped before its end, it is none.
pub struct Checkpoint<'d> {
    store: &'d Store,
    current: MutexGuard<'d, Superblock>,
    checkpoint: store::Checkpoint<'d>,
}

impl<'d> Checkpoint<'d> {
    /// Begins one of what a database is now. Others wait for its end, so nobody may ask for one.
    pub fn begin(db: &'d Database) -> Result<Self> {
        let store = db.inner().store().expect("the database is on a disk");
        store.expect_healthy()?;
        let current = store.current();
        let checkpoint = db.inner().begin_checkpoint(store)?;
        Ok(Self { store, current, checkpoint })
    }

    /// Writes some pages; whether there are more.
    pub fn step(&mut self) -> Result<bool> {
        self.checkpoint.step(&self.store.data)
    }

    /// Makes it current.
    pub fn finish(mut self) -> Result<()> {
        self.store.finish(self.checkpoint, &mut self.current, false)
    }
}

/// Does what the thread of the database would do now and then: it syncs the log, and makes a
/// checkpoint if one is needed.
pub fn look_after(db: &Database) -> Result<()> {
    db.inner().look_after(true)
}
