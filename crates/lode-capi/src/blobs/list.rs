//! Lists of the blobs of a store.

use std::ffi::c_void;

use crate::argument::{address, bytes, optional_out, out};
use crate::failure::guarded;
use crate::objects::{OpenBlobList, lode_blob_list, lode_blobs};
use crate::status::lode_status::{self, LODE_END, LODE_OK};

/// Opens a list of the blobs whose keys start with `prefix`, which has `prefix_size` bytes, in the
/// order of their keys. Null and 0 are all blobs. It is written to `list`, and freed with
/// `lode_free_blob_list`. It shows the store as it was when it was opened.
///
/// A failure such as `LODE_CLOSED` comes in the place of the first key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_blob_list(
    blobs: lode_blobs,
    prefix: *const c_void,
    prefix_size: usize,
    list: *mut lode_blob_list,
) -> lode_status {
    guarded(|| {
        let (out, prefix) = (out!(list), bytes!(prefix, prefix_size));
        let blobs = blobs.share()?.prefix(prefix);
        out.set(lode_blob_list::new(OpenBlobList { blobs, last: Vec::new() })?);
        Ok(LODE_OK)
    })
}

/// Reads the next key of a list. Writes a pointer to it to `key`, its bytes to `key_size`, and
/// those of its blob to `length_bytes`, which may be null. The key is memory of the list, and stays
/// until the next call with it.
///
/// Returns `LODE_END` after the last; `LODE_NO_TABLE` when the store was dropped;
/// `LODE_SNAPSHOT_TOO_OLD`, `LODE_CLOSED`, `LODE_CORRUPT`, `LODE_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_next_blob(
    list: lode_blob_list,
    key: *mut *const c_void,
    key_size: *mut usize,
    length_bytes: *mut u64,
) -> lode_status {
    guarded(|| {
        let (out, size, length) = (out!(key), out!(key_size), optional_out!(length_bytes));
        let mut open = list.lock()?;
        let Some(next) = open.blobs.next() else { return Ok(LODE_END) };
        let next = next?;
        length.set(next.length_bytes);
        open.last = next.key;
        out.set(address(&open.last));
        size.set(open.last.len());
        Ok(LODE_OK)
    })
}

/// Frees a list of blobs.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_blob_list(list: lode_blob_list) -> lode_status {
    guarded(|| list.take().map(|_| LODE_OK))
}
