//! Reads a segment piece by piece. The length of a file or frame, even a false one, costs no
//! memory: a frame longer than a piece is read into memory only when its checksum fits.

use std::io::ErrorKind;

use super::frame::{self, Frame, HEAD_BYTES};
use super::front::{BLOCK_BYTES, Front};
use super::{LogPosition, SegmentNumber};
use crate::error::{Error, Result};
use crate::io::{Disk, File};

/// Bytes that are read at a time.
const PIECE_BYTES: usize = 1 << 20;

/// The longest frame that is looked for where the log should have ended.
const MOST_PROOF_BYTES: usize = 64 * 1024;

/// A segment of the log that is being read.
pub(super) struct Reader {
    pub front: Front,
    file: Box<dyn File>,
    size_bytes: u64,
    /// A part of the file, and its offset.
    piece: Vec<u8>,
    from: u64,
    /// True after a read has failed: then no block is read that is not wanted.
    is_careful: bool,
    /// The last frame, if it was longer than a piece.
    long: Vec<u8>,
}

fn failed(number: SegmentNumber) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::io(format!("read {number}"), &error)
}

impl Reader {
    /// Opens a segment whose front was read.
    pub(super) fn open(disk: &dyn Disk, number: SegmentNumber, front: Front) -> Result<Self> {
        let file = disk.open(&number.file_name()).map_err(failed(number))?;
        Self::of(file, number, front)
    }

    /// Reads the open file of a segment.
    pub(super) fn of(file: Box<dyn File>, number: SegmentNumber, front: Front) -> Result<Self> {
        let size_bytes = file.size_bytes().map_err(failed(number))?;
        let piece = Vec::new();
        let long = Vec::new();
        Ok(Self { front, file, size_bytes, piece, from: 0, is_careful: false, long })
    }

    /// Returns the number of the segment.
    pub(super) fn number(&self) -> SegmentNumber {
        self.front.header.number
    }

    /// Forgets what was read of the file, and how long it was: it may have changed.
    pub(super) fn forget(&mut self) -> Result<()> {
        self.size_bytes = self.file.size_bytes().map_err(failed(self.number()))?;
        self.piece.clear();
        self.is_careful = false;
        Ok(())
    }

    /// Returns the number of bytes that the file has lost since it was made, if any.
    pub(super) fn missing_bytes(&self) -> Option<u64> {
        self.front.header.size_bytes.checked_sub(self.size_bytes).filter(|missing| *missing > 0)
    }

    /// Returns the bytes from `at` on: `wanted` of them, at most a piece, and only existing ones.
    fn bytes(&mut self, at: u64, wanted: usize) -> Result<&[u8]> {
        let wanted = self.size_bytes.saturating_sub(at).min(wanted as u64);
        let end = self.from + self.piece.len() as u64;
        if wanted > 0 && (at < self.from || at + wanted > end) {
            self.is_careful = self.is_careful || self.read(at, PIECE_BYTES as u64).is_err();
            if self.is_careful {
                self.read(at, (at + wanted).next_multiple_of(BLOCK_BYTES) - at)?;
            }
        }
        let start = at.checked_sub(self.from).filter(|_| wanted > 0).unwrap_or(0) as usize;
        Ok(if wanted > 0 { &self.piece[start..] } else { &[] })
    }

    /// Reads the piece from `at` on: that many bytes, if the file has them.
    fn read(&mut self, at: u64, bytes: u64) -> Result<()> {
        self.from = at;
        loop {
            let bytes = bytes.min(self.size_bytes.saturating_sub(at));
            self.piece.resize(bytes as usize, 0);
            if self.piece.is_empty() {
                return Ok(());
            }
            let Err(error) = self.file.read_at(at, &mut self.piece) else { return Ok(()) };
            self.piece.clear();
            if !self.is_cut(&error)? {
                let what = format!("read {} from byte {at} on", self.number());
                return Err(Error::io(what, &error));
            }
        }
    }

    /// Returns true if a read failed since its writer has cut the file off in the meantime. Then
    /// its new length is known.
    fn is_cut(&mut self, error: &std::io::Error) -> Result<bool> {
        if error.kind() != ErrorKind::UnexpectedEof {
            return Ok(false);
        }
        let size_bytes = self.file.size_bytes().map_err(failed(self.number()))?;
        let before = std::mem::replace(&mut self.size_bytes, size_bytes);
        Ok(size_bytes < before)
    }

    /// Returns the whole frame at a place, if there is one.
    pub(super) fn frame(&mut self, at: u64) -> Result<Option<Frame<'_>>> {
        let salt = self.front.header.salt;
        let size = frame::size_of(self.bytes(at, HEAD_BYTES)?);
        let left = self.size_bytes.saturating_sub(at);
        let Some(size) = size.filter(|size| *size as u64 <= left) else { return Ok(None) };
        if size <= PIECE_BYTES {
            return Ok(Frame::read(self.bytes(at, size)?, salt));
        }
        if !self.is_whole(at, size)? {
            return Ok(None);
        }
        self.long.resize(size, 0);
        match self.file.read_at(at, &mut self.long) {
            Err(error) if self.is_cut(&error)? => Ok(None),
            read => {
                read.map_err(failed(self.number()))?;
                Ok(Frame::read(&self.long, salt))
            }
        }
    }

    /// Returns true if the checksum of a long frame fits.
    fn is_whole(&mut self, at: u64, size: usize) -> Result<bool> {
        let mut sum = self.front.header.salt;
        let mut done = 0;
        let mut wanted = 0;
        while done < size {
            let count = PIECE_BYTES.min(size - done);
            let Some(piece) = self.bytes(at + done as u64, count)?.get(..count) else {
                return Ok(false);
            };
            match done {
                0 => {
                    let (own, rest) = piece.split_first_chunk().expect("a piece is longer");
                    (wanted, sum) = (u32::from_le_bytes(*own), crc32c::crc32c_append(sum, rest));
                }
                _ => sum = crc32c::crc32c_append(sum, piece),
            }
            done += count;
        }
        Ok(sum == wanted)
    }

    /// Returns the end of the synced log, as whole frames from a place on say, wherever they are.
    pub(super) fn proven(&mut self, from: u64) -> Result<LogPosition> {
        let salt = self.front.header.salt;
        let mut newest = LogPosition::default();
        let mut at = from;
        let number = self.number();
        while let Some(data) = self.file.next_data(at).map_err(failed(number))? {
            // Frames start at multiples of eight bytes, and so do holes.
            at = at.max(data - data % 8);
            let is_last = self.size_bytes.saturating_sub(at) <= PIECE_BYTES as u64;
            let bytes = self.bytes(at, PIECE_BYTES)?;
            let mut done = 0;
            while done < bytes.len() && (is_last || done + MOST_PROOF_BYTES <= bytes.len()) {
                let rest = &bytes[done..];
                match Frame::read(&rest[..rest.len().min(MOST_PROOF_BYTES)], salt) {
                    Some(frame) => {
                        newest = newest.max(frame.synced.unwrap_or_default());
                        done += frame.size;
                    }
                    None => done += 8,
                }
            }
            if done == 0 {
                break;
            }
            at += done as u64;
        }
        Ok(newest)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::io::simulated::Simulated;
    use crate::wal::front::{self, FRAMES_AT, Found};
    use crate::wal::{FrameWriting, Log, LogSettings, Observer, RecordKind, Replayed};
    use std::sync::Arc;

    /// Writes a segment with a frame whose body has `bytes` bytes, and opens it to read.
    fn segment(disk: &Simulated, bytes: usize) -> (Log, Reader) {
        let settings = LogSettings {
            first_bytes: 1 << 23,
            most_bytes: 1 << 24,
            most_lanes: 1,
            writing: FrameWriting::Called,
            kept_mib: None,
        };
        let number = SegmentNumber::FIRST;
        let none = Replayed { next_number: number, ..Replayed::default() };
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let observer = Observer::in_memory();
        let log = Log::begin(shared, 1, 2, settings, none, Arc::default(), observer).unwrap();
        let body: [&[u8]; 1] = [&vec![7; bytes]];
        assert!(log.append_alone(RecordKind::Put, &body[..]).unwrap().is_some());
        let Found::Front(front) =
            front::read(&*disk.open(&number.file_name()).unwrap(), number).unwrap()
        else {
            panic!("it has a front")
        };
        (log, Reader::open(disk, number, front).unwrap())
    }

    #[test]
    fn a_segment_that_its_writer_cuts_off_is_read_up_to_its_new_end() {
        for bytes in [100, 3 * PIECE_BYTES] {
            let disk = Simulated::new(1);
            let (log, mut reader) = segment(&disk, bytes);
            let file = disk.open(&SegmentNumber::FIRST.file_name()).unwrap();
            let end = log.end().at;
            file.set_size(end).unwrap();
            let frame = reader.frame(FRAMES_AT).unwrap().expect("it is whole");
            assert_eq!(FRAMES_AT + frame.size as u64, end);
            assert!(reader.frame(end).unwrap().is_none(), "nothing comes after it");
            // Within a frame, as if that was taken back.
            reader.forget().unwrap();
            file.set_size(end - 8).unwrap();
            assert!(reader.frame(FRAMES_AT).unwrap().is_none(), "it is not whole");
        }
    }
}
