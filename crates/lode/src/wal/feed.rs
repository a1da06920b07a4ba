//! Reads the history of the log: the frames of its only lane from a place on, to its end of now.
//! Another process may append in the meantime, or another thread of this one.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

use super::front::{self, FRAMES_AT, Found, Front};
use super::reader::Reader;
use super::stock::numbers;
use super::{LogPosition, LogRecord, Place, SegmentNumber};
use crate::error::{Error, Result};
use crate::io::Disk;
use crate::position::Position;

impl From<Place> for Position {
    fn from(Place { position: LogPosition { segment, at }, chain }: Place) -> Self {
        Self { segment: segment.get(), at, chain }
    }
}

impl From<Position> for Place {
    fn from(Position { segment, at, chain }: Position) -> Self {
        Self { position: LogPosition { segment: SegmentNumber::new(segment), at }, chain }
    }
}

/// The segments of a database that say what was before each record.
struct Kept(BTreeMap<SegmentNumber, Front>);

impl Kept {
    /// Looks for them. Leaves out files that become segments just now, or were removed in the
    /// meantime.
    fn find(disk: &dyn Disk, database: u64) -> Result<Self> {
        let mut kept = BTreeMap::new();
        for number in numbers(disk)? {
            let file = match disk.open_passing(&number.file_name()) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                opened => opened.map_err(|error| Error::io(format!("read {number}"), &error))?,
            };
            if let Found::Front(front) = front::read(&*file, number)?
                && front.header.number == number
                && front.header.database == database
                && front.header.lane == 0
                && front.header.kept_mib > 0
            {
                kept.insert(number, front);
            }
        }
        Ok(Self(kept))
    }

    /// Returns the segment before another, if it is kept.
    fn before(&self, front: &Front) -> Option<&Front> {
        let number = front.header.after.position.segment;
        self.0.get(&number).filter(|before| before.header.number < front.header.number)
    }

    /// Returns all segments that lead to the newest one, that one first.
    fn newest_first(&self) -> impl Iterator<Item = &Front> {
        let newest = self.0.last_key_value().map(|(_, front)| front);
        std::iter::successors(newest, |front| self.before(front))
    }

    /// Returns the oldest segment.
    ///
    /// # Errors
    /// `ChangesNotKept` if no segment has changes.
    fn oldest(&self) -> Result<&Front> {
        self.newest_first().last().ok_or(Error::ChangesNotKept)
    }

    /// Returns the position at which the log has left a segment.
    fn end_of(&self, number: SegmentNumber) -> Option<LogPosition> {
        let ends = self.newest_first().map(|front| front.header.after.position);
        ends.into_iter().find(|end| end.segment == number)
    }

    /// Returns the error that the changes after a place are gone.
    fn gone(&self, since: Place) -> Error {
        match self.oldest() {
            Ok(oldest) => {
                Error::ChangesGone { since: since.into(), oldest: start_of(oldest).into() }
            }
            Err(error) => error,
        }
    }
}

/// The knowledge about the part of a segment that was read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Possibly read a while ago.
    Old,
    /// Read just now.
    Fresh,
    /// Read after the log had left the segment, at a later place.
    Whole,
}

/// The successor of the last whole frame that was found in a segment.
enum Following {
    /// The next segment.
    Segment,
    /// A frame, as a later segment says.
    Frame,
    Nothing,
}

/// Returns the place of the first frame of a segment.
fn start_of(front: &Front) -> Place {
    let position = LogPosition { segment: front.header.number, at: FRAMES_AT };
    Place { position, chain: front.sum }
}

/// A reader of the history.
pub(crate) struct Feed {
    disk: Arc<dyn Disk>,
    database: u64,
    current: Reader,
    /// The place of the next frame.
    place: Place,
    /// A position that frames lead to.
    end: LogPosition,
    /// The segments with frames that were read since [`sync`](Self::sync).
    unsynced: Vec<SegmentNumber>,
}

impl Feed {
    /// Starts to read after a place; with `None`, all that is kept. The log is known to reach
    /// `end`.
    ///
    /// # Errors
    /// `ChangesNotKept`; `ChangesGone`; `OtherPosition`; `Version`, `Io`.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        database: u64,
        since: Option<Place>,
        end: LogPosition,
    ) -> Result<Self> {
        let kept = Kept::find(&*disk, database)?;
        let oldest = kept.oldest()?;
        // What ended just before the oldest segment is followed by that.
        let since = since.filter(|since| *since != oldest.header.after);
        let place = since.unwrap_or_else(|| start_of(oldest));
        let number = place.position.segment;
        if number < oldest.header.number {
            return Err(kept.gone(place));
        }
        let other = || Error::OtherPosition { position: place.into() };
        let front = *kept.0.get(&number).ok_or_else(other)?;
        let mut current = open(&*disk, &kept, place, front)?;
        let known_end = kept.end_of(number).unwrap_or(end);
        match reached(&mut current, place.position)? {
            found if found == place => {}
            // Frames follow, so one of them is damaged: no frame leads to the place any more.
            found if found.position < place.position.min(known_end) => {
                return Err(damaged(found.position));
            }
            _ => return Err(other()),
        }
        // What came before is of use only together with what leads to it.
        let unsynced = kept.0.range(..=number).map(|(number, _)| *number).collect();
        debug_assert!(place.position.at >= FRAMES_AT, "a reader starts at a frame");
        debug_assert_eq!(front.header.number, number, "a file has the segment of its name");
        Ok(Self { disk, database, current, place, end, unsynced })
    }

    /// Returns true if the segment of a place keeps changes.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn keeps(disk: &dyn Disk, database: u64, place: Place) -> Result<bool> {
        Ok(Kept::find(disk, database)?.0.contains_key(&place.position.segment))
    }

    /// Returns another reader, of what comes next.
    pub(crate) fn ahead(&self) -> Result<Self> {
        Self::open(Arc::clone(&self.disk), self.database, Some(self.place), self.end)
    }

    /// Returns the place after the last frame that was read.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Calls `work` with the records of the next frame; returns `None` if no frame follows by now.
    /// If `work` fails, the frame is the next one again.
    ///
    /// # Errors
    /// As [`open`](Self::open); `Corrupt`; those of `work`.
    pub(crate) fn next<T>(
        &mut self,
        work: impl FnOnce(&[LogRecord<'_>]) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut known = Known::Old;
        loop {
            let Place { position, chain } = self.place;
            match self.current.frame(position.at) {
                Ok(Some(frame)) if frame.before == chain => {
                    debug_assert!(frame.size > 0, "a reader goes on");
                    let done = work(&LogRecord::decode(frame.kind, frame.body)?)?;
                    self.place.position.at += frame.size as u64;
                    self.place.chain = frame.sum;
                    return Ok(Some(done));
                }
                Err(error) if known != Known::Old => return Err(error),
                Ok(_) | Err(_) => {}
            }
            if known == Known::Whole {
                return Err(damaged(self.place.position));
            }
            // It may have been appended since this part was read.
            self.current.forget()?;
            if known == Known::Old {
                known = Known::Fresh;
                continue;
            }
            known = match self.follow()? {
                Following::Segment => Known::Fresh,
                Following::Frame => Known::Whole,
                Following::Nothing if self.place.position < self.end => {
                    return Err(damaged(self.place.position));
                }
                Following::Nothing => return Ok(None),
            };
        }
    }

    /// Looks for what follows the last whole frame of a segment; continues in the next segment if
    /// that is it.
    fn follow(&mut self) -> Result<Following> {
        let kept = Kept::find(&*self.disk, self.database)?;
        let here = self.current.front;
        let number = here.header.number;
        // A segment without frames may have been given up for another one after that place.
        let is_start = self.place == start_of(&here);
        let is_next = |front: &&Front| {
            let after = front.header.after;
            after == self.place || is_start && after == here.header.after
        };
        let mut later = kept.0.range(number.next()..).map(|(_, front)| front);
        if let Some(next) = later.rfind(is_next) {
            let place = start_of(next);
            debug_assert!(place.position > self.place.position, "a reader goes forward");
            debug_assert_eq!(next.header.lane, 0, "changes have one order");
            self.current = open(&*self.disk, &kept, place, *next)?;
            self.place = place;
            self.unsynced.push(place.position.segment);
            return Ok(Following::Segment);
        }
        if !kept.0.contains_key(&number) {
            return Err(kept.gone(self.place));
        }
        let is_longer = kept.end_of(number).is_some_and(|end| end > self.place.position);
        Ok(if is_longer { Following::Frame } else { Following::Nothing })
    }

    /// Makes all frames that were read durable: no crash of the machine takes them back.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let failed = |error: std::io::Error| Error::io("sync the log", &error);
        for number in &self.unsynced {
            match self.disk.open_passing(&number.file_name()) {
                // Only what is durable is removed.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                opened => opened.and_then(|file| file.sync()).map_err(failed)?,
            }
        }
        self.disk.sync_directory().map_err(failed)?;
        // Its own segment may get more frames.
        self.unsynced = vec![self.place.position.segment];
        Ok(())
    }
}

/// Opens a segment to read it from a place on.
fn open(disk: &dyn Disk, kept: &Kept, place: Place, front: Front) -> Result<Reader> {
    let number = place.position.segment;
    match disk.open_passing(&number.file_name()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(kept.gone(place)),
        Err(error) => Err(Error::io(format!("read {number}"), &error)),
        Ok(file) => Reader::of(file, number, front),
    }
}

/// Returns the error that a frame is not whole, though frames follow it.
fn damaged(LogPosition { segment, at }: LogPosition) -> Error {
    Error::corrupt(segment.to_string(), format!("the record at byte {at} is damaged"))
}

/// Returns the place to which the frames of a segment lead: the first that is not before a
/// position, or the end of whole frames.
fn reached(segment: &mut Reader, position: LogPosition) -> Result<Place> {
    let mut found = start_of(&segment.front);
    debug_assert_eq!(found.position.segment, position.segment, "a segment leads to its own places");
    let mut is_again = false;
    while found.position.at < position.at {
        match segment.frame(found.position.at) {
            Ok(Some(frame)) if frame.before == found.chain => {
                found.position.at += frame.size as u64;
                found.chain = frame.sum;
            }
            Ok(_) => return Ok(found),
            Err(error) if is_again => return Err(error),
            Err(_) => {
                // It may have been cut off in the meantime, where its frames end.
                segment.forget()?;
                is_again = true;
            }
        }
    }
    Ok(found)
}
