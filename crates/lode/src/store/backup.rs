//! Backups: the checkpoint of an open database, copied to another directory page by page. A page
//! that the directory has from an earlier backup is not copied again.
//!
//! The directory has a backup as of one moment at any time: the new one is made current by its
//! superblock, as a checkpoint is. A first backup has nothing to keep, so what is copied of it is
//! made current from time to time, marked as unfinished. It is continued there.

use std::sync::Arc;

use super::open::{DATA, list, lock_data, not_locked, open_data, remove_synced};
use crate::data::{DataFile, Kept, LanePlace, SLOT_BYTES, Superblock};
use crate::error::{Error, Result};
use crate::io::{Access, Disk, File, Lock};

/// The name of the data file of a backup before it has a superblock.
const NEW: &str = "backup-new";

const OTHER_FILES: &str = "it has other files than those of a backup";
const UNKNOWN_DATA: &str = "its file data is none of a backup, or is damaged";

/// Refuses the directory of a backup that was just started.
pub(super) fn expect_no_new_backup(names: &[String]) -> Result<()> {
    if names.iter().any(|name| name == NEW) { Err(Error::UnfinishedBackup) } else { Ok(()) }
}

/// Pages that are copied for a first backup before they are made current: 256 MiB.
pub(crate) const STAGE_PAGES: u64 = (256 << 20) / SLOT_BYTES as u64;

/// Pages that are copied at a time: 1 MiB.
const AT_A_TIME: u64 = 64;

/// The progress of a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupProgress {
    /// Bytes of pages that were compared with those of the backup before.
    pub compared_bytes: u64,
    /// Bytes of pages that were copied, since the backup before had others.
    pub copied_bytes: u64,
    /// Bytes of pages that the database has; before the last progress, at most.
    pub total_bytes: u64,
}

/// The directory of a backup.
pub(crate) struct Target {
    disk: Arc<dyn Disk>,
    data: DataFile,
    superblock: Superblock,
    _lock: Lock,
}

/// Returns true if nothing was written to a file.
fn is_blank(file: &dyn File) -> Result<bool> {
    let failed = |error: std::io::Error| Error::io("read file backup-new", &error);
    let mut start = vec![0; file.size_bytes().map_err(failed)?.min(SLOT_BYTES as u64) as usize];
    file.read_at(0, &mut start).map_err(failed)?;
    Ok(start.iter().all(|byte| *byte == 0) && Superblock::is_blank(file)?)
}

/// Refuses a directory with anything else than a backup of a database, or the start of one.
fn expect_backup(disk: &dyn Disk, names: &[String], database: u64) -> Result<()> {
    let is_ours = |name: &&String| **name == DATA || **name == NEW;
    for name in names.iter().filter(is_ours) {
        let file = disk.open(name);
        let file = file.map_err(|error| Error::io(format!("open file {name}"), &error))?;
        let found = match Superblock::read(&*file) {
            Ok(found) => found,
            Err(Error::Corrupt { .. }) if name == NEW && is_blank(&*file)? => continue,
            Err(Error::Corrupt { .. }) => return Err(Error::NoBackup { why: UNKNOWN_DATA }),
            Err(error) => return Err(error),
        };
        let why = match found.backup_of {
            0 => "its database is no backup, or was opened for writing since",
            of if of != database => "it has a backup of another database",
            _ if name == NEW && !found.is_unfinished_backup => OTHER_FILES,
            _ => continue,
        };
        return Err(Error::NoBackup { why });
    }
    if names.iter().all(|name| is_ours(&name)) {
        Ok(())
    } else {
        Err(Error::NoBackup { why: OTHER_FILES })
    }
}

impl Target {
    /// Opens the directory of a backup of a database, or starts one if it is empty. `number` is the
    /// number of a new one.
    ///
    /// # Errors
    /// `NoBackup` if the directory has something else; `Locked`; `Corrupt`, `Version`; `DiskFull`,
    /// `Io`.
    pub(crate) fn open(disk: Arc<dyn Disk>, database: u64, number: u64) -> Result<Self> {
        // The lock is a file, which is not made in a refused directory.
        expect_backup(&*disk, &list(&*disk)?, database)?;
        let lock = disk.lock().map_err(|error| not_locked(&error))?;
        let names = list(&*disk)?;
        expect_backup(&*disk, &names, database)?;
        if names.iter().any(|name| name == NEW) {
            // Nothing was copied to it; or it has got its other name, and a crash has left both.
            remove_synced(&*disk, NEW)?;
        }
        if !names.iter().any(|name| name == DATA) {
            return Self::begin(disk, lock, database, number);
        }
        // The name of the data file may not have been synced when the first backup was stopped.
        disk.sync_directory().map_err(|error| Error::io("sync the backup's directory", &error))?;
        let file = open_data(&*disk)?;
        let lock: Lock = Box::new((lock_data(&*file, Access::Write)?, lock));
        let (data, superblock, _) = DataFile::open_backup(file)?;
        data.make_sure(&superblock)?;
        Ok(Self { disk, data, superblock, _lock: lock })
    }

    fn begin(disk: Arc<dyn Disk>, lock: Lock, database: u64, number: u64) -> Result<Self> {
        let failed = |error: std::io::Error| Error::io("create the backup", &error);
        let file = disk.create(NEW).map_err(failed)?;
        let lock: Lock = Box::new((lock_data(&*file, Access::Write)?, lock));
        let data = DataFile::create(file)?;
        let superblock =
            Superblock { database: number, backup_of: database, ..Superblock::default() };
        let mut target = Self { disk, data, superblock, _lock: lock };
        target.make_current(&[], LanePlace::default(), true)?;
        let disk = &target.disk;
        if let Err(error) = disk.rename(NEW, DATA).and_then(|()| disk.sync_directory()) {
            // A later sync need not make the name durable. The next backup makes it anew.
            let _ = disk.remove(DATA);
            return Err(failed(error));
        }
        Ok(target)
    }

    /// Copies a checkpoint, after which the log's first lane continues at a place, and makes it
    /// current. Of a first backup, makes what is copied current
    /// after `stage_pages` pages. Calls `on_progress` from time to time.
    ///
    /// # Errors
    /// `Corrupt` if a page of the database is damaged; `Closed`; `DiskFull`, `Io`, `Poisoned` of
    /// the backup. The one before stays, and so does what was copied of a first one.
    pub(crate) fn take(
        &mut self,
        from: &mut Kept<'_>,
        place: LanePlace,
        stage_pages: u64,
        on_progress: &mut dyn FnMut(BackupProgress),
    ) -> Result<BackupProgress> {
        let is_first = self.superblock.is_unfinished_backup;
        let catalogue = from.catalogue()?;
        let mut progress =
            BackupProgress { total_bytes: from.pages() * SLOT_BYTES as u64, ..Default::default() };
        let mut staged = 0;
        for node in from.nodes(&self.data)? {
            let mut difference = from.difference(&self.data, node)?;
            progress.compared_bytes += difference.pages() * SLOT_BYTES as u64;
            let most = AT_A_TIME.min(stage_pages).max(1) as usize;
            loop {
                let copied = from.copy_some(&mut difference, most, &self.data)? as u64;
                progress.copied_bytes += copied * SLOT_BYTES as u64;
                on_progress(progress);
                staged += copied;
                if copied == 0 {
                    break;
                }
                if is_first && staged >= stage_pages {
                    self.make_current(&[], LanePlace::default(), true)?;
                    staged = 0;
                }
            }
        }
        self.make_current(&catalogue, place, false)?;
        let named = self.disk.expect_files();
        named.map_err(|error| Error::io("find the backup under its name", &error))?;
        // The backup is whole; what stays of the space is used by the next one.
        let _ = self.data.shrink_to_used();
        progress.total_bytes = progress.compared_bytes;
        Ok(progress)
    }

    fn make_current(
        &mut self,
        catalogue: &[u8],
        place: LanePlace,
        is_unfinished: bool,
    ) -> Result<()> {
        let Superblock { generation, database, backup_of, .. } = self.superblock;
        self.data.reserve_for_catalogue(catalogue.len())?;
        let mut next = Superblock {
            generation,
            database,
            backup_of,
            is_clean: true,
            is_unfinished_backup: is_unfinished,
            ..Superblock::default()
        };
        // Changes since the backup are those since there.
        next.lanes[0] = place;
        self.superblock = self.data.publish(catalogue, &next)?;
        debug_assert!(self.superblock.generation > generation, "generations count checkpoints");
        Ok(())
    }
}
