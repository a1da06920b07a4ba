//! The files with the names of segments in a directory. Each is examined before anything is
//! replayed, written or removed: a directory has the files of one database, or is refused.

use std::collections::BTreeMap;

use super::front::{self, FRAMES_AT, Found, Front, Header};
use super::reader::Reader;
use super::{LogPosition, Place, Positions, SegmentNumber};
use crate::error::{Error, Result};
use crate::io::Disk;

/// The files that have the names of segments.
#[derive(Default)]
pub(crate) struct Stock {
    /// The files with their fronts; `None` if a file has nothing of use: it was to become a
    /// segment, and its header was not written.
    fronts: BTreeMap<SegmentNumber, Option<Front>>,
}

impl Stock {
    /// Examines all segment files of a database whose recovery starts in these segments.
    ///
    /// # Errors
    /// `ForeignFile` if one is of another database. `Corrupt` if one is no segment, or a segment
    /// under a name that no crash gives it. `Version`; `Io`.
    pub(crate) fn take(disk: &dyn Disk, database: u64, from: &Positions) -> Result<Self> {
        let mut stock = Self::default();
        for number in numbers(disk)? {
            stock.fronts.insert(number, front_of(disk, number, database, from)?);
        }
        Ok(stock)
    }

    /// Examines the segment files of a damaged database. Calls `lost` with the fault of each that
    /// is left out.
    ///
    /// # Errors
    /// `Io` if the files cannot be listed; `Version`.
    pub(crate) fn take_damaged(
        disk: &dyn Disk,
        database: u64,
        from: &Positions,
        lost: &mut dyn FnMut(&Error),
    ) -> Result<Self> {
        let mut stock = Self::default();
        for number in numbers(disk)? {
            match front_of(disk, number, database, from) {
                Ok(front) => drop(stock.fronts.insert(number, front)),
                Err(error @ Error::Version { .. }) => return Err(error),
                Err(error) => lost(&error),
            }
        }
        Ok(stock)
    }

    /// Examines all segment files of a database that was never finished: it has at most a first
    /// segment without frames.
    ///
    /// # Errors
    /// `Corrupt` if there is more; `Version`; `Io`.
    pub(crate) fn of_unfinished(disk: &dyn Disk) -> Result<Self> {
        let mut stock = Self::default();
        for number in numbers(disk)? {
            let front = match read(disk, number)? {
                Found::Blank => None,
                Found::Unknown => return Err(unknown(number)),
                Found::Front(front) => Some(front),
            };
            if let Some(front) = front
                && (front.header.after != Place::default()
                    || Reader::open(disk, number, front)?.frame(FRAMES_AT)?.is_some())
            {
                let why = "it was in use, and file data has no superblock";
                return Err(Error::corrupt(number.to_string(), why));
            }
            stock.fronts.insert(number, front);
        }
        Ok(stock)
    }

    /// Takes all segment files of a database that this process has just started to create in an
    /// empty directory.
    pub(crate) fn of_own(disk: &dyn Disk) -> Result<Self> {
        let fronts = numbers(disk)?.into_iter().map(|number| (number, None)).collect();
        Ok(Self { fronts })
    }

    /// Returns the last number that a file has.
    pub(super) fn last(&self) -> Option<SegmentNumber> {
        self.fronts.last_key_value().map(|(number, _)| *number)
    }

    /// Returns true if a file has this number, whatever its content.
    pub(super) fn has(&self, number: SegmentNumber) -> bool {
        self.fronts.contains_key(&number)
    }

    /// Returns the front of a segment.
    pub(super) fn front(&self, number: SegmentNumber) -> Option<Front> {
        self.fronts.get(&number).copied().flatten()
    }

    /// Returns all segments of a lane, in order.
    pub(super) fn of_lane(&self, lane: usize) -> impl Iterator<Item = (SegmentNumber, Front)> {
        let segments = self.fronts.iter().filter_map(|(number, front)| Some((*number, (*front)?)));
        segments.filter(move |(_, front)| front.header.lane == lane)
    }

    /// Returns the end of a lane as far as it was synced, as the fronts of all of its segments say.
    pub(crate) fn synced(&self, lane: usize) -> LogPosition {
        self.of_lane(lane).map(|(_, front)| front.synced).max().unwrap_or_default()
    }

    /// Returns how many MiB of segments are kept for readers of changes, as a segment says.
    pub(crate) fn kept_mib(&self, number: SegmentNumber) -> u32 {
        self.front(number).map_or(0, |front| front.header.kept_mib)
    }

    /// Returns the segments with kept changes that lead to a segment, and that one, in order; with
    /// the bytes of their files.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn history(
        &self,
        disk: &dyn Disk,
        last: SegmentNumber,
    ) -> Result<Vec<(SegmentNumber, u64)>> {
        let is_kept = |front: &Front| front.header.kept_mib > 0 && front.header.lane == 0;
        let newest = self.front(last).filter(is_kept);
        let before = |front: &Front| {
            let number = front.header.after.position.segment;
            self.front(number).filter(is_kept).filter(|_| number < front.header.number)
        };
        let with_bytes = |front: Front| {
            let number = front.header.number;
            let file = disk.open(&number.file_name());
            let size_bytes = file.and_then(|file| file.size_bytes());
            let failed = |error| Error::io(format!("look at {number}"), &error);
            Ok((number, size_bytes.map_err(failed)?))
        };
        let all = std::iter::successors(newest, before).map(with_bytes);
        let mut all = all.collect::<Result<Vec<_>>>()?;
        all.reverse();
        Ok(all)
    }

    /// Removes the files that are not part of the log.
    pub(crate) fn remove_others(
        self,
        disk: &dyn Disk,
        part_of_log: &[SegmentNumber],
    ) -> Result<()> {
        let others = self.fronts.into_keys().filter(|number| !part_of_log.contains(number));
        for number in others {
            disk.remove(&number.file_name())
                .map_err(|error| Error::io("remove a log segment of no use", &error))?;
        }
        Ok(())
    }
}

/// Returns the front of the file with a segment's name; `None` if it has nothing of use.
///
/// # Errors
/// Those of [`Stock::take`].
fn front_of(
    disk: &dyn Disk,
    number: SegmentNumber,
    database: u64,
    from: &Positions,
) -> Result<Option<Front>> {
    // Of a lane that there is not, nothing is needed.
    let is_needed = |header: &Header| {
        let from = from.0[header.lane].segment;
        from != SegmentNumber::default() && header.number >= from
    };
    let front = match read(disk, number)? {
        Found::Blank => None,
        Found::Unknown => return Err(unknown(number)),
        Found::Front(Front { header, .. }) if header.database != database => {
            return Err(Error::ForeignFile { file: number.file_name() });
        }
        Found::Front(front) if front.header.number == number => Some(front),
        // The file was kept for a new segment, and had got the name but not the header; or the
        // header, and a crash has taken the name back.
        Found::Front(Front { header, .. }) if !is_needed(&header) || header.number > number => None,
        Found::Front(Front { header, .. }) => {
            let other = header.number.file_name();
            let why = format!("it has the content of {other}; give it that name again");
            return Err(Error::corrupt(number.to_string(), why));
        }
    };
    if !number.is_near(from.0[0].segment) {
        let why = "its number is higher than any that the log reaches; move it away";
        return Err(Error::corrupt(number.to_string(), why));
    }
    Ok(front)
}

fn read(disk: &dyn Disk, number: SegmentNumber) -> Result<Found> {
    let file = disk.open(&number.file_name());
    let file = file.map_err(|error| Error::io(format!("read {number}"), &error))?;
    front::read(&*file, number)
}

fn unknown(number: SegmentNumber) -> Error {
    Error::corrupt(number.to_string(), "it is no segment of a log; move it away if it is not one")
}

/// Returns the numbers of all files that have the name of a segment, in order.
pub(super) fn numbers(disk: &dyn Disk) -> Result<Vec<SegmentNumber>> {
    let names = disk.list().map_err(|error| Error::io("list the files of the database", &error))?;
    let mut numbers: Vec<_> =
        names.iter().filter_map(|name| SegmentNumber::of_file(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
