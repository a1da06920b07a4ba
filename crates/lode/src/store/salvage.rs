//! Opens a damaged directory to read what is left of it. Nothing is written there.

use std::path::Path;
use std::sync::Arc;

use super::Settings;
use super::backup::expect_no_new_backup;
use super::catalogue::{Catalogue, Stored};
use super::open::{DATA, lock_data, no_data, not_locked};
use super::recovery::log_of;
use crate::data::{Damaged, DataFile, Superblock};
use crate::error::{Error, Result};
use crate::index::loss;
use crate::io::{Access, Disk, Lock};
use crate::pager::Pager;
use crate::table::{Definition, Horizon, Left, Location, salvage};
use crate::wal::{self, LogRecord, Stock};

/// The remains of a database.
pub(crate) struct Remnant {
    pager: Pager,
    data: Arc<DataFile>,
    superblock: Superblock,
    /// The tables and indexes that it had at its last checkpoint.
    pub tables: Vec<(Definition, Location)>,
    /// The time up to which records had expired then.
    pub horizon: Horizon,
    _lock: Lock,
}

impl Remnant {
    /// Opens what is left of the database in a directory. Calls `lost` with each fault that it
    /// could do without.
    ///
    /// # Errors
    /// `NoDatabase` if there is neither a data file nor a log; `Locked`; `UnfinishedBackup`;
    /// `Corrupt` without a data file, or if no list of tables is whole; `Version`; `Io`.
    pub(crate) fn open(
        disk: &dyn Disk,
        settings: &Settings,
        directory: &Path,
        lost: &mut dyn FnMut(String),
    ) -> Result<Self> {
        let lock = disk.lock().map_err(|error| not_locked(&error))?;
        let names = disk.list().map_err(|error| Error::io("list the files", &error))?;
        expect_no_new_backup(&names)?;
        if !names.iter().any(|name| name == DATA) {
            let has_log = names.iter().any(|name| name.starts_with("log-"));
            let none = || Error::NoDatabase { directory: directory.into() };
            return Err(if has_log { no_data(&names) } else { none() });
        }
        let file = disk.open(DATA).map_err(|error| Error::io("open file data", &error))?;
        let lock: Lock = Box::new((lock_data(&*file, Access::Read)?, lock));
        let Damaged { data, superblock, catalogue, faults } = DataFile::open_damaged(file)?;
        faults.into_iter().for_each(lost);
        let data = Arc::new(data);
        let pager = Pager::new(settings.memory(), Some(Arc::clone(&data)))?;
        let Stored { found: tables, horizon, .. } = Catalogue::read(&catalogue)?;
        Ok(Self { pager, data, superblock, tables, horizon, _lock: lock })
    }

    /// Calls `visit` with every record of a table that can be read, as of the last checkpoint, and
    /// with all that is lost.
    ///
    /// # Errors
    /// Those of `visit`; `Full`.
    pub(crate) fn read(
        &self,
        table: &(Definition, Location),
        visit: &mut dyn FnMut(Left<'_>) -> Result<()>,
    ) -> Result<()> {
        let (definition, location) = table;
        salvage(&self.pager, &self.data, definition, location, visit)
    }

    /// Calls `apply` with the changes since the last checkpoint, in their order, up to the first
    /// part of the log that is damaged; and `lost` with that fault, if there is one.
    ///
    /// # Errors
    /// Those of `apply`, and of reading that are no damage.
    pub(crate) fn replay(
        &self,
        disk: &dyn Disk,
        apply: &mut dyn FnMut(&LogRecord<'_>) -> Result<()>,
        lost: &mut dyn FnMut(String),
    ) -> Result<()> {
        let start = log_of(&self.superblock);
        let since = start.places.positions();
        let database = self.superblock.database;
        let mut left_out = |error: &Error| lost(error.to_string());
        let stock = Stock::take_damaged(disk, database, &since, &mut left_out)?;
        let mut failed = None;
        let replayed = wal::replay(disk, &stock, &start, &mut |records, _| {
            let applied = records.iter().try_for_each(&mut *apply);
            applied.inspect_err(|error| failed = Some(error.clone()))
        });
        match failed {
            Some(error) => Err(error),
            None => loss(replayed.map(drop))?.or_else(|error| {
                lost(error.to_string());
                Ok(())
            }),
        }
    }
}
