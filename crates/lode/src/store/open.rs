//! Opening a directory: creating a database, or bringing one back to what was promised.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use super::catalogue::{Catalogue, Damaged};
use super::{Checkpoint, Store, Worker};
use crate::codec::Reader;
use crate::data::{DataFile, Superblock};
use crate::db::Settings;
use crate::error::{Error, Result};
use crate::heap;
use crate::io::{Access, Disk, File, Lock};
use crate::pager::Pager;
use crate::table::{Core, Definition};
use crate::wal::{self, Ending, Entry, Kind, Log, Place, Position, Replayed};

const DATA: &str = "data";
/// It is there while a database is being created: then nothing was ever in it.
const CREATING: &str = "creating";

/// A directory that is open, and what is in it.
pub struct Opened {
    pub store: Store,
    pub pager: Pager,
    pub catalogue: Catalogue,
}

/// Opens a directory; creates a database if it is empty.
pub fn open(disk: Arc<dyn Disk>, settings: &Settings) -> Result<Opened> {
    let lock = disk.lock().map_err(|error| not_locked(&error))?;
    let names = disk.list().map_err(|error| Error::io("list the files of the database", &error))?;
    let is_there = |name: &str| names.iter().any(|other| other == name);
    if is_there(CREATING) {
        if is_there(DATA) && is_finished(&*disk)? {
            // It is there again after a sync that failed, or the last step was missing.
            let opened = recover(Arc::clone(&disk), lock, settings)?;
            remove_synced(&*disk, CREATING)?;
            return Ok(opened);
        }
        clear(&*disk, &names)?;
        return create(disk, lock, settings);
    }
    if is_there(DATA) {
        return recover(disk, lock, settings);
    }
    // Somebody may have removed the data file only; then nothing else is removed.
    if !names.is_empty() {
        let what = "the directory";
        return Err(match names.iter().any(|name| name.starts_with("log-")) {
            true => Error::corrupt(what, "file data is missing, and there are log segments"),
            false => Error::Io {
                what: "create a database".into(),
                why: "the directory has other files in it; choose an empty one".into(),
            },
        });
    }
    create(disk, lock, settings)
}

fn not_locked(error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock => Error::Locked,
        _ => Error::io("lock the database", error),
    }
}

/// Locks the data file too: it may have another name in another directory.
fn lock_data(file: &dyn File) -> Result<Lock> {
    file.lock(Access::Write).map_err(|error| not_locked(&error))
}

/// Whether there is a superblock, which is the last thing to be written of a new database.
fn is_finished(disk: &dyn Disk) -> Result<bool> {
    let file = disk.open(DATA).map_err(|error| Error::io("open file data", &error))?;
    match Superblock::read(&*file) {
        Ok(_) => Ok(true),
        Err(Error::Corrupt { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes what there is of a database that was never finished.
fn clear(disk: &dyn Disk, names: &[String]) -> Result<()> {
    wal::remove_others(disk, &[])?;
    // What says that they are unfinished goes last.
    [DATA, CREATING]
        .into_iter()
        .filter(|name| names.iter().any(|other| other == name))
        .try_for_each(|name| remove_synced(disk, name))
}

fn remove_synced(disk: &dyn Disk, name: &str) -> Result<()> {
    disk.remove(name)
        .and_then(|()| disk.sync_directory())
        .map_err(|error| Error::io(format!("remove file {name}"), &error))
}

fn create(disk: Arc<dyn Disk>, lock: Lock, settings: &Settings) -> Result<Opened> {
    let failed = |error: std::io::Error| Error::io("create the database", &error);
    disk.create(CREATING).and_then(|_| disk.sync_directory()).map_err(failed)?;
    let made = create_files(&disk, settings);
    let Made { data, log, room, pager, superblock, since, of_data } = match made {
        Ok(made) => made,
        Err(error) => {
            // Nothing stays behind; or if that fails too, the next one to open it sees to it.
            let names = disk.list().unwrap_or_default();
            let _ = clear(&*disk, &names);
            return Err(error);
        }
    };
    remove_synced(&*disk, CREATING)?;
    let lock = Box::new((of_data, lock));
    let store = store(data, log, settings, (superblock, since), room, lock);
    Ok(Opened { store, pager, catalogue: Catalogue::default() })
}

/// The files of a new database.
struct Made {
    data: Arc<DataFile>,
    log: Log,
    room: Arc<AtomicU64>,
    pager: Pager,
    superblock: Superblock,
    since: Position,
    of_data: Lock,
}

fn create_files(disk: &Arc<dyn Disk>, settings: &Settings) -> Result<Made> {
    let file = disk.create(DATA).map_err(|error| Error::io("create file data", &error))?;
    let of_data = lock_data(&*file)?;
    let data = Arc::new(DataFile::create(file));
    let superblock = Superblock { database: settings.random(), ..Superblock::default() };
    let pager = Pager::new(settings.memory_bytes, Some(Arc::clone(&data)))?;
    let after = Replayed { next_number: 1, ..Replayed::default() };
    let room = Arc::new(AtomicU64::new(0));
    let log = begin_log(disk, superblock.database, settings, after, &room)?;
    let (place, moment) = log.barrier(|| pager.checkpoint_moment());
    let catalogue = Catalogue::default().store();
    let checkpoint = Checkpoint::begin(&pager, &data, (place, moment), catalogue)?;
    let superblock = checkpoint.publish(&data, superblock)?;
    Ok(Made { data, log, room, pager, superblock, since: place.position, of_data })
}

fn begin_log(
    disk: &Arc<dyn Disk>,
    database: u64,
    settings: &Settings,
    after: Replayed,
    room: &Arc<AtomicU64>,
) -> Result<Log> {
    let (disk, room) = (Arc::clone(disk), Arc::clone(room));
    Log::begin(disk, (database, settings.random()), settings.log_sizes, after, room)
}

fn store(
    data: Arc<DataFile>,
    log: Log,
    settings: &Settings,
    (superblock, since): (Superblock, Position),
    room: Arc<AtomicU64>,
    lock: Lock,
) -> Store {
    Store {
        data,
        log,
        level: settings.durability,
        current: Mutex::new(superblock),
        since: Mutex::new(since),
        room,
        most_log_bytes: settings.most_log_bytes,
        is_step_by_step: AtomicBool::new(false),
        poisoned: OnceLock::new(),
        lock: Mutex::new(Some(lock)),
        worker: Worker::default(),
    }
}

fn recover(disk: Arc<dyn Disk>, lock: Lock, settings: &Settings) -> Result<Opened> {
    disk.sync_directory().map_err(|error| Error::io("sync the directory", &error))?;
    let file = disk.open(DATA).map_err(|error| Error::io("open file data", &error))?;
    // The directory is given back last.
    let lock: Lock = Box::new((lock_data(&*file)?, lock));
    let (data, superblock, catalogue) = DataFile::open(file)?;
    let data = Arc::new(data);
    let pager = Pager::new(settings.memory_bytes, Some(Arc::clone(&data)))?;
    let catalogue = Catalogue::restore(&catalogue, &pager)?;
    let mut recovery = Recovery::new(&pager, &data, catalogue, superblock);
    let start = Place {
        position: Position { segment: superblock.log_segment, at: superblock.log_at },
        chain: superblock.log_chain,
    };
    let ending = match superblock {
        Superblock { is_clean: true, .. } => Ending::Clean,
        Superblock { is_recovering: true, .. } => Ending::Anywhere,
        _ => Ending::Open,
    };
    let replayed = wal::replay(&*disk, superblock.database, (start, ending), &mut |entry, end| {
        recovery.apply(entry, end)
    })?;
    let end = replayed.end.position;
    let mut log: Vec<u64> = replayed.segments.iter().map(|(number, _)| *number).collect();
    let room = Arc::new(AtomicU64::new(0));
    let new = begin_log(&disk, superblock.database, settings, replayed, &room)?;
    let mut since = start.position;
    let has_replayed = end != start.position || recovery.superblock.is_recovering;
    if has_replayed && recovery.skipped.is_none() {
        // What was replayed may be in the operating system's memory only, and so may a segment
        // without outcomes that leads to the next one. Nobody can know; but what a checkpoint writes
        // now is durable.
        let (place, _) = new.barrier(|| ());
        recovery.done = place;
        let was_recovering = recovery.superblock.is_recovering;
        recovery.checkpoint(false)?;
        if was_recovering {
            // In both superblocks: the older one would do without the log that is removed now, and
            // who finds the newer one damaged would take what had been replayed by then for all.
            recovery.checkpoint(false)?;
        }
        log.clear();
        since = place.position;
        new.trim(since.segment)?;
    }
    log.push(new.end().segment);
    wal::remove_others(&*disk, &log)?;
    let Recovery { catalogue, superblock, skipped, .. } = recovery;
    let store = store(data, new, settings, (superblock, since), room, lock);
    if let Some(error) = skipped {
        // What was replayed can be read. But nothing may be written that does without the log.
        store.poison(&error);
    }
    Ok(Opened { store, pager, catalogue })
}

/// A database whose log is being replayed.
struct Recovery<'r> {
    pager: &'r Pager,
    data: &'r DataFile,
    catalogue: Catalogue,
    by_id: HashMap<u32, Arc<Core>>,
    superblock: Superblock,
    /// Up to where the log was replayed.
    done: Place,
    /// Why outcomes could not be replayed: their table is damaged. They have to stay in the log.
    skipped: Option<Error>,
}

impl<'r> Recovery<'r> {
    fn new(
        pager: &'r Pager,
        data: &'r DataFile,
        catalogue: Catalogue,
        superblock: Superblock,
    ) -> Self {
        let tables = catalogue.tables.values();
        let by_id = tables.map(|core| (core.id(), Arc::clone(core))).collect();
        let done = Place {
            position: Position { segment: superblock.log_segment, at: superblock.log_at },
            chain: superblock.log_chain,
        };
        Self { pager, data, catalogue, by_id, superblock, done, skipped: None }
    }

    /// Does again what happened in one frame.
    fn apply(&mut self, entry: Entry<'_>, end: Place) -> Result<()> {
        let parts = entry.parts()?;
        // A checkpoint has all of a commit or nothing, so there has to be room for all of it.
        let (dirty, most_dirty) = (self.pager.dirty(), self.pager.most_dirty());
        let needed: u64 = parts.iter().map(|part| 3 + heap::pages_for(part.body.len())).sum();
        if dirty >= most_dirty / 2 || dirty > 0 && dirty + needed >= most_dirty {
            self.checkpoint(true)?;
        }
        parts.into_iter().try_for_each(|part| self.apply_part(part))?;
        self.done = end;
        Ok(())
    }

    fn apply_part(&mut self, entry: Entry<'_>) -> Result<()> {
        let mut reader = Reader::new(entry.body, "an outcome in the log");
        match entry.kind {
            Kind::Create => {
                let definition = Definition::restore(&mut reader)?;
                let name = definition.schema.name().to_string();
                let id = definition.id;
                let next_id = id.checked_add(1);
                let next_id = next_id
                    .ok_or_else(|| Error::corrupt("the log", "a table has the last number"))?;
                let core = Arc::new(Core::create(self.pager, definition)?);
                self.by_id.insert(id, Arc::clone(&core));
                self.catalogue.next_id = self.catalogue.next_id.max(next_id);
                self.catalogue.tables.insert(name, core);
                Ok(())
            }
            Kind::Drop => {
                let id = reader.u32()?;
                if let Some((_, (_, location, _))) = self.damaged(id) {
                    let location = location.clone();
                    location.free(self.pager);
                    self.catalogue.damaged.retain(|_, (definition, ..)| definition.id != id);
                    return Ok(());
                }
                let core = self.table(id)?;
                core.drop_pages(self.pager);
                self.by_id.remove(&core.id());
                self.catalogue.tables.remove(core.schema().name());
                Ok(())
            }
            kind => {
                let id = reader.u32()?;
                if let Some((_, (.., error))) = self.damaged(id) {
                    self.skipped = Some(error.clone());
                    return Ok(());
                }
                self.table(id)?.apply(self.pager, kind, reader.rest())
            }
        }
    }

    /// The damaged table with a number.
    fn damaged(&self, id: u32) -> Option<(&String, &Damaged)> {
        self.catalogue.damaged.iter().find(|(_, (definition, ..))| definition.id == id)
    }

    fn table(&self, id: u32) -> Result<Arc<Core>> {
        let found = self.by_id.get(&id).map(Arc::clone);
        found.ok_or_else(|| Error::corrupt("the log", format!("it names a table {id} of none")))
    }

    /// Writes out what has been replayed, so that there is room for more.
    fn checkpoint(&mut self, is_recovering: bool) -> Result<()> {
        if let Some(error) = &self.skipped {
            return Err(error.clone());
        }
        let moment = self.pager.checkpoint_moment();
        let place = (self.done, moment);
        let mut checkpoint =
            Checkpoint::begin(self.pager, self.data, place, self.catalogue.store())?;
        while checkpoint.step(self.data)? {}
        let next = Superblock { is_clean: false, is_recovering, ..self.superblock };
        self.superblock = checkpoint.publish(self.data, next)?;
        Ok(())
    }
}
