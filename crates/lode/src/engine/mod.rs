//! The engine: what all handles of a database share, and the threads that look after it.

mod admission;
mod barrier;
#[cfg(test)]
mod cleaned;
mod compact;
mod faults;
mod gate;
#[cfg(test)]
mod given_up;
mod handle;
mod idle;
mod memory;
#[cfg(test)]
mod periodic;
mod statistics;
mod worker;

use std::iter::once;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crate::codec::Writer;
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::pager::{PAGE_BYTES, Pager, ReadEpoch};
use crate::schema::Schema;
use crate::store::{Catalogue, Checkpoint, Durability, Expected, Need, Opened, Settings, Store};
use crate::table::{Definition, KeyKind, Storage, TableCore};
use crate::wal::{Body, Log, LogPosition, LogRecord, Place, Together};

pub use compact::Compacted;
pub use faults::{CheckReport, Fault};
pub(crate) use gate::{Gate, Inside};
pub(crate) use handle::Handle;
pub(crate) use memory::available_bytes as available_memory_bytes;
pub use statistics::Statistics;
use worker::Worker;

/// What all handles of a database share.
pub(crate) struct Engine {
    pager: Pager,
    gate: Gate,
    catalogue: RwLock<Catalogue>,
    store: Option<Store>,
    worker: Worker,
    settings: Settings,
    /// Held by an operation that changes many pages.
    turn_for_long: Mutex<()>,
    turn_to_compact: Mutex<()>,
    is_closed: AtomicBool,
    /// Shares in the open database beside the first one.
    pub(crate) more_handles: AtomicUsize,
}

impl Engine {
    pub(crate) fn in_memory(settings: Settings) -> Result<Self> {
        let pager = Pager::new(settings.memory_bytes, None)?;
        Ok(Self::of(pager, RwLock::default(), None, settings))
    }

    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        settings: Settings,
        expected: Expected<'_>,
    ) -> Result<Self> {
        let Opened { store, pager, catalogue } = crate::store::open(disk, &settings, expected)?;
        Ok(Self::of(pager, RwLock::new(catalogue), Some(store), settings))
    }

    pub(crate) fn open_to_read(
        disk: &dyn Disk,
        settings: Settings,
        directory: &Path,
    ) -> Result<Self> {
        let opened = crate::store::open_to_read(disk, &settings, directory)?;
        let Opened { store, pager, catalogue } = opened;
        Ok(Self::of(pager, RwLock::new(catalogue), Some(store), settings))
    }

    fn of(
        pager: Pager,
        catalogue: RwLock<Catalogue>,
        store: Option<Store>,
        settings: Settings,
    ) -> Self {
        Self {
            gate: Gate::new(pager.single_writer()),
            pager,
            catalogue,
            store,
            worker: Worker::default(),
            settings,
            turn_for_long: Mutex::default(),
            turn_to_compact: Mutex::default(),
            is_closed: AtomicBool::new(false),
            more_handles: AtomicUsize::new(0),
        }
    }

    /// Fails in a process that was forked from the one that opened the database.
    #[inline(always)]
    pub(crate) fn expect_here(&self) -> Result<()> {
        match self.pager.home().is_here() {
            true => Ok(()),
            false => Err(Error::Forked),
        }
    }

    /// Starts the threads that look after the directory; one syncs the log, if there is an
    /// interval.
    pub(crate) fn attend(self: &Arc<Self>, interval: Option<Duration>) -> Result<()> {
        self.store.as_ref().map_or(Ok(()), |_| {
            let started = self.worker.start(self, interval);
            started.map_err(|error| Error::io("start the threads of the database", &error))
        })
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

    /// The log, if operations are logged.
    #[inline(always)]
    pub(crate) fn log(&self) -> Option<&Log> {
        self.store.as_ref().and_then(Store::log)
    }

    pub(crate) fn table(&self, name: &str) -> Result<Arc<TableCore>> {
        self.expect_here()?;
        let catalogue = self.catalogue();
        self.expect_open()?;
        if let Some((.., why)) = catalogue.damaged.get(name) {
            return Err(why.clone());
        }
        let core = catalogue.tables.get(name).map(Arc::clone);
        core.ok_or_else(|| Error::NoTable { table: name.into() })
    }

    pub(crate) fn table_names(&self) -> Vec<String> {
        if self.expect_here().is_err() {
            return Vec::new();
        }
        let catalogue = self.catalogue();
        let mut names: Vec<_> =
            catalogue.tables.keys().chain(catalogue.damaged.keys()).cloned().collect();
        names.sort_unstable();
        names
    }

    pub(crate) fn statistics(&self) -> Statistics {
        if self.expect_here().is_err() {
            return Statistics::default();
        }
        let in_memory = Statistics {
            page_bytes: self.pager.used_bytes(),
            snapshot_bytes: self.pager.saved_bytes(),
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

    /// All tables that are not damaged; those that are, are faults.
    pub(crate) fn tables(&self, faults: &mut CheckReport) -> Result<Vec<Arc<TableCore>>> {
        self.expect_here()?;
        let catalogue = self.catalogue();
        self.expect_open()?;
        for (name, (.., why)) in &catalogue.damaged {
            faults.add(Some(name), why.to_string());
        }
        Ok(catalogue.tables.values().map(Arc::clone).collect())
    }

    /// Looks at every page, index and record of tables as they were at a later moment, and at the
    /// data file as it is. Tables that were dropped before that moment are left out.
    pub(crate) fn check(
        &self,
        tables: &[Arc<TableCore>],
        moment: ReadEpoch,
        faults: &mut CheckReport,
    ) {
        for core in tables.iter().filter(|core| core.was_there(moment).is_ok()) {
            let name = core.schema().name();
            core.check_at(&self.pager, moment, &mut |why| faults.add(Some(name), why));
        }
        let Some(store) = &self.store else { return };
        // No checkpoint is made meanwhile.
        let _current = store.current();
        if let Err(why) = store.data.check() {
            faults.add(None, why);
        }
    }

    fn catalogue(&self) -> RwLockReadGuard<'_, Catalogue> {
        self.catalogue.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn catalogue_mut(&self) -> RwLockWriteGuard<'_, Catalogue> {
        self.catalogue.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// One compaction follows another.
    pub(crate) fn turn_to_compact(&self) -> MutexGuard<'_, ()> {
        self.turn_to_compact.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All tables that are not damaged.
    pub(crate) fn whole_tables(&self) -> Vec<Arc<TableCore>> {
        self.catalogue().tables.values().map(Arc::clone).collect()
    }

    /// Whether writes are not refused.
    #[inline(always)]
    pub(crate) fn is_healthy(&self) -> bool {
        self.store.as_ref().is_none_or(Store::is_healthy)
    }

    /// Fails if nothing can be written any more.
    #[inline(always)]
    pub(crate) fn expect_healthy(&self) -> Result<()> {
        self.store.as_ref().map_or(Ok(()), Store::expect_healthy)
    }

    /// Waits until an operation that ends there in the log is as durable as it has to be.
    #[inline(always)]
    pub(crate) fn acknowledge(&self, end: LogPosition) -> Result<()> {
        match &self.store {
            Some(store) if store.level == Durability::Commit => store.sync(end),
            _ => Ok(()),
        }
    }

    /// Fails if the database was closed.
    pub(crate) fn expect_open(&self) -> Result<()> {
        self.expect_here()?;
        match self.is_closed.load(Ordering::Acquire) {
            false => Ok(()),
            true => Err(Error::Closed),
        }
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

    /// Writes a checkpoint before a writer has to wait for one. It gives up when the database is
    /// being closed: the checkpoint of that writes what is left.
    pub(crate) fn checkpoint_ahead(&self) -> Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        self.expect_here()?;
        // A database that syncs nothing would not notice.
        store.expect_files()?;
        let needed = || store.need(&self.pager, 0) != Need::Nothing;
        if needed() { self.relieve(needed, || !self.worker.is_stopped()) } else { Ok(()) }
    }

    /// Does what is needed so that more pages can change, and the log becomes longer: cleans pages
    /// if that is enough, or makes a checkpoint. Given up between two steps when it is not to go
    /// on.
    fn relieve(&self, needed: impl Fn() -> bool, goes_on: impl Fn() -> bool) -> Result<()> {
        self.expect_open()?;
        let Some(store) = &self.store else { return Ok(()) };
        self.expect_here()?;
        let current = store.current();
        self.expect_open()?;
        if needed() && !store.needs_checkpoint(&self.pager) {
            let count = self.pager.dirty().saturating_sub(self.pager.most_dirty() / 2);
            self.clean(store, count, &goes_on)?;
        }
        drop(current);
        self.checkpoint_while(needed, goes_on)
    }

    /// Writes out up to `count` changed pages, without a checkpoint; for the holder of [what is
    /// current](Store::current). Where there is space for a checkpoint only, it writes none.
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

    /// Writes a checkpoint, and gives space back if much of the files is not in use.
    pub(crate) fn checkpoint_and_give_back(&self) -> Result<()> {
        self.checkpoint()?;
        let Some(store) = &self.store else { return Ok(()) };
        if !idle::has_spare_space(store, store.data.space_bytes()) {
            return Ok(());
        }
        // A checkpoint that is being made has reserved the slots that it needs.
        let current = store.current();
        self.expect_open()?;
        store.give_back(&self.pager)?;
        drop(current);
        match self.begin_small_log(store) {
            // A large file of the log stays for now.
            Err(Error::DiskFull { .. }) => Ok(()),
            other => other,
        }
    }

    /// Has the log go on in a small file, and removes all others, which a checkpoint makes useless.
    fn begin_small_log(&self, store: &Store) -> Result<()> {
        let log = store.log_to_write()?;
        log.remove_spares()?;
        log.begin_small()?;
        self.checkpoint()?;
        log.remove_spares()
    }

    /// Writes a checkpoint, given up between two steps when it is not to go on.
    fn checkpoint_while(
        &self,
        needed: impl Fn() -> bool,
        goes_on: impl Fn() -> bool,
    ) -> Result<()> {
        self.expect_open()?;
        let Some(store) = &self.store else { return Ok(()) };
        self.expect_here()?;
        let mut current = store.current();
        self.expect_open()?;
        if !needed() {
            return Ok(());
        }
        store.expect_healthy()?;
        let mut checkpoint = self.begin_checkpoint(store)?;
        loop {
            match store.step(&mut checkpoint) {
                Ok(true) if goes_on() || !store.can_give_up(&self.pager) => {}
                Ok(false) => return store.finish(checkpoint, &mut current, false),
                given_up => {
                    // The slots that it has taken are not free before the next one is current.
                    drop(checkpoint);
                    store.forget_room();
                    return given_up.map(|_| ());
                }
            }
        }
    }

    /// Begins a checkpoint of this moment; for the holder of [what is current](Store::current).
    pub(crate) fn begin_checkpoint<'e>(&'e self, store: &'e Store) -> Result<Checkpoint<'e>> {
        let catalogue = self.catalogue();
        let (place, moment) = self.barrier(store.log_to_write()?);
        let moment = (place, moment);
        let begun = Checkpoint::begin(&self.pager, &store.data, moment, catalogue.store());
        // Pages that change from now on have to be written twice.
        store.forget_room();
        begun
    }

    fn barrier(&self, log: &Log) -> (Place, ReadEpoch) {
        // A commit is before it or after it.
        let _inside = self.gate.enter();
        log.barrier(|| self.pager.checkpoint_moment())
    }

    pub(crate) fn create_table(&self, schema: &Schema, kind: KeyKind) -> Result<Arc<TableCore>> {
        let (core, end) = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            let name = schema.name().to_string();
            if catalogue.tables.contains_key(&name) || catalogue.damaged.contains_key(&name) {
                return Err(Error::TableExists { table: name });
            }
            // It is known in this process only, so no user can choose keys that all have the same
            // hash.
            let seed = self.settings.random();
            let id = catalogue.next_id;
            let next_id = id.next().ok_or(Error::TableFull)?;
            let storage = match self.store {
                Some(_) => Storage::Directory,
                None => Storage::Memory,
            };
            let definition = Definition::new(id, kind, seed, schema.clone(), storage);
            let _alone = self.gate.close();
            let core = TableCore::create(&self.pager, definition)?;
            let mut writer = Writer::default();
            core.definition().store(&mut writer);
            let logged = self.append(once(LogRecord::CreateTable { definition: &writer.0 }));
            let end = logged.inspect_err(|_| core.drop_pages(&self.pager))?;
            let core = Arc::new(core);
            catalogue.next_id = next_id;
            catalogue.tables.insert(name, Arc::clone(&core));
            Ok((core, end))
        })?;
        self.settle(end)?;
        Ok(core)
    }

    /// Makes durable, at every level, which tables there are.
    fn settle(&self, end: LogPosition) -> Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        if store.log().is_some() {
            return store.sync(end);
        }
        // Without a log, this is as much as can be done: it promises nothing.
        match self.checkpoint() {
            Err(error @ Error::Poisoned { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    pub(crate) fn drop_table(&self, name: &str) -> Result<()> {
        let end = self.admitted(0, &mut || {
            let mut catalogue = self.catalogue_mut();
            self.expect_open()?;
            if let Some((definition, location, _)) = catalogue.damaged.get(name).cloned() {
                let _alone = self.gate.close();
                let end = self.append(once(LogRecord::DropTable { table: definition.id }))?;
                catalogue.damaged.remove(name);
                location.free(&self.pager);
                return Ok(end);
            }
            let core = catalogue.tables.get(name).map(Arc::clone);
            let core = core.ok_or_else(|| Error::NoTable { table: name.into() })?;
            let _alone = self.gate.close();
            let end = self.append(once(LogRecord::DropTable { table: core.id() }))?;
            catalogue.tables.remove(name);
            core.drop_pages(&self.pager);
            Ok(end)
        })?;
        self.settle(end)
    }

    /// Logs what happened at once, while the gate is closed. Returns where that ends in the log, or
    /// the default position if it is nothing, or there is no log.
    pub(crate) fn append<'r>(
        &self,
        records: impl Iterator<Item = LogRecord<'r>> + Clone,
    ) -> Result<LogPosition> {
        let (Some(log), Some(together)) = (self.log(), Together::of(records)) else {
            return Ok(LogPosition::default());
        };
        loop {
            if let Some(((), end)) = log.append(together.kind(), &together, || ())? {
                return Ok(end);
            }
            log.make_room(together.size_bytes())?;
        }
    }

    /// Ends it all: what was done is in the data file then, and nothing can be done any more.
    pub(crate) fn close(&self) -> Result<()> {
        self.expect_here()?;
        self.log().iter().for_each(|log| log.end_ahead());
        self.worker.stop();
        let catalogue = self.catalogue_mut();
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let alone = self.gate.close();
        catalogue.tables.values().for_each(|core| core.close());
        drop(alone);
        drop(catalogue);
        let Some(store) = &self.store else { return Ok(()) };
        let mut current = store.current();
        let closed = store.expect_healthy().and_then(|()| {
            // The lowest slots are taken, so that those after them can be given back.
            store.data.rewind();
            let mut checkpoint = self.begin_checkpoint(store)?;
            while store.step(&mut checkpoint)? {}
            store.finish(checkpoint, &mut current, true)?;
            store.shrink_at_end()
        });
        let closed = if store.is_read_only() { Ok(()) } else { closed };
        store.unlock();
        closed
    }
}
