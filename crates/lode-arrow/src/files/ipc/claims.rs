//! The sizes that the compressed buffers of a batch claim to become. To decompress them takes as
//! much memory at once, and the process ends if there is less.

use arrow_ipc::{Buffer as Place, CompressionType, Message, RecordBatch, root_as_message};

use crate::error::{Error, Result};

/// The start of a message of today, before its length.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Bytes of the length of a message, and of the size that is before a compressed buffer.
const LENGTH_BYTES: usize = 4;
const SIZE_BYTES: usize = 8;

/// The size of a buffer that is not compressed after all.
const NOT_COMPRESSED: i64 = -1;

/// The largest ratio of the size of data to its compressed size. (A sequence of LZ4's block format
/// has a byte for each 255. A block of Zstandard, RFC 8878, has at most 128 KiB and at least 4
/// bytes.)
const MOST_RATIO_LZ4: u64 = 255;
const MOST_RATIO_ZSTD: u64 = (128 << 10) / 4;

/// Refuses a block whose buffers say that they become larger than they can, or than there is memory
/// for. `metadata` is the message, and `body` what it describes. Decoding finds every other
/// fault of the block.
pub(super) fn expect_possible(metadata: &[u8], body: &[u8]) -> Result<()> {
    let Some(batch) = batch_of(metadata) else { return Ok(()) };
    let most_ratio = match batch.compression().map(|compression| compression.codec()) {
        Some(CompressionType::LZ4_FRAME) => MOST_RATIO_LZ4,
        Some(CompressionType::ZSTD) => MOST_RATIO_ZSTD,
        _ => return Ok(()),
    };
    let mut all_bytes = 0usize;
    for place in batch.buffers().iter().flatten() {
        let Some((claimed, compressed)) = claim(place, body) else { continue };
        let is_possible = claimed.div_ceil(most_ratio) <= compressed;
        let sum = usize::try_from(claimed).ok().and_then(|claimed| all_bytes.checked_add(claimed));
        match sum.filter(|_| is_possible) {
            Some(sum) => all_bytes = sum,
            None => return Err(too_large(claimed)),
        }
    }
    match Vec::<u8>::new().try_reserve_exact(all_bytes) {
        Ok(()) => Ok(()),
        Err(_) => Err(too_large(all_bytes as u64)),
    }
}

/// Returns the message of a block, if it can be read.
pub(super) fn message_of(metadata: &[u8]) -> Option<Message<'_>> {
    let skipped = if metadata.starts_with(&CONTINUATION) {
        CONTINUATION.len() + LENGTH_BYTES
    } else {
        LENGTH_BYTES
    };
    root_as_message(metadata.get(skipped..)?).ok()
}

/// Returns the batch that a message describes, if it can be read.
fn batch_of(metadata: &[u8]) -> Option<RecordBatch<'_>> {
    let message = message_of(metadata)?;
    message.header_as_record_batch().or_else(|| message.header_as_dictionary_batch()?.data())
}

/// Returns the bytes that a compressed buffer claims to become, and the bytes that it has.
fn claim(place: &Place, body: &[u8]) -> Option<(u64, u64)> {
    let at = usize::try_from(place.offset()).ok()?;
    let compressed = usize::try_from(place.length()).ok()?.checked_sub(SIZE_BYTES)?;
    let size = i64::from_le_bytes(*body.get(at..)?.first_chunk()?);
    (size != NOT_COMPRESSED).then_some((size as u64, compressed as u64))
}

fn too_large(size_bytes: u64) -> Error {
    Error::Format(format!("a batch says that it has {size_bytes} bytes, decompressed").into())
}
