//! The write-ahead log: records of operations, one after another, in segments.
//!
//! An operation that has latched what it will change [appends](Log::append) its record: that is
//! when it happens, and in which epoch. Nothing waits for the disk there. An operation that has to
//! be durable [syncs](Log::sync) the log up to its record, and all that wait at the same time share
//! the [sync](group).
//!
//! The log is valid only as a prefix: each frame has its checksum and that of the frame before. A
//! frame that notes what was synced proves that the frames before it cannot just be missing. For
//! the last frames, a segment's [front] says it, as a [sync](unsynced) leaves it.

mod ahead;
mod body;
mod frame;
mod front;
mod group;
mod mark;
mod reader;
mod record;
mod replay;
mod segment;
mod stock;
mod tail;
#[cfg(test)]
mod tests;
mod turn;
mod unsynced;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ahead::Ahead;
pub(crate) use body::{Body, Together};
use frame::{Head, Short};
use front::FRAMES_AT;
use group::Group;
use mark::Mark;
pub(crate) use record::{Keyed, LogRecord, RecordKind, TableId};
pub(crate) use replay::{Ending, Replayed, Start, replay};
use segment::Segment;
pub(crate) use segment::SegmentNumber;
pub(crate) use stock::Stock;
use tail::{LEAST_LONG_BYTES, Tail, half_of};
use turn::Turn;
use unsynced::Unsynced;

use crate::error::{Error, Result};
use crate::io::Disk;

/// A position in the log: a segment, and bytes from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogPosition {
    pub segment: SegmentNumber,
    pub at: u64,
}

/// A position in the log with the checksum that the next frame must follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub position: LogPosition,
    /// The checksum of the frame before.
    pub chain: u32,
}

/// The sizes of segments, and the way that frames are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSettings {
    /// Bytes of the first segment. Later ones are larger the longer the log is.
    pub first_bytes: u64,
    /// Bytes of the largest segment, if no single frame needs more.
    pub most_bytes: u64,
    pub writing: FrameWriting,
}

/// The way that frames are handed to the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameWriting {
    /// Through a mapping of the file, where it can be mapped: without a call of the system.
    Mapped,
    /// By a call for each frame, but through a mapping where files are in memory. For a log that is
    /// synced after each frame or two.
    ///
    /// The kernel may keep many pages of a file as one folio. A write through a mapping marks all
    /// of it (`block_page_mkwrite` of Linux), and the next sync writes it out. A call marks the
    /// blocks that it changes.
    Called,
}

/// The least bytes of the second segment. The first one may be much shorter, so that a small
/// database takes up little.
const LEAST_SECOND_BYTES: u64 = 128 << 10;

/// The least bytes of a record after which more such are likely, which need no memory ahead.
const LEAST_BULK_BYTES: usize = 1 << 16;

/// Zeros that are written to a new segment at a time: other syncs of the disk may wait for them.
const ZEROS_BYTES: u64 = 1 << 18;

/// Bytes of the operating system's pages, or a part of one.
const PAGE_BYTES: u64 = 1 << 12;

const _: () = assert!(
    LEAST_SEGMENT_BYTES <= LEAST_SECOND_BYTES && LEAST_SECOND_BYTES.is_multiple_of(PAGE_BYTES),
    "a second segment has room for frames"
);

/// Bytes of the shortest segment: its front, and as many bytes of frames.
pub(crate) const LEAST_SEGMENT_BYTES: u64 = 2 * FRAMES_AT;

/// The log of a database.
pub(crate) struct Log {
    disk: Arc<dyn Disk>,
    database: u64,
    settings: LogSettings,
    tail: Mutex<Tail>,
    /// The end of the last whole frame. A sync needs no lock that a writer may hold for long.
    end: Mark,
    /// The known end of the synced log.
    synced: Mark,
    unsynced: Mutex<Unsynced>,
    /// Held while a segment is started.
    turn: Mutex<Turn>,
    /// Held while a segment is made ahead of need; locked before `turn`.
    making: Mutex<()>,
    ahead: Ahead,
    /// The threads that wait until the log is synced.
    group: Group,
    /// Set to 0 when a segment starts, so that the next writer checks the length of the log.
    alarm: Arc<AtomicU64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    /// Starts a segment after the log that was replayed, or the first one of all, and makes that
    /// durable. `random` makes the content of old segments differ from that of new ones.
    pub(crate) fn begin(
        disk: Arc<dyn Disk>,
        database: u64,
        random: u64,
        settings: LogSettings,
        after: Replayed,
        alarm: Arc<AtomicU64>,
    ) -> Result<Self> {
        let mut turn = Turn {
            old: after.segments.iter().map(|(number, size)| (*number, *size, None)).collect(),
            spares: Vec::new(),
            next_number: after.next_number,
            random,
            writing: settings.writing,
        };
        // On a disk that is full, a short one will do.
        let mut segment = match turn.prepare(&*disk, settings.first_bytes, settings.first_bytes) {
            Err(Error::DiskFull { .. }) => {
                turn.prepare(&*disk, LEAST_SEGMENT_BYTES, LEAST_SEGMENT_BYTES)?
            }
            other => other?,
        };
        if segment.gains_from_zeros() {
            segment.write_zeros(0..segment.size_bytes)?;
        }
        // It is not known if the replayed log is durable.
        let header = turn.header(&segment, database, after.end, LogPosition::default());
        let chain = segment.begin(&header)?;
        segment.sync()?;
        let synced = disk.sync_directory();
        synced.map_err(|error| Error::io("sync the name of a new log segment", &error))?;
        assert!(after.end.position.segment < segment.number, "numbers of segments grow");
        let start = LogPosition { segment: segment.number, at: FRAMES_AT };
        let unsynced = Mutex::new(Unsynced::new(&segment));
        let tail = Tail {
            ask_at: half_of(&segment),
            segment,
            at: start.at,
            chain,
            is_bulk: false,
            noted: start,
            frame: Vec::new(),
        };
        Ok(Self {
            disk,
            database,
            settings,
            tail: Mutex::new(tail),
            end: Mark::new(start),
            synced: Mark::new(start),
            unsynced,
            turn: Mutex::new(turn),
            making: Mutex::default(),
            ahead: Ahead::default(),
            group: Group::new(start),
            alarm,
        })
    }

    /// Appends a record. Returns the result of `work`, which is called at that very moment, and the
    /// end of the record's frame; `None` if there is [no room](Self::make_room) for it.
    pub(crate) fn append<T>(
        &self,
        kind: RecordKind,
        body: &(impl Body + ?Sized),
        work: impl FnOnce() -> T,
    ) -> Result<Option<(T, LogPosition)>> {
        let size = body.size_bytes();
        debug_assert!(u32::try_from(size).is_ok(), "a record of the log has {size} bytes");
        let mut short = Short::new();
        let is_short = short.fill(body, size);
        let mut tail = lock(&self.tail);
        let tail = &mut *tail;
        let synced = self.synced.get();
        debug_assert!(synced <= tail.place().position, "nothing is synced that is not written");
        let noted = (tail.noted < synced).then_some(synced);
        let head = Head { before: tail.chain, kind, size, synced: noted };
        let end = tail.at + head.frame_bytes();
        if end > tail.segment.size_bytes {
            return Ok(None);
        }
        let written = if is_short {
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
            self.ahead.ask();
        }
        let end = tail.place().position;
        debug_assert!(tail.noted < end, "a frame notes what was synced before it");
        self.end.set(end);
        Ok(Some((work(), end)))
    }

    /// Makes room for a record whose body has this size: starts the next segment if need be.
    pub(crate) fn make_room(&self, bytes: usize) -> Result<()> {
        let wanted = frame::most_bytes(bytes);
        // A segment that is being made is waited for.
        let _making = self.ahead.hurry(|| lock(&self.making));
        let mut turn = lock(&self.turn);
        let last_bytes = {
            let tail = lock(&self.tail);
            if tail.at + wanted <= tail.segment.size_bytes {
                return Ok(());
            }
            tail.segment.size_bytes
        };
        let least_bytes = wanted + FRAMES_AT;
        let new_bytes = self.next_bytes(&turn, last_bytes).max(least_bytes);
        let next = turn.prepare(&*self.disk, least_bytes, new_bytes)?;
        debug_assert!(next.size_bytes >= least_bytes, "the new segment has room for the record");
        self.go_on_in(next, &mut turn)
    }

    /// Returns the bytes of a new segment, after a last one of `last_bytes`: a quarter of the log,
    /// so that little of its files is not in use.
    fn next_bytes(&self, turn: &Turn, last_bytes: u64) -> u64 {
        let bytes = (turn.old_bytes() + last_bytes) / 4;
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

    /// Makes the next segment if half of the last one is full and no file is kept for one: a writer
    /// that made it would wait, a millisecond for two mebibytes where files are in memory.
    ///
    /// # Errors
    /// `Io`, `DiskFull`. The thread that needs the segment tries again.
    pub(crate) fn make_next(&self) -> Result<()> {
        let making = lock(&self.making);
        let (last_bytes, is_bulk) = {
            let tail = lock(&self.tail);
            if tail.at < half_of(&tail.segment) {
                return Ok(());
            }
            (tail.segment.size_bytes, tail.is_bulk)
        };
        let (number, size) = {
            let mut turn = lock(&self.turn);
            if turn.has_spares() {
                return Ok(());
            }
            (turn.take_number(), self.next_bytes(&turn, last_bytes))
        };
        let segment = Segment::create(&*self.disk, number, size, self.settings.writing)?;
        if segment.gains_from_zeros() && !is_bulk {
            self.write_zeros_ahead(&segment).inspect_err(|_| {
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
    fn write_zeros_ahead(&self, segment: &Segment) -> Result<()> {
        let is_needed_soon = || {
            let tail = lock(&self.tail);
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

    /// Starts a segment as small as the first one, if the last one is larger: after a checkpoint,
    /// that one is not needed any more.
    pub(crate) fn begin_small(&self) -> Result<()> {
        let mut turn = lock(&self.turn);
        let size = self.settings.first_bytes;
        if lock(&self.tail).segment.size_bytes <= size {
            return Ok(());
        }
        let next = turn.prepare(&*self.disk, size, size)?;
        self.go_on_in(next, &mut turn)
    }

    /// Makes a segment the last one.
    fn go_on_in(&self, mut next: Segment, turn: &mut Turn) -> Result<()> {
        let mut tail = lock(&self.tail);
        assert!(next.number > tail.segment.number, "numbers of segments grow");
        assert!(
            turn.old.last().is_none_or(|(last, ..)| *last < tail.segment.number),
            "segments follow each other"
        );
        let header = turn.header(&next, self.database, tail.place(), self.synced.get());
        let chain = next.begin(&header)?;
        let end = tail.at;
        // Before any record ends in it: a sync up to there syncs its file.
        let held_from = lock(&self.unsynced).begin(&next);
        let full = std::mem::replace(&mut tail.segment, next);
        (tail.at, tail.chain, tail.noted) = (FRAMES_AT, chain, header.synced);
        tail.ask_at = half_of(&tail.segment);
        debug_assert!(tail.at < tail.segment.size_bytes, "a new segment has room for frames");
        self.end.set(tail.place().position);
        drop(tail);
        full.mapped().iter().for_each(|mapped| mapped.unmap(held_from as usize..end as usize));
        turn.old.push((full.number, end, Some(full)));
        self.alarm.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the end of the log now. It waits for no writer.
    pub(crate) fn end(&self) -> LogPosition {
        self.end.get()
    }

    /// Returns the known end of the synced log.
    pub(crate) fn synced(&self) -> LogPosition {
        self.synced.get()
    }

    /// Calls `work` at a place in the log: all frames end before it, or start after it.
    pub(crate) fn barrier<T>(&self, work: impl FnOnce() -> T) -> (Place, T) {
        let tail = lock(&self.tail);
        let place = tail.place();
        lock(&self.unsynced).start_from(place.position);
        (place, work())
    }

    /// Makes everything durable that ends at a position or before.
    ///
    /// # Errors
    /// `Poisoned` if syncing fails, now and ever after.
    pub(crate) fn sync(&self, to: LogPosition) -> Result<()> {
        self.group.sync(to, || {
            let end = self.sync_now()?;
            debug_assert!(end <= self.end.get(), "nothing is synced that is not written");
            // Only the thread that leads a sync is here.
            self.synced.set(end);
            Ok(end)
        })
    }

    /// Syncs the whole log, earlier segments first; returns its end.
    fn sync_now(&self) -> Result<LogPosition> {
        // First: a segment that starts after this may be synced too, and none is left out.
        let end = self.end.get();
        let to_sync = lock(&self.unsynced).take(end);
        to_sync.unmap();
        let failed = |error| Error::io("sync the log", &error);
        if to_sync.names_changed {
            self.disk.sync_directory().map_err(failed)?;
        }
        to_sync.sync().map_err(failed)?;
        to_sync.prove().map_err(failed)?;
        self.expect_files()?;
        Ok(end)
    }

    /// Checks that no other program has taken files of the database away.
    pub(crate) fn expect_files(&self) -> Result<()> {
        self.disk.expect_files().map_err(|error| Error::io("look for the database's files", &error))
    }

    /// Forgets the segments before one, which recovery does not need any more. Of their files, one
    /// is kept for the next segment, and as many more as have `kept_bytes` together.
    pub(crate) fn trim(&self, first: SegmentNumber, kept_bytes: u64) -> Result<()> {
        assert!(first <= self.end.get().segment, "the segment that is written to stays");
        assert!(first <= self.synced.get().segment, "recovery starts where the log is synced");
        let least_bytes = LEAST_SECOND_BYTES.min(self.settings.most_bytes);
        let mut turn = lock(&self.turn);
        let useless = turn.forget_before(first, least_bytes, kept_bytes);
        let is_there = turn.old.iter().any(|(number, ..)| *number == first);
        assert!(is_there || first == self.end.get().segment, "{first} is needed by recovery");
        drop(turn);
        // A writer that needs a segment does not wait for that.
        useless.into_iter().try_for_each(|useless| useless.remove(&*self.disk))
    }

    /// Removes the files that are kept for new segments, and cuts the last segment off where the
    /// log ends, when the database is closed. Nothing can be appended to that segment any more.
    pub(crate) fn shrink_at_end(&self) -> Result<()> {
        {
            let mut tail = lock(&self.tail);
            let end = tail.at;
            assert_eq!(tail.place().position, self.end.get(), "no frame is cut off");
            tail.segment.cut(end)?;
        }
        self.remove_spares()
    }

    /// Removes the files that are kept for new segments. Waits for a segment that is being made.
    pub(crate) fn remove_spares(&self) -> Result<()> {
        let _making = self.ahead.hurry(|| lock(&self.making));
        lock(&self.turn).remove_spares(&*self.disk)
    }

    /// Returns the bytes of files that have no records: the rest of the last segment, and files
    /// that are kept for new ones.
    pub(crate) fn unused_bytes(&self) -> u64 {
        let turn = lock(&self.turn);
        let spare: u64 = turn.spares.iter().map(|(_, spare)| spare.size_bytes).sum();
        let tail = lock(&self.tail);
        spare + tail.segment.size_bytes - tail.at
    }

    /// Returns the bytes of the log from a position on, as far as its segments are not forgotten.
    pub(crate) fn bytes_since(&self, position: LogPosition) -> u64 {
        let turn = lock(&self.turn);
        let end = self.end.get();
        let from = turn.old.iter().filter(|(number, ..)| *number >= position.segment);
        let mut bytes = end.at;
        let mut is_there = end.segment == position.segment;
        for (number, size, _) in from {
            bytes += size;
            is_there |= *number == position.segment;
        }
        if is_there { bytes.saturating_sub(position.at) } else { bytes }
    }
}
