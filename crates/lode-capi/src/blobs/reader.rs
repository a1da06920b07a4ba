//! Reading blobs.

use std::ffi::c_void;
use std::io::{Read, Seek, SeekFrom};

use lode::BlobReader;

use crate::argument::{Room, bytes, optional_out, out, room};
use crate::failure::{Failure, Result, guarded};
use crate::objects::{lode_blob_reader, lode_blobs};
use crate::status::lode_status::{self, LODE_END, LODE_NOT_FOUND, LODE_OK};

/// Reads the bytes from the reader's position on, until the room is full or the blob ends. Returns
/// their number. After a failure, the position is what it was.
fn fill(reader: &mut BlobReader, room: &Room<u8>) -> Result<usize> {
    // SAFETY: the room is that of this call alone, and overlaps nothing that is read.
    let buffer = unsafe { room.part(0, room.count()) };
    let start = reader.stream_position().map_err(Failure::of_stream)?;
    let mut count = 0;
    while count < buffer.len() {
        match reader.read(&mut buffer[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) => {
                reader.seek(SeekFrom::Start(start)).map_err(Failure::of_stream)?;
                return Err(Failure::of_stream(error));
            }
        }
    }
    Ok(count)
}

/// Reads a part of the blob with a key of `key_size` bytes: those from the offset `from` on, as far
/// as there are any and `buffer` has room, which is for `capacity` bytes. Writes the number of
/// bytes that were read to `size`, and those of the whole blob to `length_bytes`, which may be
/// null.
///
/// Returns `LODE_NOT_FOUND` when there is no such blob, with 0 in `size`; and as
/// `lode_blob_length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_get_blob(
    blobs: lode_blobs,
    key: *const c_void,
    key_size: usize,
    from: u64,
    buffer: *mut c_void,
    capacity: usize,
    size: *mut usize,
    length_bytes: *mut u64,
) -> lode_status {
    guarded(|| {
        let (room, size): (Room<u8>, _) = (room!(buffer, capacity), out!(size));
        let (length, key) = (optional_out!(length_bytes), bytes!(key, key_size));
        room.expect_apart(key, "buffer")?;
        size.set(0);
        let Some(mut reader) = blobs.share()?.read(key)? else { return Ok(LODE_NOT_FOUND) };
        reader.seek(SeekFrom::Start(from)).map_err(Failure::of_stream)?;
        size.set(fill(&mut reader, &room)?);
        length.set(reader.length_bytes());
        Ok(LODE_OK)
    })
}

/// Opens a reader of the blob with a key of `key_size` bytes, at its first byte. It is written to
/// `reader`, and freed with `lode_free_blob_reader`.
///
/// It reads the blob that was found, also when that is replaced or removed later; the space of that
/// is free for others when its last reader is freed. A reader holds 64 KiB in memory, besides the
/// memory budget.
///
/// Returns `LODE_NOT_FOUND`; and as `lode_blob_length`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_blob_reader(
    blobs: lode_blobs,
    key: *const c_void,
    key_size: usize,
    reader: *mut lode_blob_reader,
) -> lode_status {
    guarded(|| {
        let (out, key) = (out!(reader), bytes!(key, key_size));
        let Some(opened) = blobs.share()?.read(key)? else { return Ok(LODE_NOT_FOUND) };
        out.set(lode_blob_reader::new(opened)?);
        Ok(LODE_OK)
    })
}

/// Reads the next bytes of a blob to `buffer`, which has room for `capacity` bytes, and writes
/// their number to `size`. They are fewer than `capacity` at the end of the blob only.
///
/// Returns `LODE_END` after the last byte, with 0 in `size`; `LODE_NO_TABLE` when the store was
/// dropped; `LODE_MOMENT_EXPIRED`, `LODE_CLOSED`, `LODE_CORRUPT`, `LODE_IO`: nothing was read then,
/// and the next call tries again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_read_blob(
    reader: lode_blob_reader,
    buffer: *mut c_void,
    capacity: usize,
    size: *mut usize,
) -> lode_status {
    guarded(|| {
        let (room, size): (Room<u8>, _) = (room!(buffer, capacity), out!(size));
        size.set(0);
        let mut reader = reader.lock()?;
        let position = reader.stream_position().map_err(Failure::of_stream)?;
        if position >= reader.length_bytes() {
            return Ok(LODE_END);
        }
        size.set(fill(&mut reader, &room)?);
        Ok(LODE_OK)
    })
}

/// Sets the offset from which a reader reads next. It may be after the end of the blob.
#[unsafe(no_mangle)]
pub extern "C" fn lode_seek_blob(reader: lode_blob_reader, offset: u64) -> lode_status {
    guarded(|| {
        reader.lock()?.seek(SeekFrom::Start(offset)).map_err(Failure::of_stream)?;
        Ok(LODE_OK)
    })
}

/// Writes the number of bytes of the blob that a reader reads to `length_bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_blob_reader_length(
    reader: lode_blob_reader,
    length_bytes: *mut u64,
) -> lode_status {
    guarded(|| {
        let out = out!(length_bytes);
        out.set(reader.lock()?.length_bytes());
        Ok(LODE_OK)
    })
}

/// Frees a reader.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_blob_reader(reader: lode_blob_reader) -> lode_status {
    guarded(|| reader.take().map(|_| LODE_OK))
}
