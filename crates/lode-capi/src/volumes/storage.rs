//! Storages: several volumes as one tree.

use std::ffi::c_char;

use lode_volumes::{Access, Mount, Storage};

use crate::argument::{Plain, out, slice, structure, text, utf8};
use crate::failure::{Failure, Result, guarded};
use crate::objects::{OpenEntry, lode_entry, lode_storage, lode_volume};
use crate::status::lode_status::{self, LODE_OK};

use super::entry::give;

/// Access to a mounted volume: reading and writing, unless it was opened to be read only.
pub const LODE_MOUNT_WRITE: u32 = 0;
/// Access to a mounted volume: reading only.
pub const LODE_MOUNT_READ_ONLY: u32 = 1;

/// How a volume is mounted. One of zeros mounts all of it, for writing: `lode_mount mount = {0};`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_mount {
    /// The path of the entry of the volume that is mounted, in UTF-8; null for "/".
    pub entry: *const c_char,
    /// The bytes of this path.
    pub entry_size: usize,
    /// The priority: the higher, the earlier the volume is asked for a property.
    pub priority: i32,
    /// `LODE_MOUNT_WRITE` or `LODE_MOUNT_READ_ONLY`.
    pub access: u32,
}

// SAFETY: all fields are numbers and pointers.
unsafe impl Plain for lode_mount {}

impl lode_mount {
    /// Mounts a volume at a path.
    fn mount(&self, storage: &Storage, path: &str, volume: &lode_volumes::Volume) -> Result<()> {
        // SAFETY: the header asks for a path of that many bytes.
        let entry = unsafe { slice(self.entry.cast::<u8>(), self.entry_size, "entry") }?;
        let access = match self.access {
            LODE_MOUNT_WRITE => Access::Write,
            LODE_MOUNT_READ_ONLY => Access::ReadOnly,
            other => {
                let message = format!(
                    "there is no access {other}; use LODE_MOUNT_WRITE or LODE_MOUNT_READ_ONLY"
                );
                return Err(Failure::argument(message));
            }
        };
        let mount = Mount::new(volume).entry(utf8(entry, "entry")?);
        Ok(storage.mount(path, mount.priority(self.priority).access(access))?)
    }
}

/// Makes a storage in which nothing is mounted, which is written to `storage` and freed with
/// `lode_free_storage`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_make_storage(storage: *mut lode_storage) -> lode_status {
    guarded(|| {
        let out = out!(storage);
        out.set(lode_storage::new(Storage::new())?);
        Ok(LODE_OK)
    })
}

/// Frees a storage. Its volumes stay open, and can be mounted elsewhere once the handles of its
/// entries are freed as well.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_storage(storage: lode_storage) -> lode_status {
    guarded(|| storage.free().map(|()| LODE_OK))
}

/// Mounts a volume, or an entry of it, at a path of a storage. `path` is UTF-8 of `path_size`
/// bytes. `mount` may be null for all of the volume with priority 0, for writing; else `mount_size`
/// is `sizeof(lode_mount)`.
///
/// Entries of the storage that are open return `LODE_MOUNTS_CHANGED` from then on. The volume's
/// handle may be used as before; closing the volume does not unmount it.
///
/// Returns `LODE_NO_ENTRY` when the volume has not the entry that is to be mounted; `LODE_CLAIMED`
/// when it is mounted in another storage; `LODE_ALREADY_MOUNTED`, `LODE_INVALID_NAME`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_mount_volume(
    storage: lode_storage,
    path: *const c_char,
    path_size: usize,
    volume: lode_volume,
    mount: *const lode_mount,
    mount_size: usize,
) -> lode_status {
    guarded(|| {
        let path = text!(path, path_size);
        let mount = structure!(mount, mount_size).unwrap_or(WHOLE);
        mount.mount(&*storage.share()?, path, &*volume.share()?)?;
        Ok(LODE_OK)
    })
}

/// The mount of a whole volume.
const WHOLE: lode_mount =
    lode_mount { entry: std::ptr::null(), entry_size: 0, priority: 0, access: LODE_MOUNT_WRITE };

/// Takes a volume, of which the entry with the path `entry` was mounted at `path`, out of a storage
/// again. Both paths are UTF-8 of as many bytes as their sizes say; null and 0 are "/". As
/// `lode_mount_volume` otherwise; `LODE_NOT_MOUNTED` when it is not mounted there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_unmount_volume(
    storage: lode_storage,
    path: *const c_char,
    path_size: usize,
    volume: lode_volume,
    entry: *const c_char,
    entry_size: usize,
) -> lode_status {
    guarded(|| {
        let (path, entry) = (text!(path, path_size), text!(entry, entry_size));
        storage.share()?.unmount(path, &*volume.share()?, entry)?;
        Ok(LODE_OK)
    })
}

/// Opens the entry of a storage under a path, which is written to `entry` and freed with
/// `lode_free_entry`. As `lode_open_entry` otherwise.
///
/// Returns `LODE_NOT_FOUND` when no volume that is mounted there has it; `LODE_NOT_MOUNTED` when no
/// volume is mounted at the path or above it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_storage_entry(
    storage: lode_storage,
    path: *const c_char,
    path_size: usize,
    entry: *mut lode_entry,
) -> lode_status {
    guarded(|| {
        let (out, path) = (out!(entry), text!(path, path_size));
        let open = storage.share()?;
        let found = open.entry(path)?;
        give(found.map(|found| OpenEntry::Storage(open.clone(), found)), &out)
    })
}

/// Opens the entry of a storage under a path. Links it, and those on the way, in each volume that
/// is mounted there for writing and has it not. As `lode_open_storage_entry` otherwise; fails as
/// `lode_link` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_create_storage_entry(
    storage: lode_storage,
    path: *const c_char,
    path_size: usize,
    entry: *mut lode_entry,
) -> lode_status {
    guarded(|| {
        let (out, path) = (out!(entry), text!(path, path_size));
        let open = storage.share()?;
        let created = open.create_entry(path)?;
        give(Some(OpenEntry::Storage(open.clone(), created)), &out)
    })
}
