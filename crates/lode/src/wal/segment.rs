//! Segments: the files that hold the log, to write to. Each starts with its [front](super::front).

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::front::Header;
use super::{FrameWriting, PAGE_BYTES};
use crate::error::{Error, Result};
use crate::io::{Disk, File, Mapped};

/// The number of a segment: later ones have higher numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentNumber(u64);

impl SegmentNumber {
    /// The number of the first segment of a new database.
    pub(crate) const FIRST: Self = Self(1);

    /// No segment will ever have this number.
    const END: u64 = 1 << 48;

    /// The distance between numbers that no log reaches. A file beyond it is none of the log.
    const MOST_APART: u64 = 1 << 32;

    /// Returns the number with the value that a file has for it.
    pub(crate) const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the value of the number, for a file.
    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number after this one, which a later segment has, or none.
    pub(super) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns true if it can be of the log whose recovery starts at `first`.
    pub(super) const fn is_near(self, first: Self) -> bool {
        self.0 < first.0.saturating_add(Self::MOST_APART)
    }

    /// Returns true if so few numbers are left that something must be wrong.
    pub(super) const fn is_near_end(self) -> bool {
        self.0 >= Self::END - Self::MOST_APART
    }

    /// Returns the name of the segment's file.
    pub(super) fn file_name(self) -> String {
        format!("log-{:012}", self.0)
    }

    /// Returns the number that the name of a segment's file has.
    pub(super) fn of_file(name: &str) -> Option<Self> {
        let number = Self(name.strip_prefix("log-")?.parse().ok()?);
        (number.0 < Self::END && number.file_name() == name).then_some(number)
    }
}

impl fmt::Display for SegmentNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "log segment {}", self.file_name())
    }
}

/// An open segment to write to.
pub(super) struct Segment {
    pub number: SegmentNumber,
    pub salt: u32,
    pub size_bytes: u64,
    pub file: Arc<dyn File>,
    /// The file's bytes, where they are mapped.
    mapped: Option<Arc<dyn Mapped>>,
    /// True if the file is not mapped, and its file system writes in place.
    is_overwritten: bool,
}

impl Segment {
    /// Creates a file with space for all that the segment will hold.
    pub(super) fn create(
        disk: &dyn Disk,
        number: SegmentNumber,
        size_bytes: u64,
        writing: FrameWriting,
    ) -> Result<Self> {
        let name = number.file_name();
        let failed = |error| Error::io(format!("create {number}"), &error);
        debug_assert!(!number.is_near_end(), "replay refuses higher numbers");
        let file = disk.create(&name).map_err(failed)?;
        let made = file.preallocate(0..size_bytes).and_then(|()| file.map(size_bytes as usize));
        match made {
            Ok(mapped) => {
                let is_of_use = |mapped: &Arc<dyn Mapped>| {
                    writing == FrameWriting::Mapped || mapped.is_in_memory()
                };
                let is_in_place = mapped.is_some();
                let mapped = mapped.filter(is_of_use);
                let file = Arc::from(file);
                let is_overwritten = is_in_place && mapped.is_none();
                Ok(Self { number, salt: 0, size_bytes, file, mapped, is_overwritten })
            }
            Err(error) => {
                drop(file);
                // If it stays, recovery removes it.
                let _ = disk.remove(&name);
                Err(failed(error))
            }
        }
    }

    /// Returns true if zeros should be [written](Self::write_zeros) to a new file before frames.
    pub(super) fn gains_from_zeros(&self) -> bool {
        self.is_overwritten
    }

    /// Writes zeros to a part of a new file, which reads as zeros already.
    ///
    /// Space that was only set aside is an unwritten extent (of ext4 and XFS). Writing to a part of
    /// it is a change of the file system's own log, for which a sync waits. Where zeros were
    /// written and synced, the syncs of frames need not.
    pub(super) fn write_zeros(&self, bytes: Range<u64>) -> Result<()> {
        assert!(self.salt == 0, "zeros are written to a segment before its header only");
        debug_assert!(bytes.end <= self.size_bytes, "a segment keeps its length");
        self.write_by_call(bytes.start, &vec![0; (bytes.end - bytes.start) as usize])
    }

    /// Makes the written bytes durable.
    pub(super) fn sync(&self) -> Result<()> {
        let synced = self.file.sync();
        synced.map_err(|error| Error::io(format!("sync {}", self.number), &error))
    }

    /// Writes the header; returns its checksum.
    pub(super) fn begin(&mut self, header: &Header) -> Result<u32> {
        assert_eq!(header.number, self.number, "a header names its segment");
        assert_eq!(header.size_bytes, self.size_bytes, "a header says how long its file is");
        let (copies, sum) = header.copies();
        copies.iter().try_for_each(|(at, bytes)| self.write(*at, bytes))?;
        self.salt = header.salt;
        Ok(sum)
    }

    /// Hands bytes to the operating system.
    #[inline]
    pub(super) fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        debug_assert!(at + bytes.len() as u64 <= self.size_bytes, "a segment keeps its length");
        match &self.mapped {
            Some(mapped) => {
                mapped.write(at as usize, bytes).map_err(|error| self.not_written(&error))
            }
            None => {
                // A write may fail after some of its pages. Without its end a frame would be whole
                // if that has zeros, so the page with its start comes last.
                let first = (PAGE_BYTES - at % PAGE_BYTES).min(bytes.len() as u64);
                let (start, rest) = bytes.split_at(first as usize);
                if !rest.is_empty() {
                    self.write_by_call(at + first, rest)?;
                }
                self.write_by_call(at, start)
            }
        }
    }

    #[cold]
    fn not_written(&self, error: &std::io::Error) -> Error {
        Error::io(format!("write to {}", self.number), error)
    }

    /// Writes bytes by a call of the system, which takes longer for few bytes; but it does not fill
    /// pages with zeros that are overwritten anyway.
    pub(super) fn write_by_call(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_at(at, bytes).map_err(|error| self.not_written(&error))
    }

    /// Takes back the bytes that a failed write at `at` may have left: no frame starts there then.
    /// If that fails too, the next write there does it.
    pub(super) fn take_back(&self, at: u64) {
        let _ = self.write_by_call(at, &[0; 16]);
    }

    /// Cuts the file off at `size_bytes`, and writes nothing after that from then on: the mapping
    /// has no file there.
    pub(super) fn cut(&mut self, size_bytes: u64) -> Result<()> {
        assert!(size_bytes <= self.size_bytes, "a segment is cut off where it was longer");
        self.size_bytes = size_bytes;
        self.file
            .set_size(size_bytes)
            .map_err(|error| Error::io(format!("shorten {}", self.number), &error))
    }

    /// Returns the file's bytes, where they are mapped.
    pub(super) fn mapped(&self) -> Option<Arc<dyn Mapped>> {
        self.mapped.clone()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::io::Access;
    use crate::io::os::Directory;
    use crate::io::simulated::{Fault, FaultKind, Mapping, Simulated};

    /// Returns true if frames are written through a mapping, and true if zeros are written before.
    fn is_written(disk: &dyn Disk, writing: FrameWriting) -> (bool, bool) {
        let number = SegmentNumber::FIRST;
        let segment = Segment::create(disk, number, 1 << 12, writing).unwrap();
        segment.write_zeros(0..1 << 12).unwrap();
        segment.write(100, b"a frame").unwrap();
        let mut bytes = [0; 7];
        segment.file.read_at(100, &mut bytes).unwrap();
        assert_eq!(&bytes, b"a frame");
        disk.remove(&number.file_name()).unwrap();
        (segment.mapped().is_some(), segment.gains_from_zeros())
    }

    #[test]
    fn a_write_that_fails_within_a_frame_leaves_no_start_of_it() {
        let disk = Simulated::new(0);
        disk.set_mapping(Mapping::None);
        let number = SegmentNumber::FIRST;
        let size_bytes = 1 << 14;
        let segment = Segment::create(&disk, number, size_bytes, FrameWriting::Called).unwrap();
        // The second write of the frame fails, as that of its last pages would.
        let at = disk.operations() + 1;
        disk.fail(Fault::Error { at, kind: FaultKind::WriteFails });
        segment.write(4_000, &[7; 5_000]).unwrap_err();
        let bytes = disk.file_bytes(&number.file_name()).unwrap();
        assert!(bytes[4_000..4_096].iter().all(|byte| *byte == 0), "its start is not there");
        segment.write(4_000, &[7; 5_000]).unwrap();
        let bytes = disk.file_bytes(&number.file_name()).unwrap();
        assert!(bytes[4_000..9_000].iter().all(|byte| *byte == 7), "all of it is there");
    }

    #[test]
    fn a_log_is_mapped_where_files_are_in_memory_and_elsewhere_as_it_is_said() {
        let disk = Simulated::new(0);
        for (mapping, writing, expected) in [
            (Mapping::InMemory, FrameWriting::Mapped, (true, false)),
            (Mapping::InMemory, FrameWriting::Called, (true, false)),
            (Mapping::OnDisk, FrameWriting::Mapped, (true, false)),
            (Mapping::OnDisk, FrameWriting::Called, (false, true)),
            (Mapping::None, FrameWriting::Mapped, (false, false)),
            (Mapping::None, FrameWriting::Called, (false, false)),
        ] {
            disk.set_mapping(mapping);
            assert_eq!(is_written(&disk, writing), expected, "{mapping:?}, {writing:?}");
        }
        let path = tempfile::tempdir().unwrap();
        let directory = Directory::new(path.path(), Access::Write).unwrap();
        let file = directory.create("file").unwrap();
        file.preallocate(0..1 << 12).unwrap();
        // No mapping where writing in place may need space.
        let mapped = file.map(1 << 12).unwrap();
        let can_be = mapped.is_some();
        let is_in_memory = mapped.is_some_and(|mapped| mapped.is_in_memory());
        assert_eq!(is_written(&directory, FrameWriting::Mapped), (can_be, false));
        let called = (is_in_memory, can_be && !is_in_memory);
        assert_eq!(is_written(&directory, FrameWriting::Called), called);
    }
}
