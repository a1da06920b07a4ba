//! A lane of the log: frames one after another, in segments of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use super::frame::{Head, MOST_SHORT_NAMES, Short};
use super::front::FRAMES_AT;
use super::mark::Mark;
use super::names::{FrameName, Names, Touched, next_order};
use super::segment::Segment;
use super::tail::{LEAST_LONG_BYTES, Tail, half_of};
use super::turn::{Old, Turn};
use super::unsynced::Unsynced;
use super::{Body, LEAST_BULK_BYTES, LanePlace, Log, LogPosition, RecordKind, lock};
use crate::error::Result;

/// The threads that wait for another one, in one segment, until one more lane is asked for.
const MOST_WAITED: u32 = 32;

/// A lane of the log. Each is alone on its lines of the processor's cache.
#[repr(align(128))]
pub(crate) struct Lane {
    pub(super) number: usize,
    pub(super) tail: Mutex<Tail>,
    /// The end of the last whole frame. A sync needs no lock that a writer may hold for long.
    pub(super) end: Mark,
    /// The order of that frame.
    order: AtomicU64,
    /// The known end of the synced lane.
    pub(super) synced: Mark,
    pub(super) unsynced: Mutex<Unsynced>,
    /// The segments before the last one that recovery would need. Held while a segment is started;
    /// locked before the turn of segments and the tail.
    pub(super) old: Mutex<Vec<Old>>,
}

impl Lane {
    /// Creates the lane that continues in a segment, whose header has a checksum of `chain`, and
    /// which is synced.
    pub(super) fn new(number: usize, segment: Segment, chain: u32, old: Vec<Old>) -> Self {
        let start = LogPosition { segment: segment.number, at: FRAMES_AT };
        debug_assert!(old.is_sorted_by(|a, b| a.number < b.number), "segments follow each other");
        let is_last = old.last().is_none_or(|last| last.number < segment.number);
        assert!(is_last, "numbers of segments grow");
        Self {
            number,
            unsynced: Mutex::new(Unsynced::new(&segment)),
            tail: Mutex::new(Tail::new(segment, chain)),
            end: Mark::new(start),
            order: AtomicU64::new(0),
            synced: Mark::new(start),
            old: Mutex::new(old),
        }
    }

    /// Returns the name of the last frame, which is whole.
    pub(super) fn last(&self) -> FrameName {
        FrameName::new(self.order.load(Ordering::Acquire), self.number)
    }

    /// Locks the tail to append to it.
    #[inline(always)]
    fn tail_to_append(&self, log: &Log) -> MutexGuard<'_, Tail> {
        match self.tail.try_lock() {
            Ok(tail) => tail,
            Err(TryLockError::Poisoned(tail)) => tail.into_inner(),
            Err(TryLockError::WouldBlock) => self.wait_for_tail(log),
        }
    }

    #[cold]
    fn wait_for_tail(&self, log: &Log) -> MutexGuard<'_, Tail> {
        let mut tail = lock(&self.tail);
        tail.waited += 1;
        if tail.waited == MOST_WAITED {
            log.ask_for_lane();
        }
        tail
    }

    /// Appends a record, after the frames that changed the `touched` pages last; if these are not
    /// given, there are no other lanes. Returns the result of `work`, which is called at that very
    /// moment, and the end of the record's frame; `None` if there is [no room](Log::make_room).
    #[inline(always)]
    pub(super) fn append<T>(
        &self,
        log: &Log,
        kind: RecordKind,
        body: &(impl Body + ?Sized),
        touched: Option<Touched<'_>>,
        work: impl FnOnce() -> T,
    ) -> Result<Option<(T, LogPosition)>> {
        let size = body.size_bytes();
        debug_assert!(u32::try_from(size).is_ok(), "a record of the log has {size} bytes");
        let mut short = Short::new();
        let is_short = short.fill(body, size);
        let mut tail = self.tail_to_append(log);
        let tail = &mut *tail;
        // Not made where there are no others: that takes as long as much of the rest.
        let collected;
        let names = match &touched {
            Some(touched) => {
                collected = self.names_after(log, tail, touched);
                collected.as_slice()
            }
            None => &[],
        };
        let synced = self.synced.get();
        debug_assert!(synced <= tail.place().position, "nothing is synced that is not written");
        let noted = (tail.noted < synced).then_some(synced);
        let head = Head { before: tail.chain, kind, size, synced: noted, names };
        let end = tail.at + head.frame_bytes();
        if end > tail.segment.size_bytes {
            return Ok(None);
        }
        let written = if is_short && names.len() <= MOST_SHORT_NAMES {
            tail.write_short(&head, &mut short)
        } else if size < LEAST_LONG_BYTES {
            tail.write(&head, body)
        } else {
            tail.write_long(&head, body)
        };
        let chain = written.inspect_err(|_| tail.segment.take_back(tail.at))?;
        if let Some(noted) = noted {
            tail.noted = noted;
        }
        debug_assert!(tail.at < end, "each frame ends after the one before");
        debug_assert!(end.is_multiple_of(8), "frames start at whole words");
        debug_assert!(end <= tail.segment.size_bytes, "a frame ends in its segment");
        (tail.at, tail.chain, tail.is_bulk) = (end, chain, size >= LEAST_BULK_BYTES);
        if end >= tail.ask_at {
            tail.ask_at = u64::MAX;
            log.ahead.ask();
        }
        let end = tail.place().position;
        debug_assert!(tail.noted < end, "a frame notes what was synced before it");
        self.end.set(end);
        let order = next_order(self.order.load(Ordering::Relaxed), names);
        self.order.store(order, Ordering::Release);
        if let Some(touched) = touched {
            tail.note_names(names);
            touched.set(FrameName::new(order, self.number));
        }
        Ok(Some((work(), end)))
    }

    /// Returns the frames of other lanes that the next frame depends on.
    #[inline(never)]
    fn names_after(&self, log: &Log, tail: &Tail, touched: &Touched<'_>) -> Names {
        let mut names = Names::none();
        let floor = log.floor();
        let mut add = |name: FrameName| {
            if name.lane() != self.number {
                tail.name(&mut names, name);
            }
        };
        add(floor);
        let mut is_after_all = touched.is_after_all;
        touched.each(|name, is_several| {
            // The frame at the floor names all before it.
            if name.order() > floor.order() {
                add(name);
                is_after_all |= is_several;
            }
        });
        if is_after_all {
            log.lanes().for_each(|lane| add(lane.last()));
        }
        names
    }

    /// Makes a segment the last one.
    pub(super) fn go_on_in(
        &self,
        log: &Log,
        mut next: Segment,
        old: &mut Vec<Old>,
        turn: &mut Turn,
    ) -> Result<()> {
        let mut tail = lock(&self.tail);
        assert!(next.number > tail.segment.number, "numbers of segments grow");
        assert!(
            old.last().is_none_or(|last| last.number < tail.segment.number),
            "segments follow each other"
        );
        let after = tail.place();
        let synced = self.synced.get();
        let header = turn.header(&next, log.database, self.number, after, synced);
        let chain = next.begin(&header)?;
        let end = tail.at;
        // Before any record ends in it: a sync up to there syncs its file.
        let held_from = lock(&self.unsynced).begin(&next);
        let full = std::mem::replace(&mut tail.segment, next);
        (tail.at, tail.chain, tail.noted) = (FRAMES_AT, chain, header.synced);
        tail.ask_at = half_of(&tail.segment);
        tail.waited = 0;
        debug_assert!(tail.at < tail.segment.size_bytes, "a new segment has room for frames");
        self.end.set(tail.place().position);
        drop(tail);
        full.mapped().iter().for_each(|mapped| mapped.unmap(held_from as usize..end as usize));
        old.push(Old { number: full.number, end, segment: Some(full) });
        log.alarm.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the place at which the next frame will be. The caller holds the tail.
    pub(super) fn place(&self, tail: &Tail) -> LanePlace {
        LanePlace { place: tail.place(), order: self.order.load(Ordering::Relaxed) }
    }

    /// Returns the bytes from a position on, as far as its segments are not forgotten.
    pub(super) fn bytes_since(&self, position: LogPosition) -> u64 {
        let old = lock(&self.old);
        let end = self.end.get();
        let mut bytes = end.at;
        let mut is_there = end.segment == position.segment;
        for Old { number, end, .. } in old.iter().filter(|old| old.number >= position.segment) {
            bytes += end;
            is_there |= *number == position.segment;
        }
        if is_there { bytes.saturating_sub(position.at) } else { bytes }
    }
}
