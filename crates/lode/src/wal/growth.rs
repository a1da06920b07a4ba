//! New segments: those that lanes need, and those that are made ahead of need; and more lanes.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use super::front::FRAMES_AT;
use super::names::MOST_LANES;
use super::numbers::{Number, Numbers};
use super::segment::Segment;
use super::tail::half_of;
use super::turn::Old;
use super::{
    LEAST_SECOND_BYTES, Lane, LanePlace, Log, LogPosition, PAGE_BYTES, Place, ZEROS_BYTES, frame,
    lock,
};
use crate::error::{Effect, Error, Result};
use crate::observability::Lack;

/// The numbers of threads that append to logs of several lanes.
static NUMBERS: Numbers = Numbers::new();

/// The number of a thread, once it has one.
struct Own(Cell<Option<Number>>, Cell<usize>);

thread_local! {
    static OWN: Own = const { Own(Cell::new(None), Cell::new(usize::MAX)) };
}

/// Returns the number of this thread.
#[inline]
fn own_number() -> usize {
    // A thread that is about to end may have no number any more.
    OWN.try_with(|own| match own.1.get() {
        usize::MAX => {
            let number = NUMBERS.take();
            own.1.set(number.get());
            own.0.set(Some(number));
            own.1.get()
        }
        number => number,
    })
    .unwrap_or(0)
}

/// Gives this thread a number, whether another thread has it or not.
#[cfg(any(test, feature = "simulation"))]
pub(crate) fn set_own_number(number: usize) {
    OWN.with(|own| own.1.set(number));
}

/// A lane that is made and not used yet.
#[derive(Default)]
pub(super) struct Prepared(pub(super) Mutex<Option<Box<Lane>>>);

impl Log {
    /// Makes room in a lane for a record whose body has this size: starts the next segment if need
    /// be.
    pub(crate) fn make_room(&self, lane: &Lane, bytes: usize) -> Result<()> {
        let _stall = self.observer.stalls(Lack::Segment);
        let wanted = frame::most_bytes(bytes, self.count());
        // A segment that is being made is waited for.
        let _making = self.ahead.hurry(|| lock(&self.making));
        let mut old = lock(&lane.old);
        let last_bytes = {
            let tail = lock(&lane.tail);
            if tail.at + wanted <= tail.segment.size_bytes {
                return Ok(());
            }
            tail.segment.size_bytes
        };
        let least_bytes = wanted + FRAMES_AT;
        let new_bytes = self.next_bytes(&old, last_bytes).max(least_bytes);
        let mut turn = lock(&self.turn);
        let next = turn.prepare(&*self.disk, least_bytes, new_bytes)?;
        debug_assert!(next.size_bytes >= least_bytes, "the new segment has room for the record");
        lane.go_on_in(self, next, &mut old, &mut turn)
    }

    /// Returns the bytes of a new segment, after a last one of `last_bytes`: a quarter of the lane,
    /// so that little of its files is not in use.
    fn next_bytes(&self, old: &[Old], last_bytes: u64) -> u64 {
        let old_bytes: u64 = old.iter().map(|old| old.end).sum();
        let bytes = (old_bytes + last_bytes) / 4;
        let whole = bytes.max(LEAST_SECOND_BYTES).next_multiple_of(PAGE_BYTES);
        debug_assert!(whole.is_multiple_of(PAGE_BYTES), "segments are whole pages");
        whole.min(self.settings.most_bytes)
    }

    /// Waits until the next segment is to be [made](Self::make_next), or something else was [asked
    /// for](Self::ask_ahead); returns false if the log [has ended](Self::end_ahead).
    pub(crate) fn wait_until_asked(&self) -> bool {
        self.ahead.wait()
    }

    /// Wakes the thread that makes segments ahead of need, for the data file.
    pub(crate) fn ask_ahead(&self) {
        self.ahead.ask();
    }

    /// Ends the wait for more segments, for good.
    pub(crate) fn end_ahead(&self) {
        self.ahead.end();
    }

    /// Makes the next segments of lanes whose last one is half full, if no files are kept for them:
    /// a writer that made one would wait, a millisecond for two mebibytes where files are in
    /// memory.
    ///
    /// # Errors
    /// `Io`, `DiskFull`. The thread that needs the segment tries again.
    pub(crate) fn make_next(&self) -> Result<()> {
        let is_half_full = |lane: &&Lane| {
            let tail = lock(&lane.tail);
            tail.at >= half_of(&tail.segment)
        };
        self.lanes()
            .filter(is_half_full)
            .enumerate()
            .try_for_each(|(before, lane)| self.make_next_of(lane, before))
    }

    /// Makes the next segment of a lane, unless there are more kept files than those that `before`
    /// other lanes need.
    fn make_next_of(&self, lane: &Lane, before: usize) -> Result<()> {
        let making = lock(&self.making);
        let old = lock(&lane.old);
        let (last_bytes, is_bulk) = {
            let tail = lock(&lane.tail);
            if tail.at < half_of(&tail.segment) {
                return Ok(());
            }
            (tail.segment.size_bytes, tail.is_bulk)
        };
        let size = self.next_bytes(&old, last_bytes);
        drop(old);
        let number = {
            let mut turn = lock(&self.turn);
            if turn.spares.len() > before {
                return Ok(());
            }
            turn.take_number()
        };
        let segment = Segment::create(&*self.disk, number, size, self.settings.writing)?;
        if segment.gains_from_zeros() && !is_bulk {
            self.write_zeros_ahead(lane, &segment).inspect_err(|_| {
                // If it stays, recovery removes it.
                let _ = self.disk.remove(&number.file_name());
            })?;
        }
        let mapped = segment.mapped().filter(|_| !is_bulk);
        debug_assert_eq!(segment.number, number, "a file has the name of its segment");
        lock(&self.turn).spares.push((number, segment));
        drop(making);
        mapped.iter().for_each(|mapped| mapped.prepare());
        Ok(())
    }

    /// Writes zeros to a new segment, from its start on, until it may soon be needed, or another
    /// thread waits.
    fn write_zeros_ahead(&self, lane: &Lane, segment: &Segment) -> Result<()> {
        let is_needed_soon = || {
            let tail = lock(&lane.tail);
            tail.at > tail.segment.size_bytes / 4 * 3
        };
        let mut at = 0;
        while at < segment.size_bytes && !is_needed_soon() && !self.ahead.is_hurried() {
            let end = segment.size_bytes.min(at + ZEROS_BYTES);
            segment.write_zeros(at..end)?;
            segment.sync()?;
            at = end;
        }
        Ok(())
    }

    /// Moves each lane to a segment as small as the first one, if its last one is larger: after a
    /// checkpoint, the larger one is no longer needed.
    pub(crate) fn begin_small(&self) -> Result<()> {
        self.lanes().try_for_each(|lane| {
            let mut old = lock(&lane.old);
            let size = self.settings.first_bytes;
            if lock(&lane.tail).segment.size_bytes <= size {
                return Ok(());
            }
            let mut turn = lock(&self.turn);
            let next = turn.prepare(&*self.disk, size, size)?;
            lane.go_on_in(self, next, &mut old, &mut turn)
        })
    }

    /// Returns the lane that this thread appends to.
    #[inline(always)]
    pub(crate) fn own_lane(&self) -> &Lane {
        if self.count() == 1 { &self.first } else { self.lane_of_several() }
    }

    fn lane_of_several(&self) -> &Lane {
        match own_number() % self.count() {
            0 => &self.first,
            number => self.others[number - 1].get().expect("as many lanes are there"),
        }
    }

    /// Asks for one more lane: threads wait for each other.
    #[cold]
    pub(super) fn ask_for_lane(&self) {
        if self.count() < self.most_used {
            self.is_lane_wanted.store(true, Ordering::Relaxed);
            self.ahead.ask();
        }
    }

    /// Returns the number of lanes that there should be by now: twice as many after a thread has
    /// [asked](Self::ask_for_lane).
    pub(crate) fn wanted_lanes(&self) -> usize {
        let count = self.count();
        let is_wanted = self.is_lane_wanted.swap(false, Ordering::Relaxed);
        if is_wanted { self.most_used.min(2 * count) } else { count }
    }

    /// Returns true if the log may have this number of lanes.
    pub(crate) fn may_have(&self, count: usize) -> bool {
        count <= self.settings.most_lanes
    }

    /// Returns true if the log has fewer lanes than that.
    pub(crate) fn lanes_missing(&self, count: usize) -> bool {
        self.count() < count
    }

    /// Makes one more lane, which [`begin_lane`](Self::begin_lane) has threads use, when the
    /// superblock names it. Returns its number, and the place at which it starts.
    ///
    /// # Errors
    /// `Io`, `DiskFull`; `Poisoned` if a sync fails.
    pub(crate) fn prepare_lane(&self) -> Result<(usize, LanePlace)> {
        assert!(self.count() < MOST_LANES.min(self.settings.most_lanes), "a log has so many lanes");
        let mut prepared = lock(&self.prepared.0);
        if prepared.is_none() {
            *prepared = Some(Box::new(self.new_lane(self.count())?));
        }
        let lane = prepared.as_ref().expect("it was prepared");
        Ok((lane.number, lane.place(&lock(&lane.tail))))
    }

    /// Makes the first segment of a lane.
    fn new_lane(&self, lane: usize) -> Result<Lane> {
        let settings = &self.settings;
        let number = lock(&self.turn).take_number();
        let size = settings.first_bytes;
        let mut segment = Segment::create(&*self.disk, number, size, settings.writing)?;
        let after = Place::default();
        let synced = LogPosition::default();
        let header = lock(&self.turn).header(&segment, self.database, lane, after, synced);
        let chain = segment.begin(&header).inspect_err(|_| {
            // If it stays, recovery removes it.
            let _ = self.disk.remove(&number.file_name());
        })?;
        // The name too: no later sync of the lane sees to it.
        let synced = segment.sync().and_then(|()| {
            let synced = self.disk.sync_directory();
            synced.map_err(|error| Error::io("sync the name of a new log segment", &error))
        });
        synced.map_err(|error| Error::Poisoned { why: error.to_string(), effect: Effect::None })?;
        Ok(Lane::new(lane, segment, chain, Vec::new()))
    }

    /// Has threads use the lane that was prepared. The caller is alone: no other thread appends, or
    /// has latched a page to do so.
    pub(crate) fn begin_lane(&self) {
        let lane = lock(&self.prepared.0).take().expect("a lane was prepared");
        let count = self.count();
        assert_eq!(lane.number, count, "lanes begin one after another");
        if count == 1 {
            // So far, pages have no names of frames.
            self.floor.store(self.first.last());
        }
        let set = self.others[count - 1].set(lane);
        assert!(set.is_ok(), "a lane begins once");
        self.count.store(count + 1, Ordering::Release);
    }
}
