//! Writing blobs.

use std::ffi::c_void;
use std::io::Write;

use crate::argument::{bytes, optional_out, out};
use crate::failure::{Failure, guarded};
use crate::objects::{lode_blob_writer, lode_blobs};
use crate::status::lode_status::{self, LODE_OK};

/// Writes a blob of `size` bytes at once, in the place of one with its key of `key_size` bytes. As
/// `lode_finish_blob` otherwise; `LODE_KEY_TOO_LONG`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_put_blob(
    blobs: lode_blobs,
    key: *const c_void,
    key_size: usize,
    data: *const c_void,
    size: usize,
) -> lode_status {
    guarded(|| {
        let (key, data) = (bytes!(key, key_size), bytes!(data, size));
        blobs.share()?.put(key, data)?;
        Ok(LODE_OK)
    })
}

/// Starts to write a blob with a key of `key_size` bytes. The writer is written to `writer`, and
/// ends with `lode_finish_blob` or `lode_free_blob_writer`.
///
/// Nobody sees anything of the blob before `lode_finish_blob`. Of several writers of one key, the
/// last one to finish counts. A writer holds 64 KiB in memory, besides the memory budget.
///
/// Returns `LODE_KEY_TOO_LONG`, `LODE_READ_ONLY`, `LODE_CLOSED`, `LODE_NO_TABLE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_blob_writer(
    blobs: lode_blobs,
    key: *const c_void,
    key_size: usize,
    writer: *mut lode_blob_writer,
) -> lode_status {
    guarded(|| {
        let (out, key) = (out!(writer), bytes!(key, key_size));
        out.set(lode_blob_writer::new(blobs.share()?.write(key)?)?);
        Ok(LODE_OK)
    })
}

/// Adds `size` bytes to the end of a blob that is being written. Writes the number of bytes that
/// were taken to `taken`, which may be null. They are fewer than `size` after a failure only; the
/// others may be passed again.
///
/// Returns `LODE_BLOB_TOO_LONG` for more than 4 GiB in all; `LODE_NO_TABLE` when the store was
/// dropped; `LODE_FULL`, `LODE_DISK_FULL`, `LODE_CLOSED`, `LODE_POISONED`, `LODE_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_write_blob(
    writer: lode_blob_writer,
    data: *const c_void,
    size: usize,
    taken: *mut usize,
) -> lode_status {
    guarded(|| {
        let (out, data) = (optional_out!(taken), bytes!(data, size));
        let mut writer = writer.lock()?;
        let mut count = 0;
        out.set(count);
        while count < data.len() {
            count += writer.write(&data[count..]).map_err(Failure::of_stream)?;
            out.set(count);
        }
        Ok(LODE_OK)
    })
}

/// Puts a blob that was written in the place of the one before with its key, in one commit, and
/// frees the writer, whatever it returns but `LODE_BUSY`. When this returns, the blob is as durable
/// as commits are.
///
/// Returns `LODE_BLOB_TOO_LONG` when more than 4 GiB were to be written; and as `lode_commit`. The
/// blob before stays then, unless `lode_error_effect` says otherwise.
#[unsafe(no_mangle)]
pub extern "C" fn lode_finish_blob(writer: lode_blob_writer) -> lode_status {
    guarded(|| {
        writer.take()?.finish()?;
        Ok(LODE_OK)
    })
}

/// Frees a writer that was not finished. The key has the blob that it had before.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_blob_writer(writer: lode_blob_writer) -> lode_status {
    guarded(|| writer.take().map(|_| LODE_OK))
}
