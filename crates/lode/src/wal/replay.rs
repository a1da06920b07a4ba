//! Reading the log again after a crash.

use super::front::FRAMES_AT;
use super::reader::Reader;
use super::segment::SegmentNumber;
use super::stock::Stock;
use super::{LogPosition, LogRecord, Place};
use crate::error::{Error, Result};
use crate::io::Disk;

/// The end of the log, as replay found it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replayed {
    /// The place after the last record.
    pub end: Place,
    /// Segments that are part of the log, with the number of their bytes that are.
    pub segments: Vec<(SegmentNumber, u64)>,
    /// A number that no segment has or had.
    pub next_number: SegmentNumber,
}

/// The knowledge about the end of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Records may follow.
    Open,
    /// The database was closed at the place where recovery starts: unless another process has
    /// started a segment since, nothing follows. The segment itself may be missing, and is as long
    /// as it was used.
    Clean,
    /// Nothing after the place where recovery starts was promised, unless it is known to be synced:
    /// even the segment may be missing.
    Anywhere,
}

/// The place where recovery starts, and what the superblock says of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub place: Place,
    pub ending: Ending,
    /// The known end of the synced log.
    pub synced: LogPosition,
}

/// Calls `apply` with the records of each frame from a place on, and the place after it. Other
/// segments than [those it returns](Replayed::segments) are not part of the log.
///
/// # Errors
/// `Corrupt` if a part of the log is missing that was synced; those of `apply`.
pub(crate) fn replay(
    disk: &dyn Disk,
    stock: &Stock,
    start: Start,
    apply: &mut dyn FnMut(&[LogRecord<'_>], Place) -> Result<()>,
) -> Result<Replayed> {
    let first = start.place.position.segment;
    let last = stock.last().map_or(first, |last| first.max(last));
    let next_number = last.next();
    if next_number.is_near_end() {
        return Err(Error::corrupt(last.to_string(), "its number is higher than any log reaches"));
    }
    let mut replayed = Replayed { end: start.place, next_number, ..Replayed::default() };
    if start.ending == Ending::Clean && last == first {
        if stock.has(first) {
            replayed.segments.push((first, start.place.position.at));
        }
        return Ok(replayed);
    }
    let synced = stock.synced().max(start.synced);
    let mut current = match stock.front(first) {
        Some(front) => Some(Reader::open(disk, first, front)?),
        None if start.ending == Ending::Clean => None,
        None if start.ending == Ending::Anywhere && synced <= start.place.position => {
            return Ok(replayed);
        }
        None => return Err(lost(stock, first)),
    };
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
            replayed.segments.push((current.number(), end.position.at));
            let segments = &replayed.segments;
            debug_assert!(segments.is_sorted_by(|a, b| a.0 < b.0), "segments follow each other");
        }
        // The newest of several: the others were given up when writing their headers failed. A
        // segment started before one that is part of the log, and not part of it, never will be.
        let after = replayed.segments.last().map_or(first, |(number, _)| *number);
        let fits = |(number, front): &(SegmentNumber, _)| *number > after && follows(front, *end);
        let Some((number, front)) = stock.segments().filter(fits).last() else { break };
        current = Some(Reader::open(disk, number, front)?);
        *end = Place { position: LogPosition { segment: number, at: FRAMES_AT }, chain: front.sum };
    }
    expect_all_that_was_synced(disk, stock, start, synced, current, &replayed)?;
    Ok(replayed)
}

/// Returns true if a segment starts where the log ends.
fn follows(front: &super::front::Front, end: Place) -> bool {
    front.header.after == end
}

/// Fails if a part of the log is missing that was synced once: something proves a position beyond
/// the end, or that the last segment was longer.
fn expect_all_that_was_synced(
    disk: &dyn Disk,
    stock: &Stock,
    start: Start,
    mut synced: LogPosition,
    mut last: Option<Reader>,
    replayed: &Replayed,
) -> Result<()> {
    let end = replayed.end.position;
    if let Some(last) = &mut last {
        synced = synced.max(last.proven(end.at)?);
    }
    for (number, front) in stock.segments().filter(|(number, _)| *number > end.segment) {
        synced = synced.max(Reader::open(disk, number, front)?.proven(FRAMES_AT)?);
    }
    let was_cut_off = start.ending == Ending::Clean && end.segment == start.place.position.segment;
    if let Some(missing_bytes) = last.as_ref().and_then(Reader::missing_bytes)
        && (synced.segment >= end.segment && !was_cut_off)
    {
        let why = format!("it is shorter than it was made, by {missing_bytes} bytes");
        return Err(Error::corrupt(end.segment.to_string(), why));
    }
    if synced <= end {
        return Ok(());
    }
    if synced.segment > end.segment && stock.front(synced.segment).is_none() {
        return Err(lost(stock, synced.segment));
    }
    Err(Error::corrupt(
        end.segment.to_string(),
        format!("the record at byte {} is damaged, and it was synced once", end.at),
    ))
}

/// Returns the error of a segment that has no header, or no file, and is part of the log.
fn lost(stock: &Stock, number: SegmentNumber) -> Error {
    let why = if stock.has(number) {
        "its header is not whole, and the log needs it"
    } else {
        "it is missing, and the log needs it"
    };
    Error::corrupt(number.to_string(), why)
}
