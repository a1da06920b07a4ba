//! Entries: opening them, and their links.

use std::ffi::c_char;

use lode_volumes::{Entry, Error};

use crate::argument::{Out, Room, optional_out, out, room, text};
use crate::failure::{Failure, Result, guarded};
use crate::objects::{OpenEntry, lode_entry, lode_volume};
use crate::status::lode_status::{self, LODE_NOT_FOUND, LODE_OK};

/// Writes a handle of an entry, if there is one.
pub(super) fn give(found: Option<OpenEntry>, out: &Out<lode_entry>) -> Result<lode_status> {
    let Some(entry) = found else { return Ok(LODE_NOT_FOUND) };
    out.set(lode_entry::new(entry)?);
    Ok(LODE_OK)
}

/// Opens the entry of a volume under a path, which is UTF-8 of `path_size` bytes, such as
/// "/app/ui"; "/" is the entry that all others are below. It is written to `entry`, and freed with
/// `lode_free_entry`.
///
/// Returns `LODE_NOT_FOUND` when there is no such entry; `LODE_INVALID_NAME`; `LODE_CLOSED`,
/// `LODE_CORRUPT`, `LODE_IO`, which all functions of entries may return.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_entry(
    volume: lode_volume,
    path: *const c_char,
    path_size: usize,
    entry: *mut lode_entry,
) -> lode_status {
    guarded(|| {
        let (out, path) = (out!(entry), text!(path, path_size));
        let found = volume.share()?.entry(path)?;
        give(found.map(OpenEntry::Volume), &out)
    })
}

/// Opens the entry of a volume under a path. Links it if it does not exist, and those on the way.
/// As `lode_open_entry` otherwise; fails as `lode_link` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_create_entry(
    volume: lode_volume,
    path: *const c_char,
    path_size: usize,
    entry: *mut lode_entry,
) -> lode_status {
    guarded(|| {
        let (out, path) = (out!(entry), text!(path, path_size));
        let created = volume.share()?.create_entry(path)?;
        give(Some(OpenEntry::Volume(created)), &out)
    })
}

impl OpenEntry {
    /// Returns the entry under a path from this one; `None` if it is missing.
    fn child(&self, path: &str) -> Result<Option<Self>> {
        Ok(match self {
            Self::Volume(entry) => entry.entry(path)?.map(Self::Volume),
            Self::Storage(storage, entry) => {
                let found = storage.entry(&format!("{}/{path}", entry.path()))?;
                found.map(|found| Self::Storage(storage.clone(), found))
            }
        })
    }

    /// Links a child; returns it if it is wanted.
    fn link(&self, name: &str, is_wanted: bool) -> Result<Option<Self>> {
        match self {
            Self::Volume(entry) => Ok(Some(Self::Volume(entry.link(name)?))),
            Self::Storage(_, entry) => {
                entry.link(name)?;
                if is_wanted { self.child(name) } else { Ok(None) }
            }
        }
    }

    fn path(&self) -> Result<String> {
        Ok(match self {
            Self::Volume(entry) => entry.path()?,
            Self::Storage(_, entry) => entry.path().into(),
        })
    }

    /// Returns the entry of a volume.
    ///
    /// # Errors
    /// `LODE_BAD_ARGUMENT` for one of a storage.
    fn of_volume(&self) -> Result<&Entry> {
        match self {
            Self::Volume(entry) => Ok(entry),
            Self::Storage(_, entry) => {
                let path = entry.path();
                let message = format!("{path} is of a storage; rename entries in a volume only");
                Err(Failure::argument(message))
            }
        }
    }
}

/// Opens the entry under a path from another one, such as "ui" or "ui/toolbar". It is written to
/// `child`, and freed with `lode_free_entry`. As `lode_open_entry` otherwise; `LODE_GONE` when the
/// entry was unlinked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_child(
    entry: lode_entry,
    path: *const c_char,
    path_size: usize,
    child: *mut lode_entry,
) -> lode_status {
    guarded(|| {
        let (out, path) = (out!(child), text!(path, path_size));
        give(entry.share()?.child(path)?, &out)
    })
}

/// Frees the handle of an entry. The entry stays.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_entry(entry: lode_entry) -> lode_status {
    guarded(|| entry.free().map(|()| LODE_OK))
}

/// Writes the path of an entry to `path`, which has room for `path_capacity` bytes, and its bytes
/// to `path_size`. No zero ends it.
///
/// Returns `LODE_TOO_SMALL`, with the bytes that it needs in `path_size`; `LODE_GONE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_entry_path(
    entry: lode_entry,
    path: *mut c_char,
    path_capacity: usize,
    path_size: *mut usize,
) -> lode_status {
    guarded(|| {
        let (room, size): (Room<u8>, _) = (room!(path, path_capacity), out!(path_size));
        let found = entry.share()?.path()?;
        room.fill(found.as_bytes(), &size, "path")?;
        Ok(LODE_OK)
    })
}

/// Links a new entry, without properties, below another one. `name` is UTF-8 of `name_size` bytes.
/// A handle of it is written to `child`, which may be null.
///
/// In a storage it is linked in each volume that is mounted for writing.
///
/// Returns `LODE_NAME_TAKEN` when the entry has such a child; `LODE_INVALID_NAME`, `LODE_GONE`,
/// `LODE_READ_ONLY`, `LODE_POISONED`, `LODE_FULL`, `LODE_DISK_FULL`; in a storage also
/// `LODE_PARTIAL`, and `LODE_MOUNTS_CHANGED` when the entry has to be opened again. All writes of
/// entries may return these, except for the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_link(
    entry: lode_entry,
    name: *const c_char,
    name_size: usize,
    child: *mut lode_entry,
) -> lode_status {
    guarded(|| {
        let out = optional_out!(child);
        let name = text!(name, name_size);
        let open = entry.share()?;
        let is_wanted = !child.is_null();
        let linked = open.link(name, is_wanted)?;
        if !is_wanted {
            return Ok(LODE_OK);
        }
        match linked {
            Some(linked) => give(Some(linked), &out),
            // Another thread has unlinked it already.
            None => {
                let path = format!("{}/{name}", open.path()?.trim_end_matches('/'));
                Err(Error::Gone { path }.into())
            }
        }
    })
}

/// Unlinks a child of an entry, with its properties. `name` is UTF-8 of `name_size` bytes. Handles
/// of it return `LODE_GONE` from then on, in all threads.
///
/// In a storage it is unlinked in each volume that has it, and in none if one of them is read-only.
///
/// Returns `LODE_NO_ENTRY` when there is no such child; `LODE_NOT_EMPTY` when it has children
/// itself; and as `lode_link`. If deleting what the child had fails after it was unlinked, that is
/// returned too; the deletion continues later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_unlink(
    entry: lode_entry,
    name: *const c_char,
    name_size: usize,
) -> lode_status {
    guarded(|| {
        let name = text!(name, name_size);
        match &*entry.share()? {
            OpenEntry::Volume(entry) => entry.unlink(name)?,
            OpenEntry::Storage(_, entry) => entry.unlink(name)?,
        }
        Ok(LODE_OK)
    })
}

/// Unlinks a child of an entry, and all below it. As `lode_unlink` otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_unlink_all(
    entry: lode_entry,
    name: *const c_char,
    name_size: usize,
) -> lode_status {
    guarded(|| {
        let name = text!(name, name_size);
        match &*entry.share()? {
            OpenEntry::Volume(entry) => entry.unlink_all(name)?,
            OpenEntry::Storage(_, entry) => entry.unlink_all(name)?,
        }
        Ok(LODE_OK)
    })
}

/// Moves the child `name` of an entry, with all below it, below the entry `to` of its volume, under
/// the name `new_name`. Both names are UTF-8 of as many bytes as their sizes say. Handles stay what
/// they are.
///
/// Returns `LODE_NO_ENTRY`, `LODE_NAME_TAKEN`; `LODE_INTO_ITSELF` when `to` is the child or below
/// it; `LODE_OTHER_DATABASE` when it is of another volume; `LODE_BAD_ARGUMENT` for entries of a
/// storage; and as `lode_link`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_rename(
    entry: lode_entry,
    name: *const c_char,
    name_size: usize,
    to: lode_entry,
    new_name: *const c_char,
    new_name_size: usize,
) -> lode_status {
    guarded(|| {
        let (name, new_name) = (text!(name, name_size), text!(new_name, new_name_size));
        let (from, to) = (entry.share()?, to.share()?);
        from.of_volume()?.rename(name, to.of_volume()?, new_name)?;
        Ok(LODE_OK)
    })
}
