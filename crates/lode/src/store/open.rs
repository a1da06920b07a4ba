//! Opening a directory: creates a database, or brings one back to its promised state.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use super::backup::expect_no_new_backup;
use super::catalogue::Catalogue;
use super::recovery::{Recovery, log_of};
use super::{Checkpoint, Settings, Store};
use crate::data::{DataFile, Superblock};
use crate::error::{Error, Result};
use crate::io::{Access, Disk, File, Lock};
use crate::observability::Replay;
use crate::pager::Pager;
use crate::wal::{self, Log, LogSettings, Positions, Replayed, SegmentNumber, Stock};

pub(super) const DATA: &str = "data";
/// A file that exists while a database is being created: nothing was ever stored in that database.
pub(super) const CREATING: &str = "creating";

/// An open directory, and its content.
pub(crate) struct Opened {
    pub store: Store,
    pub pager: Pager,
    pub catalogue: Catalogue,
    pub replay: Replay,
}

/// The content that is expected in a directory that is opened to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected<'p> {
    /// A database, or nothing: then one is created.
    Any { directory: &'p Path },
    /// A database.
    Database { directory: &'p Path },
    /// Nothing: one is created.
    Nothing { directory: &'p Path },
}

impl<'p> Expected<'p> {
    /// Returns the directory.
    pub(crate) fn directory(self) -> &'p Path {
        let (Self::Any { directory } | Self::Database { directory } | Self::Nothing { directory }) =
            self;
        directory
    }

    /// Refuses a directory with a database, or without one, if the other is expected.
    fn verify(self, disk: &dyn Disk, names: &[String]) -> Result<()> {
        match self {
            Self::Database { directory } if !has_database(disk, names)? => {
                Err(Error::NoDatabase { directory: directory.into() })
            }
            Self::Nothing { directory } if has_database(disk, names)? => {
                Err(Error::DatabaseExists { directory: directory.into() })
            }
            _ => Ok(()),
        }
    }
}

/// Returns true if the directory has a database, or the rest of one.
fn has_database(disk: &dyn Disk, names: &[String]) -> Result<bool> {
    let is_there = |name: &str| names.iter().any(|other| other == name);
    if is_there(CREATING) {
        Ok(is_there(DATA) && is_finished(disk)?)
    } else {
        Ok(is_there(DATA) || names.iter().any(|name| name.starts_with("log-")))
    }
}

pub(super) fn list(disk: &dyn Disk) -> Result<Vec<String>> {
    disk.list().map_err(|error| Error::io("list the files of the database", &error))
}

/// Opens a directory; creates a database if it is empty, and that is expected.
pub(crate) fn open(
    disk: Arc<dyn Disk>,
    settings: &Settings,
    expected: Expected<'_>,
) -> Result<Opened> {
    // The lock is a file, which is not made in a refused directory.
    let names = list(&*disk)?;
    expect_no_new_backup(&names)?;
    expected.verify(&*disk, &names)?;
    expect_none_of_others(&names)?;
    let lock = disk.lock().map_err(|error| not_locked(&error))?;
    let names = list(&*disk)?;
    // Another process may have been quicker.
    expected.verify(&*disk, &names)?;
    let is_there = |name: &str| names.iter().any(|other| other == name);
    if is_there(CREATING) {
        if is_there(DATA) && is_finished(&*disk)? {
            // The file exists again after a sync that failed, or the last step was missing.
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
    // Maybe only the data file was removed; then nothing else is removed.
    if !names.is_empty() {
        return Err(no_data(&names));
    }
    create(disk, lock, settings)
}

/// Refuses a directory that has files, but none of a database. Another process that creates one
/// there makes files of a database first.
fn expect_none_of_others(names: &[String]) -> Result<()> {
    let is_ours = |name: &String| name == DATA || name == CREATING || name.starts_with("log-");
    if names.is_empty() || names.iter().any(is_ours) { Ok(()) } else { Err(no_data(names)) }
}

/// Returns the error for a directory that has files, but no data file.
pub(super) fn no_data(names: &[String]) -> Error {
    if names.iter().any(|name| name.starts_with("log-")) {
        Error::corrupt("the directory", "file data is missing, and there are log segments")
    } else {
        let error = std::io::Error::new(
            ErrorKind::DirectoryNotEmpty,
            "the directory has other files in it; choose an empty one",
        );
        Error::io("create a database", &error)
    }
}

pub(super) fn not_locked(error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock => Error::Locked,
        _ => Error::io("lock the database", error),
    }
}

/// Locks the data file too: it may have another name in another directory.
pub(super) fn lock_data(file: &dyn File, access: Access) -> Result<Lock> {
    file.lock(access).map_err(|error| not_locked(&error))
}

/// Returns true if there is a superblock, which is written last when a database is created.
pub(super) fn is_finished(disk: &dyn Disk) -> Result<bool> {
    match Superblock::read(&*open_data(disk)?) {
        Ok(_) => Ok(true),
        Err(Error::Corrupt { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the files of a database that was never finished.
///
/// # Errors
/// `Corrupt` when the files have been used: the file `creating` is wrong, or the data file is
/// damaged.
fn clear(disk: &dyn Disk, names: &[String]) -> Result<()> {
    if names.iter().any(|name| name == DATA) && !Superblock::is_blank(&*open_data(disk)?)? {
        let why = "none of its superblocks is whole, though they were written";
        return Err(Error::corrupt("file data", why));
    }
    remove_all(disk, Stock::of_unfinished(disk)?, names)
}

/// Removes the files of a database that is of no use.
fn remove_all(disk: &dyn Disk, stock: Stock, names: &[String]) -> Result<()> {
    stock.remove_others(disk, &[])?;
    // The file that marks them as unfinished goes last.
    [DATA, CREATING]
        .into_iter()
        .filter(|name| names.iter().any(|other| other == name))
        .try_for_each(|name| remove_synced(disk, name))
}

pub(super) fn open_data(disk: &dyn Disk) -> Result<Box<dyn File>> {
    disk.open(DATA).map_err(|error| Error::io("open file data", &error))
}

pub(super) fn remove_synced(disk: &dyn Disk, name: &str) -> Result<()> {
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
            // The files that were just made are removed; or if that fails too, the next one to open
            // the directory removes them.
            let names = disk.list().unwrap_or_default();
            let _ = Stock::of_own(&*disk).and_then(|stock| remove_all(&*disk, stock, &names));
            return Err(error);
        }
    };
    remove_synced(&*disk, CREATING)?;
    let lock = Box::new((of_data, lock));
    let store = store(data, Some(log), settings, &superblock, &since, room, lock);
    Ok(Opened { store, pager, catalogue: Catalogue::default(), replay: Replay::default() })
}

/// The files of a new database.
struct Made {
    data: Arc<DataFile>,
    log: Log,
    room: Arc<AtomicU64>,
    pager: Pager,
    superblock: Superblock,
    since: Positions,
    of_data: Lock,
}

fn create_files(disk: &Arc<dyn Disk>, settings: &Settings) -> Result<Made> {
    let file = disk.create(DATA).map_err(|error| Error::io("create file data", &error))?;
    let of_data = lock_data(&*file, Access::Write)?;
    let data = Arc::new(DataFile::create(file)?);
    data.set_most_reader_bytes(settings.reader_bytes);
    let superblock = Superblock { database: settings.random(), ..Superblock::default() };
    let pager = Pager::new(settings.memory(), Some(Arc::clone(&data)))?;
    let after = Replayed { next_number: SegmentNumber::FIRST, ..Replayed::default() };
    let room = Arc::new(AtomicU64::new(0));
    let log = begin_log(disk, superblock.database, settings, 0, after, &room)?;
    let (places, moment) = log.barrier(|| pager.checkpoint_moment());
    let catalogue = Catalogue::default().store();
    let checkpoint = Checkpoint::begin(&pager, &data, &places, moment, catalogue)?;
    let superblock = checkpoint.publish(&superblock, places.first())?;
    let since = places.positions();
    Ok(Made { data, log, room, pager, superblock, since, of_data })
}

/// Starts a segment after the log that was replayed; keeps as many MiB of changes as the settings
/// say, or as before.
fn begin_log(
    disk: &Arc<dyn Disk>,
    database: u64,
    settings: &Settings,
    kept_mib: u32,
    after: Replayed,
    room: &Arc<AtomicU64>,
) -> Result<Log> {
    let disk = Arc::clone(disk);
    let room = Arc::clone(room);
    let observer = settings.observer.clone();
    let kept_mib = settings.log.kept_mib.or(Some(kept_mib));
    let log = LogSettings { kept_mib, ..settings.log };
    Log::begin(disk, database, settings.random(), log, after, room, observer)
}

fn store(
    data: Arc<DataFile>,
    log: Option<Log>,
    settings: &Settings,
    superblock: &Superblock,
    since: &Positions,
    room: Arc<AtomicU64>,
    lock: Lock,
) -> Store {
    Store {
        data,
        database: superblock.database,
        log,
        shown: None,
        level: settings.durability,
        current: Mutex::new(*superblock),
        since: Mutex::new(*since),
        room,
        forgotten: AtomicU64::new(0),
        making_room: Mutex::default(),
        most_log_bytes: settings.most_log_bytes,
        is_step_by_step: AtomicBool::new(false),
        unwritable: OnceLock::new(),
        lock: Mutex::new(Some(lock)),
        observer: settings.observer.clone(),
    }
}

fn recover(disk: Arc<dyn Disk>, lock: Lock, settings: &Settings) -> Result<Opened> {
    disk.sync_directory().map_err(|error| Error::io("sync the directory", &error))?;
    let file = open_data(&*disk)?;
    // The directory is unlocked last.
    let lock: Lock = Box::new((lock_data(&*file, Access::Write)?, lock));
    let (data, superblock, catalogue) = DataFile::open(file)?;
    let start = log_of(&superblock);
    // All files are read before any is changed.
    let since = start.places.positions();
    let stock = Stock::take(&*disk, superblock.database, &since)?;
    data.make_sure(&superblock)?;
    let data = Arc::new(data);
    data.set_most_reader_bytes(settings.reader_bytes);
    let pager = Pager::new(settings.memory(), Some(Arc::clone(&data)))?;
    let catalogue = Catalogue::restore(&catalogue, &pager)?;
    let mut recovery = Recovery::new(&pager, &data, Access::Write, catalogue, &superblock);
    recovery.synced = recovery.synced.max(stock.synced(0));
    let replayed = wal::replay(&*disk, &stock, &start, &mut |records, applied| {
        recovery.apply(records, applied)
    })?;
    let room = Arc::new(AtomicU64::new(0));
    if let Some(error) = recovery.skipped {
        // Replayed records can be read. But nothing may be written that does without the log, so
        // all files stay as they are.
        let Recovery { catalogue, superblock, replay, .. } = recovery;
        let store = store(data, None, settings, &superblock, &since, room, lock);
        store.poison(&error);
        return Ok(Opened { store, pager, catalogue, replay });
    }
    let has_replayed = replayed.ends != start.places || recovery.superblock.is_recovering;
    let mut log: Vec<_> = replayed.segments.iter().map(|(number, _)| *number).collect();
    let last = replayed.ends.first().segment;
    let kept_mib = stock.kept_mib(last);
    let new = begin_log(&disk, superblock.database, settings, kept_mib, replayed, &room)?;
    // Replayed records may be in the operating system's memory only, and so may a segment without
    // records that leads to the next one. That cannot be known; but a checkpoint that is written
    // now is durable. The superblock names the new segment: without it, nothing would show later
    // that it existed.
    (recovery.done, _) = new.barrier(|| ());
    let since = recovery.done.positions();
    let first = recovery.done.first();
    assert!(first > start.places.first(), "the new segment comes after what was replayed");
    recovery.synced = first;
    let was_recovering = recovery.superblock.is_recovering;
    if has_replayed {
        recovery.checkpoint(false)?
    } else {
        recovery.begin_log()?
    }
    if was_recovering {
        // This goes into both superblocks. The older one would do without the log that is removed
        // now. If the newer one is damaged, the records replayed until then would pass for all.
        recovery.checkpoint(false)?;
    }
    // The replayed segments are of use to readers of changes only.
    log.extend(new.keep_history(&log, stock.history(&*disk, last)?)?);
    new.trim(&since, 0)?;
    assert!(!log.contains(&first.segment), "a segment has a number of its own");
    log.push(new.end().segment);
    stock.remove_others(&*disk, &log)?;
    let Recovery { catalogue, superblock, replay, .. } = recovery;
    let store = store(data, Some(new), settings, &superblock, &since, room, lock);
    Ok(Opened { store, pager, catalogue, replay })
}
