//! The lanes of a log that is replayed: one frame after another, each after those that it names.

use super::frame::Frame;
use super::front::FRAMES_AT;
use super::names::{FrameName, MOST_LANES, MOST_ORDER, next_order};
use super::reader::Reader;
use super::segment::SegmentNumber;
use super::stock::Stock;
use super::{Applied, LanePlace, LogPosition, LogRecord, Place};
use crate::error::{Error, Result};
use crate::io::Disk;

/// The number of the last frame of each lane that was replayed.
pub(super) type Orders = [u64; MOST_LANES];

/// The place of a frame among those of all lanes: its order, and then its lane.
pub(super) type Turn = [u64; 2];

/// A lane that is being replayed.
pub(super) struct Replaying {
    pub lane: usize,
    /// The place after the last frame that was replayed.
    pub end: LanePlace,
    /// The end of the frames that are whole and follow each other.
    pub whole: Place,
    /// The segment that is being read.
    pub current: Option<Reader>,
    /// The segments that are part of the lane, with the offsets at which their frames end.
    pub segments: Vec<(SegmentNumber, u64)>,
    /// True if a frame names one that is not there: neither it nor those after it are replayed.
    pub is_cut: bool,
    /// The end of the synced lane, as frames say that are not replayed.
    pub synced: LogPosition,
    first: SegmentNumber,
}

/// The outcome of a look at the next frame of a lane.
enum Look {
    /// The frame was replayed.
    Applied,
    /// The turn of the frame comes later.
    Later(Turn),
    /// The frame names one that is not there.
    Cut,
    /// The segment has no further frame.
    None,
}

impl Replaying {
    pub(super) fn new(lane: usize, start: LanePlace, current: Option<Reader>) -> Self {
        let first = start.place.position.segment;
        let segments = Vec::new();
        let whole = start.place;
        let synced = LogPosition::default();
        Self { lane, end: start, whole, current, segments, is_cut: false, synced, first }
    }

    /// Replays the frames whose turn is up to `last`. Returns the turn of the next one; `None`
    /// after the last one.
    pub(super) fn run(
        &mut self,
        disk: &dyn Disk,
        stock: &Stock,
        last: Turn,
        orders: &mut Orders,
        apply: &mut dyn FnMut(&[LogRecord<'_>], Applied) -> Result<()>,
    ) -> Result<Option<Turn>> {
        loop {
            match self.look(last, orders, apply)? {
                Look::Applied => {}
                Look::Later(turn) => return Ok(Some(turn)),
                Look::Cut => {
                    self.is_cut = true;
                    self.skip_rest(disk, stock)?;
                    return Ok(None);
                }
                Look::None => {
                    if !self.go_on(disk, stock)? {
                        return Ok(None);
                    }
                    self.end.place = self.whole;
                }
            }
        }
    }

    /// Looks at the next frame, and replays it if it is its turn.
    fn look(
        &mut self,
        last: Turn,
        orders: &mut Orders,
        apply: &mut dyn FnMut(&[LogRecord<'_>], Applied) -> Result<()>,
    ) -> Result<Look> {
        debug_assert_eq!(self.whole, self.end.place, "nothing was left out so far");
        let Some(frame) = next_of(&mut self.current, self.whole)? else { return Ok(Look::None) };
        let mut names = frame.names();
        let order = names.by_ref().map(FrameName::order).fold(self.end.order, u64::max) + 1;
        if order >= MOST_ORDER {
            let segment = self.whole.position.segment.to_string();
            return Err(Error::corrupt(segment, "it has more frames than any log will have"));
        }
        let turn = [order, self.lane as u64];
        if turn > last {
            return Ok(Look::Later(turn));
        }
        if frame.names().any(|name| orders[name.lane()] < name.order()) {
            return Ok(Look::Cut);
        }
        debug_assert!(
            order == next_order(self.end.order, &frame.names().collect::<Vec<_>>()),
            "frames have the same orders as when they were written"
        );
        self.whole.position.at += frame.size as u64;
        self.whole.chain = frame.sum;
        self.end = LanePlace { place: self.whole, order };
        orders[self.lane] = order;
        let applied = Applied { lane: self.lane, place: self.end };
        apply(&LogRecord::decode(frame.kind, frame.body)?, applied)?;
        Ok(Look::Applied)
    }

    /// Finds the end of the frames that are whole, without replaying more.
    fn skip_rest(&mut self, disk: &dyn Disk, stock: &Stock) -> Result<()> {
        loop {
            while let Some(frame) = next_of(&mut self.current, self.whole)? {
                self.synced = self.synced.max(frame.synced.unwrap_or_default());
                self.whole.position.at += frame.size as u64;
                self.whole.chain = frame.sum;
            }
            if !self.go_on(disk, stock)? {
                return Ok(());
            }
        }
    }

    /// Ends a segment, and opens the next one; returns false if it was the last.
    fn go_on(&mut self, disk: &dyn Disk, stock: &Stock) -> Result<bool> {
        if let Some(current) = &self.current {
            self.segments.push((current.number(), self.whole.position.at));
            let segments = &self.segments;
            debug_assert!(segments.is_sorted_by(|a, b| a.0 < b.0), "segments follow each other");
        }
        // The newest of several: the others were given up when writing their headers failed. A
        // segment started before one that is part of the lane, and not part of it, never will be.
        let after = self.segments.last().map_or(self.first, |(number, _)| *number);
        let whole = self.whole;
        let next = stock
            .of_lane(self.lane)
            .filter(|(number, front)| *number > after && front.header.after == whole)
            .last();
        let Some((number, front)) = next else { return Ok(false) };
        self.current = Some(Reader::open(disk, number, front)?);
        let position = LogPosition { segment: number, at: FRAMES_AT };
        self.whole = Place { position, chain: front.sum };
        Ok(true)
    }
}

/// Returns the frame at a place, if it follows the one before.
fn next_of(current: &mut Option<Reader>, place: Place) -> Result<Option<Frame<'_>>> {
    let Some(current) = current else { return Ok(None) };
    let frame = current.frame(place.position.at)?;
    Ok(frame.filter(|frame| frame.before == place.chain))
}
