//! Reading the log again after a crash.

use super::front::FRAMES_AT;
use super::merge::{Orders, Replaying, Turn};
use super::reader::Reader;
use super::segment::SegmentNumber;
use super::stock::Stock;
use super::{LanePlace, LogPosition, LogRecord, Places};
use crate::error::{Error, Result};
use crate::io::Disk;

/// The end of the log, as replay found it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replayed {
    /// The places after the last records.
    pub ends: Places,
    /// Segments that are part of the log, with the offsets at which their frames end.
    pub segments: Vec<(SegmentNumber, u64)>,
    /// A number that no segment has or had.
    pub next_number: SegmentNumber,
    /// True if frames were left out, since they name some that are not there.
    pub is_cut: bool,
}

/// The place in a lane up to which it is replayed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Applied {
    pub lane: usize,
    pub place: LanePlace,
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
    /// Another process appends records: what follows the last whole one proves nothing.
    Live,
    /// Nothing after the place where recovery starts was promised, unless it is known to be synced:
    /// even the segment may be missing.
    Anywhere,
}

/// The places where recovery starts, and what the superblock says of the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub places: Places,
    pub ending: Ending,
    /// The known end of the first lane as far as it was synced.
    pub synced: LogPosition,
}

impl Start {
    /// Returns the lanes that there are.
    fn lanes(&self) -> impl Iterator<Item = (usize, LanePlace)> {
        let lanes = self.places.lanes.into_iter().enumerate();
        lanes.filter(|(lane, start)| *lane == 0 || *start != LanePlace::default())
    }

    /// Returns the known end of a lane as far as it was synced.
    fn synced(&self, stock: &Stock, lane: usize) -> LogPosition {
        let own = if lane == 0 { self.synced } else { LogPosition::default() };
        own.max(stock.synced(lane))
    }
}

/// Calls `apply` with the records of each frame from places on, and the place after it. Frames come
/// after those that they name. A frame that names one which no lane has is left out, and so are all
/// that come after it. Other segments than [those it returns](Replayed::segments) are not part of
/// the log.
///
/// # Errors
/// `Corrupt` if a part of the log is missing that was synced; those of `apply`.
pub(crate) fn replay(
    disk: &dyn Disk,
    stock: &Stock,
    start: &Start,
    apply: &mut dyn FnMut(&[LogRecord<'_>], Applied) -> Result<()>,
) -> Result<Replayed> {
    let first = start.places.first().segment;
    let firsts = start.lanes().map(|(_, start)| start.place.position.segment);
    let last = stock.last().into_iter().chain(firsts).max().unwrap_or(first);
    let next_number = last.next();
    if next_number.is_near_end() {
        return Err(Error::corrupt(last.to_string(), "its number is higher than any log reaches"));
    }
    let mut replayed = Replayed { ends: start.places, next_number, ..Replayed::default() };
    if start.ending == Ending::Clean && last == first {
        if stock.has(first) {
            replayed.segments.push((first, start.places.first().at));
        }
        return Ok(replayed);
    }
    let mut lanes = Vec::new();
    for (lane, from) in start.lanes() {
        if let Some(lane) = begin(disk, stock, start, lane, from)? {
            lanes.push(lane);
        }
    }
    let mut orders = start.places.lanes.map(|lane| lane.order);
    run(disk, stock, &mut lanes, &mut orders, apply)?;
    for lane in &mut lanes {
        if start.ending != Ending::Live {
            expect_all_that_was_synced(disk, stock, start, lane)?;
        }
        replayed.is_cut |= lane.is_cut;
        replayed.ends.lanes[lane.lane] = lane.end;
        replayed.segments.append(&mut lane.segments);
    }
    replayed.segments.sort_unstable();
    Ok(replayed)
}

/// Returns true if no lane has grown since another process's log was replayed, as the segments in
/// `now` say. Each lane was looked at before this looks at the first. So there was a moment at
/// which all of them ended where they were found to end.
pub(crate) fn have_rested(disk: &dyn Disk, now: &Stock, replayed: &Replayed) -> Result<bool> {
    if replayed.is_cut {
        return Ok(false);
    }
    let ends = replayed.ends.lanes.iter().enumerate();
    for (lane, end) in ends.filter(|(lane, end)| *lane == 0 || **end != LanePlace::default()) {
        let LogPosition { segment, at } = end.place.position;
        let Some(front) = now.front(segment) else { return Ok(false) };
        let next = Reader::open(disk, segment, front)?
            .frame(at)?
            .is_some_and(|frame| frame.before == end.place.chain);
        let continues = now
            .of_lane(lane)
            .any(|(number, front)| number > segment && front.header.after == end.place);
        if next || continues {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Starts to replay a lane; `None` if it is not there, and need not be.
fn begin(
    disk: &dyn Disk,
    stock: &Stock,
    start: &Start,
    lane: usize,
    from: LanePlace,
) -> Result<Option<Replaying>> {
    let position = from.place.position;
    let current = match stock.front(position.segment) {
        Some(front) if front.header.lane == lane => {
            Some(Reader::open(disk, position.segment, front)?)
        }
        Some(_) => {
            let why = format!("it is of another lane than {lane}, which the superblock says");
            return Err(Error::corrupt(position.segment.to_string(), why));
        }
        None if start.ending == Ending::Clean => None,
        None if start.ending == Ending::Anywhere && start.synced(stock, lane) <= position => {
            return Ok(None);
        }
        None => return Err(lost(stock, position.segment)),
    };
    Ok(Some(Replaying::new(lane, from, current)))
}

/// Replays lanes, the frame with the lowest order first.
fn run(
    disk: &dyn Disk,
    stock: &Stock,
    lanes: &mut [Replaying],
    orders: &mut Orders,
    apply: &mut dyn FnMut(&[LogRecord<'_>], Applied) -> Result<()>,
) -> Result<()> {
    const NOW: Turn = [0; 2];
    const AT_LAST: Turn = [u64::MAX; 2];
    let mut turns: Vec<_> = lanes.iter().map(|_| Some(NOW)).collect();
    while let Some((turn, at)) = (0..lanes.len()).filter_map(|at| Some((turns[at]?, at))).min() {
        let others = (0..lanes.len()).filter(|other| *other != at).filter_map(|at| turns[at]);
        // At first, the turns of the others are not known: then none is replayed.
        let last = others.min().unwrap_or(AT_LAST);
        debug_assert!(turn <= last, "the lane with the lowest turn is next");
        turns[at] = lanes[at].run(disk, stock, last, orders, apply)?;
    }
    Ok(())
}

/// Fails if a part of a lane is missing that was synced once: something proves a position beyond
/// the end, or that the last segment was longer.
fn expect_all_that_was_synced(
    disk: &dyn Disk,
    stock: &Stock,
    start: &Start,
    lane: &mut Replaying,
) -> Result<()> {
    let from = start.places.lanes[lane.lane].place.position;
    let end = lane.whole.position;
    let mut synced = start.synced(stock, lane.lane).max(lane.synced);
    let last = &mut lane.current;
    if let Some(last) = last {
        synced = synced.max(last.proven(end.at)?);
    }
    for (number, front) in stock.of_lane(lane.lane).filter(|(number, _)| *number > end.segment) {
        synced = synced.max(Reader::open(disk, number, front)?.proven(FRAMES_AT)?);
    }
    let was_cut_off = start.ending == Ending::Clean && end.segment == from.segment;
    if let Some(missing_bytes) = last.as_ref().and_then(Reader::missing_bytes)
        && (synced.segment >= end.segment && !was_cut_off)
    {
        let why = format!("it is shorter than it was made, by {missing_bytes} bytes");
        return Err(Error::corrupt(end.segment.to_string(), why));
    }
    let replayed = lane.end.place.position;
    if lane.is_cut && replayed < synced && synced <= end {
        let why = format!(
            "the record at byte {} was synced once, and one before it in another lane is missing",
            replayed.at
        );
        return Err(Error::corrupt(replayed.segment.to_string(), why));
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
