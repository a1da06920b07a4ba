//! Frames: a log record with the proof that it is whole, and in its place.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | CRC-32C of the bytes after it, started with the segment's salt |
//! | 4 | the CRC of the frame before; for the first one, of the segment's header |
//! | 4 | bytes of the record |
//! | 1 | its kind |
//! | 1 | 1 if the frame has a note of what was synced |
//! | 1 | the number of frames in other lanes that it names |
//! | 1 | a zero |
//! | 16 | if there is a note: the position up to which the lane was synced |
//! | 8 each | the [names](super::names) |
//! | …  | the record |
//! | …  | zeros up to a multiple of eight |

use std::convert::Infallible;

use super::names::{FrameName, MOST_LANES};
use super::{Body, LogPosition, RecordKind, SegmentNumber};

const HEADER_BYTES: usize = 16;
const NOTE_BYTES: usize = 16;
const SUM_BYTES: usize = 4;

/// Returns the most bytes that the frame of a record with `bytes` bytes takes up, in a log of this
/// many lanes.
pub(super) fn most_bytes(bytes: usize, lanes: usize) -> u64 {
    debug_assert!((1..=MOST_LANES).contains(&lanes), "a log has no {lanes} lanes");
    let names_bytes = (lanes - 1) * FrameName::BYTES;
    (HEADER_BYTES + NOTE_BYTES + names_bytes + bytes.next_multiple_of(8)) as u64
}

const _: () = assert!(
    HEADER_BYTES.is_multiple_of(8) && NOTE_BYTES.is_multiple_of(8),
    "frames start at whole words"
);

/// The part of a frame before its record. (`before` is the checksum of the frame before it.)
#[derive(Clone, Copy)]
pub(super) struct Head<'n> {
    pub before: u32,
    pub kind: RecordKind,
    /// Bytes of the record.
    pub size: usize,
    pub synced: Option<LogPosition>,
    pub names: &'n [FrameName],
}

impl Head<'_> {
    /// Returns the bytes that the head takes up.
    #[inline(always)]
    fn size_bytes(&self) -> usize {
        let note_bytes = if self.synced.is_some() { NOTE_BYTES } else { 0 };
        HEADER_BYTES + note_bytes + self.names.len() * FrameName::BYTES
    }

    /// Returns the bytes of the frame.
    #[inline(always)]
    pub(super) fn frame_bytes(&self) -> u64 {
        (self.size_bytes() + self.size.next_multiple_of(8)) as u64
    }

    /// Returns the header, with zeros for the checksum of the frame.
    #[inline(always)]
    fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[4..8].copy_from_slice(&self.before.to_le_bytes());
        header[8..12].copy_from_slice(&(self.size as u32).to_le_bytes());
        header[12] = self.kind as u8;
        header[13] = u8::from(self.synced.is_some());
        header[14] = self.names.len() as u8;
        header
    }

    /// Returns the bytes of the note after the header, if it has one.
    fn note(&self) -> Option<[u8; NOTE_BYTES]> {
        let LogPosition { segment, at } = self.synced?;
        let mut note = [0; NOTE_BYTES];
        note[..8].copy_from_slice(&segment.get().to_le_bytes());
        note[8..].copy_from_slice(&at.to_le_bytes());
        Some(note)
    }

    /// Starts a frame in `frame`, in place of its content: all that comes before the record,
    /// without the checksum.
    pub(super) fn begin(&self, frame: &mut Vec<u8>) {
        frame.clear();
        frame.extend_from_slice(&self.header());
        self.note().iter().for_each(|note| frame.extend_from_slice(note));
        self.names.iter().for_each(|name| frame.extend_from_slice(&name.to_bytes()));
        debug_assert_eq!(frame.len(), self.size_bytes(), "a record comes after its head");
    }
}

/// The most bytes of a record whose frame is made without a call for each part of it.
const MOST_SHORT_BYTES: usize = 220;

/// The most names in such a frame.
pub(super) const MOST_SHORT_NAMES: usize = 2;

/// The offset of the record in a short frame: the part that its checksum covers is at whole words,
/// with a note and names, and without.
const SHORT_RECORD_AT: usize = 4 + HEADER_BYTES + NOTE_BYTES + MOST_SHORT_NAMES * FrameName::BYTES;

/// The frame of a short record, which is made before the log is locked.
pub(super) struct Short {
    bytes: Words<{ (SHORT_RECORD_AT + MOST_SHORT_BYTES).next_multiple_of(8) + 8 }>,
    /// The end of the frame.
    end: usize,
}

#[repr(align(8))]
struct Words<const BYTES: usize>([u8; BYTES]);

impl Short {
    /// Creates a frame that is to be [filled](Self::fill).
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self { bytes: Words([0; _]), end: 0 }
    }

    /// Takes a record whose body has this size, if it is short; returns true if it is.
    #[inline(always)]
    pub(super) fn fill(&mut self, body: &(impl Body + ?Sized), size: usize) -> bool {
        if size > MOST_SHORT_BYTES {
            return false;
        }
        self.end = SHORT_RECORD_AT + size.next_multiple_of(8);
        let mut at = SHORT_RECORD_AT;
        let Ok(()) = body.each_part(&mut |part| {
            copy_few(part, &mut self.bytes.0[at..at + part.len()]);
            at += part.len();
            Ok::<_, Infallible>(())
        });
        debug_assert_eq!(at, SHORT_RECORD_AT + size, "a body has as many bytes as it says");
        true
    }

    /// Returns the whole frame, and its checksum.
    #[inline(always)]
    pub(super) fn finish(&mut self, head: &Head<'_>, salt: u32) -> (&[u8], u32) {
        debug_assert!(head.names.len() <= MOST_SHORT_NAMES, "a short frame has few names");
        debug_assert_eq!(
            self.end,
            SHORT_RECORD_AT + head.size.next_multiple_of(8),
            "the frame is filled with the record of its head"
        );
        let from = SHORT_RECORD_AT - head.size_bytes();
        if let Some(note) = head.note() {
            self.bytes.0[from + HEADER_BYTES..][..NOTE_BYTES].copy_from_slice(&note);
        }
        for (name, before) in head.names.iter().rev().zip(1..) {
            let at = SHORT_RECORD_AT - before * FrameName::BYTES;
            self.bytes.0[at..at + FrameName::BYTES].copy_from_slice(&name.to_bytes());
        }
        self.bytes.0[from..][..HEADER_BYTES].copy_from_slice(&head.header());
        let frame = &mut self.bytes.0[from..self.end];
        let sum = sum(salt, frame);
        seal(frame, sum);
        (frame, sum)
    }
}

/// Copies bytes, few of them without a call: in two parts that overlap where they have to.
#[inline(always)]
fn copy_few(from: &[u8], to: &mut [u8]) {
    #[inline(always)]
    fn ends<const SIZE: usize>(from: &[u8], to: &mut [u8]) {
        let ends = (from.first_chunk::<SIZE>(), from.last_chunk::<SIZE>());
        if let (Some(first), Some(last)) = ends {
            to[..SIZE].copy_from_slice(first);
            to[from.len() - SIZE..].copy_from_slice(last);
        }
    }
    match from.len() {
        0 => {}
        4..8 => ends::<4>(from, to),
        8..16 => ends::<8>(from, to),
        16..=32 => ends::<16>(from, to),
        _ => to.copy_from_slice(from),
    }
}

/// Returns the zeros after a record of this size.
pub(super) fn padding(size: usize) -> &'static [u8] {
    &[0; 8][..size.next_multiple_of(8) - size]
}

/// Returns the checksum of a frame, or of the first bytes of one, which starts with these bytes.
pub(super) fn sum(salt: u32, frame: &[u8]) -> u32 {
    crc32c::crc32c_append(salt, &frame[SUM_BYTES..])
}

/// Writes the checksum into a frame.
pub(super) fn seal(frame: &mut [u8], sum: u32) {
    debug_assert_eq!(frame[..SUM_BYTES], [0; SUM_BYTES], "a frame is sealed once");
    frame[..SUM_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// A frame that was found whole.
pub(super) struct Frame<'b> {
    pub sum: u32,
    /// The checksum of the frame before.
    pub before: u32,
    pub kind: RecordKind,
    pub synced: Option<LogPosition>,
    /// The names, one after another.
    names: &'b [u8],
    pub body: &'b [u8],
    /// Bytes of the whole frame.
    pub size: usize,
}

/// Bytes of the start of a frame that determine its length.
pub(super) const HEAD_BYTES: usize = HEADER_BYTES;

/// Returns the bytes of the frame that starts with this head, if one can.
pub(super) fn size_of(head: &[u8]) -> Option<usize> {
    let word = |at: usize| Some(u32::from_le_bytes(*head.get(at..)?.first_chunk()?));
    let (body, [kind, noted, names, 0]) = (word(8)? as usize, word(12)?.to_le_bytes()) else {
        return None;
    };
    RecordKind::of(kind)?;
    let is_one = noted <= 1 && usize::from(names) < MOST_LANES;
    is_one.then(|| (record_at(noted, names) + body).next_multiple_of(8))
}

/// Returns the offset of the record in a frame with that many notes and names.
fn record_at(notes: u8, names: u8) -> usize {
    HEADER_BYTES + usize::from(notes) * NOTE_BYTES + usize::from(names) * FrameName::BYTES
}

impl<'b> Frame<'b> {
    /// Returns the frames of other lanes that it names.
    pub(super) fn names(&self) -> impl Iterator<Item = FrameName> {
        self.names.as_chunks().0.iter().map(|name| FrameName::read(*name))
    }

    /// Reads the frame at the start of `bytes`, if it is whole.
    pub(super) fn read(bytes: &'b [u8], salt: u32) -> Option<Self> {
        let size = size_of(bytes)?;
        let whole = bytes.get(..size)?;
        let word = |at: usize| u32::from_le_bytes(*whole[at..].first_chunk().expect("4 bytes"));
        let sum = word(0);
        let before = word(4);
        if self::sum(salt, whole) != sum {
            return None;
        }
        let long = |at: usize| u64::from_le_bytes(*whole[at..].first_chunk().expect("8 bytes"));
        let body = word(8) as usize;
        let names_at = record_at(whole[13], 0);
        let from = record_at(whole[13], whole[14]);
        let kind = RecordKind::of(whole[12])?;
        let synced = (whole[13] == 1)
            .then(|| LogPosition { segment: SegmentNumber::new(long(16)), at: long(24) });
        let names = &whole[names_at..from];
        Some(Self { sum, before, kind, synced, names, body: &whole[from..from + body], size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The file has the same bytes, however they are made.
        #[test]
        fn a_short_frame_is_the_frame_of_its_record(
            parts in proptest::collection::vec(
                proptest::collection::vec(any::<u8>(), 0..80), 0..4,
            ),
            (before, salt) in any::<(u32, u32)>(),
            synced in proptest::option::of((1u64..9, 0u64..1 << 40)),
            names in proptest::collection::vec((1u64..1 << 50, 0..MOST_LANES), 0..MOST_LANES),
        ) {
            let parts: Vec<_> = parts.iter().map(|part| &part[..]).collect();
            let record = parts.concat();
            let synced = synced
                .map(|(segment, at)| LogPosition { segment: SegmentNumber::new(segment), at });
            let names: Vec<_> =
                names.iter().map(|(order, lane)| FrameName::new(*order, *lane)).collect();
            let kind = RecordKind::Patch;
            let head = Head { before, kind, size: record.len(), synced, names: &names };
            let mut frame = Vec::new();
            head.begin(&mut frame);
            frame.extend_from_slice(&record);
            frame.extend_from_slice(padding(record.len()));
            let wanted = sum(salt, &frame);
            seal(&mut frame, wanted);
            prop_assert_eq!(frame.len() as u64, head.frame_bytes());
            let read = Frame::read(&frame, salt).expect("it is whole");
            prop_assert_eq!((read.sum, read.before, read.kind), (wanted, before, head.kind));
            prop_assert_eq!((read.synced, read.body), (synced, &record[..]));
            prop_assert_eq!(read.names().collect::<Vec<_>>(), &names[..]);

            let mut short = Short::new();
            let is_short = short.fill(&parts[..], record.len());
            prop_assert_eq!(is_short, record.len() <= MOST_SHORT_BYTES);
            if is_short && names.len() <= MOST_SHORT_NAMES {
                prop_assert_eq!(short.finish(&head, salt), (&frame[..], wanted));
            }
        }
    }
}
