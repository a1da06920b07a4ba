//! Opens a directory to read it, also while another process writes. Nothing is written; log records
//! that the data file does not have are replayed in memory only.
//!
//! The newest checkpoint is [pinned](crate::data), so its pages stay. The log is not: if a newer
//! checkpoint has become current during the replay, segments may have been used again, and all is
//! read anew. After some attempts the newest checkpoint is shown alone.

use std::cmp::Ordering;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use super::backup::expect_no_new_backup;
use super::catalogue::Catalogue;
use super::open::{CREATING, DATA, Opened, is_finished, list, lock_data, no_data, not_locked};
use super::recovery::{Recovery, log_of};
use super::{Settings, Store, Unwritable};
use crate::data::{DataFile, Pinned};
use crate::error::{Error, Result};
use crate::io::{Access, Disk, File, Lock};
use crate::pager::Pager;
use crate::wal::{self, Ending, LogPosition, Place, Positions, Replayed, Stock};

/// The number of times that a database which is being written is read together with its log.
const TRIES_WITH_LOG: u32 = 4;

/// The moment that a database shows which is only read.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// The number of the checkpoint.
    generation: u64,
    /// The end of the log as far as it was replayed.
    ends: Positions,
    /// The place in the first lane.
    pub place: Place,
    pub replayed_bytes: u64,
}

impl Shown {
    /// Returns true if the other moment is later. The first lane of the log only gets longer. Each
    /// of the others does so until the database is opened anew, which starts a segment of the
    /// first.
    fn is_before(&self, other: &Self) -> bool {
        let [own_first, own_rest @ ..] = &self.ends.0;
        let [other_first, other_rest @ ..] = &other.ends.0;
        let is_other = self.generation != other.generation || self.ends != other.ends;
        let mut rest = own_rest.iter().zip(other_rest);
        let is_none = |end: &LogPosition| *end == LogPosition::default();
        let is_later = match own_first.cmp(other_first) {
            Ordering::Less => true,
            Ordering::Equal => rest.all(|(own, other)| own <= other || is_none(other)),
            Ordering::Greater => false,
        };
        is_other && is_later
    }
}

impl Store {
    /// Returns true if another store shows a later moment of a database that is only read.
    pub(crate) fn is_before(&self, other: &Self) -> bool {
        let moments = self.shown.zip(other.shown);
        moments.is_some_and(|(before, after)| before.is_before(&after))
    }
}

/// The part of the log that is replayed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// All of it that is whole.
    Whole,
    /// None of it.
    None,
}

/// Opens the database in a directory, which must exist.
pub(crate) fn open_to_read(
    disk: &dyn Disk,
    settings: &Settings,
    directory: &Path,
) -> Result<Opened> {
    for attempt in 0..TRIES_WITH_LOG {
        let was_written = is_written(disk);
        match open_once(disk, settings, directory, Tail::Whole) {
            Ok(Some(opened)) => return Ok(opened),
            // A writer may have come and gone, once or twice.
            Err(error) if !may_pass(&error) || attempt > 1 && !was_written && !is_written(disk) => {
                return Err(error);
            }
            Ok(None) | Err(_) => std::thread::yield_now(),
        }
    }
    // The writer may have ended by now: then all of the log can be read.
    let tail = if is_written(disk) { Tail::None } else { Tail::Whole };
    let opened = open_once(disk, settings, directory, tail)?;
    opened.ok_or(Error::MomentExpired)
}

/// Returns true if another process has the database open to write to it.
fn is_written(disk: &dyn Disk) -> bool {
    let file = disk.open(DATA);
    file.and_then(|file| file.has_writer()).unwrap_or(false)
}

/// Returns true if an error may come from files that are changing.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::MomentExpired | Error::Corrupt { .. } | Error::ForeignFile { .. } => true,
        // Of the log: a segment may be used again, or cut off when the database is closed.
        Error::Io { source, .. } => {
            matches!(source.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof)
        }
        _ => false,
    }
}

/// Fails if there is no whole database in a directory.
fn expect_database(disk: &dyn Disk, directory: &Path) -> Result<()> {
    let names = list(disk)?;
    expect_no_new_backup(&names)?;
    let is_there = |name: &str| names.iter().any(|other| other == name);
    if is_there(CREATING) && !(is_there(DATA) && is_finished(disk)?) {
        if is_written(disk) {
            return Err(Error::Locked);
        }
        let why = "its creation was not finished; open it for writing once";
        let error = std::io::Error::other(why);
        return Err(Error::io("open the database for reading", &error));
    }
    if is_there(DATA) {
        Ok(())
    } else if names.iter().any(|name| name.starts_with("log-")) {
        Err(no_data(&names))
    } else {
        Err(Error::NoDatabase { directory: directory.into() })
    }
}

/// Opens the data file, and has its pages kept.
fn open_data(disk: &dyn Disk) -> Result<Pinned> {
    let open = || disk.open(DATA).map_err(|error| Error::io("open file data", &error));
    if let Some(pinned) = DataFile::open_pinned(open()?)? {
        return Ok(pinned);
    }
    // No writer can be let in.
    let lock = disk.lock().map_err(|error| not_locked(&error))?;
    let file: Box<dyn File> = open()?;
    // The directory is unlocked last.
    let pin: Lock = Box::new((lock_data(&*file, Access::Read)?, lock));
    let (data, superblock, catalogue) = DataFile::open(file)?;
    Ok(Pinned { data, superblock, catalogue, pin })
}

/// Opens the database as it is now; `None` if it was changing too much.
fn open_once(
    disk: &dyn Disk,
    settings: &Settings,
    directory: &Path,
    tail: Tail,
) -> Result<Option<Opened>> {
    expect_database(disk, directory)?;
    let Pinned { data, superblock, catalogue, pin } = open_data(disk)?;
    let data = Arc::new(data);
    let mut start = log_of(&superblock);
    if start.ending == Ending::Open && data.has_writer()? {
        start.ending = Ending::Live;
    }
    let since = start.places.positions();
    let pager = Pager::new(settings.memory(), Some(Arc::clone(&data)))?;
    let catalogue = Catalogue::restore(&catalogue, &pager)?;
    let mut recovery = Recovery::new(&pager, &data, Access::Read, catalogue, &superblock);
    let mut replayed = Replayed { ends: start.places, ..Replayed::default() };
    if tail == Tail::Whole {
        let take = || Stock::take(disk, superblock.database, &since);
        replayed = wal::replay(disk, &take()?, &start, &mut |records, applied| {
            recovery.apply(records, applied)
        })?;
        let has_lanes = start.places != start.places.only_first();
        let is_live = start.ending == Ending::Live;
        if is_live && has_lanes && !wal::have_rested(disk, &take()?, &replayed)? {
            return Ok(None);
        }
        if !data.is_newest(&superblock)? {
            return Ok(None);
        }
    }
    let Recovery { catalogue, replay, .. } = recovery;
    let ends: u64 = replayed.segments.iter().map(|(_, end)| *end).sum();
    let starts: u64 = since.0.iter().map(|start| start.at).sum();
    let shown = Shown {
        generation: superblock.generation,
        ends: replayed.ends.positions(),
        place: replayed.ends.lanes[0].place,
        replayed_bytes: ends.saturating_sub(starts),
    };
    let store = Store {
        data,
        database: superblock.database,
        log: None,
        shown: Some(shown),
        level: settings.durability,
        current: Mutex::new(superblock),
        since: Mutex::new(since),
        room: Arc::new(AtomicU64::new(0)),
        forgotten: AtomicU64::new(0),
        making_room: Mutex::default(),
        most_log_bytes: settings.most_log_bytes,
        is_step_by_step: AtomicBool::new(false),
        unwritable: OnceLock::from(Unwritable::ReadOnly),
        lock: Mutex::new(Some(pin)),
        observer: settings.observer.clone(),
    };
    Ok(Some(Opened { store, pager, catalogue, replay }))
}
