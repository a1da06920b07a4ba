//! Reading the log again after a crash.

use std::collections::BTreeMap;

use super::reader::{Reader, header};
use super::segment::{FRAMES_AT, Header, SegmentNumber};
use super::{LogPosition, LogRecord, Place};
use crate::error::{Error, Result};
use crate::io::Disk;

/// How the log ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replayed {
    /// After the last record.
    pub end: Place,
    /// Segments that are part of the log, with the bytes that are.
    pub segments: Vec<(SegmentNumber, u64)>,
    /// A number that no segment has or had.
    pub next_number: SegmentNumber,
}

/// What is known about where the log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// There may be records.
    Open,
    /// The database was closed at the place where recovery begins: unless another process has begun
    /// a segment since, there is nothing to look for. The segment itself may be missing.
    Clean,
    /// Nothing after the place where recovery begins was promised: even the segment may be missing.
    Anywhere,
}

/// Calls `apply` with the records of each frame from a place on, and the place after it. Other
/// segments than [those it returns](Replayed::segments) are not part of the log.
///
/// # Errors
/// `Corrupt` when a part of the log is missing that was there; what `apply` returns.
pub(crate) fn replay(
    disk: &dyn Disk,
    database: u64,
    (start, ending): (Place, Ending),
    apply: &mut dyn FnMut(&[LogRecord<'_>], Place) -> Result<()>,
) -> Result<Replayed> {
    let first = start.position.segment;
    let mut numbers = segments(disk)?;
    numbers.retain(|number| number.is_near(first));
    let last = numbers.last().map_or(first, |last| first.max(*last));
    let next_number = last.next();
    if next_number.is_near_end() {
        return Err(Error::corrupt(last.to_string(), "its number is higher than any log reaches"));
    }
    let mut replayed = Replayed { end: start, next_number, ..Replayed::default() };
    if ending == Ending::Clean && numbers.last().is_none_or(|last| *last <= first) {
        if numbers.last() == Some(&first) {
            replayed.segments.push((first, start.position.at));
        }
        return Ok(replayed);
    }
    let mut current = match numbers.contains(&first) {
        true => Reader::open(disk, database, first)?,
        false => None,
    };
    if current.is_none() && ending != Ending::Clean {
        if ending == Ending::Anywhere {
            return Ok(replayed);
        }
        let why = match numbers.contains(&first) {
            true => "its header is not whole, and recovery begins there",
            false => "it is missing, and recovery begins there",
        };
        return Err(Error::corrupt(first.to_string(), why));
    }
    // Only their headers: together, segments may be larger than the memory.
    let mut later: BTreeMap<SegmentNumber, Header> = BTreeMap::new();
    for number in numbers.into_iter().filter(|number| *number > first) {
        if let Some((header, _)) = header(disk, database, number)? {
            later.insert(number, header);
        }
    }
    loop {
        let end = &mut replayed.end;
        if let Some(current) = &mut current {
            while let Some(frame) = current.frame(end.position.at)? {
                if frame.before != end.chain {
                    break;
                }
                end.position.at += frame.size as u64;
                end.chain = frame.sum;
                apply(&LogRecord::decode(frame.kind, frame.body)?, *end)?;
            }
            replayed.segments.push((current.header.number, end.position.at));
        }
        // The newest of several: the others were given up when writing their headers failed.
        let next = later.iter().rev().find(|(_, header)| header.after == *end);
        let Some((number, _)) = next else { break };
        let number = *number;
        let Some(found) = Reader::open(disk, database, number)? else { break };
        let chain = current.insert(found).chain;
        // What was begun before it and is not part of the log never will be.
        later.retain(|other, _| *other > number);
        *end = Place { position: LogPosition { segment: number, at: FRAMES_AT }, chain };
    }
    let end = replayed.end.position;
    let mut proof = match current {
        Some(mut current) => current.proven(end.at)?,
        None => LogPosition::default(),
    };
    for number in later.into_keys() {
        if let Some(mut found) = Reader::open(disk, database, number)? {
            proof = proof.max(found.proven(FRAMES_AT)?);
        }
    }
    match proof > end {
        true => Err(Error::corrupt(
            end.segment.to_string(),
            format!("the record at byte {} is damaged, and it was synced once", end.at),
        )),
        false => Ok(replayed),
    }
}

/// The numbers of all segments, in order.
pub(super) fn segments(disk: &dyn Disk) -> Result<Vec<SegmentNumber>> {
    let names = disk.list().map_err(|error| Error::io("list the files of the database", &error))?;
    let mut numbers: Vec<_> =
        names.iter().filter_map(|name| SegmentNumber::of_file(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Removes the segments that are not part of the log.
pub(crate) fn remove_others(disk: &dyn Disk, part_of_log: &[SegmentNumber]) -> Result<()> {
    for number in segments(disk)?.into_iter().filter(|number| !part_of_log.contains(number)) {
        disk.remove(&number.file_name())
            .map_err(|error| Error::io("remove a log segment of no use", &error))?;
    }
    Ok(())
}
