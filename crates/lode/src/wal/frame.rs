//! Frames: a log record with what proves that it is whole, and in its place.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | CRC-32C of what follows, which begins with the segment's salt |
//! | 4 | the CRC of the frame before; for the first one, of the segment's header |
//! | 4 | bytes of the record |
//! | 1 | its kind |
//! | 1 | whether the frame says what was synced |
//! | 2 | zeros |
//! | 16 | if so: the position up to which the log was synced |
//! | …  | the record |
//! | …  | zeros up to a multiple of eight |

use super::{LogPosition, RecordKind, SegmentNumber};

const HEADER_BYTES: usize = 16;
const NOTE_BYTES: usize = 16;
const SUM_BYTES: usize = 4;

/// The most that a frame of such a record takes up.
pub(super) fn most_bytes(bytes: usize) -> u64 {
    (HEADER_BYTES + NOTE_BYTES + bytes.next_multiple_of(8)) as u64
}

/// Makes the beginning of a frame whose record has `size` bytes in `frame`, instead of what is
/// there: all that comes before the record, without the checksum.
pub(super) fn begin(
    frame: &mut Vec<u8>,
    before: u32,
    (kind, size): (RecordKind, usize),
    synced: Option<LogPosition>,
) {
    frame.clear();
    frame.extend_from_slice(&[0; SUM_BYTES]);
    frame.extend_from_slice(&before.to_le_bytes());
    frame.extend_from_slice(&(size as u32).to_le_bytes());
    frame.extend_from_slice(&[kind as u8, u8::from(synced.is_some()), 0, 0]);
    if let Some(LogPosition { segment, at }) = synced {
        frame.extend_from_slice(&segment.get().to_le_bytes());
        frame.extend_from_slice(&at.to_le_bytes());
    }
}

/// Zeros after a record of this size.
pub(super) fn padding(size: usize) -> &'static [u8] {
    &[0; 8][..size.next_multiple_of(8) - size]
}

/// The checksum of a frame, or of the first bytes of one, whose first bytes these are.
pub(super) fn sum(salt: u32, frame: &[u8]) -> u32 {
    crc32c::crc32c_append(salt, &frame[SUM_BYTES..])
}

/// Writes the checksum into a frame.
pub(super) fn seal(frame: &mut [u8], sum: u32) {
    frame[..SUM_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// A frame that was found whole.
pub(super) struct Frame<'b> {
    pub sum: u32,
    /// The checksum that it follows.
    pub before: u32,
    pub kind: RecordKind,
    pub synced: Option<LogPosition>,
    pub body: &'b [u8],
    /// Bytes of all of it.
    pub size: usize,
}

/// Bytes of the beginning of a frame that say how long it is.
pub(super) const HEAD_BYTES: usize = HEADER_BYTES;

/// The bytes of the frame that begins so, if one can.
pub(super) fn size_of(head: &[u8]) -> Option<usize> {
    let word = |at: usize| Some(u32::from_le_bytes(*head.get(at..)?.first_chunk()?));
    let (body, [kind, noted, 0, 0]) = (word(8)? as usize, word(12)?.to_le_bytes()) else {
        return None;
    };
    RecordKind::of(kind)?;
    let from = HEADER_BYTES + usize::from(noted) * NOTE_BYTES;
    (noted <= 1).then_some((from + body).next_multiple_of(8))
}

impl<'b> Frame<'b> {
    /// The frame that begins here, if it is whole.
    pub(super) fn read(bytes: &'b [u8], salt: u32) -> Option<Self> {
        let size = size_of(bytes)?;
        let whole = bytes.get(..size)?;
        let word = |at: usize| u32::from_le_bytes(*whole[at..].first_chunk().expect("4 bytes"));
        let (sum, before) = (word(0), word(4));
        if self::sum(salt, whole) != sum {
            return None;
        }
        let long = |at: usize| u64::from_le_bytes(*whole[at..].first_chunk().expect("8 bytes"));
        let body = word(8) as usize;
        let from = HEADER_BYTES + usize::from(whole[13]) * NOTE_BYTES;
        let kind = RecordKind::of(whole[12])?;
        let synced = (whole[13] == 1)
            .then(|| LogPosition { segment: SegmentNumber::new(long(16)), at: long(24) });
        Some(Self { sum, before, kind, synced, body: &whole[from..from + body], size })
    }
}
