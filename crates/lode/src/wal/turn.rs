//! The turn of segments, for all lanes: the files that are kept for new ones, the number of the
//! next one, and the random number for it.

use std::cmp::Reverse;

use super::front::Header;
use super::segment::Segment;
use super::{FrameWriting, LogPosition, Place, SegmentNumber};
use crate::error::{Error, Result};
use crate::io::Disk;

/// A segment whose file nothing needs. It takes time to close and to remove one.
pub(super) struct Useless {
    number: SegmentNumber,
    _segment: Option<Segment>,
}

impl Useless {
    fn of(spare: (SegmentNumber, Segment)) -> Self {
        Self { number: spare.0, _segment: Some(spare.1) }
    }

    pub(super) fn remove(self, disk: &dyn Disk) -> Result<()> {
        let removed = disk.remove(&self.number.file_name());
        removed.map_err(|error| Error::io("remove an old log segment", &error))
    }
}

/// A segment before the last one of its lane.
pub(super) struct Old {
    pub number: SegmentNumber,
    /// The offset at which its frames end.
    pub end: u64,
    /// The open segment, unless it was replayed.
    pub segment: Option<Segment>,
}

/// The files that new segments may take, and the numbers that they get.
pub(super) struct Turn {
    /// The files that are kept for new ones.
    pub(super) spares: Vec<(SegmentNumber, Segment)>,
    pub(super) next_number: SegmentNumber,
    pub(super) random: u64,
    pub(super) writing: FrameWriting,
    pub(super) kept_mib: u32,
}

impl Turn {
    /// Takes a number for a segment. If that cannot be made, the next one has another number: a
    /// file of this one's name may exist.
    pub(super) fn take_number(&mut self) -> SegmentNumber {
        let number = self.next_number;
        self.next_number = number.next();
        number
    }

    /// Prepares a segment without a header: in the smallest file that is kept and has
    /// `least_bytes`, or in a new one of `new_bytes`. If there is no space for that, gives up the
    /// files that are kept.
    pub(super) fn prepare(
        &mut self,
        disk: &dyn Disk,
        least_bytes: u64,
        new_bytes: u64,
    ) -> Result<Segment> {
        let number = self.take_number();
        let spares = self.spares.iter().enumerate();
        let found = spares
            .filter(|(_, (_, spare))| spare.size_bytes >= least_bytes)
            .min_by_key(|(_, (_, spare))| spare.size_bytes);
        let mut segment = match found.map(|(at, _)| at) {
            Some(at) => {
                let old = self.spares[at].0.file_name();
                disk.rename(&old, &number.file_name())
                    .map_err(|error| Error::io("rename an old log segment", &error))?;
                self.spares.remove(at).1
            }
            None => match Segment::create(disk, number, new_bytes, self.writing) {
                Err(Error::DiskFull { .. }) if !self.spares.is_empty() => {
                    self.remove_spares(disk)?;
                    Segment::create(disk, number, new_bytes, self.writing)?
                }
                made => made?,
            },
        };
        debug_assert!(segment.size_bytes >= least_bytes.min(new_bytes), "it is long enough");
        segment.number = number;
        Ok(segment)
    }

    /// Takes segments that recovery does not need any more. Of all files, the largest one is kept,
    /// and as many more as have `kept_bytes` together, but none with fewer than `least_bytes`.
    /// Returns the others.
    pub(super) fn take_over(
        &mut self,
        segments: Vec<Old>,
        least_bytes: u64,
        kept_bytes: u64,
    ) -> Vec<Useless> {
        let mut useless = Vec::new();
        for Old { number, segment, .. } in segments {
            match segment {
                Some(segment) => self.spares.push((number, segment)),
                None => useless.push(Useless { number, _segment: None }),
            }
        }
        self.spares.sort_by_key(|(_, spare)| Reverse(spare.size_bytes));
        let mut bytes = 0;
        let is_kept = |(_, spare): &&(SegmentNumber, Segment)| {
            let is_first = bytes == 0;
            bytes += spare.size_bytes;
            spare.size_bytes >= least_bytes && (is_first || bytes <= kept_bytes)
        };
        let kept = self.spares.iter().take_while(is_kept).count();
        useless.extend(self.spares.drain(kept..).map(Useless::of));
        useless
    }

    /// Removes the files that are kept.
    pub(super) fn remove_spares(&mut self, disk: &dyn Disk) -> Result<()> {
        self.spares.drain(..).try_for_each(|spare| Useless::of(spare).remove(disk))
    }

    pub(super) fn header(
        &mut self,
        segment: &Segment,
        database: u64,
        lane: usize,
        after: Place,
        synced: LogPosition,
    ) -> Header {
        // No two segments of a database have the same salt soon after each other.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let salt = (self.random ^ self.random >> 32) as u32;
        let number = segment.number;
        let size_bytes = segment.size_bytes;
        let kept_mib = self.kept_mib;
        Header { database, number, salt, after, synced, size_bytes, lane, kept_mib }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::io::simulated::Simulated;

    const SIZE: u64 = 1 << 14;

    fn turn() -> Turn {
        Turn {
            spares: Vec::new(),
            next_number: SegmentNumber::FIRST,
            random: 0,
            writing: FrameWriting::Called,
            kept_mib: 0,
        }
    }

    /// Returns a turn that has seen segments of these sizes, and has forgotten them, except for
    /// files of `kept_bytes`.
    fn after(disk: &Simulated, sizes: &[u64], kept_bytes: u64) -> Turn {
        let mut turn = turn();
        let mut prepare = |size_bytes: &u64| {
            let segment = turn.prepare(disk, *size_bytes, *size_bytes).unwrap();
            Old { number: segment.number, end: *size_bytes, segment: Some(segment) }
        };
        let old = sizes.iter().map(&mut prepare).collect();
        let useless = turn.take_over(old, SIZE, kept_bytes);
        useless.into_iter().for_each(|useless| useless.remove(disk).unwrap());
        turn
    }

    #[test]
    fn spares_are_kept_for_as_many_bytes_as_are_wanted_and_one_in_any_case() {
        for (kept_bytes, wanted) in [(0, 1), (2 * SIZE - 1, 1), (2 * SIZE, 2), (u64::MAX, 3)] {
            let disk = Simulated::new(0);
            let mut turn = after(&disk, &[SIZE / 2, SIZE, SIZE, SIZE], kept_bytes);
            assert_eq!(disk.file_names().len(), wanted, "of {kept_bytes} bytes");
            // Segments as large are in these files, and others as before.
            let segments: Vec<_> =
                (0..4).map(|_| turn.prepare(&disk, SIZE, SIZE).unwrap()).collect();
            assert_eq!(disk.file_names().len(), 4);
            let names: Vec<_> = segments.iter().map(|segment| segment.number.file_name()).collect();
            assert_eq!(disk.file_names(), names);
        }
    }

    #[test]
    fn a_segment_lies_in_the_smallest_spare_that_is_large_enough() {
        let disk = Simulated::new(0);
        let mut turn = after(&disk, &[SIZE, 4 * SIZE, 2 * SIZE], u64::MAX);
        assert_eq!(turn.prepare(&disk, SIZE + 1, 8 * SIZE).unwrap().size_bytes, 2 * SIZE);
    }

    #[test]
    fn spares_are_given_up_for_a_larger_segment_when_the_disk_is_full() {
        let disk = Simulated::new(0);
        let mut turn = after(&disk, &[SIZE, SIZE, SIZE], u64::MAX);
        disk.set_capacity(Some(disk.used_bytes() + SIZE));
        let segment = turn.prepare(&disk, 3 * SIZE, 3 * SIZE).unwrap();
        assert_eq!(disk.file_names(), [segment.number.file_name()]);
        assert!(matches!(turn.prepare(&disk, 2 * SIZE, 2 * SIZE), Err(Error::DiskFull { .. })));
    }
}
