//! The write-ahead log: records of operations, one after another, in segments.
//!
//! An operation that has latched what it will change [appends](Log::append) its record: that is
//! when it happens, and in which epoch. Nothing waits for the disk there. An operation that has to
//! be durable [syncs](Log::sync) the log up to its record, and all that wait at the same time share
//! the [sync](group).
//!
//! Frames are in [lanes](lane): several if threads would wait for each other, and only where no
//! single operation is promised to survive the machine. Each thread appends to one, and frames
//! [name](names) those of other lanes that they come after. (Zheng et al., Fast Databases with Fast
//! Durability and Recovery Through Multicore Parallelism, OSDI 2014.)
//!
//! A lane is valid only as a prefix: each frame has its checksum and that of the frame before. A
//! frame that notes what was synced proves that the frames before it cannot just be missing. For
//! the last frames, a segment's [front] says it, as a [sync](unsynced) leaves it.

mod ahead;
mod body;
mod feed;
mod frame;
mod front;
mod group;
mod growth;
mod history;
mod lane;
mod mark;
mod merge;
mod names;
mod numbers;
mod reader;
mod record;
mod replay;
mod segment;
mod stock;
mod syncing;
mod tail;
#[cfg(test)]
mod tests;
mod turn;
mod unsynced;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ahead::Ahead;
pub(crate) use body::{Body, Together};
pub(crate) use feed::Feed;
use front::FRAMES_AT;
use group::Group;
use growth::Prepared;
#[cfg(any(test, feature = "simulation"))]
pub(crate) use growth::set_own_number;
use history::History;
pub(crate) use history::MOST_KEPT_MIB;
pub(crate) use lane::Lane;
use names::{Floor, FrameName};
pub(crate) use names::{MOST_LANES, Touched, cover, inherit};
pub(crate) use numbers::{Number, Numbers};
pub(crate) use record::{Keyed, LogRecord, RecordKind, TableId};
pub(crate) use replay::{Applied, Ending, Replayed, Start, have_rested, replay};
pub(crate) use segment::SegmentNumber;
pub(crate) use stock::Stock;
use tail::Tail;
use turn::{Old, Turn};

use crate::error::{Error, Result};
use crate::io::Disk;
use crate::observability::Observer;

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

/// A place in a lane, with the order of the frame before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LanePlace {
    pub place: Place,
    pub order: u64,
}

/// A place in each lane; the default one in those that there are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    pub lanes: [LanePlace; MOST_LANES],
}

impl Places {
    /// Returns the position in the first lane.
    pub(crate) fn first(&self) -> LogPosition {
        self.lanes[0].place.position
    }

    /// Returns the position in each lane.
    pub(crate) fn positions(&self) -> Positions {
        Positions(self.lanes.map(|lane| lane.place.position))
    }

    /// Returns the place in the first lane alone.
    pub(crate) fn only_first(&self) -> Self {
        let mut only = Self::default();
        only.lanes[0] = self.lanes[0];
        only
    }
}

/// A position in each lane; the default one in those that there are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Positions(pub [LogPosition; MOST_LANES]);

/// The sizes of segments, and the way that frames are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogSettings {
    /// Bytes of the first segment. Later ones are larger the longer the log is.
    pub first_bytes: u64,
    /// Bytes of the largest segment, if no single frame needs more.
    pub most_bytes: u64,
    /// The most lanes.
    pub most_lanes: usize,
    pub writing: FrameWriting,
    /// The MiB of segments that are kept for readers of changes after recovery needs them no more;
    /// 0 if changes are not kept, `None` if it is as before.
    pub kept_mib: Option<u32>,
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
    /// The MiB of segments that are kept for readers of changes; 0 if changes are not kept.
    kept_mib: u32,
    history: Mutex<History>,
    first: Lane,
    others: [OnceLock<Box<Lane>>; MOST_LANES - 1],
    /// The number of lanes.
    count: AtomicUsize,
    /// The number of lanes that threads may ask for: more are of no use.
    most_used: usize,
    is_lane_wanted: AtomicBool,
    prepared: Prepared,
    floor: Floor,
    /// Held while a segment is started; locked after [`Lane::old`], and before tails.
    turn: Mutex<Turn>,
    /// Held while a segment is made ahead of need; locked before all others.
    making: Mutex<()>,
    ahead: Ahead,
    /// The threads that wait until the only lane is synced.
    group: Group,
    /// Held while all lanes are synced: the reason why that failed. No sync follows it.
    failed: Mutex<Option<String>>,
    /// Set to 0 when a segment starts, so that the next writer checks the length of the log.
    alarm: Arc<AtomicU64>,
    observer: Observer,
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
        mut settings: LogSettings,
        after: Replayed,
        alarm: Arc<AtomicU64>,
        observer: Observer,
    ) -> Result<Self> {
        assert!((1..=MOST_LANES).contains(&settings.most_lanes), "a log has a lane, or a few");
        let old: Vec<_> = after
            .segments
            .iter()
            .map(|(number, end)| Old { number: *number, end: *end, segment: None })
            .collect();
        let kept_mib = settings.kept_mib.unwrap_or(0);
        debug_assert!(kept_mib <= MOST_KEPT_MIB, "a header has room for it");
        if kept_mib > 0 {
            // Readers of changes find them in one order.
            settings.most_lanes = 1;
        }
        let mut turn = Turn {
            spares: Vec::new(),
            next_number: after.next_number,
            random,
            writing: settings.writing,
            kept_mib,
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
        let end = after.ends.lanes[0].place;
        let header = turn.header(&segment, database, 0, end, LogPosition::default());
        let chain = segment.begin(&header)?;
        segment.sync()?;
        let synced = disk.sync_directory();
        synced.map_err(|error| Error::io("sync the name of a new log segment", &error))?;
        let start = LogPosition { segment: segment.number, at: FRAMES_AT };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            disk,
            database,
            settings,
            kept_mib,
            history: Mutex::default(),
            first: Lane::new(0, segment, chain, old),
            others: [const { OnceLock::new() }; MOST_LANES - 1],
            count: AtomicUsize::new(1),
            most_used: settings.most_lanes.min(processors),
            is_lane_wanted: AtomicBool::new(false),
            prepared: Prepared::default(),
            floor: Floor::default(),
            turn: Mutex::new(turn),
            making: Mutex::default(),
            ahead: Ahead::default(),
            group: Group::new(start),
            failed: Mutex::default(),
            alarm,
            observer,
        })
    }

    /// Returns the number of lanes.
    #[inline(always)]
    fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Returns all lanes.
    fn lanes(&self) -> impl Iterator<Item = &Lane> {
        let others = self.others.iter().map_while(|lane| lane.get().map(|lane| &**lane));
        std::iter::once(&self.first).chain(others)
    }

    /// Returns the frame that all frames come after which are appended from now on.
    fn floor(&self) -> FrameName {
        self.floor.get()
    }

    /// Appends a record to a lane, after all frames that have changed the pages that `touch`
    /// returns. Returns the result of `work`, which is called at that very moment, and the end of
    /// the record's frame; `None` if there is [no room](Self::make_room) for it.
    #[inline(always)]
    pub(crate) fn append<'p, T>(
        &self,
        lane: &Lane,
        kind: RecordKind,
        body: &(impl Body + ?Sized),
        touch: impl FnOnce() -> Touched<'p>,
        work: impl FnOnce() -> T,
    ) -> Result<Option<(T, LogPosition)>> {
        let touched = if self.count() > 1 { Some(touch()) } else { None };
        lane.append(self, kind, body, touched, work)
    }

    /// Appends a record that comes after all others, and before all that follow. The caller is
    /// alone: no other thread appends. Returns the end of the record's frame; `None` if there is no
    /// room for it in the [first](Self::first_lane) lane.
    pub(crate) fn append_alone(
        &self,
        kind: RecordKind,
        body: &(impl Body + ?Sized),
    ) -> Result<Option<LogPosition>> {
        let touch = || Touched { is_after_all: true, ..Touched::default() };
        let appended = self.append(&self.first, kind, body, touch, || ())?;
        if self.count() > 1 && appended.is_some() {
            self.floor.store(self.first.last());
        }
        Ok(appended.map(|((), end)| end))
    }

    /// Returns the first lane.
    pub(crate) fn first_lane(&self) -> &Lane {
        &self.first
    }

    /// Returns the end of the first lane now. It waits for no writer.
    pub(crate) fn end(&self) -> LogPosition {
        self.first.end.get()
    }

    /// Returns the place at which the next frame of the first lane will be.
    pub(crate) fn place(&self) -> Place {
        lock(&self.first.tail).place()
    }

    /// Returns the known end of the first lane as far as it is synced.
    pub(crate) fn synced(&self) -> LogPosition {
        self.first.synced.get()
    }

    /// Returns the end of each lane now. It waits for no writer.
    pub(crate) fn ends(&self) -> Positions {
        let mut ends = Positions::default();
        self.lanes().for_each(|lane| ends.0[lane.number] = lane.end.get());
        ends
    }

    /// Calls `work` at a place in each lane: all frames end before these, or start after them. No
    /// lane may start during the call.
    pub(crate) fn barrier<T>(&self, work: impl FnOnce() -> T) -> (Places, T) {
        let tails: Vec<_> = self.lanes().map(|lane| (lane, lock(&lane.tail))).collect();
        let mut places = Places::default();
        for (lane, tail) in &tails {
            places.lanes[lane.number] = lane.place(tail);
            lock(&lane.unsynced).start_from(tail.place().position);
        }
        (places, work())
    }

    /// Forgets the segments before those in which recovery starts, which it does not need any more.
    /// If changes are kept, their files are. Otherwise, one is kept for the next segment, and as
    /// many more as have `kept_bytes` together.
    pub(crate) fn trim(&self, from: &Positions, kept_bytes: u64) -> Result<()> {
        let least_bytes = LEAST_SECOND_BYTES.min(self.settings.most_bytes);
        let mut forgotten = Vec::new();
        for lane in self.lanes() {
            let first = from.0[lane.number].segment;
            assert!(first <= lane.end.get().segment, "the segment that is written to stays");
            assert!(first <= lane.synced.get().segment, "recovery starts where a lane is synced");
            let mut old = lock(&lane.old);
            forgotten.extend(old.extract_if(.., |old| old.number < first));
            let is_there = old.first().is_some_and(|old| old.number == first);
            let is_last = old.is_empty() && first == lane.end.get().segment;
            let is_new = first == SegmentNumber::default();
            assert!(is_there || is_last || is_new, "{first} is needed by recovery");
        }
        let forgotten = self.keep(forgotten)?;
        let useless = lock(&self.turn).take_over(forgotten, least_bytes, kept_bytes);
        // A writer that needs a segment does not wait for that.
        useless.into_iter().try_for_each(|useless| useless.remove(&*self.disk))
    }

    /// Removes the files that are kept for new segments, and all of other lanes than the first;
    /// cuts the last segment off where the log ends, when the database is closed. Nothing can be
    /// appended any more.
    pub(crate) fn shrink_at_end(&self) -> Result<()> {
        {
            let mut tail = lock(&self.first.tail);
            let end = tail.at;
            assert_eq!(tail.place().position, self.first.end.get(), "no frame is cut off");
            tail.segment.cut(end)?;
        }
        let prepared = lock(&self.prepared.0);
        for lane in self.lanes().skip(1).chain(prepared.as_deref()) {
            let old = lock(&lane.old);
            let last = lock(&lane.tail).segment.number;
            for number in old.iter().map(|old| old.number).chain([last]) {
                let removed = self.disk.remove(&number.file_name());
                removed.map_err(|error| Error::io("remove an old log segment", &error))?;
            }
        }
        drop(prepared);
        self.remove_spares()
    }

    /// Removes the files that are kept for new segments. Waits for a segment that is being made.
    pub(crate) fn remove_spares(&self) -> Result<()> {
        let _making = self.ahead.hurry(|| lock(&self.making));
        lock(&self.turn).remove_spares(&*self.disk)
    }

    /// Returns the bytes of files that have no records: the rest of the last segments, and files
    /// that are kept for new ones.
    pub(crate) fn unused_bytes(&self) -> u64 {
        let unused = |tail: &Tail| tail.segment.size_bytes - tail.at;
        let last: u64 = self.lanes().map(|lane| unused(&lock(&lane.tail))).sum();
        let turn = lock(&self.turn);
        last + turn.spares.iter().map(|(_, spare)| spare.size_bytes).sum::<u64>()
    }

    /// Returns the bytes of the log from positions on, as far as its segments are not forgotten.
    pub(crate) fn bytes_since(&self, from: &Positions) -> u64 {
        self.lanes().map(|lane| lane.bytes_since(from.0[lane.number])).sum()
    }
}
