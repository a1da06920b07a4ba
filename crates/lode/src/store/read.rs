//! Opens a directory to read it. Nothing is written; log records that the data file does not have
//! are replayed in memory only.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

use super::backup::expect_no_new_backup;
use super::catalogue::Catalogue;
use super::open::{CREATING, DATA, Opened, is_finished, lock_data, no_data, not_locked};
use super::recovery::{Recovery, log_of};
use super::{Settings, Store, Unwritable};
use crate::data::DataFile;
use crate::error::{Error, Result};
use crate::io::{Access, Disk, Lock};
use crate::pager::Pager;
use crate::wal::{self, Stock};

fn refused(why: &str) -> Error {
    let error = std::io::Error::other(why);
    Error::io("open the database for reading", &error)
}

/// Opens the database in a directory, which must exist.
pub(crate) fn open_to_read(
    disk: &dyn Disk,
    settings: &Settings,
    directory: &Path,
) -> Result<Opened> {
    let lock = disk.lock().map_err(|error| not_locked(&error))?;
    let names = disk.list().map_err(|error| Error::io("list the files of the database", &error))?;
    expect_no_new_backup(&names)?;
    let is_there = |name: &str| names.iter().any(|other| other == name);
    if is_there(CREATING) && !(is_there(DATA) && is_finished(disk)?) {
        return Err(refused("its creation was not finished; open it for writing once"));
    }
    if !is_there(DATA) {
        return Err(if names.iter().any(|name| name.starts_with("log-")) {
            no_data(&names)
        } else {
            Error::NoDatabase { directory: directory.into() }
        });
    }
    let file = disk.open(DATA).map_err(|error| Error::io("open file data", &error))?;
    // The directory is unlocked last.
    let lock: Lock = Box::new((lock_data(&*file, Access::Read)?, lock));
    let (data, superblock, catalogue) = DataFile::open(file)?;
    let data = Arc::new(data);
    let start = log_of(&superblock);
    let since = start.places.positions();
    let stock = Stock::take(disk, superblock.database, &since)?;
    let pager = Pager::new(settings.memory(), Some(Arc::clone(&data)))?;
    let catalogue = Catalogue::restore(&catalogue, &pager)?;
    let mut recovery = Recovery::new(&pager, &data, Access::Read, catalogue, &superblock);
    let apply = &mut |records: &[wal::LogRecord<'_>], applied| recovery.apply(records, applied);
    let replayed = wal::replay(disk, &stock, &start, apply)?;
    let ends: u64 = replayed.segments.iter().map(|(_, end)| *end).sum();
    let starts: u64 = since.0.iter().map(|start| start.at).sum();
    let catalogue = recovery.catalogue;
    let store = Store {
        data,
        log: None,
        replayed_bytes: ends.saturating_sub(starts),
        level: settings.durability,
        current: Mutex::new(superblock),
        since: Mutex::new(since),
        room: Arc::new(AtomicU64::new(0)),
        forgotten: AtomicU64::new(0),
        making_room: Mutex::default(),
        most_log_bytes: settings.most_log_bytes,
        is_step_by_step: AtomicBool::new(false),
        unwritable: OnceLock::from(Unwritable::ReadOnly),
        lock: Mutex::new(Some(lock)),
    };
    Ok(Opened { store, pager, catalogue })
}
