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
use crate::io::{Disk, File};
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
#[derive(Clone)]
struct Kept {
    database: u64,
    fronts: BTreeMap<SegmentNumber, Front>,
}

impl Kept {
    /// Looks for them. Leaves out files that become segments just now, or were removed in the
    /// meantime.
    fn find(disk: &dyn Disk, database: u64) -> Result<Self> {
        let mut kept = Self { database, fronts: BTreeMap::new() };
        kept.look(disk)?;
        Ok(kept)
    }

    /// Looks for those that have come, and forgets those that were removed. It reads the files of
    /// new ones only.
    fn look(&mut self, disk: &dyn Disk) -> Result<()> {
        let there = numbers(disk)?;
        self.fronts.retain(|number, _| there.binary_search(number).is_ok());
        for number in there {
            if self.fronts.contains_key(&number) {
                continue;
            }
            if let Some((front, _)) = self.read(disk, number)? {
                self.fronts.insert(number, front);
            }
        }
        Ok(())
    }

    /// Opens a segment and reads its front; `None` if there is none of this kind.
    fn read(
        &self,
        disk: &dyn Disk,
        number: SegmentNumber,
    ) -> Result<Option<(Front, Box<dyn File>)>> {
        let file = match disk.open_passing(&number.file_name()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| Error::io(format!("read {number}"), &error))?,
        };
        Ok(match front::read(&*file, number)? {
            Found::Front(front)
                if front.header.number == number
                    && front.header.database == self.database
                    && front.header.lane == 0
                    && front.header.kept_mib > 0 =>
            {
                Some((front, file))
            }
            _ => None,
        })
    }

    /// Opens a segment to read it; returns `None` and forgets it if its file is another one or
    /// none by now.
    fn open(&mut self, disk: &dyn Disk, front: Front) -> Result<Option<Reader>> {
        let number = front.header.number;
        match self.read(disk, number)? {
            Some((found, file)) if found.sum == front.sum => {
                Reader::of(file, number, found).map(Some)
            }
            _ => {
                self.fronts.remove(&number);
                Ok(None)
            }
        }
    }

    /// Returns the segment before another, if it is kept.
    fn before(&self, front: &Front) -> Option<&Front> {
        let number = front.header.after.position.segment;
        self.fronts.get(&number).filter(|before| before.header.number < front.header.number)
    }

    /// Returns all segments that lead to the newest one, that one first.
    fn newest_first(&self) -> impl Iterator<Item = &Front> {
        let newest = self.fronts.last_key_value().map(|(_, front)| front);
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
    current: Reader,
    /// What is known of the segments: more may have come since, and the oldest may have gone.
    kept: Kept,
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
        let mut kept = Kept::find(&*disk, database)?;
        let oldest = kept.oldest()?;
        // What ended just before the oldest segment is followed by that.
        let since = since.filter(|since| *since != oldest.header.after);
        let place = since.unwrap_or_else(|| start_of(oldest));
        let number = place.position.segment;
        if number < oldest.header.number {
            return Err(kept.gone(place));
        }
        let other = || Error::OtherPosition { position: place.into() };
        let front = *kept.fronts.get(&number).ok_or_else(other)?;
        let Some(mut current) = kept.open(&*disk, front)? else { return Err(kept.gone(place)) };
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
        let unsynced = kept.fronts.range(..=number).map(|(number, _)| *number).collect();
        debug_assert!(place.position.at >= FRAMES_AT, "a reader starts at a frame");
        debug_assert_eq!(front.header.number, number, "a file has the segment of its name");
        Ok(Self { disk, current, kept, place, end, unsynced })
    }

    /// Checks that the changes after a place are kept, as far as segments say.
    ///
    /// # Errors
    /// `ChangesNotKept`; `ChangesGone`; `Io`.
    pub(crate) fn expect_kept(disk: &dyn Disk, database: u64, place: Place) -> Result<()> {
        let kept = Kept::find(disk, database)?;
        let oldest = kept.oldest()?;
        if kept.fronts.contains_key(&place.position.segment) || oldest.header.after == place {
            return Ok(());
        }
        let is_older = place.position.segment < oldest.header.number;
        Err(if is_older { kept.gone(place) } else { Error::ChangesNotKept })
    }

    /// Returns another reader, of what comes next.
    ///
    /// # Errors
    /// `ChangesGone`; `Io`.
    pub(crate) fn ahead(&self) -> Result<Self> {
        let mut kept = self.kept.clone();
        let front = self.current.front;
        let Some(current) = kept.open(&*self.disk, front)? else {
            return Err(kept.gone(self.place));
        };
        let disk = Arc::clone(&self.disk);
        let Self { place, end, .. } = *self;
        Ok(Self { disk, current, kept, place, end, unsynced: Vec::new() })
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
        if self.enter_next()? {
            return Ok(Following::Segment);
        }
        self.kept.look(&*self.disk)?;
        if self.enter_next()? {
            return Ok(Following::Segment);
        }
        let number = self.current.front.header.number;
        debug_assert_eq!(self.place.position.segment, number, "the place is in what is read");
        if !self.kept.fronts.contains_key(&number) {
            return Err(self.kept.gone(self.place));
        }
        let is_longer = self.kept.end_of(number).is_some_and(|end| end > self.place.position);
        Ok(if is_longer { Following::Frame } else { Following::Nothing })
    }

    /// Continues in the next segment, if one is known to follow the place.
    fn enter_next(&mut self) -> Result<bool> {
        let here = self.current.front;
        // A segment without frames may have been given up for another one after that place.
        let is_start = self.place == start_of(&here);
        let is_next = |front: &&Front| {
            let after = front.header.after;
            after == self.place || is_start && after == here.header.after
        };
        let mut later = self.kept.fronts.range(here.header.number.next()..).map(|(_, front)| front);
        let Some(next) = later.rfind(is_next).copied() else { return Ok(false) };
        let Some(current) = self.kept.open(&*self.disk, next)? else { return Ok(false) };
        let place = start_of(&next);
        debug_assert!(place.position > self.place.position, "a reader goes forward");
        debug_assert_eq!(next.header.lane, 0, "changes have one order");
        debug_assert_eq!(next.header.number, place.position.segment, "a segment has its own start");
        self.current = current;
        self.place = place;
        self.unsynced.push(place.position.segment);
        Ok(true)
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
