//! The turn of segments: those before the tail's, the files that are kept for new ones, and what
//! the next one begins with.

use super::segment::{Header, Segment};
use super::{FrameWriting, LogPosition, Place, SegmentNumber};
use crate::error::{Error, Result};
use crate::io::Disk;

/// The segments before the tail's.
pub(super) struct Turn {
    /// Those that recovery would need: numbers and lengths.
    pub(super) old: Vec<(SegmentNumber, u64, Option<Segment>)>,
    pub(super) spares: Vec<(SegmentNumber, Segment)>,
    pub(super) next_number: SegmentNumber,
    pub(super) random: u64,
    pub(super) writing: FrameWriting,
}

impl Turn {
    /// A number for a segment. If that cannot be made, the next one has another number: there may
    /// be a file of this one's name.
    pub(super) fn take_number(&mut self) -> SegmentNumber {
        let number = self.next_number;
        self.next_number = number.next();
        number
    }

    /// Whether a file is kept that is large enough.
    pub(super) fn has_spare(&self, size_bytes: u64) -> bool {
        self.spares.iter().any(|(_, spare)| spare.size_bytes >= size_bytes)
    }

    /// A segment of its own, which has no header yet.
    pub(super) fn prepare(&mut self, disk: &dyn Disk, size_bytes: u64) -> Result<Segment> {
        let number = self.take_number();
        let found = self.spares.iter().position(|(_, spare)| spare.size_bytes >= size_bytes);
        let mut segment = match found {
            Some(at) => {
                let (old, spare) = self.spares.remove(at);
                disk.rename(&old.file_name(), &number.file_name())
                    .map_err(|error| Error::io("rename an old log segment", &error))?;
                spare
            }
            None => Segment::create(disk, number, size_bytes, self.writing)?,
        };
        segment.number = number;
        Ok(segment)
    }

    pub(super) fn header(
        &mut self,
        segment: &Segment,
        database: u64,
        after: Place,
        synced: LogPosition,
    ) -> Header {
        // No two segments of a database have the same salt soon after each other.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let salt = (self.random ^ self.random >> 32) as u32;
        Header { database, number: segment.number, salt, after, synced }
    }
}
