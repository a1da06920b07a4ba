//! The options of opening a database.

use std::path::Path;
use std::time::Duration;

use lode::{Database, Durability, Options};

use crate::argument::Plain;
use crate::failure::{Failure, Result};

/// Which crashes finished operations survive: one of the numbers from `LODE_DURABILITY_NONE` on. In
/// options, 0 is the default, `LODE_DURABILITY_COMMIT`.
pub type lode_durability = u32;

/// None: a crash goes back to the last checkpoint.
pub const LODE_DURABILITY_NONE: lode_durability = 1;
/// A killed process. A crash of the machine may lose the last ones.
pub const LODE_DURABILITY_PROCESS: lode_durability = 2;
/// A killed process; a crash of the machine loses those of the last interval at most.
pub const LODE_DURABILITY_PERIODIC: lode_durability = 3;
/// All: no finished operation is lost.
pub const LODE_DURABILITY_COMMIT: lode_durability = 4;

/// Opens the database in a directory, and creates one if the directory does not exist or is empty.
pub const LODE_OPEN_OR_CREATE: u32 = 0;
/// Opens the database in a directory, which has to exist.
pub const LODE_OPEN_EXISTING: u32 = 1;
/// Creates a database in a directory that has none.
pub const LODE_CREATE_NEW: u32 = 2;
/// Opens the database in a directory to read it only, as of one moment. Others may do so at the
/// same time, and one process may write.
pub const LODE_OPEN_READ_ONLY: u32 = 3;

/// Writes the log by calls of the operating system, never through a mapping of its file. So a
/// failing disk is an error and no signal. Writing takes longer then.
pub const LODE_UNMAPPED_LOG: u32 = 1;
/// Gives no space back in the background.
pub const LODE_NO_IDLE_COMPACTION: u32 = 2;
/// Ends the keeping of changes that an earlier opening has asked for.
pub const LODE_KEEP_NO_CHANGES: u32 = 4;

/// Options of opening a database. One of zeros has the defaults: `lode_options options = {0};`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_options {
    /// The memory budget in bytes: what pages, transactions and snapshots take up together. 0 is
    /// half of what the process may take up.
    pub memory_bytes: u64,
    /// The most bytes of the log before writers wait for a checkpoint; 0 is 1 GiB.
    pub log_bytes: u64,
    /// The most bytes of a segment of the log; 0 is 16 MiB.
    pub segment_bytes: u64,
    /// The time between syncs at level `LODE_DURABILITY_PERIODIC`, in microseconds; 0 is 100,000.
    pub sync_interval_us: u64,
    /// The level of durability; 0 is `LODE_DURABILITY_COMMIT`.
    pub durability: lode_durability,
    /// `LODE_OPEN_OR_CREATE`, `LODE_OPEN_EXISTING`, `LODE_CREATE_NEW` or `LODE_OPEN_READ_ONLY`. In
    /// memory it has to be `LODE_OPEN_OR_CREATE`.
    pub mode: u32,
    /// The sum of some of `LODE_UNMAPPED_LOG`, `LODE_NO_IDLE_COMPACTION` and
    /// `LODE_KEEP_NO_CHANGES`, or 0.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// Keeps changes for `lode_open_changes`: at least the newest of as many bytes of the log, in
    /// whole MiB. The database remembers it for later openings; 0 leaves it as it was. A database
    /// in memory, or at level `LODE_DURABILITY_NONE`, keeps none.
    ///
    /// A write of one record is a commit then, next to no other write, and the log is about twice
    /// as long.
    pub kept_changes_bytes: u64,
}

// SAFETY: all fields are numbers.
unsafe impl Plain for lode_options {}

/// Returns the durability of a number.
///
/// # Errors
/// `LODE_BAD_ARGUMENT`.
pub(crate) fn durability(number: lode_durability) -> Result<Durability> {
    Ok(match number {
        LODE_DURABILITY_NONE => Durability::None,
        LODE_DURABILITY_PROCESS => Durability::Process,
        LODE_DURABILITY_PERIODIC => Durability::Periodic,
        LODE_DURABILITY_COMMIT => Durability::Commit,
        other => {
            return Err(Failure::argument(format!(
                "there is no durability {other}; use one of LODE_DURABILITY_NONE to \
                 LODE_DURABILITY_COMMIT"
            )));
        }
    })
}

impl lode_options {
    /// The options of a program that has none.
    pub(crate) const DEFAULT: Self = Self {
        memory_bytes: 0,
        log_bytes: 0,
        segment_bytes: 0,
        sync_interval_us: 0,
        durability: 0,
        mode: 0,
        flags: 0,
        reserved: 0,
        kept_changes_bytes: 0,
    };

    /// Returns the options of Lode.
    pub(crate) fn read(&self) -> Result<Options> {
        let known = LODE_UNMAPPED_LOG | LODE_NO_IDLE_COMPACTION | LODE_KEEP_NO_CHANGES;
        if self.flags & !known != 0 || self.reserved != 0 {
            let message =
                "options have flags that this version of Lode does not know; leave them 0";
            return Err(Failure::argument(message));
        }
        let mut options = Options::new()
            .map_log(self.flags & LODE_UNMAPPED_LOG == 0)
            .compact_when_idle(self.flags & LODE_NO_IDLE_COMPACTION == 0);
        if self.durability != 0 {
            options = options.durability(durability(self.durability)?);
        }
        if self.memory_bytes != 0 {
            options = options.memory_bytes(self.memory_bytes);
        }
        if self.log_bytes != 0 {
            options = options.log_bytes(self.log_bytes);
        }
        if self.segment_bytes != 0 {
            options = options.segment_bytes(self.segment_bytes);
        }
        if self.sync_interval_us != 0 {
            options = options.sync_interval(Duration::from_micros(self.sync_interval_us));
        }
        let ends_changes = self.flags & LODE_KEEP_NO_CHANGES != 0;
        if ends_changes && self.kept_changes_bytes != 0 {
            let message = "options have LODE_KEEP_NO_CHANGES and kept_changes_bytes; leave one out";
            return Err(Failure::argument(message));
        }
        if ends_changes || self.kept_changes_bytes != 0 {
            options = options.keep_changes(self.kept_changes_bytes);
        }
        Ok(options)
    }

    /// Opens the database in a directory.
    pub(crate) fn open(&self, path: &Path) -> Result<Database> {
        let options = self.read()?;
        Ok(match self.mode {
            LODE_OPEN_OR_CREATE => options.open(path)?,
            LODE_OPEN_EXISTING => options.open_existing(path)?,
            LODE_CREATE_NEW => options.create_new(path)?,
            LODE_OPEN_READ_ONLY => options.open_read_only(path)?,
            other => return Err(Failure::argument(format!("there is no mode {other} to open"))),
        })
    }

    /// Creates a database in memory.
    pub(crate) fn in_memory(&self) -> Result<Database> {
        if self.mode != LODE_OPEN_OR_CREATE {
            let message = "a database in memory is always new; leave the mode 0";
            return Err(Failure::argument(message));
        }
        if self.kept_changes_bytes != 0 {
            let message = "a database in memory keeps no changes; leave kept_changes_bytes 0";
            return Err(Failure::argument(message));
        }
        Ok(self.read()?.in_memory()?)
    }
}
