//! The options of opening a volume.

use std::ffi::c_char;
use std::path::Path;
use std::time::Duration;

use lode_volumes::{Options, Volume};

use crate::argument::{Plain, slice, utf8};
use crate::failure::{Failure, Result};
use crate::options::{
    LODE_OPEN_EXISTING, LODE_OPEN_OR_CREATE, LODE_OPEN_READ_ONLY, durability, lode_durability,
    lode_options,
};

/// Options of opening a volume. One of zeros has the defaults:
/// `lode_volume_options options = {0};`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_volume_options {
    /// The memory budget of the volume's database in bytes; 0 is half of what the process may take
    /// up.
    pub memory_bytes: u64,
    /// The most bytes of the log before writers wait for a checkpoint; 0 is 1 GiB.
    pub log_bytes: u64,
    /// The most bytes of a segment of the log; 0 is 16 MiB.
    pub segment_bytes: u64,
    /// The time between syncs at level `LODE_DURABILITY_PERIODIC`, in microseconds; 0 is 100,000.
    pub sync_interval_us: u64,
    /// The level of durability; 0 is `LODE_DURABILITY_COMMIT`. In memory nothing is durable.
    pub durability: lode_durability,
    /// `LODE_OPEN_OR_CREATE`, `LODE_OPEN_EXISTING` or `LODE_OPEN_READ_ONLY`. In memory it has to be
    /// `LODE_OPEN_OR_CREATE`.
    pub mode: u32,
    /// The sum of `LODE_UNMAPPED_LOG` and `LODE_NO_IDLE_COMPACTION`, or 0.
    pub flags: u32,
    /// Zero.
    pub reserved: u32,
    /// The interval at which expired properties are removed in the background, in microseconds; 0
    /// is 1,000,000. No reader sees them before that either.
    pub sweep_interval_us: u64,
    /// The number of entries that are kept open in memory beyond those of handles; 0 is 4,096.
    pub open_entries: u64,
    /// The bytes of values that are kept with open entries; 0 is 64 MiB.
    pub cache_bytes: u64,
    /// The volume's name in messages, in UTF-8; null for its directory, or `memory`.
    pub name: *const c_char,
    /// The bytes of the name.
    pub name_size: usize,
}

// SAFETY: all fields are numbers and pointers.
unsafe impl Plain for lode_volume_options {}

/// The options of a program that has none.
pub(super) const DEFAULT: lode_volume_options = lode_volume_options {
    memory_bytes: 0,
    log_bytes: 0,
    segment_bytes: 0,
    sync_interval_us: 0,
    durability: 0,
    mode: 0,
    flags: 0,
    reserved: 0,
    sweep_interval_us: 0,
    open_entries: 0,
    cache_bytes: 0,
    name: std::ptr::null(),
    name_size: 0,
};

impl lode_volume_options {
    /// Returns the options of volumes.
    fn read(&self) -> Result<Options> {
        let database = lode_options {
            memory_bytes: self.memory_bytes,
            log_bytes: self.log_bytes,
            segment_bytes: self.segment_bytes,
            sync_interval_us: self.sync_interval_us,
            flags: self.flags,
            reserved: self.reserved,
            ..lode_options::DEFAULT
        };
        let mut options = Options::new().database(database.read()?);
        if self.durability != 0 {
            options = options.durability(durability(self.durability)?);
        }
        if self.sweep_interval_us != 0 {
            options = options.sweep_interval(Duration::from_micros(self.sweep_interval_us));
        }
        let count = |number| usize::try_from(number).unwrap_or(usize::MAX);
        if self.open_entries != 0 {
            options = options.open_entries(count(self.open_entries));
        }
        if self.cache_bytes != 0 {
            options = options.cache_bytes(count(self.cache_bytes));
        }
        // SAFETY: the header asks for a name of that many bytes.
        let name = unsafe { slice(self.name.cast::<u8>(), self.name_size, "name") }?;
        if !name.is_empty() {
            options = options.name(utf8(name, "name")?);
        }
        Ok(options)
    }

    /// Opens the volume in a directory.
    pub(super) fn open(&self, path: &Path) -> Result<Volume> {
        let options = self.read()?;
        Ok(match self.mode {
            LODE_OPEN_OR_CREATE => options.open(path)?,
            LODE_OPEN_EXISTING => options.open_existing(path)?,
            LODE_OPEN_READ_ONLY => options.open_read_only(path)?,
            other => {
                let message = format!(
                    "there is no mode {other} to open a volume; use LODE_OPEN_OR_CREATE, \
                     LODE_OPEN_EXISTING or LODE_OPEN_READ_ONLY"
                );
                return Err(Failure::argument(message));
            }
        })
    }

    /// Creates a volume in memory.
    pub(super) fn in_memory(&self) -> Result<Volume> {
        if self.mode != LODE_OPEN_OR_CREATE {
            let message = "a volume in memory is always new; leave the mode 0";
            return Err(Failure::argument(message));
        }
        Ok(self.read()?.in_memory()?)
    }
}
