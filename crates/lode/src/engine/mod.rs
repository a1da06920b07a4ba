//! The engine: the state that all handles of a database share, and the threads that look after it.

mod admission;
mod backup;
mod blob_ids;
#[cfg(test)]
mod bounds;
mod checkpoint;
#[cfg(test)]
mod cleaned;
#[cfg(test)]
mod closed;
mod compact;
mod expiry;
mod faults;
mod feed;
mod gate;
#[cfg(test)]
mod given_up;
mod handle;
mod idle;
mod indexes;
mod lanes;
mod loan;
mod memory;
#[cfg(test)]
mod passed;
#[cfg(test)]
mod periodic;
mod redefinitions;
mod refresh;
mod successors;
mod tables;
mod worker;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use blob_ids::Stores;

use crate::error::{Error, Result};
use crate::io::Disk;
use crate::observability::{Observer, Statistics, Work};
use crate::pager::{PAGE_BYTES, PageNumber, Pager, ReadEpoch};
use crate::store::{Catalogue, Expected, Opened, Settings, Store};
use crate::table::{Horizon, TableCore};
use crate::wal::{Body, Log, LogPosition, LogRecord, Together};

pub use crate::store::BackupProgress;
pub(crate) use crate::store::STAGE_PAGES;
pub(crate) use admission::{CommitSize, LongTurn};
pub(crate) use blob_ids::BlobIds;
pub use compact::Compacted;
pub(crate) use compact::Sparse;
pub use faults::{CheckReport, Fault};
pub(crate) use gate::{Gate, Quiet};
pub(crate) use handle::Handle;
pub(crate) use indexes::no_index;
pub(crate) use loan::Loan;
pub(crate) use memory::{available_bytes as available_memory_bytes, most_address_bytes};
use refresh::Source;
use worker::Worker;

/// A table that is to be checked, and the pages of its heap.
pub(crate) type TableToCheck = (Arc<TableCore>, Vec<PageNumber>);

/// The state that all handles of a database share.
pub(crate) struct Engine {
    pager: Pager,
    gate: Gate,
    catalogue: RwLock<Catalogue>,
    store: Option<Store>,
    /// The source of a database that is only read.
    source: Option<Source>,
    /// The directory, if there is one.
    disk: Option<Arc<dyn Disk>>,
    worker: Worker,
    settings: Settings,
    /// The time up to which records have expired for good.
    horizon: Arc<Horizon>,
    /// Held by an operation that changes many pages.
    turn_for_long: Mutex<()>,
    turn_to_compact: Mutex<()>,
    /// Held by a backup: one follows another.
    turn_to_back_up: Mutex<()>,
    blob_stores: Stores,
    is_closed: AtomicBool,
    /// The result of closing; held by the thread that closes.
    close_outcome: Mutex<Option<Result<()>>>,
    /// Shares in the open database besides the first one.
    pub(crate) more_handles: AtomicUsize,
}

/// The most bytes of a unit of the log. Its head has 32 bits for them and what goes with them.
const MOST_LOGGED_BYTES: usize = 1 << 31;

impl Engine {
    pub(crate) fn in_memory(settings: Settings) -> Result<Self> {
        let pager = Pager::new(settings.memory(), None)?;
        Ok(Self::of(pager, RwLock::default(), None, settings))
    }

    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        settings: Settings,
        expected: Expected<'_>,
    ) -> Result<Self> {
        let work = Work::start();
        let opened = crate::store::open(Arc::clone(&disk), &settings, expected)?;
        let Opened { store, pager, mut catalogue, replay } = opened;
        catalogue.notes_changes = store.log().is_some_and(Log::keeps_changes);
        catalogue.list_all_indexes();
        let engine = Self::of(pager, RwLock::new(catalogue), Some(store), settings);
        let engine = Self { disk: Some(disk), ..engine };
        // Records that could not be replayed have to stay in the log.
        if engine.expect_healthy().is_ok() {
            engine.drop_unfinished()?;
        }
        engine.observer().opened(work, &replay);
        Ok(engine)
    }

    fn of(
        pager: Pager,
        catalogue: RwLock<Catalogue>,
        store: Option<Store>,
        settings: Settings,
    ) -> Self {
        let horizon = Arc::clone(&catalogue.read().unwrap_or_else(PoisonError::into_inner).horizon);
        Self {
            gate: Gate::default(),
            pager,
            catalogue,
            store,
            source: None,
            disk: None,
            worker: Worker::default(),
            settings,
            horizon,
            turn_for_long: Mutex::default(),
            turn_to_compact: Mutex::default(),
            turn_to_back_up: Mutex::default(),
            blob_stores: Stores::default(),
            is_closed: AtomicBool::new(false),
            close_outcome: Mutex::default(),
            more_handles: AtomicUsize::new(0),
        }
    }

    /// Fails in a process that was forked from the one that opened the database.
    #[inline(always)]
    pub(crate) fn expect_here(&self) -> Result<()> {
        if self.pager.home().is_here() { Ok(()) } else { Err(Error::Forked) }
    }

    /// Starts the threads that look after the directory; one syncs the log, if there is an
    /// interval.
    pub(crate) fn attend(self: &Arc<Self>, interval: Option<Duration>) -> Result<()> {
        self.store.as_ref().map_or(Ok(()), |_| {
            let started = self.worker.start(self, interval);
            started.map_err(|error| Error::io("start the threads of the database", &error))
        })
    }

    pub(crate) fn observer(&self) -> &Observer {
        &self.settings.observer
    }

    /// Reports the space of now to the program.
    fn publish(&self) {
        self.observer().publish(|| (self.statistics(), self.pager.evicted()));
    }

    pub(crate) fn pager(&self) -> &Pager {
        &self.pager
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(crate) fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Returns the log, if operations are logged.
    #[inline(always)]
    pub(crate) fn log(&self) -> Option<&Log> {
        self.store.as_ref().and_then(Store::log)
    }

    pub(crate) fn statistics(&self) -> Statistics {
        if self.expect_here().is_err() {
            return Statistics::default();
        }
        let in_memory = Statistics {
            page_bytes: self.pager.used_bytes(),
            snapshot_bytes: self.pager.saved_bytes(),
            transaction_bytes: self.pager.lent_bytes(),
            ..Statistics::default()
        };
        let Some(store) = &self.store else { return in_memory };
        Statistics {
            changed_bytes: self.pager.dirty() * PAGE_BYTES as u64,
            data_bytes: store.data.space_bytes(),
            data_used_bytes: store.data.used_bytes(),
            data_read_bytes: store.data.read_bytes(),
            data_written_bytes: store.data.written_bytes(),
            log_bytes: store.log_bytes(),
            ..in_memory
        }
    }

    /// Checks every page, index and record of tables as they were at a moment, when their heaps had
    /// these pages. Checks the data file as it is. Tables that were dropped before that moment are
    /// left out.
    ///
    /// # Errors
    /// `Closed` when the database was closed in the meantime, `MomentExpired` when that of a reader
    /// has expired; faults reported then do not count.
    pub(crate) fn check(
        &self,
        tables: &[TableToCheck],
        moment: ReadEpoch,
        faults: &mut CheckReport,
    ) -> Result<()> {
        for (core, heap_pages) in tables.iter().filter(|(core, _)| core.was_there(moment).is_ok()) {
            let name = core.schema().name();
            let mut report = |why| faults.add(Some(name), why);
            core.check_at(&self.pager, moment, heap_pages, &mut report);
            core.check_entries_at(&self.pager, moment, &mut report);
        }
        let Some((store, current)) = self.take_turn()? else { return Ok(()) };
        if let Err(why) = store.data.check().and_then(|()| store.data.check_copies(&current)) {
            faults.add(None, why);
        }
        if faults.is_sound() { Ok(()) } else { store.data.expect_moment() }
    }

    fn catalogue(&self) -> RwLockReadGuard<'_, Catalogue> {
        self.catalogue.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn catalogue_mut(&self) -> RwLockWriteGuard<'_, Catalogue> {
        self.catalogue.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn to compact: one compaction follows another.
    pub(crate) fn turn_to_compact(&self) -> MutexGuard<'_, ()> {
        self.turn_to_compact.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails if nothing can be written any more.
    #[inline(always)]
    pub(crate) fn expect_healthy(&self) -> Result<()> {
        self.store.as_ref().map_or(Ok(()), Store::expect_healthy)
    }

    /// Waits until an operation that ends at `end` in the log is as durable as it has to be.
    #[inline(always)]
    pub(crate) fn acknowledge(&self, end: LogPosition) -> Result<()> {
        self.store.as_ref().map_or(Ok(()), |store| store.acknowledge(end))
    }

    /// Fails if the database was closed.
    pub(crate) fn expect_open(&self) -> Result<()> {
        self.expect_here()?;
        if self.is_closed.load(Ordering::Acquire) { Err(Error::Closed) } else { Ok(()) }
    }

    /// Makes everything durable that has happened.
    pub(crate) fn flush(&self) -> Result<()> {
        self.expect_open()?;
        match &self.store {
            Some(store) if !store.is_read_only() => match store.log() {
                Some(log) => store.sync(log.end()),
                None => self.checkpoint(),
            },
            _ => Ok(()),
        }
    }

    /// Syncs all of the log. It waits for no write or sync of the data file, and for no writer.
    pub(crate) fn sync_log(&self) -> Result<()> {
        self.store.as_ref().map_or(Ok(()), |store| store.sync(store.log_to_write()?.end()))
    }

    /// Logs records as one unit, while the gate is closed. Returns where they end in the log, or
    /// the default position if there are none, or there is no log.
    pub(crate) fn append<'r>(
        &self,
        records: impl Iterator<Item = LogRecord<'r>> + Clone,
    ) -> Result<LogPosition> {
        let together = self.log().and_then(|log| Some((log, Together::of(records)?)));
        let Some((log, together)) = together else { return Ok(LogPosition::default()) };
        if together.size_bytes() > MOST_LOGGED_BYTES {
            return Err(Error::TxnTooLarge { most_bytes: MOST_LOGGED_BYTES });
        }
        loop {
            if let Some(end) = log.append_alone(together.kind(), &together)? {
                return Ok(end);
            }
            log.make_room(log.first_lane(), together.size_bytes())?;
        }
    }

    /// Closes the database: all that was done is in the data file then, and every later call is
    /// refused. If it is closed already, returns the result of that.
    pub(crate) fn close(&self) -> Result<()> {
        self.expect_here()?;
        let mut outcome = self.close_outcome.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.get_or_insert_with(|| self.close_once()).clone()
    }

    fn close_once(&self) -> Result<()> {
        let work = Work::start();
        self.log().iter().for_each(|log| log.end_ahead());
        self.worker.stop();
        let catalogue = self.catalogue_mut();
        self.is_closed.store(true, Ordering::Release);
        assert!(
            self.store.is_none() || self.worker.has_ended(),
            "the threads of the database have ended"
        );
        let alone = self.gate.close();
        catalogue.tables().for_each(|core| core.close());
        drop(alone);
        drop(catalogue);
        let Some(store) = &self.store else { return Ok(()) };
        let mut current = store.current();
        let closed = store.expect_healthy().and_then(|()| {
            // Takes the lowest slots, so that those after them can be given back.
            store.data.rewind();
            let mut checkpoint = self.begin_checkpoint(store)?;
            while store.step(&mut checkpoint)? {}
            store.finish(checkpoint, &mut current, true)?;
            store.shrink_at_end()
        });
        let closed = if store.is_read_only() { Ok(()) } else { closed };
        store.unlock();
        self.publish();
        self.observer().closed(work, &closed);
        closed
    }
}
