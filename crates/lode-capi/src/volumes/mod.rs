//! Volumes: trees of entries with typed properties, and several of them mounted into one storage.

mod entry;
mod list;
mod options;
mod property;
mod storage;

use std::ffi::c_char;

use lode_volumes::Volume;

use crate::argument::{Out, bytes, optional_out, out, path, structure};
use crate::failure::{Result, guarded};
use crate::objects::lode_volume;
use crate::status::lode_status::{self, LODE_OK};
use options::{DEFAULT, lode_volume_options};

/// Opens the volume in a directory, and makes one if the mode says so.
///
/// `directory` is a path of `directory_size` bytes. `options` may be null; else `options_size` is
/// `sizeof(lode_volume_options)`. The volume is written to `volume`, and closed with
/// `lode_close_volume`. It has a thread of its own, which removes expired properties.
///
/// Returns `LODE_NOT_A_VOLUME` when the directory has another database; `LODE_NO_VOLUME` when it
/// has none yet and is opened to be read only; and as `lode_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_volume(
    directory: *const c_char,
    directory_size: usize,
    options: *const lode_volume_options,
    options_size: usize,
    volume: *mut lode_volume,
) -> lode_status {
    guarded(|| {
        let out = out!(volume);
        let path = path(bytes!(directory, directory_size), "directory")?;
        let options = structure!(options, options_size).unwrap_or(DEFAULT);
        give(options.open(path)?, &out)
    })
}

/// Makes a volume in memory, which lives until it is closed. As `lode_open_volume` otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_volume_in_memory(
    options: *const lode_volume_options,
    options_size: usize,
    volume: *mut lode_volume,
) -> lode_status {
    guarded(|| {
        let out = out!(volume);
        let options = structure!(options, options_size).unwrap_or(DEFAULT);
        give(options.in_memory()?, &out)
    })
}

fn give(volume: lode_volumes::Volume, out: &Out<lode_volume>) -> Result<lode_status> {
    out.set(lode_volume::new(volume)?);
    Ok(LODE_OK)
}

/// Closes a volume and frees its handle. All that was done is in its files then, whatever the
/// level, and the directory can be opened again.
///
/// Handles of its entries return `LODE_CLOSED` from then on, except that properties which are in
/// memory can still be read; they have still to be freed. Storages in which it is mounted get
/// `LODE_CLOSED` from it.
///
/// A failure, such as `LODE_DISK_FULL`, says that the last changes are in the log only. The volume
/// is closed and the handle is freed nevertheless.
#[unsafe(no_mangle)]
pub extern "C" fn lode_close_volume(volume: lode_volume) -> lode_status {
    guarded(|| {
        let open = Volume::clone(&*volume.share()?);
        volume.free()?;
        open.close()?;
        Ok(LODE_OK)
    })
}

/// Makes everything durable that was done before in a volume, whatever the level. Fails as
/// `lode_flush` does.
#[unsafe(no_mangle)]
pub extern "C" fn lode_flush_volume(volume: lode_volume) -> lode_status {
    guarded(|| Ok(volume.share()?.flush().map(|()| LODE_OK)?))
}

/// Removes all properties that have expired, as the volume's thread does at its interval, and
/// deletes what is left of unlinked entries. Writes the number of removed properties to `removed`,
/// which may be null. Fails as writes of the volume do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_sweep_volume(volume: lode_volume, removed: *mut u64) -> lode_status {
    guarded(|| {
        let out = optional_out!(removed);
        out.set(volume.share()?.sweep()?);
        Ok(LODE_OK)
    })
}
