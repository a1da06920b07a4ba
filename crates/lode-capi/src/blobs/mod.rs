//! Blobs: values of any length, written and read as streams.

mod list;
mod reader;
mod writer;

use std::ffi::{c_char, c_void};

use crate::argument::{bytes, out, text};
use crate::failure::guarded;
use crate::objects::{lode_blobs, lode_database};
use crate::status::lode_status::{self, LODE_NOT_FOUND, LODE_OK};

/// Creates a blob store, which is written to `blobs` and freed with `lode_free_blobs`. `name` is
/// UTF-8 of `name_size` bytes. The store is kept in the tables NAME.blobs, NAME.chunks and
/// NAME.pending, which are to be written by the functions of blobs only.
///
/// Returns `LODE_TABLE_EXISTS` when there is such a store or another table of these names; and as
/// `lode_create_table`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_create_blobs(
    database: lode_database,
    name: *const c_char,
    name_size: usize,
    blobs: *mut lode_blobs,
) -> lode_status {
    guarded(|| {
        let (out, name) = (out!(blobs), text!(name, name_size));
        out.set(lode_blobs::new(database.share()?.create_blobs(name)?)?);
        Ok(LODE_OK)
    })
}

/// Opens the blob store with a name, which is written to `blobs` and freed with `lode_free_blobs`.
/// `name` is UTF-8 of `name_size` bytes. What an ended process has not finished is removed by the
/// first write or removal.
///
/// Returns `LODE_NO_TABLE` when no store has the name; `LODE_OTHER_COLUMNS`, `LODE_NO_ORDER` when
/// its tables were altered; and as `lode_open_table`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_blobs(
    database: lode_database,
    name: *const c_char,
    name_size: usize,
    blobs: *mut lode_blobs,
) -> lode_status {
    guarded(|| {
        let (out, name) = (out!(blobs), text!(name, name_size));
        out.set(lode_blobs::new(database.share()?.blobs(name)?)?);
        Ok(LODE_OK)
    })
}

/// Drops a blob store with all blobs. `name` is UTF-8 of `name_size` bytes. Handles, writers and
/// readers of it return `LODE_NO_TABLE` then.
///
/// Returns `LODE_NO_TABLE`; `LODE_OTHER_COLUMNS`, `LODE_NO_ORDER` when a table of its names is none
/// of a store; and as `lode_drop_table`. After a failure of writing, call it again to drop what is
/// left.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_drop_blobs(
    database: lode_database,
    name: *const c_char,
    name_size: usize,
) -> lode_status {
    guarded(|| {
        let name = text!(name, name_size);
        database.share()?.drop_blobs(name)?;
        Ok(LODE_OK)
    })
}

/// Frees the handle of a blob store. The store stays, and so do writers, readers and lists of it.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_blobs(blobs: lode_blobs) -> lode_status {
    guarded(|| blobs.free().map(|()| LODE_OK))
}

/// Writes the number of bytes of the blob with a key to `length_bytes`. `key` has `key_size` bytes.
///
/// Returns `LODE_NOT_FOUND` when there is no such blob; `LODE_NO_TABLE` when the store was dropped;
/// `LODE_CLOSED`, `LODE_CORRUPT`, `LODE_IO`. All reads of blobs may return these.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_blob_length(
    blobs: lode_blobs,
    key: *const c_void,
    key_size: usize,
    length_bytes: *mut u64,
) -> lode_status {
    guarded(|| {
        let (out, key) = (out!(length_bytes), bytes!(key, key_size));
        let Some(length) = blobs.share()?.length_bytes(key)? else { return Ok(LODE_NOT_FOUND) };
        out.set(length);
        Ok(LODE_OK)
    })
}

/// Removes the blob with a key of `key_size` bytes. Those who are reading it read on.
///
/// Returns `LODE_NOT_FOUND` when there is no such blob; and as `lode_finish_blob`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_remove_blob(
    blobs: lode_blobs,
    key: *const c_void,
    key_size: usize,
) -> lode_status {
    guarded(|| {
        let key = bytes!(key, key_size);
        let was_there = blobs.share()?.remove(key)?;
        Ok(if was_there { LODE_OK } else { LODE_NOT_FOUND })
    })
}
