//! The tail of the log: it appends frames.

use std::convert::Infallible;

use super::frame::{self, Head, Short};
use super::front::FRAMES_AT;
use super::names::{FrameName, MOST_LANES, Names};
use super::segment::Segment;
use super::{Body, LogPosition, Place};
use crate::error::Result;

/// The least bytes of a record that is not copied into one frame, but written in pieces.
pub(super) const LEAST_LONG_BYTES: usize = 1 << 13;

/// Bytes that are written at a time of such a record.
const PIECE_BYTES: usize = 1 << 18;

/// The segment and the position at which frames are appended.
pub(super) struct Tail {
    pub(super) segment: Segment,
    pub(super) at: u64,
    pub(super) chain: u32,
    /// The offset at which the next segment is to be made, when a frame ends there or later; set to
    /// the highest number once that was asked for.
    pub(super) ask_at: u64,
    /// True if the last record was of those that need no memory ahead.
    pub(super) is_bulk: bool,
    /// The end of the synced log, as frames note it.
    pub(super) noted: LogPosition,
    /// The frame that is being made.
    pub(super) frame: Vec<u8>,
    /// The order of the last frame of each lane that a frame here has named.
    pub(super) named: [u64; MOST_LANES],
    /// The threads of this segment that had to wait for another one.
    pub(super) waited: u32,
}

impl Tail {
    /// Creates the tail of a lane that continues at the start of a segment.
    pub(super) fn new(segment: Segment, chain: u32) -> Self {
        Self {
            ask_at: half_of(&segment),
            noted: LogPosition { segment: segment.number, at: FRAMES_AT },
            segment,
            at: FRAMES_AT,
            chain,
            is_bulk: false,
            frame: Vec::new(),
            named: [0; MOST_LANES],
            waited: 0,
        }
    }

    /// Adds a frame of another lane to the names of the next frame, unless an earlier frame names
    /// it, or one after it.
    pub(super) fn name(&self, names: &mut Names, name: FrameName) {
        if self.named[name.lane()] < name.order() {
            names.add(name);
        }
    }

    /// Notes that a frame was written with these names.
    pub(super) fn note_names(&mut self, names: &[FrameName]) {
        for name in names {
            debug_assert!(self.named[name.lane()] < name.order(), "it is named once");
            self.named[name.lane()] = name.order();
        }
    }

    pub(super) fn place(&self) -> Place {
        Place {
            position: LogPosition { segment: self.segment.number, at: self.at },
            chain: self.chain,
        }
    }

    /// Writes the frame of a short record; returns its checksum.
    #[inline(always)]
    pub(super) fn write_short(&mut self, head: &Head<'_>, short: &mut Short) -> Result<u32> {
        let (frame, sum) = short.finish(head, self.segment.salt);
        let size = frame.len() as u64;
        debug_assert_eq!(size, head.frame_bytes(), "a frame has as many bytes as its head says");
        self.segment.write(self.at, frame)?;
        Ok(sum)
    }

    /// Writes the frame of a record; returns its checksum.
    pub(super) fn write(&mut self, head: &Head<'_>, body: &(impl Body + ?Sized)) -> Result<u32> {
        head.begin(&mut self.frame);
        let Ok(()) = body.each_part(&mut |part| {
            self.frame.extend_from_slice(part);
            Ok::<_, Infallible>(())
        });
        self.frame.extend_from_slice(frame::padding(head.size));
        let size = self.frame.len() as u64;
        debug_assert_eq!(size, head.frame_bytes(), "a frame has as many bytes as its head says");
        let sum = frame::sum(self.segment.salt, &self.frame);
        frame::seal(&mut self.frame, sum);
        self.segment.write(self.at, &self.frame)?;
        Ok(sum)
    }

    /// Writes a frame piece by piece, so that a long record is not copied again. Its start comes
    /// last.
    pub(super) fn write_long(
        &mut self,
        head: &Head<'_>,
        body: &(impl Body + ?Sized),
    ) -> Result<u32> {
        head.begin(&mut self.frame);
        let size = head.size;
        let padding = frame::padding(head.size);
        let mut sum = frame::sum(self.segment.salt, &self.frame);
        let mut at = self.at + self.frame.len() as u64;
        let mut piece = Vec::with_capacity(PIECE_BYTES.min(size + padding.len()));
        let mut flush = |piece: &mut Vec<u8>| {
            sum = crc32c::crc32c_append(sum, piece);
            self.segment.write_by_call(at, piece)?;
            at += piece.len() as u64;
            piece.clear();
            Ok(())
        };
        let mut add = |part: &[u8]| -> Result<()> {
            let mut rest = part;
            while !rest.is_empty() {
                let (front, after) = rest.split_at(rest.len().min(PIECE_BYTES - piece.len()));
                piece.extend_from_slice(front);
                rest = after;
                if piece.len() == PIECE_BYTES {
                    flush(&mut piece)?;
                }
            }
            Ok(())
        };
        body.each_part(&mut add)?;
        add(padding)?;
        flush(&mut piece)?;
        let end = self.at + head.frame_bytes();
        debug_assert_eq!(at, end, "a frame has as many bytes as its head says");
        frame::seal(&mut self.frame, sum);
        self.segment.write(self.at, &self.frame)?;
        Ok(sum)
    }
}

/// Returns the offset at which half of a segment is full.
pub(super) fn half_of(segment: &Segment) -> u64 {
    segment.size_bytes / 2
}
