//! The front of a segment, before its frames: its header, twice, and its proof.
//!
//! A disk may lose a block of 4 KiB with all its content. So the copies of the header are in
//! separate blocks. The *proof* says up to where the log was synced: if a block of frames is lost,
//! nothing else may say that they were there.

use super::{LogPosition, MOST_LANES, Place, SegmentNumber};
use crate::codec::{Reader, Writer};
use crate::error::{Error, Result};
use crate::io::File;

const MAGIC: &[u8; 8] = b"LodeLog\0";
const FORMAT: u32 = 1;

/// Bytes that a disk loses at once: a block.
pub(super) const BLOCK_BYTES: u64 = 1 << 12;

/// The offsets of the copies of the header.
const HEADERS_AT: [u64; 2] = [0, BLOCK_BYTES];

/// The offset of the proof: in a separate sector, so that writing it loses no header.
pub(super) const PROOF_AT: u64 = 512;

/// The offset of the first frame.
pub(super) const FRAMES_AT: u64 = 2 * BLOCK_BYTES;

/// Bits of the number of a lane; those after it are how much is kept.
const LANE_BITS: u32 = 8;

const HEADER_BYTES: usize = 84;
const POSITION_BYTES: usize = 16;
const SUM_BYTES: usize = 4;

const _: () = assert!(HEADER_BYTES as u64 <= PROOF_AT, "a proof does not touch a header");
const _: () = assert!(
    PROOF_AT as usize + POSITION_BYTES + SUM_BYTES <= BLOCK_BYTES as usize
        && HEADERS_AT[1] + HEADER_BYTES as u64 <= FRAMES_AT,
    "no block has both headers, or a header and frames"
);

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub database: u64,
    pub number: SegmentNumber,
    /// The salt of the checksums of its frames.
    pub salt: u32,
    /// The end of the log before it.
    pub after: Place,
    /// The end of the synced log when the segment was started.
    pub synced: LogPosition,
    /// Bytes of the file from then on.
    pub size_bytes: u64,
    /// The number of the segment's lane.
    pub lane: usize,
    /// The MiB of earlier segments that are kept for readers of changes; 0 if changes are not kept.
    /// Otherwise the records of the segment say what was before them.
    pub kept_mib: u32,
}

/// The result of reading a copy of a header.
enum Copy {
    Whole(Header, u32),
    /// The start of a header of this format.
    OfFormat(u32),
    Nothing,
}

impl Header {
    /// Returns the bytes, and their checksum, which the first frame follows.
    fn to_bytes(self) -> (Vec<u8>, u32) {
        let mut writer = Writer::default();
        writer.bytes(MAGIC).u32(FORMAT).u64(self.database).u64(self.number.get()).u32(self.salt);
        write_position(&mut writer, self.after.position);
        writer.u32(self.after.chain);
        write_position(&mut writer, self.synced);
        writer.u64(self.size_bytes).u32(self.lane as u32 | self.kept_mib << LANE_BITS);
        debug_assert_eq!(writer.0.len(), HEADER_BYTES - SUM_BYTES, "a header has room for all");
        let sum = crc32c::crc32c(&writer.0);
        writer.u32(sum);
        (writer.0, sum)
    }

    /// Returns the parts to be written to a file, each with its offset, and the checksum.
    pub(super) fn copies(self) -> ([(u64, Vec<u8>); 2], u32) {
        let (bytes, sum) = self.to_bytes();
        (HEADERS_AT.map(|at| (at, bytes.clone())), sum)
    }

    fn read(copy: &[u8]) -> Result<Copy> {
        let Some((bytes, _)) = copy.split_at_checked(HEADER_BYTES) else {
            return Ok(Copy::Nothing);
        };
        if !bytes.starts_with(MAGIC) {
            return Ok(Copy::Nothing);
        }
        let (front, sum) = bytes.split_at(HEADER_BYTES - SUM_BYTES);
        let mut reader = Reader::new(&front[MAGIC.len()..], "the header of a log segment");
        let format = reader.u32()?;
        let own = crc32c::crc32c(front);
        if format == 0 {
            // No format has this number, but a header that was not written to its end has.
            return Ok(Copy::Nothing);
        }
        // The position of the checksum in another format is not known.
        if format != FORMAT || sum != own.to_le_bytes() {
            return Ok(Copy::OfFormat(format));
        }
        let database = reader.u64()?;
        let number = SegmentNumber::new(reader.u64()?);
        let salt = reader.u32()?;
        let after = Place { position: read_position(&mut reader)?, chain: reader.u32()? };
        let synced = read_position(&mut reader)?;
        let size_bytes = reader.u64()?;
        let last = reader.u32()?;
        let (lane, kept_mib) = ((last & ((1 << LANE_BITS) - 1)) as usize, last >> LANE_BITS);
        if lane >= MOST_LANES {
            return Err(Error::corrupt(number.to_string(), "no log has its lane"));
        }
        let header = Self { database, number, salt, after, synced, size_bytes, lane, kept_mib };
        Ok(Copy::Whole(header, own))
    }
}

fn write_position(writer: &mut Writer, LogPosition { segment, at }: LogPosition) {
    writer.u64(segment.get()).u64(at);
}

fn read_position(reader: &mut Reader<'_>) -> Result<LogPosition> {
    Ok(LogPosition { segment: SegmentNumber::new(reader.u64()?), at: reader.u64()? })
}

/// Returns the bytes of a proof, for a segment with a salt.
pub(super) fn proof(salt: u32, synced: LogPosition) -> Vec<u8> {
    let mut writer = Writer::default();
    write_position(&mut writer, synced);
    debug_assert_eq!(writer.0.len(), POSITION_BYTES, "a proof is a position");
    let sum = crc32c::crc32c_append(salt, &writer.0);
    writer.u32(sum);
    writer.0
}

/// Reads a proof, if it is whole and of a segment with this salt.
fn read_proof(bytes: &[u8], salt: u32) -> Option<LogPosition> {
    let (position, rest) = bytes.split_at_checked(POSITION_BYTES)?;
    let sum = crc32c::crc32c_append(salt, position).to_le_bytes();
    let mut reader = Reader::new(position, "the proof of a log segment");
    rest.starts_with(&sum).then(|| read_position(&mut reader).ok())?
}

/// The front of a segment that was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Front {
    pub header: Header,
    /// The checksum of the header.
    pub sum: u32,
    /// The end of the synced log, as the header and the proof say.
    pub synced: LogPosition,
}

/// The result of reading the front of a file.
pub(super) enum Found {
    Front(Front),
    /// Zeros, or nothing: no header was written, or the first one was not written to its end.
    Blank,
    /// No header of a segment, and not zeros.
    Unknown,
}

/// Returns true if a file that is long enough to be a segment has only zeros except in the first
/// copy of the header: the second copy is written after the first, and the proof after both.
fn is_begun(bytes: &[u8]) -> bool {
    bytes.len() as u64 == FRAMES_AT && bytes[HEADER_BYTES..].iter().all(|byte| *byte == 0)
}

/// Reads the front of a file with the name of a segment. A disk may be unable to read one of its
/// blocks; that counts as lost.
///
/// # Errors
/// `Version` if it is of another format; `Io` if no copy of the header can be read.
pub(super) fn read(file: &dyn File, number: SegmentNumber) -> Result<Found> {
    let failed = |error| Error::io(format!("read {number}"), &error);
    let size = file.size_bytes().map_err(failed)?.min(FRAMES_AT);
    let mut bytes = vec![0; size as usize];
    let mut unreadable = None;
    for (block, at) in bytes.chunks_mut(BLOCK_BYTES as usize).zip(HEADERS_AT) {
        if let Err(error) = file.read_at(at, block) {
            block.fill(0);
            unreadable = Some(error);
        }
    }
    let part = |at: u64| bytes.get(at as usize..).unwrap_or_default();
    let mut whole = None;
    let mut other_format = None;
    for at in HEADERS_AT {
        match Header::read(part(at))? {
            // If the file has another name now, the copy that was written for this name.
            Copy::Whole(header, sum) if whole.is_none() || header.number == number => {
                whole = Some((header, sum));
            }
            Copy::OfFormat(format) if format != FORMAT => other_format = Some(format),
            Copy::Whole(..) | Copy::OfFormat(_) | Copy::Nothing => {}
        }
    }
    if let (None, Some(error)) = (whole, unreadable) {
        return Err(failed(error));
    }
    Ok(match (whole, other_format) {
        (Some((header, sum)), _) => {
            let proven = read_proof(part(PROOF_AT), header.salt).unwrap_or_default();
            Found::Front(Front { header, sum, synced: header.synced.max(proven) })
        }
        (None, Some(found)) => return Err(Error::Version { found, known: FORMAT }),
        (None, None) if bytes.iter().all(|byte| *byte == 0) => Found::Blank,
        // A process may have ended while it wrote to a file that it had made and mapped.
        (None, None) if is_begun(&bytes) => Found::Blank,
        (None, None) => Found::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Disk;
    use crate::io::simulated::Simulated;

    const NUMBER: SegmentNumber = SegmentNumber::FIRST;

    fn found(bytes: Vec<u8>) -> Found {
        let disk = Simulated::new(0);
        disk.put_file(&NUMBER.file_name(), bytes);
        let file = disk.open(&NUMBER.file_name()).expect("it is there");
        read(&*file, NUMBER).expect("a disk that reads")
    }

    /// A process may be killed while it copies a header to a mapped file, in any order of bytes.
    #[test]
    fn a_header_that_was_not_written_to_its_end_is_blank() {
        let header = Header {
            database: 7,
            number: NUMBER,
            salt: 1,
            after: Place::default(),
            synced: LogPosition::default(),
            size_bytes: 1 << 20,
            lane: 3,
            kept_mib: 0,
        };
        let ([(_, copy), _], _) = header.copies();
        for at in 1..HEADER_BYTES {
            for part in [0..at, at..HEADER_BYTES] {
                let mut bytes = vec![0; 1 << 15];
                bytes[part.clone()].copy_from_slice(&copy[part.clone()]);
                assert!(matches!(found(bytes.clone()), Found::Blank), "{part:?}");
                bytes[FRAMES_AT as usize - 1] = 1;
                assert!(matches!(found(bytes), Found::Unknown), "{part:?}: something follows");
            }
        }
        let mut bytes = copy.clone();
        bytes.resize(1 << 15, 0);
        assert!(matches!(found(bytes), Found::Front(_)), "one copy is enough");
        assert!(matches!(found(b"a note".to_vec()), Found::Unknown), "no segment is so short");
    }
}
